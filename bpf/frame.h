/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words that a user stack consists of, the leaf first. The BPF programs and src/unwind
 * write them, src/session/frame_word reads them.
 *
 *	bit 63	62..58		57..0
 *	1	image (62..40), offset (39..0)	code in a file: image number, offset in the file
 *	0	0		address		code at an address of the process
 *	0	language	57: entry, 56..20: code, 19..0: place
 *						a frame of an interpreter
 *
 * A position is where the program was: a return address less 1, so that it lies in its call.
 *
 * Words with bit 63 clear mean something in their process only, so a stack that has one is the
 * stack of one process (the id is hashed with the process).
 *
 * Frames of listed languages stand behind all others, the leaf first, too; user space puts them
 * where they belong (lang/lang_merge). The interpreter runs some of them for each time that it is
 * called; `entry` marks the outermost of these. Those of other languages are where machine frames
 * are. `code` is an id of what is run, which a record has
 * explained (struct ebp_code); it is one process's. `place` is where in it, in units of the
 * runtime's own; all ones: not known.
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

#define EBP_LANGUAGE_SHIFT	58
#define EBP_LANGUAGE_MASK	31

/* Which interpreter a frame is of. A new one needs a row in src/session/frame_word.c. */
enum ebp_language {
	EBP_LANGUAGE_NONE,	/* machine code */
	/* Listed: the interpreter keeps its frames in a list of its own. */
	EBP_LANGUAGE_PYTHON,
	EBP_LANGUAGE_RUBY,
	EBP_LANGUAGE_PHP,
	EBP_LANGUAGE_PERL,
	EBP_LANGUAGE_LUA,
	/* From here on: frames are machine frames, and stand among those of machine code. */
	EBP_LANGUAGE_MACHINE = 16,
	EBP_LANGUAGE_V8,	/* JavaScript */
	EBP_LANGUAGE_HOTSPOT,	/* Java */
	EBP_LANGUAGE_LUAJIT,
	EBP_LANGUAGES = EBP_LANGUAGE_MASK + 1,
};

#define EBP_FRAME_ENTRY		(1ull << 57)
#define EBP_FRAME_TRACE		EBP_FRAME_ENTRY	/* of LuaJIT: it was run by code of a trace */
#define EBP_CODE_SHIFT		20
#define EBP_CODE_BITS		37
#define EBP_PLACE_NONE		((1u << EBP_CODE_SHIFT) - 1)
/* Of Ruby: the frame says that the collector runs, which may be in another thread. */
#define EBP_PLACE_COLLECTS	(EBP_PLACE_NONE - 1)
/*
 * No code: the interpreter was called, and runs none yet; without EBP_FRAME_ENTRY, as the last
 * frame: there are more, which were not read.
 */
#define EBP_CODE_NONE		0
#define EBP_CODE_UNNAMED	1	/* what it is could not be sent */
#define EBP_CODE_FIRST		2

#define EBP_FRAME_OF_CODE(language, code, place)                             \
	((__u64)(language) << EBP_LANGUAGE_SHIFT |                           \
	 ((__u64)(code) & ((1ull << EBP_CODE_BITS) - 1)) << EBP_CODE_SHIFT | \
	 ((place) & EBP_PLACE_NONE))
#define EBP_FRAME_IS_OF_CODE(word) (EBP_FRAME_IS_OF_PROCESS(word) && (word) >> EBP_LANGUAGE_SHIFT)
#define EBP_FRAME_LANGUAGE_OF(word) ((__u32)((word) >> EBP_LANGUAGE_SHIFT) & EBP_LANGUAGE_MASK)
#define EBP_FRAME_IS_LISTED(word) \
	(EBP_FRAME_IS_OF_CODE(word) && EBP_FRAME_LANGUAGE_OF(word) < EBP_LANGUAGE_MACHINE)
#define EBP_FRAME_CODE_OF(word) ((word) >> EBP_CODE_SHIFT & ((1ull << EBP_CODE_BITS) - 1))

#endif
