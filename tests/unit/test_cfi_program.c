/* SPDX-License-Identifier: MIT */
/* Call frame instructions: each of them, and programs that are damaged. */
#include <errno.h>

#include "cfi_bytes.h"
#include "test.h"

#define ROWS 16

/* The rows that a program gave. */
struct result {
	struct bytes section;
	struct cfi_section s;
	struct cfi_fde fde;
	struct cfi_row row[ROWS];
	size_t n;
	int err;
	uint64_t bad;
};

static void keep(void *ctx, const struct cfi_row *row)
{
	struct result *r = ctx;

	if (r->n < ROWS)
		r->row[r->n] = *row;
	r->n++;
}

/* Every row must be what cfi_row_at() says at its first and at its last address. */
static void check_row_at(struct result *r)
{
	uint64_t end = r->err ? r->bad : r->fde.end;

	for (size_t i = 0; i < r->n && i < ROWS; i++) {
		uint64_t last = (i + 1 < r->n ? r->row[i + 1].start : end) - 1;
		struct cfi_row at;

		CHECK_EQ(cfi_row_at(&r->s, &r->fde, r->row[i].start, &at), 0);
		CHECK(!memcmp(&at.cfa, &r->row[i].cfa, sizeof(at.cfa)) &&
		      at.touched == r->row[i].touched);
		CHECK_EQ(cfi_row_at(&r->s, &r->fde, last, &at), 0);
		CHECK(!memcmp(at.reg, r->row[i].reg, sizeof(at.reg)) &&
		      at.start == r->row[i].start);
	}
}

static void run_as(struct result *r, uint16_t machine, uint8_t ra, const void *initial,
		   size_t initial_size, const void *program, size_t size)
{
	size_t cie;

	memset(r, 0, sizeof(*r));
	cie = add_cie(&r->section, 0, ra, initial, initial_size);
	r->fde.offset = add_fde(&r->section, cie, CODE, 0x1000, program, size);
	r->fde.start = CODE;
	r->fde.end = CODE + 0x1000;
	r->s = section_of(&r->section);
	r->s.machine = machine;
	r->err = cfi_rows(&r->s, &r->fde, keep, r, &r->bad);
	check_row_at(r);
}

/* An x86-64 program behind the usual initial instructions. */
static void run(struct result *r, const void *program, size_t size)
{
	run_as(r, EM_X86_64, 16, BYTES(X86_INITIAL), program, size);
}

static void check_cfa(const struct cfi_row *row, uint64_t start, int reg, int64_t offset)
{
	CHECK_EQ(row->start, start);
	CHECK_EQ(row->cfa.kind, CFI_REGISTER);
	CHECK_EQ(row->cfa.reg, reg);
	CHECK_EQ(row->cfa.offset, offset);
}

static void check_rule(const struct cfi_row *row, int reg, int kind, int64_t offset)
{
	CHECK(row->touched >> reg & 1);
	CHECK_EQ(row->reg[reg].kind, kind);
	CHECK_EQ(row->reg[reg].offset, offset);
}

TEST(a_usual_function)
{
	struct result r;

	/* push rbp; mov rsp, rbp; ...; leave */
	run(&r,
	    BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x80, 0x0c, 7, 8, 0xc6, 0, 0, 0));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 4);
	check_cfa(&r.row[0], CODE, 7, 8);
	CHECK_EQ(r.row[0].touched, 1 << 16);
	check_rule(&r.row[0], 16, CFI_OFFSET, -8);
	check_cfa(&r.row[1], CODE + 1, 7, 16);
	check_rule(&r.row[1], 6, CFI_OFFSET, -16);
	check_cfa(&r.row[2], CODE + 4, 6, 16);
	check_cfa(&r.row[3], CODE + 4 + 0x80, 7, 8);
	CHECK_EQ(r.row[3].touched, 1 << 16);
	CHECK_EQ(r.row[3].reg[6].kind, CFI_SAME);
	CHECK_EQ(r.row[3].ra, 16);
	CHECK_EQ(r.row[3].signal, 0);
}

TEST(advances)
{
	struct result r;

	/* By 63, 200, 0x300, 0x101 (4 bytes), 0x102 (8 bytes), and to an address. */
	run(&r,
	    BYTES(0x7f, 0x02, 200, 0x03, 0x00, 0x03, 0x04, 1, 1, 0, 0, 0x1d, 2, 1, 0, 0, 0, 0, 0, 0,
		  0x01, 0xf0, 0x1f, 0x40, 0, 0, 0, 0, 0, 0x01, 0xf0, 0x1f, 0x40, 0, 0, 0, 0, 0));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 7);
	CHECK_EQ(r.row[1].start, CODE + 63);
	CHECK_EQ(r.row[2].start, CODE + 263);
	CHECK_EQ(r.row[3].start, CODE + 263 + 0x300);
	CHECK_EQ(r.row[4].start, CODE + 263 + 0x300 + 0x101);
	CHECK_EQ(r.row[5].start, CODE + 263 + 0x300 + 0x101 + 0x102);
	CHECK_EQ(r.row[6].start, CODE + 0xff0);
	/* By nothing: no row of no length. */
	run(&r, BYTES(0x40, 0x02, 0, 0x0e, 24));
	CHECK_EQ(r.n, 1);
	check_cfa(&r.row[0], CODE, 7, 24);
}

