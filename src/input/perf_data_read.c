/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "elf/image.h"
#include "input/perf_data.h"
#include "input/perf_data_events.h"
#include "input/perf_data_frames.h"
#include "input/perf_data_sample.h"
#include "input/perf_script_events.h"
#include "input/readers.h"
#include "unwind/result.h"

struct reader {
	struct perf_data *d;
	struct profile *p;
	struct perf_script_events events;
	struct perf_data_frames frames;
	uint64_t lost, lost_samples, damaged;
};

/* --- Samples. ------------------------------------------------------------------- */
static struct perf_script_header header_of(const struct reader *r,
					   const struct perf_data_sample *s)
{
	const struct perf_data_event *e = &r->d->file.events.v[s->event];
	uint64_t fixed = e->attr.freq ? 0 : e->attr.sample_period;

	return (struct perf_script_header){
		.event = e->name,
		.time = s->time,
		.period = s->period ? s->period : fixed,
		.has_pid = 1,
		.has_time = (e->attr.sample_type & PERF_SAMPLE_TIME) != 0,
		.has_period = s->period || fixed,
	};
}

static void add_sample(struct reader *r, const struct perf_data_record *record)
{
	struct perf_data *d = r->d;
	struct perf_data_sample s;
	struct perf_script_header h;
	uint32_t sample, event, thread;

	if (perf_data_sample(&d->file, record->at, &s))
		return;
	h = header_of(r, &s);
	thread = perf_data_thread(&d->tasks, s.pid, s.tid);
	sample = room_sample(&d->room, thread, perf_data_frames_node(&r->frames, &s, record->at),
			     0);
	event = perf_script_events_count(&r->events, r->p, sample, &h);
	if (event == 0 && r->events.all_have_time && room_take(&d->room, 1))
		profile_tick(r->p, &(struct tick){ .time = h.time - r->events.begin,
						   .value = 1,
						   .sample = sample,
						   .cpu = s.cpu });
	d->samples++;
	d->copied += s.stack != NULL;
}

/* What was lost is said by the kernel's buffer, or by the event's own counter. */
static void add_lost(struct reader *r, const uint8_t *at)
{
	const struct perf_event_header h = perf_data_head(at);
	int by_event = h.type == PERF_RECORD_LOST_SAMPLES;
	const uint8_t *n = perf_data_at((struct slice){ (const char *)at, h.size },
					sizeof(h) + (by_event ? 0 : 8), 8);
	uint64_t *to = by_event ? &r->lost_samples : &r->lost;

	if (n && __builtin_add_overflow(*to, load64(n), to))
		*to = UINT64_MAX;
}

/* Takes note of the sample in @record, if it is one. */
static void survey_sample(struct reader *r, const struct perf_data_record *record, int event)
{
	struct perf_data_sample s;
	struct perf_script_header h;

	if (perf_data_head(record->at).type != PERF_RECORD_SAMPLE)
		return;
	if (perf_data_sample(&r->d->file, record->at, &s)) {
		r->damaged++;
		return;
	}
	if (event >= 0 && s.event != (uint32_t)event)
		return;
	h = header_of(r, &s);
	perf_script_events_survey(&r->events, &h);
}

/* Events get their numbers in the order in which they were asked for, not of their samples. */
static void survey(struct reader *r)
{
	const struct perf_data_file *f = &r->d->file;
	int several = f->events.n > 1 && f->events.n <= PERF_SCRIPT_EVENTS_MAX;

	for (int event = 0; several && event < (int)f->events.n; event++)
		for (size_t i = 0; i < f->records.n; i++)
			survey_sample(r, &f->records.v[i], event);
	for (size_t i = 0; i < f->records.n && !several; i++)
		survey_sample(r, &f->records.v[i], -1);
}

static int add_records(struct reader *r, struct error *e)
{
	const struct perf_data_file *f = &r->d->file;

	for (uint32_t i = 0; i < f->records.n; i++)
		if (perf_data_head(f->records.v[i].at).type == PERF_DATA_DEFERRED)
			perf_data_frames_defer(&r->frames, i);
	for (size_t i = 0; i < f->records.n && room_take(&r->d->room, 0); i++) {
		const struct perf_data_record *record = &f->records.v[i];
		uint32_t type = perf_data_head(record->at).type;

		if (type == PERF_RECORD_SAMPLE)
			add_sample(r, record);
		else if (type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES)
			add_lost(r, record->at);
		else
			perf_data_tasks_take(&r->d->tasks, record);
	}
	if (!room_take(&r->d->room, 0))
		return error_set(e, STATUS_ERROR, -E2BIG,
				 "there are too many different frames, threads and samples");
	return 0;
}

