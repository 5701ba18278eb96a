/* SPDX-License-Identifier: MIT */
/*
 * Those of the kernel's types that an object's relocations may look for. libbpf copies and indexes
 * all hundred thousand of them for that (12 ms), at every start; here they are gone through once,
 * where the kernel has them (2 ms).
 *
 * A type is looked for by its name and kind, and has the members whose names some type of the
 * object's own has, with theirs as far as they are held by value: what is behind a pointer is
 * looked for by its own name.
 */
#ifndef EBPROF_KERNEL_TYPES_H
#define EBPROF_KERNEL_TYPES_H

#include <bpf/btf.h>
#include <stddef.h>

#include "collect/raw_btf.h"

/*
 * They, of the BTF @kernel, for an object's BTF @own. NULL with errno: EBADMSG where one is
 * damaged.
 */
struct btf *kernel_types_cut(const void *kernel, size_t kernel_size, const void *own,
			     size_t own_size);

/*
 * The same of the BTF in file @kernel, for an object file in memory, as a file without a name that
 * nobody can change any more: a descriptor, or a negative errno, where libbpf has to do without
 * (-ENOENT: the kernel has no BTF).
 */
int kernel_types_open(const char *kernel, const void *object, size_t size);

#define KERNEL_TYPES_PATH 32

/* What libbpf opens it by (btf_custom_path), in @path; NULL where @fd is negative. */
const char *kernel_types_path(int fd, char path[KERNEL_TYPES_PATH]);

#endif
