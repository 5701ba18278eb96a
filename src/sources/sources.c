/* SPDX-License-Identifier: MIT */
#include "sources/sources.h"

#include "sources/allocations.h"
#include "sources/meters.h"
#include "sources/page_faults.h"
#include "sources/probes.h"
#include "sources/samples.h"
#include "sources/waits.h"

/* Allocations may take types back at the end, so theirs are the last ones. */
const struct source_ops *const source_table[] = {
	&page_faults_ops, &samples_ops, &meters_ops, &waits_ops, &probes_ops, &allocations_ops,
	NULL,
};

/* Calls the function @member of all sources that have it; @it is one in turn. */
#define EACH(list, it, member) \
	for (struct source *const *at_ = (list)->v, *it; \
	     at_ < (list)->v + (list)->n && ((it = *at_), 1); at_++) \
		if (it->ops->member)

void sources_add(struct sources *list, struct source *s)
{
	list->v[list->n++] = s;
}

void sources_free(struct sources *list)
{
	EACH(list, s, free)
		s->ops->free(s);
	list->n = 0;
}

int sources_check(struct source_options *o, struct stack_options *stack, struct error *e)
{
	int err = 0;

	for (size_t i = 0; source_table[i] && !err; i++)
		err = source_table[i]->check(o, stack, e);
	return err;
}

int sources_choose(struct sources *list, struct source_options *o, struct error *e)
{
	int err = 0;

	for (size_t i = 0; source_table[i] && !err; i++) {
		struct source *s = NULL;

		err = source_table[i]->choose(o, &s, e);
		if (s)
			sources_add(list, s);
	}
	return err;
}

int sources_prepare(struct sources *list, const struct source_setup *setup, struct error *e)
{
	int err = 0;

	EACH(list, s, prepare)
		err = err ? err : s->ops->prepare(s, setup, e);
	return err;
}

void sources_environment(const struct sources *list, char *env[SOURCE_ENVIRONMENT_MAX])
{
	EACH(list, s, environment)
		s->ops->environment(s, env);
}

const struct event *sources_event(const struct sources *list)
{
	EACH(list, s, event)
		return s->ops->event(s);
	return NULL;
}

size_t sources_parts(const struct sources *list, struct collector_part parts[COLLECTOR_PARTS_MAX])
{
	for (size_t i = 0; i < list->n; i++)
		parts[i] = (struct collector_part){ list->v[i]->ops->kernel, list->v[i] };
	return list->n;
}

void sources_begin(struct sources *list)
{
	list->host.types = 0;
	for (size_t i = 0; i < list->n; i++) {
		list->v[i]->host = &list->host;
		list->v[i]->ops->begin(list->v[i], &list->host);
	}
}

void sources_started(struct sources *list)
{
	EACH(list, s, started)
		s->ops->started(s);
}

int sources_record(struct sources *list, const struct ebp_head *head)
{
	EACH(list, s, record)
		if (s->ops->record(s, head))
			return 1;
	return 0;
}

void sources_count(struct sources *list, const struct source_count *c)
{
	EACH(list, s, count)
		if (s->ops->count(s, c))
			return;
}

void sources_flush(struct sources *list, int last)
{
	EACH(list, s, flush)
		s->ops->flush(s, last);
}

void sources_ran(struct sources *list, const struct ebp_key *key, uint32_t sample, uint64_t n)
{
	EACH(list, s, ran)
		s->ops->ran(s, key, sample, n);
}

void sources_process_event(struct sources *list, const struct sideband_event *event)
{
	EACH(list, s, process_event)
		s->ops->process_event(s, event);
}

uint64_t sources_until(const struct sources *list, uint64_t until)
{
	EACH(list, s, next_turn) {
		uint64_t next = s->ops->next_turn(s);

		until = next < until ? next : until;
	}
	return until;
}

void sources_turn(struct sources *list, uint64_t now)
{
	EACH(list, s, turn)
		s->ops->turn(s, now);
}

void sources_stopping(struct sources *list)
{
	EACH(list, s, stopping)
		s->ops->stopping(s);
}

int sources_hide(const struct sources *list, const struct ebp_key *key, uint32_t location)
{
	EACH(list, s, hides)
		if (s->ops->hides(s, key, location))
			return 1;
	return 0;
}

uint32_t sources_leaf(struct sources *list, const struct ebp_key *key, uint32_t node)
{
	EACH(list, s, leaf)
		node = s->ops->leaf(s, key, node);
	return node;
}

uint32_t sources_labels(struct sources *list, const struct ebp_key *key)
{
	EACH(list, s, labels) {
		uint32_t labels = s->ops->labels(s, key);

		if (labels)
			return labels;
	}
	return 0;
}

void sources_update(struct sources *list)
{
	EACH(list, s, update)
		s->ops->update(s);
}

void sources_set_frequency(struct sources *list, uint64_t frequency)
{
	EACH(list, s, set_frequency)
		s->ops->set_frequency(s, frequency);
}

void sources_fold(struct sources *list, const uint32_t *samples)
{
	EACH(list, s, fold)
		s->ops->fold(s, samples);
}

void sources_finish(struct sources *list, uint64_t began, uint64_t stopped)
{
	EACH(list, s, finish)
		s->ops->finish(s, began, stopped);
	EACH(list, s, complete)
		s->ops->complete(s);
}

void sources_summary(const struct sources *list, struct summary *rows)
{
	EACH(list, s, summary)
		s->ops->summary(s, rows);
}

int sources_are_whole(const struct sources *list)
{
	EACH(list, s, whole)
		return 1;
	return 0;
}

int sources_keep_samples(const struct sources *list)
{
	EACH(list, s, keeps_samples)
		return 1;
	return 0;
}

int sources_keep_times(const struct sources *list)
{
	size_t n = 0;

	EACH(list, s, keeps_times)
		n += s->ops->keeps_times(s) != 0;
	return n == list->n;
}

int sources_renew(const struct sources *list)
{
	size_t n = 0;

	EACH(list, s, renews)
		n++;
	return n == list->n;
}

uint32_t source_type(struct source *s, const char *name, const char *unit)
{
	if (s->host->types++)
		return profile_add_type(s->host->profile, name, unit);
	profile_set_type(s->host->profile, 0, name, unit);
	return 0;
}

void source_add(struct source *s, uint32_t sample, uint32_t type, uint64_t value)
{
	if (type != PROFILE_NONE && value)
		profile_count(s->host->profile, sample, type, value);
}

void source_tick(struct source *s, const struct source_count *c, uint32_t sample, uint64_t value,
		 uint64_t span)
{
	const struct source_host *host = s->host;

	if (host->timeline && c->timed)
		timeline_add(host->timeline, &(struct tick){
			.time = c->time > host->origin ? c->time - host->origin : 0,
			.span = span, .value = span ? span : value, .sample = sample,
			.cpu = c->cpu });
}
