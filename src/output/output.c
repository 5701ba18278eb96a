/* SPDX-License-Identifier: MIT */
#include "output/output.h"

#include <string.h>

#include "output/formats.h"

static const struct output_format profile_formats[] = {
	{ "folded", ".folded", "one line a stack, comm;root;...;leaf COUNT, for flame graph tools",
	  0, "look at it with: ebprof report FILE", 1, folded_write },
	{ "pprof", ".pb", "all of the profile, for `go tool pprof' and for ebprof; compressed", 1,
	  "look at it with: ebprof report FILE (or: go tool pprof -http : FILE)", 1, pprof_write },
	{ "table", ".txt", "table of functions (self %, total %, self samples) and of processes", 0,
	  NULL, 0, top_write },
	{ "html", ".html", "an interactive flame graph, one file for any browser", 0,
	  "open it in a browser", 0, html_write },
	{ "svg", ".svg", "a flame graph without scripts, for documents and tickets", 0,
	  "open it in a browser", 0, svg_write },
	{ "callgrind", ".callgrind",
	  "for kcachegrind and callgrind_annotate; files named callgrind.out* too", 0,
	  "look at it with: kcachegrind FILE", 0, callgrind_write },
	{ "dhat", ".dhat.json", "for dh_view.html of valgrind; files named dhat.out* too", 0,
	  "load it in dh_view.html of valgrind", 0, dhat_write },
	{ "firefox", ".json",
	  "for profiler.firefox.com, where it stays on your machine until you share it", 0,
	  "load it at https://profiler.firefox.com", 1, firefox_write },
	{ "speedscope", ".speedscope.json", "for speedscope.app", 0,
	  "drop it on https://www.speedscope.app", 0, speedscope_write },
	{ "perfetto", ".pftrace", "for ui.perfetto.dev: samples by thread and time", 0,
	  "load it at https://ui.perfetto.dev", 1, perfetto_write },
	{ "perf-script", ".perf", "text as perf script prints it, for tools that read that", 0,
	  "look at it with: ebprof report FILE", 1, perf_script_write },
	{ "json", ".ndjson", "the summary and the table for scripts, a JSON object a line", 0, NULL,
	  0, ndjson_write },
	{ 0 },
};

static const struct output_ending profile_endings[] = {
	{ ".pprof", "pprof", 1 }, { ".collapsed", "folded", 1 }, { ".jsonl", "json", 1 },
	{ ".perfetto-trace", "perfetto", 1 },
	{ ".json", "json", 0 }, { ".json", "speedscope", 0 }, { ".json", "dhat", 0 },
	{ ".txt", "folded", 0 }, { ".txt", "perf-script", 0 }, { ".txt", "callgrind", 0 }, { 0 },
};

const struct output_set output_profiles = {
	"a profile", profile_formats, profile_endings, .terminal = "table", .plain = "folded"
};

static const struct output_format difference_formats[] = {
	{ "table", ".txt", "tables of the functions that changed, with 95 % intervals", 0, NULL, 0,
	  difference_write },
	{ "json", ".json", "the same for programs", 0, NULL, 0, difference_json_write },
	{ "folded", ".folded", "stack BEFORE AFTER, for flamegraph.pl", 0,
	  "draw it with: flamegraph.pl FILE", 0, folded_write },
	{ "html", ".html", "flame graph coloured by what changed", 0, "open it in a browser", 0,
	  html_write },
	{ 0 },
};

static const struct output_ending difference_endings[] = { { 0 } };

const struct output_set output_differences = {
	"a difference", difference_formats, difference_endings, .terminal = "table",
	.plain = "table"
};

static const struct { const char *name, *word; } synonyms[] = {
	{ "top", "table" }, { "text", "table" }, { "collapsed", "folded" }, { "ndjson", "json" },
};

/* Names that readers look for by how they begin; a known suffix tells more. */
static const struct { const char *beginning, *format; } beginnings[] = {
	{ "callgrind.out", "callgrind" },
	{ "dhat.out", "dhat" },
};

const char *output_word(const char *name)
{
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++)
		if (!strcmp(synonyms[i].name, name))
			return synonyms[i].word;
	return name;
}

const struct output_format *output_find(const struct output_set *set, const char *name)
{
	const char *word = output_word(name);

	for (const struct output_format *f = set->formats; f->name; f++)
		if (!strcmp(f->name, word))
			return f;
	return NULL;
}

const struct output_format *output_by_name(const char *name)
{
	return output_find(&output_profiles, name);
}

int output_is_packed(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcmp(path + len - 3, ".gz");
}

/* The size of @suffix where @path ends in it, before any ".gz"; else 0. */
static size_t ending(const char *path, const char *suffix)
{
	size_t len = strlen(path) - (output_is_packed(path) ? 3 : 0), n = strlen(suffix);

	return n <= len && !strncmp(path + len - n, suffix, n) ? n : 0;
}

/* The longest of all suffixes that @path ends in, 0 for none: .speedscope.json is not .json. */
static size_t longest_ending(const struct output_set *set, const char *path)
{
	size_t most = 0, n;

	for (const struct output_format *f = set->formats; f->name; f++)
		most = (n = ending(path, f->suffix)) > most ? n : most;
	for (const struct output_ending *x = set->endings; x->suffix; x++)
		most = (n = ending(path, x->suffix)) > most ? n : most;
	return most;
}

static const struct output_format *by_beginning(const struct output_set *set, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i].beginning, strlen(beginnings[i].beginning)))
			return output_find(set, beginnings[i].format);
	return NULL;
}

const struct output_format *output_find_by_path(const struct output_set *set, const char *path)
{
	size_t most = longest_ending(set, path);

	for (const struct output_format *f = set->formats; most && f->name; f++)
		if (ending(path, f->suffix) == most)
			return f;
	for (const struct output_ending *x = set->endings; most && x->suffix; x++)
		if (x->chooses && ending(path, x->suffix) == most)
			return output_find(set, x->format);
	return by_beginning(set, path);
}

const struct output_format *output_by_path(const char *path)
{
	return output_find_by_path(&output_profiles, path);
}

int output_fits(const struct output_set *set, const struct output_format *format, const char *path)
{
	size_t most = longest_ending(set, path);
	const struct output_format *other = by_beginning(set, path);

	if (!most)
		return !other || other == format;
	for (const struct output_ending *x = set->endings; x->suffix; x++)
		if (!strcmp(x->format, format->name) && ending(path, x->suffix) == most)
			return 1;
	return ending(path, format->suffix) == most;
}

void output_write(const struct output_format *format, const struct profile *p,
		  const struct output_options *o, struct outfile *f, const char *path)
{
	if (format->gzip || (path && output_is_packed(path)))
		outfile_compress(f);
	format->write(p, o, f);
}
