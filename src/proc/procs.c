/* SPDX-License-Identifier: MIT */
#include "proc/procs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strtab.h"
#include "base/text.h"
#include "proc/lives.h"
#include "proc/maps.h"
#include "proc/procfs.h"
#include "proc/remap.h"

#define PF_KTHREAD	0x00200000	/* include/linux/sched.h */
#define TICK_SLACK	20000000u	/* ns; start times in /proc are cut to ticks of 10 ms */
/* ns; from a start time to the fork event, while a large process is copied */
#define FORK_SLACK	200000000u
/* ns between two readings of one process's maps: at least, */
#define WAIT_MIN	100000000u
#define WAIT_MAX	6400000000u	/* and where they bring nothing new */
#define ANCESTORS_MAX	32		/* forks without exec that mappings are followed through */

/* An incarnation that somebody asked for; stays when its life is forgotten. */
struct known {
	struct life *life;	/* NULL: forgotten */
	pid_t pid;
	uint8_t named;
	uint8_t unused;		/* nobody's: released */
	char comm[16 + 1];	/* raw; only once it is forgotten */
};

struct procs {
	struct images *images;
	struct remote *remote;
	struct lives lives;
	VEC(struct known) known;	/* by incarnation */
	VEC(uint32_t) unused;		/* free places of it */
	VEC(pid_t) changed;
	struct strtab *names;		/* clean comms */
	uint32_t losses;		/* how often events were lost */
	/* the losses after which ended lives were last looked for */
	uint32_t swept;
};

struct procs *procs_new(struct images *images, struct remote *remote)
{
	struct procs *p = xcalloc(1, sizeof(*p));

	p->images = images;
	p->remote = remote;
	p->names = strtab_new();
	return p;
}

void procs_free(struct procs *p)
{
	if (!p)
		return;
	lives_free(&p->lives);
	vec_free(&p->known);
	vec_free(&p->unused);
	vec_free(&p->changed);
	strtab_free(p->names);
	free(p);
}

static void set_comm(struct life *l, const char *comm)
{
	snprintf(l->comm, sizeof(l->comm), "%s", comm);
	l->named = 1;
}

static void mark_changed(struct procs *p, struct life *l)
{
	if (l->changed)
		return;
	l->changed = 1;
	vec_push(&p->changed, l->pid);
}

/* --- Reading /proc. --------------------------------------------------------- */

/* A start time of /proc/PID/stat, in our clock. */
static uint64_t start_ns(uint64_t ticks)
{
	uint64_t ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
		 slept = clock_slept_ns();

	return ns > slept ? ns - slept : 0;
}

/* Whether /proc/PID, whose stat is @st, is the process of @l and not a later one of that PID. */
static int same_process(const struct life *l, const struct procfs_stat *st)
{
	return l->start ? l->start == st->start : start_ns(st->start) <= l->seen + TICK_SLACK;
}

/*
 * The stat of the process that @l is. -ESRCH where /proc/PID is not that: gone,
 * used again, or another program by now.
 */
static int stat_life(const struct procs *p, const struct life *l, struct procfs_stat *st)
{
	int err;

	if (lives_newest(&p->lives, l->pid) != l)
		return -ESRCH;
	err = procfs_stat(l->pid, st);
	return err ? err : same_process(l, st) ? 0 : -ESRCH;
}

/*
 * The process @pid as /proc has it now, where it was there at @time already. Only for a PID without
 * a life.
 */
static struct life *discover(struct procs *p, pid_t pid, uint64_t time)
{
	struct procfs_stat st;
	struct life *l;
	char comm[16 + 1];
	uint64_t start;

	if (procfs_stat(pid, &st))
		return NULL;
	start = start_ns(st.start);
	if (start > time + TICK_SLACK)
		return NULL;
	l = lives_add(&p->lives, pid, start > TICK_SLACK ? start - TICK_SLACK : 0);
	l->seen = time;
	l->start = st.start;
	l->ppid = st.ppid;
	l->discovered = 1;
	l->complete = !!(st.flags & PF_KTHREAD);
	l->losses = p->losses;
	if (!procfs_comm(pid, comm))
		set_comm(l, comm);
	return l;
}

static struct life *find_or_discover(struct procs *p, pid_t pid, uint64_t time)
{
	struct life *l = lives_find(&p->lives, pid, time);

	return l || lives_newest(&p->lives, pid) ? l : discover(p, pid, time);
}

struct reading {
	struct procs *procs;
	struct life *life;
	VEC(struct mapping) list;
};

