/* SPDX-License-Identifier: MIT */
/* What is said of a file that was written: its name, and how to open it. */
#ifndef EBPROF_WROTE_H
#define EBPROF_WROTE_H

#include "output/output.h"

/* One line on standard error. @format: NULL where nothing is to be said but the name. */
void wrote_tell(const char *path, const struct output_format *format);

#endif
