/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed profile format, version 57, as its sources
 * (src/types/profile.ts, docs-developer/CHANGELOG-formats.md) describe it:
 * newer versions are refused by older readers, older ones are upgraded.
 *
 * Each thread has tables of its own, and all have one array of strings. The reader
 * looks nothing up again: the profile says that it is symbolicated. Its addresses
 * are offsets in the library's file, those of the kernel are counted from where its image is
 * mapped.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "output/embedded.h"
#include "output/firefox_tables.h"
#include "output/formats.h"
#include "output/order.h"
#include "output/rollup.h"

/* of the format that Firefox itself sends; required, without a meaning here */
#define GECKO_VERSION 31
#define PROCESSED_VERSION 57
#define MS_DIGITS 6			/* ns as ms with so many decimals */
/* where x86-64 maps its image: addresses above are too big for the reader's numbers */
#define KERNEL_MAP 0xffffffff80000000
#define ADDRESS_MAX (1ull << 53)
#define BREAKPAD_DIGITS 32

int64_t firefox_address(const struct firefox *x, const struct location *l)
{
	uint64_t address = l->address;

	if (x->library_of[l->module] == PROFILE_NONE)
		return -1;
	if (frame_is_kernel(l->kind) && address >= KERNEL_MAP)
		address -= KERNEL_MAP;
	return address < ADDRESS_MAX ? (int64_t)address : -1;
}

/* --- Libraries and their functions. ---------------------------------------- */
static void number_libraries(struct firefox *x)
{
	uint32_t next = 0;

	x->library_of = xcalloc(x->v.nmodules, sizeof(*x->library_of));
	for (size_t i = 0; i < x->v.nlocations; i++)
		x->library_of[x->v.locations[i].module] = 1;
	for (size_t i = 0; i < x->v.nmodules; i++) {
		int is_file = i && !x->v.modules[i].made;

		x->library_of[i] = is_file && x->library_of[i] ? next++ : PROFILE_NONE;
	}
}

static void find_symbols(struct firefox *x)
{
	VEC(struct firefox_symbol) symbols = { 0 };
	struct hashmap ids = { 0 };

	x->symbol_of = xcalloc(x->v.nlocations, sizeof(*x->symbol_of));
	for (size_t i = 0; i < x->v.nlocations; i++) {
		const struct location *l = &x->v.locations[i];
		int64_t address = firefox_address(x, l);
		uint32_t function, id;

		x->symbol_of[i] = PROFILE_NONE;
		if (address < 0 || !l->nlines)
			continue;
		function = x->v.lines[l->first_line + l->nlines - 1].function;
		id = hashmap_put(&ids, (uint64_t)function << 32 | l->module, (uint32_t)symbols.n);
		if (id >= symbols.n)
			vec_push(&symbols,
				 (struct firefox_symbol){ function, l->module, (uint64_t)address });
		if ((uint64_t)address < symbols.v[id].address)
			symbols.v[id].address = (uint64_t)address;
		x->symbol_of[i] = id;
	}
	hashmap_free(&ids);
	x->symbols = symbols.v;
	x->nsymbols = symbols.n;
}

/*
 * A build id as Breakpad has it: 16 bytes as a GUID, of which the first three numbers are swapped,
 * and an age of 0.
 */
static void breakpad_id(char out[BREAKPAD_DIGITS + 2], const char *build_id)
{
	static const unsigned char bytes[] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
	};
	size_t n = strlen(build_id);

	if (build_id[strspn(build_id, "0123456789abcdef")])
		n = 0;	/* not in hex: an id of another kind */
	for (size_t i = 0; i < BREAKPAD_DIGITS; i++) {
		size_t from = 2u * bytes[i / 2] + i % 2;

		out[i] = from < n ? (char)toupper((unsigned char)build_id[from]) : '0';
	}
	memcpy(out + BREAKPAD_DIGITS, "0", 2);
}

static void write_library(struct firefox *x, const struct module *m)
{
	const char *name = profile_text(x->p, m->name), *path = profile_text(x->p, m->path);
	const char *build_id = profile_text(x->p, m->build_id);
	char id[BREAKPAD_DIGITS + 2];
	struct json *j = &x->json;

	breakpad_id(id, build_id);
	json_object(j, NULL);
	json_string(j, "arch", "");
	json_string(j, "name", name);
	json_string(j, "path", path);
	json_string(j, "debugName", name);
	json_string(j, "debugPath", path);
	json_string(j, "breakpadId", id);
	if (*build_id)
		json_string(j, "codeId", build_id);
	else
		json_null(j, "codeId");
	json_end(j);
}

