/* SPDX-License-Identifier: MIT */
/*
 * The flame graph page: one HTML file that needs nothing else. Its own text (flamegraph/) is
 * put together when ebprof is built; here the profile goes into its middle:
 *
 *	<script type="application/json" id="profile">	what was measured, and the tables of frames
 *	<script type="text/plain" id="up">		how far each node is above the last
 *	<script type="text/plain" id="label">		the frame of each node
 *	<script type="text/plain" id="self0">		what ended in each node, of the first type
 *	<script type="text/plain" id="self1">		the same of the next type, and so on
 *	<script type="text/plain" id="tick-time">	when samples were taken (html_times.h)
 *	<script type="application/json" id="source-data">	output/html_source.h, if any
 *	<script type="application/json" id="whole">	the profile, for ebprof (output/embedded.h)
 *
 * All but the first and the last are columns of the tree in pre-order, root left out, as
 * output/packed writes them.
 * base/json leaves no "<" in a text, base64 has none: nothing of a profile can end its element.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text_vec.h"
#include "base/vec.h"
#include "output/caption.h"
#include "output/embedded.h"
#include "output/formats.h"
#include "output/html_labels.h"
#include "output/html_live.h"
#include "output/html_page.h"
#include "output/html_source.h"
#include "output/html_times.h"
#include "output/packed.h"
#include "output/palette.h"
#include "profile/diff.h"
#include "profile/latency.h"

#define NS_PER_MS_DIGITS 6

typedef VEC(uint32_t) uint32_vec;

/* --- What was measured. ------------------------------------------------------- */

static void write_reasons(struct json *j, const char *key, const struct profile_reason *reasons,
			  size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++) {
		if (!reasons[i].count)
			continue;
		json_object(j, NULL);
		json_string(j, "reason", reasons[i].name);
		json_uint(j, "count", reasons[i].count);
		json_end(j);
	}
	json_end(j);
}

/* The times of calls, as text: a histogram each. */
static void write_latencies(struct json *j, const struct profile *p)
{
	size_t n;
	const struct latency *all = profile_latencies(p, &n);

	json_array(j, "latencies");
	for (size_t i = 0; i < n; i++) {
		struct summary rows = { 0 };
		struct text_vec text = { 0 };

		latency_summary(profile_text(p, all[i].name), all[i].calls, &rows);
		for (size_t k = 0; k < rows.rows.n; k++) {
			text_vec_add(&text, k && rows.rows.v[k].begins ? "\n" : "");
			text_vec_add(&text, rows.rows.v[k].text);
		}
		json_string(j, NULL, text.v);
		vec_free(&text);
		summary_free(&rows);
	}
	json_end(j);
}

static void write_meta(struct json *j, const struct profile *p)
{
	struct profile_view v = profile_view(p);
	const struct profile_meta *m = v.meta;
	char target[128];

	caption_target(p, target, sizeof(target));
	json_object(j, "meta");
	json_string(j, "title", profile_text(p, m->title));
	json_string(j, "target", target);
	json_string(j, "command", profile_text(p, m->command));
	json_string(j, "host", profile_text(p, m->host));
	json_string(j, "event", m->event);
	json_uint(j, "frequency", m->frequency);
	json_uint(j, "period", m->period);
	json_decimal(j, "start", m->start, NS_PER_MS_DIGITS);
	json_decimal(j, "duration", m->duration, NS_PER_MS_DIGITS);
	json_uint(j, "cpus", m->cpus);
	json_bool(j, "perThread", m->per_thread);
	json_string(j, "version", EBPROF_VERSION);
	json_array(j, "comments");
	for (size_t i = 0; i < v.ncomments; i++)
		json_string(j, NULL, profile_text(p, v.comments[i]));
	json_end(j);
	json_end(j);
	json_object(j, "account");
	json_uint(j, "taken", v.account->taken);
	json_uint(j, "kept", v.account->kept);
	write_reasons(j, "truncated", v.account->truncated, v.account->ntruncated);
	write_reasons(j, "lost", v.account->lost, v.account->nlost);
	json_end(j);
}

/*
 * Nanoseconds that one of @type, samples, stands for, where another type says how much CPU time all
 * are; 0: not known.
 */
