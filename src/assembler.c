/* SPDX-License-Identifier: MIT */
#include "assembler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "base/vec.h"
#include "shares.h"
#include "symbols/jit.h"

#define NAMES_AGAIN 500000000ull	/* ns until names of code made at run time are looked for again */
#define IDLE		1000		/* a thread that waits so many times as long as it runs does nothing */
#define NAME_MAX_SHOWN 512	/* bytes of "[image+0xoffset]" */

struct known_process {
	struct ebp_process key;
	uint32_t incarnation;	/* of procs */
	uint32_t process;	/* of the profile */
};

/* The code that a process made at run time: one module, whether its names are known or not. */
struct made {
	uint32_t incarnation, module;
	struct symbol_source *names;	/* NULL: its program has not told any yet */
	uint64_t tried;			/* when they were last looked for; ns */
};

struct stack {
	size_t first;		/* in locations */
	uint32_t n;		/* leaf first */
	uint32_t result;	/* enum ebp_result; EBP_RESULTS: the count tells */
};

/* Who ends waits. */
struct waker {
	uint64_t user_id, kernel_id;
	uint32_t name;			/* string of the profile */
};

/* A count whose stack is not known yet. */
struct early_count {
	struct ebp_key key;
	struct ebp_count count;
	uint64_t now;
};

struct assembler {
	struct profile *profile;
	struct images *images;
	struct procs *procs;
	VEC(struct known_process) processes;
	struct hashmap process_ids;	/* hash of struct ebp_process -> index */
	VEC(struct stack) stacks;
	struct hashmap stack_ids;	/* stack id -> index */
	VEC(uint32_t) locations;	/* of all stacks */
	VEC(uint32_t) image_modules;	/* image id -> module of the profile, PROFILE_NONE: not yet */
	VEC(uint32_t) module_images;	/* and back; IMAGE_NONE: not an image */
	VEC(struct made) made;
	struct hashmap made_ids;	/* incarnation -> index */
	VEC(uint32_t) module_made;	/* module of the profile -> index, PROFILE_NONE: made by a compiler */
	size_t asked;			/* locations before this one have their names, or will, or are in: */
	VEC(uint32_t) later;		/* locations that are asked for at the end */
	int reread;			/* the kernel's functions were, or will be, read at the end */
	uint32_t kernel_module;
	struct assembler_types types;
	struct shares *shares;		/* among samples of a class */
	VEC(uint8_t) sample_results;	/* sample of the profile -> enum ebp_result */
	VEC(struct early_count) early;
	VEC(struct waker) wakers;
	struct hashmap waker_ids;	/* waker id -> index */
	int why;			/* is to be told */
	int timeline;
	uint64_t origin;		/* of times; CLOCK_MONOTONIC ns */
	uint64_t results[EBP_RESULTS];
};

/* Why a stack is not whole. */
static const char *const result_names[EBP_RESULTS] = {
	[EBP_DEPTH] = "depth",
	[EBP_UNREADABLE] = "unreadable",
	[EBP_NO_PROCESS] = "no process",
	[EBP_NO_MAPPING] = "no mapping",
	[EBP_NO_TABLE] = "no table",
	[EBP_NO_CFI] = "no CFI",
	[EBP_UNSUPPORTED] = "unsupported CFI",
	[EBP_LOST_REGISTER] = "lost register",
	[EBP_BAD_CFA] = "bad CFA",
	[EBP_ZERO_RETURN] = "zero return address",
	[EBP_UPROBE] = "uprobe",
};

const char *assembler_result_name(enum ebp_result result)
{
	return result_names[result];
}

/* The profile's modules get their images in the order they are made. */
static uint32_t add_module(struct assembler *a, const char *name, const char *path, const char *build_id, uint32_t image)
{
	uint32_t module = profile_module(a->profile, name, path, build_id);

	while (a->module_images.n <= module)
		vec_push(&a->module_images, IMAGE_NONE);
	a->module_images.v[module] = image;
	return module;
}

struct assembler *assembler_new(struct profile *profile, struct images *images, struct procs *procs,
				const struct assembler_types *types, int why)
{
	struct assembler *a = xcalloc(1, sizeof(*a));

	a->profile = profile;
	a->images = images;
	a->procs = procs;
	a->types = *types;
	a->shares = shares_new();
	a->why = why;
	a->kernel_module = add_module(a, "[kernel]", "[kernel.kallsyms]", "", IMAGE_NONE);
	return a;
}

