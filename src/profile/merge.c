/* SPDX-License-Identifier: MIT */
#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "profile/copy.h"
#include "profile/latency.h"

/* All of @src, whether it was sampled or not, in the order of @src. */
static void merge_frames(struct copy *c, const struct profile_view *v)
{
	for (uint32_t i = 0; i < v->nfunctions; i++)
		copy_function(c, i);
	for (uint32_t i = 0; i < v->nmodules; i++)
		copy_module(c, i);
	for (uint32_t i = 0; i < v->nlocations; i++)
		copy_location(c, i);
	for (uint32_t i = 1; i < v->nnodes; i++)
		copy_node(c, i);
}

static void merge_owners(struct copy *c, const struct profile_view *v)
{
	for (uint32_t i = 0; i < v->nprocesses; i++)
		copy_process(c, i);
	for (uint32_t i = 0; i < v->nthreads; i++)
		copy_thread(c, i);
	for (uint32_t i = 0; i < v->nlabel_sets; i++)
		copy_labels(c, i);
}

static void merge_samples(struct copy *c, struct profile *dst, const struct profile *src,
			  const uint32_t *types)
{
	struct profile_view v = profile_view(src);
	const uint64_t **values = xcalloc(v.ntypes, sizeof(*values));

	for (size_t t = 0; t < v.ntypes; t++)
		values[t] = profile_values(src, (uint32_t)t);
	for (uint32_t i = 0; i < v.nsamples; i++) {
		uint32_t id = PROFILE_NONE;

		for (size_t t = 0; t < v.ntypes; t++) {
			if (types[t] == PROFILE_NONE || !values[t][i])
				continue;
			if (id == PROFILE_NONE)
				id = copy_sample(c, i);
			profile_count(dst, id, types[t], values[t][i]);
		}
	}
	free(values);
}

static void add_reasons(struct profile *dst, struct profile_reason *to, size_t *n,
			const struct profile_reason *from, size_t nfrom)
{
	for (size_t i = 0; i < nfrom; i++) {
		/* The texts of @src may go with it. */
		const char *name = profile_text(dst, profile_string(dst, from[i].name));
		size_t k = 0;

		while (k < *n && strcmp(to[k].name, name))
			k++;
		if (k == PROFILE_REASONS_MAX)
			k--;
		else if (k == *n)
			to[(*n)++] = (struct profile_reason){ .name = name };
		to[k].count += from[i].count;
	}
}

static void merge_account(struct profile *dst, const struct profile_account *from)
{
	struct profile_account *to = profile_account(dst);

	to->taken += from->taken;
	to->kept += from->kept;
	add_reasons(dst, to->truncated, &to->ntruncated, from->truncated, from->ntruncated);
	add_reasons(dst, to->lost, &to->nlost, from->lost, from->nlost);
}

static void merge_meta(struct profile_meta *to, struct profile_meta from)
{
	static const struct profile_meta none;

	if (!memcmp(to, &none, sizeof(none))) {
		*to = from;
		return;
	}
	if (strcmp(to->event, from.event))
		to->event[0] = '\0';
	if (!to->start || (from.start && from.start < to->start))
		to->start = from.start;
	to->duration = to->duration && from.duration ? to->duration + from.duration : 0;
	to->frequency = to->frequency == from.frequency ? to->frequency : 0;
	to->period = to->period == from.period ? to->period : 0;
	to->cpus = to->cpus == from.cpus ? to->cpus : 0;
	to->per_thread |= from.per_thread;
	to->host = to->host == from.host ? to->host : 0;
	to->command = to->command == from.command ? to->command : 0;
	to->title = to->title == from.title ? to->title : 0;
}

/* By @c, which is freed. */
static void merge(struct copy *c, struct profile *dst, const struct profile *src,
		  const uint32_t *types, enum copy_identity identity)
{
	struct profile_view v = profile_view(src);

	merge_frames(c, &v);
	merge_owners(c, &v);
	merge_samples(c, dst, src, types);
	merge_account(dst, v.account);
	if (identity == COPY_PLACES) {
		merge_meta(profile_meta(dst), copy_meta(c));
		for (size_t i = 0; i < v.ncomments; i++)
			profile_comment(dst, profile_text(src, v.comments[i]));
		profile_add_latencies(dst, src);
	}
	copy_free(c);
}

void profile_merge(struct profile *dst, const struct profile *src, const uint32_t *types,
		   enum copy_identity identity)
{
	merge(copy_new(dst, src, identity), dst, src, types, identity);
}

/* The type of @dst that is called as @type of @src. */
static uint32_t same_type(const struct profile *dst, const struct profile *src,
			  const struct profile_type *type)
{
	struct profile_view v = profile_view(dst);

	for (size_t i = 0; i < v.ntypes; i++)
		if (!strcmp(profile_text(dst, v.types[i].name), profile_text(src, type->name)) &&
		    !strcmp(profile_text(dst, v.types[i].unit), profile_text(src, type->unit)))
			return (uint32_t)i;
	return PROFILE_NONE;
}

static void take_types(struct profile *dst, const struct profile *src)
{
	struct copy *c = copy_new(dst, src, COPY_PLACES);
	struct profile_view from = profile_view(src);

	for (uint32_t i = 0; i < from.ntypes; i++)
		copy_type(c, i, i);
	profile_show(dst, from.shown);
	copy_free(c);
}

/* Which types of @dst those of @src are, by type; the caller frees it. A new one gets them all. */
static uint32_t *meet_types(struct profile *dst, const struct profile *src)
{
	struct profile_view to = profile_view(dst), from = profile_view(src);
	uint32_t *types = xcalloc(from.ntypes, sizeof(*types));

	if (!to.nsamples && to.ntypes == 1)
		take_types(dst, src);
	for (size_t i = 0; i < from.ntypes; i++)
		types[i] = same_type(dst, src, &from.types[i]);
	return types;
}

void profile_merge_samples(struct profile *dst, const struct profile *src,
			   enum copy_identity identity)
{
	uint32_t *types = meet_types(dst, src);
	struct copy *c = copy_new(dst, src, identity);

	merge_samples(c, dst, src, types);
	copy_free(c);
	free(types);
}

void profile_merge_labelled(struct profile *dst, const struct profile *src, const char *key,
			    const char *text)
{
	uint32_t *types = meet_types(dst, src);
	struct copy *c = copy_new(dst, src, COPY_PLACES);

	if (key)
		copy_label(c, key, text);
	merge(c, dst, src, types, COPY_PLACES);
	free(types);
}

void profile_merge_run(struct profile *dst, const struct profile *src)
{
	profile_merge_labelled(dst, src, NULL, NULL);
}