static uint64_t time_of_each(const struct profile *p, const struct profile_type *type)
{
	struct profile_view v = profile_view(p);

	for (size_t i = 0; i < v.ntypes && type->total && type->words->role == PROFILE_SAMPLES; i++)
		if (v.types[i].words->role == PROFILE_CPU_TIME)
			return v.types[i].total / type->total;
	return 0;
}

/* Whether @type is the time that samples stand for, which the page tells beside them. */
static int told_by_samples(const struct profile *p, uint32_t type)
{
	struct profile_view v = profile_view(p);
	const uint64_t *times = profile_values(p, type), *samples = profile_values(p, 0);
	uint64_t each = time_of_each(p, &v.types[0]);
	size_t i = 0;

	if (v.types[type].words->role != PROFILE_CPU_TIME || type == v.shown || !each)
		return 0;
	while (i < v.nsamples && times[i] == samples[i] * each)
		i++;
	return i == v.nsamples;
}

/* The types of the profile that the page shows. */
static uint32_vec choose_types(const struct profile *p)
{
	uint32_vec types = { 0 };

	for (uint32_t i = 0; i < profile_view(p).ntypes; i++)
		if (!told_by_samples(p, i))
			vec_push(&types, i);
	return types;
}

static void write_values(struct json *j, const struct profile *p, const struct output_options *o,
			 const uint32_vec *types, size_t nodes)
{
	struct profile_view v = profile_view(p);
	uint32_t shown = o->difference ? DIFF_AFTER : v.shown, place = 0;

	json_array(j, "types");
	for (size_t i = 0; i < types->n; i++) {
		const struct profile_type *type = &v.types[types->v[i]];

		place += types->v[i] < shown;
		json_object(j, NULL);
		json_string(j, "name", profile_text(p, type->name));
		json_string(j, "unit", profile_text(p, type->unit));
		json_uint(j, "total", type->total);
		json_uint(j, "each", time_of_each(p, type));
		json_end(j);
	}
	json_end(j);
	json_uint(j, "shown", place);
	if (o->difference)
		json_double(j, "weight", o->weight);
	json_uint(j, "nodes", nodes);
}

/* --- The tables of frames, each column an array. ----------------------------------- */

/* Texts as numbers of a list that is written at the end: many functions are of one file. */
struct texts {
	const struct profile *p;
	uint32_t *ids;		/* by string of the profile; 0: not in the list */
	size_t nids;
	VEC(uint32_t) list;
};

static uint32_t text_id(struct texts *t, uint32_t string)
{
	if (string >= t->nids) {
		size_t n = (size_t)string * 2 + 64;

		t->ids = xreallocarray(t->ids, n, sizeof(*t->ids));
		memset(t->ids + t->nids, 0, (n - t->nids) * sizeof(*t->ids));
		t->nids = n;
	}
	if (!t->ids[string]) {
		vec_push(&t->list, string);
		t->ids[string] = (uint32_t)t->list.n;
	}
	return t->ids[string] - 1;
}

/* What a function's kind means in the page; its @inlined is what it looks like there. */
static void write_kinds(struct json *j)
{
	json_array(j, "kinds");
	for (size_t i = 0; i < FRAME_KINDS; i++) {
		json_object(j, NULL);
		json_string(j, "family", frame_families[frame_kinds[i].family]);
		json_uint(j, "inlined", frame_kinds[i].inlined);
		json_string(j, "text", frame_kinds[i].text);
		json_end(j);
	}
	json_end(j);
}

/* By the names of KINDS in data.js: [hue, chroma, spread, apart]; of the themes the lightness. */
static void write_palette(struct json *j)
{
	json_object(j, "palette");
	json_array(j, "lightness");
	for (size_t i = 0; i < PALETTE_THEMES; i++)
		json_int(j, NULL, palette_lightness[i]);
	json_end(j);
	json_int(j, "lighter", PALETTE_LIGHTER);
	for (enum palette_group i = 0; i < PALETTE_GROUPS; i++) {
		const struct palette_row *r = &palette_rows[i];

		json_array(j, palette_name(i));
		json_int(j, NULL, r->hue);
		json_int(j, NULL, r->chroma);
		json_int(j, NULL, r->spread);
		json_int(j, NULL, r->apart);
		json_end(j);
	}
	json_end(j);
}

