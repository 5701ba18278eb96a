/* SPDX-License-Identifier: MIT */
#include "slices/slices.h"

#define MS		1e6
#define CYCLE		(1000 * MS)
#define CYCLE_FIRST	(250 * MS)
#define SLICE_LEAST	(20 * MS)	/* setting the probes takes some ms, */
#define SLICE_COST	(30 * MS)	/* and with that, this is what a slice costs at most */
#define NEARLY_ALL	0.9		/* share of time that is not worth taking probes away */
/* of the budget: so much the probes of frees may cost to be set at all, */
#define ENDS_FIRST	0.5
#define ENDS_MOST	0.8		/* and so much to stay */
#define CREDIT		2.0		/* budgets that a cycle may spend after cheaper ones, */
#define DEBT		0.25		/* and what it may spend whatever was before */
#define CALLS_LEAST	0.05		/* of a cycle's budget, for calls */
#define NEW		0.5		/* weight of what was just seen, */
#define FAR		0.1		/* unless it is so many times what was before */
#define WORK_LEAST	0.005		/* of the CPU time, as far as it is told apart from traps */

static double at_least(double x, double least)
{
	return x > least ? x : least;
}

static double at_most(double x, double most)
{
	return x < most ? x : most;
}

/*
 * All is as for processes that use a whole CPU: rates and budget are both shares of what they use.
 */
void slices_begin(struct slices *s, double budget, const struct slices_costs *costs)
{
	double calls = costs->calls, ends = costs->ends;

	*s = (struct slices){ .budget = budget, .endless = ends > ENDS_FIRST * budget };
	if (s->endless) {
		calls = costs->all_calls;
		ends = 0;
	}
	s->calls = costs->unknown ? 1 : calls / (1 + calls + ends);
	s->ends = ends / (1 + ends);
	s->work = 1;
}

struct slices_cycle slices_plan(const struct slices *s, double where, double jitter)
{
	double cycle = s->worked > 0 ? CYCLE : CYCLE_FIRST, usual = s->budget * s->work * cycle,
	       length = cycle, may, share, open;

	may = s->budget * (s->worked + s->work * length) - s->spent;
	may = at_least(at_most(may, CREDIT * usual), DEBT * usual);
	share = at_least(may - s->ends * length, CALLS_LEAST * may) / length;
	share = s->calls > 0 ? share / s->calls : 1;
	if (share >= NEARLY_ALL || usual <= 0) {
		length = s->whole > 0 ? s->whole : length;
		return (struct slices_cycle){ .length = (uint64_t)length,
					      .open = (uint64_t)length };
	}
	/* Long cycles have few slices, from which little is known. */
	length = at_least(at_most(SLICE_LEAST / share, SLICE_COST / s->budget), cycle) *
		 (0.75 + jitter / 2);
	open = at_least(share * length, SLICE_LEAST);
	return (struct slices_cycle){ (uint64_t)length, (uint64_t)(where * (length - open)),
				     (uint64_t)open };
}

/* The CPU time without that of @traps. */
static double without(const struct slices_seen *seen, double traps)
{
	return at_least(seen->cpu - traps, WORK_LEAST * seen->cpu);
}

/* What is true of open and closed time. */
static void take(struct slices *s, const struct slices_seen *seen)
{
	double weight = NEW * at_most(seen->wall / CYCLE, 1),
	       work = without(seen, seen->calls + seen->ends);

	s->spent += seen->calls + seen->ends;
	s->worked += work;
	if (seen->wall <= 0)
		return;
	s->ends += weight * (seen->ends / seen->wall - s->ends);
	s->work += weight * (work / seen->wall - s->work);
}

void slices_open(struct slices *s, const struct slices_seen *seen)
{
	double calls = seen->wall > 0 ? seen->calls / seen->wall : s->calls;

	take(s, seen);
	/* Of what has just begun there is no mean. */
	s->calls += (s->calls < FAR * calls ? 1 : NEW) * (calls - s->calls);
}

void slices_closed(struct slices *s, const struct slices_seen *seen)
{
	take(s, seen);
}

int slices_ends_are_dear(const struct slices *s)
{
	return !s->endless && s->ends > ENDS_MOST * s->budget * s->work;
}

void slices_give_up(struct slices *s)
{
	s->endless = 1;
	s->ends = 0;
	s->calls = at_least(s->calls, 1);	/* they were held up by the ends */
}