TEST(what_lies_behind_the_end_is_not_given)
{
	struct result r;

	run(&r, BYTES(0x03, 0xff, 0x0f, 0x0e, 16, 0x41, 0x0e, 24));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 2);
	check_cfa(&r.row[1], CODE + 0xfff, 7, 16);
	run(&r, BYTES(0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16));
	CHECK_EQ(r.n, 1);
	run(&r, BYTES(0x01, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x0e, 16));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 1);
}

TEST(rules_of_registers)
{
	struct result r;

	run(&r, BYTES(0x05, 3, 3, 0x11, 6, 0x7e, 0x2f, 12, 2, 0x07, 13, 0x08, 14, 0x09, 15, 3, 0x14,
		      1, 2, 0x15, 2, 0x7c, 0x80 | 4, 0x80, 0x01));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 1);
	check_rule(r.row, 3, CFI_OFFSET, -24);		/* offset_extended */
	check_rule(r.row, 6, CFI_OFFSET, 16);		/* offset_extended_sf */
	check_rule(r.row, 12, CFI_OFFSET, 16);		/* GNU_negative_offset_extended */
	check_rule(r.row, 13, CFI_UNDEFINED, 0);
	check_rule(r.row, 14, CFI_SAME, 0);
	check_rule(r.row, 15, CFI_REGISTER, 0);
	CHECK_EQ(r.row[0].reg[15].reg, 3);
	check_rule(r.row, 1, CFI_VAL_OFFSET, -16);
	check_rule(r.row, 2, CFI_VAL_OFFSET, 32);
	check_rule(r.row, 4, CFI_OFFSET, -1024);
	CHECK_EQ(r.row[0].touched, 1 << 16 | 0xf01e | 1 << 3 | 1 << 6);
}

TEST(rules_by_expression)
{
	struct result r;

	run(&r, BYTES(0x0f, 3, 0x77, 8, 0x06, 0x10, 6, 2, 0x76, 0, 0x16, 3, 1, 0x30));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.row[0].cfa.kind, CFI_VAL_EXPRESSION);
	CHECK_EQ(r.row[0].cfa.size, 3);
	CHECK(!memcmp(r.row[0].cfa.expression, "\x77\x08\x06", 3));
	CHECK_EQ(r.row[0].reg[6].kind, CFI_EXPRESSION);
	CHECK_EQ(r.row[0].reg[6].size, 2);
	CHECK_EQ(r.row[0].reg[6].expression[0], 0x76);
	CHECK_EQ(r.row[0].reg[3].kind, CFI_VAL_EXPRESSION);
	CHECK_EQ(r.row[0].reg[3].size, 1);
}

TEST(the_cfa)
{
	struct result r;

	run(&r, BYTES(0x12, 6, 0x7e, 0x41, 0x13, 0x7d, 0x41, 0x0d, 7, 0x41, 0x0e, 0x80, 0x02));
	CHECK_EQ(r.err, 0);
	check_cfa(&r.row[0], CODE, 6, 16);
	check_cfa(&r.row[1], CODE + 1, 6, 24);
	check_cfa(&r.row[2], CODE + 2, 7, 24);
	check_cfa(&r.row[3], CODE + 3, 7, 256);
	/* Back from an expression: to the last offset, or to one that was given meanwhile. */
	run(&r, BYTES(0x0e, 56, 0x0f, 1, 0x30, 0x41, 0x0d, 6, 0x41, 0x0f, 1, 0x30, 0x41, 0x0e, 32,
		      0x41, 0x0d, 7));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.row[0].cfa.kind, CFI_VAL_EXPRESSION);
	check_cfa(&r.row[1], CODE + 1, 6, 56);
	CHECK_EQ(r.row[3].cfa.kind, CFI_VAL_EXPRESSION);
	CHECK_EQ(r.row[3].cfa.size, 1);
	check_cfa(&r.row[4], CODE + 4, 7, 32);
	/* Never defined. */
	run_as(&r, EM_X86_64, 16, BYTES(0x90, 1), BYTES(0x41));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.row[0].cfa.kind, CFI_UNDEFINED);
}

