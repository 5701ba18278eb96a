/* SPDX-License-Identifier: MIT */
/* The frames in the words of a user stack (bpf/frame.h): the one place that decodes them. */
#ifndef EBPROF_FRAME_WORD_H
#define EBPROF_FRAME_WORD_H

#include <stdint.h>

#include "bpf/frame.h"
#include "profile/frame_kind.h"

enum frame_where {
	FRAME_IN_FILE,		/* at an offset in an image's file */
	FRAME_IN_PROCESS,	/* at an address of the process */
	FRAME_IN_CODE,		/* in what an interpreter runs */
	FRAME_NOWHERE,		/* at an address that no process has */
};

struct frame_word {
	enum frame_where where;
	enum frame_kind kind;	/* of the language; FRAME_USER where it is machine code */
	enum ebp_language language;
	uint32_t image;		/* FRAME_IN_FILE: which */
	uint64_t address;	/* offset or address */
	uint64_t code;		/* FRAME_IN_CODE: its id */
	uint32_t place;		/* ... and where in it, or EBP_PLACE_NONE */
};

/* The frame of @word into @out. It may be anything: an unknown language, an image nobody has. */
void frame_word_read(uint64_t word, struct frame_word *out);

#endif
