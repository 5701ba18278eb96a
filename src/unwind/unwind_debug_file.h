/* SPDX-License-Identifier: MIT */
/* The separate debug file of a program, for its .debug_frame. */
#ifndef EBPROF_UNWIND_DEBUG_FILE_H
#define EBPROF_UNWIND_DEBUG_FILE_H

#include "elf/elf_file.h"

/*
 * Opens /usr/lib/debug/.build-id/XX/REST.debug (GDB manual, "Separate Debug
 * Files") of @elf: a regular file with the same build id. Its descriptor, with
 * the file opened over it in *@out, both for the caller to close; or -ENOENT,
 * -ESTALE: another file has that name, or a negative errno.
 */
int unwind_debug_file(const struct elf_file *elf, struct elf_file **out);

#endif
