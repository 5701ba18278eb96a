/* SPDX-License-Identifier: MIT */
#include "collect/event.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/near.h"
#include "base/xalloc.h"
#include "collect/pmu.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- What is known by name. The first name is the one that is shown. ------- */
static const struct named {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
} named[] = {
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-instructions", "branches", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "cgroup-switches", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES },
};

/* perf knows these too, but they carry other events' data and never overflow. */
static const char *const never_sampled[] = { "bpf-output", "dummy" };

/* CACHE-OPERATION[-RESULT] (perf-list(1)); which caches have which operations is perf's rule. */
#define OP(name) (1u << PERF_COUNT_HW_CACHE_OP_##name)
#define OP_ALL (OP(READ) | OP(WRITE) | OP(PREFETCH))
static const struct cache {
	const char *names[4];
	uint64_t id;
	unsigned int ops;
} caches[] = {
	{ { "L1-dcache", "l1-d", "l1d", "L1-data" }, PERF_COUNT_HW_CACHE_L1D, OP_ALL },
	{ { "L1-icache", "l1-i", "l1i", "L1-instruction" }, PERF_COUNT_HW_CACHE_L1I,
	  OP(READ) | OP(PREFETCH) },
	{ { "LLC" }, PERF_COUNT_HW_CACHE_LL, OP_ALL },
	{ { "dTLB", "d-tlb", "Data-TLB" }, PERF_COUNT_HW_CACHE_DTLB, OP_ALL },
	{ { "iTLB", "i-tlb", "Instruction-TLB" }, PERF_COUNT_HW_CACHE_ITLB, OP(READ) },
	{ { "branch", "bpu", "btb", "bpc" }, PERF_COUNT_HW_CACHE_BPU, OP(READ) },
	{ { "node" }, PERF_COUNT_HW_CACHE_NODE, OP_ALL },
};

/* As shown: "loads", or "load" before "-misses". */
static const struct { const char *one, *many; } operations[] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { "load", "loads" },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { "store", "stores" },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { "prefetch", "prefetches" },
};

