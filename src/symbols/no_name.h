/* SPDX-License-Identifier: MIT */
/* Why an address has no name, in words. */
#ifndef EBPROF_NO_NAME_H
#define EBPROF_NO_NAME_H

/* @err: of the symbolizer; @has_file: the image could be opened. */
const char *no_name_reason(int err, int has_file);

#endif
