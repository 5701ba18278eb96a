/* SPDX-License-Identifier: MIT */
/*
 * pprof's profiles (profile.proto): ours, which come back as they were (profile/pprof.h),
 * and those of Go's runtime and of many other tools, whose samples have a thread and a process
 * where their labels name them (thread, tid, process or comm, pid). drop_frames is not heeded.
 */
#include <errno.h>
#include <string.h>

#include "base/protobuf.h"
#include "base/text.h"
#include "input/pprof_tables.h"
#include "input/readers.h"
#include "profile/pprof.h"
#include "profile/timeline.h"

#define TYPES_MAX 64
#define DEPTH_MAX (1u << 20)
#define LOOKED_AT 8		/* fields */
#define SECOND 1000000000u

/* What is known of the samples that come. */
struct reader {
	/* the first member: what pprof_each() calls gets this one */
	struct pprof_tables t;
	uint32_t default_comm;		/* string: of a process that no label names */
	/* strings */
	uint32_t thread_key, tid_key, process_key, comm_key, pid_key, incarnation_key;
	uint32_t ntypes;
	/* Scratch, used again. */
	VEC(uint64_t) locations;
	VEC(struct label) labels;
	VEC(uint32_t) samples;		/* of the profile, in the file's order */
	struct cursor timeline;		/* packed */
	uint64_t values[TYPES_MAX];
};

static struct reader *reader_of(struct pprof_tables *t)
{
	return (struct reader *)t;
}

/*
 * There is no magic number. Text has no run of fields with known numbers of the right types; and a
 * letter may be the tag of a number, but a profile has messages or strings, too.
 */
int pprof_looks(const char *bytes, size_t n)
{
	static const uint8_t wires[PPROF_FIELDS] = {
		[PPROF_SAMPLE_TYPE] = 1 << PROTOBUF_BYTES,
		[PPROF_SAMPLE] = 1 << PROTOBUF_BYTES,
		[PPROF_MAPPING] = 1 << PROTOBUF_BYTES,
		[PPROF_LOCATION] = 1 << PROTOBUF_BYTES,
		[PPROF_FUNCTION] = 1 << PROTOBUF_BYTES,
		[PPROF_STRING] = 1 << PROTOBUF_BYTES,
		/* drop_frames, keep_frames */
		[7] = 1 << PROTOBUF_VARINT,
		[8] = 1 << PROTOBUF_VARINT,
		[PPROF_TIME] = 1 << PROTOBUF_VARINT,
		[PPROF_DURATION] = 1 << PROTOBUF_VARINT,
		[PPROF_PERIOD_TYPE] = 1 << PROTOBUF_BYTES,
		[PPROF_PERIOD] = 1 << PROTOBUF_VARINT,
		[PPROF_COMMENT] = 1 << PROTOBUF_VARINT | 1 << PROTOBUF_BYTES,
		[PPROF_DEFAULT_TYPE] = 1 << PROTOBUF_VARINT,
		[15] = 1 << PROTOBUF_VARINT, /* doc_url */
	};
	struct cursor c = { .p = (const uint8_t *)bytes, .end = (const uint8_t *)bytes + n };
	struct protobuf_field f;
	int fields = 0, bytes_fields = 0;

	while (fields < LOOKED_AT && protobuf_next(&c, &f)) {
		if (f.number < PPROF_FIELDS && !(wires[f.number] >> f.wire & 1))
			return 0;
		bytes_fields += f.wire == PROTOBUF_BYTES;
		fields++;
	}
	return bytes_fields && !c.bad;
}

/* --- What describes it as a whole. ----------------------------------------------- */

static void take_type(struct pprof_tables *t, struct cursor message)
{
	struct reader *r = reader_of(t);
	struct pprof_numbers n = pprof_numbers(t, message);
	const char *name = profile_text(t->p, pprof_string(t, n.v[PPROF_TYPE_NAME]));
	const char *unit = profile_text(t->p, pprof_string(t, n.v[PPROF_TYPE_UNIT]));

	if (r->ntypes == TYPES_MAX)
		pprof_wrong(t, -EFBIG, "too many types of values");
	else if (!r->ntypes++)
		profile_set_type(t->p, 0, name, unit);
	else
		profile_add_type(t->p, name, unit);
}

static void take_period_type(struct pprof_tables *t, struct cursor message)
{
	struct profile_meta *m = profile_meta(t->p);
	struct pprof_numbers n = pprof_numbers(t, message);
	const char *unit = profile_text(t->p, pprof_string(t, n.v[PPROF_TYPE_UNIT]));

	text_clean(m->event, sizeof(m->event),
		   profile_text(t->p, pprof_string(t, n.v[PPROF_TYPE_NAME])));
	if (m->period && m->period <= SECOND && profile_unit_of(unit) == PROFILE_NANOSECONDS) {
		m->frequency = (SECOND + m->period / 2) / m->period;
		m->period = 0;
	}
}

static uint64_t positive(uint64_t n)
{
	return n <= INT64_MAX ? n : 0;
}