/* As taken; -1: the word says nothing about that. */
static const struct term {
	const char *word;
	int op, result;
} cache_terms[] = {
	{ "load", PERF_COUNT_HW_CACHE_OP_READ, -1 },
	{ "loads", PERF_COUNT_HW_CACHE_OP_READ, -1 },
	{ "read", PERF_COUNT_HW_CACHE_OP_READ, -1 },
	{ "store", PERF_COUNT_HW_CACHE_OP_WRITE, -1 },
	{ "stores", PERF_COUNT_HW_CACHE_OP_WRITE, -1 },
	{ "write", PERF_COUNT_HW_CACHE_OP_WRITE, -1 },
	{ "prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH, -1 },
	{ "prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, -1 },
	{ "refs", -1, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "references", -1, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "access", -1, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "accesses", -1, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "ops", -1, PERF_COUNT_HW_CACHE_RESULT_ACCESS },
	{ "miss", -1, PERF_COUNT_HW_CACHE_RESULT_MISS },
	{ "misses", -1, PERF_COUNT_HW_CACHE_RESULT_MISS },
};

static void cache_name(char *name, size_t size, const struct cache *c, size_t op, int miss)
{
	snprintf(name, size, "%s-%s%s", c->names[0],
		 miss ? operations[op].one : operations[op].many, miss ? "-misses" : "");
}

/* --- Near names. ------------------------------------------------------------ */
/* 0, or a negative errno where the folder cannot be read. */
static int consider_folder(struct near *n, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	if (!dir)
		return -errno;
	while ((d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			near_consider(n, d->d_name);
	closedir(dir);
	return 0;
}

static void consider_known(struct near *n)
{
	char name[NEAR_MAX];

	for (size_t i = 0; i < COUNT(named); i++) {
		near_consider(n, named[i].name);
		if (named[i].alias)
			near_consider(n, named[i].alias);
	}
	for (size_t i = 0; i < COUNT(caches); i++)
		for (size_t op = 0; op < COUNT(operations); op++)
			for (int miss = 0; miss < 2 && caches[i].ops >> op & 1; miss++) {
				cache_name(name, sizeof(name), &caches[i], op, miss);
				near_consider(n, name);
			}
}

static int unknown(const char *word, struct error *e)
{
	struct near n = NEAR(word);

	for (size_t i = 0; i < COUNT(never_sampled); i++)
		if (!strcasecmp(word, never_sampled[i]))
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "event '%s' never happens by itself, so there is nothing "
					 "to sample; "
					 "try cpu-clock",
					 word);
	consider_known(&n);
	if (*n.best)
		return error_set(e, STATUS_USAGE, -EINVAL, "unknown event '%s'; did you mean '%s'?",
				 word, n.best);
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "unknown event '%s'; ebprof -e list names all; raw ones are like r01c2",
			 word);
}

/* --- Parsing. Each finder returns 1 and fills @out where the word is its own. */
static int find_named(const char *word, struct event *out)
{
	for (size_t i = 0; i < COUNT(named); i++) {
		const struct named *n = &named[i];

		if (strcasecmp(word, n->name) && (!n->alias || strcasecmp(word, n->alias)))
			continue;
		snprintf(out->name, sizeof(out->name), "%s", n->name);
		out->type = n->type;
		out->config = n->config;
		return 1;
	}
	return 0;
}

static const struct term *find_term(const char *word, size_t len)
{
	for (size_t i = 0; i < COUNT(cache_terms); i++)
		if (len == strlen(cache_terms[i].word) &&
		    !strncasecmp(word, cache_terms[i].word, len))
			return &cache_terms[i];
	return NULL;
}

/*
 * @words follows the cache's name, "-load-misses": an operation, a result, or one after the other.
 */
static int parse_cache(const struct cache *c, const char *words, struct event *out)
{
	int op = -1, result = -1;

	while (*words == '-') {
		size_t len = strcspn(++words, "-");
		const struct term *t = find_term(words, len);

		if (!t || result >= 0 || (t->op >= 0 && op >= 0))
			return 0;
		op = t->op >= 0 ? t->op : op;
		result = t->result;
		words += len;
	}
	/* "LLC-misses" are those of loads, and "LLC-loads" are accesses, as for perf. */
	op = op < 0 ? PERF_COUNT_HW_CACHE_OP_READ : op;
	result = result < 0 ? PERF_COUNT_HW_CACHE_RESULT_ACCESS : result;
	if (!(c->ops >> op & 1))
		return 0;
	cache_name(out->name, sizeof(out->name), c, (size_t)op,
		   result == PERF_COUNT_HW_CACHE_RESULT_MISS);
	out->type = PERF_TYPE_HW_CACHE;
	out->config = c->id | (uint64_t)op << 8 | (uint64_t)result << 16;
	return 1;
}

static int find_cache(const char *word, struct event *out)
{
	for (size_t i = 0; i < COUNT(caches); i++)
		for (size_t j = 0; j < COUNT(caches[i].names) && caches[i].names[j]; j++) {
			size_t len = strlen(caches[i].names[j]);

			if (!strncasecmp(word, caches[i].names[j], len) && word[len] == '-' &&
			    parse_cache(&caches[i], word + len, out))
				return 1;
		}
	return 0;
}

static int find_raw(const char *word, struct event *out)
{
	size_t digits = strspn(word + 1, "0123456789abcdefABCDEF");

	if (word[0] != 'r' || !digits || digits > 16 || word[1 + digits])
		return 0;
	snprintf(out->name, sizeof(out->name), "%s", word);
	out->type = PERF_TYPE_RAW;
	out->config = strtoull(word + 1, NULL, 16);
	return 1;
}

/* A part of a path below tracefs, so nothing that leaves it. */
static int is_trace_word(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

	return n && !s[n] && s[0] != '.';
}

static int no_tracepoint(const char *group, const char *name, const char *tracefs, struct error *e)
{
	char *path = xasprintf("%s/%s", tracefs, group);
	struct near near = NEAR(name);
	int err = consider_folder(&near, path), no_group = err == -ENOENT || err == -ENOTDIR;

	free(path);
	if (no_group) {
		near = (struct near)NEAR(group);
		if (consider_folder(&near, tracefs))
			return error_set(e, STATUS_DENIED, -EACCES,
					 "tracepoint '%s:%s': no tracefs at %s; mount it with "
					 "'mount -t tracefs tracefs /sys/kernel/tracing'",
					 group, name, tracefs);
	}
	if (!*near.best)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 "no tracepoint '%s:%s' in this kernel; ebprof -e list names all",
				 group, name);
	return error_set(e, STATUS_USAGE, -ENOENT,
			 "no tracepoint '%s:%s' in this kernel; did you mean '%s:%s'?", group, name,
			 no_group ? near.best : group, no_group ? name : near.best);
}

static int find_tracepoint(const char *group, const char *name, const char *tracefs,
			   struct event *out, struct error *e)
{
	char *path;
	long id = 0;
	int err;

	if (!is_trace_word(group) || !is_trace_word(name) ||
	    snprintf(out->name, sizeof(out->name), "%s:%s", group, name) >= (int)sizeof(out->name))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "malformed event '%s:%s'; a tracepoint is GROUP:NAME, "
				 "as in sched:sched_switch", group, name);
	if (!tracefs)
		return error_set(e, STATUS_DENIED, -EACCES,
				 "tracepoint '%s:%s': tracefs is not mounted; mount it with "
				 "'mount -t tracefs tracefs /sys/kernel/tracing'", group, name);
	path = xasprintf("%s/%s/%s/id", tracefs, group, name);
	err = file_read_long(path, &id);
	free(path);
	if (err == -ENOENT || err == -ENOTDIR)
		return no_tracepoint(group, name, tracefs, e);
	if (!err && id <= 0)
		err = -EBADMSG;
	if (err)
		return error_set(
			e, STATUS_DENIED, -EACCES,
			"tracepoint '%s:%s': cannot read its id below %s: %s; run it as root, or "
			"'mount -o remount,mode=755 /sys/kernel/tracing'",
			group, name, tracefs, strerror(-err));
	out->type = PERF_TYPE_TRACEPOINT;
	out->config = (uint64_t)id;
	return 0;
}

