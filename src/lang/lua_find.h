/* SPDX-License-Identifier: MIT */
/* What a Lua does not export, found by its code (x86-64). */
#ifndef EBPROF_LUA_FIND_H
#define EBPROF_LUA_FIND_H

#include "lang/code_text.h"
#include "lang/lang.h"

/*
 * The loop of the interpreter (luaV_execute), a range of the file: by far the biggest function to
 * which that at @call (lua_call, lua_callk) leads within a few calls. 0, or -ENOENT: there is none.
 */
int lua_find_loop(const struct code_text *t, uint64_t call, struct lang_range *out);

#endif
