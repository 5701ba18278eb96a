/* SPDX-License-Identifier: MIT */
/* The programs of CIEs and FDEs: call frame instructions (DWARF 5, 6.4.2, 7.24). */
#include <elf.h>
#include <errno.h>

#include "dwarf/cfi.h"
#include "dwarf/cfi_internal.h"

/* Compilers nest DW_CFA_remember_state once or twice. */
#define DEPTH		32
#define DONE		1	/* the rest of the program is about later code */

/* The two bits above choose one of these; the operand is in the six below. */
enum { CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_HIGH = 0xc0 };

enum operand {
	NONE, BYTE1, BYTE2, BYTE4, BYTE8,
	ADDRESS,		/* as the FDE's own are encoded */
	NUMBER,			/* ULEB128: a register, or an offset that is not factored */
	FACTORED,		/* ULEB128, times the data alignment */
	FACTORED_SIGNED,	/* SLEB128, times the data alignment */
	FACTORED_NEGATIVE,	/* ULEB128, to be subtracted */
	BLOCK,			/* ULEB128 length, then an expression */
};

enum action {
	INVALID, NOTHING, ADVANCE, MOVE, RULE, RESTORE, REMEMBER, RECALL,
	SET_CFA, SET_CFA_REGISTER, SET_CFA_OFFSET, SET_CFA_EXPRESSION, NEGATE_RA,
};

struct instruction {
	uint8_t action;
	uint8_t kind;		/* enum cfi_kind, of RULE */
	uint8_t first, second;	/* enum operand */
};

/* DWARF 5, table 7.29, and what GNU, MIPS and Arm added. */
static const struct instruction instructions[CFA_ADVANCE_LOC] = {
	[0x00] = { NOTHING, 0, NONE, NONE },
	[0x01] = { MOVE, 0, ADDRESS, NONE },				/* set_loc */
	[0x02] = { ADVANCE, 0, BYTE1, NONE },				/* advance_loc1 */
	[0x03] = { ADVANCE, 0, BYTE2, NONE },				/* advance_loc2 */
	[0x04] = { ADVANCE, 0, BYTE4, NONE },				/* advance_loc4 */
	[0x05] = { RULE, CFI_OFFSET, NUMBER, FACTORED },		/* offset_extended */
	[0x06] = { RESTORE, 0, NUMBER, NONE },				/* restore_extended */
	[0x07] = { RULE, CFI_UNDEFINED, NUMBER, NONE },			/* undefined */
	[0x08] = { RULE, CFI_SAME, NUMBER, NONE },			/* same_value */
	[0x09] = { RULE, CFI_REGISTER, NUMBER, NUMBER },		/* register */
	[0x0a] = { REMEMBER, 0, NONE, NONE },				/* remember_state */
	[0x0b] = { RECALL, 0, NONE, NONE },				/* restore_state */
	[0x0c] = { SET_CFA, 0, NUMBER, NUMBER },			/* def_cfa */
	[0x0d] = { SET_CFA_REGISTER, 0, NUMBER, NONE },			/* def_cfa_register */
	[0x0e] = { SET_CFA_OFFSET, 0, NONE, NUMBER },			/* def_cfa_offset */
	[0x0f] = { SET_CFA_EXPRESSION, CFI_VAL_EXPRESSION, NONE, BLOCK }, /* def_cfa_expression */
	[0x10] = { RULE, CFI_EXPRESSION, NUMBER, BLOCK },		/* expression */
	[0x11] = { RULE, CFI_OFFSET, NUMBER, FACTORED_SIGNED },		/* offset_extended_sf */
	[0x12] = { SET_CFA, 0, NUMBER, FACTORED_SIGNED },		/* def_cfa_sf */
	[0x13] = { SET_CFA_OFFSET, 0, NONE, FACTORED_SIGNED },		/* def_cfa_offset_sf */
	[0x14] = { RULE, CFI_VAL_OFFSET, NUMBER, FACTORED },		/* val_offset */
	[0x15] = { RULE, CFI_VAL_OFFSET, NUMBER, FACTORED_SIGNED },	/* val_offset_sf */
	[0x16] = { RULE, CFI_VAL_EXPRESSION, NUMBER, BLOCK },		/* val_expression */
	[0x1d] = { ADVANCE, 0, BYTE8, NONE },				/* MIPS_advance_loc8 */
	/* AARCH64_negate_ra_state_with_pc */
	[0x2c] = { NEGATE_RA, 0, NONE, NONE },
	/* AARCH64_negate_ra_state, GNU_window_save */
	[0x2d] = { NEGATE_RA, 0, NONE, NONE },
	/* GNU_args_size: where a call lands, not where we are */
	[0x2e] = { NOTHING, 0, NUMBER, NONE },
	/* GNU_negative_offset_extended */
	[0x2f] = { RULE, CFI_OFFSET, NUMBER, FACTORED_NEGATIVE },
};

/* What DW_CFA_remember_state keeps. Of @reg only what is @touched is ever written or read. */
struct state {
	struct cfi_value cfa;
	int64_t cfa_offset;
	uint64_t touched;
	uint8_t ra_signed;
	struct cfi_value reg[CFI_REGS];
};

struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_row row;		/* as it is now */
	int64_t cfa_offset;		/* the last that was given; see change_cfa() */
	uint64_t last;			/* the last address that rows are wanted for */
	/* or NULL: only the last row matters */
	void (*fn)(void *ctx, const struct cfi_row *row);
	void *ctx;
	struct state initial;		/* what the CIE left */
	unsigned depth, most;		/* states that are saved; that may be */
	struct state saved[DEPTH];
};

static void copy_rules(struct cfi_value *to, const struct cfi_value *from, uint64_t which)
{
	for (; which; which &= which - 1) {
		int r = __builtin_ctzll(which);

		to[r] = from[r];
	}
}

static void save(const struct machine *m, struct state *st)
{
	const struct cfi_row *row = &m->row;

	st->cfa = row->cfa;
	st->cfa_offset = m->cfa_offset;
	st->touched = row->touched;
	st->ra_signed = row->ra_signed;
	copy_rules(st->reg, row->reg, row->touched);
}

static void recall(struct machine *m, const struct state *st)
{
	struct cfi_row *row = &m->row;

	for (uint64_t gone = row->touched & ~st->touched; gone; gone &= gone - 1)
		row->reg[__builtin_ctzll(gone)] = (struct cfi_value){ 0 };
	row->cfa = st->cfa;
	m->cfa_offset = st->cfa_offset;
	row->touched = st->touched;
	row->ra_signed = st->ra_signed;
	copy_rules(row->reg, st->reg, st->touched);
}

/* Vector registers of aarch64 and the like have no column: their rules are read and forgotten. */
static inline void set_rule(struct machine *m, uint64_t reg, struct cfi_value v)
{
	if (reg >= CFI_REGS)
		return;
	m->row.reg[reg] = v;
	m->row.touched |= 1ull << reg;
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg >= CFI_REGS)
		return;
	if (m->initial.touched >> reg & 1) {
		set_rule(m, reg, m->initial.reg[reg]);
	} else {
		m->row.reg[reg] = (struct cfi_value){ 0 };
		m->row.touched &= ~(1ull << reg);
	}
}

/* A register without a column is one that nobody knows. */
static struct cfi_value cfa_value(uint64_t reg, int64_t offset)
{
	if (reg >= CFI_REGS)
		return (struct cfi_value){ .kind = CFI_UNDEFINED };
	return (struct cfi_value){ .kind = CFI_REGISTER, .reg = (uint8_t)reg, .offset = offset };
}

static inline int advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes))
		return -EBADMSG;
	if (!bytes)
		return 0;
	if (m->fn)
		m->fn(m->ctx, &m->row);
	if (bytes > m->last - m->row.start)
		return DONE;
	m->row.start += bytes;
	return 0;
}

static int move(struct machine *m, uint64_t address)
{
	if (address < m->row.start)
		return -EBADMSG;
	if (address == m->row.start)
		return 0;
	if (m->fn)
		m->fn(m->ctx, &m->row);
	if (address > m->last)
		return DONE;
	m->row.start = address;
	return 0;
}

static uint64_t read_operand(const struct machine *m, struct cursor *c, uint8_t operand)
{
	const uint64_t align = (uint64_t)m->cie->data_align;

	switch (operand) {
	case BYTE1:
		return cursor_fixed(c, 1);
	case BYTE2:
		return cursor_fixed(c, 2);
	case BYTE4:
		return cursor_fixed(c, 4);
	case BYTE8:
		return cursor_fixed(c, 8);
	case ADDRESS:
		return cfi_pointer(m->section, c, m->cie->encoding);
	case NUMBER:
	case BLOCK:
		return cursor_uleb(c);
	case FACTORED:
		return cursor_uleb(c) * align;
	case FACTORED_SIGNED:
		return (uint64_t)cursor_sleb(c) * align;
	case FACTORED_NEGATIVE:
		return -cursor_uleb(c) * align;
	default:
		return 0;
	}
}

/* The value that a RULE or SET_CFA_EXPRESSION gives; passes over the block of an expression. */
static struct cfi_value rule_value(const struct instruction *in, uint64_t operand, struct cursor *c)
{
	struct cfi_value v = { .kind = in->kind };

	if (in->second == BLOCK) {
		v.expression = c->p;
		/* shorter, where a section has more than 4 GiB: still inside of it */
		v.size = (uint32_t)operand;
		cursor_skip(c, operand);
	} else if (in->kind == CFI_REGISTER) {
		/* In a register that has no column: lost. */
		v.kind = operand < CFI_REGS ? CFI_REGISTER : CFI_UNDEFINED;
		v.reg = operand < CFI_REGS ? (uint8_t)operand : 0;
	} else {
		v.offset = (int64_t)operand;
	}
	return v;
}

/*
 * The offset outlives an expression: hand-written code goes back from one with
 * DW_CFA_def_cfa_register alone. DWARF forbids it, but libgcc, which such
 * code is tested with, takes the last offset.
 */
