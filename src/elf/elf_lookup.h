/* SPDX-License-Identifier: MIT */
/*
 * Where functions lie that are known by name: .dynsym, then .symtab of an ELF
 * file (gABI, "Symbol Table"). For probes, which want offsets in the file.
 */
#ifndef EBPROF_ELF_LOOKUP_H
#define EBPROF_ELF_LOOKUP_H

#include <elf.h>

#include "elf/elf_file.h"

struct elf_function {
	const char *name;	/* without a version; set by the caller */
	uint64_t offset;	/* in the file; 0: there is no such function */
	uint64_t size;		/* bytes; 0: not known */
	/* it gives the address of the function: no call of it is seen there */
	int ifunc;
};

/* @name is there while it is given. */
typedef void elf_take_symbol(void *ctx, const Elf64_Sym *sym, const char *name);

/*
 * Gives each symbol that is defined in @f, of any type. 0, or a negative errno where no table can
 * be read.
 */
int elf_lookup_each(const struct elf_file *f, elf_take_symbol *take_symbol, void *ctx);
/*
 * Whether the file may export @name: 0 is sure, and takes two short reads (by the filter in
 * .gnu.hash), so it can be asked of every file.
 */
int elf_may_export(const struct elf_file *f, const char *name);
/*
 * Fills @functions: 0, or a negative errno where no table can be read. The first of several of one
 * name counts.
 */
int elf_lookup(const struct elf_file *f, struct elf_function *functions, size_t n);
/*
 * The same of an open file, that may be hostile, for who has many rights: by a child that has none,
 * and may do nothing but read (base/sandbox.h). -ETIMEDOUT: it took more than ten seconds,
 * -EBADMSG: it died of it; no function is there then.
 */
int elf_lookup_apart(int fd, struct elf_function *functions, size_t n);

#endif
