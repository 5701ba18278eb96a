/* SPDX-License-Identifier: MIT */
/*
 * The machine code of a file in memory, with where its functions start: for what an interpreter
 * does not export, and what only its code says (x86-64).
 */
#ifndef EBPROF_CODE_TEXT_H
#define EBPROF_CODE_TEXT_H

#include <stdint.h>

#include "elf/elf_file.h"

struct code_text {
	uint8_t *bytes;
	size_t n;
	uint64_t address, offset;	/* of the first */
	uint64_t *starts;		/* of functions, sorted; behind them the end of the text */
	size_t nstarts;
};

/* 0, or -EBADMSG: it has none that can be read. */
int code_text_read(const struct elf_file *f, struct code_text *out);
void code_text_free(struct code_text *t);

/* @n bytes at @address; NULL: they are not all there. */
const uint8_t *code_text_at(const struct code_text *t, uint64_t address, size_t n);
/* What the 4 bytes at @p, the last ones of an instruction, are relative to it. */
uint64_t code_text_relative(const struct code_text *t, const uint8_t *p);
/* The number of the function that has @address; it is in the text. */
size_t code_text_function(const struct code_text *t, uint64_t address);

#endif
