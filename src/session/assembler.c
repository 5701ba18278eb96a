/* SPDX-License-Identifier: MIT */
#include "session/assembler.h"

#include <stdio.h>
#include <string.h>

#include "alloc/alloc_library.h"
#include "alloc/alloc_links.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/text.h"
#include "session/assembler_state.h"
#include "session/frame_word.h"

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
	[EBP_UNSENT] = "ring buffer full",
};

const char *assembler_result_name(enum ebp_result result)
{
	return result_names[result];
}

/* The profile's modules get their images in the order they are made. */
static uint32_t add_module(struct assembler *a, const char *name, const char *path,
			   const char *build_id, uint32_t image)
{
	uint32_t module = profile_module(a->profile, name, path, build_id);

	while (a->module_images.n <= module)
		vec_push(&a->module_images, IMAGE_NONE);
	a->module_images.v[module] = image;
	return module;
}

struct assembler *assembler_new(struct profile *profile, struct images *images, struct procs *procs,
				struct namer *namer, const struct assembler_types *types, int why)
{
	struct assembler *a = xcalloc(1, sizeof(*a));

	a->profile = profile;
	a->images = images;
	a->procs = procs;
	a->namer = namer;
	a->types = *types;
	a->shares = shares_new();
	a->why = why;
	a->kernel_module = add_module(a, frame_kinds[FRAME_KERNEL].module, "[kernel.kallsyms]", "",
				      IMAGE_NONE);
	return a;
}

void assembler_free(struct assembler *a)
{
	if (!a)
		return;
	shares_free(a->shares);
	tracing_text_free(&a->tracing);
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
	assembler_lang_free(a);
	free(a);
}

static int same_process(const void *assembler, uint32_t i, const void *key)
{
	const struct assembler *a = assembler;

	return !memcmp(&a->processes.v[i].key, key, sizeof(struct ebp_process));
}

struct known_process *assembler_known(struct assembler *a, const struct ebp_process *key)
{
	uint32_t i = intern_find(&a->process_ids, hash_bytes(key, sizeof(*key)), same_process, a,
				 key);

	return i == HASHMAP_NONE ? NULL : &a->processes.v[i];
}

struct known_process *assembler_know(struct assembler *a, const struct known_process *p)
{
	intern_add(&a->process_ids, hash_bytes(&p->key, sizeof(p->key)), (uint32_t)a->processes.n);
	vec_push(&a->processes, *p);
	return &a->processes.v[a->processes.n - 1];
}

