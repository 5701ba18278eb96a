/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a V8 keeps what its frames are of: a layout, which user space makes of an image, and what
 * the BPF programs send of a function.
 *
 * All offsets are in bytes. V8 tags pointers into its heap with 1, integers ("Smi") with 0 and 32
 * bits of room below them.
 */
#ifndef EBPROF_V8_H
#define EBPROF_V8_H

#include "bpf/ebprof.h"

#define EBP_V8_WORDS	8	/* of a frame from fp - 48 on, and of the objects that are read */

/* Flags of a layout. */
/* a Code object ends in its instructions; else it has their address */
#define EBP_V8_CODE_INSIDE	1u

/*
 * Offsets in an object of which the first words are read are those of a whole word below
 * 8 * EBP_V8_WORDS.
 */
struct ebp_v8 {
	/* functions have a handle of an entry in a table of Code: */
	__s64 isolate;			/* the thread's, from its thread pointer; 0: no handles */
	__u32 dispatch;			/* of the table's address in the isolate */
	__u16 version;			/* major */
	__u16 flags;
	/* instance types */
	__u16 shared_type, script_type, bytecode_type, code_type;
	__u16 bytes_type, bytes_trusted_type;
	__u16 nonstring_type;		/* the first that is no string's */
	/* words of a frame */
	__u16 slot_bytecode, slot_offset;
	/* of JSFunction */
	__u16 function_shared, function_code;
	/* of SharedFunctionInfo */
	__u16 shared_data, shared_name, shared_script;
	/* of Script */
	__u16 script_source, script_name, script_id;
	/* of Code: where instructions begin, or the word that says it; table of positions */
	__u16 code_start, code_size, code_table;
	/* of BytecodeArray */
	__u16 bytecode_table, bytecode_start;
	/* of ScopeInfo: the number of locals, and the first of them */
	__u16 scope_count, scope_locals;
	/* of Code: its kind is in the low four bits; data for what it is to be undone by */
	__u16 code_flags, code_deopt;
	/* words of that data, from its first element on: literals, where what was inlined */
	__u16 deopt_literals, deopt_inlined;
	__u16 baseline_kind;		/* of code that is a copy of bytecode; 0: none */
	/* of what holds the instructions, where that is not Code: from its beginning to them */
	__u16 stream_start;
	/* types of frames of code that is no function's; 0: not known */
	__u16 regexp_frame, wasm_frame;
	__u16 reserved[3];
};
_Static_assert(sizeof(struct ebp_v8) == 88, "wire");

#define EBP_V8_SCOPE	16	/* words of a ScopeInfo that are sent */

enum ebp_v8_kind {
	EBP_V8_INTERPRETED,
	EBP_V8_COMPILED,	/* a place is an offset in the code */
	/*
	 * compiled, but not the code that its function has now: a place is the low bits of the pc,
	 * if that was there
	 */
	EBP_V8_UNPLACED,
	/* Code that is no function's, known by the type of its frame alone. */
	EBP_V8_REGEXP,
	EBP_V8_WASM,
};

/* The table of a struct ebp_code of V8 begins with this; then come positions, as V8 has them. */
struct ebp_v8_code {
	/* tagged pointers; 0: none */
	__u64 shared, script, code, source;
	__u64 pc;		/* of code that its function does not have; 0: none */
	struct ebp_v8 layout;
	__u32 script_id;
	__u16 kind;		/* enum ebp_v8_kind */
	__u16 reserved;
	__u32 code_flags;
	__u32 reserved2;
	/* of the ScopeInfo: two words before its locals, and those behind them */
	__u64 scope_before[2], scope[EBP_V8_SCOPE];
};
_Static_assert(sizeof(struct ebp_v8_code) == 160 + 8 * EBP_V8_SCOPE, "wire");

#endif
