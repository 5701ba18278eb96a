/* SPDX-License-Identifier: MIT */
/*
 * The unwinding step over tables, mappings, registers and memory that are all
 * made of the input: it ends, and stays in its bounds. aarch64's, and this machine's.
 *
 * The input's first bytes become registers and rows; the rest fills the shard
 * again and again, at places that the input chooses, so that refs lead somewhere.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNWIND_ARM64
#define unwind_stack unwind_stack_arm64
#include "unwind/step/step.c"
#undef unwind_stack

void unwind_stack(const struct unwind_memory *m, const struct ebp_registers *regs, int exact,
		  uint32_t max, struct unwind_result *out);

#define ROWS 8
#define CODE 0x400000u

struct input {
	const uint8_t *p;
	size_t n;
};

static uint64_t take(struct input *in, unsigned bytes)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < bytes && in->n; i++, in->n--)
		x = x << 8 | *in->p++;
	return x;
}

/* Memory holds the input over and over; some places cannot be read. */
static int read_memory(void *ctx, uint64_t address, void *dst, size_t size)
{
	const struct input *in = ctx;
	uint8_t *to = dst;

	if (!in->n || address >> 20 & 1)
		return -1;
	for (size_t i = 0; i < size; i++)
		to[i] = in->p[(address + i) % in->n];
	return 0;
}

static void check(const struct unwind_result *r)
{
	if (r->n > EBP_FRAMES_MAX || r->result >= EBP_RESULTS || !r->n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size }, rest;
	uint8_t *shard = calloc(1, EBP_SHARD_BYTES + EBP_SHARD_SLACK);
	uint8_t *shards[2] = { shard, NULL };
	struct ebp_mapping rows[ROWS] = { 0 };
	struct ebp_registers regs = { 0 };
	struct unwind_memory m = {
		.shards = shards, .nshards = 2, .rows = rows, .read = read_memory, .by_code = 1,
		.ctx = &rest, .jump = { .loop = CODE, .text = CODE }
	};
	static struct unwind_result result;
	uint64_t at = CODE;

	for (int i = 0; i < 17; i++)
		regs.r[i] = take(&in, 3);
	m.jump.from = take(&in, 3);
	m.jump.text_bytes = take(&in, 3);
	m.jump.rule = take(&in, 2);
	m.nrows = (uint32_t)take(&in, 1) % (ROWS + 1);
	for (uint32_t i = 0; i < m.nrows; i++) {
		rows[i].start = at;
		at += take(&in, 3);
		rows[i].end = at;
		rows[i].bias = rows[i].start - (take(&in, 1) << 12);
		rows[i].object = (uint32_t)take(&in, 2);
		rows[i].image = (uint32_t)take(&in, 1);
	}
	rest = in;
	while (in.n > 8) {
		size_t where = take(&in, 2) << 4, n = take(&in, 1) % (in.n + 1);

		memcpy(shard + where, in.p, n);
		take(&in, 1);
	}
	/* Registers count from where the code is. */
	regs.r[16] += CODE;
	unwind_stack(&m, &regs, 1, EBP_FRAMES_MAX, &result);
	check(&result);
	regs.r[REG_FP] = regs.r[6];
	regs.r[REG_LR] = regs.r[5];
	regs.r[REG_SP] = regs.r[7];
	regs.r[REG_PC] = regs.r[16];
	unwind_stack_arm64(&m, &regs, 1, EBP_FRAMES_MAX, &result);
	check(&result);
	free(shard);
	return 0;
}
