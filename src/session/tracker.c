/* SPDX-License-Identifier: MIT */
#include "session/tracker.h"

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/vec.h"

/* ns: a process with many mappings is published not more often than this */
#define MANY_EVERY	50000000u

struct tracked {
	uint64_t start;
	/* ns; not published again before: it has many mappings, or it was in vain. Else 0 */
	uint64_t next;
	int waits;		/* its PID is among those that wait */
	/* dropped at the end of the next epoch, unless its PID was used again by then */
	int exited;
};

typedef VEC(struct unwind_mapping) mapping_vec;

struct tracker {
	struct procs *procs;
	struct unwinder *unwinder;
	struct langs *langs;
	int all;
	VEC(struct tracked) tracked;
	VEC(uint32_t) unused;			/* free places of it */
	struct hashmap index;			/* pid -> its place */
	VEC(pid_t) waiting;			/* to be published again, but not at once */
	VEC(pid_t) exited, exited_before;	/* since the last epoch; before that */
	mapping_vec list;
};

struct tracker *tracker_new(struct procs *procs, struct unwinder *unwinder, struct langs *langs,
			    int all)
{
	struct tracker *t = xcalloc(1, sizeof(*t));

	t->procs = procs;
	t->unwinder = unwinder;
	t->langs = langs;
	t->all = all;
	return t;
}

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	vec_free(&t->tracked);
	vec_free(&t->unused);
	hashmap_free(&t->index);
	vec_free(&t->waiting);
	vec_free(&t->exited);
	vec_free(&t->exited_before);
	vec_free(&t->list);
	free(t);
}

static struct tracked *find(struct tracker *t, pid_t pid)
{
	uint32_t i = hashmap_get(&t->index, (uint64_t)pid);

	return i == HASHMAP_NONE ? NULL : &t->tracked.v[i];
}

static void take_mapping(void *ctx, const struct mapping *m)
{
	mapping_vec *list = ctx;

	vec_push(list, (struct unwind_mapping){ .start = m->start,
						.end = m->end,
						.offset = m->offset,
						.image = m->image });
}

static void put_off(struct tracker *t, pid_t pid, struct tracked *p)
{
	if (!p->waits)
		vec_push(&t->waiting, pid);
	p->waits = 1;
}

static void publish(struct tracker *t, pid_t pid)
{
	struct tracked *p = find(t, pid);
	uint64_t begin = clock_ns(), end, pause;
	int err = 0;

	if (!p)
		return;
	if (begin < p->next) {
		put_off(t, pid, p);
		return;
	}
	t->list.n = 0;
	procs_each_mapping_of(t->procs, pid, begin, take_mapping, &t->list);
	for (size_t i = 0; i < t->list.n; i++)
		t->list.v[i].lang = langs_layout(t->langs, t->list.v[i].image);
	if (t->list.n)
		err = unwinder_process(t->unwinder, pid, p->start, t->list.v, t->list.n);
	else
		unwinder_exit(t->unwinder, pid);
	end = clock_ns();
	pause = MANY_SPARE * (end - begin);
	p->next = err || t->list.n > MANY_MAPPINGS ? end + (pause > MANY_EVERY ? pause : MANY_EVERY)
						   : 0;
	/* No room for it now; perhaps a moment later. Meanwhile its samples say so. */
	if (err)
		put_off(t, pid, p);
}

static void add(struct tracker *t, pid_t pid, uint64_t start)
{
	uint32_t i;

	if (t->unused.n)
		i = t->unused.v[--t->unused.n];
	else {
		i = (uint32_t)t->tracked.n;
		vec_push(&t->tracked, (struct tracked){ 0 });
	}
	t->tracked.v[i] = (struct tracked){ .start = start };
	hashmap_set(&t->index, (uint64_t)pid, i);
}

static void drop(struct tracker *t, pid_t pid)
{
	uint32_t i = hashmap_get(&t->index, (uint64_t)pid);

	unwinder_exit(t->unwinder, pid);
	if (i == HASHMAP_NONE)
		return;
	hashmap_del(&t->index, (uint64_t)pid);
	vec_push(&t->unused, i);
}

