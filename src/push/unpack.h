/* SPDX-License-Identifier: MIT */
/* What was compressed, in memory again. It comes from files and is not trusted. */
#ifndef EBPROF_UNPACK_H
#define EBPROF_UNPACK_H

#include <stdint.h>

#include "base/cursor.h"
#include "base/protobuf.h"

#define UNPACK_MOST (64u << 20)	/* bytes */

/* Appends it to @out. 0; -EINVAL where it is damaged, or more than UNPACK_MOST. */
int unpack(const struct cursor *packed, struct protobuf *out);

#endif
