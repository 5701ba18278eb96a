/* SPDX-License-Identifier: MIT */
/*
 * What to do for names that are missing: a runtime that can tell those of the code that it makes,
 * a package with debug information. A line each, and only where a good part of the profile lacks
 * them.
 */
#ifndef EBPROF_HINTS_H
#define EBPROF_HINTS_H

#include <stdio.h>

#include "profile/profile.h"

struct hints_options {
	const char *package_lists;	/* packages.h */
	int debuginfod;			/* asked already */
	int debuginfod_urls;		/* the environment names servers */
};

void hints_show(const struct profile *p, const struct hints_options *o, FILE *to);

#endif
