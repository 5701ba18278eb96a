/* SPDX-License-Identifier: MIT */
/*
 * "MiniDebugInfo" (GDB manual): Fedora and its kin leave a small ELF file with
 * the function symbols that were stripped, packed with xz, in .gnu_debugdata.
 */
#ifndef EBPROF_MINIDEBUG_H
#define EBPROF_MINIDEBUG_H

#include "elf/elf_file.h"

/*
 * That file's *@size bytes, malloc'd, for elf_file_open_memory(). What it has packed and
 * unpacked is taken off *@left, in vain or not. NULL with errno: ENOENT there is none, EFBIG
 * over 64 MiB, over *@left, or far more than symbols are that pack so well, EBADMSG damaged,
 * ENOTSUP another compression or one that needs too much memory, ENOMEM.
 */
uint8_t *minidebug_unpack(const struct elf_file *f, uint64_t *left, size_t *size);

#endif