TEST(restoring_what_the_cie_said)
{
	struct result r;

	/* rbx: a rule in the CIE. rbp: none. Registers by both forms of the instruction. */
	run_as(&r, EM_X86_64, 16, BYTES(X86_INITIAL, 0x83, 5),
	       BYTES(0x83, 2, 0x86, 3, 0x8c, 4, 0x41, 0xc3, 0x06, 6, 0xcc, 0x41, 0xd0));
	CHECK_EQ(r.err, 0);
	check_rule(&r.row[0], 3, CFI_OFFSET, -16);
	check_rule(&r.row[1], 3, CFI_OFFSET, -40);
	CHECK_EQ(r.row[1].touched, 1 << 16 | 1 << 3);
	CHECK_EQ(r.row[1].reg[6].kind | r.row[1].reg[12].kind, CFI_SAME);
	check_rule(&r.row[2], 16, CFI_OFFSET, -8);
}

TEST(remembering)
{
	struct result r;

	run(&r, BYTES(0x0e, 32, 0x86, 2, 0x0a, 0x0a, 0x41, 0x0e, 8, 0xc6, 0x83, 4, 0x41, 0x0b, 0x41,
		      0x0c, 6, 16, 0x41, 0x0b));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 5);
	check_cfa(&r.row[1], CODE + 1, 7, 8);
	CHECK_EQ(r.row[1].touched, 1 << 16 | 1 << 3);
	check_cfa(&r.row[2], CODE + 2, 7, 32);
	check_rule(&r.row[2], 6, CFI_OFFSET, -16);
	CHECK_EQ(r.row[2].touched, 1 << 16 | 1 << 6);
	CHECK_EQ(r.row[2].reg[3].kind, CFI_SAME);
	check_cfa(&r.row[3], CODE + 3, 6, 16);
	check_cfa(&r.row[4], CODE + 4, 7, 32);
	/* The offset behind an expression, too. */
	run(&r, BYTES(0x0a, 0x0e, 48, 0x0f, 1, 0x30, 0x0b, 0x0f, 1, 0x30, 0x0d, 6));
	check_cfa(&r.row[0], CODE, 6, 8);
}

TEST(remembering_without_end)
{
	uint8_t program[80];
	struct result r;

	memset(program, 0x0a, sizeof(program));
	program[3] = 0x41;
	run(&r, program, sizeof(program));
	CHECK_EQ(r.err, -EBADMSG);
	CHECK_EQ(r.bad, CODE + 1);
	CHECK_EQ(r.n, 1);
	memset(program, 0x0b, sizeof(program));
	memset(program, 0x0a, 20);
	run(&r, program, 40);
	CHECK_EQ(r.err, 0);
	run(&r, program, 41);
	CHECK_EQ(r.err, -EBADMSG);
	CHECK_EQ(r.n, 0);
	/* What the CIE remembered is not the FDE's. */
	run_as(&r, EM_X86_64, 16, BYTES(X86_INITIAL, 0x0a), BYTES(0x0b));
	CHECK_EQ(r.err, -EBADMSG);
}

TEST(registers_without_a_column)
{
	struct result r;

	/* Rules for registers 33 and 2^32 (vector registers): read, and of no effect. */
	run(&r, BYTES(0x05, 33, 1, 0x80 | 33, 2, 0x08, 0x80, 0x80, 0x80, 0x80, 0x10, 0x06, 40,
		      0xc0 | 50, 0x0e, 16));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.row[0].touched, 1 << 16);
	check_cfa(&r.row[0], CODE, 7, 16);
	/*
	 * A register kept in one of them is lost; a CFA counted from one is not known until it is
	 * counted from another.
	 */
	run(&r, BYTES(0x09, 6, 33, 0x0d, 64, 0x41, 0x0e, 24, 0x41, 0x0d, 6));
	CHECK_EQ(r.err, 0);
	check_rule(&r.row[0], 6, CFI_UNDEFINED, 0);
	CHECK_EQ(r.row[0].cfa.kind, CFI_UNDEFINED);
	CHECK_EQ(r.row[1].cfa.kind, CFI_UNDEFINED);
	check_cfa(&r.row[2], CODE + 2, 6, 24);
}

TEST(instructions_of_no_effect)
{
	struct result r;

	run(&r, BYTES(0x00, 0x2e, 0x90, 0x01, 0x00, 0x41, 0x2e, 0));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 2);
	check_cfa(&r.row[1], CODE + 1, 7, 8);
}

TEST(signed_return_addresses)
{
	struct result r;

	/* Remembered and restored as a register's rule is. */
	run_as(&r, EM_AARCH64, 30, BYTES(0x0c, 31, 0),
	       BYTES(0x41, 0x2d, 0x41, 0x0a, 0x2d, 0x41, 0x0b, 0x41, 0x2c));
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.n, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(r.row[i].ra_signed, "\0\1\0\1\0"[i]);
	CHECK_EQ(r.row[0].ra, 30);
	/* On other machines the number means nothing. */
	run(&r, BYTES(0x2d));
	CHECK_EQ(r.err, -EBADMSG);
}

