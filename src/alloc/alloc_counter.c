/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_counter.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "collect/features.h"
#include "collect/uprobe.h"

#define THREADS_MAX 16384	/* that have made calls; others are not counted */
#define TID_AT (-8)		/* on the program's stack */
#define ZEROS_AT (TID_AT - (int)(ALLOC_SLOTS * sizeof(uint64_t)))

#define MOVE(to, from) { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) }
#define SET(to, value) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value) }
#define ADD(to, value) { .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (value) }
#define CALL(helper) { .code = BPF_JMP | BPF_CALL, .imm = (helper) }
#define LOAD_MAP(to, fd)                     \
	{ .code = BPF_LD | BPF_IMM | BPF_DW, \
	  .dst_reg = (to),                   \
	  .src_reg = BPF_PSEUDO_MAP_FD,      \
	  .imm = (fd) },                     \
		{ 0 }
#define ZERO_AT(offset) { .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = (offset) }
#define FIND(fd) LOAD_MAP(1, fd), MOVE(2, 10), ADD(2, TID_AT), CALL(BPF_FUNC_map_lookup_elem)

/* map[tid][cookie]++ */
static int load_program(int map, enum alloc_counter_kind kind)
{
	struct bpf_insn code[] = {
		MOVE(6, 1),
		CALL(BPF_FUNC_get_current_pid_tgid),
		/* An idle CPU. */
		{ .code = BPF_JMP32 | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 38 },
		{ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .src_reg = 0, .off = TID_AT },
		FIND(map),
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 0, .off = 22 },
		/* Its first call. */
		ZERO_AT(ZEROS_AT),
		ZERO_AT(ZEROS_AT + 8),
		ZERO_AT(ZEROS_AT + 16),
		ZERO_AT(ZEROS_AT + 24),
		ZERO_AT(ZEROS_AT + 32),
		ZERO_AT(ZEROS_AT + 40),
		ZERO_AT(ZEROS_AT + 48),
		ZERO_AT(ZEROS_AT + 56),
		LOAD_MAP(1, map),
		MOVE(2, 10),
		ADD(2, TID_AT),
		MOVE(3, 10),
		ADD(3, ZEROS_AT),
		SET(4, BPF_NOEXIST),
		CALL(BPF_FUNC_map_update_elem),
		FIND(map),
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 9 },
		/* Its counters are at r0. */
		MOVE(7, 0),
		MOVE(1, 6),
		CALL(BPF_FUNC_get_attach_cookie),
		{ .code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 0, .imm = ALLOC_SLOTS - 1 },
		{ .code = BPF_ALU64 | BPF_LSH | BPF_K, .dst_reg = 0, .imm = 3 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 7, .src_reg = 0 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 7 },
		ADD(1, 1),
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 7, .src_reg = 1 },
		SET(0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = kind == COUNTER_FUNCTION ? UPROBE_MULTI : 0);

	return bpf_prog_load(kind == COUNTER_TRACEPOINT ? BPF_PROG_TYPE_TRACEPOINT
							: BPF_PROG_TYPE_KPROBE,
			     "ebprof_price", "Dual MIT/GPL", code, sizeof(code) / sizeof(*code),
			     &opts);
}

int alloc_counter_open(struct alloc_counter *c, enum alloc_counter_kind kind)
{
	/*
	 * Where BPF has no allocator of its own, taking memory in a probe takes locks, and the
	 * kernel warns of it.
	 */
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .map_flags = features_has_struct("bpf_mem_alloc") ? BPF_F_NO_PREALLOC : 0);

	*c = (struct alloc_counter){ .map = -1, .program = -1 };
	c->map = bpf_map_create(BPF_MAP_TYPE_HASH, "ebprof_price", sizeof(pid_t),
				ALLOC_SLOTS * sizeof(uint64_t), THREADS_MAX, &opts);
	if (c->map < 0)
		return c->map;
	c->program = load_program(c->map, kind);
	return c->program < 0 ? c->program : 0;
}

void alloc_counter_close(struct alloc_counter *c)
{
	if (c->program >= 0)
		close(c->program);
	if (c->map >= 0)
		close(c->map);
}

void alloc_counter_get(const struct alloc_counter *c, pid_t tid, uint64_t calls[ALLOC_SLOTS])
{
	if (bpf_map_lookup_elem(c->map, &tid, calls))
		memset(calls, 0, ALLOC_SLOTS * sizeof(*calls));
}

int alloc_counter_next(const struct alloc_counter *c, pid_t *tid)
{
	return !bpf_map_get_next_key(c->map, *tid ? tid : NULL, tid);
}
