/* SPDX-License-Identifier: MIT */
/* What only the code of an interpreter's file tells. */
#ifndef EBPROF_PYTHON_CODE_H
#define EBPROF_PYTHON_CODE_H

#include "elf/elf_code.h"
#include "elf/elf_file.h"

/* A function of the file. */
struct python_function {
	uint64_t address, size;
};

/*
 * The part of @function that a compiler moved away (.cold), whose name was stripped: in the
 * call frame information, where each jumps into the midst of the other. No call does so. 0, or
 * -ENOENT. Debian's 3.14 and 3.15 have most of their interpreter there.
 */
int python_moved_part(const struct elf_file *f, const struct elf_code *code,
		      const struct python_function *function, struct python_function *out);

/* Where a thread-local variable is. */
struct python_tls {
	/* of a library, whose module and offset are at @at; else @at is from the thread pointer */
	int module;
	uint64_t at;
	uint64_t offset;	/* of a library: from that offset */
};

/* The variable that @function returns, and does nothing else. 0, or -ENOENT. */
int python_returned_tls(const struct elf_file *f, const struct elf_code *code,
			const struct python_function *function, struct python_tls *out);

#endif