static void change_cfa(struct machine *m, const struct instruction *in, uint64_t first,
		       uint64_t second)
{
	if (in->action != SET_CFA_REGISTER)
		m->cfa_offset = (int64_t)second;
	if (in->action != SET_CFA_OFFSET)
		m->row.cfa = cfa_value(first, m->cfa_offset);
	else if (m->row.cfa.kind != CFI_VAL_EXPRESSION)
		m->row.cfa.offset = m->cfa_offset;
}

static int execute(struct machine *m, struct cursor *c, uint8_t opcode)
{
	const struct instruction *in = &instructions[opcode];
	uint64_t first = read_operand(m, c, in->first), second = read_operand(m, c, in->second);

	if (c->bad)
		return -EBADMSG;
	switch (in->action) {
	case NOTHING:
		return 0;
	case ADVANCE:
		return advance(m, first);
	case MOVE:
		return move(m, first);
	case RULE:
		set_rule(m, first, rule_value(in, second, c));
		return 0;
	case RESTORE:
		restore(m, first);
		return 0;
	case REMEMBER:
		if (m->depth == m->most)
			return -EBADMSG;
		save(m, &m->saved[m->depth++]);
		return 0;
	case RECALL:
		if (!m->depth)
			return -EBADMSG;
		recall(m, &m->saved[--m->depth]);
		return 0;
	case SET_CFA:
	case SET_CFA_REGISTER:
	case SET_CFA_OFFSET:
		change_cfa(m, in, first, second);
		return 0;
	case SET_CFA_EXPRESSION:
		m->row.cfa = rule_value(in, second, c);
		return 0;
	case NEGATE_RA:		/* the same number is SPARC's GNU_window_save */
		m->row.ra_signed ^= 1;
		return m->section->machine == EM_AARCH64 ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

/* To the end, or to the first row behind m->last: 0 or DONE. */
static int run(struct machine *m, const uint8_t *program, const uint8_t *end)
{
	struct cursor c = { program, end, 0 };
	int err = 0;

	while (c.p < c.end && !err) {
		uint8_t byte = *c.p++, low = byte & ~CFA_HIGH;

		switch (byte & CFA_HIGH) {
		case CFA_ADVANCE_LOC:
			err = advance(m, low);
			break;
		case CFA_OFFSET:
			set_rule(m, low,
				 (struct cfi_value){
					 .kind = CFI_OFFSET,
					 .offset = (int64_t)(cursor_uleb(&c) *
							     (uint64_t)m->cie->data_align) });
			break;
		case CFA_RESTORE:
			restore(m, low);
			break;
		default:
			err = execute(m, &c, byte);
		}
	}
	return c.bad ? -EBADMSG : err;
}

/*
 * From the FDE's beginning through the row that holds at @last, which is what
 * m->row says in the end; m->fn is given all of them. 0 or -EBADMSG.
 */
static int run_fde(struct machine *m, const struct cfi_parsed *fde, uint64_t last)
{
	void (*fn)(void *ctx, const struct cfi_row *row) = m->fn;
	int err;

	m->cie = fde->cie;
	m->row = (struct cfi_row){ .start = fde->start,
				   .cfa.kind = CFI_UNDEFINED,
				   .ra = fde->cie->ra,
				   .signal = fde->cie->signal };
	m->cfa_offset = 0;
	m->depth = 0;
	m->initial.touched = 0;
	/*
	 * Initial instructions are about no address, and have no state to go back to: both is an
	 * error.
	 */
	m->most = 0;
	m->fn = NULL;
	m->last = fde->start;
	if (run(m, m->cie->program, m->cie->end))
		return -EBADMSG;
	save(m, &m->initial);
	m->most = DEPTH;
	m->fn = fn;
	m->last = last;
	err = run(m, fde->program, fde->program_end);
	if (!err && fn)
		fn(m->ctx, &m->row);
	return err < 0 ? err : 0;
}

int cfi_rows(const struct cfi_section *s, const struct cfi_fde *fde,
	     void (*fn)(void *ctx, const struct cfi_row *row), void *ctx, uint64_t *bad)
{
	struct cfi_cies cies = { 0 };
	struct cfi_parsed parsed;
	struct machine m;
	int err = cfi_parse(s, fde->offset, &cies, &parsed);

	m.section = s;
	m.row.start = fde->start;
	m.fn = fn;
	m.ctx = ctx;
	if (!err && parsed.start < parsed.end)
		err = run_fde(&m, &parsed, parsed.end - 1);
	if (err && bad)
		*bad = m.row.start;
	return err;
}

int cfi_row_at(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t pc,
	       struct cfi_row *out)
{
	struct cfi_cies cies = { 0 };
	struct cfi_parsed parsed;
	struct machine m;
	int err = cfi_parse(s, fde->offset, &cies, &parsed);

	if (err)
		return err;
	if (pc < parsed.start || pc >= parsed.end)
		return -ENOENT;
	m.section = s;
	m.fn = NULL;
	err = run_fde(&m, &parsed, pc);
	if (!err)
		*out = m.row;
	return err;
}
