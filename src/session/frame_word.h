/* SPDX-License-Identifier: MIT */
/* The frames in the words of a user stack (bpf/frame.h): the one place that decodes them. */
#ifndef EBPROF_FRAME_WORD_H
#define EBPROF_FRAME_WORD_H

#include <stdint.h>

#include "bpf/frame.h"
#include "profile/frame_kind.h"

enum frame_where {
	FRAME_IN_FILE,		/* at an offset in an image's file */
	FRAME_IN_PROCESS,	/* at an address of the process, or described by an object there */
	FRAME_NOWHERE,		/* at an address that no process has */
};

struct frame_word {
	enum frame_where where;
	enum frame_kind kind;	/* of the language; FRAME_USER where it is machine code */
	enum ebp_language language;
	uint32_t image;		/* FRAME_IN_FILE: which */
	uint64_t address;	/* offset, address, or an interpreter's value */
	uint32_t nmore;
	const __u64 *more;	/* the words that follow, of an interpreter's frame */
};

/*
 * The frame that @words, which are @n, begin with, into @out. Returns how many words it took, at
 * least 1, or 0 where there is none: at the end, or where the stack was cut within a frame. Words
 * may be anything: an unknown language, an image that nobody has.
 */
uint32_t frame_word_read(const __u64 *words, uint32_t n, struct frame_word *out);

#endif
