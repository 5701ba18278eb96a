/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: .eh_frame (LSB Core 5, 10.6) and .debug_frame
 * (DWARF 5, 6.4), for x86-64 and aarch64.
 *
 * The bytes belong to the target: every read is bounded, every program ends.
 * Sections are borrowed. No global state: several threads may parse at once.
 */
#ifndef EBPROF_CFI_H
#define EBPROF_CFI_H

#include <stddef.h>
#include <stdint.h>

/* columns kept, DWARF numbers. x86-64: 0-15, 16 is the return address. aarch64: 0-30, 31 sp */
#define CFI_REGS	33

/* How a value of the caller is found (DWARF 5, 6.4.1). */
enum cfi_kind {
	CFI_SAME,		/* not changed; also what no rule was given for */
	CFI_UNDEFINED,
	CFI_OFFSET,		/* *(CFA + offset) */
	CFI_VAL_OFFSET,		/* CFA + offset */
	CFI_REGISTER,		/* the value of @reg, + @offset; the usual kind of a CFA */
	CFI_EXPRESSION,		/* *(expression), CFA pushed first */
	CFI_VAL_EXPRESSION,	/* the expression itself; the other kind of a CFA */
};

struct cfi_value {
	uint8_t kind;		/* enum cfi_kind */
	/* always < CFI_REGS: what depends on another register is CFI_UNDEFINED */
	uint8_t reg;
	uint32_t size;		/* of the expression, bytes */
	union {
		int64_t offset;
		const uint8_t *expression;	/* in the section */
	};
};

/* What holds from @start (a virtual address) to the next row, or to the end of its FDE. */
struct cfi_row {
	uint64_t start;
	struct cfi_value cfa;
	struct cfi_value reg[CFI_REGS];
	uint64_t touched;	/* bit r: reg[r] was given a rule, other than by default */
	/* column of the return address, as the CIE says; always < CFI_REGS */
	uint8_t ra;
	uint8_t signal;		/* augmentation 'S': a signal frame */
	uint8_t ra_signed;	/* aarch64: DW_CFA_AARCH64_negate_ra_state is in force */
};

struct cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;		/* of data[0]; for DW_EH_PE_pcrel */
	uint64_t text, got;	/* bases of DW_EH_PE_textrel and _datarel; 0: not known */
	uint16_t machine;	/* EM_X86_64 or EM_AARCH64 */
	uint8_t debug_frame;	/* .debug_frame, not .eh_frame */
};

struct cfi_fde {
	uint64_t start, end;	/* code that it is about: virtual addresses, end exclusive */
	size_t offset;		/* of the FDE in the section */
};

/*
 * All FDEs of a section, in the order of the section, in a malloc'd array *@out
 * of *@n. An entry that is damaged, or whose CIE is, or has an augmentation
 * that we do not know or, on x86-64, another column than 16 for the return
 * address, is passed over where its length can be trusted, and ends the walk
 * where not. A terminator ends it in .eh_frame. Returns how many were passed
 * over, or a negative errno (-EFBIG: more than 4 M).
 */
long cfi_fdes(const struct cfi_section *s, struct cfi_fde **out, size_t *n);

/*
 * Runs the FDE's program and calls @fn for each row, ascending; a row that says
 * the same as the one before may be given all the same. @row is valid during the call. Returns 0,
 * or -EBADMSG where the program is damaged: what was given until then holds up to the damage, of
 * which *@bad (may be NULL) is the virtual address.
 */
int cfi_rows(const struct cfi_section *s, const struct cfi_fde *fde,
	     void (*fn)(void *ctx, const struct cfi_row *row), void *ctx, uint64_t *bad);

/* Bytes of the FDE, most of them its program's: what running it takes grows with them. */
size_t cfi_length(const struct cfi_section *s, const struct cfi_fde *fde);

/* The row that holds at @pc. 0, -ENOENT: @pc is not in the FDE, -EBADMSG. */
int cfi_row_at(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t pc,
	       struct cfi_row *out);

/*
 * 1 where the CFA is too low: it has the return address above it, where by the ABI nothing of a
 * frame lies. So glibc tells of _dl_runtime_resolve on aarch64: the first entry of the PLT, which
 * jumps there, pushes 16 bytes, and the CFA is without them.
 */
int cfi_is_low(uint16_t machine, const struct cfi_row *row);
/* Makes such a row true; others stay. */
void cfi_mend(uint16_t machine, struct cfi_row *row);

/*
 * The FDE of @pc by binary search in .eh_frame_hdr (@hdr, of @size bytes at
 * @hdr_vaddr; LSB Core 5, 10.6.2), whose table is not trusted. 0, -ENOENT, -EBADMSG, or
 * -ENOTSUP: it has no sorted table that we can search.
 */
int cfi_find(const struct cfi_section *s, const uint8_t *hdr, size_t size, uint64_t hdr_vaddr,
	     uint64_t pc, struct cfi_fde *out);

/* --- Applying a row with all registers, for what the compact rules cannot express. --- */

struct cfi_registers {
	/* r[16] (x86-64), or the return address column, is pc of the frame */
	uint64_t r[CFI_REGS];
	uint64_t known;		/* bit r: r[r] is known */
};

/* Reads @size (1, 2, 4, 8) bytes of the target's memory, zero-extended. 0 or a negative errno. */
typedef int cfi_read(void *ctx, uint64_t address, int size, uint64_t *value);

/*
 * From the registers of a frame to those of its caller; sp becomes the CFA. Not
 * known in the caller are registers that cannot be found, other than the return
 * address, and those that the ABI lets a callee change and no rule is about.
 * 0; 1: the root (the return address is undefined); -ENODATA: a register that
 * is needed is not known; -EBADMSG: an expression is damaged or takes more than
 * 1,000 operations; or what @read returned. But for 0, @regs stays as it was.
 */
int cfi_apply(const struct cfi_section *s, const struct cfi_row *row, struct cfi_registers *regs,
	      cfi_read *read, void *ctx);

#endif
