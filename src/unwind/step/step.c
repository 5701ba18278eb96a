/* SPDX-License-Identifier: MIT */
#include "unwind/step/step.h"

#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "base/xalloc.h"
#include "unwind/step/code.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct unwind_env {
	const struct unwind_memory *memory;
	int rows_steps;
	uint8_t *rows;		/* room for 2^rows_steps */
};

struct unwind_state;

/*
 * Tables are written in place, so what is aligned in a shard is aligned; hostile ones may not be.
 */
#define TABLE16(p) load16(p)
#define TABLE32(p) load32(p)
#define TABLE64(p) load64(p)
#define TABLE8X8(p) load64(p)
#define ROWS_STEPS(env) ((env)->rows_steps)

static const __u8 *env_shard(struct unwind_env *env, __u64 index);
static const __u8 *env_rows(struct unwind_env *env, struct unwind_state *s, __u64 *offset);
static int env_read(struct unwind_env *env, void *dst, __u32 size, __u64 address);
static __u64 env_uprobe(struct unwind_env *env, struct unwind_state *s, __u64 slot);
static int env_code(struct unwind_env *env, struct unwind_state *s) __attribute__((unused));

#include "bpf/unwind_step.h"

static const __u8 *env_shard(struct unwind_env *env, __u64 index)
{
	return index < env->memory->nshards ? env->memory->shards[index] : NULL;
}

/* The search may look at any that there is room for, though it then minds only those that are. */
static const __u8 *env_rows(struct unwind_env *env, struct unwind_state *s, __u64 *offset)
{
	*offset = 0;
	return s->nrows ? env->rows : NULL;
}

static int env_read(struct unwind_env *env, void *dst, __u32 size, __u64 address)
{
	return env->memory->read(env->memory->ctx, address, dst, size);
}

/* The kernel's list of what it replaced is not here. */
static __u64 env_uprobe(struct unwind_env *env, struct unwind_state *s, __u64 slot)
{
	(void)env;
	(void)s;
	(void)slot;
	return 0;
}

#define NO_RULE	(EBP_RULE_SPECIAL | EBP_RULE_GAP)
#define GRAIN	8	/* bytes: functions are not smaller */

/*
 * How far from pc on there is no CFI, at most @most bytes, upwards or (@by is negative) downwards.
 */
static uint64_t gap_size(struct unwind_env *env, struct unwind_state *s, int64_t by, uint64_t most)
{
	uint64_t size = 0, left = by < 0 ? s->pc - s->row.start : s->row.end - s->pc;

	most = most < left ? most : left;
	while (size < most &&
	       find_rule(env, s, s->pc - s->row.bias + (by < 0 ? -size : size)) == NO_RULE)
		size += GRAIN;
	return size < most ? size : most;
}

static int env_code(struct unwind_env *env, struct unwind_state *s)
{
	uint8_t code[UNWIND_CODE_MAX];
	int is_made = s->row.object == EBP_OBJECT_NONE;
	uint64_t before, behind;

	if (!env->memory->by_code || s->pc < s->row.start || s->pc >= s->row.end ||
	    (!is_made && (s->row.object < EBP_OBJECT_FIRST || s->no_cfi)))
		return 0;
	before = is_made ? UNWIND_CODE_MADE : gap_size(env, s, -1, UNWIND_CODE_BEFORE);
	behind = is_made ? UNWIND_CODE_BEHIND : gap_size(env, s, 1, UNWIND_CODE_BEHIND);
	before = before < s->pc - s->row.start ? before : s->pc - s->row.start;
	behind = behind < s->row.end - s->pc ? behind : s->row.end - s->pc;
	if (env_read(env, code, (uint32_t)(before + behind), s->pc - before))
		return 0;
	return unwind_code_rule(code, before + behind, before);
}

void unwind_stack(const struct unwind_memory *m, const struct ebp_registers *regs, int exact,
		  uint32_t max, struct unwind_result *out)
{
	struct unwind_env env = { .memory = m };
	uint32_t nrows = m->nrows < EBP_ROWS_MAX ? m->nrows : EBP_ROWS_MAX - 1;
	struct unwind_state s = { .regs = *regs,
				  .nrows = nrows,
				  .made = (uint32_t)m->made,
				  .jump = m->jump,
				  .max = max < EBP_FRAMES_MAX ? max : EBP_FRAMES_MAX };
	int done = 0;

	while (nrows >> env.rows_steps)
		env.rows_steps++;
	env.rows = xcalloc((size_t)1 << env.rows_steps, sizeof(struct ebp_mapping));
	if (nrows)
		memcpy(env.rows, m->rows, nrows * sizeof(*m->rows));
	begin(&s);
	s.exact = !!exact;
	while (!done) {
		done = unwind_one(&env, &s);
		if (done == STEP_GAP)
			done = leave_gap(&env, &s);
	}
	free(env.rows);
	out->result = (enum ebp_result)(done - 1);
	out->n = s.n;
	out->fp_frames = s.fp_frames;
	out->by_fp = s.by_fp;
	memcpy(out->frames, s.frames, s.n * sizeof(s.frames[0]));
}
