/* SPDX-License-Identifier: MIT */
#include "push/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/text.h"
#include "output/output.h"
#include "profile/increment.h"
#include "push/service.h"

#define SECOND 1000000000ull
#define FORMAT "pprof"
#define DIR "dir:"

struct push {
	struct push_setup setup;
	folder_vec folders;
	VEC(int) failing;		/* by folder: the error of the last file, which was said */
	struct services *services;
	struct increment *increment;
	uint64_t folded;		/* how often the profile was, when we were told */
	int taken;
	struct push_counts counts;
};

static int open_folder(struct push *p, const char *to, struct error *e)
{
	const struct push_options *o = p->setup.options;
	const struct folder_options options = { o->keep_for, o->keep_bytes };
	struct folder *f;

	if (!strncmp(to, DIR, strlen(DIR)))
		to += strlen(DIR);
	else if (strstr(to, "://"))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--to '%.200s': only folders are known: --to dir:PATH", to);
	f = folder_open(to, p->setup.user, &options, e);
	if (!f)
		return -EIO;
	vec_push(&p->folders, f);
	vec_push(&p->failing, 0);
	return 0;
}

struct push *push_new(const struct push_setup *setup, struct error *e)
{
	struct push *p = xcalloc(1, sizeof(*p));
	int err = 0;

	p->setup = *setup;
	p->services = services_new();
	p->increment = increment_new();
	for (size_t i = 0; i < setup->options->to.n && !err; i++)
		err = open_folder(p, setup->options->to.v[i], e);
	if (!err)
		return p;
	push_free(p);
	return NULL;
}

void push_free(struct push *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->folders.n; i++)
		folder_free(p->folders.v[i]);
	vec_free(&p->folders);
	vec_free(&p->failing);
	services_free(p->services);
	increment_free(p->increment);
	free(p);
}

const folder_vec *push_folders(const struct push *p)
{
	return &p->folders;
}

void push_look(struct push *p, const struct profile *profile)
{
	services_look(p->services, profile);
}

void push_take(struct push *p, const struct profile *profile)
{
	services_settle(p->services, profile);
	increment_take(p->increment, profile);
	p->counts.windows++;
	p->counts.samples += increment_total(p->increment);
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

/* Says what changed: a folder that is full would fill the journal, too. */
static void tell(struct push *p, size_t folder, int err)
{
	char path[512];

	if (err == p->failing.v[folder])
		return;
	p->failing.v[folder] = err;
	text_clean(path, sizeof(path), folder_path(p->folders.v[folder]));
	fprintf(stderr, err ? "ebprof: cannot write to %s: %s; samples are dropped there\n"
			    : "ebprof: can write to %s again\n", path, strerror(-err));
}

static void write_part(struct push *p, const char *service, struct profile *part)
{
	const struct output_options options = { 0 };
	const struct profile_meta *m = profile_meta(part);
	uint64_t n = profile_view(part).total;
	struct outfile_bytes bytes = { 0 };
	struct outfile *f = outfile_memory(&bytes);

	profile_meta(part)->title = profile_string(part, service);
	if (p->setup.is_time && m->frequency)
		profile_derive(part, 0, "cpu", "nanoseconds", SECOND / m->frequency);
	output_write(output_by_name(FORMAT), part, &options, f, NULL);
	outfile_commit(f, NULL);
	for (size_t i = 0; i < p->folders.n; i++) {
		int err = folder_write(p->folders.v[i], service, m->start, bytes.v, bytes.n);

		tell(p, i, err);
		p->counts.files += !err;
		p->counts.bytes += err ? 0 : bytes.n;
		p->counts.failed += err != 0;
		p->counts.failed_samples += err ? n : 0;
	}
	vec_free(&bytes);
}

void push_send(struct push *p, const struct profile *profile)
{
	size_t n = increment_total(p->increment) ? services_count(p->services) : 0;

	for (uint32_t i = 1; i < n; i++) {
		struct profile *part = increment_part(p->increment, profile,
						      services_of(p->services), i);

		if (part)
			write_part(p, services_text(p->services, i), part);
		profile_free(part);
	}
	increment_clear(p->increment);
	p->taken = 0;
}

void push_fold(struct push *p, const struct profile *profile)
{
	uint64_t times = profile_folded(profile).times;

	if (times != p->folded)
		services_fold(p->services, profile);
	p->folded = times;
}

struct push_counts push_counts(const struct push *p)
{
	return p->counts;
}
