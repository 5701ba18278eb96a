/* SPDX-License-Identifier: MIT */
/* Makes sections of call frame information, byte by byte, for the tests of the parser. */
#ifndef EBPROF_TEST_CFI_BYTES_H
#define EBPROF_TEST_CFI_BYTES_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "dwarf/cfi.h"

#define VADDR	0x10000		/* of the sections made here */
#define CODE	0x401000	/* what FDEs are about, unless said otherwise */

struct bytes {
	uint8_t b[8192];
	size_t n;
};

/* A program or an expression, as two arguments. */
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define NO_BYTES NULL, 0

static inline void put(struct bytes *s, unsigned size, uint64_t v)
{
	memcpy(s->b + s->n, &v, size);
	s->n += size;
}

static inline void put_bytes(struct bytes *s, const void *p, size_t size)
{
	if (size)
		memcpy(s->b + s->n, p, size);
	s->n += size;
}

/* An entry's head: its length is filled in by finish(). */
static inline size_t begin(struct bytes *s)
{
	put(s, 4, 0);
	return s->n - 4;
}

static inline size_t finish(struct bytes *s, size_t start)
{
	uint32_t length = (uint32_t)(s->n - start - 4);

	memcpy(s->b + start, &length, 4);
	return start;
}

/*
 * A CIE of .eh_frame, augmentation "zR": code alignment 1, data alignment -8. Returns its offset.
 */
static inline size_t add_cie(struct bytes *s, uint8_t encoding, uint8_t ra, const void *program,
			     size_t size)
{
	size_t start = begin(s);

	put(s, 4, 0);
	put(s, 1, 1);
	put_bytes(s, "zR", 3);
	put(s, 1, 1);
	put(s, 1, 0x78);
	put(s, 1, ra);
	put(s, 1, 1);
	put(s, 1, encoding);
	put_bytes(s, program, size);
	return finish(s, start);
}

/* The head of an FDE of @cie up to its pointer. */
static inline size_t begin_fde(struct bytes *s, size_t cie)
{
	size_t start = begin(s);

	put(s, 4, s->n - cie);
	return start;
}

/* An FDE of a CIE whose encoding is DW_EH_PE_absptr. */
static inline size_t add_fde(struct bytes *s, size_t cie, uint64_t code, uint64_t size,
			     const void *program, size_t length)
{
	size_t start = begin_fde(s, cie);

	put(s, 8, code);
	put(s, 8, size);
	put(s, 1, 0);
	put_bytes(s, program, length);
	return finish(s, start);
}

static inline struct cfi_section section_of(const struct bytes *s)
{
	return (struct cfi_section){
		.data = s->b, .size = s->n, .vaddr = VADDR, .machine = EM_X86_64
	};
}

/* The usual initial instructions of x86-64: CFA = rsp + 8, the return address at CFA - 8. */
#define X86_INITIAL 0x0c, 7, 8, 0x90, 1

#endif
