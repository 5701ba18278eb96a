/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/event.h"
#include "collect/tracefs.h"
#include "sources/page_faults.h"

static struct event ev;
static struct error why;

static int parse(const char *name, const char *tracefs)
{
	why = (struct error){ 0 };
	return event_parse(name, tracefs, &ev, &why);
}

#define HW PERF_TYPE_HARDWARE
#define SW PERF_TYPE_SOFTWARE
#define CACHE PERF_TYPE_HW_CACHE

static const struct {
	const char *word, *name;
	uint32_t type;
	uint64_t config;
} known[] = {
	{ "cycles", "cycles", HW, 0 },
	{ "cpu-cycles", "cycles", HW, 0 },
	{ "instructions", "instructions", HW, 1 },
	{ "cache-references", "cache-references", HW, 2 },
	{ "cache-misses", "cache-misses", HW, 3 },
	{ "branches", "branch-instructions", HW, 4 },
	{ "branch-instructions", "branch-instructions", HW, 4 },
	{ "branch-misses", "branch-misses", HW, 5 },
	{ "bus-cycles", "bus-cycles", HW, 6 },
	{ "idle-cycles-frontend", "stalled-cycles-frontend", HW, 7 },
	{ "stalled-cycles-backend", "stalled-cycles-backend", HW, 8 },
	{ "ref-cycles", "ref-cycles", HW, 9 },
	{ "cpu-clock", "cpu-clock", SW, 0 },
	{ "CPU-Clock", "cpu-clock", SW, 0 },
	{ "task-clock", "task-clock", SW, 1 },
	{ "faults", "page-faults", SW, 2 },
	{ "cs", "context-switches", SW, 3 },
	{ "migrations", "cpu-migrations", SW, 4 },
	{ "minor-faults", "minor-faults", SW, 5 },
	{ "major-faults", "major-faults", SW, 6 },
	{ "alignment-faults", "alignment-faults", SW, 7 },
	{ "emulation-faults", "emulation-faults", SW, 8 },
	{ "cgroup-switches", "cgroup-switches", SW, 11 },
	/* cache | operation << 8 | result << 16 (perf_event_open(2)) */
	{ "L1-dcache-loads", "L1-dcache-loads", CACHE, 0 },
	{ "L1-dcache-load-misses", "L1-dcache-load-misses", CACHE, 0x10000 },
	{ "l1d-loads-misses", "L1-dcache-load-misses", CACHE, 0x10000 },
	{ "L1-dcache-stores", "L1-dcache-stores", CACHE, 0x100 },
	{ "L1-dcache-prefetch-misses", "L1-dcache-prefetch-misses", CACHE, 0x10200 },
	{ "L1-icache-load-misses", "L1-icache-load-misses", CACHE, 0x10001 },
	{ "LLC-store-misses", "LLC-store-misses", CACHE, 0x10102 },
	{ "LLC-loads", "LLC-loads", CACHE, 2 },
	{ "LLC-misses", "LLC-load-misses", CACHE, 0x10002 },
	{ "LLC-prefetches", "LLC-prefetches", CACHE, 0x202 },
	{ "dTLB-store-misses", "dTLB-store-misses", CACHE, 0x10103 },
	{ "dTLB-write-refs", "dTLB-stores", CACHE, 0x103 },
	{ "iTLB-load-misses", "iTLB-load-misses", CACHE, 0x10004 },
	{ "branch-loads", "branch-loads", CACHE, 5 },
	{ "bpu-read-miss", "branch-load-misses", CACHE, 0x10005 },
	{ "node-stores", "node-stores", CACHE, 0x106 },
	{ "r0", "r0", PERF_TYPE_RAW, 0 },
	{ "r01c2", "r01c2", PERF_TYPE_RAW, 0x1c2 },
	{ "rFFFFffffFFFFffff", "rFFFFffffFFFFffff", PERF_TYPE_RAW, UINT64_MAX },
};

