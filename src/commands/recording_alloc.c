/* SPDX-License-Identifier: MIT */
#include "commands/recording_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc/alloc_price.h"
#include "alloc/alloc_watch.h"
#include "collect/uprobe.h"
#include "proc/procfs.h"

#define OVERHEAD_DEFAULT 10.0	/* % */
#define WATCH_NS 50000000u	/* how long the calls are counted */

/* 812345 -> "812,000": three digits that count. */
static void show_number(double x)
{
	unsigned long long n = (unsigned long long)(x + 0.5), unit = 1;
	char digits[32];
	int length;

	while (n / unit >= 1000)
		unit *= 10;
	length = snprintf(digits, sizeof(digits), "%llu", (n + unit / 2) / unit * unit);
	for (int i = 0; i < length; i++) {
		fputc(digits[i], stderr);
		if (i + 1 < length && (length - i - 1) % 3 == 0)
			fputc(',', stderr);
	}
}

/* @bound: %; 0: none */
static void show_price(const struct recording *r, int children, double bound)
{
	const struct alloc_load *l = &r->load;
	double calls = l->calls + l->ends, cost = alloc_load_cost(l, ALLOC_CALLS | ALLOC_ENDS);
	const char *least = l->rough ? "at least " : "";

	if (r->o.target.pids.n == 1)
		fprintf(stderr, "ebprof: process %d%s makes ", r->o.target.pids.v[0],
			children ? ", with what it has forked," : "");
	else
		fprintf(stderr, "ebprof: these %zu processes make ", r->o.target.pids.n);
	if (calls < 1) {
		fprintf(stderr,
			"no calls of the allocator at the moment; a malloc() with its free() will "
			"cost some %.1f us "
			"more\n",
			(alloc_price_of(&r->price, 0, 1) + alloc_price_of(&r->price, 1, 0)) / 1e3);
		return;
	}
	fputs(least, stderr);
	show_number(calls);
	fprintf(stderr,
		" calls of the allocator per second of the calling threads' CPU time; each costs "
		"about %.1f us more here: expect these threads to run %s%.*f times slower",
		cost / calls * 1e6, least, cost > 9 ? 0 : 1, 1 + cost);
	if (100 * cost > bound && bound > 0)
		fprintf(stderr,
			" if all calls were followed; --max-overhead %g%% follows them for a part "
			"of the time (none: always)",
			bound);
	else if (100 * cost > OVERHEAD_DEFAULT)
		fputs(" (--max-overhead 10% bounds that)", stderr);
	fputc('\n', stderr);
}

static void bound_price(struct recording *r, double bound)
{
	const struct alloc_load *l = &r->load;

	r->slices = (struct slicer_options){
		.call_ns = l->call_ns > 0 ? l->call_ns : alloc_price_of(&r->price, 0, 1),
		.end_ns = l->end_ns > 0 ? l->end_ns : alloc_price_of(&r->price, 1, 0),
	};
	alloc_slices_begin(&r->slices.slices, bound / 100, l);
	r->probes.paused = 1;
	r->probes.endless = r->slices.slices.endless;
}

/* Where links can be had, they are measured first; elsewhere we know only that it is not little. */
static int find_price(struct recording *r, int children, struct error *e)
{
	double given = r->o.max_overhead, bound = given > 0   ? given
						  : given < 0 ? 0
							      : OVERHEAD_DEFAULT;

	r->probes.by_link = !alloc_price_measure(&r->price) &&
			    !alloc_watch(&r->price, &r->probes, WATCH_NS, &r->load);
	if (r->probes.by_link && !r->o.quiet)
		show_price(r, children, bound);
	if (r->probes.by_link && bound > 0)
		bound_price(r, bound);
	if (r->probes.by_link)
		return 0;
	if (given > 0)
		return error_set(
			e, STATUS_ERROR, -EOPNOTSUPP,
			"--max-overhead with alloc -p needs Linux 6.6, which can take "
			"probes away quickly; here leave it out, and bound the time: -d 10");
	if (!r->o.quiet)
		fputs("ebprof: each malloc() now costs the process two traps more and each free() "
		      "one, of one to several "
		      "microseconds each\n",
		      stderr);
	return alloc_probes_open(&r->probes, e);
}

/* Those that the user tells of, in all processes that are asked for. */
static int find_named(struct recording *r, const char *text, struct error *e)
{
	struct alloc_named named;
	int err = alloc_named_parse(&named, text, e);

	for (size_t i = 0; i < r->o.target.pids.n && !err; i++)
		err = alloc_probes_named(&r->probes, r->o.target.pids.v[i], &named, e);
	if (!err && *named.missing && !r->o.quiet)
		fprintf(stderr, "ebprof: %s has no function %s\n", named.path, named.missing);
	return err;
}

/*
 * What the processes have forked: an allocator that is found in them is followed, and none is no
 * error. 1 where there are any.
 */
static int add_forked(struct recording *r)
{
	const struct targets *t = &r->targets;
	struct error ignored;

	for (size_t i = t->list.n; i < t->ids.n; i++)
		alloc_probes_process(&r->probes, t->ids.v[i], 1, &ignored);
	return t->ids.n > t->list.n;
}

int recording_alloc(struct recording *r, struct error *e)
{
	const struct record_options *o = &r->o;
	int err = 0;

	if (!o->alloc)
		return 0;
	r->probes.interval = o->alloc_interval == ALLOC_ALL ? 0 : o->alloc_interval;
	if (o->target.command) {
		err = alloc_library_find(&r->library, e);
		return err ? err : alloc_probes_library(&r->probes, &r->library, e);
	}
	for (size_t i = 0; i < o->allocators.n && !err; i++)
		err = find_named(r, o->allocators.v[i], e);
	for (size_t i = 0; i < o->target.pids.n && !err; i++)
		err = alloc_probes_process(&r->probes, o->target.pids.v[i], o->allocators.n > 0, e);
	return err ? err : find_price(r, add_forked(r), e);
}
