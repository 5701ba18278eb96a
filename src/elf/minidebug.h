/* SPDX-License-Identifier: MIT */
/*
 * "MiniDebugInfo" (GDB manual): Fedora and its kin leave a small ELF file with
 * the function symbols that were stripped, packed with xz, in .gnu_debugdata.
 */
#ifndef EBPROF_MINIDEBUG_H
#define EBPROF_MINIDEBUG_H

#include "elf/elf_file.h"

/*
 * That file's *@size bytes, malloc'd, for elf_file_open_memory(). NULL with
 * errno: ENOENT there is none, EFBIG over 64 MiB, EBADMSG damaged, ENOTSUP
 * another compression or one that needs too much memory, ENOMEM.
 */
uint8_t *minidebug_unpack(const struct elf_file *f, size_t *size);

#endif
