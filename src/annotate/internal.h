/* SPDX-License-Identifier: MIT */
/* What the parts of the annotator share. */
#ifndef EBPROF_ANNOTATE_INTERNAL_H
#define EBPROF_ANNOTATE_INTERNAL_H

#include "annotate/annotator.h"
#include "annotate/targets.h"
#include "base/text_vec.h"
#include "elf/image.h"
#include "symbols/disassembly.h"
#include "symbols/kallsyms.h"
#include "symbols/symbolizer.h"

#define ANNOTATE_PLACES 2048	/* bytes of places after which no more are said */

struct annotator {
	struct annotator_options o;
	struct disassembler *disassembler;	/* NULL: there is none */
	struct images *images;			/* NULL: nothing was asked for so far */
	struct symbolizer *symbolizer;
	/* The running kernel's memory and symbols; opened once, when code of it is wanted. */
	int kernel_sought;
	int core_fd;				/* -1: none */
	struct elf_file *core;			/* NULL: @why_no_kernel */
	struct kallsyms *kallsyms;
	const char *why_no_kernel;
};

/* One function that is being annotated. */
struct annotating {
	struct annotator *by;
	const struct profile *p;
	struct profile_view v;
	const struct annotated *f;
	struct annotate_targets targets;
	struct annotation *out;
};

/* Lines of source, with those around them, and what was inlined there. */
void annotate_sources(struct annotating *a);
/* Adds to @out a place that another one was inlined into: " < outer.c:9 [outer]"; NULL: no name. */
void annotate_place(struct text_vec *out, const char *file, uint32_t line, const char *function);
/* Instructions; what cannot be shown is said. */
void annotate_code(struct annotating *a);
/* The file of a module; NULL: it is not here, or cannot be told from another one. */
const struct image *annotate_image(struct annotating *a, uint32_t module);
/*
 * The code of the kernel at @address, in a function that was called @name when it was sampled. 0,
 * or -ENOENT with why in @why.
 */
int annotate_kernel(struct annotating *a, struct disassembly *d, uint64_t address, const char *name,
		    const char **why);
/* Draws arrows beside the rows from @first on for the jumps among them. */
void annotate_arrows(struct annotation *out, size_t first);
/* Which addresses the samples of @p can have: lines, and a NULL. */
const char *const *annotate_skid(const struct profile *p);

#endif