/* Anonymous memory where a file's code was, with the same code in it, is that file's. */
static void keep_file(struct procs *p, const struct life *l, struct mapping *m)
{
	const struct mapping *was = mappings_find(l->maps, m->start, LIFE_OPEN);

	if (!was || was->image == IMAGE_NONE || was->start > m->start || was->end < m->end ||
	    !remap_holds_file(p->remote, l->pid, m->start, m->end,
			      images_at(p->images, was->image)->fd,
			      was->offset + (m->start - was->start)))
		return;
	m->image = was->image;
	m->offset = was->offset + (m->start - was->start);
}

/* Memory without a file that processes share has a place in it; of other memory, /proc says 0. */
static int is_shared(const struct image_key *key)
{
	return key->path[0] == '/' && key->path[1] != '/';
}

static struct mapping make_mapping(struct procs *p, const struct life *l,
				   const struct image_key *key, uint64_t offset)
{
	struct mapping m = {
		.start = key->start, .end = key->end, .offset = offset,
		.image = images_get(p->images, l->pid, key),
	};

	if (m.image == IMAGE_NONE && !is_shared(key))
		m.offset = m.start;
	if (m.image == IMAGE_NONE)
		keep_file(p, l, &m);

	/* What the kernel tells of the offset of memory that no file holds means nothing. */
	if (m.image != IMAGE_NONE && images_at(p->images, m.image)->kind != IMAGE_FILE)
		m.offset = 0;
	return m;
}

static void take_line(const struct maps_line *line, void *arg)
{
	struct reading *r = arg;
	struct image_key key = {
		.path = line->path, .dev_major = line->dev_major, .dev_minor = line->dev_minor,
		.inode = line->inode, .start = line->start, .end = line->end,
	};

	vec_push(&r->list, make_mapping(r->procs, r->life, &key, line->offset));
}

/* Adds what /proc/PID/maps shows now. 0 or a negative errno. */
static int read_maps(struct procs *p, struct life *l)
{
	struct reading r = { .procs = p, .life = l };
	struct procfs_stat st;
	int err = stat_life(p, l, &st);

	if (err)
		return err;
	l->start = st.start;
	l->ppid = l->ppid ? l->ppid : st.ppid;
	err = maps_for_each_executable(l->pid, take_line, &r);
	if (!err)
		mappings_add_snapshot(&l->maps, r.list.v, r.list.n, clock_ns());
	mark_changed(p, l);
	vec_free(&r.list);
	return err;
}

/*
 * Completes the mappings of @l, from /proc or, where it is gone, from the parent that it was a copy
 * of.
 */
static void complete_maps(struct procs *p, struct life *l, int depth)
{
	struct life *parent;

	if (l->complete)
		return;
	l->complete = 1;
	if (!read_maps(p, l) || !l->parent || depth == ANCESTORS_MAX)
		return;
	parent = find_or_discover(p, l->parent, l->begin);
	if (!parent || parent == l)
		return;
	complete_maps(p, parent, depth + 1);
	mappings_add_inherited(&l->maps, parent->maps, l->begin);
	mark_changed(p, l);
}

/* The same for its name. */
static void complete_name(struct procs *p, struct life *l)
{
	struct procfs_stat st;
	struct life *at = l;
	char comm[16 + 1];

	for (int depth = 0; at && !at->named && depth < ANCESTORS_MAX; depth++) {
		if (!stat_life(p, at, &st) && !procfs_comm(at->pid, comm))
			set_comm(at, comm);
		else
			at = at->parent ? find_or_discover(p, at->parent, at->begin) : NULL;
	}
	if (at && at != l && at->named)
		set_comm(l, at->comm);
}

/* --- Events. ------------------------------------------------------------------ */

static struct life *new_life(struct procs *p, pid_t pid, uint64_t time)
{
	struct life *l = lives_add(&p->lives, pid, time);

	l->losses = p->losses;
	return l;
}

/* The newest life of @pid; where there is none, that of a process older than we are. */
static struct life *newest_or_new(struct procs *p, pid_t pid, uint64_t time)
{
	struct life *l = lives_newest(&p->lives, pid);

	if (!l) {
		l = new_life(p, pid, 0);
		l->seen = time;
	}
	return l;
}

static void end_life(struct procs *p, struct life *l, uint64_t time, int exited)
{
	if (!l || l->end != LIFE_OPEN)
		return;
	l->exited = (uint8_t)exited;
	lives_end(&p->lives, l, time);
}

