/* SPDX-License-Identifier: MIT */
/*
 * What the user writes for a probe:
 *
 *	uprobe:FILE:FUNCTION[+OFFSET]	an instruction of a function, the first without OFFSET
 *	uprobe:FILE:0xADDRESS		... at an address as nm(1) and objdump(1) print it
 *	uretprobe:FILE:FUNCTION		its return
 *	uprobe:FILE:SOURCE:LINE		the first instruction of a line of a source file
 *	usdt:FILE[:PROVIDER]:NAME	a static probe
 *	kprobe:FUNCTION[+OFFSET], kretprobe:FUNCTION
 *
 * FILE is a path, or the name of a library or program ("libssl", "libc.so.6"). FUNCTION, PROVIDER
 * and NAME may be patterns (fnmatch(3)), FUNCTION a regular expression (regex(7), extended) between
 * slashes, too; it is a name as the linker knows it, or demangled.
 */
#ifndef EBPROF_PROBES_SPEC_H
#define EBPROF_PROBES_SPEC_H

#include <stdint.h>

#include "base/error.h"

enum probe_type { PROBE_UPROBE, PROBE_URETPROBE, PROBE_USDT, PROBE_KPROBE, PROBE_KRETPROBE };

#define PROBE_TEXT_MAX 1024	/* bytes of a whole text */

struct probe_spec {
	enum probe_type type;
	char file[PROBE_TEXT_MAX];	/* "": of the kernel */
	char provider[PROBE_TEXT_MAX];	/* "": any */
	char name[PROBE_TEXT_MAX];	/* "": @offset is an address */
	uint64_t offset;		/* bytes from the beginning of the function */
	uint32_t line;			/* of the source file @name; 0: that is a function */
	/* set by who has a use for them: what functions take and return is looked for, too */
	int signatures;
};

/* 1 where @text begins as a probe does, so nothing else can be meant. */
int probe_spec_is(const char *text);
/* 1 where @text is a regular expression between slashes. */
int probe_is_regex(const char *text);
/* 1 where @text is one, or has a character of patterns. */
int probe_is_pattern(const char *text);
/* 0, or -EINVAL with @e filled. */
int probe_spec_parse(struct probe_spec *spec, const char *text, struct error *e);
/* "uprobe", ... */
const char *probe_type_name(enum probe_type type);

#endif
