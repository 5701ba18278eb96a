/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lua in a process: its layout (lang.h). */
#ifndef EBPROF_LUA_H
#define EBPROF_LUA_H

#include "bpf/lang.h"

/* The opcodes that say what a called function is called; 255: this version has none. */
enum ebp_lua_op {
	EBP_LUA_MOVE,
	EBP_LUA_UPVALUE,	/* GETUPVAL */
	EBP_LUA_GLOBAL,		/* GETGLOBAL: constant Bx */
	EBP_LUA_FIELD,		/* GETTABUP, GETFIELD: constant C */
	EBP_LUA_INDEX,		/* GETTABLE */
	EBP_LUA_INTEGER,	/* GETI */
	EBP_LUA_SELF,
	EBP_LUA_TABLE_UP,	/* GETTABUP of 5.2 and 5.3: C may be a register */
	EBP_LUA_JMP,
	EBP_LUA_CALL,		/* behind it is TAILCALL */
	EBP_LUA_ITERATE,	/* TFORLOOP of 5.1, TFORCALL */
	/* of 5.1: behind it is what its upvalues are, as instructions that set register 0 */
	EBP_LUA_CLOSURE,
	EBP_LUA_OPS,
};

/* Where a Lua keeps what; offsets in bytes. What none has moved is in lua_step.h. */
struct ebp_lua {
	__u16 version;		/* 100 * major + minor: 504 */
	/* of lua_State; the global state is so far behind the main thread: both are one block */
	__u16 status, global, ci, stack, stack_end, global_behind;
	__u16 array;		/* CallInfo is one of an array, of so many bytes each; 0: a list */
	/* of lua_State, where CallInfo is in an array: its first one, the saved instruction */
	__u16 first_ci, running;
	/* of CallInfo */
	__u16 function, saved, flags;
	/* in the flags: it began a loop, or went on with one; was a tail call's */
	__u16 fresh, inner, tail;
	/* of closures: of Lua's the Proto, of C's the first upvalue */
	__u16 proto, upvalue;
	/* of Proto, all of which are words, but the numbers: words' halves */
	__u16 constants, code, lines, locals, upvalues, source, far_lines;
	__u16 ncode, nlines, nlocals, nfar_lines, first_line;
	__u16 upvalue_bytes;
	/* of an instruction: bits of the opcode, behind which is A; where B, C, and J are */
	__u8 op_bits, b_at, b_bits, c_at, c_bits, bx_at, j_at;
	__u8 ops[EBP_LUA_OPS];
	__u8 line_bytes;
	__u32 j_zero;		/* what J is of a jump to the next instruction */
	__u64 sets[2];		/* opcodes that set register A */
};
_Static_assert(sizeof(struct ebp_lua) <= 8 * EBP_LAYOUT_WORDS, "wire");

/* What stands at the start of a record's line table. */
struct ebp_lua_table {
	__u32 call;		/* the instruction that called it; EBP_LUA_NO_CALL */
	__u32 nlines, nfar;	/* of all: instructions; pairs of a place and its line */
	__u32 sent, far_sent;	/* bytes of them that are there */
	__u8 name;		/* enum ebp_lua_name */
	__u8 is_lua;		/* 0: it is C */
	__u16 reserved;
	__u64 lines, far_lines;	/* addresses */
};
#define EBP_LUA_NO_CALL		(~0u)
#define EBP_LUA_FAR_BYTES	512u	/* behind the table; then the lines */
#define EBP_LUA_LINE_BYTES	2047u

/* What is known of a name that is no string of the process. */
enum ebp_lua_name {
	EBP_LUA_NO_NAME,
	EBP_LUA_NAMED,		/* ... it is one */
	EBP_LUA_SOME_FIELD,	/* its key is in a register */
	EBP_LUA_SOME_INTEGER,	/* its key is a number */
};
_Static_assert(sizeof(struct ebp_lua_table) == 40, "wire");
_Static_assert(sizeof(struct ebp_lua_table) + EBP_LUA_FAR_BYTES + EBP_LUA_LINE_BYTES <
	       EBP_CODE_TABLE, "room");

#endif
