/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "alloc/alloc_price.h"
#include "alloc/alloc_probes.h"
#include "alloc/call_watch.h"
#include "base/text.h"
#include "sources/allocations.h"

#define WATCH_NS 50000000u	/* how long the calls are counted */

/* @bound: %; 0: none */
static void show_price(const struct allocations *a, const struct source_setup *setup, double bound)
{
	const struct alloc_load *l = &a->load;
	const int_vec *pids = &setup->target->pids;
	FILE *to = setup->notes;
	double calls = l->calls + l->ends, cost = alloc_load_cost(l, ALLOC_CALLS | ALLOC_ENDS);
	const char *least = l->rough ? "at least " : "";
	char number[TEXT_ABOUT];

	if (pids->n == 1)
		fprintf(to, "ebprof: process %d%s makes ", pids->v[0],
			setup->nids > setup->forked ? ", with what it has forked," : "");
	else
		fprintf(to, "ebprof: these %zu processes make ", pids->n);
	if (calls < 1) {
		fprintf(to,
			"no calls of the allocator at the moment; a malloc() with its free() will "
			"cost some %.1f us "
			"more\n",
			(alloc_price_of(&a->price, 0, 1) + alloc_price_of(&a->price, 1, 0)) / 1e3);
		return;
	}
	fprintf(to,
		"%s%s calls of the allocator per second of the calling threads' CPU time; each "
		"costs about %.1f us more here: expect these threads to run %s%.*f times slower",
		least, text_about(calls, number), cost / calls * 1e6, least, cost > 9 ? 0 : 1,
		1 + cost);
	if (100 * cost > bound && bound > 0)
		fprintf(to,
			" if all calls were followed; --max-overhead %g%% follows them for a part "
			"of the time (none: always)",
			bound);
	else if (100 * cost > OVERHEAD_OF_PROBES)
		fputs(" (--max-overhead 10% bounds that)", to);
	fputc('\n', to);
}

static void bound_price(struct allocations *a, double bound)
{
	const struct alloc_load *l = &a->load;
	const struct slices_costs costs = {
		.calls = alloc_load_cost(l, ALLOC_CALLS),
		.ends = alloc_load_cost(l, ALLOC_ENDS),
		.all_calls = alloc_load_cost(l, ALLOC_ALL_CALLS),
		.unknown = !(l->calls > 0),
	};

	a->call_ns = l->call_ns > 0 ? l->call_ns : alloc_price_of(&a->price, 0, 1);
	a->end_ns = l->end_ns > 0 ? l->end_ns : alloc_price_of(&a->price, 1, 0);
	slices_begin(&a->slices, bound / 100, &costs);
	a->probes.paused = 1;
	a->probes.endless = a->slices.endless;
}

/* Where links can be had, they are measured first; elsewhere we know only that it is not little. */
static int find_price(struct allocations *a, const struct source_setup *setup, struct error *e)
{
	double given = a->o->max_overhead, bound = given > 0   ? given
						   : given < 0 ? 0
							       : OVERHEAD_OF_PROBES;

	a->probes.by_link = !alloc_price_measure(&a->price) &&
			    !call_watch_allocator(&a->price, &a->probes, WATCH_NS, &a->load);
	if (a->probes.by_link && setup->notes)
		show_price(a, setup, bound);
	if (a->probes.by_link && bound > 0)
		bound_price(a, bound);
	if (a->probes.by_link)
		return 0;
	if (given > 0)
		return error_set(
			e, STATUS_ERROR, -EOPNOTSUPP,
			"--max-overhead with alloc -p needs Linux 6.6, which can take "
			"probes away quickly; here leave it out, and bound the time: -d 10");
	if (setup->notes)
		fputs("ebprof: each malloc() now costs the process two traps more and each free() "
		      "one, of one to several "
		      "microseconds each\n",
		      setup->notes);
	return alloc_probes_open(&a->probes, e);
}

/* Those that the user names, in all processes that are asked for. */
static int find_named(struct allocations *a, const char *text, const struct source_setup *setup,
		      struct error *e)
{
	const int_vec *pids = &setup->target->pids;
	struct alloc_named named;
	int err = alloc_named_parse(&named, text, e);

	for (size_t i = 0; i < pids->n && !err; i++)
		err = alloc_probes_named(&a->probes, pids->v[i], &named, e);
	if (!err && *named.missing && setup->notes)
		fprintf(setup->notes, "ebprof: %s has no function %s\n", named.path,
			named.missing);
	return err;
}

int allocations_prepare(struct source *source, const struct source_setup *setup, struct error *e)
{
	struct allocations *a = (struct allocations *)source;
	const string_vec *named = &a->o->allocators;
	const int_vec *pids = &setup->target->pids;
	struct alloc_price nops;
	struct error ignored;
	int err = 0;

	a->inherit = !setup->target->no_inherit;
	a->probes.interval = a->o->interval == ALLOC_ALL ? 0 : a->o->interval;
	if (setup->target->command) {
		err = alloc_library_find(&a->library, e);
		if (!err && !alloc_price_of_nops(&nops))
			alloc_library_choose_nop(&a->library, &nops);
		return err ? err : alloc_probes_library(&a->probes, &a->library, e);
	}
	for (size_t i = 0; i < named->n && !err; i++)
		err = find_named(a, named->v[i], setup, e);
	for (size_t i = 0; i < pids->n && !err; i++)
		err = alloc_probes_process(&a->probes, pids->v[i], named->n > 0, e);
	if (err)
		return err;
	/* Of what they have forked an allocator is followed, too, and none is no error. */
	for (size_t i = setup->forked; i < setup->nids; i++)
		alloc_probes_process(&a->probes, setup->ids[i], 1, &ignored);
	return find_price(a, setup, e);
}

void allocations_environment(const struct source *source, char *env[SOURCE_ENVIRONMENT_MAX])
{
	const struct allocations *a = (const struct allocations *)source;

	alloc_library_environment(&a->library, a->probes.interval, env);
}
