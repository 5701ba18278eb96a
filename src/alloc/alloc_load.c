/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_load.h"

#include "alloc/alloc_links.h"
#include "slices/threads.h"

#define SECOND 1e9
/* share of a thread's CPU time from which on the traps' price decides what is left */
#define SATURATED 0.8
/* by so much a trap may be cheaper in a program than where it was measured */
#define PRICE_ERROR 0.15

double alloc_price_of(const struct alloc_price *p, int stepped, int returns)
{
	return p->trap[stepped] + (returns ? p->at_return : 0);
}

static double all_calls(const struct alloc_watched *t)
{
	double sum = 0;

	for (int i = 0; i < ALLOC_SLOTS; i++)
		sum += (double)t->calls[i];
	return sum;
}

/*
 * What the traps were cheaper here than where they were measured: they cannot have taken more than
 * all of a thread's time.
 */
static double price_scale(const struct alloc_watched *t, double traps)
{
	return traps > t->cpu ? t->cpu / traps : 1;
}

static double trap_time(const struct alloc_price *p, const struct alloc_watched *t)
{
	double traps = 0;

	for (int i = 0; i < ALLOC_SLOTS; i++)
		traps += (double)t->calls[i] * p->trap[i & SLOT_STEPPED];
	return traps;
}

/*
 * CPU time without the traps. Where they took nearly all of it that is the most it can have been.
 */
static double own_work(const struct alloc_watched *t, double traps, int *saturated)
{
	*saturated = traps > SATURATED * t->cpu;
	return t->cpu - (*saturated ? (1 - PRICE_ERROR) * traps : traps);
}

struct alloc_load alloc_load_of(const struct alloc_price *p, const struct alloc_watched *threads,
				size_t n)
{
	double most = 0, work = 0, full[2] = { 0 }, calls[2] = { 0 }, resizes = 0;
	int rough = 0;

	for (size_t i = 0; i < n; i++)
		if (threads[i].cpu > 0 && all_calls(&threads[i]) > most)
			most = all_calls(&threads[i]);
	for (size_t i = 0; i < n && most > 0; i++) {
		const struct alloc_watched *t = &threads[i];
		double weight = slice_threads_weight(all_calls(t), most), traps = trap_time(p, t);
		double scale = price_scale(t, traps);
		int saturated;

		if (t->cpu <= 0 || weight <= 0)
			continue;
		work += weight * own_work(t, scale * traps, &saturated) / SECOND;
		rough |= saturated;
		for (int k = 0; k < ALLOC_SLOTS; k++) {
			double times = weight * (double)t->calls[k];
			int end = (k & SLOT_END) != 0;

			calls[end] += times;
			full[end] += times * scale * alloc_price_of(p, k & SLOT_STEPPED, !end);
			resizes += k & SLOT_RESIZE ? times : 0;
		}
	}
	work = work > 0 ? work : 1;
	return (struct alloc_load){
		.calls = calls[0] / work,
		.ends = calls[1] / work,
		.resizes = resizes / work,
		.rough = rough,
		.call_ns = calls[0] > 0 ? full[0] / calls[0] : 0,
		.end_ns = calls[1] > 0 ? full[1] / calls[1] : 0,
	};
}

double alloc_load_cost(const struct alloc_load *load, unsigned int groups)
{
	double calls = groups & ALLOC_ALL_CALLS
			       ? load->calls
			       : (groups & ALLOC_CALLS ? load->calls - load->resizes : 0) +
					 (groups & ALLOC_ENDS ? load->resizes : 0);

	return (calls * (load->call_ns + 2 * ALLOC_PROGRAM_NS) +
		(groups & ALLOC_ENDS ? load->ends * (load->end_ns + ALLOC_PROGRAM_NS) : 0)) /
	       SECOND;
}
