/* SPDX-License-Identifier: MIT */
/*
 * What a frame is: code of a program, of the kernel, made at run time, of an interpreter, or a
 * mark.
 *
 * All that depends on the kind of a frame is in its row here; outputs, readers, the flame graph
 * page and the live view index it. A new kind is one value of the enum and one row.
 */
#ifndef EBPROF_FRAME_KIND_H
#define EBPROF_FRAME_KIND_H

#include <stdint.h>

/* Saved profiles hold these numbers, so they stay as they are. */
enum frame_kind {
	FRAME_USER,	/* machine code of a program or a library */
	FRAME_KERNEL,	/* of the kernel or one of its modules */
	FRAME_MARK,	/* no code: [truncated: ...] and the like */
	FRAME_PYTHON,	/* a Python function */
	/*
	 * Of functions only, while their locations are FRAME_USER: code made at run time, by name.
	 */
	FRAME_JIT,
	FRAME_INLINED,	/* of no function: how one looks where it was inlined */
	FRAME_JAVASCRIPT,	/* a JavaScript function */
	FRAME_JAVA,	/* a Java method, however it was run */
	FRAME_RUBY,	/* a Ruby method, block or file, or a method in C */
	FRAME_PHP,	/* a PHP function, or a file's own code */
	FRAME_PERL,	/* a sub or an eval of Perl, or a file's own code */
	FRAME_LUA,	/* a function of Lua, or one in C that it called */
	FRAME_LUA_TRACE,	/* the first function of a trace of LuaJIT's */
	FRAME_KINDS,
};

/* Who runs it. */
enum frame_side { FRAME_NO_CODE, FRAME_PROGRAM, FRAME_IN_KERNEL };

/* Frames of one family look alike: colour, legend, Firefox's category. */
enum frame_family {
	FAMILY_USER,
	FAMILY_INLINED,
	FAMILY_JIT,
	FAMILY_KERNEL,
	FAMILY_MARK,
	FAMILY_SCRIPT,		/* code of interpreters */
	FAMILIES,
};

struct frame_kind_row {
	const char *name;	/* in `-f json` */
	const char *mark;	/* behind it with --annotate: "_[k]" */
	/* the module of all its functions, "" where they have their own */
	const char *module;
	const char *text;	/* in the flame graph page: "made at run time" */
	enum frame_side side;
	enum frame_family family;
	enum frame_kind inlined;	/* what it looks like where it was inlined */
	/* in saved profiles; FRAME_JIT is one of FRAME_USER in its module there */
	enum frame_kind saved;
	/* profile.frame.type of OpenTelemetry's semantic conventions; NULL: none fits */
	const char *otel;
	int native;		/* its name is one of a linker, of which templates may be cut */
};
extern const struct frame_kind_row frame_kinds[FRAME_KINDS];

/* The kind of a function: @kind, but where a program's is in the module of another kind that. */
enum frame_kind frame_kind_in(enum frame_kind kind, const char *module);
/* The kind that is saved as @number; FRAME_KINDS: none is. */
enum frame_kind frame_kind_saved(uint64_t number);

static inline int frame_is_code(enum frame_kind kind)
{
	return frame_kinds[kind].side != FRAME_NO_CODE;
}

static inline int frame_is_kernel(enum frame_kind kind)
{
	return frame_kinds[kind].side == FRAME_IN_KERNEL;
}

/* "user", "kernel", ...: the families' own names. */
extern const char *const frame_families[FAMILIES];

#endif