TEST(known_names)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		CHECK_EQ(parse(known[i].word, NULL), 0);
		CHECK_STR(ev.name, known[i].name);
		CHECK_EQ(ev.type, known[i].type);
		CHECK(ev.config == known[i].config);
		CHECK_EQ(ev.exclude_user + ev.exclude_kernel + ev.precise, 0);
	}
}

TEST(unknown_names_suggest_a_near_one)
{
	static const struct {
		const char *word, *near;
	} wrong[] = {
		{ "cylces", "'cycles'" },
		{ "cycles ", "'cycles'" },
		{ "cpuclock", "'cpu-clock'" },
		{ "page-fault", "'page-faults'" },
		{ "cache-miss", "'cache-misses'" },
		{ "branchs", "'branches'" },
		{ "L1-dcache-load-mises", "'L1-dcache-load-misses'" },
		{ "L1-icache-stores", "'L1-icache-" },
		{ "cylces:u", "'cycles'" },
		{ "LLC-load-misses-misses", "'LLC-load-misses'" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(parse(wrong[i].word, NULL), -EINVAL);
		CHECK_EQ(why.status, STATUS_USAGE);
		CHECK(strstr(why.text, "unknown event"));
		CHECK(strstr(why.text, "did you mean"));
		CHECK(strstr(why.text, wrong[i].near));
	}
	CHECK_EQ(parse("cylces", NULL), -EINVAL);
	CHECK_STR(why.text, "unknown event 'cylces'; did you mean 'cycles'?");
}

TEST(nonsense_is_refused)
{
	static const char *const wrong[] = {
		"", ":", "::", ":u", "nothing-like-it", "r", "rg", "r1g", "r-1", "r 1", "r0x1",
		"r11111111111111111", "L1-dcache", "L1-dcache-", "L1-dcache--loads",
		"L1-dcache-loads-stores", "L1-dcache-misses-loads", "L1-dcache-loads-",
		"LLC-loads-refs-misses", "node", "branch-stores", "iTLB-stores", "cycles:",
		"cycles:x", "cycles:uu", "cycles:pppp", "cycles:u:k", "cycles:u:", "cycles::",
		"cpu-clock:p", "cpu-clock:pp", "dummy", "bpf-output", "cycles\n", "\xff\xfe",
		"../..:id", "..:..", "a/b:c", "a:b/c", "sched:.", "sched:..", ".hidden:x", "a b:c",
		"a:b\n",
	};
	char name[300];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (parse(wrong[i], "/nonexistent") != -EINVAL)
			printf("taken: %s\n", wrong[i]);
		CHECK_EQ(parse(wrong[i], "/nonexistent"), -EINVAL);
		CHECK_EQ(why.status, STATUS_USAGE);
		CHECK(why.text[0] && !strchr(why.text, '\n'));
	}
	CHECK(strstr((parse("dummy", NULL), why.text), "nothing to sample"));
	for (size_t n = 1; n < sizeof(name); n++) {
		memset(name, 'a', n);
		name[n] = '\0';
		CHECK_EQ(parse(name, NULL), -EINVAL);
	}
	CHECK_EQ(event_parse("nothing", NULL, &ev, NULL), -EINVAL);
}

TEST(modifiers)
{
	CHECK_EQ(parse("cycles:u", NULL), 0);
	CHECK_STR(ev.name, "cycles:u");
	CHECK_EQ(ev.exclude_user, 0);
	CHECK_EQ(ev.exclude_kernel, 1);
	CHECK_EQ(parse("cs:k", NULL), 0);
	CHECK_STR(ev.name, "context-switches:k");
	CHECK_EQ(ev.exclude_user, 1);
	CHECK_EQ(ev.exclude_kernel, 0);
	CHECK_EQ(parse("cycles:uk", NULL), 0);
	CHECK_EQ(ev.exclude_user + ev.exclude_kernel, 0);
	CHECK_EQ(parse("r1a8:ppp", NULL), 0);
	CHECK_EQ(ev.precise, 3);
	CHECK_EQ(parse("LLC-load-misses:ppu", NULL), 0);
	CHECK_STR(ev.name, "LLC-load-misses:ppu");
	CHECK_EQ(ev.precise, 2);
	CHECK_EQ(ev.exclude_kernel, 1);
	/* Each parse starts afresh. */
	CHECK_EQ(parse("cycles", NULL), 0);
	CHECK_EQ(ev.precise + ev.exclude_user + ev.exclude_kernel, 0);
	CHECK_EQ(parse("cpu-clock:p", NULL), -EINVAL);
	CHECK(strstr(why.text, "'p'"));
	CHECK_EQ(parse("cycles:x", NULL), -EINVAL);
	CHECK(strstr(why.text, "bad modifier 'x'"));
}

