/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind tables that user space writes and the BPF programs read.
 *
 * All lies in shards: equal blocks of memory, each the one value of an ARRAY
 * map, mapped into user space and written in place. A `ref` is a place in
 * them: its byte offset over all shards, divided by 16. What a ref points to
 * never crosses from one shard to the next. Readers mask every offset and never trust
 * what they read: wrong tables give wrong frames, nothing worse.
 *
 * The tables of an object are keyed by offset in its *file*, not by virtual
 * address: one bias (a mapping's start less its file offset) then serves the
 * look-up and the frame's name.
 *
 *   process -> mapping rows -> object -> directory -> page block -> rule
 */
#ifndef EBPROF_UNWIND_H
#define EBPROF_UNWIND_H

#include "bpf/ebprof.h"
#include "bpf/frame.h"

#define EBP_SHARD_SHIFT	21
#define EBP_SHARD_BYTES	(1u << EBP_SHARD_SHIFT)
#define EBP_SHARD_MASK	(EBP_SHARD_BYTES - 1)
/* bytes behind each, so that a masked offset may be read past */
#define EBP_SHARD_SLACK	64
#define EBP_SHARDS_MAX	2048		/* 4 GiB */

/* Refs; 0 and 1 are taken, so the first 32 bytes of shard 0 hold nothing. */
#define EBP_REF_NONE	0		/* no tables for this page: not built, or evicted */
#define EBP_REF_GAP	1		/* built, and no rule anywhere in the page */
#define EBP_REF_SHIFT	4

/* A process's executable mappings: rows sorted by start, that do not overlap. */
#define EBP_ROWS_SHIFT	12		/* steps of the search */
#define EBP_ROWS_MAX	(1u << EBP_ROWS_SHIFT)

struct ebp_mapping {
	__u64 start, end;	/* addresses; end exclusive */
	__u64 bias;		/* address - bias = offset in the file */
	__u32 object;		/* ref of a struct ebp_object, or one of those below */
	/* number that frames carry (frame.h), or EBP_IMAGE_NONE: they carry addresses */
	__u32 image;
};
_Static_assert(sizeof(struct ebp_mapping) == 32, "wire");

#define EBP_OBJECT_NONE		0	/* code without CFI (JIT): frame pointers */
#define EBP_OBJECT_PENDING	1	/* its tables are not built yet */
/* the kernel's [uprobes] page: a return address was replaced */
#define EBP_OBJECT_UPROBES	2
#define EBP_OBJECT_FIRST	3	/* the first that can be a ref */

#define EBP_PAGE_SHIFT	16		/* 64 KiB of code a page block */
#define EBP_PAGE_BYTES	(1u << EBP_PAGE_SHIFT)
#define EBP_BUCKET_SHIFT 8		/* 256 bytes of code a bucket */
#define EBP_BUCKETS	256

struct ebp_object {
	__u32 dir;		/* ref of __u32 page[npages]: refs of page blocks */
	__u32 npages;
	__u32 first_page;	/* file offset >> EBP_PAGE_SHIFT of page[0] */
	__u32 exotic;		/* ref of struct ebp_exotic[nexotic]; 0: none */
	__u32 nexotic;
	__u32 flags;		/* EBP_OBJECT_* flags below */
	__u32 generation;	/* one more each time that its tables are built */
	__u32 reserved;
};
_Static_assert(sizeof(struct ebp_object) == 32, "wire");

/* Flags of an object. */
/* it has none at all: a frame pointer of 0 ends its stacks */
#define EBP_OBJECT_NO_CFI	1u

/*
 * A page block: this head, then __u16 dict[ndict] (rules), then __u8
 * low[nrows], then the rules' places in dict, __u8 rule[nrows], or, if
 * EBP_BLOCK_WIDE, __u16 wide[nrows] at the next even offset.
 *
 * A row holds from its code byte to the next row. The rows of bucket b are
 * first[b] .. first[b + 1] - 1; low is their offset in the bucket, ascending. The
 * rule of offset o of the page: with i = first[o >> 8] + the number of rows of
 * that bucket whose low <= (o & 255): i ? dict[rule[i - 1]] : before.
 */
struct ebp_block {
	__u16 nrows;		/* up to 65535; a page that would need more is EBP_REF_GAP */
	__u16 ndict;
	__u16 before;		/* rule at the beginning of the page */
	__u16 flags;		/* EBP_BLOCK_* */
	__u16 first[EBP_BUCKETS + 1];
};
_Static_assert(sizeof(struct ebp_block) == 522, "wire");
#define EBP_BLOCK_WIDE	1u

/*
 * A rule, 16 bits: how to get from a frame to its caller's.
 *
 *   15     1: special, see below
 *   14     base of the CFA. x86-64: 0 rsp, 1 rbp. aarch64: 0 sp, 1 x29
 *   13:11  what was saved where, EBP_SAVED_* of the architecture
 *   10:0   CFA - base, in units of 8 (x86-64) or 16 (aarch64) bytes
 */
#define EBP_RULE_SPECIAL	0x8000u
#define EBP_RULE_FP_BASE	0x4000u
#define EBP_RULE_SAVED_SHIFT	11
#define EBP_RULE_OFFSET_MASK	0x7ffu

/*
 * x86-64: the return address is at CFA - 8; rbp was not saved (0), or is at
 * CFA - 8 - 8 * saved, that is CFA-16 (1) ... CFA-64 (7).
 */

/* aarch64: where the caller's x29 (fp) and x30 (lr, the return address) are. */
enum ebp_saved_arm64 {
	EBP_SAVED_NOTHING,	/* both still in their registers; right in a leaf only */
	EBP_SAVED_PAIR_LOW,	/* fp at CFA - offset (where the frame begins), lr 8 above it */
	EBP_SAVED_PAIR_HIGH,	/* fp at CFA-16, lr at CFA-8 */
	EBP_SAVED_LR_LOW,	/* lr at CFA - offset; fp was not saved */
	EBP_SAVED_LR_HIGH,	/* lr at CFA-16; fp was not saved */
	EBP_SAVED_LR_TOP,	/* lr at CFA-8; fp was not saved */
	EBP_SAVED_PAIR_32,	/* fp at CFA-32, lr at CFA-24 */
	EBP_SAVED_PAIR_48,	/* fp at CFA-48, lr at CFA-40 */
};

/* Special rules, without EBP_RULE_SPECIAL. */
enum ebp_special {
	EBP_RULE_GAP,		/* no CFI here: frame pointers, for this frame only */
	EBP_RULE_STOP,		/* the stack's root: the return address is undefined */
	EBP_RULE_SIGNAL,	/* the kernel's signal frame: all registers are in it */
	EBP_RULE_UNSUPPORTED,	/* CFI that no rule can express */
	EBP_RULE_PLT10,		/* .plt, x86-64: CFA = rsp + 8 + (pc % 16 >= 10 ? 8 : 0) */
	EBP_RULE_PLT11,		/* the same with 11 */
	EBP_RULE_EXOTIC = 64,	/* from here on: 64 + index of a struct ebp_exotic */
};
#define EBP_EXOTIC_MAX	(0x7fff - EBP_RULE_EXOTIC)

/* Registers have DWARF's numbers (x86-64 psABI fig. 3.36; AADWARF64 4.1). */
struct ebp_exotic {
	__u8 cfa;		/* enum ebp_exotic_cfa */
	__u8 cfa_reg;
	__u8 fp;		/* enum ebp_exotic_place: where the caller's frame pointer is */
	__u8 fp_reg;
	__u8 ra;		/* enum ebp_exotic_place: the same for the return address */
	__u8 ra_reg;
	__u8 reserved[2];
	__s32 cfa_offset, cfa_add;
	__s32 fp_offset, ra_offset;
};
_Static_assert(sizeof(struct ebp_exotic) == 24, "wire");

enum ebp_exotic_cfa {
	EBP_CFA_REG,		/* cfa_reg + cfa_offset */
	EBP_CFA_DEREF,		/* *(cfa_reg + cfa_offset) + cfa_add */
};

enum ebp_exotic_place {
	EBP_AT_SAME,		/* not saved: in its register */
	EBP_AT_CFA,		/* *(CFA + offset) */
	EBP_AT_REG,		/* *(reg + offset), reg as it is in this frame */
	EBP_IN_REG,		/* in another register, reg */
	EBP_IS_CFA,		/* CFA + offset itself */
	EBP_AT_UNDEFINED,	/* lost; of the return address: the root */
};

/*
 * Of a process whose interpreter jumps to what it has compiled, which runs on the interpreter's own
 * frame; addresses.
 */
struct ebp_jump {
	__u64 loop;		/* the interpreter's function */
	__u64 from;		/* behind a jump in it; 0: there is none */
	__u64 text, text_bytes;	/* the code that calls it */
	__u64 rule;		/* of the CFA at the jump */
};

/* Value of the `spaces` map (key: tgid). */
struct ebp_space {
	/* the leader's start_boottime, or 0: any; guards against a PID used again */
	__u64 start;
	__u32 rows;		/* ref of struct ebp_mapping[nrows] */
	__u32 nrows;
	__u32 flags;		/* EBP_SPACE_* */
	/* numbers of the layouts of the runtimes that it maps (lang.h), of each kind; 0: none */
	__u32 lang;
	__u32 machine;
	__u32 reserved;
	__u64 lang_bias;	/* of that mapping, as in struct ebp_mapping */
	__u64 machine_bias;
};
_Static_assert(sizeof(struct ebp_space) == 48, "wire");
/* Flag of a layout's number in user space: of a language whose frames are machine frames. */
#define EBP_LAYOUT_MACHINE	(1u << 31)
#define EBP_SPACE_NO_RESCUE	1u	/* sending its stacks has not helped; do not */

/* --- The rescue: a sample that user space finishes. ------------------------ */

/* bytes of stack sent at most; compilers recurse through some 40 KiB */
#define EBP_STACK_COPY	65536
#define EBP_STACK_SHORT	16384	/* ... where the ring buffer is half full */
/* Whether a copy of @n bytes may have ended before the stack did. */
#define EBP_STACK_WAS_CUT(n) ((n) == EBP_STACK_COPY || (n) == EBP_STACK_SHORT)
/* room for either architecture, by DWARF number; 16 (x86-64) and 32 (aarch64): pc */
#define EBP_REGS	34

struct ebp_registers {
	__u64 r[EBP_REGS];	/* x86-64: 0-15, pc in 16. aarch64: x0-x30, sp in 31, pc in 32 */
};

/* Where the kernel stopped: at a frame that was called, of which these three are known. */
struct ebp_stop {
	__u64 pc, sp, fp;
	__u32 n;		/* words of the EBP_LANG_STACK before it; 0: no such place */
	__u32 reserved;
};

/*
 * EBP_RESCUE in the ring buffer. It is the whole sample, and counted by nobody
 * else, unless it is of an interval (ebprof.h). The registers are those of the leaf; the stack
 * bytes begin a little below its stack pointer, or at the first page above that is in memory; with
 * a @stop they begin there.
 *
 * Frames that only the kernel can name are in the EBP_LANG_STACK: those of a list, and, below
 * @stop, machine frames of a language with all that are among them.
 */
struct ebp_rescue {
	struct ebp_head head;	/* n: bytes of stack that follow, a multiple of 8 */
	__u64 time;
	/* user_id 0, but of an interval; result: why the kernel could not */
	struct ebp_key key;
	struct ebp_registers regs;
	/* id of an EBP_LANG_STACK; 0: no interpreter ran */
	__u64 lang_id;
	__u32 cpu;
	/*
	 * Bit N: the Nth page from that of @sp on was not in memory, as those in a large frame that
	 * nothing has touched yet; its bytes here say nothing.
	 */
	__u32 holes;
	struct ebp_stop stop;
	__u64 sp;		/* address of the first byte of stack */
	/*
	 * Of a thread that sleeps, which is sent without its stack; else 0: where its thread-local
	 * storage is, and ns of CPU time that it had had.
	 */
	__u64 thread_pointer, runtime;
	/* 1: a thread that may just come out of the clone() that made it */
	__u32 newborn;
	__u32 reserved;
	__u64 stack[];
};
_Static_assert(sizeof(struct ebp_rescue) == 8 + 8 + 72 + 8 * EBP_REGS + 8 + 8 + 32 + 8 + 16 + 8,
	       "wire");

#endif