void assembler_free(struct assembler *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->made.n; i++)
		symbol_source_free(a->made.v[i].names);
	shares_free(a->shares);
	vec_free(&a->sample_results);
	vec_free(&a->early);
	vec_free(&a->wakers);
	hashmap_free(&a->waker_ids);
	vec_free(&a->made);
	vec_free(&a->module_made);
	hashmap_free(&a->made_ids);
	vec_free(&a->processes);
	hashmap_free(&a->process_ids);
	vec_free(&a->stacks);
	hashmap_free(&a->stack_ids);
	vec_free(&a->locations);
	vec_free(&a->image_modules);
	vec_free(&a->module_images);
	vec_free(&a->later);
	free(a);
}

static struct known_process *find_process(struct assembler *a, const struct ebp_process *key, uint64_t time)
{
	uint64_t hash = hash_bytes(key, sizeof(*key));
	struct known_process p = { .key = *key };
	uint32_t i;

	for (; (i = hashmap_get(&a->process_ids, hash)) != HASHMAP_NONE; hash++)
		if (!memcmp(&a->processes.v[i].key, key, sizeof(*key)))
			return &a->processes.v[i];
	p.incarnation = procs_at(a->procs, (pid_t)key->tgid, time);
	p.process = profile_process(a->profile, (pid_t)key->tgid, p.incarnation, 0);
	hashmap_set(&a->process_ids, hash, (uint32_t)a->processes.n);
	vec_push(&a->processes, p);
	return &a->processes.v[a->processes.n - 1];
}

void assembler_process(struct assembler *a, const struct ebp_process *process, uint64_t time)
{
	find_process(a, process, time);
}

static uint32_t module_of_image(struct assembler *a, uint32_t id)
{
	const struct image *image = images_at(a->images, id);
	char build_id[2 * ELF_BUILD_ID_MAX + 1] = "";

	while (a->image_modules.n <= id)
		vec_push(&a->image_modules, PROFILE_NONE);
	if (a->image_modules.v[id] == PROFILE_NONE) {
		for (int i = 0; i < image->build_id_size; i++)
			sprintf(build_id + 2 * i, "%02x", image->build_id[i]);
		a->image_modules.v[id] = add_module(a, image->name, image->path, build_id, id);
	}
	return a->image_modules.v[id];
}

struct dump {
	const struct images *images;
	const char *path;
};

/* A process maps its jitdump, so that profilers find it. */
static void take_dump(void *ctx, const struct mapping *m)
{
	struct dump *d = ctx;
	const struct image *image = m->image == IMAGE_NONE ? NULL : images_at(d->images, m->image);
	size_t n = image ? strlen(image->name) : 0;

	if (n > 9 && !strncmp(image->name, "jit-", 4) && !strcmp(image->name + n - 5, ".dump"))
		d->path = image->path;
}

static const char *dump_of(struct assembler *a, uint32_t incarnation, uint64_t now)
{
	struct dump d = { .images = a->images };

	procs_each_mapping(a->procs, incarnation, now, take_dump, &d);
	return d.path;
}

/* While the process is there. Programs begin to tell when they begin to make code, or when asked to. */
static void find_names(struct assembler *a, struct made *m)
{
	uint64_t now = clock_ns();

	if (m->names || (m->tried && now - m->tried < NAMES_AGAIN))
		return;
	m->tried = now;
	m->names = jit_open(procs_info(a->procs, m->incarnation).pid, dump_of(a, m->incarnation, now));
}

/* The module of what @incarnation made at run time. */
static uint32_t module_of_made(struct assembler *a, uint32_t incarnation)
{
	uint32_t id = hashmap_put(&a->made_ids, incarnation, (uint32_t)a->made.n);
	char name[64];

	if (id == a->made.n) {
		/* By this name, too, no two are one: addresses of two programs must not mix. */
		snprintf(name, sizeof(name), "//anon of %d.%u", procs_info(a->procs, incarnation).pid, incarnation);
		vec_push(&a->made, (struct made){
			.incarnation = incarnation, .module = add_module(a, "[anon]", name, "", IMAGE_NONE) });
		while (a->module_made.n <= a->made.v[id].module)
			vec_push(&a->module_made, PROFILE_NONE);
		a->module_made.v[a->made.v[id].module] = id;
	}
	find_names(a, &a->made.v[id]);
	return a->made.v[id].module;
}

