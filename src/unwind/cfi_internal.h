/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the CFI parser; not for others. */
#ifndef EBPROF_CFI_INTERNAL_H
#define EBPROF_CFI_INTERNAL_H

#include <string.h>

#include "unwind/cfi.h"

/*
 * Reads forward and never past @end: a read that does not fit sets @bad, gives
 * 0 and moves to the end, so that one check after several reads is enough and
 * every loop over a cursor ends.
 */
struct cfi_cursor {
	const uint8_t *p, *end;
	int bad;
};

static inline uint64_t cfi_fail(struct cfi_cursor *c)
{
	c->bad = 1;
	c->p = c->end;
	return 0;
}

static inline int cfi_has(const struct cfi_cursor *c, uint64_t size)
{
	return size <= (uint64_t)(c->end - c->p);
}

/* @size bytes (1, 2, 4, 8), little endian, zero-extended. */
static inline uint64_t cfi_fixed(struct cfi_cursor *c, unsigned size)
{
	uint64_t v = 0;

	if (!cfi_has(c, size))
		return cfi_fail(c);
	memcpy(&v, c->p, size);
	c->p += size;
	return v;
}

static inline void cfi_skip(struct cfi_cursor *c, uint64_t size)
{
	if (cfi_has(c, size))
		c->p += size;
	else
		cfi_fail(c);
}

/* LEB128 (DWARF 5, 7.6). Bits beyond 64 are dropped, as a writer may pad a number to any length. */
static inline uint64_t cfi_leb(struct cfi_cursor *c, int is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (c->p < c->end) {
		uint8_t byte = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift < 64)
			v |= ~0ull << shift;
		return v;
	}
	return cfi_fail(c);
}

static inline uint64_t cfi_uleb(struct cfi_cursor *c)
{
	if (c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cfi_leb(c, 0);
}

static inline int64_t cfi_sleb(struct cfi_cursor *c)
{
	return (int64_t)cfi_leb(c, 1);
}

#define CFI_FORMAT	0x0f	/* the part of a pointer's encoding that tells its size and sign */

struct cfi_cie {
	size_t offset;
	int err;			/* what parsing gave */
	const uint8_t *program, *end;	/* initial instructions */
	uint64_t code_align;
	int64_t data_align;
	uint8_t ra, signal;
	uint8_t encoding;		/* of addresses: DW_EH_PE_* */
	uint8_t augmented;		/* FDEs have augmentation data, and tell its length */
	uint8_t segment_size;
};

/* An FDE, taken apart. */
struct cfi_parsed {
	const struct cfi_cie *cie;
	uint64_t start, end;
	const uint8_t *program, *program_end;
};

/*
 * A few CIEs, by offset: a section has one or two for most of its FDEs. The
 * owner sets it to zeros and a parsed FDE points into it.
 */
#define CFI_CIES 4
struct cfi_cies {
	struct cfi_cie cie[CFI_CIES];
	uint8_t used[CFI_CIES];
};

/* Takes the FDE at @offset apart. 0 or -EBADMSG; also for what is no FDE. */
int cfi_parse(const struct cfi_section *s, size_t offset, struct cfi_cies *cies, struct cfi_parsed *out);

/* A pointer, encoded as DW_EH_PE_* tells. Sets c->bad where it cannot be had. */
uint64_t cfi_pointer(const struct cfi_section *s, struct cfi_cursor *c, uint8_t encoding);

/*
 * Evaluates an expression of a rule (DWARF 5, 2.5 and 6.4.2), from a stack with
 * *@cfa on it, or nothing where @cfa is NULL. Errors as in cfi_apply().
 */
int cfi_evaluate(const struct cfi_value *v, const struct cfi_registers *regs, const uint64_t *cfa,
		 cfi_read *read, void *ctx, uint64_t *out);

#endif
