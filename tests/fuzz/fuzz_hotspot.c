/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a JVM: its file, frames and scopes in memory that is made of the input,
 * tables of lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"
#include "lang/hotspot_lines.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define TABLE16(p) (*(const __u16 *)(p))
#define TABLE32(p) (*(const __u32 *)(p))
#define TABLE64(p) (*(const __u64 *)(p))
#define TABLE8X8(p) TABLE64(p)
#define ROWS_STEPS(env) EBP_ROWS_SHIFT

#include "bpf/unwind.h"

#define STEPS 512

struct unwind_env {
	const uint8_t *p;
	size_t n;
};
struct unwind_state;

static const __u8 *env_shard(struct unwind_env *env, __u64 index)
{
	(void)env, (void)index;
	return NULL;
}

static const __u8 *env_rows(struct unwind_env *env, struct unwind_state *s, __u64 *offset)
{
	(void)env, (void)s, (void)offset;
	return NULL;
}

static int env_read(struct unwind_env *env, void *dst, __u32 size, __u64 address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

static __u64 env_uprobe(struct unwind_env *env, struct unwind_state *s, __u64 slot)
{
	(void)env, (void)s, (void)slot;
	return 0;
}

static int env_code(struct unwind_env *env, struct unwind_state *s)
{
	(void)env, (void)s;
	return 0;
}

#include "bpf/unwind_step.h"

#include "bpf/hotspot_step.h"

static int hotspot_search_round(const struct unwind_state *u, const struct hotspot_state *s,
				__u64 cfa)
{
	return hotspot_search(u, s, cfa);
}

#include "bpf/hotspot_scopes.h"

static void walk(const uint8_t *data, size_t size)
{
	static struct unwind_state u;
	static struct hotspot_state s;
	struct unwind_env env = { data, size };
	struct hotspot_scope c = { 0 };
	struct ebp_hotspot o;

	if (size < sizeof(o) + sizeof(u.regs))
		return;
	memcpy(&o, data, sizeof(o));
	memset(&u, 0, sizeof(u));
	memset(&s, 0, sizeof(s));
	memcpy(&u.regs, data + sizeof(o), sizeof(u.regs));
	begin(&u);
	hotspot_load(&env, &s, &o, 0);
	/* Most inputs have none. */
	if (s.low >= s.high)
		s.high = ~0ull;
	for (int i = 0; i < STEPS; i++) {
		int done = hotspot_finish(&env, &u, &s, hotspot_step(&env, &u, &s, &o));

		if (done == STEP_GAP ? leave_gap(&env, &u) : done)
			break;
		if (hotspot_first_scope(&env, &s, &o, &c))
			continue;
		for (int k = 0; k < STEPS && c.at && !hotspot_next_scope(&env, &o, &c); k++)
			;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	for (uint32_t bci = 0; bci < 4; bci++)
		hotspot_line(data + 1, size - 1, data[0] & 1, bci * bci * 40);
	walk(data + 1, size - 1);
	fuzz_recognise(data, size, &lang_hotspot, "libjvm.so");
	return 0;
}
