/* SPDX-License-Identifier: MIT */
#include "slices/pace.h"

#define AGED 0.6		/* weight of what was before the last slice */
#define WORK_LEAST 0.005	/* of the CPU time */

double slice_work_of(const struct slice_ran *ran)
{
	double work = ran->cpu - ran->cost, least = WORK_LEAST * ran->cpu;

	return work > least ? work : least;
}

void slice_pace_open(struct slice_pace *p, const struct slice_ran *ran)
{
	p->calls = AGED * p->calls + ran->calls;
	p->work = AGED * p->work + slice_work_of(ran);
	p->last = ran->calls;
	p->slices_cpu += ran->cpu;
	p->slices_work += slice_work_of(ran);
}

void slice_pace_closed(struct slice_pace *p, const struct slice_ran *ran)
{
	p->gap += slice_work_of(ran);
}

void slice_pace_settle_whole(struct slice_pace *p)
{
	p->before += p->gap;
	p->gap = p->last = 0;
}

double slice_pace_settle(struct slice_pace *p, int last)
{
	double gap = last ? p->gap : p->gap / 2, scale;

	if (p->last <= 0 || p->work <= 0) {
		slice_pace_settle_whole(p);
		return 1;
	}
	scale = 1 + p->calls / p->work * (p->before + gap) / p->last;
	p->before = p->gap - gap;
	p->gap = p->last = 0;
	return scale;
}

double slice_pace_traps(const struct slice_pace *p)
{
	return p->slices_cpu > 0 ? 1 - p->slices_work / p->slices_cpu : 0;
}
