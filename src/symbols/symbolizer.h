/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses.
 *
 * Sources stand behind one small vtable (symbol_source.h); a source is opened
 * when the first address of its image is asked for, and only what is asked for
 * is demangled. Names are demangled and cleaned once here, and live as long as
 * the symbolizer. Not thread safe.
 */
#ifndef EBPROF_SYMBOLIZER_H
#define EBPROF_SYMBOLIZER_H

#include <stdint.h>

#include "elf/image.h"

struct symbolizer;

struct symbol {
	const char *name;	/* demangled and cleaned */
	const char *module;	/* kernel only: "[kernel]", "[ext4]", "[bpf]" */
	uint64_t offset;	/* of the address in the function, bytes */
};

struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/*
 * The function at @offset of @image's file. A caller looks a return address up
 * at address - 1. 0, or a negative errno saying why there is no name: -ENOENT
 * no symbol covers it, -ENODATA the file has no symbols (stripped), -ENOEXEC
 * not an ELF file, -EBADMSG damaged, or image->why.
 */
int symbolizer_user(struct symbolizer *s, const struct image *image, uint64_t offset, struct symbol *out);

/*
 * The kernel function at @address, modules, BPF programs and ftrace trampolines
 * included. -ENOENT nothing there, -EPERM addresses hidden (kptr_restrict).
 */
int symbolizer_kernel(struct symbolizer *s, uint64_t address, struct symbol *out);

/* 1 where kernel addresses are hidden from us by kernel.kptr_restrict; known after the first kernel look-up. */
int symbolizer_kernel_hidden(const struct symbolizer *s);

#endif