/* --- What is known of the recording. --------------------------------------- */
static int has_scripts(const struct profile_view *v)
{
	size_t i = 0;

	while (i < v->nfunctions && frame_kinds[v->functions[i].kind].family != FAMILY_SCRIPT)
		i++;
	return i < v->nfunctions;
}

static void write_categories(struct json *j, const struct profile_view *v)
{
	static const struct { const char *name, *color; } categories[FIREFOX_CATEGORIES] = {
		[FIREFOX_OTHER] = { "Other", "grey" }, [FIREFOX_USER] = { "User", "yellow" },
		[FIREFOX_KERNEL] = { "Kernel", "orange" }, [FIREFOX_JIT] = { "JIT", "green" },
		[FIREFOX_SCRIPT] = { "Interpreted", "purple" },
	};
	size_t n = has_scripts(v) ? FIREFOX_CATEGORIES : FIREFOX_SCRIPT;

	json_array(j, "categories");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_string(j, "name", categories[i].name);
		json_string(j, "color", categories[i].color);
		json_array(j, "subcategories");
		json_string(j, NULL, "Other");
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void write_entry(struct json *j, const char *label, const char *reason, const char *text,
			uint64_t n)
{
	char *whole = xasprintf("%s%s%s", label, *reason ? ": " : "", reason);

	json_object(j, NULL);
	json_string(j, "label", whole);
	json_string(j, "format", text ? "string" : "integer");
	if (text)
		json_string(j, "value", text);
	else
		json_uint(j, "value", n);
	json_end(j);
	free(whole);
}

static void write_reasons(struct json *j, const char *label, const struct profile_reason *r,
			  size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].count)
			write_entry(j, label, r[i].name, NULL, r[i].count);
}

/* The reader shows it with all else that it knows of the recording. */
static void write_account(struct firefox *x)
{
	const struct profile_account *a = x->v.account;
	struct json *j = &x->json;

	json_array(j, "extra");
	json_object(j, NULL);
	json_string(j, "label", "Recording");
	json_array(j, "entries");
	write_entry(j, "Event", "", x->v.meta->event, 0);
	write_entry(j, "Values shown", "", profile_text(x->p, x->v.types[x->v.shown].name), 0);
	write_entry(j, "Samples taken", "", NULL, a->taken);
	write_entry(j, "Samples kept", "", NULL, a->kept);
	write_reasons(j, "Truncated", a->truncated, a->ntruncated);
	write_reasons(j, "Lost", a->lost, a->nlost);
	json_end(j);
	json_end(j);
	json_end(j);
}

/* Members that are texts, where they are known. */
static void write_texts(struct firefox *x)
{
	const struct profile_meta *m = x->v.meta;
	const struct {
		const char *key;
		uint32_t string;
	} texts[] = { { "oscpu", m->host }, { "arguments", m->command } };
	const char *title = profile_text(x->p, m->title);

	json_string(&x->json, "product", *title ? title : "ebprof");
	json_string(&x->json, "importedFrom", "ebprof");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].string)
			json_string(&x->json, texts[i].key, profile_text(x->p, texts[i].string));
}

/* A sample at the end's own time would not be shown. */
static uint64_t end_time(const struct firefox *x)
{
	uint64_t last = 0;

	for (size_t i = 0; i < x->v.nticks; i++)
		if (x->v.ticks[i].time + x->v.ticks[i].span > last)
			last = x->v.ticks[i].time + x->v.ticks[i].span;
	return last < x->v.meta->duration ? x->v.meta->duration : last + 1;
}

/* How waits look: a row of each state in a thread's chart, with what waits in it. */
static void write_marker_schema(struct json *j)
{
	static const char *const places[] = {
		"marker-chart", "marker-table", "timeline-overview"
	};

	json_array(j, "markerSchema");
	json_object(j, NULL);
	json_string(j, "name", FIREFOX_WAIT);
	json_string(j, "chartLabel", "{marker.data.place}");
	json_string(j, "tooltipLabel", "{marker.name}: {marker.data.place}");
	json_string(j, "tableLabel", "{marker.name}: {marker.data.place}");
	json_array(j, "display");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		json_string(j, NULL, places[i]);
	json_end(j);
	json_array(j, "fields");
	json_object(j, NULL);
	json_string(j, "key", "place");
	json_string(j, "label", "Waits in");
	json_string(j, "format", "unique-string");
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
}

