/* SPDX-License-Identifier: MIT */
/*
 * Makes annotations: reads the sources of a function, its code from the file that was sampled, or
 * from the running kernel, and says where each is from. All that it reads is foreign.
 */
#ifndef EBPROF_ANNOTATOR_H
#define EBPROF_ANNOTATOR_H

#include "base/user.h"
#include "elf/debuginfod.h"
#include "output/annotated.h"
#include "output/annotation.h"

struct annotator_options {
	const char *const *source_dirs;		/* looked in first; borrowed */
	size_t n_source_dirs;
	struct debuginfod *debuginfod;		/* NULL: not asked; borrowed */
	/*
	 * Others get it: only sources that all users may read, and that this one can reach; of
	 * what is in a target's root only the first holds. NULL: whatever we may read; borrowed.
	 */
	const struct user *shared;
	int live;		/* profiles are of this machine, and of now */
	const char *kcore;			/* NULL: /proc/kcore */
};

struct annotator;

/* Loads capstone where it is there: before a sandbox. Reads nothing foreign. */
struct annotator *annotator_new(const struct annotator_options *o);
/* Takes NULL. */
void annotator_free(struct annotator *a);

/*
 * The function of that name in @module (NULL: in any image) of @p, whose @sums are. NULL: none was
 * sampled. What is kept of files is for the next call, with whatever profile.
 */
struct annotation *annotator_make(struct annotator *a, const struct profile *p,
				  const struct annotated_sums *sums, const char *name,
				  const char *module);

#endif
