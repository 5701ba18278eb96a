/* SPDX-License-Identifier: MIT */
#include "output/output.h"

#include <string.h>

#include "output/formats.h"

const struct output_format output_formats[] = {
	{ "folded", ".folded", "one line a stack, comm;root;...;leaf COUNT, for flame graph tools",
	  0, "look at it with: ebprof report FILE", 1, folded_write },
	{ "pprof", ".pb", "all of the profile, for `go tool pprof' and for ebprof; compressed", 1,
	  "look at it with: ebprof report FILE (or: go tool pprof -http : FILE)", 1, pprof_write },
	{ "table", ".txt", "table of functions (self %, total %, self samples) and of processes", 0,
	  NULL, 0, top_write },
	{ "html", ".html", "a flame graph to look around in, one file for any browser", 0,
	  "open it in a browser", 0, html_write },
	{ "svg", ".svg", "flame graph, a picture without scripts for documents and tickets", 0,
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
	{ "perf-script", ".perf", "text as perf script prints it, for what reads that", 0,
	  "look at it with: ebprof report FILE", 1, perf_script_write },
	{ "json", ".ndjson", "the summary and the table for scripts, a JSON object a line", 0, NULL,
	  0, ndjson_write },
	{ 0 },
};

/*
 * What else ends the name of such a file. Where it does not choose the format, it may mean others,
 * too.
 */
static const struct { const char *suffix, *format; int chooses; } endings[] = {
	{ ".pprof", "pprof", 1 }, { ".collapsed", "folded", 1 }, { ".jsonl", "json", 1 },
	{ ".json", "json", 0 }, { ".json", "speedscope", 0 }, { ".json", "dhat", 0 },
	{ ".txt", "folded", 0 }, { ".txt", "perf-script", 0 }, { ".txt", "callgrind", 0 },
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

const struct output_format *output_by_name(const char *name)
{
	const char *word = output_word(name);

	for (const struct output_format *f = output_formats; f->name; f++)
		if (!strcmp(f->name, word))
			return f;
	return NULL;
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
static size_t longest_ending(const char *path)
{
	size_t most = 0, n;

	for (const struct output_format *f = output_formats; f->name; f++)
		most = (n = ending(path, f->suffix)) > most ? n : most;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		most = (n = ending(path, endings[i].suffix)) > most ? n : most;
	return most;
}

static const struct output_format *by_beginning(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i].beginning, strlen(beginnings[i].beginning)))
			return output_by_name(beginnings[i].format);
	return NULL;
}

const struct output_format *output_by_path(const char *path)
{
	size_t most = longest_ending(path);

	for (const struct output_format *f = output_formats; most && f->name; f++)
		if (ending(path, f->suffix) == most)
			return f;
	for (size_t i = 0; most && i < sizeof(endings) / sizeof(*endings); i++)
		if (endings[i].chooses && ending(path, endings[i].suffix) == most)
			return output_by_name(endings[i].format);
	return by_beginning(path);
}

int output_fits(const struct output_format *format, const char *path)
{
	size_t most = longest_ending(path);
	const struct output_format *other = by_beginning(path);

	if (!most)
		return !other || other == format;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcmp(endings[i].format, format->name) &&
		    ending(path, endings[i].suffix) == most)
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
