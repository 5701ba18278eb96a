/* SPDX-License-Identifier: MIT */
/*
 * The folder in which answers are kept from one run to the next: $XDG_CACHE_HOME/ebprof, else
 * ~/.cache/ebprof, of the invoking user. It is read and written as that user, and
 * only his own regular files that nobody else may write are read. A file is written
 * whole or not at all; the oldest ones go when there are too many bytes.
 */
#ifndef EBPROF_NAME_STORE_H
#define EBPROF_NAME_STORE_H

#include <stddef.h>

#include "base/keeper.h"
#include "base/user.h"

#define NAME_STORE_BYTES (64u << 20)	/* of all files together */

struct name_store;

/* NULL where the user has no place for it. Touches nothing yet. */
struct name_store *name_store_new(const struct user *user);
void name_store_free(struct name_store *s);

/* The file @name, of at most @limit bytes, in a malloc'd block; NULL with errno. */
void *name_store_read(struct name_store *s, const char *name, size_t limit, size_t *size);
/* Writes it and makes room, but never for more than @limit bytes in all. 0 or a negative errno. */
int name_store_write(struct name_store *s, const char *name, const void *bytes, size_t size,
		     size_t limit);
/* From now on @k writes: name_store_keep() is its job number @job. */
void name_store_delegate(struct name_store *s, struct keeper *k, size_t job);
int name_store_keep(void *store, const void *bytes, size_t size);

#endif
