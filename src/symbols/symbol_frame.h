/* SPDX-License-Identifier: MIT */
/* A function on the stack. All texts are cleaned and live as long as the symbolizer. */
#ifndef EBPROF_SYMBOL_FRAME_H
#define EBPROF_SYMBOL_FRAME_H

#include <stdint.h>

struct symbol_frame {
	const char *name;
	const char *file;		/* of the source, "" where unknown */
	uint32_t line;			/* 0: unknown */
};

#endif