void tracker_add(struct tracker *t, pid_t pid, uint64_t start)
{
	struct tracked *known = find(t, pid);

	/* Another process by now, and we missed its fork. */
	if (known && start && known->start && start != known->start) {
		drop(t, pid);
		known = NULL;
	}
	if (pid <= 0 || known)
		return;
	add(t, pid, start);
	procs_at(t->procs, pid, clock_ns());
	publish(t, pid);
}

void tracker_fork(struct tracker *t, pid_t pid, pid_t parent)
{
	/* The PID of one that exited a moment ago: what was its is not this one's. */
	drop(t, pid);
	if (!find(t, parent))
		return;
	add(t, pid, 0);
	unwinder_fork(t->unwinder, pid, parent, 0);
}

void tracker_exec(struct tracker *t, pid_t pid)
{
	struct tracked *p = find(t, pid);

	if (p)
		p->next = 0;
	else if (t->all)
		add(t, pid, 0);
}

void tracker_exit(struct tracker *t, pid_t pid)
{
	struct tracked *p = find(t, pid);

	if (!p || p->exited)
		return;
	p->exited = 1;
	vec_push(&t->exited, pid);
}

int tracker_follows(const struct tracker *t, pid_t pid)
{
	return hashmap_get(&t->index, (uint64_t)pid) != HASHMAP_NONE;
}

void tracker_publish(struct tracker *t)
{
	size_t n = t->waiting.n;
	pid_t pid;

	for (size_t i = 0; i < n; i++) {
		struct tracked *p = find(t, t->waiting.v[i]);

		if (p)
			p->waits = 0;
		publish(t, t->waiting.v[i]);
	}
	t->waiting.n -= n;
	for (size_t i = 0; i < t->waiting.n; i++)
		t->waiting.v[i] = t->waiting.v[i + n];
	while ((pid = procs_next_changed(t->procs)))
		publish(t, pid);
}

void tracker_epoch(struct tracker *t)
{
	for (size_t i = 0; i < t->exited_before.n; i++) {
		const struct tracked *p = find(t, t->exited_before.v[i]);

		if (p && p->exited)
			drop(t, t->exited_before.v[i]);
	}
	t->exited_before.n = 0;
	for (size_t i = 0; i < t->exited.n; i++)
		vec_push(&t->exited_before, t->exited.v[i]);
	t->exited.n = 0;
	unwinder_epoch(t->unwinder);
}

struct unwind_mapping *tracker_mappings(struct tracker *t, uint32_t incarnation, uint64_t time,
					size_t *n)
{
	mapping_vec list = { 0 };

	procs_each_mapping(t->procs, incarnation, time, take_mapping, &list);
	*n = list.n;
	return list.v;
}

/* The layout of the first interpreter with a list of frames, and its mapping's bias; 0: none. */
static uint32_t find_interpreter(struct tracker *t, const struct unwind_mapping *list, size_t n,
				 uint64_t *bias)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t number = langs_layout(t->langs, list[i].image);

		*bias = list[i].start - list[i].offset;
		if (number && !(number & EBP_LAYOUT_MACHINE))
			return number;
	}
	return 0;
}

void tracker_jump(struct tracker *t, const struct unwind_mapping *list, size_t n,
		  struct ebp_jump *out)
{
	uint64_t bias;
	uint32_t number = find_interpreter(t, list, n, &bias);

	*out = (struct ebp_jump){ 0 };
	if (number)
		langs_jump(t->langs, number, bias, out);
}

uint32_t tracker_interpreter(struct tracker *t, uint32_t incarnation, uint64_t time,
			     uint64_t *bias)
{
	t->list.n = 0;
	procs_each_mapping(t->procs, incarnation, time, take_mapping, &t->list);
	return find_interpreter(t, t->list.v, t->list.n, bias);
}
