/* SPDX-License-Identifier: MIT */
#include "push/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/outfile.h"
#include "base/text.h"
#include "output/output.h"
#include "profile/increment.h"
#include "push/gzip.h"
#include "push/labels.h"
#include "push/service.h"

#define SECOND 1000000000ull
#define FORMAT "pprof"
#define HOST_NAME 256
#define COMMENT 128
#define TYPE_NAME 128

struct push {
	struct push_setup setup;
	place_vec places;
	char host[HOST_NAME];
	label_vec labels;		/* the user's */
	struct services *services;
	struct increment *increment;
	uint64_t folded;		/* how often the profile was, when we were told */
	int taken;
	uint64_t windows, samples;	/* taken over */
	VEC(uint64_t) sent;		/* by type: of this profile */
};

static int open_place(struct push *p, const char *to, struct error *e)
{
	struct place *place = place_open(to, p->setup.user, &p->setup.options->places, e);

	if (!place)
		return -EIO;
	vec_push(&p->places, place);
	return 0;
}

struct push *push_new(const struct push_setup *setup, struct error *e)
{
	struct push *p = xcalloc(1, sizeof(*p));
	struct utsname u;
	int err;

	p->setup = *setup;
	text_clean(p->host, sizeof(p->host), uname(&u) ? "" : u.nodename);
	p->services = services_new();
	p->increment = increment_new();
	err = labels_make(&p->labels, &setup->options->labels, &setup->options->labels_from, e);
	if (!err && setup->options->max_overhead > 0 && !setup->frequency &&
	    !setup->sources_bounded)
		err = error_set(e, STATUS_USAGE, -EINVAL,
				"--max-overhead lowers a rate, and bounds --off-cpu, --wall and "
				"--alloc: leave out -c, and events that have no rate");
	for (size_t i = 0; i < setup->options->to.n && !err; i++)
		err = open_place(p, setup->options->to.v[i], e);
	if (!err)
		return p;
	push_free(p);
	return NULL;
}

void push_free(struct push *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->places.n; i++)
		place_free(p->places.v[i]);
	vec_free(&p->places);
	labels_free(&p->labels);
	services_free(p->services);
	increment_free(p->increment);
	vec_free(&p->sent);
	free(p);
}

int push_start(struct push *p, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < p->places.n && !err; i++)
		err = place_start(p->places.v[i], e);
	/* Whoever sends has it, and whoever reads foreign files need not. */
	unsetenv(COURIER_TOKEN);
	return err;
}

const place_vec *push_places(const struct push *p)
{
	return &p->places;
}

void push_memory(struct push *p, struct remote *remote)
{
	services_memory(p->services, remote);
}

void push_look(struct push *p, const struct profile *profile)
{
	services_look(p->services, profile);
}

void push_take(struct push *p, const struct profile *profile)
{
	services_settle(p->services, profile);
	increment_take(p->increment, profile);
	p->windows++;
	p->samples = profile_view(profile).account->kept;
	p->taken = 1;
}

int push_is_taken(const struct push *p)
{
	return p->taken;
}

int push_is_ready(const struct push *p, const struct profile *profile)
{
	return p->taken && increment_is_named(p->increment, profile);
}

/* Returns how many there are; they live as long as @in. */
static size_t label(const struct push *p, const char *service, const struct service_place *in,
		    struct push_label labels[PUSH_LABELS_MOST])
{
	const struct push_label known[] = {
		{ PUSH_CONTAINER, in->container.name }, { PUSH_CONTAINER_ID, in->container.id },
		{ PUSH_IMAGE, in->container.image },    { PUSH_POD, in->container.pod },
		{ PUSH_NAMESPACE, in->container.namespace }, { PUSH_CGROUP, in->cgroup },
	};
	size_t n = 0;

	labels[n++] = (struct push_label){ PUSH_SERVICE, service };
	labels[n++] = (struct push_label){ PUSH_HOST, p->host };
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (*known[i].value)
			labels[n++] = known[i];
	for (size_t i = 0; i < p->labels.n && n < PUSH_LABELS_MOST; i++)
		labels[n++] = p->labels.v[i];
	return n;
}

/* A window of a lower rate says so; what a sample stands for is by its own rate anyhow. */
static void tell_frequency(const struct push *p, struct profile *part)
{
	uint64_t frequency = profile_meta(part)->frequency;
	char text[COMMENT];

	if (!frequency || frequency == p->setup.frequency)
		return;
	snprintf(text, sizeof(text), "sampled at %llu Hz instead of %llu, to keep "
		 "--max-overhead %g%%", (unsigned long long)frequency,
		 (unsigned long long)p->setup.frequency, p->setup.options->max_overhead);
	profile_comment(part, text);
}

/* Servers refuse types with a dash. */
static void name_types(struct profile *part)
{
	const struct profile_view v = profile_view(part);

	for (uint32_t t = 0; t < v.ntypes; t++) {
		char name[TYPE_NAME], *dash = name;

		snprintf(name, sizeof(name), "%s", profile_text(part, v.types[t].name));
		while ((dash = strchr(dash, '-')))
			*dash = '_';
		profile_set_type(part, t, name, profile_text(part, v.types[t].unit));
	}
}

/* What a file is called by: samples of an event by the service alone. */
static void name_file(const char *service, const struct profile *part, char name[PUSH_NAME])
{
	const char *event = profile_view(part).types[0].words->event;

	snprintf(name, PUSH_NAME, event ? "%s.%s" : "%s", service, event);
}

