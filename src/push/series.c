/* SPDX-License-Identifier: MIT */
/*
 * Series of pprof's profiles, each with the labels that it is known by:
 *
 * - Pyroscope's PushRequest (api/push/v1/push.proto of github.com/grafana/pyroscope);
 * - Parca's WriteRawRequest (parca/profilestore/v1alpha1/profilestore.proto of
 *   github.com/parca-dev/parca), as the one frame of a gRPC-Web request.
 *
 * Both want the name of the profile as the label __name__, and names of labels as Prometheus has
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "base/protobuf.h"
#include "base/xalloc.h"
#include "push/body.h"
#include "push/gzip.h"

#define NAME "__name__"
#define CPU "process_cpu"	/* how both call samples of CPU time */
#define LABEL_NAME 128		/* bytes of a label's name */
#define FRAME_HEAD 5		/* of gRPC: a byte of flags, four of length, the highest first */
#define FRAME_COMPRESSED 1	/* a flag */

enum { LABEL_KEY = 1, LABEL_VALUE = 2 };	/* Label, LabelPair */
#define RAW_PROFILE 1				/* RawSample */

/* Where things are in the two requests. */
struct series_fields {
	uint32_t series, labels, samples;
	uint32_t label_set;	/* the field of a message of labels; 0: they are there themselves */
	const char *host;	/* the name of the label for PUSH_HOST */
};

static const struct series_fields pyroscope = { 1, 1, 2, 0, "host_name" };
/* By the label "node" it lists who sends. */
static const struct series_fields parca = { 2, 1, 2, 1, "node" };

static void *begin(void)
{
	return xcalloc(1, sizeof(struct protobuf));
}

static size_t size(const void *body)
{
	return ((const struct protobuf *)body)->n;
}

/* A letter or an underscore, then digits, too. */
static void label_name(const char *key, char name[LABEL_NAME])
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t n = 0;

	if (strchr("0123456789", *key))
		name[n++] = '_';
	for (; *key && n < LABEL_NAME - 1; key++)
		name[n++] = strchr(good, *key) || strchr("0123456789", *key) ? *key : '_';
	name[n] = '\0';
}

static void add_label(struct protobuf *b, uint32_t field, const char *name, const char *value)
{
	size_t label = protobuf_open(b, field);

	protobuf_bytes(b, LABEL_KEY, name, strlen(name));
	protobuf_bytes(b, LABEL_VALUE, value, strlen(value));
	protobuf_close(b, label);
}

/* The event of what is not CPU time: "off_cpu"; such a name cannot have all letters either. */
static void profile_name(const struct profile *p, char name[LABEL_NAME])
{
	const struct profile_view v = profile_view(p);
	const char *series = profile_event_words(v.meta->event)->series;
	const char *event = *v.meta->event ? v.meta->event : "samples";

	for (size_t i = 0; i < v.ntypes; i++)
		if (v.types[i].words->role == PROFILE_CPU_TIME)
			series = CPU;
	label_name(series ? series : event, name);
}

static void add_series(struct protobuf *b, const struct series_fields *f,
		       const struct push_part *part)
{
	size_t series = protobuf_open(b, f->series), set = 0, sample;
	uint32_t field = f->label_set ? f->label_set : f->labels;
	char name[LABEL_NAME];

	if (f->label_set)
		set = protobuf_open(b, f->labels);
	profile_name(part->profile, name);
	add_label(b, field, NAME, name);
	for (size_t i = 0; i < part->nlabels; i++) {
		const struct push_label *l = &part->labels[i];

		if (strcmp(l->key, PUSH_HOST))
			label_name(l->key, name);
		else
			snprintf(name, sizeof(name), "%s", f->host);
		add_label(b, field, name, l->value);
	}
	if (f->label_set)
		protobuf_close(b, set);
	sample = protobuf_open(b, f->samples);
	protobuf_bytes(b, RAW_PROFILE, part->pprof->v, part->pprof->n);
	protobuf_close(b, sample);
	protobuf_close(b, series);
}

static void end(struct protobuf *b, struct outfile *f)
{
	if (f)
		protobuf_flush(b, f);
	protobuf_free(b);
	free(b);
}

/* --- Pyroscope. ------------------------------------------------------------------- */

/* All of the request is compressed, which is less than each profile by itself. */
static void pyroscope_add(void *body, const struct push_part *part)
{
	add_series(body, &pyroscope, part);
}

static void pyroscope_end(void *body, struct outfile *f)
{
	end(body, f);
}

const struct body_ops body_pyroscope = {
	"pyroscope", begin, pyroscope_add, size, pyroscope_end
};

/* --- Parca. ------------------------------------------------------------------------ */

static void parca_add(void *body, const struct push_part *part)
{
	add_series(body, &parca, part);
}

/*
 * Compressed as gRPC does it, in the frame. Parca takes that, and profiles that are not compressed
 * themselves, since 0.17.
 */
static void parca_end(void *body, struct outfile *f)
{
	const struct protobuf *b = body;
	struct outfile_bytes packed = { 0 };

	if (f) {
		gzip_pack(b->v, b->n, &packed);
		outfile_write(f,
			      (const unsigned char[FRAME_HEAD]){
				      FRAME_COMPRESSED, (unsigned char)(packed.n >> 24),
				      (unsigned char)(packed.n >> 16),
				      (unsigned char)(packed.n >> 8), (unsigned char)packed.n },
			      FRAME_HEAD);
		outfile_write(f, packed.v, packed.n);
	}
	vec_free(&packed);
	end(body, NULL);
}

const struct body_ops body_parca = { "parca", begin, parca_add, size, parca_end };
