/* SPDX-License-Identifier: MIT */
#include "collect/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "collect/features.h"
#include "collect/perf_events.h"

/*
 * A CPU's, powers of two: some 1,000 events between two reads, more where all CPUs' are little. A
 * storm of processes goes on while programs are loaded, and on a busy machine that takes a second.
 * Who is patient goes on for days, where memory counts.
 */
#define RING_LEAST	(128u << 10)
#define RING_MOST	(512u << 10)
#define RINGS		(8u << 20)

/* What sample_id_all appends to each record, for PERF_SAMPLE_TID | PERF_SAMPLE_TIME. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

struct cpu_ring {
	int cpu, fd;
	struct perf_event_mmap_page *page;	/* the ring follows it, a page on */
};

/* A record copied out of a ring, to be sorted. */
struct pending {
	uint64_t time, sequence;
	size_t at;		/* in bytes */
};

struct sideband {
	struct perf_event_attr attr;
	int epoll;
	size_t page_size, ring_size;
	VEC(struct cpu_ring) rings;
	VEC(struct pending) pending;
	VEC(char) bytes;
	uint64_t lost;
};

static int open_ring(struct sideband *s, int cpu)
{
	struct epoll_event watch = { .events = EPOLLIN };
	int err = 0, fd = perf_event_open(&s->attr, -1, cpu);
	void *map;

	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return fd;
	map = mmap(NULL, s->page_size + s->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &watch)) {
		err = -errno;
		if (map != MAP_FAILED)
			munmap(map, s->page_size + s->ring_size);
		close(fd);
		return err;
	}
	vec_push(&s->rings, (struct cpu_ring){ cpu, fd, map });
	return 0;
}

static void close_ring(struct sideband *s, struct cpu_ring *r)
{
	munmap(r->page, s->page_size + s->ring_size);
	close(r->fd);
}

/* One ring for each CPU that is online, none for others. */
static int match_cpus(struct sideband *s)
{
	size_t n, kept = 0;
	int *cpus, err;

	err = perf_online_cpus(NULL, 0, &cpus, &n);
	if (err)
		return err;
	for (size_t i = 0; i < s->rings.n; i++) {
		struct cpu_ring *r = &s->rings.v[i];

		if (bsearch(&r->cpu, cpus, n, sizeof(*cpus), list_compare))
			s->rings.v[kept++] = *r;
		else
			close_ring(s, r);
	}
	s->rings.n = kept;
	for (size_t i = 0; i < n && !err; i++) {
		size_t r = 0;

		while (r < kept && s->rings.v[r].cpu != cpus[i])
			r++;
		if (r == kept)
			err = open_ring(s, cpus[i]);
	}
	free(cpus);
	return err;
}

/*
 * Whether our clocks are not the kernel's (time_namespaces(7)): what it tells would have happened
 * at other times.
 */
static int in_time_namespace(void)
{
	long shift[4] = { 0 };
	char text[256];

	/*
	 * A line for each of two clocks: its name, seconds, nanoseconds. No file: no such
	 * namespaces.
	 */
	if (file_read("/proc/self/timens_offsets", text, sizeof(text)) > 0)
		sscanf(text, "%*s %ld %ld %*s %ld %ld", &shift[0], &shift[1], &shift[2], &shift[3]);
	return shift[0] || shift[1] || shift[2] || shift[3];
}

static size_t ring_size(long cpus)
{
	size_t size = RING_MOST;

	while (size > RING_LEAST && size * (size_t)cpus > RINGS)
		size /= 2;
	return size;
}

struct sideband *sideband_new(int patient, struct error *e)
{
	struct sideband *s;
	int err;

