/* SPDX-License-Identifier: MIT */
/*
 * The file with the running kernel's DWARF, where one is installed. It counts
 * only with the build id that the kernel tells of itself. Modules have files
 * of their own, which are not looked for.
 */
#ifndef EBPROF_KERNEL_DWARF_H
#define EBPROF_KERNEL_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

/* Where things of the running kernel are. All NULL: where they always are. */
struct kernel_places {
	const char *vmlinux;	/* this file, and no other */
	const char *kallsyms;	/* /proc/kallsyms */
	const char *notes;	/* /sys/kernel/notes */
	const char *release;	/* as uname -r tells it */
};

struct kernel_dwarf {
	int fd;			/* -1: nothing is open */
	struct elf_file *elf;
	struct symbol_source *names;
	uint64_t slide;		/* an address of the running kernel is that much above the file's */
};

/* The running kernel's build id: how many bytes of @id, -ENODATA, or why it cannot be read. */
int kernel_build_id(const struct kernel_places *places, uint8_t id[ELF_BUILD_ID_MAX]);

/*
 * Opens places->vmlinux, else the first that is the kernel's of
 *	DIR/boot/vmlinux-RELEASE, DIR/lib/modules/RELEASE/vmlinux, DIR/.build-id/XX/REST.debug
 *						for each DIR of @dirs and for /usr/lib/debug
 *	/lib/modules/RELEASE/build/vmlinux
 * @stext: the address of the running kernel's _stext (symbols/kallsyms.h). 0, -ENOENT: there is
 * none, -ESTALE: it has another build id, -ENODATA: it has no debug information or no _stext, or
 * why the notes or the file cannot be read. After an error nothing is open.
 */
int kernel_dwarf_open(struct kernel_dwarf *k, const struct kernel_places *places,
		      const char *const *dirs, size_t n_dirs, uint64_t stext);
void kernel_dwarf_close(struct kernel_dwarf *k);

#endif