/* @incarnation is that of its process where the frame is an address. */
static uint32_t user_location(struct assembler *a, uint32_t incarnation, uint64_t frame, uint64_t time)
{
	struct proc_place place = { .image = EBP_FRAME_IMAGE_OF(frame), .offset = EBP_FRAME_OFFSET_OF(frame) };
	uint32_t module;

	if (EBP_FRAME_IS_ADDRESS(frame))
		place = procs_locate(a->procs, incarnation, frame, time);
	else if (place.image >= images_count(a->images))
		place = (struct proc_place){ .image = IMAGE_NONE, .offset = frame };
	module = place.image == IMAGE_NONE ? module_of_made(a, incarnation) : module_of_image(a, place.image);
	return profile_location(a->profile, module, FRAME_USER, place.offset);
}

static void add_stack(struct assembler *a, uint64_t id, size_t first)
{
	hashmap_set(&a->stack_ids, id, (uint32_t)a->stacks.n);
	vec_push(&a->stacks, (struct stack){ .first = first, .n = (uint32_t)(a->locations.n - first), .result = EBP_RESULTS });
}

static void add_user_stack(struct assembler *a, uint64_t id, const struct ebp_process *process,
			   const __u64 *frames, uint32_t n, uint64_t time)
{
	uint32_t incarnation = process->tgid ? find_process(a, process, time)->incarnation : 0;
	size_t first = a->locations.n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t location = user_location(a, incarnation, frames[i], time);

		vec_push(&a->locations, location);
	}
	add_stack(a, id, first);
}

static void add_kernel_stack(struct assembler *a, uint64_t id, const __u64 *frames, uint32_t n)
{
	size_t first = a->locations.n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t location = profile_location(a->profile, a->kernel_module, FRAME_KERNEL, frames[i]);

		vec_push(&a->locations, location);
	}
	add_stack(a, id, first);
}

void assembler_stack(struct assembler *a, const struct ebp_stack *stack)
{
	/* Sent again, because another stack took its place in the kernel's cache. */
	if (hashmap_get(&a->stack_ids, stack->id) != HASHMAP_NONE)
		return;
	if (stack->head.type == EBP_KERNEL_STACK)
		add_kernel_stack(a, stack->id, stack->frames, stack->head.n);
	else
		add_user_stack(a, stack->id, &stack->process, stack->frames, stack->head.n, stack->time);
}

static uint32_t mark_node(struct assembler *a, uint32_t parent, const char *name)
{
	uint32_t string = profile_string(a->profile, name);
	uint32_t location = profile_location(a->profile, 0, FRAME_MARK, string);

	if (!profile_view(a->profile).locations[location].nlines) {
		const struct line line = { .function = profile_function(a->profile, string, 0, FRAME_MARK) };

		profile_name_location(a->profile, location, &line, 1, "");
	}
	return profile_node(a->profile, parent, location);
}

/* Appends stack @id, root first, below @parent. */
static uint32_t stack_node(struct assembler *a, uint32_t parent, uint64_t id)
{
	uint32_t i = id ? hashmap_get(&a->stack_ids, id) : HASHMAP_NONE;
	const struct stack *s;

	if (i == HASHMAP_NONE)
		return parent;
	s = &a->stacks.v[i];
	for (uint32_t k = s->n; k-- > 0;)
		parent = profile_node(a->profile, parent, a->locations.v[s->first + k]);
	return parent;
}

/* As the innermost frame of a wait, and as its label. */
static const char *const kind_names[EBP_KINDS] = {
	[EBP_BLOCKED] = "blocked", [EBP_DISK_WAIT] = "disk wait", [EBP_RUNNABLE] = "runnable",
};

static enum ebp_kind kind_of(const struct ebp_key *key)
{
	return key->kind < EBP_KINDS ? (enum ebp_kind)key->kind : EBP_ON_CPU;
}

static uint32_t result_of(const struct assembler *a, const struct ebp_key *key)
{
	uint32_t i = hashmap_get(&a->stack_ids, key->user_id);

	if (i != HASHMAP_NONE && a->stacks.v[i].result != EBP_RESULTS)
		return a->stacks.v[i].result;
	return key->result < EBP_RESULTS ? key->result : EBP_UNREADABLE;
}

