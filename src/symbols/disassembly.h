/* SPDX-License-Identifier: MIT */
/*
 * The machine code of one function in the file of an image, or of the running kernel, as
 * instructions, of x86-64 and aarch64: by capstone, which is loaded when it is wanted, because that
 * takes longer than our own start.
 */
#ifndef EBPROF_DISASSEMBLY_H
#define EBPROF_DISASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"
#include "symbols/kallsyms.h"

#define DISASSEMBLY_TEXT 192	/* bytes of an instruction's text, with its end */

enum instruction_kind { INSTRUCTION_PLAIN, INSTRUCTION_JUMP, INSTRUCTION_CALL };

struct instruction {
	uint64_t offset;		/* in the file; of the kernel the address */
	uint64_t address;		/* as the file is linked */
	enum instruction_kind kind;
	uint64_t target;		/* address that it jumps to, or calls; 0: not told by it */
	char text[DISASSEMBLY_TEXT];	/* clean */
};

struct disassembly {
	struct instruction *v;
	size_t n;
};

struct disassembler;

/*
 * Before a sandbox, in which no code is loaded any more. NULL: there is no such library, or
 * this is a static program.
 */
struct disassembler *disassembler_new(void);
/* Takes NULL. */
void disassembler_free(struct disassembler *by);

/*
 * The function that has the code at @offset of @image's file, as its symbols and call frame
 * information say; at most 256 KiB of it. 0, or a negative errno: -ENOENT nothing tells where it
 * begins, -ENOTSUP another machine's, or why the image cannot be read. disassembly_free() in any
 * case.
 */
int disassembly_of(struct disassembly *d, const struct disassembler *by,
		   const struct image *image, uint64_t offset);
/*
 * The same of the running kernel's function at @address, by its symbols, from the ELF file @core
 * (/proc/kcore) that has its memory.
 */
int disassembly_of_kernel(struct disassembly *d, const struct disassembler *by,
			  const struct elf_file *core, const struct kallsyms *symbols,
			  uint64_t address);
void disassembly_free(struct disassembly *d);

#endif