static uint32_t module_string(const struct profile_view *v, const struct html_function *f)
{
	return f->function < v->nfunctions ? v->functions[f->function].module : 0;
}

static void write_functions(struct json *j, const struct html_labels *l,
			    const struct profile_view *v, struct texts *t)
{
	json_object(j, "functions");
	json_array(j, "name");
	for (size_t i = 0; i < l->nfunctions; i++)
		json_string(j, NULL, l->functions[i].name);
	json_end(j);
	json_array(j, "module");
	for (size_t i = 0; i < l->nfunctions; i++)
		json_uint(j, NULL, text_id(t, module_string(v, &l->functions[i])));
	json_end(j);
	json_array(j, "kind");
	for (size_t i = 0; i < l->nfunctions; i++)
		json_uint(j, NULL, l->functions[i].kind);
	json_end(j);
	json_array(j, "inlined");
	for (size_t i = 0; i < l->nfunctions; i++)
		json_uint(j, NULL, l->functions[i].inlined ? 1 : 0);
	json_end(j);
	json_array(j, "file");
	for (size_t i = 0; i < l->nfunctions; i++)
		json_uint(j, NULL, text_id(t, l->functions[i].file));
	json_end(j);
	json_array(j, "line");
	for (size_t i = 0; i < l->nfunctions; i++)
		json_uint(j, NULL, l->functions[i].line);
	json_end(j);
	json_end(j);
}

static void write_threads(struct json *j, const struct html_labels *l)
{
	json_array(j, "threads");
	for (size_t i = 0; i < l->nthreads; i++) {
		json_object(j, NULL);
		json_string(j, "name", l->threads[i].comm);
		json_string(j, "process", l->threads[i].process);
		json_uint(j, "group", l->threads[i].group);
		json_int(j, "pid", l->threads[i].pid);
		json_int(j, "tid", l->threads[i].tid);
		json_end(j);
	}
	json_end(j);
}

static void write_profile(struct outfile *f, const struct profile *p,
			  const struct output_options *o, const struct html_labels *l,
			  const uint32_vec *types, const struct html_times *times, size_t nodes)
{
	struct profile_view v = profile_view(p);
	struct json j = { .f = f };
	struct texts texts = { .p = p };

	text_id(&texts, 0);
	json_object(&j, NULL);
	write_meta(&j, p);
	write_latencies(&j, p);
	write_values(&j, p, o, types, nodes);
	if (times)
		html_times_describe(&j, times);
	write_kinds(&j);
	write_palette(&j);
	write_functions(&j, l, &v, &texts);
	write_threads(&j, l);
	json_array(&j, "texts");
	for (size_t i = 0; i < texts.list.n; i++)
		json_string(&j, NULL, profile_text(p, texts.list.v[i]));
	json_end(&j);
	json_end(&j);
	free(texts.ids);
	vec_free(&texts.list);
}

/* --- The tree. ------------------------------------------------------------------------ */

struct column {
	const struct calltree *tree;
	const uint64_t *self;	/* by node */
	struct packed *packed;
	uint32_t left;		/* nodes, since the last one was entered */
};

static void put_up(void *ctx, const struct calltree_node *n)
{
	struct column *c = ctx;

	(void)n;
	packed_put(c->packed, c->left);
	c->left = 0;
}

static void leave(void *ctx, const struct calltree_node *n)
{
	struct column *c = ctx;

	(void)n;
	c->left++;
}

static void put_label(void *ctx, const struct calltree_node *n)
{
	packed_put(((struct column *)ctx)->packed, n->label);
}

static void put_self(void *ctx, const struct calltree_node *n)
{
	struct column *c = ctx;

	packed_put(c->packed, c->self[n - c->tree->nodes]);
}

static const struct html_frame in_page = {
	"<script type=\"text/plain\" id=\"", "\">", "</script>\n",
};
static const struct html_frame in_object = { ",\"", "\":\"", "\"" };

