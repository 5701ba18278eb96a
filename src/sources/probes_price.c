/* SPDX-License-Identifier: MIT */
#include "sources/probes_price.h"

#include <stdlib.h>

#include "alloc/alloc_price.h"
#include "alloc/call_watch.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "sources/overhead.h"

#define WATCH_NS 100000000u	/* how long hits are counted */
#define STACK_NS 2000.0		/* that a stack of 30 frames takes, about (docs/benchmarks.md) */
#define SECOND 1e9

static int is_user(const struct probes *p, size_t place)
{
	return p->places.v[place].file >= 0;
}

/* The places in programs, as they are counted. Returns how many. */
static size_t list_places(const struct probes *p, struct call_place *to)
{
	size_t n = 0;

	for (size_t i = 0; i < p->places.n; i++) {
		const struct probes_place *at = &p->places.v[i];

		if (!is_user(p, i))
			continue;
		to[n++] = (struct call_place){
			.file = at->file, .pid = p->only, .offset = at->offset,
			.semaphore = at->semaphore,
			.slot = (alloc_price_is_stepped(at->file, at->offset) ? SLOT_STEPPED : 0u) |
				(p->events.v[at->event].at_return ? 0u : SLOT_END),
		};
	}
	return n;
}

/* Before anything is known of how often: a hit at its entry, and at its return. */
static void say_price(const struct probes *p, const struct alloc_price *price, FILE *to)
{
	int at_return = 0, stepped = 0;

	for (size_t i = 0; i < p->places.n; i++) {
		const struct probes_place *at = &p->places.v[i];

		if (!is_user(p, i))
			continue;
		at_return |= p->events.v[at->event].at_return;
		stepped |= alloc_price_is_stepped(at->file, at->offset);
	}
	fprintf(to, "ebprof: a hit will cost about %.1f us here\n",
		(alloc_price_of(price, stepped, at_return) + STACK_NS) / 1e3);
}

static void say_load(const struct probes *p, const struct alloc_load *l, FILE *to)
{
	double hits = l->calls + l->ends, stacks = hits * STACK_NS / SECOND;
	double traps = (l->calls * l->call_ns + l->ends * l->end_ns) / SECOND;
	double bound = p->bound / 100, slower;
	const char *least = l->rough ? "at least " : "";
	char number[TEXT_ABOUT];

	slower = 1 + traps + (bound > 0 && stacks > bound * (1 + traps) ? bound * (1 + traps)
									: stacks);
	fprintf(to,
		"ebprof: %s%s hits per second of the CPU time of the threads that are hit; each "
		"costs about %.1f us here, its stack another %.1f: expect these threads to run "
		"%s%.*f times slower", least, text_about(hits, number), 1e6 * traps / hits,
		STACK_NS / 1e3, least, slower > 9 ? 0 : 1, slower);
	if (bound > 0 && stacks > bound)
		fprintf(to, "; --max-overhead %g%% takes the stacks of some, and counts all: the "
			    "traps remain", p->bound);
	fputc('\n', to);
}

/* As far as one can tell here. */
static void say_cost(const struct probes *p, const struct source_setup *setup, size_t n)
{
	struct call_place *places = xcalloc(n, sizeof(*places));
	struct alloc_price price = { .at_return = 0 };
	struct alloc_load load = { 0 };
	int counted = 0;

	if (alloc_price_measure(&price)) {
		fputs("ebprof: a hit costs the program a trap and a stack, of one to several "
		      "microseconds each\n", setup->notes);
	} else {
		list_places(p, places);
		counted = !setup->target->command &&
			  !call_watch(&price, places, n, setup->members, setup->nmembers,
				      WATCH_NS, &load);
		if (counted && load.calls + load.ends >= 1)
			say_load(p, &load, setup->notes);
		else
			say_price(p, &price, setup->notes);
	}
	free(places);
}

void probes_price(struct probes *p, const struct source_setup *setup)
{
	double given = p->o->max_overhead;
	size_t n = 0;

	p->bound = given > 0 ? given : 0;
	/* A command is what one measures by itself: all is taken, unless it is asked for. */
	if (!given && !setup->target->command)
		p->bound = OVERHEAD_OF_PROBES;
	if (p->o->latency.n && !given)
		p->bound = 0;
	for (size_t i = 0; i < p->places.n; i++)
		n += is_user(p, i) != 0;
	if (n && setup->notes)
		say_cost(p, setup, n);
}
