/* SPDX-License-Identifier: MIT */
/*
 * Static probes (USDT): the notes of SystemTap's <sys/sdt.h> in .note.stapsdt
 * (sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). Hostile bytes.
 */
#ifndef EBPROF_PROBES_USDT_H
#define EBPROF_PROBES_USDT_H

#include "elf/elf_file.h"

#define USDT_TEXT_MAX 256	/* bytes of each text; what has more is left out */

struct usdt_note {
	uint64_t offset;	/* of the instruction in the file */
	uint64_t semaphore;	/* of a counter of who looks, in the file; 0: there is none */
	char provider[USDT_TEXT_MAX], name[USDT_TEXT_MAX];
	char arguments[USDT_TEXT_MAX];	/* "8@%rdi -4@$5": "" where there are none */
};

typedef void usdt_take(void *ctx, const struct usdt_note *note);
/*
 * Gives each probe that lies in the file. 0, or a negative errno: -ENODATA there are none, -EBADMSG
 * the notes are damaged (what comes before is given).
 */
int usdt_each(const struct elf_file *f, usdt_take *take, void *ctx);

#define USDT_ARGUMENTS_MAX 12

enum usdt_place { USDT_CONSTANT, USDT_REGISTER, USDT_MEMORY };

/* Where an argument is found. */
struct usdt_argument {
	enum usdt_place place;
	int size;		/* bytes: 1, 2, 4, 8 */
	int is_signed;
	int reg;		/* by DWARF's number */
	int64_t offset;		/* of the memory from the register; or the constant */
};

/*
 * The @n-th argument, from 0, of @arguments as this machine writes it. 0, -ENOENT there are fewer,
 * -ENOTSUP a form that is not known (with an index register, a part of a register).
 */
int usdt_argument(const char *arguments, unsigned int n, struct usdt_argument *out);

#endif
