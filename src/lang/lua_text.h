/* SPDX-License-Identifier: MIT */
/* Texts and lines of Lua, as debug.traceback() has them. */
#ifndef EBPROF_LUA_TEXT_H
#define EBPROF_LUA_TEXT_H

#include "lang/lang.h"

/*
 * Why @instruction of Lua @version (100 * major + minor) called something, where that is no call:
 * a metamethod, an iterator. NULL: it says nothing.
 */
const char *lua_event(uint32_t version, uint32_t instruction);

/* What @source ("@file", "=name", or a text) is called; malloc'd. */
char *lua_source_name(const char *source);

/* The line of instruction @place; 0: not known. */
uint32_t lua_line(const struct lang_code *code, uint32_t place);

#endif
