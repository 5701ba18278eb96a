/* SPDX-License-Identifier: MIT */
#include "sources/probes_price.h"

#include <stdlib.h>
#include <unistd.h>

#include "alloc/alloc_price.h"
#include "alloc/call_watch.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "collect/perf_events.h"
#include "sources/overhead.h"

#define WATCH_NS 100000000u	/* how long hits are counted */
#define WHOLE_NS 100e6		/* after so long it is looked again how dear they are */
#define SECOND 1e9

/* What is said of hits; ns of a stack of 30 frames, about (docs/benchmarks.md). */
struct hits {
	const char *name, *here;
	double stack;
	uint64_t period;	/* of so many one has a stack */
	double bound;		/* probes.bound */
	int some;		/* a filter lets but some of them count */
	int sliced;		/* that bound is of traps, too */
	int unasked;		/* it would be, were it not but the default */
};

#define HITS_OF_PROGRAMS { .name = "hits", .here = " here", .stack = 2000 }
/* Of a kernel's stack there are frames, too. */
#define HITS_OF_KERNEL { .name = "hits in the kernel", .here = "", .stack = 3500 }
#define HIT_NS 300	/* of our program at one without a stack, where traps are bounded */
#define KERNEL_HIT_NS 200	/* of one without a stack: the event, and a small program on it */

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
static void say_price(const struct probes *p, const struct alloc_price *price,
		      const struct hits *h, FILE *to)
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
		(alloc_price_of(price, stepped, at_return) + h->stack) / 1e3);
}

static void say_load(const struct hits *h, const struct alloc_load *l, FILE *to)
{
	double hits = l->calls + l->ends, stacks = hits / (double)h->period * h->stack / SECOND;
	double traps = (l->calls * l->call_ns + l->ends * l->end_ns) / SECOND;
	double bound = h->bound / 100, slower;
	const char *about = l->rough ? "at least " : h->some ? "at most " : "";
	char number[TEXT_ABOUT], of[64] = "its stack";

	slower = 1 + traps +
		 (bound > 0 && stacks > bound * (1 + traps) && !h->sliced ? bound * (1 + traps)
									  : stacks);
	if (h->period > 1)
		snprintf(of, sizeof(of), "the stack of one of %llu",
			 (unsigned long long)h->period);
	fprintf(to,
		"ebprof: %s%s %s per second of the CPU time of the threads that are hit; each "
		"costs about %.1f us%s, %s another %.1f: expect these threads to run "
		"%s%.*f times slower", about, text_about(hits, number), h->name,
		1e6 * traps / hits, h->here, of, h->stack / 1e3, about, slower > 9 ? 0 : 1, slower);
	if (h->sliced && traps + stacks > bound)
		fprintf(to, " if all were probed; --max-overhead %g%% probes for a part of the "
			    "time, if that is not enough for the traps (none: always)", h->bound);
	else if (bound > 0 && stacks > bound)
		fprintf(to, "; --max-overhead %g%% takes the stacks of some, and counts all: the "
			    "traps remain%s", h->bound,
			h->unasked ? ", which it bounds, too, where it is given" : "");
	fputc('\n', to);
}

/* What traps at a place take: a return has one of its own, whose entry may be another event's. */
static void set_price(struct probes *p, struct probes_place *at, const struct alloc_price *price)
{
	const struct probes_event *ev = &p->events.v[at->event];
	double ns = alloc_price_of(price, alloc_price_is_stepped(at->file, at->offset),
				   ev->at_return);

	if (at->event && p->events.v[at->event - 1].role == PROBES_CALL)
		ns = price->at_return;
	at->price = (uint16_t)(ns < EBP_PROBE_PRICE_MAX ? ns : EBP_PROBE_PRICE_MAX);
}

/* The traps of functions are bounded; how often they are called may not be known yet. */
static void bound_traps(struct probes *p, const struct alloc_price *price,
			const struct alloc_load *l)
{
	const struct slices_costs costs = {
		.calls = (l->calls * (l->call_ns + HIT_NS) + l->ends * (l->end_ns + HIT_NS)) /
			 SECOND,
	};

	p->slices.on = 1;
	slices_begin(&p->slices.plan, p->bound / 100, &costs);
	p->slices.plan.whole = WHOLE_NS;
	for (uint32_t i = 0; i < p->places.n; i++)
		if (is_user(p, i)) {
			uint32_t event = p->places.v[i].event;

			set_price(p, &p->places.v[i], price);
			p->events.v[event].sliced = 1;
			/* A time has two events. */
			if (probes_starts(&p->events.v[event]))
				p->events.v[event + 1].sliced = 1;
		}
}

