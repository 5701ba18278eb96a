/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words that a user stack consists of, the leaf first. The BPF programs and src/unwind
 * write them, src/session/frame_word reads them.
 *
 *	bit 63	62..58		57..56	55..0
 *	1	image (62..40), offset (39..0)	code in a file: the image's number, offset in the file
 *	0	0		0	address	code at an address of the process
 *	0	language	more	value	a frame of an interpreter, in 2 + more words
 *
 * A position is where the program was: a return address less 1, so that it lies in its call.
 *
 * Words with bit 63 clear mean something in their process only, so a stack that has one is the
 * stack of one process (the id is hashed with the process).
 *
 * A frame of an interpreter: its first word carries the language and 56 bits of value, usually the
 * address of the object that describes the code; then come more + 1 words (1 to 4) of 63 bits
 * each, bit 63 clear. What they mean is between the language's BPF program and its reader in user
 * space; for Python: the code object's address, then the offset of the instruction and a checksum.
 * The words of a frame stand together and in this order, although the stack goes from the leaf to
 * the root, so a stack is read from its beginning. Where a stack was cut within a frame, that
 * frame is left out.
 */
#ifndef EBPROF_FRAME_H
#define EBPROF_FRAME_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define EBP_IMAGE_BITS	23
#define EBP_IMAGE_NONE	((1u << EBP_IMAGE_BITS) - 1)
#define EBP_OFFSET_BITS	40

#define EBP_FRAME_IMAGE		(1ull << 63)
#define EBP_FRAME(image, offset)                               \
	(EBP_FRAME_IMAGE | (__u64)(image) << EBP_OFFSET_BITS | \
	 ((offset) & ((1ull << EBP_OFFSET_BITS) - 1)))
/* The image of a word with bit 63; EBP_IMAGE_NONE: an address that no process has. */
#define EBP_FRAME_IMAGE_OF(word) ((__u32)((word) >> EBP_OFFSET_BITS) & EBP_IMAGE_NONE)
#define EBP_FRAME_IS_OF_PROCESS(word) (!((word) & EBP_FRAME_IMAGE))

/* Addresses of processes are below: 56 bits with 5-level paging on x86-64, 52 on aarch64. */
#define EBP_ADDRESS_BITS	56
#define EBP_ADDRESS_MASK	((1ull << EBP_ADDRESS_BITS) - 1)
/*
 * The frame of an address that nobody has checked. One that no process can have would read as
 * another kind of frame: of such a one the low 40 bits stay, the others become ones. (The vsyscall
 * page, which is above all processes, keeps its address.)
 */
#define EBP_FRAME_WILD(address) \
	((address) >> EBP_ADDRESS_BITS ? EBP_FRAME(EBP_IMAGE_NONE, address) : (address))

#define EBP_MORE_SHIFT		56
#define EBP_MORE_MASK		3ull
#define EBP_LANGUAGE_SHIFT	58
#define EBP_LANGUAGE_MASK	31ull

/* Which interpreter a frame is of. A new one needs a row in src/session/frame_word.c. */
enum ebp_language {
	EBP_LANGUAGE_NONE,	/* machine code */
	EBP_LANGUAGE_PYTHON,
	EBP_LANGUAGES,		/* at most EBP_LANGUAGE_MASK + 1 */
};

/* Words of one frame at most. */
#define EBP_FRAME_WORDS_MAX	(2 + EBP_MORE_MASK)

/* The first word of a frame of @words words, 2 to EBP_FRAME_WORDS_MAX; those behind it. */
#define EBP_FRAME_LANGUAGE(language, words, value)                  \
	((__u64)(language) << EBP_LANGUAGE_SHIFT |                  \
	 (__u64)((words) - 2) << EBP_MORE_SHIFT | ((value) & EBP_ADDRESS_MASK))
#define EBP_FRAME_MORE(value) ((value) & ~EBP_FRAME_IMAGE)

#endif
