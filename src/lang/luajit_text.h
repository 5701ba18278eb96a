/* SPDX-License-Identifier: MIT */
/* Texts and lines of LuaJIT, as debug.traceback() has them. */
#ifndef EBPROF_LUAJIT_TEXT_H
#define EBPROF_LUAJIT_TEXT_H

#include "bpf/luajit.h"
#include "lang/lang.h"

/* The table that @code begins with, whose numbers fit what is there. 0, or -EBADMSG. */
int luajit_table(const struct lang_code *code, struct ebp_luajit_table *t);

/*
 * What the caller calls the function of the record that begins with @t and is @table, by
 * t->names_sent bytes of @names; @fetched: the string that an instruction of the caller fetched the
 * function by, "" for none. malloc'd; NULL: it has no name.
 */
char *luajit_name(const uint8_t *table, const struct ebp_luajit_table *t, const uint8_t *names,
		  const char *fetched);

/* What @source ("@file", "=name", or a text) is called; malloc'd. */
char *luajit_source_name(const char *source, int builtin);

/* Bytes of a line, in a function of @nlines. */
size_t luajit_line_bytes(uint32_t nlines);
/* The line of instruction @place; 0: not known. */
uint32_t luajit_line(const struct lang_code *code, uint32_t place);

#endif
