/* SPDX-License-Identifier: MIT */
#include "sources/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "sources/idle.h"

#define SECOND 1e9

/* As the innermost frame of a wait, and as its label. */
static const char *const state_names[EBP_KINDS] = {
	[EBP_BLOCKED] = "blocked",
	[EBP_DISK_WAIT] = "disk wait",
	[EBP_UNINTERRUPTIBLE] = "uninterruptible",
	[EBP_RUNNABLE] = "runnable",
};

static const char *state_of(const struct ebp_key *key)
{
	return key->kind < EBP_KINDS ? state_names[key->kind] : NULL;
}

struct source *waits_new(const struct waits_options *o)
{
	struct waits *w = xcalloc(1, sizeof(*w));

	w->source.ops = &waits_ops;
	w->o = o;
	w->shares = shares_new();
	return &w->source;
}

static void begin(struct source *source, struct source_host *host)
{
	struct waits *w = (struct waits *)source;
	struct profile_meta *m = profile_meta(host->profile);

	if (w->o->wall || !*m->event)
		snprintf(m->event, sizeof(m->event), "%s", w->o->wall ? "wall" : "off-cpu");
	w->number = PROFILE_NONE;
	if (w->o->wall) {
		w->time = source_type(source, "wall", "nanoseconds");
		return;
	}
	w->number = source_type(source, "waits", "count");
	w->time = source_type(source, "off-cpu", "nanoseconds");
	if (!w->number)
		profile_show(host->profile, w->time);
}

static int take_waker(struct source *source, const struct ebp_head *head)
{
	struct waits *w = (struct waits *)source;
	const struct ebp_waker *waker = (const void *)head;
	char raw[EBP_COMM_LEN + 1] = "", comm[4 * EBP_COMM_LEN + 1],
				name[sizeof(comm) + 64] = "[woken by an interrupt]";

	if (head->type != EBP_WAKER)
		return 0;
	if (hashmap_put(&w->waker_ids, waker->id, (uint32_t)w->wakers.n) != w->wakers.n)
		return 1;
	memcpy(raw, waker->key.comm, EBP_COMM_LEN);
	text_clean(comm, sizeof(comm), raw);
	if (waker->key.tid)
		snprintf(name, sizeof(name), "[woken by %s]", comm);
	vec_push(&w->wakers, (struct waker){ .user_id = waker->key.user_id,
					     .kernel_id = waker->key.kernel_id,
					     .name = profile_string(source->host->profile, name),
					     .process = waker->key.process });
	return 1;
}

static const struct waker *waker_of(const struct waits *w, const struct ebp_key *key)
{
	uint32_t i = key->waker ? hashmap_get(&w->waker_ids, key->waker) : HASHMAP_NONE;

	return i == HASHMAP_NONE ? NULL : &w->wakers.v[i];
}

/* How the stacks of @key end: what kept the thread from running, and who ended that. */
static uint32_t leaf(struct source *source, const struct ebp_key *key, uint32_t node)
{
	const struct source_host *host = source->host;
	const struct waker *waker = waker_of((struct waits *)source, key);
	const char *state = state_of(key), *lock = NULL;
	char mark[32];

	if (key->kind == EBP_BLOCKED && host->lock)
		lock = host->lock(host->ctx, key->user_id);
	if (state) {
		snprintf(mark, sizeof(mark), "[%s]", lock ? lock : state);
		node = host->mark(host->ctx, node, mark);
	} else if (key->kind == EBP_RUNNING) {
		node = host->mark(host->ctx, node, "[running]");
	}
	if (!waker)
		return node;
	/* So the waker's innermost function lies on what it woke. */
	node = host->turned_stack(host->ctx, node, waker->kernel_id);
	node = host->turned_stack(host->ctx, node, waker->user_id);
	return host->mark(host->ctx, node, profile_text(host->profile, waker->name));
}

static uint32_t labels(struct source *source, const struct ebp_key *key)
{
	struct profile *p = source->host->profile;
	const char *state = state_of(key);

	if (!state)
		return 0;
	return profile_labels(p, &(struct label){ .key = profile_string(p, "state"),
						  .text = profile_string(p, state) }, 1);
}

/* What shares time: a thread's samples on the CPU, its waits of one class and state. */
static uint64_t group_of(const struct ebp_key *key)
{
	uint8_t kind = key->kind == EBP_ON_CPU ? EBP_RUNNING : key->kind;

	return hash_pair(hash_bytes(&key->process, sizeof(key->process)),
			 hash_pair((uint64_t)key->tid << 8 | kind, key->class));
}

/* Whatever was measured for one sample. */
static void add(void *ctx, uint32_t sample, uint64_t n, uint64_t ns)
{
	struct waits *w = ctx;
	const struct source_host *host = w->source.host;

	source_add(&w->source, sample, w->number, n);
	source_add(&w->source, sample, w->time, ns);
	host->kept(host->ctx, sample, n);
}

