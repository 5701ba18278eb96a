/* SPDX-License-Identifier: MIT */
/* Which options of `ebprof record`, `alloc` and `top` exclude or need one another, and why. */
#ifndef EBPROF_OPTION_RULES_H
#define EBPROF_OPTION_RULES_H

#include "base/error.h"
#include "commands/record_options.h"

/* @command: its bit (record_options.h). -EINVAL with @e filled by the first rule that is broken. */
int option_rules_check(const struct record_options *o, unsigned int command, struct error *e);

#endif
