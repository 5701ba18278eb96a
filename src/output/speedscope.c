/* SPDX-License-Identifier: MIT */
/*
 * The file format of speedscope: https://www.speedscope.app/file-format-schema.json
 *
 * A table of frames, then "sampled" profiles: stacks, the outermost frame first, and
 * the weight of each. Frames are told apart by their index alone, so a function has one,
 * with the lowest of its lines that was sampled; where no source is known, the name
 * of its image stands in the file's place. One profile is of all threads, and where
 * there are several each has one of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "output/embedded.h"
#include "output/formats.h"
#include "output/rollup.h"
#include "output/stack.h"
#include "output/threads.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct writer {
	const struct profile *p;
	struct profile_view v;
	struct json json;
	struct stack stack;
	struct stack_source *sources;
	/* function -> frame; PROFILE_NONE: it is on no stack. The last one is for "[no stack]" */
	uint32_t *frames;
};

static void use_frames(struct writer *w)
{
	const struct profile_view *v = &w->v;
	uint8_t *seen = xcalloc(v->nnodes, 1);
	uint32_t no_stack = (uint32_t)v->nfunctions + 1;

	w->frames = xcalloc(v->nfunctions + 2, sizeof(*w->frames));
	memset(w->frames, 0xff, (v->nfunctions + 2) * sizeof(*w->frames));
	for (size_t i = 0; i < v->nsamples; i++) {
		uint32_t node = v->samples[i].node;

		if (!v->values[i])
			continue;
		if (!node)
			w->frames[no_stack] = 0;
		for (; node && !seen[node]; node = v->nodes[node].parent)
			seen[node] = 1;
	}
	for (uint32_t node = 1; node < v->nnodes; node++) {
		const struct location *l = &v->locations[v->nodes[node].location];

		if (seen[node] && !l->nlines)
			w->frames[v->nfunctions] = 0;
		for (uint32_t i = 0; seen[node] && i < l->nlines; i++)
			w->frames[v->lines[l->first_line + i].function] = 0;
	}
	free(seen);
}

/* The table of the frames that are used; numbers them. */
static void write_frames(struct writer *w)
{
	const struct profile_view *v = &w->v;
	struct json *j = &w->json;
	uint32_t next = 0;

	use_frames(w);
	json_object(j, "shared");
	json_array(j, "frames");
	for (size_t i = 0; i < v->nfunctions + 2; i++) {
		const struct stack_source *source =
			&w->sources[i <= v->nfunctions ? i : v->nfunctions];
		const char *module = i < v->nfunctions ? profile_text(w->p, v->functions[i].module)
						       : "";

		if (w->frames[i] == PROFILE_NONE)
			continue;
		w->frames[i] = next++;
		json_object(j, NULL);
		json_string(j, "name", i <= v->nfunctions ? rollup_name(w->p, i) : ROLLUP_NO_STACK);
		if (source->file)
			json_string(j, "file", profile_text(w->p, source->file));
		else if (*module)
			json_string(j, "file", module);
		if (source->file && source->line)
			json_uint(j, "line", source->line);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void write_stack(struct writer *w, uint32_t node)
{
	struct json *j = &w->json;

	stack_fill(&w->stack, &w->v, node);
	json_array(j, NULL);
	if (!node)
		json_uint(j, NULL, w->frames[w->v.nfunctions + 1]);
	for (size_t i = w->stack.n; i-- > 0;)
		json_uint(j, NULL, w->frames[w->stack.v[i].function]);
	json_end(j);
}

/* The unit of the values that are shown, in speedscope's words. */
static const char *unit(const struct writer *w)
{
	static const char *const units[PROFILE_UNITS] = {
		[PROFILE_NANOSECONDS] = "nanoseconds",
		[PROFILE_MICROSECONDS] = "microseconds",
		[PROFILE_MILLISECONDS] = "milliseconds",
		[PROFILE_SECONDS] = "seconds",
		[PROFILE_BYTES] = "bytes",
	};
	const char *unit = units[w->v.types[w->v.shown].measured_in];

	return unit ? unit : "none";
}

static void write_profile(struct writer *w, const char *name, uint64_t total,
			  const uint32_t *samples, size_t n)
{
	struct json *j = &w->json;

	json_object(j, NULL);
	json_string(j, "type", "sampled");
	json_string(j, "name", name);
	json_string(j, "unit", unit(w));
	json_uint(j, "startValue", 0);
	json_uint(j, "endValue", total);
	json_array(j, "samples");
	for (size_t i = 0; i < n; i++)
		write_stack(w, w->v.samples[samples[i]].node);
	json_end(j);
	json_array(j, "weights");
	for (size_t i = 0; i < n; i++)
		json_uint(j, NULL, w->v.values[samples[i]]);
	json_end(j);
	json_end(j);
}

/* "worker (pid 100, tid 101)"; the caller frees it. */
static char *thread_name(const struct writer *w, const struct thread_row *row)
{
	const char *comm = rollup_comm(w->p, w->v.threads[row->thread].comm);
	char pid[32], tid[32];

	threads_id(pid, sizeof(pid), row->pid, row->pid_again);
	threads_id(tid, sizeof(tid), row->tid, row->tid_again);
	return w->v.threads[row->thread].tid ? xasprintf("%s (pid %s, tid %s)", comm, pid, tid) :
					       xasprintf("%s (pid %s)", comm, pid);
}

static void write_threads(struct writer *w)
{
	struct threads *threads = threads_new(w->p);
	size_t n = 0;

	json_array(&w->json, "profiles");
	for (size_t i = 0; i < threads->n; i++)
		n += threads->v[i].nsamples;
	if (threads->n != 1)
		write_profile(w, "all threads", w->v.total, threads->order, n);
	for (size_t i = 0; i < threads->n; i++) {
		const struct thread_row *row = &threads->v[i];
		char *name = thread_name(w, row);

		write_profile(w, name, row->total, row->samples, row->nsamples);
		free(name);
	}
	json_end(&w->json);
	threads_free(threads);
}

void speedscope_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct writer w = { .p = p, .v = profile_view(p), .json = { .f = f } };
	const char *title = profile_text(p, w.v.meta->title);

	(void)o;
	w.sources = stack_sources(&w.v);
	json_object(&w.json, NULL);
	json_string(&w.json, "$schema", SCHEMA);
	json_string(&w.json, "exporter", "ebprof");
	json_string(&w.json, "name", *title ? title : "ebprof");
	json_uint(&w.json, "activeProfileIndex", 0);
	write_frames(&w);
	write_threads(&w);
	json_object(&w.json, "ebprof");
	embedded_write(&w.json, p);
	json_end(&w.json);
	json_end(&w.json);
	json_newline(&w.json);
	vec_free(&w.stack);
	free(w.sources);
	free(w.frames);
}
