/* SPDX-License-Identifier: MIT */
/* Where names come from, as the user wants it: servers of debug files, the kernel's own debug file. */
#ifndef EBPROF_NAMING_H
#define EBPROF_NAMING_H

#include "base/error.h"
#include "commands/beside.h"
#include "commands/record_options.h"
#include "symbols/symbolizer.h"

/* 0, or a negative errno with @e filled where what the user asked for cannot be used. */
int naming_open(struct debuginfod **servers, const struct record_options *o, struct error *e);
/* What @o, which must outlive it, says of names; @servers: as opened above, or NULL. */
struct symbolizer_options naming_options(const struct record_options *o,
					 struct debuginfod *servers, const struct beside *b);

#endif
