/* SPDX-License-Identifier: MIT */
#include "sources/page_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/xalloc.h"

const struct event page_faults_event = {
	.name = "page-faults",
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
	.also = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};

struct source *page_faults_new(uint64_t period)
{
	struct page_faults *f = xcalloc(1, sizeof(*f));

	f->source.ops = &page_faults_ops;
	f->period = period;
	f->page = (uint64_t)sysconf(_SC_PAGESIZE);
	f->part = (struct event_part){ .event = &page_faults_event, .period = period };
	return &f->source;
}

/*
 * Bytes are what is looked at: memory that is there now, and was not before. But times are those of
 * faults.
 */
static void begin(struct source *source, struct source_host *host)
{
	struct page_faults *f = (struct page_faults *)source;
	struct profile_meta *m = profile_meta(host->profile);

	if (!*m->event) {
		snprintf(m->event, sizeof(m->event), "%s", page_faults_event.name);
		m->period = f->period;
	}
	f->faults = source_type(source, "page_faults", "count");
	f->space = source_type(source, "fault_space", "bytes");
	if (!f->faults && !host->timeline)
		profile_show(host->profile, f->space);
}

static int count(struct source *source, const struct source_count *c)
{
	struct page_faults *f = (struct page_faults *)source;
	const struct source_host *host = source->host;
	const struct ebp_key *key = c->key;
	uint64_t faults = c->count.n * f->period;
	uint32_t sample;

	if (key->kind != EBP_PAGE_FAULT)
		return 0;
	sample = host->sample(host->ctx, key, c->time);
	source_add(source, sample, f->faults, faults);
	source_add(source, sample, f->space, faults * (key->class ? key->class : f->page));
	f->sized += key->class ? c->count.n : 0;
	host->kept(host->ctx, sample, c->count.n);
	source_tick(source, c, sample, f->period, 0);
	return 1;
}

static void add_summary(const struct source *source, struct summary *rows)
{
	const struct page_faults *f = (const struct page_faults *)source;
	struct profile_view v = profile_view(source->host->profile);
	uint64_t faults = v.types[f->faults].total, bytes = v.types[f->space].total;

	summary_line(rows, SUMMARY_RESULT);
	summary_row(rows, "fault_bytes", (double)bytes, "%.2f MiB",
		    (double)bytes / (1 << 20));
	summary_row(rows, "page_faults", (double)faults, " in %llu page fault%s",
		    (unsigned long long)faults, text_s(faults));
	if (v.account->taken && !f->sized)
		summary_text(rows, "; all of them taken for small pages, for Linux before 6.3 "
			     "does not tell huge ones");
}

static const struct event *event_of(const struct source *source)
{
	(void)source;
	return &page_faults_event;
}

static void release(struct source *source)
{
	free(source);
}

const struct source_ops page_faults_ops = {
	.name = "page faults",
	.renews = 1,
	.kernel = &page_faults_kernel,
	.check = page_faults_check,
	.choose = page_faults_choose,
	.event = event_of,
	.begin = begin,
	.count = count,
	.summary = add_summary,
	.free = release,
};
