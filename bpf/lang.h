/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Languages in a process: the layouts of their runtimes, and what the code that they run says of
 * itself.
 *
 * Layouts are per image, because one build has one layout. Addresses in them are offsets
 * from a mapping's bias, as those of functions are: bias + offset = address.
 */
#ifndef EBPROF_LANG_WIRE_H
#define EBPROF_LANG_WIRE_H

#include "bpf/ebprof.h"
#include "bpf/frame.h"
#include "bpf/unwind.h"

#define EBP_LAYOUTS_MAX	  64	/* builds of runtimes at one time */
#define EBP_LAYOUT_WORDS  59

struct ebp_layout {
	__u32 language;			/* enum ebp_language */
	/* of a language whose frames are found from that of its loop: where its code is, else 0 */
	__u32 loop_bytes;
	__u64 loop;
	/*
	 * of a language whose compiled code runs on the frame of that loop, which jumps there:
	 * bytes from @loop to behind such a jump, and the rule that holds there (unwind.h); else 0
	 */
	__u32 jump, jump_rule;
	__u64 text, text_bytes;		/* the runtime's own code */
	__u64 words[EBP_LAYOUT_WORDS];	/* the language's own structure, as struct ebp_python */
};
_Static_assert(sizeof(struct ebp_layout) == 512, "wire");

/* The same in a process, by the mapping's bias. */
static inline void ebp_layout_jump(const struct ebp_layout *l, __u64 bias, struct ebp_jump *out)
{
	out->loop = bias + l->loop;
	out->from = l->jump ? out->loop + l->jump : 0;
	out->text = bias + l->text;
	out->text_bytes = l->text_bytes;
	out->rule = l->jump_rule;
}

#define EBP_CODES	16384		/* slots of the cache of code */

#define EBP_CODE_NAME	256		/* bytes of a name that are sent */
#define EBP_CODE_SCOPE	256		/* of what it belongs to: a class, a package */
#define EBP_CODE_FILE	512
#define EBP_CODE_TABLE	4096		/* bytes of a line table that are sent */

#define EBP_TEXT_UTF8	8		/* instead of a width: bytes of UTF-8 */

#define EBP_TEXT_ENDS	255		/* as its length_at */

/* A string as it lies in the process. */
struct ebp_text {
	__u32 length;		/* characters */
	/* bytes of a character: 1, 2, 4; EBP_TEXT_UTF8; 0: it could not be read */
	__u8 width;
	/*
	 * Of an @object that was not in memory: where it has its length, a __u16 of bytes, and
	 * where its UTF-8; EBP_TEXT_ENDS: it ends with a zero. User space can have it brought
	 * there.
	 */
	__u8 length_at, text_at;
	__u8 reserved;
	__u64 object;		/* address; 0: none */
};

/* EBP_CODE in the ring buffer: what an id of code means. Sent before it is used. */
struct ebp_code {
	struct ebp_head head;	/* n: bytes of the line table that follow */
	__u64 id;
	struct ebp_process process;
	__u64 table;		/* address of the line table's bytes */
	__u32 table_bytes;	/* all of them */
	__u32 first_line;
	__u32 slot;		/* of the cache: an id holds until the slot has another */
	__u16 language;		/* enum ebp_language */
	__u16 version;		/* of the runtime, as its language has it */
	struct ebp_text name, scope, file;
	__u8 name_bytes[EBP_CODE_NAME];
	__u8 scope_bytes[EBP_CODE_SCOPE];
	__u8 file_bytes[EBP_CODE_FILE];
	__u8 table_data[];
};
_Static_assert(sizeof(struct ebp_code) ==
	       104 + EBP_CODE_NAME + EBP_CODE_SCOPE + EBP_CODE_FILE, "wire");

#endif