static int is_modifiers(const char *s)
{
	return *s && !s[strspn(s, "ukp")];
}

static int apply_modifiers(const char *mods, struct event *out, struct error *e)
{
	int user = 0, kernel = 0, precise = 0;

	for (const char *m = mods; *m; m++) {
		user += *m == 'u';
		kernel += *m == 'k';
		precise += *m == 'p';
	}
	if (!is_modifiers(mods) || user > 1 || kernel > 1 || precise > 3)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "bad modifier '%s' of event %s; there are u (user), k (kernel), "
				 "p, pp and ppp (precise)", mods, out->name);
	if (precise && (out->type == PERF_TYPE_SOFTWARE || out->type == PERF_TYPE_TRACEPOINT))
		return error_set(
			e, STATUS_USAGE, -EINVAL,
			"event %s is made by the kernel, so the modifier 'p' (precise) is not for "
			"it; leave it out",
			out->name);
	out->exclude_user = kernel && !user;
	out->exclude_kernel = user && !kernel;
	out->precise = precise;
	strncat(out->name, ":", sizeof(out->name) - strlen(out->name) - 1);
	strncat(out->name, mods, sizeof(out->name) - strlen(out->name) - 1);
	return 0;
}

/* PMU/TERM,TERM/, with modifiers behind it, or behind a colon there. */
static int parse_pmu(const char *name, struct event *out, struct error *e)
{
	const char *rest;
	int err = pmu_parse(name, PMU_DEVICES, out, &rest, e);

	if (err || !*rest)
		return err;
	return apply_modifiers(rest + (*rest == ':'), out, e);
}

int event_parse(const char *name, const char *tracefs, struct event *out, struct error *e)
{
	char words[sizeof(out->name)], *part[3] = { words }, *mods;
	size_t len = strlen(name), n = 1;
	int err = 0;

	*out = (struct event){ 0 };
	if (!len || len >= sizeof(words))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "an event's name has 1 to %zu characters, not %zu",
				 sizeof(words) - 1, len);
	if (strchr(name, '/'))
		return parse_pmu(name, out, e);
	memcpy(words, name, len + 1);
	while (n < COUNT(part) && (part[n] = strchr(part[n - 1], ':')))
		*part[n++]++ = '\0';
	if (find_named(part[0], out) || find_cache(part[0], out) || find_raw(part[0], out)) {
		mods = part[1];
		/* Put back together: what follows a known name is one word of modifiers. */
		if (n == 3)
			part[2][-1] = ':';
	} else if (n == 1) {
		return unknown(part[0], e);
	} else {
		mods = part[2];
		err = find_tracepoint(part[0], part[1], tracefs, out, e);
		/* "cylces:u" is a misspelt name and not a tracepoint that is missing. */
		if (err && is_modifiers(part[1]))
			err = unknown(part[0], e);
	}
	if (!err && mods)
		err = apply_modifiers(mods, out, e);
	return err;
}

