/* SPDX-License-Identifier: MIT */
/*
 * What a frame is: code of a program, of the kernel, made at run time, of an interpreter, or a mark.
 *
 * All that depends on the kind of a frame is in its row here, which outputs, readers and the live
 * view index. A new kind is one value of the enum and one row.
 */
#ifndef EBPROF_FRAME_KIND_H
#define EBPROF_FRAME_KIND_H

#include <stdint.h>

/* Saved profiles hold these numbers, so they stay as they are. */
enum frame_kind {
	FRAME_USER,	/* machine code of a program or a library */
	FRAME_KERNEL,	/* of the kernel or one of its modules */
	FRAME_MARK,	/* no code: [truncated: ...] and the like */
	FRAME_PYTHON,	/* a Python function */
	FRAME_KINDS,
};

struct frame_kind_row {
	const char *name;	/* in `-f json` */
};
extern const struct frame_kind_row frame_kinds[FRAME_KINDS];

#endif