static void count_known(void *ctx, const struct source_count *c)
{
	struct waits *w = ctx;
	const struct source_host *host = w->source.host;
	const struct ebp_key *key = c->key;
	uint32_t sample = host->sample(host->ctx, key, c->time);

	if (key->share == EBP_OF_CLASS) {
		shares_add(w->shares, group_of(key), sample, c->count.n, c->count.ns);
		/* Where it was is known, and most likely it was there. */
		sample = shares_heaviest(w->shares, group_of(key));
	} else {
		add(w, sample, c->count.n, c->count.ns);
		shares_weigh(w->shares, group_of(key), sample, c->count.ns);
	}
	if (key->kind != EBP_RUNNING && sample != SHARES_GONE)
		source_tick(&w->source, c, sample, 0, c->count.ns);
}

/* A stack that was sent to be unwound by us may be known later only. */
static int is_early(void *ctx, const struct ebp_key *key)
{
	const struct waits *w = ctx;
	const struct source_host *host = w->source.host;
	const struct waker *waker = waker_of(w, key);

	return state_of(key) && (!host->knows(host->ctx, key->user_id) ||
				 (waker && !host->knows(host->ctx, waker->user_id)));
}

static int count(struct source *source, const struct source_count *c)
{
	struct waits *w = (struct waits *)source;

	if (!state_of(c->key) && c->key->kind != EBP_RUNNING)
		return 0;
	if (is_early(w, c->key))
		early_keep(&w->early, c);
	else
		count_known(w, c);
	return 1;
}

static void ran(struct source *source, const struct ebp_key *key, uint32_t sample, uint64_t n)
{
	shares_weigh(((struct waits *)source)->shares, group_of(key), sample, n);
}

static void update(struct source *source)
{
	struct waits *w = (struct waits *)source;

	early_take(&w->early, is_early, count_known, w);
	shares_divide(w->shares, add, w);
}

/* Who ended waits and is over itself: those waits are over, too, and were counted. */
static void fold_wakers(struct waits *w)
{
	const struct source_host *host = w->source.host;
	struct hashmap ids = w->waker_ids;
	VEC(struct waker) kept = { 0 };

	w->waker_ids = (struct hashmap){ 0 };
	for (size_t i = 0; i < ids.cap; i++) {
		const struct waker *one =
			ids.slots[i].used ? &w->wakers.v[ids.slots[i].value] : NULL;

		if (!one || host->is_over(host->ctx, &one->process))
			continue;
		hashmap_set(&w->waker_ids, ids.slots[i].key, (uint32_t)kept.n);
		vec_push(&kept, *one);
	}
	hashmap_free(&ids);
	vec_free(&w->wakers);
	w->wakers.v = kept.v;
	w->wakers.n = kept.n;
	w->wakers.cap = kept.cap;
}

static void fold(struct source *source, const uint32_t *samples)
{
	struct waits *w = (struct waits *)source;

	fold_wakers(w);
	shares_renumber(w->shares, samples);
}

static void finish(struct source *source, uint64_t began, uint64_t stopped)
{
	struct waits *w = (struct waits *)source;

	(void)began;
	(void)stopped;
	early_take(&w->early, NULL, count_known, w);
	shares_divide(w->shares, add, w);
	if (w->o->hide_idle)
		w->idle = idle_hide(source->host->profile, w->time, &w->idle_ns);
}

static void add_summary(const struct source *source, struct summary *rows)
{
	const struct waits *w = (const struct waits *)source;
	struct ebp_counters c;

	collector_counters(source->host->collector, &c);
	if (!c.switches && !w->idle)
		return;
	summary_line(rows, SUMMARY_METHOD);
	summary_row(rows, "switches", (double)c.switches, "threads left the CPU %llu times",
		    (unsigned long long)c.switches);
	summary_row(rows, "stacks_taken", (double)c.captured, ", stacks were taken %llu times",
		    (unsigned long long)c.captured);
	if (c.captured < c.switches)
		summary_text(rows, " (--max-overhead); the time of the others was measured, and "
			     "divided by theirs");
	if (c.brief) {
		summary_row(rows, "brief_waits", (double)c.brief,
			    "; %llu wait%s below --min-block, ", (unsigned long long)c.brief,
			    text_s(c.brief));
		summary_row(rows, "brief_waits_s", (double)c.brief_ns / SECOND,
			    "%.3f ms together, left out", (double)c.brief_ns / 1e6);
	}
	if (w->idle) {
		summary_row(rows, "idle_threads", (double)w->idle, "; %llu idle thread%s hidden, ",
			    (unsigned long long)w->idle, text_s(w->idle));
		summary_row(rows, "idle_threads_s", (double)w->idle_ns / SECOND,
			    "that waited %.1f s", (double)w->idle_ns / SECOND);
	}
}

/* Those without stacks are summed up all the same, and stacks have a budget. */
static int keeps_times(const struct source *source)
{
	(void)source;
	return 1;
}

static void release(struct source *source)
{
	struct waits *w = (struct waits *)source;

	shares_free(w->shares);
	early_free(&w->early);
	vec_free(&w->wakers);
	hashmap_free(&w->waker_ids);
	free(w);
}

const struct source_ops waits_ops = {
	.name = "waits",
	.kernel = &waits_kernel,
	.feature = &waits_feature,
	.check = waits_check,
	.choose = waits_choose,
	.keeps_times = keeps_times,
	.begin = begin,
	.record = take_waker,
	.count = count,
	.ran = ran,
	.leaf = leaf,
	.labels = labels,
	.update = update,
	.fold = fold,
	.finish = finish,
	.summary = add_summary,
	.free = release,
};
