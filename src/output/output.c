/* SPDX-License-Identifier: MIT */
#include "output/output.h"

#include <string.h>

#include "output/formats.h"

const struct output_format output_formats[] = {
	{ "folded", ".folded", "one line a stack, comm;root;...;leaf COUNT, for flame graph tools",
	  folded_write },
	{ "top", ".txt", "table of functions (self %, total %, self samples) and of processes",
	  top_write },
	{ 0 },
};

const struct output_format *output_by_name(const char *name)
{
	for (const struct output_format *f = output_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct output_format *output_by_path(const char *path)
{
	const struct output_format *best = NULL;
	size_t len = strlen(path), most = 0;

	/* The longest suffix wins: .speedscope.json is not .json. */
	for (const struct output_format *f = output_formats; f->name; f++) {
		size_t n = strlen(f->suffix);

		if (n > most && n <= len && !strcmp(path + len - n, f->suffix)) {
			best = f;
			most = n;
		}
	}
	return best;
}
