/* SPDX-License-Identifier: MIT */
/*
 * The frames of the flame graph page (html.c): a label for each function that was sampled, one more
 * where it was inlined, and one for each thread, as output/calltree wants them. Functions stand
 * by name, then threads by process; where the recording was not per thread, those of one name in
 * processes of one name are one. All is owned by it, texts are the profile's.
 */
#ifndef EBPROF_HTML_LABELS_H
#define EBPROF_HTML_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "output/calltree.h"
#include "profile/profile.h"

struct html_function {
	uint32_t function;	/* of the profile, or nfunctions */
	int inlined;
	const char *name, *module;
	enum frame_kind kind;
	/* where most of its samples were; string and number, 0: not known */
	uint32_t file, line;
};

struct html_thread {
	const char *process, *comm;
	pid_t pid, tid;		/* 0: several, or not known */
	uint32_t group;		/* equal for the threads of one process, dense, in order */
};

struct html_labels {
	struct html_function *functions;	size_t nfunctions;
	/* their labels begin at nfunctions */
	struct html_thread *threads;		size_t nthreads;
	struct calltree_labels tree;
	uint32_t *of_function, *of_inlined, *of_thread;	/* what @tree points to */
};

struct html_labels *html_labels_new(const struct profile *p);
void html_labels_free(struct html_labels *l);

#endif
