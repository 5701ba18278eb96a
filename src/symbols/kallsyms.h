/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions, from /proc/kallsyms (kernel/kallsyms.c, s_show): one
 * "address type name [module]" a line; BPF programs and ftrace's trampolines are
 * listed as modules. Function names are as the kernel prints them, mangled if they
 * are; module names are cleaned (base/text.h).
 */
#ifndef EBPROF_KALLSYMS_H
#define EBPROF_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsyms;

struct kallsyms_symbol {
	const char *name;	/* both live as long as the table */
	const char *module;	/* "[kernel]", "[ext4]", "[bpf]" */
	/* may lie some bytes behind the address: what is reserved before a function is its, too */
	uint64_t start;
};

/*
 * Reads the file at @path. NULL with errno: EPERM the addresses are hidden
 * (kernel.kptr_restrict), ENODATA no functions, or why it could not be read.
 */
struct kallsyms *kallsyms_new(const char *path);
void kallsyms_free(struct kallsyms *k);

/*
 * What is built into the kernel, for another run of the same kernel (by its build id): wherever it
 * is moved to by then, because no address is in it. malloc'd.
 */
void *kallsyms_write(const struct kallsyms *k, size_t *size);
/*
 * A table of these @bytes, which may be anybody's, with the kernel's _stext as it is now.
 * kallsyms_find() says -ENOENT for all that is not built in. NULL with errno EBADMSG.
 */
struct kallsyms *kallsyms_of_kept(const void *bytes, size_t size, uint64_t stext);
/* kallsyms_stext(), without reading more of @path than needed. */
uint64_t kallsyms_read_stext(const char *path);

/* Where the kernel's own code begins (_stext), wherever it was moved to at boot; 0: not told. */
uint64_t kallsyms_stext(const struct kallsyms *k);

/* The function at @address: 0, or -ENOENT. */
int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out);

#endif