static void account(struct reader *r)
{
	struct profile_account *a = profile_account(r->p);
	uint64_t lost = r->lost > r->lost_samples ? r->lost : r->lost_samples;

	r->d->left = r->frames.left;
	for (int i = 0; i < EBP_RESULTS; i++)
		r->d->cut += i == EBP_COMPLETE ? 0 : r->frames.results[i];
	if (r->events.names.entries.n > 1)
		return;
	for (int i = 0; i < EBP_RESULTS; i++)
		if (i != EBP_COMPLETE && r->frames.results[i])
			a->truncated[a->ntruncated++] = (struct profile_reason){
				unwind_result_name(i), r->frames.results[i]
			};
	a->kept = r->d->samples;
	if (__builtin_add_overflow(a->kept, lost, &a->taken))
		a->taken = a->kept;
	else if (lost)
		a->lost[a->nlost++] = (struct profile_reason){ "perf's buffer was full", lost };
}

static int fill(struct reader *r, struct error *e)
{
	struct perf_data *d = r->d;
	int err;

	perf_data_name_events(&d->file);
	survey(r);
	if (!r->events.samples && *d->file.damage.text) {
		*e = d->file.damage;
		return -EBADMSG;
	}
	if (!r->events.samples)
		return error_set(e, STATUS_ERROR, r->damaged ? -EBADMSG : -ENODATA,
				 r->damaged ? "damaged: its samples are too short"
					    : "there are no samples in it");
	perf_script_events_describe(&r->events, r->p);
	perf_data_describe(&d->file, r->p, r->events.begin, r->events.end);
	r->frames.kernel_module = profile_module(r->p, frame_kinds[FRAME_KERNEL].module,
					  "[kernel.kallsyms]", "");
	err = add_records(r, e);
	if (err)
		return err;
	profile_finish_ticks(r->p);
	account(r);
	return 0;
}

int perf_data_parse(struct perf_data *d, struct profile *p, struct images *images,
		    const char *bytes, size_t n, struct error *e)
{
	struct reader r = { .d = d, .p = p, .frames = { .d = d, .p = p } };
	int err;

	*d = (struct perf_data){ .room = { .profile = p } };
	err = perf_data_file_open(&d->file, bytes, n, e);
	perf_data_tasks_init(&d->tasks, &d->file, &d->room);
	perf_data_images_init(&d->images, &d->tasks, images);
	r.frames.images = images ? &d->images : NULL;
	if (!err)
		err = fill(&r, e);
	perf_script_events_free(&r.events);
	perf_data_frames_free(&r.frames);
	return err;
}

void perf_data_free(struct perf_data *d)
{
	perf_data_images_free(&d->images);
	perf_data_tasks_free(&d->tasks);
	vec_free(&d->places);
	vec_free(&d->made);
	perf_data_file_free(&d->file);
}

int perf_data_looks(const char *bytes, size_t n)
{
	return n >= 8 && (!memcmp(bytes, PERF_DATA_MAGIC, 8) ||
			  !memcmp(bytes, PERF_DATA_MAGIC_SWAPPED, 8));
}

int perf_data_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		   struct error *e)
{
	struct images *images = images_new();
	struct perf_data d;
	int err = perf_data_parse(&d, p, images, bytes, n, e);

	if (!err)
		notes->damage = d.file.damage;
	notes->copied = d.copied;
	notes->copies_cut = d.cut;
	notes->copies_left = d.left;
	if (!err)
		err = perf_data_name(&d, e);
	notes->missing = d.missing;
	if (d.missing)
		text_clean(notes->first_missing, sizeof(notes->first_missing),
			   profile_text(p, profile_view(p).modules[d.tasks.images.v[d.first_missing]
									   .module]
						   .path));
	perf_data_free(&d);
	images_free(images);
	return err;
}
