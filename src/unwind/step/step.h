/* SPDX-License-Identifier: MIT */
/*
 * The unwinder of the BPF programs, compiled natively: for the stacks that the
 * kernel could not finish, and for tests.
 */
#ifndef EBPROF_UNWIND_STEP_STEP_H
#define EBPROF_UNWIND_STEP_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct unwind_memory {
	/* nshards of EBP_SHARD_BYTES + EBP_SHARD_SLACK, or NULL where there is none */
	uint8_t *const *shards;
	uint32_t nshards;
	const struct ebp_mapping *rows;	/* of the process, sorted; not in a shard */
	uint32_t nrows;			/* at most EBP_ROWS_MAX */
	/* Reads the target's memory (stack or code). 0 or a negative errno. */
	int (*read)(void *ctx, uint64_t address, void *dst, size_t size);
	/* frames without CFI are left as code.h says, where that is known */
	int by_code;
	void *ctx;
	int made;			/* as in struct unwind_state */
	struct ebp_jump jump;
};

struct unwind_result {
	enum ebp_result result;
	uint32_t n, fp_frames;
	/* the last frame was found by the frame pointer of code without CFI */
	uint32_t by_fp;
	__u64 frames[EBP_FRAMES_MAX];	/* as in bpf/unwind.h */
};

/*
 * Unwinds from @regs, for this program's own architecture, to at most @max frames. @exact: of a
 * leaf, or of what a signal interrupted; else their pc is where a call returns to, and but for
 * that, sp and the frame pointer none is known.
 */
void unwind_stack(const struct unwind_memory *m, const struct ebp_registers *regs, int exact,
		  uint32_t max, struct unwind_result *out);

#endif
