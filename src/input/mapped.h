/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a large file without a copy of them: memory that is touched first is cleared, which
 * can cost more than all that is then done with the bytes.
 *
 * Parsers look at what they have checked a second time, so the file has to be one that changes by
 * nobody's hand but the reader's own, and root's: by its owner, its mode and its file system. Where
 * such a file is made shorter meanwhile, the program ends with one line.
 */
#ifndef EBPROF_MAPPED_H
#define EBPROF_MAPPED_H

#include <stddef.h>

/*
 * All of @fd, *@size bytes; NULL: it is to be read, because it is small, packed, larger than
 * @limit bytes, or in others' hands. One at a time.
 */
char *mapped_open(int fd, size_t limit, size_t *size);
void mapped_close(char *bytes, size_t size);

#endif