/* Of functions of programs, as far as one can tell here. */
static void price_functions(struct probes *p, struct hits *h, const struct source_setup *setup,
			    size_t n)
{
	struct call_place *places = xcalloc(n, sizeof(*places));
	struct alloc_price price = { .at_return = 0 };
	struct alloc_load load = { 0 };
	int measured = !alloc_price_measure(&price), counted = 0;

	list_places(p, places);
	if (measured)
		counted = !setup->target->command &&
			  !call_watch(&price, places, n, setup->members, setup->nmembers,
				      WATCH_NS, &load) &&
			  load.calls + load.ends >= 1;
	if (measured && p->o->max_overhead > 0)
		bound_traps(p, &price, &load);
	h->sliced = p->slices.on;
	h->unasked = measured && !p->o->max_overhead;
	if (setup->notes && !measured)
		fputs("ebprof: a hit costs the program a trap and a stack, of one to several "
		      "microseconds each\n", setup->notes);
	else if (setup->notes && counted)
		say_load(h, &load, setup->notes);
	else if (setup->notes)
		say_price(p, &price, h, setup->notes);
	free(places);
}

/* Of events of the kernel, all of one kind. */
static void say_kernel_cost(const struct hits *h, enum alloc_counter_kind kind, const int *events,
			    size_t n, const struct source_setup *setup)
{
	const struct alloc_price price = { .trap = { KERNEL_HIT_NS, KERNEL_HIT_NS } };
	struct alloc_load load = { 0 };

	if (!setup->target->command &&
	    !call_watch_events(&price, kind, events, n, setup->members, setup->nmembers, WATCH_NS,
			       &load) &&
	    load.ends >= 1)
		say_load(h, &load, setup->notes);
	else
		fprintf(setup->notes, "ebprof: a hit in the kernel will cost about %.1f us\n",
			(KERNEL_HIT_NS + h->stack) / 1e3);
}

static struct hits hits_of(const struct probes *p, struct hits h)
{
	h.period = p->o->period;
	h.bound = p->bound;
	for (size_t i = 0; i < p->events.n; i++)
		h.some |= p->events.v[i].filter != NULL;
	return h;
}

static void say_cost_of_kind(const struct probes *p, enum alloc_counter_kind kind,
			     const struct source_setup *setup)
{
	static const enum alloc_counter_kind kinds[EBP_PROBE_KINDS] = {
		[EBP_PROBE_KERNEL] = COUNTER_KPROBE,
		[EBP_PROBE_START_KERNEL] = COUNTER_KPROBE,
		[EBP_PROBE_END_KERNEL] = COUNTER_KPROBE,
		[EBP_PROBE_TRACEPOINT] = COUNTER_TRACEPOINT,
		[EBP_PROBE_START_TRACEPOINT] = COUNTER_TRACEPOINT,
		[EBP_PROBE_END_TRACEPOINT] = COUNTER_TRACEPOINT,
	};
	const struct hits h = hits_of(p, (struct hits)HITS_OF_KERNEL);
	VEC(int) events = { 0 };

	for (size_t i = 0; i < p->places.n; i++)
		if (kinds[p->events.v[p->places.v[i].event].kind] == kind)
			vec_push(&events, p->places.v[i].fd);
	if (events.n)
		say_kernel_cost(&h, kind, events.v, events.n, setup);
	vec_free(&events);
}

void probes_price(struct probes *p, const struct source_setup *setup)
{
	double given = p->o->max_overhead;
	struct hits h;
	size_t n = 0;

	p->bound = given > 0 ? given : 0;
	/* A command is what one measures by itself: all is taken, unless it is asked for. */
	if (!given && !setup->target->command)
		p->bound = OVERHEAD_OF_PROBES;
	if (p->o->latency.n && !given)
		p->bound = 0;
	for (size_t i = 0; i < p->places.n; i++)
		n += is_user(p, i) != 0;
	h = hits_of(p, (struct hits)HITS_OF_PROGRAMS);
	if (n && (setup->notes || p->o->max_overhead > 0))
		price_functions(p, &h, setup, n);
	if (!setup->notes)
		return;
	say_cost_of_kind(p, COUNTER_KPROBE, setup);
	say_cost_of_kind(p, COUNTER_TRACEPOINT, setup);
}

void probes_price_tracepoint(const struct event *ev, uint64_t period,
			     const struct source_setup *setup)
{
	struct perf_event_attr attr = event_attr(ev, 0, 1, 1);
	struct hits h = HITS_OF_KERNEL;
	int fd;

	if (!setup->notes)
		return;
	h.period = period;
	fd = perf_event_open(&attr, -1, 0);
	if (fd < 0)
		return;
	say_kernel_cost(&h, COUNTER_TRACEPOINT, &fd, 1, setup);
	close(fd);
}
