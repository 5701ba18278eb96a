/* SPDX-License-Identifier: MIT */
#include "session/assembler.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/text.h"
#include "lang/lang_merge.h"
#include "profile/mark.h"
#include "profile/profile_fold.h"
#include "session/assembler_state.h"
#include "session/frame_word.h"
#include "unwind/result.h"

#define OWNER_MARK 600

void assembler_free(struct assembler *a)
{
	if (!a)
		return;
	tracing_text_free(&a->tracing);
	vec_free(&a->sample_results);
	assembler_places_free(a);
	known_processes_free(&a->processes);
	stacks_free(&a->stacks);
	assembler_lang_free(a);
	free(a);
}

static struct known_process *find_process(struct assembler *a, const struct ebp_process *key,
					  uint64_t time)
{
	struct known_process *p = known_processes_at(&a->processes, a->procs, key, time);

	if (a->owners && !p->owner)
		p->owner = 1 + owners_of(a->owners, (pid_t)key->tgid,
					 procs_info(a->procs, p->incarnation).parent);
	return p;
}

void assembler_owners(struct assembler *a, struct owners *owners)
{
	a->owners = owners;
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

/* Appends stack @id of @key, root first, below @parent, without what a source hides. */
static uint32_t stack_node(struct assembler *a, uint32_t parent, uint64_t id,
			   const struct ebp_key *key)
{
	const struct stack *s = stacks_find(&a->stacks, id);
	uint32_t leaf = s ? s->leaf : 0, caller;

	while (leaf && (caller = stacks_caller(&a->stacks, leaf)) &&
	       sources_hide(a->sources, key, stacks_location(&a->stacks, leaf)))
		leaf = caller;
	return stacks_append(&a->stacks, a->profile, parent, leaf);
}

static uint32_t result_of(const struct assembler *a, const struct ebp_key *key)
{
	const struct stack *s = stacks_find(&a->stacks, key->user_id);

	if (s && s->result != STACKS_NO_RESULT)
		return s->result;
	return key->result < EBP_RESULTS ? key->result : EBP_UNREADABLE;
}

static uint32_t turned_stack(void *ctx, uint32_t node, uint64_t id)
{
	struct assembler *a = ctx;

	return stacks_append_turned(&a->stacks, a->profile, node, id);
}

/* Whose the process is, "" for nobody's and where it is not to be told. */
static const char *owner_of(const struct assembler *a, const struct known_process *p)
{
	return a->owners ? owners_text(a->owners, p->owner - 1) : "";
}

/* At the root, for views that know no labels: "[unit=nginx.service]". */
static uint32_t mark_owner(struct assembler *a, const char *owner, uint32_t node)
{
	char text[OWNER_MARK];

	if (!*owner)
		return node;
	snprintf(text, sizeof(text), "[%s=%s]", owner_kind_name(owners_kind(a->owners)), owner);
	return profile_mark(a->profile, node, text);
}

static uint32_t labels_of(struct assembler *a, const char *owner, const struct ebp_key *key)
{
	uint32_t labels = sources_labels(a->sources, key);
	struct label more = { .key = 0 };

	if (!*owner)
		return labels;
	more.key = profile_string(a->profile, owner_kind_name(owners_kind(a->owners)));
	more.text = profile_string(a->profile, owner);
	return profile_labels_and(a->profile, labels, &more);
}

/* The profile's process whose samples those of @p are. */
static uint32_t row_of(struct assembler *a, struct known_process *p)
{
	struct proc_info info;

	if (p->process != PROFILE_NONE)
		return p->process;
	info = procs_info(a->procs, p->incarnation);
	p->shared = a->folds_brief && info.exited &&
		    profile_view(a->profile).nprocesses >= APART_BRIEF;
	a->folded += (size_t)p->shared;
	if (p->shared) {
		p->process = profile_ended_process(a->profile,
						   profile_string(a->profile, info.comm), "");
		return p->process;
	}
	p->process = profile_process(a->profile, (pid_t)p->key.tgid, p->incarnation, 0);
	profile_set_parent(a->profile, p->process, info.parent);
	return p->process;
}

/* The profile's sample for @key; @now as for assembler_count(). */
static uint32_t sample_of(void *ctx, const struct ebp_key *key, uint64_t now)
{
	struct assembler *a = ctx;
	struct known_process *p = find_process(a, &key->process, now);
	uint32_t result = result_of(a, key), sample;
	const char *cut = unwind_result_name(result);
	char raw[EBP_COMM_LEN + 1] = "", comm[4 * EBP_COMM_LEN + 1], mark[64];
	const char *owner = owner_of(a, p);
	uint32_t node = mark_owner(a, owner, 0), row = row_of(a, p), thread;

	memcpy(raw, key->comm, EBP_COMM_LEN);
	text_clean(comm, sizeof(comm), raw);
	thread = profile_thread(a->profile, row, p->shared ? 0 : (pid_t)key->tid,
				profile_string(a->profile, comm));
	if (cut) {
		snprintf(mark, sizeof(mark), "[truncated: %s]", cut);
		node = profile_mark(a->profile, node, mark);
	}
	node = stack_node(a, node, key->user_id, key);
	node = stack_node(a, node, key->kernel_id, key);
	node = sources_leaf(a->sources, key, node);
	sample = profile_sample(a->profile, thread, node, labels_of(a, owner, key));
	if (sample == a->sample_results.n) {
		vec_push(&a->sample_results, (uint8_t)result);
		p->samples++;
	}
	return sample;
}

static void kept(void *ctx, uint32_t sample, uint64_t n)
{
	struct assembler *a = ctx;

	a->results[a->sample_results.v[sample]] += n;
}

static void kept_key(void *ctx, const struct ebp_key *key)
{
	struct assembler *a = ctx;

	a->results[result_of(a, key)]++;
}

static int knows(void *ctx, uint64_t id)
{
	return stacks_know(&((struct assembler *)ctx)->stacks, id);
}

static uint32_t add_mark(void *ctx, uint32_t node, const char *text)
{
	struct assembler *a = ctx;

	return profile_mark(a->profile, node, text);
}

static void ran(void *ctx, const struct ebp_key *key, uint32_t sample, uint64_t n)
{
	sources_ran(((struct assembler *)ctx)->sources, key, sample, n);
}

struct assembler *assembler_new(struct profile *profile, struct images *images, struct procs *procs,
				struct namer *namer, struct sources *sources, int why)
{
	struct assembler *a = xcalloc(1, sizeof(*a));

	a->profile = profile;
	a->images = images;
	a->procs = procs;
	a->namer = namer;
	a->sources = sources;
	a->why = why;
	assembler_places_init(a);
	return a;
}

void assembler_serve(struct assembler *a)
{
	struct source_host *host = &a->sources->host;

	host->profile = a->profile;
	host->sample = sample_of;
	host->kept = kept;
	host->kept_key = kept_key;
	host->knows = knows;
	host->mark = add_mark;
	host->turned_stack = turned_stack;
	host->lock = assembler_lock;
	host->ran = ran;
	host->is_over = assembler_is_over;
	host->ctx = a;
}

size_t assembler_bytes(const struct assembler *a)
{
	return profile_bytes(a->profile) + stacks_bytes(&a->stacks);
}

void assembler_count(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count,
		     uint64_t now)
{
	sources_count(a->sources,
		      &(struct source_count){ .key = key, .count = *count, .time = now });
}

void assembler_sample(struct assembler *a, const struct ebp_sample *sample)
{
	sources_count(a->sources, &(struct source_count){ .key = &sample->key,
							  .count = sample->count,
							  .time = sample->time,
							  .timed = (int)sample->timed,
							  .cpu = sample->cpu });
}

int assembler_knows(const struct assembler *a, const struct ebp_key *key)
{
	return stacks_know(&a->stacks, key->user_id) && stacks_know(&a->stacks, key->kernel_id);
}

/*
 * As the kernel makes ids: of one process where a frame is an address, so that what ended does not
 * leave its own behind.
 */
static uint64_t rescued_id(const struct ebp_rescue *sample, const __u64 *words, size_t n)
{
	uint64_t id = hash_bytes(words, n * sizeof(*words));

	for (size_t i = 0; i < n; i++)
		if (EBP_FRAME_IS_OF_PROCESS(words[i]))
			return hash_pair(
				id, hash_bytes(&sample->key.process, sizeof(sample->key.process)));
	return id;
}

/* How a stack of @n words ends whose machine frames end so: its list of frames may be cut. */
static uint32_t joined_result(uint32_t result, const uint64_t *words, size_t n)
{
	if (result == EBP_COMPLETE && n >= EBP_WORDS_MAX - 1 && lang_is_cut(words, n))
		return EBP_DEPTH;
	return result;
}

void assembler_rescued(struct assembler *a, const struct ebp_rescue *sample,
		       const struct unwind_result *user)
{
	size_t n = assembler_join_lang(a, user->frames, user->n, sample->lang_id, sample->stop.n);
	uint32_t result = joined_result(user->result, (const uint64_t *)a->words.v, n);
	uint64_t id = rescued_id(sample, a->words.v, n);
	struct ebp_key key = sample->key;

	/* Where the stack has an id already, its count comes by itself. */
	if (key.user_id) {
		if (!stacks_know(&a->stacks, key.user_id)) {
			add_user_stack(a, key.user_id, &key.process, a->words.v, n, result,
				       sample->time);
			stacks_last_result(&a->stacks, result);
		}
		return;
	}
	key.result = result;
	if (user->n) {
		key.user_id = id ? id : 1;
		if (!stacks_know(&a->stacks, key.user_id))
			add_user_stack(a, key.user_id, &key.process, a->words.v, n, result,
				       sample->time);
	}
	sources_count(a->sources, &(struct source_count){ .key = &key,
							  .count = { .n = 1 },
							  .time = sample->time,
							  .timed = 1,
							  .cpu = sample->cpu });
}

static void name_processes(struct assembler *a)
{
	uint64_t now = clock_ns();

	for (size_t i = 0; i < a->processes.n; i++) {
		struct known_process *p = &a->processes.v[i];
		struct proc_info info = procs_info(a->procs, p->incarnation);

		if (info.forgotten && !p->gone)
			p->gone = now;
		if (p->process != PROFILE_NONE && !p->shared)
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
	sources_update(a->sources);
	name_processes(a);
}

void assembler_finish(struct assembler *a)
{
	name_processes(a);
}

void assembler_fold_brief(struct assembler *a)
{
	a->folds_brief = 1;
}

size_t assembler_folded(const struct assembler *a)
{
	return a->folded;
}

size_t assembler_folded_threads(const struct assembler *a)
{
	return a->folded_threads;
}

const uint64_t *assembler_results(const struct assembler *a)
{
	return a->results;
}
