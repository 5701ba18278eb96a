/* SPDX-License-Identifier: MIT */
#include "output/firefox_tables.h"
#include "output/rollup.h"

#define MS_DIGITS 6		/* ns as ms with so many decimals */
#define SECOND 1000000000u
#define RESOURCE_LIBRARY 1	/* the format's number for this type */
#define PHASE_INTERVAL 1	/* and for markers with a beginning and an end */

/* An array with an element for each i below @n, which @write adds. */
#define COLUMN(j, key, n, write) do { \
	json_array(j, key); \
	for (size_t i = 0; i < (n); i++) \
		write; \
	json_end(j); \
} while (0)

static void write_row(struct json *j, uint32_t row)
{
	if (row == PROFILE_NONE)
		json_null(j, NULL);
	else
		json_uint(j, NULL, row);
}

static void write_name(struct firefox *x, const char *name)
{
	json_uint(&x->json, NULL, strtab_add(x->strings, name));
}

static void write_function_name(struct firefox *x, uint32_t function)
{
	write_name(x, function <= x->v.nfunctions ? rollup_name(x->p, function) : ROLLUP_NO_STACK);
}

static void write_file(struct firefox *x, uint32_t function)
{
	uint32_t file = function < x->v.nfunctions ? x->sources[function].file : 0;

	if (file)
		write_name(x, profile_text(x->p, file));
	else
		json_null(&x->json, NULL);
}

static void end_table(struct json *j, size_t length)
{
	json_uint(j, "length", length);
	json_end(j);
}

/* What a sample's value means: the format knows counts, milliseconds and bytes. */
static const struct weight {
	const char *type;	/* NULL: as samples */
	unsigned int digits;
} weights[PROFILE_UNITS] = {
	[PROFILE_NANOSECONDS] = { "tracing-ms", 6 },
	[PROFILE_MICROSECONDS] = { "tracing-ms", 3 },
	[PROFILE_MILLISECONDS] = { "tracing-ms", 0 },
	[PROFILE_BYTES] = { "bytes", 0 },
};

/*
 * ns for which the thread ran before a sample: half of what it and the one before stand for. It
 * draws the use of the CPU.
 */
static uint64_t cpu_time(const struct firefox *x, const struct firefox_moment *m, int has_previous)
{
	double samples = ((double)m->value + (has_previous ? (double)m[-1].value : 0)) / 2;

	return (uint64_t)(samples * SECOND / (double)x->v.meta->frequency);
}

static void write_samples(struct firefox *x)
{
	const struct firefox_moment *m = x->tables->moments.v;
	const struct weight *weight = &weights[x->v.types[x->v.shown].measured_in];
	size_t n = x->tables->moments.n;
	struct json *j = &x->json;

	json_object(j, "samples");
	COLUMN(j, "stack", n, json_uint(j, NULL, m[i].stack));
	COLUMN(j, "time", n, json_decimal(j, NULL, m[i].time, MS_DIGITS));
	COLUMN(j, "weight", n, json_decimal(j, NULL, m[i].value, weight->digits));
	json_string(j, "weightType", weight->type ? weight->type : "samples");
	if (x->v.meta->frequency && !x->v.shown && weight->digits == 0)
		COLUMN(j, "threadCPUDelta", n, json_uint(j, NULL, cpu_time(x, &m[i], i > 0)));
	end_table(j, n);
}

static void write_stacks(struct firefox *x)
{
	const struct firefox_tables *t = x->tables;
	const struct firefox_frame *f = t->frames.v;
	size_t n = t->frames.n;
	struct json *j = &x->json;

	json_object(j, "stackTable");
	COLUMN(j, "frame", t->stacks.n, json_uint(j, NULL, t->stacks.v[i].frame));
	COLUMN(j, "prefix", t->stacks.n, write_row(j, t->stacks.v[i].prefix));
	end_table(j, t->stacks.n);
	json_object(j, "frameTable");
	COLUMN(j, "address", n, json_int(j, NULL, f[i].address));
	COLUMN(j, "inlineDepth", n, json_uint(j, NULL, f[i].depth));
	COLUMN(j, "category", n, json_uint(j, NULL, f[i].category));
	COLUMN(j, "subcategory", n, json_uint(j, NULL, 0));
	COLUMN(j, "func", n, json_uint(j, NULL, f[i].function));
	COLUMN(j, "nativeSymbol", n, write_row(j, f[i].symbol));
	COLUMN(j, "innerWindowID", n, json_uint(j, NULL, 0));
	COLUMN(j, "line", n, write_row(j, f[i].line ? f[i].line : PROFILE_NONE));
	COLUMN(j, "column", n, json_null(j, NULL));
	end_table(j, n);
}

