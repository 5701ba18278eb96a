/* SPDX-License-Identifier: MIT */
/*
 * Saved profiles, read back: one file and one row of a table each, as for outputs.
 *
 * What is read comes from anybody and is hostile: sizes are bounded, texts are
 * cleaned on their way into the profile, and what makes no sense is one error.
 */
#ifndef EBPROF_INPUT_H
#define EBPROF_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

/* What was left out of a file that was read all the same. All zeros: nothing. */
struct input_notes {
	uint64_t lines;		/* that were not understood */
	uint64_t first;		/* number of the first of them, from 1 */
	int cut;		/* it is the last line, and the file ends in the middle of it */
	struct error damage;	/* of a file of which a part was read; its text is "": none */
	uint32_t missing;	/* files with code that was sampled, that are not here */
	char first_missing[256];/* the path of one of them, clean */
	/* samples whose user stacks were copied; of them, not unwound to the end, and not at all */
	uint64_t copied, copies_cut, copies_left;
};

struct input_format {
	const char *name;	/* as users know it */
	/* 1 where the unpacked bytes look like this format. */
	int (*looks)(const char *bytes, size_t n);
	/*
	 * Fills an empty profile, and @notes, which is all zeros. 0, or a negative errno with @e
	 * filled ("%s: ..." without the file's name).
	 */
	int (*read)(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		    struct error *e);
};

/* The table of formats; ends with a row whose name is NULL. */
extern const struct input_format input_formats[];

/*
 * The profile in @path, "-" for standard input, gzip unpacked. NULL with errno and @e
 * filled ("cannot read FILE: ..."). @notes is filled where there is a profile.
 */
struct profile *input_read(const char *path, struct input_notes *notes, struct error *e);
/* The same of @fd, a file or a pipe, which is closed; @name is for errors. */
struct profile *input_read_fd(int fd, const char *name, struct input_notes *notes, struct error *e);

#endif