/* To all places, as each of them wants it. */
static void add_part(struct push *p, struct push_part *part)
{
	const struct output_options options = { 0 };
	struct outfile_bytes pprof = { 0 }, packed = { 0 };
	unsigned int wants = 0;

	for (size_t i = 0; i < p->places.n; i++)
		wants |= place_wants(p->places.v[i]);
	if (wants) {
		struct outfile *f = outfile_memory(&pprof);

		output_by_name(FORMAT)->write(part->profile, &options, f);
		outfile_commit(f, NULL);
	}
	if (wants & PLACE_PACKED)
		gzip_pack(pprof.v, pprof.n, &packed);
	part->pprof = &pprof;
	part->packed = &packed;
	for (size_t i = 0; i < p->places.n; i++)
		place_add(p->places.v[i], part);
	part->pprof = part->packed = NULL;
	vec_free(&pprof);
	vec_free(&packed);
}

static void send_part(struct push *p, const char *service, const struct service_place *in,
		      struct profile *profile)
{
	const struct profile_meta *m = profile_meta(profile);
	char name[PUSH_NAME];
	struct push_label labels[PUSH_LABELS_MOST];
	struct push_part part = { .name = name, .profile = profile, .labels = labels,
				  .nlabels = label(p, service, in, labels) };

	name_file(service, profile, name);
	name_types(profile);
	profile_meta(profile)->title = profile_string(profile, service);
	tell_frequency(p, profile);
	/* Each of them is taken; servers refuse a period of 0. */
	if (!m->frequency && !m->period)
		profile_meta(profile)->period = 1;
	if (p->setup.is_time && m->frequency &&
	    profile_view(profile).types[0].words->role == PROFILE_SAMPLES)
		profile_derive(profile, 0, "cpu", "nanoseconds", SECOND / m->frequency);
	add_part(p, &part);
}

/* The types from @type on that are of one way of measuring; 0: what is derived from others. */
static uint32_t types_of_source(const struct profile_view *v, uint32_t type)
{
	const char *event = v->types[type].words->event;
	uint32_t n = 0;

	for (; type + n < v->ntypes; n++) {
		const struct profile_type_words *w = v->types[type + n].words;

		if (w->role == PROFILE_CPU_TIME || !w->event != !event ||
		    (event && strcmp(w->event, event)))
			break;
	}
	return n;
}

/* The window of one service. */
static void send_service(struct push *p, const struct profile *profile, uint32_t service,
			 const struct service_place *in)
{
	const struct profile_view v = profile_view(profile);
	struct increment_choice choice = { .groups = services_of(p->services), .group = service };

	for (; choice.type < v.ntypes; choice.type += choice.ntypes ? choice.ntypes : 1) {
		struct profile *part = NULL;

		choice.ntypes = types_of_source(&v, choice.type);
		if (choice.ntypes)
			part = increment_part(p->increment, profile, &choice);
		for (uint32_t t = 0; part && t < choice.ntypes; t++)
			p->sent.v[choice.type + t] += profile_view(part).types[t].total;
		if (part)
			send_part(p, services_text(p->services, service), in, part);
		profile_free(part);
	}
}

void push_send(struct push *p, const struct profile *profile)
{
	size_t n = increment_total(p->increment) ? services_count(p->services) : 0;
	unsigned char *ran = xcalloc(profile_view(profile).nprocesses + 1, 1);

	while (p->sent.n < profile_view(profile).ntypes)
		vec_push(&p->sent, 0);
	increment_processes(p->increment, profile, ran);
	for (uint32_t i = 1; i < n; i++) {
		const struct service_place in = services_place(p->services, i, ran);

		send_service(p, profile, i, &in);
	}
	free(ran);
	for (size_t i = 0; i < p->places.n; i++)
		place_flush(p->places.v[i]);
	increment_clear(p->increment);
	p->taken = 0;
}

int push_has_all(const struct push *p, const struct profile *profile)
{
	return !p->taken && increment_has_all(p->increment, profile);
}

void push_renew(struct push *p, const struct profile *old, const struct profile *profile)
{
	const struct profile_view v = profile_view(old);

	/* Nothing is left of it. */
	for (size_t t = 0; t < p->sent.n && t < v.ntypes; t++)
		p->sent.v[t] -= v.types[t].total;
	increment_renew(p->increment);
	services_renew(p->services, old, profile);
	p->folded = 0;
}

void push_fold(struct push *p, const struct profile *profile)
{
	uint64_t times = profile_folded(profile).times;

	if (times != p->folded)
		services_fold(p->services, profile);
	p->folded = times;
}

int push_adds_up(const struct push *p, const struct profile *profile)
{
	const struct profile_view v = profile_view(profile);
	size_t wrong = 0;

	for (size_t t = 0; t < v.ntypes; t++) {
		const struct profile_type_words *w = v.types[t].words;

		if (w->role != PROFILE_CPU_TIME && w->measure != PROFILE_LEVEL)
			wrong += p->sent.v[t] != v.types[t].total;
	}
	return !wrong;
}

void push_finish(struct push *p)
{
	for (size_t i = 0; i < p->places.n; i++)
		place_finish(p->places.v[i]);
}

struct push_counts push_counts(const struct push *p)
{
	struct push_counts c = { .windows = p->windows, .samples = p->samples };

	for (size_t i = 0; i < p->places.n; i++) {
		const struct place_counts one = place_counts(p->places.v[i]);

		c.files += one.files;
		c.bytes += one.bytes;
		c.failed += one.failed;
		c.failed_samples += one.failed_samples;
	}
	return c;
}