static void take_comments(struct pprof_tables *t)
{
	struct cursor c = t->file;
	struct protobuf_field f;
	uint64_t index;

	while (!t->wrong && protobuf_next(&c, &f)) {
		while (f.number == PPROF_COMMENT && protobuf_each(&c, &f, &index) &&
		       pprof_room(t, 1)) {
			const char *text = profile_text(t->p, pprof_string(t, index));

			if (pprof_take_comment(t->p, text))
				t->ours = 1;
			else if (*text && pprof_room(t, strlen(text) / ROOM_TEXT))
				profile_comment(t->p, text);
		}
	}
}

static void take_description(struct pprof_tables *t)
{
	struct profile_meta *m = profile_meta(t->p);
	struct pprof_numbers n = pprof_numbers(t, t->file);
	const struct profile_type *types;
	uint32_t shown;

	m->start = positive(n.v[PPROF_TIME]);
	m->duration = positive(n.v[PPROF_DURATION]);
	pprof_each(t, PPROF_SAMPLE_TYPE, take_type);
	shown = pprof_string(t, n.v[PPROF_DEFAULT_TYPE]);
	types = profile_view(t->p).types;
	/* The last one where none of this name is found, as pprof does. */
	for (uint32_t i = (uint32_t)profile_view(t->p).ntypes; i-- > 0;)
		if (i + 1 == profile_view(t->p).ntypes || (shown && types[i].name == shown))
			profile_show(t->p, i);
	take_comments(t);
	/* Ours says it more precisely in comments. */
	if (!t->ours) {
		m->period = positive(n.v[PPROF_PERIOD]);
		pprof_each(t, PPROF_PERIOD_TYPE, take_period_type);
	}
}

/* --- Samples. ---------------------------------------------------------------------- */

struct owner {
	uint32_t thread, process, comm;		/* strings; 0: not told */
	uint64_t tid, pid, incarnation;
	uint32_t numbers;			/* which of them are told, bits as below */
};

enum { HAS_TID = 1, HAS_PID = 2, HAS_INCARNATION = 4 };

static int take_text(uint32_t *to, uint32_t text)
{
	if (*to || !text)
		return 0;
	*to = text;
	return 1;
}

static int take_number(struct owner *o, uint32_t which, uint64_t *to, const struct label *l)
{
	if (o->numbers & which || l->text || l->unit || l->number < 0 || l->number > INT32_MAX)
		return 0;
	/* A TID or PID of 0 is none: another may come. */
	if (l->number || which == HAS_INCARNATION)
		o->numbers |= which;
	*to = (uint64_t)l->number;
	return 1;
}

/* 1 where @l tells of the thread or process. */
static int take_owner(const struct reader *r, struct owner *o, const struct label *l)
{
	if (l->key == r->thread_key)
		return take_text(&o->thread, l->text);
	if (l->key == r->process_key)
		return take_text(&o->process, l->text);
	if (l->key == r->comm_key && !r->t.ours)
		return take_text(&o->comm, l->text);
	if (l->key == r->tid_key)
		return take_number(o, HAS_TID, &o->tid, l);
	if (l->key == r->pid_key)
		return take_number(o, HAS_PID, &o->pid, l);
	if (l->key == r->incarnation_key && r->t.ours)
		return take_number(o, HAS_INCARNATION, &o->incarnation, l);
	return 0;
}

static uint32_t thread_of(struct reader *r, const struct owner *o)
{
	uint32_t comm = o->process ? o->process : o->comm ? o->comm : r->default_comm;
	/*
	 * Where nothing tells programs of one pid apart but their names, these do: any number will
	 * do.
	 */
	uint32_t incarnation = o->numbers & HAS_INCARNATION ? (uint32_t)o->incarnation : comm;
	uint32_t process = profile_process(r->t.p, (pid_t)o->pid, incarnation, comm);

	return room_thread(&r->t.room, process, (pid_t)o->tid,
			   o->thread || r->t.ours ? o->thread : comm);
}

static void take_label(struct reader *r, struct owner *o, struct cursor message)
{
	struct pprof_numbers n = pprof_numbers(&r->t, message);
	struct label l = { .key = pprof_string(&r->t, n.v[PPROF_LABEL_KEY]),
			   .text = pprof_string(&r->t, n.v[PPROF_LABEL_TEXT]) };

	if (!l.text) {
		l.unit = pprof_string(&r->t, n.v[PPROF_LABEL_UNIT]);
		l.number = (int64_t)n.v[PPROF_LABEL_NUMBER];
	}
	if (!take_owner(r, o, &l) && pprof_room(&r->t, 1))
		vec_push(&r->labels, l);
}

/* The stack's node. The file has the leaf first. */
static uint32_t node_of(struct reader *r)
{
	uint32_t node = 0;

	for (size_t i = r->locations.n; i-- > 0 && pprof_room(&r->t, 0);) {
		uint32_t location = pprof_location(&r->t, r->locations.v[i]);

		if (location != PROFILE_NONE)
			node = room_node(&r->t.room, node, location);
	}
	return node;
}

