/* SPDX-License-Identifier: MIT */
/*
 * Two views of one stack made one: the native frames, and those that an interpreter
 * runs, which it keeps apart.
 *
 * Each call of the interpreter is one native frame in its own code, and one
 * run of the language's frames, which ends with a mark (EBP_FRAME_ENTRY). Both are
 * in the same order, so they are paired one by one.
 */
#ifndef EBPROF_LANG_MERGE_H
#define EBPROF_LANG_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "lang/lang.h"

struct lang_merge {
	/* whether a native frame is in the interpreter's own code; its parts stand before it */
	enum lang_runs (*runs)(void *ctx, uint64_t frame);
	void *ctx;
	/*
	 * The native frames reach the root: pairs are counted from there, else from the leaf. The
	 * innermost call may have no frame of the language yet, or no more.
	 */
	int complete;
	int keep_native;	/* the interpreter's own frames stay, outside of what they run */
};

/*
 * Merges @words, leaf first, native ones first (bpf/frame.h), to @out, which has room for as
 * many. Returns how many frames are there. Without frames of a language they stay as they are.
 */
size_t lang_merge(const struct lang_merge *m, const uint64_t *words, size_t n, uint64_t *out);

/* Whether the language's frames in @words end before their root: there are more, not read. */
int lang_is_cut(const uint64_t *words, size_t n);

#endif