	if (in_time_namespace()) {
		error_set(e, STATUS_DENIED, -EINVAL,
			  "this is a time namespace, whose clocks are not those of samples: "
			  "start ebprof outside of it, as by `nsenter --time --target 1`");
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->ring_size = patient ? RING_LEAST : ring_size(sysconf(_SC_NPROCESSORS_ONLN));
	/*
	 * Without build IDs of what is mapped: where one listener asks for them, the kernel marks
	 * the records of others, who did not, as having them, too (perf_event_mmap_output() up to
	 * Linux 6.18), and perf aborts.
	 */
	s->attr = (struct perf_event_attr){
		.size = sizeof(s->attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = patient ? (uint32_t)s->ring_size / 4 : 1,
	};
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll < 0 ? -errno : match_cpus(s);
	if (err) {
		features_explain(e, err, "cannot follow processes");
		sideband_free(s);
		return NULL;
	}
	return s;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rings.n; i++)
		close_ring(s, &s->rings.v[i]);
	if (s->epoll >= 0)
		close(s->epoll);
	vec_free(&s->rings);
	vec_free(&s->pending);
	vec_free(&s->bytes);
	free(s);
}

void sideband_refresh_cpus(struct sideband *s)
{
	/* A CPU that cannot be opened now is tried again the next time. */
	match_cpus(s);
}

int sideband_fd(const struct sideband *s)
{
	return s->epoll;
}

/* Copies @size bytes at @at of a ring, which may wrap. */
static void ring_copy(const struct sideband *s, const struct cpu_ring *r, uint64_t at, void *dst,
		      size_t size)
{
	const char *ring = (const char *)r->page + s->page_size;
	size_t begin = at & (s->ring_size - 1),
	       first = s->ring_size - begin < size ? s->ring_size - begin : size;

	memcpy(dst, ring + begin, first);
	memcpy((char *)dst + first, ring, size - first);
}

/*
 * The shortest record of each type that we read, with the trailer, without what is before it in
 * variable length.
 */
static size_t least_size(uint32_t type)
{
	const size_t trailer = sizeof(struct trailer);

	switch (type) {
	case PERF_RECORD_MMAP2: return 72 + trailer;
	case PERF_RECORD_COMM: return 16 + trailer;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: return 32 + trailer;
	case PERF_RECORD_LOST: return 24 + trailer;
	default: return SIZE_MAX;
	}
}

/* Moves one ring's records that are not younger than @until to s->bytes. */
static void take_ring(struct sideband *s, struct cpu_ring *r, uint64_t until)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE),
		 tail = r->page->data_tail;
	struct perf_event_header h;

	while (head - tail >= sizeof(h)) {
		struct trailer t = { 0 };

		ring_copy(s, r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		if (h.size >= least_size(h.type)) {
			ring_copy(s, r, tail + h.size - sizeof(t), &t, sizeof(t));
			if (t.time > until)
				break;
			vec_reserve(&s->bytes, s->bytes.n + h.size + 8);
			vec_push(&s->pending, (struct pending){ t.time, s->pending.n, s->bytes.n });
			ring_copy(s, r, tail, s->bytes.v + s->bytes.n, h.size);
			s->bytes.n += (h.size + 7u) & ~7u;
		}
		tail += h.size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->sequence < y->sequence ? -1 : 1;
}

static void parse_mmap2(const struct perf_event_header *h, struct sideband_event *ev)
{
	/* linux/perf_event.h, PERF_RECORD_MMAP2; misc may say it has a build ID, and is wrong */
	const struct mmap2 {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, generation;
		uint32_t prot, flags;
		char path[];
	} *m = (const void *)h;

	ev->type = SIDEBAND_MMAP;
	ev->pid = (pid_t)m->pid;
	ev->start = m->addr;
	ev->end = m->addr + m->len;
	ev->offset = m->pgoff;
	ev->text = m->path;
	ev->dev_major = m->maj;
	ev->dev_minor = m->min;
	ev->inode = m->ino;
}

/* 1 where @h is an event for the caller. */
static int parse(struct sideband *s, const struct perf_event_header *h, struct sideband_event *ev)
{
	const struct comm {
		struct perf_event_header h;
		uint32_t pid, tid;
		char text[];
	} *c = (const void *)h;
	const struct task {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} *t = (const void *)h;
	const struct lost { struct perf_event_header h; uint64_t id, lost; } *l = (const void *)h;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		parse_mmap2(h, ev);
		return ev->end > ev->start;
	case PERF_RECORD_COMM:
		ev->type = h->misc & PERF_RECORD_MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_COMM;
		if (c->pid != c->tid)
			ev->type = SIDEBAND_THREAD;
		ev->pid = (pid_t)c->pid;
		ev->text = c->text;
		return 1;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ev->type = h->type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
		if (t->pid != t->tid)
			ev->type = SIDEBAND_THREAD;
		ev->pid = (pid_t)t->pid;
		ev->parent = (pid_t)t->ppid;
		return 1;
	case PERF_RECORD_LOST:
		s->lost += l->lost;
		return 0;
	}
	return 0;
}

uint64_t sideband_read(struct sideband *s, void (*fn)(void *ctx, const struct sideband_event *ev),
		       void *ctx)
{
	uint64_t until = clock_ns();

	s->pending.n = s->bytes.n = 0;
	s->lost = 0;
	for (size_t i = 0; i < s->rings.n; i++)
		take_ring(s, &s->rings.v[i], until);
	if (s->pending.n > 1)
		qsort(s->pending.v, s->pending.n, sizeof(*s->pending.v), by_time);
	for (size_t i = 0; i < s->pending.n; i++) {
		struct perf_event_header *h = (void *)(s->bytes.v + s->pending.v[i].at);
		struct sideband_event ev = { .time = s->pending.v[i].time };

		/* Texts end before the trailer, whatever they hold. */
		if (h->type == PERF_RECORD_MMAP2 || h->type == PERF_RECORD_COMM)
			((char *)h)[h->size - sizeof(struct trailer) - 1] = '\0';
		if (parse(s, h, &ev))
			fn(ctx, &ev);
	}
	return s->lost;
}
