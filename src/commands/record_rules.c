/* SPDX-License-Identifier: MIT */
#include "commands/record_options.h"

const struct cli_rule record_rules[] = {
	{ .one_of = "pid tid all cgroup comm",
	  .why = "choose one target: -p, -t, -a, -G or -n" },
	{ .one_of = "user kernel",
	  .why = "-U and -K exclude each other; without both, user and kernel stacks are taken" },
	{ .one_of = "timeline no-timeline",
	  .why = "--timeline and --no-timeline exclude each other" },
	{ .rules = source_rules },
	{ 0 }
};
