/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the CFI parser; not for others. */
#ifndef EBPROF_CFI_INTERNAL_H
#define EBPROF_CFI_INTERNAL_H

#include "base/cursor.h"
#include "dwarf/cfi.h"

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
int cfi_parse(const struct cfi_section *s, size_t offset, struct cfi_cies *cies,
	      struct cfi_parsed *out);

/* A pointer, encoded as DW_EH_PE_* tells. Sets c->bad where it cannot be had. */
uint64_t cfi_pointer(const struct cfi_section *s, struct cursor *c, uint8_t encoding);

/*
 * Evaluates an expression of a rule (DWARF 5, 2.5 and 6.4.2), from a stack with
 * *@cfa on it, or nothing where @cfa is NULL. Errors as in cfi_apply().
 */
int cfi_evaluate(const struct cfi_value *v, const struct cfi_registers *regs, const uint64_t *cfa,
		 cfi_read *read, void *ctx, uint64_t *out);

#endif
