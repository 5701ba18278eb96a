/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* LuaJIT 2.1 in a process: its layout (lang.h). x86-64, with pointers of 32 or 64 bits (GC64). */
#ifndef EBPROF_LUAJIT_H
#define EBPROF_LUAJIT_H

#include "bpf/lang.h"

/* Where a LuaJIT keeps what; offsets in bytes. References are of 8 bytes where it is wide, or 4. */
struct ebp_luajit {
	__u32 wide;
	/* of the global state; of the array of traces, which is near that: it and its size */
	__u32 vmstate, jit_base, traces;
	/* of a frame of the interpreter on the C stack, from its rsp on */
	__u16 c_bytes, c_thread, c_pc, c_results, c_previous;
	__u16 type;		/* of all objects: a byte */
	/* of lua_State */
	__u16 global, base, stack, stack_end, c_frame;
	/* of a function: its instructions, its C function */
	__u16 code, c_function;
	/* of a GCproto, behind which are its instructions */
	__u16 proto_bytes, ncode, constants, source, first_line, lines, all_bytes;
	__u16 mcode;		/* of a GCtrace */
	__u16 text;		/* of a string */
};
_Static_assert(sizeof(struct ebp_luajit) <= 8 * EBP_LAYOUT_WORDS, "wire");

/* Opcodes of 2.1 that say what a called function is called. */
enum ebp_luajit_op {
	EBP_LUAJIT_MOV = 18,
	EBP_LUAJIT_KNIL = 44,
	EBP_LUAJIT_UGET = 45,
	EBP_LUAJIT_GGET = 54,
	EBP_LUAJIT_TGETS = 57,
	EBP_LUAJIT_ITERC = 69,
};
#define EBP_LUAJIT_OP(instruction) ((__u32)(instruction) & 255)
#define EBP_LUAJIT_A(instruction)  ((__u32)(instruction) >> 8 & 255)
#define EBP_LUAJIT_C(instruction)  ((__u32)(instruction) >> 16 & 255)
#define EBP_LUAJIT_D(instruction)  ((__u32)(instruction) >> 16)

/* Whether opcode @op sets register A; that and all above. */
#define EBP_LUAJIT_SETS(op)     ((op) < 128 && EBP_LUAJIT_BIT(op, 0x0f782ffffffc3000, 0xfe000000))
#define EBP_LUAJIT_SETS_ALL(op) ((op) < 128 && EBP_LUAJIT_BIT(op, 0x8000100000000000, 0x1fe3fe))
#define EBP_LUAJIT_BIT(op, low, high) (((op) < 64 ? low##ull : high##ull) >> ((op) & 63) & 1)

#define EBP_LUAJIT_NONE		(~0u)

/* Bytes of each part that is sent, at most. They follow the table, in this order. */
#define EBP_LUAJIT_BEFORE	64u	/* instructions to that which called, and with it */
#define EBP_LUAJIT_NAMES	1024u	/* of upvalues and local variables of the caller */
#define EBP_LUAJIT_LINES	2047u

/* What stands at the start of a record's table. */
struct ebp_luajit_table {
	__u32 call;		/* number of the instruction that called it; EBP_LUAJIT_NONE */
	__u32 ncode;		/* its own instructions */
	__u32 nlines;		/* between its first one and its last */
	__u32 first;		/* the number of the first instruction that is there */
	__u32 nbefore;		/* how many are, to the one that called, and with it */
	__u32 names_sent;	/* bytes that are there */
	__u32 variables;	/* where in them local variables begin, behind the upvalues */
	__u32 names;		/* bytes of both */
	__u32 lines_sent;
	__u32 is_lua;		/* 0: it is C */
	__u64 lines;		/* addresses; 0: it has none */
	__u64 names_at;
};
_Static_assert(sizeof(struct ebp_luajit_table) == 56, "wire");
#define EBP_LUAJIT_NAMES_AT (sizeof(struct ebp_luajit_table) + EBP_LUAJIT_BEFORE * 4)
#define EBP_LUAJIT_LINES_AT (EBP_LUAJIT_NAMES_AT + EBP_LUAJIT_NAMES)
_Static_assert(EBP_LUAJIT_LINES_AT + EBP_LUAJIT_LINES < EBP_CODE_TABLE, "room");

#endif
