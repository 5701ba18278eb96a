/* SPDX-License-Identifier: MIT */
/*
 * The formats a profile can be written in: one file and one row each.
 *
 * An output is a function from a profile, plain data, to an outfile. It never
 * symbolizes and never touches BPF or /proc. All locations are named by then.
 */
#ifndef EBPROF_OUTPUT_H
#define EBPROF_OUTPUT_H

#include <stddef.h>

#include "base/outfile.h"
#include "profile/profile.h"

struct annotation;
struct diff;

struct output_options {
	int rows;		/* of a table; 0: all */
	/* of tables of functions */
	enum output_sort { OUTPUT_SORT_DEFAULT, OUTPUT_SORT_SELF, OUTPUT_SORT_TOTAL } sort;
	int color;		/* 1: the reader is a terminal that takes colour */
	int columns;		/* of the terminal; 0: do not cut lines */
	/*
	 * 1: the profile's first two types are "before" and "after" of one thing (profile/merge.h),
	 * and what is wanted is their difference. Before's values times @weight compare with
	 * after's.
	 */
	int difference;
	double weight;
	int annotate;		/* mark kernel, inlined and JIT frames in the folded format */
	/* of the formats of a difference: what was compared, and whether changes within chance are
	 * listed, too */
	const struct diff *diff;
	int all;
	/* of html: functions that the page shows with their source */
	struct annotation *const *annotations;
	size_t nannotations;
};

struct output_format {
	const char *name;	/* for -f */
	const char *suffix;	/* of a file name, "" where none chooses it */
	const char *help;	/* one line for --help and ebprof(1) */
	int gzip;		/* 1: always compressed */
	const char *open;	/* how to look at it, FILE stands for its name; NULL: as any text */
	int opens_packed;	/* 1: what opens it reads it compressed, too */
	void (*write)(const struct profile *p, const struct output_options *o, struct outfile *f);
};

/* How names of files may end, beside the suffix of a format. */
struct output_ending {
	const char *suffix, *format;
	int chooses;		/* 0: it fits the format, and may mean others, too */
};

/* The formats that one thing can be written in. */
struct output_set {
	const char *thing;			/* "a profile" */
	/* Both end with a row of zeros. */
	const struct output_format *formats;
	const struct output_ending *endings;
	/* where a terminal shows it; where neither -f nor the file's name says one */
	const char *terminal, *plain;
};
extern const struct output_set output_profiles, output_differences;

/* By the word of -f; NULL where there is none. */
const struct output_format *output_find(const struct output_set *set, const char *name);
/*
 * By the end of a file's name, with or without ".gz" behind it, or by its beginning
 * (callgrind.out.PID); NULL where none fits.
 */
const struct output_format *output_find_by_path(const struct output_set *set, const char *path);
/*
 * 0 where the name of @path is that of other formats, and not of @format; one that says nothing
 * fits all.
 */
int output_fits(const struct output_set *set, const struct output_format *format, const char *path);

/*
 * The word for what users may call otherwise: "table" for "top" and "text"; @name itself where it
 * is none of these.
 */
const char *output_word(const char *name);
/* The first two of output_profiles. */
const struct output_format *output_by_name(const char *name);
const struct output_format *output_by_path(const char *path);
/* 1 where what is written to @path is compressed. */
int output_is_packed(const char *path);
/* Writes @p to @f, compressed where the format or the end of @path (NULL: none) says so. */
void output_write(const struct output_format *format, const struct profile *p,
		  const struct output_options *o, struct outfile *f, const char *path);

#endif