TEST(clocks)
{
	CHECK(!parse("cpu-clock", NULL) && event_is_clock(&ev));
	CHECK(!parse("task-clock:u", NULL) && event_is_clock(&ev));
	CHECK(!parse("cycles", NULL) && !event_is_clock(&ev));
	CHECK(!parse("instructions", NULL) && !event_is_clock(&ev));
	CHECK(!parse("page-faults", NULL) && !event_is_clock(&ev));
}

/* --- Tracepoints, in a folder made for it. -------------------------------- */
static char events[] = "/tmp/ebprof-test-XXXXXX";

static void put(const char *group, const char *name, const char *id)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", events, group);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", events, group, name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s/id", events, group, name);
	f = id ? fopen(path, "we") : NULL;
	if (!f)
		return;
	fputs(id, f);
	fclose(f);
}

static void take(const char *group, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/%s/id", events, group, name);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s/%s", events, group, name);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/%s", events, group);
	rmdir(path);
}

TEST(tracepoints)
{
	CHECK_EQ(parse("sched:sched_switch", events), 0);
	CHECK_STR(ev.name, "sched:sched_switch");
	CHECK_EQ(ev.type, PERF_TYPE_TRACEPOINT);
	CHECK_EQ(ev.config, 316);
	CHECK_EQ(parse("sched:sched_switch:k", events), 0);
	CHECK_STR(ev.name, "sched:sched_switch:k");
	CHECK_EQ(ev.config, 316);
	CHECK_EQ(ev.exclude_user, 1);
	/* A tracepoint whose name could be modifiers. */
	CHECK_EQ(parse("odd:kp", events), 0);
	CHECK_EQ(ev.config, 7);
	CHECK_EQ(parse("sched:sched_switch:x", events), -EINVAL);
	CHECK_EQ(parse("sched:sched_switch:p", events), -EINVAL);
	CHECK_EQ(parse("sched:sched_switch:u:k", events), -EINVAL);
	CHECK_EQ(parse("sched:sched_switch:", events), -EINVAL);
}

TEST(missing_tracepoints)
{
	CHECK_EQ(parse("sched:sched_swich", events), -ENOENT);
	CHECK_EQ(why.status, STATUS_USAGE);
	CHECK(strstr(why.text, "did you mean 'sched:sched_switch'?"));
	CHECK_EQ(parse("shced:sched_switch", events), -ENOENT);
	CHECK(strstr(why.text, "did you mean 'sched:sched_switch'?"));
	CHECK_EQ(parse("nowhere:near", events), -ENOENT);
	CHECK(strstr(why.text, "no tracepoint 'nowhere:near'"));
	CHECK_EQ(parse("odd:noid", events), -ENOENT);
}

TEST(unreadable_tracepoints)
{
	CHECK_EQ(parse("sched:sched_switch", NULL), -EACCES);
	CHECK_EQ(why.status, STATUS_DENIED);
	CHECK(strstr(why.text, "mount -t tracefs"));
	CHECK_EQ(parse("sched:sched_switch", "/nonexistent/events"), -EACCES);
	CHECK(strstr(why.text, "mount -t tracefs"));
	CHECK_EQ(parse("odd:zero", events), -EACCES);
	CHECK_EQ(parse("odd:word", events), -EACCES);
	CHECK_EQ(parse("odd:empty", events), -EACCES);
	CHECK(strstr(why.text, "cannot read"));
}

