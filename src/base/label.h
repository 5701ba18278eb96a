/* SPDX-License-Identifier: MIT */
/*
 * The name of a function in less room than it needs. What says least goes first: the return type,
 * the arguments, the template arguments, the namespaces from the outermost on; then its end. Of
 * what has only an address, "[libc.so.6+0x1d0750]", the end stays, because that is what differs.
 * The page does the same (output/flamegraph/labels.js).
 */
#ifndef EBPROF_LABEL_H
#define EBPROF_LABEL_H

#include <stddef.h>

/*
 * @name within @columns of a terminal and @size bytes, the final NUL included. @name is valid
 * UTF-8.
 */
void label_fit(char *dst, size_t size, const char *name, size_t columns);

#endif
