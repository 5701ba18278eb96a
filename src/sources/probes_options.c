/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "probes/spec.h"
#include "sources/options.h"

/* A tracepoint is GROUP:NAME; modifiers, as in "cycles:u", are of these letters. */
static int is_tracepoint(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && colon[1 + strspn(colon + 1, "ukp")];
}

/* What is a sample with each hit, and cannot be taken by a clock or a counter. */
static int is_hit(const char *text)
{
	return probe_spec_is(text) || is_tracepoint(text);
}

/* Of the event at @i; where there are several the last one. */
static const char *filter_of(const struct samples_options *s, size_t i)
{
	const char *text = NULL;

	for (size_t k = 0; k < s->filters.n; k++)
		if (s->filters.v[k].event == i)
			text = s->filters.v[k].text;
	return text;
}

/* Of the time that starts with @i; NULL: with the return of the function. */
static const char *end_of(const struct samples_options *s, size_t i)
{
	for (size_t k = 0; k < s->ends.n; k++)
		if (s->ends.v[k].start == i)
			return s->ends.v[k].text;
	return NULL;
}

/* Of what times are measured. */
static int check_times(const struct samples_options *s, struct probes_options *o, struct error *e)
{
	for (size_t i = 0; i < s->latency.n; i++) {
		const char *start = s->latency.v[i], *end = end_of(s, i);

		if (!end && strncmp(start, "uprobe:", 7))
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "--latency '%.200s': expected uprobe:FILE:FUNCTION, or a "
					 "probe or tracepoint with --until", start);
		if (end && (!is_hit(start) || !is_hit(end)))
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "%s '%.200s': expected a probe or a tracepoint",
					 is_hit(start) ? "--until" : "--latency",
					 is_hit(start) ? end : start);
		vec_push(&o->latency, start);
		vec_push(&o->ends, end);
	}
	return 0;
}

/*
 * One event, without a pattern, that perf knows is the business of samples. Of several they take
 * the first that is a clock or a counter.
 */
int probes_check(struct source_options *all, struct stack_options *stack, struct error *e)
{
	struct samples_options *s = &all->samples;
	struct probes_options *o = &all->probes;
	const string_vec *events = &s->events;

	(void)stack;
	for (size_t i = 0; i < events->n; i++) {
		const char *text = events->v[i], *filter = filter_of(s, i);
		int alone = events->n == 1 && !probe_spec_is(text) && !probe_is_pattern(text) &&
			    !filter && !s->weight && !s->by;

		if (filter && !is_hit(text))
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "--filter is of tracepoints and probes: %.200s has no "
					 "fields", text);
		if (alone || (!s->name && !is_hit(text))) {
			s->name = text;
			continue;
		}
		vec_push(&o->events, text);
		vec_push(&o->filters, filter);
	}
	o->weight = s->weight;
	o->by = s->by;
	if ((s->weight || s->by) && !o->events.n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "%s goes with -e of a tracepoint or a probe",
				 s->weight ? "--weight" : "--by");
	if (check_times(s, o, e))
		return -EINVAL;
	o->slower = s->slower;
	o->period = s->period ? s->period : 1;
	if (all->waits.max_overhead && !o->events.n && !o->latency.n && !all->waits.off_cpu &&
	    !all->waits.wall && !all->allocations.on)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--max-overhead goes with -e of a probe or a tracepoint that is "
				 "filtered, weighted or beside others, not with %.200s", s->name);
	if (!o->events.n && !o->latency.n)
		return 0;
	if (o->events.n + 2 * o->latency.n > EBP_PROBE_EVENTS)
		return error_set(e, STATUS_USAGE, -EINVAL, "-e: at most %d events at once",
				 EBP_PROBE_EVENTS);
	if (all->waits.off_cpu || all->waits.wall)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-e %.200s interrupts what follows context switches; leave out "
				 "--off-cpu and --wall", o->events.n ? o->events.v[0] : "");
	o->frequency = s->frequency;
	o->max_overhead = all->waits.max_overhead;
	return 0;
}

int probes_choose(struct source_options *all, struct source **s, struct error *e)
{
	(void)e;
	if (all->probes.events.n || all->probes.latency.n)
		*s = probes_new(&all->probes);
	return 0;
}
