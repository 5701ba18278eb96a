/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers in DEBUGINFOD_URLS (debuginfod(8)), over elfutils'
 * libdebuginfod. Slow, and it tells others what runs here: only where the user
 * asks for it. The library is loaded at run time, so that nobody needs to have it.
 */
#ifndef EBPROF_DEBUGINFOD_H
#define EBPROF_DEBUGINFOD_H

#include "elf/elf_file.h"

struct debuginfod;

/*
 * NULL with errno: ENOTSUP this is a static program, which can load no library;
 * EDESTADDRREQ DEBUGINFOD_URLS is not set; ELIBACC the library is not there, or
 * too old; ENOMEM.
 */
struct debuginfod *debuginfod_new(void);
void debuginfod_free(struct debuginfod *d);

/*
 * Fetches the debug file of @elf, or finds it in the library's cache. May take as
 * long as DEBUGINFOD_TIMEOUT says. The descriptor, with the file opened over it
 * in *@out, both for the caller; -ENOENT: no server has it, or @elf has no build
 * id; -ESTALE: what came is another file; or another negative errno.
 */
int debuginfod_fetch(struct debuginfod *d, const struct elf_file *elf, struct elf_file **out);

/*
 * The source file @path of the program with that build id, in the same way: its descriptor, which
 * the caller closes; -ENOENT or another negative errno.
 */
int debuginfod_fetch_source(struct debuginfod *d, const uint8_t *id, size_t n, const char *path);

#endif
