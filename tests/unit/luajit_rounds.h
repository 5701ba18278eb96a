/* SPDX-License-Identifier: MIT */
/* The native step over LuaJIT's frames, whose rounds are functions of the verifier's in BPF. */
#ifndef EBPROF_UNIT_LUAJIT_ROUNDS_H
#define EBPROF_UNIT_LUAJIT_ROUNDS_H

#include "bpf/luajit_begin.h"
#include "bpf/luajit_describe.h"

static int luajit_look_round(struct luajit_env *env, struct luajit_state *s,
			     const struct ebp_luajit *o, __u32 i)
{
	return luajit_look_at(env, s, o, i);
}

static int luajit_search_round(struct luajit_env *env, struct luajit_state *s,
			       const struct ebp_luajit *o, __u32 i)
{
	return luajit_search(env, s, o, i);
}

static int luajit_holds_round(struct luajit_env *env, struct luajit_state *s,
			      const struct ebp_luajit *o, __u64 base, __u64 pc)
{
	return luajit_holds(env, s, o, base, pc);
}

#endif