static void write_meta(struct firefox *x)
{
	const struct profile_meta *m = x->v.meta;
	struct json *j = &x->json;

	json_object(j, "meta");
	json_uint(j, "version", GECKO_VERSION);
	json_uint(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	write_texts(x);
	json_decimal(j, "startTime", m->start, MS_DIGITS);
	if (m->duration) {
		json_uint(j, "profilingStartTime", 0);
		json_decimal(j, "profilingEndTime", end_time(x), MS_DIGITS);
	}
	json_double(j, "interval", m->frequency ? 1000.0 / (double)m->frequency : 1);
	if (m->cpus)
		json_uint(j, "logicalCPUs", m->cpus);
	json_uint(j, "processType", 0);
	json_uint(j, "stackwalk", 1);
	json_bool(j, "debug", 0);
	json_bool(j, "symbolicated", 1);
	json_bool(j, "usesOnlyOneStackType", 1);
	json_bool(j, "sourceCodeIsNotOnSearchfox", 1);
	json_bool(j, "keepProfileThreadOrder", 1);
	json_object(j, "sampleUnits");
	json_string(j, "time", "ms");
	json_string(j, "eventDelay", "ms");
	json_string(j, "threadCPUDelta", "ns");
	json_end(j);
	write_marker_schema(j);
	write_categories(j, &x->v);
	write_account(x);
	json_end(j);
}

/* --- Threads. -------------------------------------------------------------- */
/* The ticks of each thread in a row, by time; @first: where they begin. */
static uint32_t *order_ticks(const struct firefox *x, size_t *first)
{
	uint32_t *keys = xcalloc(x->v.nticks + 1, sizeof(*keys)), *order;

	for (size_t i = 0; i < x->v.nticks; i++) {
		keys[i] = x->v.samples[x->v.ticks[i].sample].thread;
		first[keys[i] + 1]++;
	}
	for (size_t i = 0; i < x->v.nthreads; i++)
		first[i + 1] += first[i];
	order = order_by(keys, x->v.nticks, x->v.nthreads);
	free(keys);
	return order;
}

static void write_threads(struct firefox *x)
{
	struct threads *threads = threads_with_spans(x->p);
	size_t *first = xcalloc(x->v.nthreads + 1, sizeof(*first));
	uint32_t *ticks = order_ticks(x, first);

	x->tables = firefox_tables_new(x);
	json_array(&x->json, "threads");
	for (size_t i = 0; i < threads->n; i++) {
		const struct thread_row *row = &threads->v[i];
		size_t from = first[row->thread];

		firefox_tables_fill(x, row, ticks + from, first[row->thread + 1] - from);
		firefox_thread_write(x, row);
	}
	/* The reader wants one thread at least. */
	if (!threads->n)
		firefox_thread_write(x, NULL);
	json_end(&x->json);
	firefox_tables_free(x->tables);
	free(ticks);
	free(first);
	threads_free(threads);
}

void firefox_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct firefox x = {
		.p = p, .v = profile_view(p), .json = { .f = f }, .strings = strtab_new()
	};
	struct json *j = &x.json;

	(void)o;
	x.worth = worth_of(p, x.v.shown);
	x.sources = stack_sources(&x.v);
	number_libraries(&x);
	find_symbols(&x);
	json_object(j, NULL);
	write_meta(&x);
	json_array(j, "libs");
	for (size_t i = 0; i < x.v.nmodules; i++)
		if (x.library_of[i] != PROFILE_NONE)
			write_library(&x, &x.v.modules[i]);
	json_end(j);
	write_threads(&x);
	json_object(j, "shared");
	json_array(j, "stringArray");
	for (uint32_t i = 0; i < strtab_count(x.strings); i++)
		json_string(j, NULL, strtab_get(x.strings, i));
	json_end(j);
	json_end(j);
	json_object(j, "ebprof");
	embedded_write(j, p);
	json_end(j);
	json_end(j);
	json_newline(j);
	strtab_free(x.strings);
	worth_free(&x.worth);
	free(x.sources);
	free(x.symbols);
	free(x.symbol_of);
	free(x.library_of);
}
