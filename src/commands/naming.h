/* SPDX-License-Identifier: MIT */
/* Where names come from, as the user wants it: servers of debug files, the kernel's debug file. */
#ifndef EBPROF_COMMANDS_NAMING_H
#define EBPROF_COMMANDS_NAMING_H

#include "base/error.h"
#include "cli/cli.h"
#include "commands/beside.h"
#include "commands/view_options.h"
#include "symbols/symbolizer.h"

struct name_options {
	string_vec debug_dirs;
	const char *vmlinux;		/* NULL: where it may be installed */
	int debuginfod, no_cache, no_demangle;
	int why;			/* what has no name says why in its place */
	size_t memory;			/* bytes of symbols that are kept; 0: as many as usual */
};

/* 0, or a negative errno with @e filled where what the user asked for cannot be used. */
int naming_open(struct debuginfod **servers, const struct name_options *o, struct error *e);
/* What @o and @view, which must outlive it, say of names; @servers: as opened above, or NULL. */
struct symbolizer_options naming_options(const struct name_options *o,
					 const struct view_options *view,
					 struct debuginfod *servers, const struct beside *b);

#endif