void procs_fork(struct procs *p, uint64_t time, pid_t pid, pid_t parent)
{
	struct life *l = lives_newest(&p->lives, pid), *from;

	/* It may have been asked for, and found in /proc, before its fork was told. */
	if (l && l->end == LIFE_OPEN && l->discovered && time >= l->begin &&
	    time - l->begin <= TICK_SLACK + FORK_SLACK) {
		l->parent = l->ppid = parent;
		return;
	}
	end_life(p, l, time, 1);
	from = lives_find(&p->lives, parent, time);
	l = new_life(p, pid, time);
	l->parent = l->ppid = parent;
	if (!from)
		return;
	l->maps = mappings_ref(from->maps);
	l->complete = from->complete;
	l->losses = from->losses;
	if (from->named)
		set_comm(l, from->comm);
}

void procs_exec(struct procs *p, uint64_t time, pid_t pid, const char *comm)
{
	struct life *old = lives_newest(&p->lives, pid), *l;

	end_life(p, old, time, 0);
	l = new_life(p, pid, time);
	/*
	 * An exec by another thread than the leader ends the leader first; the process is the same.
	 */
	if (old) {
		l->start = old->start;
		l->ppid = old->ppid;
	}
	l->complete = 1;
	l->execed = 1;
	set_comm(l, comm);
	mark_changed(p, l);
}

void procs_comm(struct procs *p, uint64_t time, pid_t pid, const char *comm)
{
	set_comm(newest_or_new(p, pid, time), comm);
}

void procs_mmap(struct procs *p, uint64_t time, pid_t pid, const struct image_key *key,
		uint64_t offset)
{
	struct life *l = newest_or_new(p, pid, time);
	struct mapping m = make_mapping(p, l, key, offset);

	m.from = time;
	mappings_add(&l->maps, &m);
	mark_changed(p, l);
}

int procs_exit(struct procs *p, uint64_t time, pid_t pid)
{
	struct life *l = lives_newest(&p->lives, pid);

	/* Older than we are, and not asked for yet: until it is reaped its name can be read. */
	if (!l)
		l = discover(p, pid, time);
	if (l && l->execed && !l->maps && l->end == LIFE_OPEN)
		return 0;
	end_life(p, l, time, 1);
	return 1;
}

int procs_knows(const struct procs *p, pid_t pid)
{
	return lives_newest(&p->lives, pid) != NULL;
}

void procs_events_lost(struct procs *p)
{
	p->losses++;
}

/* --- Questions. ----------------------------------------------------------- */

/*
 * After a loss of events: whether the life goes on, as what, and that its maps
 * are to be read again. Returns the life of that PID at @time.
 */
static struct life *look_again(struct procs *p, struct life *l, uint64_t time)
{
	struct procfs_stat st;
	char comm[16 + 1];

	if (l->losses == p->losses || l->end != LIFE_OPEN)
		return l;
	l->losses = p->losses;
	if (procfs_stat(l->pid, &st))
		return l;
	if (same_process(l, &st)) {
		l->complete = 0;
		if (!procfs_comm(l->pid, comm))
			set_comm(l, comm);
		return l;
	}
	/* The PID was used again: we were told neither the end nor the beginning. */
	end_life(p, l, start_ns(st.start), 1);
	discover(p, l->pid, clock_ns());
	return lives_find(&p->lives, l->pid, time);
}

/* PID 0 is the idle task of each CPU, which /proc does not show. */
static struct life *idle(struct procs *p)
{
	struct life *l = new_life(p, 0, 0);

	l->complete = 1;
	set_comm(l, "swapper");
	return l;
}

uint32_t procs_at(struct procs *p, pid_t pid, uint64_t time)
{
	struct life *l = find_or_discover(p, pid, time);

	if (!l)
		l = pid ? lives_add_unknown(&p->lives, pid, time) : idle(p);
	l = look_again(p, l, time);
	if (l->incarnation != LIFE_UNASKED)
		return l->incarnation;
	/* At once, not when an address is asked for: the process may be gone then. */
	complete_name(p, l);
	complete_maps(p, l, 0);
	if (p->unused.n) {
		l->incarnation = p->unused.v[--p->unused.n];
	} else {
		l->incarnation = (uint32_t)p->known.n;
		vec_push(&p->known, (struct known){ 0 });
	}
	p->known.v[l->incarnation] = (struct known){ .life = l, .pid = pid };
	return l->incarnation;
}

struct proc_info procs_info(const struct procs *p, uint32_t incarnation)
{
	const struct known *k = &p->known.v[incarnation];
	const struct life *l = k->life;
	struct proc_info info = { .pid = k->pid, .parent = l ? l->ppid : 0, .comm = "?",
				  .exited = !l || l->end != LIFE_OPEN, .forgotten = !l };
	char clean[4 * 16 + 1];

	if (l ? l->named : k->named) {
		text_clean(clean, sizeof(clean), l ? l->comm : k->comm);
		info.comm = strtab_get(p->names, strtab_add(p->names, clean));
	}
	return info;
}

