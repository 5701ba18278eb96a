/* SPDX-License-Identifier: MIT */
#include "profile/frame_kind.h"

#include <string.h>

const struct frame_kind_row frame_kinds[FRAME_KINDS] = {
	[FRAME_USER] = { "user", "", "", "", FRAME_PROGRAM, FAMILY_USER, .inlined = FRAME_INLINED,
			 .saved = FRAME_USER, .otel = "native", .native = 1 },
	[FRAME_KERNEL] = { "kernel", "_[k]", "[kernel]", "kernel", FRAME_IN_KERNEL, FAMILY_KERNEL,
			   .inlined = FRAME_KERNEL, .saved = FRAME_KERNEL, .otel = "kernel",
			   .native = 1 },
	[FRAME_MARK] = { "mark", "", "", "mark", FRAME_NO_CODE, FAMILY_MARK,
			 .inlined = FRAME_MARK, .saved = FRAME_MARK },
	[FRAME_PYTHON] = { "python", "_[p]", "", "Python", FRAME_PROGRAM, FAMILY_SCRIPT,
			   .inlined = FRAME_PYTHON, .saved = FRAME_PYTHON, .otel = "cpython" },
	[FRAME_JIT] = { "user", "_[j]", "[jit]", "made at run time", FRAME_PROGRAM, FAMILY_JIT,
			.inlined = FRAME_INLINED, .saved = FRAME_USER, .otel = "native" },
	[FRAME_INLINED] = { "user", "_[i]", "", "inlined", FRAME_PROGRAM, FAMILY_INLINED,
			    .inlined = FRAME_INLINED, .saved = FRAME_USER, .otel = "native" },
	[FRAME_JAVASCRIPT] = { "javascript", "_[s]", "", "JavaScript", FRAME_PROGRAM,
			       FAMILY_SCRIPT, .inlined = FRAME_JAVASCRIPT,
			       .saved = FRAME_JAVASCRIPT, .otel = "v8js" },
	[FRAME_JAVA] = { "java", "_[v]", "", "Java", FRAME_PROGRAM, FAMILY_SCRIPT,
			 .inlined = FRAME_JAVA, .saved = FRAME_JAVA, .otel = "jvm" },
	[FRAME_RUBY] = { "ruby", "_[r]", "", "Ruby", FRAME_PROGRAM, FAMILY_SCRIPT,
			 .inlined = FRAME_RUBY, .saved = FRAME_RUBY, .otel = "ruby" },
	[FRAME_PHP] = { "php", "_[h]", "", "PHP", FRAME_PROGRAM, FAMILY_SCRIPT,
			.inlined = FRAME_PHP, .saved = FRAME_PHP, .otel = "php" },
	[FRAME_PERL] = { "perl", "_[l]", "", "Perl", FRAME_PROGRAM, FAMILY_SCRIPT,
			 .inlined = FRAME_PERL, .saved = FRAME_PERL },
	[FRAME_LUA] = { "lua", "_[u]", "", "Lua", FRAME_PROGRAM, FAMILY_SCRIPT,
			.inlined = FRAME_LUA, .saved = FRAME_LUA },
	[FRAME_LUA_TRACE] = { "lua", "_[t]", "", "trace of LuaJIT", FRAME_PROGRAM, FAMILY_JIT,
			      .inlined = FRAME_LUA_TRACE, .saved = FRAME_LUA_TRACE },
};

const char *const frame_families[FAMILIES] = {
	[FAMILY_USER] = "user",	    [FAMILY_INLINED] = "inlined", [FAMILY_JIT] = "jit",
	[FAMILY_KERNEL] = "kernel", [FAMILY_MARK] = "mark",	  [FAMILY_SCRIPT] = "script",
};

enum frame_kind frame_kind_in(enum frame_kind kind, const char *module)
{
	return kind == FRAME_USER && !strcmp(module, frame_kinds[FRAME_JIT].module) ? FRAME_JIT
										    : kind;
}

enum frame_kind frame_kind_saved(uint64_t number)
{
	return number < FRAME_KINDS && frame_kinds[number].saved == number
		       ? (enum frame_kind)number
		       : FRAME_KINDS;
}