/* How the stacks below @node end: what kept the thread from running. */
static uint32_t kind_node(struct assembler *a, uint32_t node, enum ebp_kind kind)
{
	char mark[32];

	if (!kind_names[kind])
		return node;
	snprintf(mark, sizeof(mark), "[%s]", kind_names[kind]);
	return mark_node(a, node, mark);
}

/* Appends stack @id, leaf first: so the waker's innermost function lies on what it woke. */
static uint32_t turned_stack_node(struct assembler *a, uint32_t parent, uint64_t id)
{
	uint32_t i = id ? hashmap_get(&a->stack_ids, id) : HASHMAP_NONE;

	for (uint32_t k = 0; i != HASHMAP_NONE && k < a->stacks.v[i].n; k++)
		parent = profile_node(a->profile, parent, a->locations.v[a->stacks.v[i].first + k]);
	return parent;
}

static uint32_t waker_node(struct assembler *a, uint32_t node, uint64_t id)
{
	uint32_t i = id ? hashmap_get(&a->waker_ids, id) : HASHMAP_NONE;
	const struct waker *w;

	if (i == HASHMAP_NONE)
		return node;
	w = &a->wakers.v[i];
	node = turned_stack_node(a, node, w->kernel_id);
	node = turned_stack_node(a, node, w->user_id);
	return mark_node(a, node, profile_text(a->profile, w->name));
}

static uint32_t kind_labels(struct assembler *a, enum ebp_kind kind)
{
	const struct label label = {
		.key = profile_string(a->profile, "state"),
		.text = kind_names[kind] ? profile_string(a->profile, kind_names[kind]) : 0,
	};

	return label.text ? profile_labels(a->profile, &label, 1) : 0;
}

/* The profile's sample for @key; @now as for assembler_count(). */
static uint32_t sample_of(struct assembler *a, const struct ebp_key *key, uint64_t now)
{
	const struct known_process *p = find_process(a, &key->process, now);
	uint32_t result = result_of(a, key), sample;
	enum ebp_kind kind = kind_of(key);
	char raw[EBP_COMM_LEN + 1] = "", comm[4 * EBP_COMM_LEN + 1], mark[64];
	uint32_t node = 0, thread;

	memcpy(raw, key->comm, EBP_COMM_LEN);
	text_clean(comm, sizeof(comm), raw);
	thread = profile_thread(a->profile, p->process, (pid_t)key->tid, profile_string(a->profile, comm));
	if (result_names[result]) {
		snprintf(mark, sizeof(mark), "[truncated: %s]", result_names[result]);
		node = mark_node(a, node, mark);
	}
	node = stack_node(a, node, key->user_id);
	node = stack_node(a, node, key->kernel_id);
	node = key->share == EBP_OF_CLASS && kind == EBP_ON_CPU ? mark_node(a, node, "[running]") : kind_node(a, node, kind);
	node = waker_node(a, node, key->waker);
	sample = profile_sample(a->profile, thread, node, kind_labels(a, kind));
	while (a->sample_results.n <= sample)
		vec_push(&a->sample_results, (uint8_t)result);
	return sample;
}

static void add_value(struct assembler *a, uint32_t sample, uint32_t type, uint64_t value)
{
	if (type != PROFILE_NONE && value)
		profile_count(a->profile, sample, type, value);
}

/* Whatever was measured for one sample. */
static void add(void *ctx, uint32_t sample, uint64_t n, uint64_t ns)
{
	struct assembler *a = ctx;

	add_value(a, sample, a->types.waits, n);
	add_value(a, sample, a->types.time, ns);
	a->results[a->sample_results.v[sample]] += n;
}

/* What shares time: a thread's samples on the CPU, its waits of one class and kind. */
static uint64_t group_of(const struct ebp_key *key)
{
	return hash_pair(hash_bytes(&key->process, sizeof(key->process)),
			 hash_pair((uint64_t)key->tid << 8 | key->kind, key->class));
}

static int is_unknown(const struct assembler *a, uint64_t id)
{
	return id && hashmap_get(&a->stack_ids, id) == HASHMAP_NONE;
}

/* A stack that was sent to be unwound here may be known later only. */
static int is_early(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count, uint64_t now)
{
	uint32_t waker = key->waker ? hashmap_get(&a->waker_ids, key->waker) : HASHMAP_NONE;

	if (kind_of(key) == EBP_ON_CPU)
		return 0;
	if (!is_unknown(a, key->user_id) && (waker == HASHMAP_NONE || !is_unknown(a, a->wakers.v[waker].user_id)))
		return 0;
	vec_push(&a->early, (struct early_count){ *key, *count, now });
	return 1;
}