/*
 * @address was in no mapping that we know: reads the maps again, unless that was done a moment ago.
 */
static const struct mapping *find_again(struct procs *p, struct life *l, uint64_t address,
					uint64_t time)
{
	const struct mapping *m;
	uint64_t now;

	if (l->end != LIFE_OPEN)
		return NULL;
	now = clock_ns();
	if (now < l->next_read)
		return NULL;
	m = read_maps(p, l) ? NULL : mappings_find(l->maps, address, time);
	/* A wild address stays unknown: the more of them, the less often it is worth a look. */
	l->wait = m || !l->wait ? WAIT_MIN : l->wait * 2 < WAIT_MAX ? l->wait * 2 : WAIT_MAX;
	l->next_read = now + l->wait;
	return m;
}

struct proc_place procs_locate(struct procs *p, uint32_t incarnation, uint64_t address,
			       uint64_t time)
{
	struct proc_place nowhere = { .image = IMAGE_NONE, .offset = address };
	struct life *l = p->known.v[incarnation].life;
	const struct mapping *m;

	if (!l)
		return nowhere;
	if (l->losses != p->losses && l->end == LIFE_OPEN) {
		l->losses = p->losses;
		l->complete = 0;
	}
	complete_maps(p, l, 0);
	m = mappings_find(l->maps, address, time);
	if (!m)
		m = find_again(p, l, address, time);
	if (!m || m->image == IMAGE_NONE)
		return nowhere;
	return (struct proc_place){ .image = m->image, .offset = m->offset + (address - m->start) };
}

pid_t procs_next_changed(struct procs *p)
{
	while (p->changed.n) {
		pid_t pid = p->changed.v[--p->changed.n];
		struct life *l = lives_newest(&p->lives, pid);

		/* Its mark may have gone with an older life of that PID. */
		if (!l || !l->changed)
			continue;
		l->changed = 0;
		return pid;
	}
	return 0;
}

size_t procs_mappings(const struct procs *p, uint32_t incarnation)
{
	const struct life *l = p->known.v[incarnation].life;

	return l ? mappings_count(l->maps) : 0;
}

void procs_each_mapping_of(struct procs *p, pid_t pid, uint64_t time,
			   void (*fn)(void *ctx, const struct mapping *m), void *ctx)
{
	struct life *l = lives_newest(&p->lives, pid);

	if (l)
		mappings_each(l->maps, time, fn, ctx);
}

void procs_each_mapping(struct procs *p, uint32_t incarnation, uint64_t time,
			void (*fn)(void *ctx, const struct mapping *m), void *ctx)
{
	struct life *l = p->known.v[incarnation].life;

	if (l)
		mappings_each(l->maps, time, fn, ctx);
}

void procs_mark_images(const struct procs *p, unsigned char *images)
{
	for (size_t i = 0; i < p->lives.slots.n; i++)
		if (p->lives.slots.v[i])
			mappings_mark(p->lives.slots.v[i]->maps, images);
}

/* --- Forgetting. ---------------------------------------------------------- */

/* Whether threads run on after their leader's exit; they may still be sampled. */
static int has_threads(const struct procs *p, const struct life *l)
{
	struct procfs_stat st;

	return l->exited && !stat_life(p, l, &st) && st.threads > 1;
}

static int drop(struct life *l, void *ctx)
{
	struct procs *p = ctx;
	struct known *k;

	if (l->incarnation == LIFE_UNASKED)
		return 1;
	if (has_threads(p, l))
		return 0;
	k = &p->known.v[l->incarnation];
	k->life = NULL;
	k->named = l->named;
	memcpy(k->comm, l->comm, sizeof(k->comm));
	return 1;
}

void procs_forget(struct procs *p, uint64_t time)
{
	/* Exits may be among what was lost. */
	if (p->swept != p->losses) {
		p->swept = p->losses;
		for (size_t i = 0; i < p->lives.slots.n; i++) {
			struct life *l = p->lives.slots.v[i];

			if (!l || l->pid <= 0 || l->end != LIFE_OPEN || l->begin >= time)
				continue;
			if (kill(l->pid, 0) && errno == ESRCH)
				end_life(p, l, time, 1);
		}
	}
	lives_forget(&p->lives, time, drop, p);
}

uint32_t procs_count(const struct procs *p)
{
	return (uint32_t)p->known.n;
}

void procs_release(struct procs *p, const unsigned char *kept)
{
	for (uint32_t i = 0; i < p->known.n; i++) {
		struct known *k = &p->known.v[i];

		if (k->life || k->unused || kept[i])
			continue;
		k->unused = 1;
		vec_push(&p->unused, i);
	}
}