TEST(attributes)
{
	struct perf_event_attr a;

	parse("cycles:upp", NULL);
	a = event_attr(&ev, 99, 0, 0);
	CHECK(a.type == HW && a.config == 0 && a.exclude_kernel && !a.exclude_user &&
	      a.precise_ip == 2 && !a.exclude_idle);
	CHECK(a.freq && a.sample_freq == 99);
	parse("cpu-clock", NULL);
	CHECK(event_attr(&ev, 99, 0, 0).exclude_idle && !event_attr(&ev, 99, 0, 1).exclude_idle);
	/* Each hit runs the program on it, which counts to the period. */
	ev = (struct event){ .type = PERF_TYPE_TRACEPOINT, .config = 316 };
	a = event_attr(&ev, 0, 7, 0);
	CHECK(!a.freq && a.sample_period == 1);
	a = event_attr(&page_faults_event, 0, 7, 0);
	CHECK(a.type == SW && a.config == 5 && page_faults_event.also == 6 && !a.freq &&
	      a.sample_period == 7);
}

struct listed {
	size_t n, tracepoints, cycles;
};

static void take_listed(void *ctx, const struct event *e)
{
	struct listed *l = ctx;

	l->n++;
	l->tracepoints += e->type == PERF_TYPE_TRACEPOINT;
	l->cycles += !strcmp(e->name, "cycles");
	/* What is listed is understood. */
	CHECK(!strncmp(e->name, "odd:", 4) || !parse(e->name, events));
}

TEST(all_events)
{
	struct listed l = { 0 };

	event_list(events, take_listed, &l);
	CHECK_EQ(l.tracepoints, 6);
	CHECK_EQ(l.cycles, 1);
	CHECK(l.n > 40);
	l = (struct listed){ 0 };
	event_list(NULL, take_listed, &l);
	CHECK(l.n > 40 && !l.tracepoints);
	event_list("/nonexistent/events", take_listed, &l);
	CHECK(!l.tracepoints);
}

TEST(tracefs_is_a_folder_of_events)
{
	struct tracefs t;
	const char *path;

	tracefs_open(&t);
	path = tracefs_events(&t);
	/* Whether there is one is this machine's affair. */
	if (path)
		CHECK(strlen(path) > 7 && !strcmp(path + strlen(path) - 7, "/events"));
	CHECK(t.fd < 0 || path);
	tracefs_close(&t);
	CHECK(!tracefs_events(&t));
}

/* Of those that are listed nothing is said of a PMU. */
static void check_plain(void *ctx, const struct event *ev)
{
	CHECK(!*ev->pmu);
	CHECK(!(ev->config1 | ev->config2 | ev->config3 | ev->also));
	CHECK(!ev->exclude_user && !ev->exclude_kernel && !ev->precise && !ev->uncore);
	CHECK(!ev->period && !*ev->unit && !*ev->family && !*ev->terms);
	++*(int *)ctx;
}

static __attribute__((noinline)) void dirty_the_stack(void)
{
	char dirt[16384];

	memset(dirt, 0x5a, sizeof(dirt));
	__asm__ volatile("" : : "r"(dirt) : "memory");
}

TEST(listed_events_are_whole)
{
	int n = 0;

	dirty_the_stack();
	event_list(NULL, check_plain, &n);
	CHECK(n > 20);
}

int main(void)
{
	static const struct { const char *group, *name, *id; } files[] = {
		{ "sched", "sched_switch", "316\n" }, { "odd", "kp", "7" }, { "odd", "noid", NULL },
		{ "odd", "zero", "0\n" }, { "odd", "word", "seven\n" }, { "odd", "empty", "" },
	};

	if (!mkdtemp(events))
		return 1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		put(files[i].group, files[i].name, files[i].id);
	RUN(known_names);
	RUN(unknown_names_suggest_a_near_one);
	RUN(nonsense_is_refused);
	RUN(modifiers);
	RUN(clocks);
	RUN(tracepoints);
	RUN(missing_tracepoints);
	RUN(unreadable_tracepoints);
	RUN(attributes);
	RUN(all_events);
	RUN(tracefs_is_a_folder_of_events);
	RUN(listed_events_are_whole);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		take(files[i].group, files[i].name);
	rmdir(events);
	return TEST_END();
}