static void write_functions(struct firefox *x)
{
	const struct firefox_tables *t = x->tables;
	const uint32_t *functions = t->functions.used.v;
	size_t n = t->functions.used.n;
	struct json *j = &x->json;

	json_object(j, "funcTable");
	COLUMN(j, "name", n, write_function_name(x, functions[i]));
	COLUMN(j, "isJS", n, json_bool(j, NULL, 0));
	COLUMN(j, "relevantForJS", n, json_bool(j, NULL, 0));
	COLUMN(j, "resource", n,
	       json_int(j, NULL,
			t->resources.v[i] == PROFILE_NONE ? -1 : (int64_t)t->resources.v[i]));
	COLUMN(j, "fileName", n, write_file(x, functions[i]));
	COLUMN(j, "lineNumber", n, json_null(j, NULL));
	COLUMN(j, "columnNumber", n, json_null(j, NULL));
	end_table(j, n);
}

static void write_libraries(struct firefox *x)
{
	const struct firefox_tables *t = x->tables;
	const uint32_t *modules = t->modules.used.v, *symbols = t->symbols.used.v;
	size_t n = t->modules.used.n, nsymbols = t->symbols.used.n;
	struct json *j = &x->json;

	json_object(j, "resourceTable");
	COLUMN(j, "lib", n, json_uint(j, NULL, x->library_of[modules[i]]));
	COLUMN(j, "name", n, write_name(x, profile_text(x->p, x->v.modules[modules[i]].name)));
	COLUMN(j, "host", n, json_null(j, NULL));
	COLUMN(j, "type", n, json_uint(j, NULL, RESOURCE_LIBRARY));
	end_table(j, n);
	json_object(j, "nativeSymbols");
	COLUMN(j, "libIndex", nsymbols,
	       json_uint(j, NULL, x->library_of[x->symbols[symbols[i]].module]));
	COLUMN(j, "address", nsymbols, json_uint(j, NULL, x->symbols[symbols[i]].address));
	COLUMN(j, "name", nsymbols, write_function_name(x, x->symbols[symbols[i]].function));
	COLUMN(j, "functionSize", nsymbols, json_null(j, NULL));
	end_table(j, nsymbols);
}

static void write_marker_data(struct json *j, const struct firefox_marker *m)
{
	json_object(j, NULL);
	json_string(j, "type", FIREFOX_WAIT);
	json_uint(j, "place", m->place);
	json_object(j, "cause");
	json_uint(j, "stack", m->stack);
	json_end(j);
	json_end(j);
}

/* Intervals: how long the thread waited. */
static void write_markers(struct firefox *x)
{
	const struct firefox_marker *m = x->tables->markers.v;
	size_t n = x->tables->markers.n;
	struct json *j = &x->json;

	json_object(j, "markers");
	COLUMN(j, "data", n, write_marker_data(j, &m[i]));
	COLUMN(j, "name", n, json_uint(j, NULL, m[i].name));
	COLUMN(j, "startTime", n, json_decimal(j, NULL, m[i].begin, MS_DIGITS));
	COLUMN(j, "endTime", n, json_decimal(j, NULL, m[i].end, MS_DIGITS));
	COLUMN(j, "phase", n, json_uint(j, NULL, PHASE_INTERVAL));
	COLUMN(j, "category", n, json_uint(j, NULL, FIREFOX_OTHER));
	end_table(j, n);
}

/* Who it is; threads of one pid are one process. */
static void write_identity(struct firefox *x, const struct thread_row *row)
{
	const struct thread *t = row ? &x->v.threads[row->thread] : NULL;
	struct json *j = &x->json;
	char id[32];

	json_string(j, "processType", "default");
	json_uint(j, "processStartupTime", 0);
	json_null(j, "processShutdownTime");
	json_uint(j, "registerTime", 0);
	json_null(j, "unregisterTime");
	json_array(j, "pausedRanges");
	json_end(j);
	json_string(j, "name", t ? rollup_comm(x->p, t->comm) : "no samples");
	json_string(j, "processName",
		    t ? rollup_comm(x->p, x->v.processes[t->process].comm) : "no samples");
	json_bool(j, "isMainThread", row ? row->leads : 1);
	json_string(j, "pid", row ? threads_id(id, sizeof(id), row->pid, row->pid_again) : "0");
	json_string(j, "tid", row ? threads_id(id, sizeof(id), row->tid, row->tid_again) : "0");
}

void firefox_thread_write(struct firefox *x, const struct thread_row *row)
{
	json_object(&x->json, NULL);
	write_identity(x, row);
	write_samples(x);
	write_markers(x);
	write_stacks(x);
	write_functions(x);
	write_libraries(x);
	json_end(&x->json);
}