static void count_known(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count, uint64_t now)
{
	uint32_t sample = sample_of(a, key, now);

	if (key->share == EBP_OF_CLASS) {
		shares_add(a->shares, group_of(key), sample, count->n, count->ns);
	} else if (kind_of(key) == EBP_ON_CPU) {
		add_value(a, sample, a->types.samples, count->n);
		a->results[a->sample_results.v[sample]] += count->n;
		if (a->types.time != PROFILE_NONE)
			shares_weigh(a->shares, group_of(key), sample, count->n);
	} else {
		add(a, sample, count->n, count->ns);
		shares_weigh(a->shares, group_of(key), sample, count->ns);
	}
}

void assembler_count(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count, uint64_t now)
{
	if (!is_early(a, key, count, now))
		count_known(a, key, count, now);
}

/* One sample, at its time. */
static void count_one(struct assembler *a, const struct ebp_key *key, uint64_t time, uint32_t cpu)
{
	const struct ebp_count one = { .n = 1 };

	assembler_count(a, key, &one, time);
	if (a->timeline)
		profile_tick(a->profile, &(struct tick){
			.time = time > a->origin ? time - a->origin : 0, .value = 1, .sample = sample_of(a, key, time), .cpu = cpu });
}

void assembler_sample(struct assembler *a, const struct ebp_sample *sample)
{
	if (kind_of(&sample->key) == EBP_ON_CPU && sample->key.share == EBP_OWN)
		count_one(a, &sample->key, sample->time, sample->cpu);
	else
		assembler_count(a, &sample->key, &sample->count, sample->time);
}

void assembler_waker(struct assembler *a, const struct ebp_waker *waker)
{
	char raw[EBP_COMM_LEN + 1] = "", comm[4 * EBP_COMM_LEN + 1], name[sizeof(comm) + 64] = "[woken by an interrupt]";

	if (hashmap_put(&a->waker_ids, waker->id, (uint32_t)a->wakers.n) != a->wakers.n)
		return;
	memcpy(raw, waker->key.comm, EBP_COMM_LEN);
	text_clean(comm, sizeof(comm), raw);
	if (waker->key.tid)
		snprintf(name, sizeof(name), "[woken by %s]", comm);
	vec_push(&a->wakers, (struct waker){
		.user_id = waker->key.user_id, .kernel_id = waker->key.kernel_id, .name = profile_string(a->profile, name) });
}

void assembler_timeline(struct assembler *a, uint64_t origin)
{
	a->timeline = 1;
	a->origin = origin;
}

void assembler_rescued(struct assembler *a, const struct ebp_rescue *sample, const struct unwind_result *user)
{
	/* With its process, whether the frames depend on it or not: such stacks are few. */
	uint64_t id = hash_pair(hash_bytes(user->frames, user->n * sizeof(user->frames[0])),
				hash_bytes(&sample->key.process, sizeof(sample->key.process)));
	struct ebp_key key = sample->key;

	if (kind_of(&key) != EBP_ON_CPU) {
		if (hashmap_get(&a->stack_ids, key.user_id) == HASHMAP_NONE) {
			add_user_stack(a, key.user_id, &key.process, user->frames, user->n, sample->time);
			a->stacks.v[a->stacks.n - 1].result = user->result;
		}
		return;
	}
	key.result = user->result;
	if (user->n) {
		key.user_id = id ? id : 1;
		if (hashmap_get(&a->stack_ids, key.user_id) == HASHMAP_NONE)
			add_user_stack(a, key.user_id, &key.process, user->frames, user->n, sample->time);
	}
	count_one(a, &key, sample->time, sample->cpu);
}

/* A line of one function, and of no source. */
static struct line plain_line(struct assembler *a, const char *name, const char *module, enum frame_kind kind)
{
	return (struct line){ .function = profile_function(a->profile, profile_string(a->profile, name),
							   profile_string(a->profile, module), kind) };
}

/* Why a frame has no name, in words. @err: of the symbolizer; @has_file: the image could be opened. */
static const char *reason(int err, int has_file)
{
	static const struct { int err; const char *of_file, *of_symbol; } reasons[] = {
		{ -ENODATA, "stripped", "stripped" }, { -ENOENT, "no such file", "no symbol there" },
		{ -ESTALE, "file replaced", "file replaced" }, { -ENOEXEC, "not an ELF file", "not an ELF file" },
		{ -EBADMSG, "damaged file", "damaged file" }, { -EACCES, "no permission", "no permission" },
		{ -EMFILE, "too many open files", "too many open files" }, { -EPERM, "no permission", "hidden" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].err == err)
			return has_file ? reasons[i].of_symbol : reasons[i].of_file;
	return "unreadable file";
}