static struct known_process *find_process(struct assembler *a, const struct ebp_process *key,
					  uint64_t time)
{
	struct known_process *known = assembler_known(a, key), p = { .key = *key };

	if (known)
		return known;
	p.incarnation = procs_at(a->procs, (pid_t)key->tgid, time);
	p.process = profile_process(a->profile, (pid_t)key->tgid, p.incarnation, 0);
	profile_set_parent(a->profile, p.process, procs_info(a->procs, p.incarnation).parent);
	return assembler_know(a, &p);
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

/* The module of what @incarnation made at run time. */
static uint32_t module_of_made(struct assembler *a, uint32_t incarnation)
{
	uint32_t id = hashmap_put(&a->made_ids, incarnation, (uint32_t)a->made.n);
	char name[64];

	if (id == a->made.n) {
		/* By this name, too, no two are one: addresses of two programs must not mix. */
		snprintf(name, sizeof(name), "//anon of %d.%u",
			 procs_info(a->procs, incarnation).pid, incarnation);
		vec_push(&a->made,
			 (struct made){ .incarnation = incarnation,
					.module = add_module(a, PROFILE_MADE, name, "", IMAGE_NONE),
					.runtime = namer_runtime(a->namer) });
		while (a->module_made.n <= a->made.v[id].module)
			vec_push(&a->module_made, PROFILE_NONE);
		a->module_made.v[a->made.v[id].module] = id;
	}
	assembler_find_names(a, &a->made.v[id]);
	return a->made.v[id].module;
}

/* @incarnation is that of its process where the frame is none of a file. */
static uint32_t user_location(struct assembler *a, uint32_t incarnation,
			      const struct frame_word *frame, uint64_t time)
{
	struct proc_place place = { .image = IMAGE_NONE, .offset = frame->address };
	uint32_t module;

	if (frame->where == FRAME_IN_FILE && frame->image < images_count(a->images))
		place.image = frame->image;
	else if (frame->where == FRAME_IN_PROCESS)
		place = procs_locate(a->procs, incarnation, frame->address, time);
	module = place.image == IMAGE_NONE ? module_of_made(a, incarnation)
					   : module_of_image(a, place.image);
	return profile_location(a->profile, module, frame->kind, place.offset);
}

static void add_stack(struct assembler *a, uint64_t id, size_t first)
{
	hashmap_set(&a->stack_ids, id, (uint32_t)a->stacks.n);
	vec_push(&a->stacks, (struct stack){ .first = first,
					     .n = (uint32_t)(a->locations.n - first),
					     .result = EBP_RESULTS });
}

static void add_user_stack(struct assembler *a, uint64_t id, const struct ebp_process *process,
			   const __u64 *frames, size_t n, uint32_t result, uint64_t time)
{
	uint32_t incarnation = process->tgid ? find_process(a, process, time)->incarnation : 0;
	size_t first = a->locations.n;
	struct frame_word frame;

	n = assembler_merge(a, frames, n, result == EBP_COMPLETE);
	for (size_t i = 0; i < n; i++) {
		uint32_t location;

		frame_word_read(a->merged.v[i], &frame);
		location = frame.where == FRAME_IN_CODE
				   ? assembler_lang_location(a, &frame)
				   : user_location(a, incarnation, &frame, time);

		vec_push(&a->locations, location);
	}
	add_stack(a, id, first);
}

static void add_kernel_stack(struct assembler *a, uint64_t id, const __u64 *frames, uint32_t n)
{
	size_t first = a->locations.n;

	for (size_t i = tracing_text_leaves(&a->tracing, (const uint64_t *)frames, n); i < n; i++) {
		uint32_t location = profile_location(a->profile, a->kernel_module, FRAME_KERNEL,
						     frames[i]);

		vec_push(&a->locations, location);
	}
	add_stack(a, id, first);
}

void assembler_stack(struct assembler *a, const struct ebp_stack *stack)
{
	/* Sent again, because another stack took its place in the kernel's cache. */
	if (hashmap_get(&a->stack_ids, stack->id) != HASHMAP_NONE)
		return;
	if (stack->head.type == EBP_LANG_STACK)
		assembler_lang_stack(a, stack);
	else if (stack->head.type == EBP_KERNEL_STACK)
		add_kernel_stack(a, stack->id, stack->frames, stack->head.n);
	else
		add_user_stack(a, stack->id, &stack->process, stack->frames, stack->head.n,
			       stack->result, stack->time);
}

static uint32_t mark_node(struct assembler *a, uint32_t parent, const char *name)
{
	uint32_t string = profile_string(a->profile, name);
	uint32_t location = profile_location(a->profile, 0, FRAME_MARK, string);

	if (!profile_view(a->profile).locations[location].nlines) {
		const struct line line = { .function = profile_function(a->profile, string, 0,
									FRAME_MARK) };

		profile_name_location(a->profile, location, &line, 1, "");
	}
	return profile_node(a->profile, parent, location);
}

void assembler_leave_operators_out(struct assembler *a, const struct alloc_probes *probes)
{
	a->probes = probes;
}

/*
 * A location in the library that is preloaded to follow allocations, which is no part of the
 * program, or in an operator that hands on what malloc() gave.
 */
static int is_allocator(const struct assembler *a, uint32_t location)
{
	struct profile_view v = profile_view(a->profile);
	const struct location *l = &v.locations[location];
	const struct module *m = &v.modules[l->module];

	for (size_t i = 0; a->probes && i < a->probes->noperators; i++) {
		const struct alloc_operator *o = &a->probes->operators[i];

		if (l->address - o->offset < o->size &&
		    !strcmp(profile_text(a->profile, m->path), o->path))
			return 1;
	}
	return !strcmp(profile_text(a->profile, m->name), ALLOC_LIBRARY_NAME);
}

/* Appends stack @id of @key, root first, below @parent; of an allocation from its caller on. */
static uint32_t stack_node(struct assembler *a, uint32_t parent, uint64_t id,
			   const struct ebp_key *key)
{
	uint32_t i = id ? hashmap_get(&a->stack_ids, id) : HASHMAP_NONE, leaf = 0;
	const struct stack *s;

	if (i == HASHMAP_NONE)
		return parent;
	s = &a->stacks.v[i];
	while (key->kind == EBP_ALLOCATED && leaf + 1 < s->n &&
	       is_allocator(a, a->locations.v[s->first + leaf]))
		leaf++;
	for (uint32_t k = s->n; k-- > leaf;)
		parent = profile_node(a->profile, parent, a->locations.v[s->first + k]);
	return parent;
}

/* As the innermost frame of a wait, and as its label. */
static const char *const kind_names[EBP_KINDS] = {
	[EBP_BLOCKED] = "blocked",
	[EBP_DISK_WAIT] = "disk wait",
	[EBP_UNINTERRUPTIBLE] = "uninterruptible",
	[EBP_RUNNABLE] = "runnable",
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
	struct known_process *p = find_process(a, &key->process, now);
	uint32_t result = result_of(a, key), sample;
	enum ebp_kind kind = kind_of(key);
	char raw[EBP_COMM_LEN + 1] = "", comm[4 * EBP_COMM_LEN + 1], mark[64];
	uint32_t node = 0, thread;

	memcpy(raw, key->comm, EBP_COMM_LEN);
	text_clean(comm, sizeof(comm), raw);
	thread = profile_thread(a->profile, p->process, (pid_t)key->tid,
				profile_string(a->profile, comm));
	if (result_names[result]) {
		snprintf(mark, sizeof(mark), "[truncated: %s]", result_names[result]);
		node = mark_node(a, node, mark);
	}
	node = stack_node(a, node, key->user_id, key);
	node = stack_node(a, node, key->kernel_id, key);
	node = key->share == EBP_OF_CLASS && kind == EBP_ON_CPU ? mark_node(a, node, "[running]")
								: kind_node(a, node, kind);
	node = waker_node(a, node, key->waker);
	sample = profile_sample(a->profile, thread, node, kind_labels(a, kind));
	if (sample == a->sample_results.n) {
		vec_push(&a->sample_results, (uint8_t)result);
		p->samples++;
	}
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

/* Samples of a thread that ran, or of page faults. */
static void add_samples(struct assembler *a, const struct ebp_key *key, uint32_t sample, uint64_t n)
{
	uint64_t faults = a->types.faults ? n * a->types.faults : n;

	add_value(a, sample, a->types.samples, faults);
	if (a->types.faults)
		add_value(a, sample, a->types.samples + 1,
			  faults * (key->class ? key->class : a->types.page));
	a->sized += key->class ? n : 0;
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
static int is_early(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count,
		    uint64_t now)
{
	uint32_t waker = key->waker ? hashmap_get(&a->waker_ids, key->waker) : HASHMAP_NONE;

	if (kind_of(key) == EBP_ON_CPU)
		return 0;
	if (!is_unknown(a, key->user_id) &&
	    (waker == HASHMAP_NONE || !is_unknown(a, a->wakers.v[waker].user_id)))
		return 0;
	vec_push(&a->early, (struct early_count){ *key, *count, now });
	return 1;
}

static void count_known(struct assembler *a, const struct ebp_key *key,
			const struct ebp_count *count, uint64_t now)
{
	uint32_t sample = sample_of(a, key, now);

	if (key->share == EBP_OF_CLASS) {
		shares_add(a->shares, group_of(key), sample, count->n, count->ns);
	} else if (kind_of(key) == EBP_ON_CPU) {
		add_samples(a, key, sample, count->n);
		if (a->types.time != PROFILE_NONE)
			shares_weigh(a->shares, group_of(key), sample, count->n);
	} else {
		add(a, sample, count->n, count->ns);
		shares_weigh(a->shares, group_of(key), sample, count->ns);
	}
}

void assembler_count(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count,
		     uint64_t now)
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
		profile_tick(a->profile,
			     &(struct tick){ .time = time > a->origin ? time - a->origin : 0,
					     .value = a->types.faults ? a->types.faults : 1,
					     .sample = sample_of(a, key, time),
					     .cpu = cpu });
}

void assembler_sample(struct assembler *a, const struct ebp_sample *sample)
{
	if (kind_of(&sample->key) == EBP_ON_CPU && sample->key.share == EBP_OWN)
		count_one(a, &sample->key, sample->time, sample->cpu);
	else
		assembler_count(a, &sample->key, &sample->count, sample->time);
}

uint32_t assembler_site(struct assembler *a, const struct ebp_key *key, uint64_t time)
{
	return sample_of(a, key, time);
}

void assembler_allocation(struct assembler *a, const struct ebp_key *key)
{
	a->results[result_of(a, key)]++;
}

int assembler_knows(const struct assembler *a, const struct ebp_key *key)
{
	return !is_unknown(a, key->user_id) && !is_unknown(a, key->kernel_id);
}

void assembler_waker(struct assembler *a, const struct ebp_waker *waker)
{
	char raw[EBP_COMM_LEN + 1] = "", comm[4 * EBP_COMM_LEN + 1],
				name[sizeof(comm) + 64] = "[woken by an interrupt]";

	if (hashmap_put(&a->waker_ids, waker->id, (uint32_t)a->wakers.n) != a->wakers.n)
		return;
	memcpy(raw, waker->key.comm, EBP_COMM_LEN);
	text_clean(comm, sizeof(comm), raw);
	if (waker->key.tid)
		snprintf(name, sizeof(name), "[woken by %s]", comm);
	vec_push(&a->wakers, (struct waker){ .user_id = waker->key.user_id,
					     .kernel_id = waker->key.kernel_id,
					     .name = profile_string(a->profile, name),
					     .process = waker->key.process });
}

void assembler_timeline(struct assembler *a, uint64_t origin)
{
	a->timeline = 1;
	a->origin = origin;
}

/*
 * As the kernel makes ids: of one process where a frame is an address, so that what ended does not
 * leave its own behind.
 */
static uint64_t rescued_id(const struct ebp_rescue *sample, const struct unwind_result *user,
			   const __u64 *words, size_t n)
{
	uint64_t id = hash_bytes(words, n * sizeof(*words));

	for (uint32_t i = 0; i < user->n; i++)
		if (EBP_FRAME_IS_OF_PROCESS(user->frames[i]))
			return hash_pair(
				id, hash_bytes(&sample->key.process, sizeof(sample->key.process)));
	return id;
}

void assembler_rescued(struct assembler *a, const struct ebp_rescue *sample,
		       const struct unwind_result *user)
{
	size_t n = assembler_join_lang(a, user->frames, user->n, sample->lang_id);
	uint64_t id = rescued_id(sample, user, a->words.v, n);
	struct ebp_key key = sample->key;

	if (kind_of(&key) != EBP_ON_CPU) {
		if (hashmap_get(&a->stack_ids, key.user_id) == HASHMAP_NONE) {
			add_user_stack(a, key.user_id, &key.process, a->words.v, n, user->result,
				       sample->time);
			a->stacks.v[a->stacks.n - 1].result = user->result;
		}
		return;
	}
	key.result = user->result;
	if (user->n) {
		key.user_id = id ? id : 1;
		if (hashmap_get(&a->stack_ids, key.user_id) == HASHMAP_NONE)
			add_user_stack(a, key.user_id, &key.process, a->words.v, n, user->result,
				       sample->time);
	}
	count_one(a, &key, sample->time, sample->cpu);
}

static void divide_and_name(struct assembler *a)
{
	uint64_t now = clock_ns();

	shares_divide(a->shares, add, a);
	for (size_t i = 0; i < a->processes.n; i++) {
		struct known_process *p = &a->processes.v[i];
		struct proc_info info = procs_info(a->procs, p->incarnation);

		if (info.forgotten && !p->gone)
			p->gone = now;
		profile_process(a->profile, info.pid, p->incarnation,
				profile_string(a->profile, info.comm));
	}
}

void assembler_leave_tracing_out(struct assembler *a)
{
	tracing_text_find(&a->tracing, "/proc/kallsyms");
}

void assembler_update(struct assembler *a)
{
	size_t n = a->early.n;

	/* What is still early is put behind the others again. */
	for (size_t i = 0; i < n; i++) {
		struct early_count early = a->early.v[i];

		assembler_count(a, &early.key, &early.count, early.now);
	}
	if (n) {
		a->early.n -= n;
		memmove(a->early.v, a->early.v + n, a->early.n * sizeof(*a->early.v));
	}
	divide_and_name(a);
}

void assembler_finish(struct assembler *a)
{
	for (size_t i = 0; i < a->early.n; i++)
		count_known(a, &a->early.v[i].key, &a->early.v[i].count, a->early.v[i].now);
	a->early.n = 0;
	divide_and_name(a);
}

const uint64_t *assembler_results(const struct assembler *a)
{
	return a->results;
}

uint64_t assembler_sized(const struct assembler *a)
{
	return a->sized;
}
