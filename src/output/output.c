/* SPDX-License-Identifier: MIT */
#include "output/output.h"

#include <string.h>

#include "output/formats.h"

const struct output_format output_formats[] = {
	{ "folded", ".folded", "one line a stack, comm;root;...;leaf COUNT, for flame graph tools",
	  0, folded_write },
	{ "pprof", ".pb", "all of the profile, for `go tool pprof' and for ebprof; compressed",
	  1, pprof_write },
	{ "top", ".txt", "table of functions (self %, total %, self samples) and of processes",
	  0, top_write },
	{ "html", ".html", "a flame graph to look around in, one file for any browser",
	  0, html_write },
	{ "svg", ".svg", "flame graph, a picture without scripts for documents and tickets",
	  0, svg_write },
	{ "callgrind", ".callgrind", "for kcachegrind and callgrind_annotate; files named callgrind.out* too",
	  0, callgrind_write },
	{ "dhat", ".dhat.json", "for dh_view.html of valgrind; files named dhat.out* too", 0, dhat_write },
	{ "firefox", ".json", "for profiler.firefox.com, where it stays on your machine until you share it",
	  0, firefox_write },
	{ "speedscope", ".speedscope.json", "for speedscope.app", 0, speedscope_write },
	{ "perf-script", ".perf", "text as perf script prints it, for what reads that", 0, perf_script_write },
	{ "json", ".ndjson", "the summary and the table for scripts, a JSON object a line", 0, ndjson_write },
	{ 0 },
};

/* Names that readers look for by how they begin; a known suffix tells more. */
static const struct { const char *beginning, *format; } beginnings[] = {
	{ "callgrind.out", "callgrind" },
	{ "dhat.out", "dhat" },
};

const struct output_format *output_by_name(const char *name)
{
	for (const struct output_format *f = output_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static int ends_in_gz(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcmp(path + len - 3, ".gz");
}

const struct output_format *output_by_path(const char *path)
{
	const struct output_format *best = NULL;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(path) - (ends_in_gz(path) ? 3 : 0), most = 0;

	/* The longest suffix wins: .speedscope.json is not .json. */
	for (const struct output_format *f = output_formats; f->name; f++) {
		size_t n = strlen(f->suffix);

		if (n > most && n <= len && !strncmp(path + len - n, f->suffix, n)) {
			best = f;
			most = n;
		}
	}
	for (size_t i = 0; !best && i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i].beginning, strlen(beginnings[i].beginning)))
			best = output_by_name(beginnings[i].format);
	return best;
}

void output_write(const struct output_format *format, const struct profile *p, const struct output_options *o,
		  struct outfile *f, const char *path)
{
	if (format->gzip || (path && ends_in_gz(path)))
		outfile_compress(f);
	format->write(p, o, f);
}