/* What stands for a name: where it is and, if asked for, why there is none. */
static struct line no_name(struct assembler *a, const char *where, const char *why, const char *module, enum frame_kind kind)
{
	char text[NAME_MAX_SHOWN];

	snprintf(text, sizeof(text), a->why ? "[%s: %s]" : "[%s]", where, why);
	return plain_line(a, text, module, kind);
}

/* @frames as lines of @module. */
static int take_frames(struct assembler *a, const struct symbol_frame *frames, int n, const char *module, struct line *lines)
{
	uint32_t id = profile_string(a->profile, module);

	for (int i = 0; i < n; i++)
		lines[i] = (struct line){
			.function = profile_function(a->profile, profile_string(a->profile, frames[i].name), id, FRAME_USER),
			.file = profile_string(a->profile, frames[i].file), .line = frames[i].line,
		};
	return n;
}

/* Code that was made at run time. */
static int name_made(struct assembler *a, struct symbolizer *symbolizer, const struct location *l, struct line *lines,
		     const char **why)
{
	struct made *m = l->module < a->module_made.n && a->module_made.v[l->module] != PROFILE_NONE ?
			 &a->made.v[a->module_made.v[l->module]] : NULL;
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	int n = m && m->names ? symbolizer_jit(symbolizer, m->incarnation, m->names, l->address, frames) : -ENODATA;

	if (n > 0)
		return take_frames(a, frames, n, "[jit]", lines);
	*why = n == -ENOENT ? "not in the perf map" : "made at run time";
	lines[0] = no_name(a, "unknown", *why, "", FRAME_USER);
	return 1;
}

/* What stands for a name at @l of @file. */
static struct line no_symbol(struct assembler *a, const struct location *l, const struct image *file, int err, const char **why)
{
	char where[NAME_MAX_SHOWN];

	snprintf(where, sizeof(where), "%.400s+0x%llx", file->name, (unsigned long long)l->address);
	*why = reason(err, file->fd >= 0 || file->kind != IMAGE_FILE);
	return no_name(a, where, *why, file->name, FRAME_USER);
}

static struct line kernel_line(struct assembler *a, const struct namer_answer *answer, const char **why)
{
	if (answer->n > 0)
		return plain_line(a, answer->frames->name, answer->module, FRAME_KERNEL);
	*why = reason(answer->n, 1);
	return no_name(a, "unknown", *why, "[kernel]", FRAME_KERNEL);
}

static void take_answer(void *ctx, const struct namer_answer *answer)
{
	struct assembler *a = ctx;
	const struct location l = profile_view(a->profile).locations[answer->id];
	const struct image *file = l.kind == FRAME_KERNEL ? NULL : images_at(a->images, a->module_images.v[l.module]);
	struct line lines[SOURCE_FRAMES_MAX];
	const char *why = "";
	int n = 1;

	/* What is loaded there may be something else by the end. */
	if (!file && !answer->reread && answer->n != -EPERM && strcmp(answer->module, "[kernel]") != 0) {
		vec_push(&a->later, answer->id);
		return;
	}
	if (!file)
		lines[0] = kernel_line(a, answer, &why);
	else if (answer->n > 0)
		n = take_frames(a, answer->frames, answer->n, file->name, lines);
	else
		lines[0] = no_symbol(a, &l, file, answer->n, &why);
	profile_name_location(a->profile, answer->id, lines, (size_t)n, why);
}

/* Where @l is, NULL for the kernel and for code that was made at run time. */
static const struct image *image_of(const struct assembler *a, const struct location *l)
{
	uint32_t image = l->kind == FRAME_KERNEL ? IMAGE_NONE : a->module_images.v[l->module];

	return image == IMAGE_NONE ? NULL : images_at(a->images, image);
}