static void write_column(struct outfile *f, const struct html_frame *frame, const char *id,
			 struct column *c,
			 void (*put)(void *ctx, const struct calltree_node *n))
{
	outfile_printf(f, "%s%s%s", frame->begin, id, frame->middle);
	c->packed = packed_open(f);
	calltree_walk(c->tree, &(struct calltree_walker){ .enter = put, .leave = leave, .ctx = c });
	packed_close(c->packed);
	outfile_printf(f, "%s", frame->end);
}

static void write_tree(struct outfile *f, const struct html_frame *frame,
		       const struct profile *p, const struct calltree *tree,
		       const uint32_vec *types)
{
	write_column(f, frame, "up", &(struct column){ .tree = tree }, put_up);
	write_column(f, frame, "label", &(struct column){ .tree = tree }, put_label);
	for (size_t i = 0; i < types->n; i++) {
		uint64_t *self = calltree_self(tree, p, types->v[i]);
		char id[32];

		snprintf(id, sizeof(id), "self%zu", i);
		write_column(f, frame, id, &(struct column){ .tree = tree, .self = self },
			     put_self);
		free(self);
	}
}

/* By which ebprof reads the page back; the page itself does not look at it. */
static void write_whole(struct outfile *f, const struct profile *p)
{
	struct json j = { .f = f };

	outfile_printf(f, "<script type=\"application/json\" id=\"whole\">");
	json_object(&j, NULL);
	embedded_write(&j, p);
	json_end(&j);
	outfile_printf(f, "</script>\n");
}

void html_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct html_labels *labels = html_labels_new(p);
	struct calltree *tree = calltree_of_all(p, &labels->tree);
	struct html_times *times = o->difference ? NULL : html_times_new(p, labels, tree, NULL);
	uint32_vec types = choose_types(p);
	const char *data = strstr(html_page, HTML_PAGE_DATA);

	outfile_write(f, html_page, (size_t)(data - html_page));
	outfile_printf(f, "<script type=\"application/json\" id=\"profile\">");
	write_profile(f, p, o, labels, &types, times, tree->n);
	outfile_printf(f, "</script>\n");
	write_tree(f, &in_page, p, tree, &types);
	if (times)
		html_times_write(f, times, &in_page);
	html_source_write(f, o->annotations, o->nannotations);
	write_whole(f, p);
	data += strlen(HTML_PAGE_DATA);
	outfile_write(f, data, strlen(data));
	vec_free(&types);
	html_times_free(times);
	calltree_free(tree);
	html_labels_free(labels);
}

void html_write_live(struct outfile *f)
{
	const char *connect = strstr(html_page, HTML_PAGE_CONNECT);
	const char *rest = connect + strlen(HTML_PAGE_CONNECT);
	const char *data = strstr(rest, HTML_PAGE_DATA);

	outfile_write(f, html_page, (size_t)(connect - html_page));
	outfile_printf(f, "%s", HTML_PAGE_CONNECT_LIVE);
	outfile_write(f, rest, (size_t)(data - rest));
	outfile_printf(f, "%s", HTML_PAGE_LIVE);
	data += strlen(HTML_PAGE_DATA);
	outfile_write(f, data, strlen(data));
}

/*
 * What a tick has of an update, whose values may be of other ticks: those are counted apart. Of
 * samples each time is one, and a wait none; of time a wait is as long as it lasted.
 */
static uint64_t worth_of_update(const struct worth *w, const struct tick *tick)
{
	if (w->number)
		return tick->span ? 0 : tick->value;
	return tick->span ? tick->span : worth_tick(w, tick);
}

void html_write_update(const struct profile *p, uint64_t sequence, int whole, struct outfile *f)
{
	const struct output_options none = { 0 };
	struct html_labels *labels = html_labels_new(p);
	struct calltree *tree = calltree_of_all(p, &labels->tree);
	struct html_times *times = html_times_new(p, labels, tree, worth_of_update);
	uint32_vec types = choose_types(p);

	outfile_printf(f, "{\"sequence\":%" PRIu64 ",\"whole\":%s,\"profile\":", sequence,
		       whole ? "true" : "false");
	write_profile(f, p, &none, labels, &types, times, tree->n);
	write_tree(f, &in_object, p, tree, &types);
	if (times)
		html_times_write(f, times, &in_object);
	outfile_printf(f, "}\n");
	vec_free(&types);
	html_times_free(times);
	calltree_free(tree);
	html_labels_free(labels);
}
