/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRuby in a process: its layout (lang.h), and what is sent of its code. */
#ifndef EBPROF_RUBY_H
#define EBPROF_RUBY_H

#include "bpf/lang.h"

/* How the thread's execution context is found; else by the slots of its thread-local variable. */
/* a thread-specific value is the thread (to 2.7) */
#define EBP_RUBY_KEY		1u
#define EBP_RUBY_STATIC		2u	/* at a fixed distance of the thread pointer */
/* How objects look. */
#define EBP_RUBY_SHORT		4u	/* the flags of a string have its length (to 3.1) */
/* a class has its name among its instance variables (to 3.1) */
#define EBP_RUBY_VARIABLES	8u
#define EBP_RUBY_VM_SLOT	16u	/* the address of the VM's variable is in a slot */

/* Where CRuby keeps what; offsets in bytes. */
struct ebp_ruby {
	/* offsets from the mapping's bias: */
	/* of a key, or of two words: number of the module, offset of the variable */
	__u64 slot;
	__u64 ids;		/* of what leads from numbers of symbols to their names */
	__u64 object;		/* of the variable that has the class Object */
	__s64 distance;		/* of the variable from there */
	__u32 flags;		/* EBP_RUBY_* */
	__u16 thread_id, thread_ec;	/* of a thread; EBP_RUBY_KEY */
	__u16 frame_bytes;	/* of a control frame */
	__u16 insns;		/* of an iseq's body: its table of lines */
	__u16 entry_bytes;	/* of such a line */
	__u16 last_operator;	/* of symbols: the last whose number is itself */
	/* of a class, if that is not EBP_RUBY_VARIABLES: its name, its object; 0: not known */
	__u16 class_name, class_attached;
	__u16 version;		/* 10 * major + minor */
	/* whether the collector runs: a bit of what the VM has; a mask of 0: not known */
	__u8 collects, collects_at;
	__u32 singleton;	/* flag of a class: it is one object's */
	__u32 space;		/* of the VM: the object space, with @collects at @collects_at */
	__u64 vm;		/* offset from the bias, too */
};
_Static_assert(sizeof(struct ebp_ruby) == 72, "wire");
_Static_assert(sizeof(struct ebp_ruby) <= 8 * EBP_LAYOUT_WORDS, "wire");

/* The table in struct ebp_code: this, the index of positions, and lines behind it. */
struct ebp_ruby_table {
	__u32 index_bytes;	/* that were read */
	__u32 entries;		/* of lines, all of them */
	__u32 entry_bytes;
	__u32 base;		/* bytes of the name without "block in"; 0: not known */
	__u32 singleton;	/* the scope is the object itself, not its class */
	__u32 index_room;	/* bytes from the index to the lines */
	/* addresses, and all bytes of the index: what was not sent can be read later */
	__u64 index_at, lines_at;
	__u32 index_all;
	__u32 reserved;
};
_Static_assert(sizeof(struct ebp_ruby_table) == 48, "wire");

#define EBP_RUBY_INDEX	1024	/* bytes of the index that are sent */
#define EBP_RUBY_LINES	3000	/* of lines */
_Static_assert(sizeof(struct ebp_ruby_table) + EBP_RUBY_INDEX + EBP_RUBY_LINES < EBP_CODE_TABLE,
	       "room");

#endif