void assembler_ask(struct assembler *a, struct namer *namer)
{
	struct profile_view v = profile_view(a->profile);

	for (; a->asked < v.nlocations; a->asked++) {
		const struct location *l = &v.locations[a->asked];
		const struct image *image = image_of(a, l);

		if (l->kind == FRAME_MARK)
			continue;
		/* Another mapping of a file that could not be opened may open it. */
		if (image ? image->fd >= 0 || image->kind != IMAGE_FILE : l->kind == FRAME_KERNEL)
			namer_ask(namer, (uint32_t)a->asked, image, l->address);
		else
			vec_push(&a->later, (uint32_t)a->asked);
	}
	namer_go(namer);
	namer_take(namer, take_answer, a);
}

/* Asks again for what is loaded into the kernel. */
static void ask_kernel_again(struct assembler *a, struct namer *namer)
{
	const struct location *locations = profile_view(a->profile).locations;
	size_t n = a->later.n, kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t id = a->later.v[i];

		if (locations[id].kind == FRAME_KERNEL)
			namer_ask(namer, id, NULL, locations[id].address);
		else
			a->later.v[kept++] = id;
	}
	a->later.n = kept;
	if (n > kept && !a->reread) {
		namer_reread_kernel(namer);
		a->reread = 1;
	}
}

void assembler_ask_last(struct assembler *a, struct namer *namer)
{
	/* Nothing was asked for so far, so what is read first is as it should be. */
	if (!a->asked) {
		namer_reread_kernel(namer);
		a->reread = 1;
	}
	namer_take(namer, take_answer, a);
	ask_kernel_again(a, namer);
	namer_urge(namer);
	assembler_ask(a, namer);
}

void assembler_name(struct assembler *a, struct namer *namer, struct symbolizer *symbolizer)
{
	const struct location *locations = profile_view(a->profile).locations;
	struct line lines[SOURCE_FRAMES_MAX];
	size_t kept = 0;

	assembler_ask(a, namer);
	for (size_t i = 0; i < a->made.n; i++)
		if (a->made.v[i].names)
			jit_refresh(a->made.v[i].names, dump_of(a, a->made.v[i].incarnation, clock_ns()));
	for (size_t i = 0; i < a->later.n; i++) {
		const struct location *l = &locations[a->later.v[i]];
		const struct image *image = image_of(a, l);
		const char *why = "";

		if (l->kind == FRAME_KERNEL) {
			a->later.v[kept++] = a->later.v[i];
		} else if (image) {
			namer_ask(namer, a->later.v[i], image, l->address);
		} else {
			int n = name_made(a, symbolizer, l, lines, &why);

			profile_name_location(a->profile, a->later.v[i], lines, (size_t)n, why);
		}
	}
	a->later.n = kept;
	do {
		ask_kernel_again(a, namer);
		namer_finish(namer, take_answer, a);
	} while (a->later.n);
}

void assembler_finish(struct assembler *a)
{
	for (size_t i = 0; i < a->early.n; i++)
		count_known(a, &a->early.v[i].key, &a->early.v[i].count, a->early.v[i].now);
	a->early.n = 0;
	shares_divide(a->shares, add, a);
	for (size_t i = 0; i < a->processes.n; i++) {
		const struct known_process *p = &a->processes.v[i];
		struct proc_info info = procs_info(a->procs, p->incarnation);

		profile_process(a->profile, info.pid, p->incarnation, profile_string(a->profile, info.comm));
	}
}

uint64_t assembler_hide_idle(struct assembler *a, uint64_t *ns)
{
	struct profile_view v = profile_view(a->profile);
	const uint64_t *times = profile_values(a->profile, a->types.time);
	struct { uint64_t ran, waited; } *threads = xcalloc(v.nthreads + 1, sizeof(*threads));
	uint64_t hidden = 0;

	*ns = 0;
	for (size_t i = 0; i < v.nsamples; i++) {
		/* What is not labelled is no wait. */
		if (v.samples[i].labels)
			threads[v.samples[i].thread].waited += times[i];
		else
			threads[v.samples[i].thread].ran += times[i];
	}
	for (size_t i = 0; i < v.nthreads; i++)
		hidden += threads[i].waited && threads[i].ran < threads[i].waited / IDLE;
	for (size_t i = 0; i < v.nsamples; i++) {
		uint32_t t = v.samples[i].thread;

		if (!v.samples[i].labels || threads[t].ran >= threads[t].waited / IDLE)
			continue;
		*ns += times[i];
		profile_drop(a->profile, (uint32_t)i);
	}
	free(threads);
	return hidden;
}

const uint64_t *assembler_results(const struct assembler *a)
{
	return a->results;
}
