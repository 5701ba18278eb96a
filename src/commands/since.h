/* SPDX-License-Identifier: MIT */
/* The profiles of `ebprof push --to DIR`, divided by a time: which to compare with which. */
#ifndef EBPROF_SINCE_H
#define EBPROF_SINCE_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

/*
 * @where: a folder with the windows of one service, or FOLDER/SERVICE. Adds malloc'd paths, by
 * time: to @after the windows that began less than @ns ago, to @before those of as long before.
 * 0 or a negative errno with @e filled: there are none, or those of several services.
 */
int since_find(const char *where, uint64_t ns, string_vec *before, string_vec *after,
	       struct error *e);

#endif