int event_next(const char **list, char *name, size_t size)
{
	size_t n = 0;

	if (!**list)
		return 0;
	/* The terms of PMU/TERM,TERM/ have commas, too. */
	for (int inside = 0; (*list)[n] && ((*list)[n] != ',' || inside); n++)
		inside ^= (*list)[n] == '/';
	snprintf(name, size, "%.*s", (int)(n < size ? n : 0), *list);
	*list += n + ((*list)[n] == ',');
	return 1;
}

/* --- All of them. ------------------------------------------------------------ */
/* Names of the folders in @path, sorted; free() each and all. 0 where there is none. */
static size_t folders(const char *path, struct dirent ***entries)
{
	int n = scandir(path, entries, NULL, alphasort);

	return n > 0 ? (size_t)n : 0;
}

static void free_entries(struct dirent **entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(entries[i]);
	if (n)
		free(entries);
}

static void list_group(const char *tracefs, const char *group, event_show *show, void *ctx)
{
	char *path = xasprintf("%s/%s", tracefs, group);
	struct event ev = { .type = PERF_TYPE_TRACEPOINT };
	struct dirent **names;
	size_t n = folders(path, &names);

	for (size_t i = 0; i < n; i++) {
		if (names[i]->d_type == DT_DIR && is_trace_word(names[i]->d_name) &&
		    snprintf(ev.name, sizeof(ev.name), "%s:%s", group, names[i]->d_name) <
			    (int)sizeof(ev.name))
			show(ctx, &ev);
	}
	free_entries(names, n);
	free(path);
}

static void list_tracepoints(const char *tracefs, event_show *show, void *ctx)
{
	struct dirent **groups;
	size_t n = folders(tracefs, &groups);

	for (size_t i = 0; i < n; i++)
		if (groups[i]->d_type == DT_DIR && is_trace_word(groups[i]->d_name))
			list_group(tracefs, groups[i]->d_name, show, ctx);
	free_entries(groups, n);
}

void event_list(const char *tracefs, event_show *show, void *ctx)
{
	char name[NEAR_MAX];
	struct event ev = { .name = "" };

	for (size_t i = 0; i < COUNT(named); i++)
		if (find_named(named[i].name, &ev))
			show(ctx, &ev);
	for (size_t i = 0; i < COUNT(caches); i++)
		for (size_t op = 0; op < COUNT(operations); op++)
			for (int miss = 0; miss < 2 && caches[i].ops >> op & 1; miss++) {
				cache_name(name, sizeof(name), &caches[i], op, miss);
				if (find_cache(name, &ev))
					show(ctx, &ev);
			}
	if (tracefs)
		list_tracepoints(tracefs, show, ctx);
}

int event_is_clock(const struct event *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE &&
	       (ev->config == PERF_COUNT_SW_CPU_CLOCK || ev->config == PERF_COUNT_SW_TASK_CLOCK);
}

int event_is_time(const struct event *ev)
{
	return event_is_clock(ev) ||
	       (ev->type == PERF_TYPE_HARDWARE && ev->config == PERF_COUNT_HW_CPU_CYCLES);
}

int event_is_software(const struct event *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT;
}

struct perf_event_attr event_attr(const struct event *ev, uint64_t frequency, uint64_t period,
				  int idle)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = ev->type,
		.config = ev->config,
		.config1 = ev->config1,
		.config2 = ev->config2,
		.exclude_user = ev->exclude_user,
		.exclude_kernel = ev->exclude_kernel,
		.precise_ip = ev->precise & 3,
		/* Hardware counts nothing while idle; a clock would tick on. */
		.exclude_idle = event_is_clock(ev) && !idle,
	};

	/* A tracepoint has no rate of its own: the program on it counts its hits. */
	if (ev->type == PERF_TYPE_TRACEPOINT) {
		attr.sample_period = 1;
	} else if (ev->period) {
		attr.sample_period = ev->period;
	} else if (frequency) {
		attr.freq = 1;
		attr.sample_freq = frequency;
	} else {
		attr.sample_period = period;
	}
	return attr;
}
