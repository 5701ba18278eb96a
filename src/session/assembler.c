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
	assembler_places_init(a);
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
	assembler_places_free(a);
	known_processes_free(&a->processes);
	stacks_free(&a->stacks);
	assembler_lang_free(a);
	free(a);
}

static struct known_process *find_process(struct assembler *a, const struct ebp_process *key,
					  uint64_t time)
{
	return known_processes_at(&a->processes, a->profile, a->procs, key, time);
}

void assembler_process(struct assembler *a, const struct ebp_process *process, uint64_t time)
{
	find_process(a, process, time);
}

static void add_user_stack(struct assembler *a, uint64_t id, const struct ebp_process *process,
			   const __u64 *frames, size_t n, uint32_t result, uint64_t time)
{
	uint32_t incarnation = process->tgid ? find_process(a, process, time)->incarnation : 0;
	struct frame_word frame;

	n = assembler_merge(a, frames, n, result == EBP_COMPLETE);
	for (size_t i = 0; i < n; i++) {
		frame_word_read(a->merged.v[i], &frame);
		stacks_push(&a->stacks, assembler_location(a, incarnation, &frame, time));
	}
	stacks_add(&a->stacks, id);
}

static void add_kernel_stack(struct assembler *a, uint64_t id, const __u64 *frames, uint32_t n)
{
	for (size_t i = tracing_text_leaves(&a->tracing, (const uint64_t *)frames, n); i < n; i++)
		stacks_push(&a->stacks, profile_location(a->profile, a->kernel_module, FRAME_KERNEL,
							 frames[i]));
	stacks_add(&a->stacks, id);
}

void assembler_stack(struct assembler *a, const struct ebp_stack *stack)
{
	/* Sent again, because another stack took its place in the kernel's cache. */
	if (stacks_know(&a->stacks, stack->id))
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
	const struct stack *s = stacks_find(&a->stacks, id);
	uint32_t leaf = 0;

	if (!s)
		return parent;
	while (key->kind == EBP_ALLOCATED && leaf + 1 < s->n &&
	       is_allocator(a, stacks_location(&a->stacks, s, leaf)))
		leaf++;
	return stacks_append(&a->stacks, a->profile, parent, s, leaf);
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
	const struct stack *s = stacks_find(&a->stacks, key->user_id);

	if (s && s->result != STACKS_NO_RESULT)
		return s->result;
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

/* The waker's innermost function lies on what it woke. */
static uint32_t waker_node(struct assembler *a, uint32_t node, uint64_t id)
{
	uint32_t i = id ? hashmap_get(&a->waker_ids, id) : HASHMAP_NONE;
	const struct waker *w;

	if (i == HASHMAP_NONE)
		return node;
	w = &a->wakers.v[i];
	node = stacks_append_turned(&a->stacks, a->profile, node, w->kernel_id);
	node = stacks_append_turned(&a->stacks, a->profile, node, w->user_id);
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

/* A stack that was sent to be unwound here may be known later only. */
static int is_early(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count,
		    uint64_t now)
{
	uint32_t waker = key->waker ? hashmap_get(&a->waker_ids, key->waker) : HASHMAP_NONE;

	if (kind_of(key) == EBP_ON_CPU)
		return 0;
	if (stacks_know(&a->stacks, key->user_id) &&
	    (waker == HASHMAP_NONE || stacks_know(&a->stacks, a->wakers.v[waker].user_id)))
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
	return stacks_know(&a->stacks, key->user_id) && stacks_know(&a->stacks, key->kernel_id);
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
		if (!stacks_know(&a->stacks, key.user_id)) {
			add_user_stack(a, key.user_id, &key.process, a->words.v, n, user->result,
				       sample->time);
			stacks_last_result(&a->stacks, user->result);
		}
		return;
	}
	key.result = user->result;
	if (user->n) {
		key.user_id = id ? id : 1;
		if (!stacks_know(&a->stacks, key.user_id))
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