static void add_sample(struct reader *r, const struct owner *o)
{
	struct pprof_tables *t = &r->t;
	uint32_t node = node_of(r), sample;

	if (t->wrong)
		return;
	sample = profile_sample(t->p, thread_of(r, o), node,
				profile_labels(t->p, r->labels.v, r->labels.n));
	for (uint32_t i = 0; i < r->ntypes; i++)
		profile_count(t->p, sample, i, r->values[i]);
	vec_push(&r->samples, sample);
}

static void add_frame(struct reader *r, uint64_t location)
{
	if (r->locations.n == DEPTH_MAX)
		pprof_wrong(&r->t, -EFBIG, "a stack is too deep");
	else
		vec_push(&r->locations, location);
}

static void take_sample(struct pprof_tables *t, struct cursor message)
{
	struct reader *r = reader_of(t);
	struct protobuf_field f;
	struct owner owner = { 0 };
	uint64_t value;
	uint32_t n = 0;

	r->locations.n = r->labels.n = 0;
	while (!t->wrong && protobuf_next(&message, &f)) {
		if (f.number == PPROF_SAMPLE_LABEL && f.wire == PROTOBUF_BYTES)
			take_label(r, &owner, f.bytes);
		if (f.number == PPROF_SAMPLE_TIMELINE && f.wire == PROTOBUF_BYTES && t->ours)
			r->timeline = f.bytes;
		while (f.number == PPROF_SAMPLE_LOCATION && !t->wrong &&
		       protobuf_each(&message, &f, &value))
			add_frame(r, value);
		while (f.number == PPROF_SAMPLE_VALUE && protobuf_each(&message, &f, &value)) {
			if (value > INT64_MAX)
				pprof_wrong(t, -ENOTSUP,
					    "negative values, as of a difference, which cannot be "
					    "shown");
			if (n < r->ntypes)
				r->values[n] = value;
			n++;
		}
	}
	if (message.bad)
		pprof_wrong(t, -EBADMSG, "a sample is damaged");
	if (n != r->ntypes)
		pprof_wrong(t, -EBADMSG, "a sample has not one value of each type");
	if (pprof_room(t, 1 + r->ntypes / 2))
		add_sample(r, &owner);
}

static void take_samples(struct reader *r)
{
	struct profile *p = r->t.p;
	uint32_t main_module = r->t.mappings.n ? r->t.mappings.v[0].module : 0;

	r->default_comm = r->t.ours ? 0 : profile_view(p).modules[main_module].name;
	r->thread_key = profile_string(p, PPROF_THREAD);
	r->tid_key = profile_string(p, PPROF_TID);
	r->process_key = profile_string(p, PPROF_PROCESS);
	r->comm_key = profile_string(p, "comm");
	r->pid_key = profile_string(p, PPROF_PID);
	r->incarnation_key = profile_string(p, PPROF_INCARNATION);
	pprof_each(&r->t, PPROF_SAMPLE, take_sample);
}

/* --- Ticks. ---------------------------------------------------------------------------- */

static int take_tick(void *ctx, const struct tick *tick)
{
	struct reader *r = ctx;
	struct tick t = *tick;

	if (t.sample >= r->samples.n) {
		pprof_wrong(&r->t, -EBADMSG, "its timeline is damaged");
		return 0;
	}
	t.sample = r->samples.v[t.sample];
	if (pprof_room(&r->t, 1))
		profile_tick(r->t.p, &t);
	return !r->t.wrong;
}

/* When all samples are there. */
static void take_timeline(struct reader *r)
{
	struct cursor packed = r->timeline;

	if (r->t.wrong || !packed.p)
		return;
	timeline_read(&packed, take_tick, r);
	if (packed.bad)
		pprof_wrong(&r->t, -EBADMSG, "its timeline is damaged");
	profile_finish_ticks(r->t.p);
}

/* Other profiles tell of no losses, and not all of them count samples. */
static void account_of_foreign(struct profile *p)
{
	const struct profile_type type = profile_view(p).types[0];

	if (type.words->role == PROFILE_SAMPLES)
		profile_account(p)->taken = profile_account(p)->kept = type.total;
}

int pprof_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
	       struct error *e)
{
	struct reader r = { 0 };
	int err;

	(void)notes;
	pprof_tables_open(&r.t, p, bytes, n);
	pprof_tables_read_strings(&r.t);
	take_description(&r.t);
	pprof_tables_read(&r.t);
	take_samples(&r);
	take_timeline(&r);
	if (!r.t.ours)
		account_of_foreign(p);
	err = r.t.wrong ? error_set(e, STATUS_ERROR, r.t.err, "pprof profile: %s", r.t.wrong) : 0;
	pprof_tables_free(&r.t);
	vec_free(&r.locations);
	vec_free(&r.labels);
	vec_free(&r.samples);
	return err;
}