TEST(damaged_programs)
{
	static const struct {
		uint8_t program[12];
		size_t size;
	} damaged[] = {
		/* no such instruction */
		{ { 0x41, 0x17 }, 2 },
		{ { 0x41, 0x3f }, 2 },
		{ { 0x41, 0x18 }, 2 },
		{ { 0x41, 0x02 }, 2 },
		{ { 0x41, 0x03, 1 }, 3 },
		{ { 0x41, 0x04, 1, 2, 3 }, 5 },
		{ { 0x41, 0x1d, 1, 2, 3, 4, 5, 6, 7 }, 9 },
		{ { 0x41, 0x01, 1, 2 }, 4 },
		{ { 0x41, 0x83 }, 2 },
		{ { 0x41, 0x83, 0x80, 0x80 }, 4 },
		{ { 0x41, 0x0c, 7 }, 3 },
		{ { 0x41, 0x05 }, 2 },
		{ { 0x41, 0x05, 3 }, 3 },
		{ { 0x41, 0x13, 0xff }, 3 },
		/* an expression that is cut off */
		{ { 0x41, 0x0f, 3, 1, 2 }, 5 },
		{ { 0x41, 0x10, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, 9 },
		{ { 0x41, 0x0b }, 2 },
		{ { 0x41, 0x01, 0, 0x10, 0x40, 0, 0, 0, 0, 0 }, 10 }, /* back */
	};
	struct result r;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		run(&r, damaged[i].program, damaged[i].size);
		CHECK_EQ(r.err, -EBADMSG);
		CHECK_EQ(r.n, 1);
		CHECK_EQ(r.bad, CODE + 1);
	}
}

TEST(damaged_initial_instructions)
{
	uint8_t program[129] = { 0 };
	struct result r;

	/* about code that is not there */
	run_as(&r, EM_X86_64, 16, BYTES(X86_INITIAL, 0x41), NO_BYTES);
	CHECK_EQ(r.err, -EBADMSG);
	CHECK_EQ(r.bad, CODE);
	CHECK_EQ(r.n, 0);
	run_as(&r, EM_X86_64, 16, BYTES(X86_INITIAL, 0x17), NO_BYTES);
	CHECK_EQ(r.err, -EBADMSG);
	/* They run for each FDE: a long program and many FDEs would be without end. */
	run_as(&r, EM_X86_64, 16, program, sizeof(program), NO_BYTES);
	CHECK_EQ(r.err, -EBADMSG);
	run_as(&r, EM_X86_64, 16, program, sizeof(program) - 1, NO_BYTES);
	CHECK_EQ(r.err, 0);
	/* To save and restore all rules takes a hundred times as long as to set one. */
	run_as(&r, EM_X86_64, 16, BYTES(X86_INITIAL, 0x0a, 0x0b), NO_BYTES);
	CHECK_EQ(r.err, -EBADMSG);
	run_as(&r, EM_X86_64, 16, BYTES(X86_INITIAL), BYTES(0x0a, 0x0b));
	CHECK_EQ(r.err, 0);
}

TEST(the_row_of_an_address)
{
	struct cfi_row row;
	struct result r;

	run(&r, BYTES(0x48, 0x0e, 16, 0x48, 0x17));
	CHECK_EQ(r.err, -EBADMSG);
	CHECK_EQ(cfi_row_at(&r.s, &r.fde, CODE - 1, &row), -ENOENT);
	CHECK_EQ(cfi_row_at(&r.s, &r.fde, CODE + 0x1000, &row), -ENOENT);
	/* Damage is of no account where it is about later code. */
	CHECK_EQ(cfi_row_at(&r.s, &r.fde, CODE + 15, &row), 0);
	check_cfa(&row, CODE + 8, 7, 16);
	CHECK_EQ(cfi_row_at(&r.s, &r.fde, CODE + 16, &row), -EBADMSG);
	r.fde.offset = r.section.n;
	CHECK_EQ(cfi_row_at(&r.s, &r.fde, CODE, &row), -EBADMSG);
}

int main(void)
{
	RUN(a_usual_function);
	RUN(advances);
	RUN(what_lies_behind_the_end_is_not_given);
	RUN(rules_of_registers);
	RUN(rules_by_expression);
	RUN(the_cfa);
	RUN(restoring_what_the_cie_said);
	RUN(remembering);
	RUN(remembering_without_end);
	RUN(registers_without_a_column);
	RUN(instructions_of_no_effect);
	RUN(signed_return_addresses);
	RUN(damaged_programs);
	RUN(damaged_initial_instructions);
	RUN(the_row_of_an_address);
	return TEST_END();
}
