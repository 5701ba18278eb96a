/* SPDX-License-Identifier: MIT */
/* From a frame's registers to its caller's: rules, and expressions of all kinds. */
#include <errno.h>

#include "cfi_bytes.h"
#include "test.h"

#define STACK	0x7000
#define WORDS	32

static const struct cfi_section x86 = { .machine = EM_X86_64 }, arm64 = { .machine = EM_AARCH64 };

struct memory {
	uint64_t word[WORDS];	/* from STACK on */
	unsigned reads;
};

static int read_memory(void *ctx, uint64_t address, int size, uint64_t *value)
{
	struct memory *m = ctx;

	m->reads++;
	if (address < STACK || address > STACK + sizeof(m->word) - (unsigned)size)
		return -EFAULT;
	*value = 0;
	memcpy(value, (char *)m->word + (address - STACK), (size_t)size);
	return 0;
}

/* Word i is 0x1000 + i. */
static struct memory memory(void)
{
	struct memory m = { .reads = 0 };

	for (unsigned i = 0; i < WORDS; i++)
		m.word[i] = 0x1000 + i;
	return m;
}

/* All registers are known, r[i] = 0x100 + i, and @sp points to STACK. */
static struct cfi_registers registers(unsigned sp)
{
	struct cfi_registers r = { .known = (1ull << CFI_REGS) - 1 };

	for (unsigned i = 0; i < CFI_REGS; i++)
		r.r[i] = 0x100 + i;
	r.r[sp] = STACK;
	return r;
}

static struct cfi_value value(int kind, int64_t offset)
{
	return (struct cfi_value){ .kind = (uint8_t)kind, .offset = offset };
}

static struct cfi_value expression(int kind, const uint8_t *bytes, size_t size)
{
	return (struct cfi_value){ .kind = (uint8_t)kind,
				   .expression = bytes,
				   .size = (uint32_t)size };
}

static void rule(struct cfi_row *row, unsigned reg, struct cfi_value v)
{
	row->reg[reg] = v;
	row->touched |= 1ull << reg;
}

/* CFA = rsp + 16, the return address at CFA - 8. */
static struct cfi_row x86_row(void)
{
	struct cfi_row row = { .ra = 16, .cfa = { .kind = CFI_REGISTER, .reg = 7, .offset = 16 } };

	rule(&row, 16, value(CFI_OFFSET, -8));
	return row;
}

TEST(a_frame)
{
	struct cfi_registers r = registers(7);
	struct cfi_row row = x86_row();
	struct memory m = memory();

	rule(&row, 6, value(CFI_OFFSET, -16));
	rule(&row, 3, (struct cfi_value){ .kind = CFI_REGISTER, .reg = 1 });
	rule(&row, 12, value(CFI_VAL_OFFSET, -4));
	rule(&row, 13, value(CFI_UNDEFINED, 0));
	rule(&row, 0, value(CFI_SAME, 0));
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), 0);
	CHECK_EQ(r.r[16], 0x1001);
	CHECK_EQ(r.r[7], STACK + 16);
	CHECK_EQ(r.r[6], 0x1000);
	CHECK_EQ(r.r[3], 0x101);
	CHECK_EQ(r.r[12], STACK + 12);
	CHECK_EQ(r.r[14], 0x10e);
	/* it says so; the other registers that a callee may change are not known any more */
	CHECK_EQ(r.r[0], 0x100);
	CHECK_EQ(r.known,
		 1 << 0 | 1 << 3 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 14 | 1 << 15 | 1 << 16);
	CHECK_EQ(m.reads, 2);
}

TEST(the_root)
{
	struct cfi_registers r = registers(7), before = r;
	struct cfi_row row = x86_row();
	struct memory m = memory();

	rule(&row, 16, value(CFI_UNDEFINED, 0));
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), 1);
	CHECK(!memcmp(&r, &before, sizeof(r)));
	/* No rule at all is no root: the program counter would stay as it is. */
	row.touched = 0;
	row.reg[16] = value(CFI_SAME, 0);
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), -EBADMSG);
}

TEST(what_cannot_be_known)
{
	struct cfi_registers r = registers(7), before;
	struct cfi_row row = x86_row();
	struct memory m = memory();

	row.cfa.kind = CFI_UNDEFINED;
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), -ENODATA);
	row = x86_row();
	row.cfa.reg = 10;
	r.known &= ~(1ull << 10);
	before = r;
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), -ENODATA);
	row = x86_row();
	rule(&row, 16, (struct cfi_value){ .kind = CFI_REGISTER, .reg = 10 });
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), -ENODATA);
	row = x86_row();
	row.cfa.offset = 0x100000;
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), -EFAULT);
	CHECK(!memcmp(&r, &before, sizeof(r)));
	/*
	 * Another register that cannot be read is not known, and all is well until somebody needs
	 * it.
	 */
	row = x86_row();
	rule(&row, 3, value(CFI_OFFSET, 0x100000));
	rule(&row, 6, expression(CFI_EXPRESSION, BYTES(0x96)));
	rule(&row, 12, expression(CFI_VAL_EXPRESSION, BYTES(0xff)));
	rule(&row, 13, (struct cfi_value){ .kind = CFI_REGISTER, .reg = 10 });
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), 0);
	CHECK_EQ(r.known, 1 << 6 | 1 << 7 | 1 << 14 | 1 << 15 | 1 << 16);
	CHECK_EQ(r.r[6], 0x1002);
}

TEST(a_signal_frame)
{
	struct cfi_registers r = registers(7);
	struct cfi_row row = x86_row();
	struct memory m = memory();

	/*
	 * As libc's __restore_rt: all registers are at rsp + n. There rsp is the CFA; here, to tell
	 * them apart, it is not.
	 */
	row.signal = 1;
	row.cfa = expression(CFI_VAL_EXPRESSION, BYTES(0x77, 0x20, 0x06));
	m.word[4] = STACK + 0xf0;
	rule(&row, 7, expression(CFI_EXPRESSION, BYTES(0x77, 0x38)));
	rule(&row, 16, expression(CFI_EXPRESSION, BYTES(0x77, 0x28)));
	rule(&row, 10, expression(CFI_EXPRESSION, BYTES(0x77, 0x30)));
	rule(&row, 3, value(CFI_VAL_OFFSET, 0));
	CHECK_EQ(cfi_apply(&x86, &row, &r, read_memory, &m), 0);
	CHECK_EQ(r.r[7], 0x1007);
	CHECK_EQ(r.r[3], STACK + 0xf0);
	CHECK_EQ(r.r[16], 0x1005);
	CHECK_EQ(r.r[10], 0x1006);
	CHECK(r.known >> 10 & 1);
}

TEST(aarch64)
{
	struct cfi_row row = { .ra = 30, .cfa = { .kind = CFI_REGISTER, .reg = 31, .offset = 16 } };
	struct cfi_registers r = registers(31);
	struct memory m = memory();

	/* A leaf: the return address is still in lr, and it is signed. */
	r.r[30] = 0x00b4aaaabbbbccccull;
	CHECK_EQ(cfi_apply(&arm64, &row, &r, read_memory, &m), 0);
	CHECK_EQ(r.r[30], 0x00b4aaaabbbbccccull);
	CHECK_EQ(r.r[31], STACK + 16);
	CHECK_EQ(r.known, 1ull << 31 | 1ull << 30 | 0x7ffull << 19);
	r = registers(31);
	r.r[30] = 0x00b4aaaabbbbccccull;
	row.ra_signed = 1;
	CHECK_EQ(cfi_apply(&arm64, &row, &r, read_memory, &m), 0);
	CHECK_EQ(r.r[30], 0xaaaabbbbcccc);
	/* Saved. */
	r = registers(31);
	m.word[1] = 0xff34aaaabbbbccccull;
	rule(&row, 30, value(CFI_OFFSET, -8));
	rule(&row, 29, value(CFI_OFFSET, -16));
	CHECK_EQ(cfi_apply(&arm64, &row, &r, read_memory, &m), 0);
	CHECK_EQ(r.r[30], 0xaaaabbbbcccc);
	CHECK_EQ(r.r[29], 0x1000);
	CHECK_EQ(r.r[19], 0x113);
}

/* The CFA as an expression gives it; or an error. */
static int64_t evaluate(const uint8_t *bytes, size_t size)
{
	struct cfi_registers r = registers(7);
	struct cfi_row row = x86_row();
	struct memory m = memory();
	int err;

	r.known &= ~(1ull << 15);
	row.cfa = expression(CFI_VAL_EXPRESSION, bytes, size);
	rule(&row, 16, value(CFI_VAL_OFFSET, 0));
	err = cfi_apply(&x86, &row, &r, read_memory, &m);
	return err ? err : (int64_t)r.r[16];
}

TEST(constants)
{
	CHECK_EQ(evaluate(BYTES(0x30)), 0);
	CHECK_EQ(evaluate(BYTES(0x4f)), 31);
	CHECK_EQ(evaluate(BYTES(0x03, 1, 2, 3, 4, 5, 6, 7, 8)), 0x0807060504030201);
	CHECK_EQ(evaluate(BYTES(0x08, 0x80)), 0x80);
	CHECK_EQ(evaluate(BYTES(0x09, 0x80)), -0x80);
	CHECK_EQ(evaluate(BYTES(0x0a, 0, 0x80)), 0x8000);
	CHECK_EQ(evaluate(BYTES(0x0b, 0, 0x80)), -0x8000);
	CHECK_EQ(evaluate(BYTES(0x0c, 0, 0, 0, 0x80)), 0x80000000);
	CHECK_EQ(evaluate(BYTES(0x0d, 0, 0, 0, 0x80)), -0x80000000ll);
	CHECK_EQ(evaluate(BYTES(0x0e, 1, 0, 0, 0, 0, 0, 0, 1)), 0x0100000000000001);
	CHECK_EQ(evaluate(BYTES(0x0f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)), -2);
	CHECK_EQ(evaluate(BYTES(0x10, 0x80, 0x02)), 256);
	CHECK_EQ(evaluate(BYTES(0x11, 0x80, 0x7f)), -128);
	/* LEB128 of more than 64 bits, and of more bytes than it needs. */
	CHECK_EQ(evaluate(BYTES(0x10, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				0x80, 0x80, 0x7f)),
		 1);
	CHECK_EQ(evaluate(BYTES(0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				0xff, 0x7f)),
		 -1);
}

TEST(registers_and_memory)
{
	CHECK_EQ(evaluate(BYTES(0x70, 0x7f)), 0xff);
	CHECK_EQ(evaluate(BYTES(0x92, 3, 2)), 0x105);
	CHECK_EQ(evaluate(BYTES(0x7f, 0)), -ENODATA);
	CHECK_EQ(evaluate(BYTES(0x92, 33, 0)), -ENODATA);
	CHECK_EQ(evaluate(BYTES(0x92, 0xff, 0xff, 0xff, 0xff, 0x7f, 0)), -ENODATA);
	CHECK_EQ(evaluate(BYTES(0x77, 8, 0x06)), 0x1001);
	CHECK_EQ(evaluate(BYTES(0x77, 9, 0x94, 1)), 0x10);
	CHECK_EQ(evaluate(BYTES(0x77, 8, 0x94, 2)), 0x1001);
	CHECK_EQ(evaluate(BYTES(0x77, 8, 0x94, 8)), 0x1001);
	CHECK_EQ(evaluate(BYTES(0x77, 8, 0x94, 3)), -EBADMSG);
	CHECK_EQ(evaluate(BYTES(0x70, 0, 0x06)), -EFAULT);
}

TEST(the_stack)
{
	CHECK_EQ(evaluate(BYTES(0x33, 0x12, 0x1e)), 9);			/* dup */
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x13)), 3);			/* drop */
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x14)), 3);			/* over */
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x35, 0x15, 2)), 3);	/* pick */
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x16, 0x1c)), 1);		/* swap */
	/* rot: 3 4 5 becomes 5 3 4. */
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x35, 0x17)), 4);
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x35, 0x17, 0x13)), 3);
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x35, 0x17, 0x13, 0x13)), 5);
	CHECK_EQ(evaluate(BYTES(0x96, 0x31, 0x96)), 1);			/* nop */
}

TEST(arithmetic)
{
	CHECK_EQ(evaluate(BYTES(0x09, 0xf9, 0x19)), 7);				/* abs */
	CHECK_EQ(evaluate(BYTES(0x37, 0x19)), 7);
	CHECK_EQ(evaluate(BYTES(0x3c, 0x3a, 0x1a)), 8);				/* and */
	CHECK_EQ(evaluate(BYTES(0x09, 0xf9, 0x32, 0x1b)), -3);			/* div, signed */
	/* which overflows */
	CHECK_EQ(evaluate(BYTES(0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b)), INT64_MIN);
	CHECK_EQ(evaluate(BYTES(0x33, 0x37, 0x1c)), -4);			/* minus */
	CHECK_EQ(evaluate(BYTES(0x09, 0xff, 0x3a, 0x1d)), 5);			/* mod, unsigned */
	CHECK_EQ(evaluate(BYTES(0x33, 0x37, 0x1e)), 21);			/* mul */
	CHECK_EQ(evaluate(BYTES(0x33, 0x1f)), -3);				/* neg */
	CHECK_EQ(evaluate(BYTES(0x33, 0x20)), -4);				/* not */
	CHECK_EQ(evaluate(BYTES(0x3c, 0x33, 0x21)), 15);			/* or */
	CHECK_EQ(evaluate(BYTES(0x3c, 0x33, 0x22)), 15);			/* plus */
	CHECK_EQ(evaluate(BYTES(0x33, 0x23, 0x80, 0x01)), 131);			/* plus_uconst */
	CHECK_EQ(evaluate(BYTES(0x33, 0x34, 0x24)), 48);			/* shl */
	CHECK_EQ(evaluate(BYTES(0x33, 0x08, 64, 0x24)), 0);
	CHECK_EQ(evaluate(BYTES(0x09, 0xff, 0x08, 60, 0x25)), 15);		/* shr */
	CHECK_EQ(evaluate(BYTES(0x09, 0xff, 0x08, 64, 0x25)), 0);
	CHECK_EQ(evaluate(BYTES(0x09, 0xf0, 0x32, 0x26)), -4);			/* shra */
	CHECK_EQ(evaluate(BYTES(0x09, 0xf0, 0x08, 200, 0x26)), -1);
	CHECK_EQ(evaluate(BYTES(0x3c, 0x3a, 0x27)), 6);				/* xor */
}

TEST(comparisons_and_jumps)
{
	static const uint8_t results[6][3] = {	/* of -1 with 1, 1 with 1, 1 with -1 */
		{ 0, 1, 0 }, { 0, 1, 1 }, { 0, 0, 1 }, { 1, 1, 0 }, { 1, 0, 0 }, { 1, 0, 1 },
	};

	for (uint8_t i = 0; i < 6; i++) {	/* eq, ge, gt, le, lt, ne */
		CHECK_EQ(evaluate(BYTES(0x09, 0xff, 0x31, (uint8_t)(0x29 + i))), results[i][0]);
		CHECK_EQ(evaluate(BYTES(0x31, 0x31, (uint8_t)(0x29 + i))), results[i][1]);
		CHECK_EQ(evaluate(BYTES(0x31, 0x09, 0xff, (uint8_t)(0x29 + i))), results[i][2]);
	}
	CHECK_EQ(evaluate(BYTES(0x31, 0x2f, 1, 0, 0x32, 0x33, 0x22)), 4);	/* skip */
	CHECK_EQ(evaluate(BYTES(0x35, 0x31, 0x28, 1, 0, 0x36)), 5);	/* bra, taken */
	CHECK_EQ(evaluate(BYTES(0x35, 0x30, 0x28, 1, 0, 0x36)), 6);	/* and not */
	/* Back, until the counter is 0; a jump to the end. */
	CHECK_EQ(evaluate(BYTES(0x3f, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff)), 0);
	CHECK_EQ(evaluate(BYTES(0x32, 0x2f, 0, 0)), 2);
	/* As in .plt: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. */
	CHECK_EQ(evaluate(BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22)),
		 STACK + 8);
	CHECK_EQ(evaluate(BYTES(0x77, 8, 0x80, 11, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22)),
		 STACK + 16);
}

TEST(damaged_expressions)
{
	static const struct {
		uint8_t bytes[8];
		size_t size;
	} damaged[] = {
		{ { 0 }, 0 },
		{ { 0x00 }, 1 },
		{ { 0xff }, 1 },
		{ { 0x9c }, 1 },
		{ { 0x50 }, 1 },
		{ { 0xe0 }, 1 },
		/* nothing is left */
		{ { 0x31, 0x13 }, 2 },
		{ { 0x12 }, 1 },
		{ { 0x13 }, 1 },
		{ { 0x06 }, 1 },
		{ { 0x1f }, 1 },
		{ { 0x23, 1 }, 2 },
		{ { 0x94, 8 }, 2 },
		{ { 0x31, 0x22 }, 2 },
		{ { 0x31, 0x14 }, 2 },
		{ { 0x31, 0x16 }, 2 },
		{ { 0x31, 0x31, 0x17 }, 3 },
		{ { 0x31, 0x15, 1 }, 3 },
		{ { 0x28, 0, 0 }, 3 },
		{ { 0x31, 0x30, 0x1b }, 3 },
		{ { 0x31, 0x30, 0x1d }, 3 }, /* by zero */
		{ { 0x08 }, 1 },
		{ { 0x0e, 1, 2, 3 }, 4 },
		{ { 0x77 }, 1 },
		{ { 0x10, 0x80 }, 2 },
		{ { 0x31, 0x15 }, 2 },
		/* jumps out */
		{ { 0x31, 0x2f, 1 }, 3 },
		{ { 0x31, 0x2f, 1, 0 }, 4 },
		{ { 0x31, 0x2f, 0xfb, 0xff }, 4 },
		/* without end; that and growing */
		{ { 0x31, 0x2f, 0xfd, 0xff }, 4 },
		{ { 0x31, 0x2f, 0xfc, 0xff }, 4 },
	};
	/* A jump to what lies before the expression, which would jump to its end. */
	static const uint8_t before[] = { 0x2f, 4, 0, 0x31, 0x2f, 0xf9, 0xff };
	uint8_t deep[65];

	CHECK_EQ(evaluate(before + 3, 4), -EBADMSG);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		CHECK_EQ(evaluate(damaged[i].bytes, damaged[i].size), -EBADMSG);
	memset(deep, 0x31, sizeof(deep));
	CHECK_EQ(evaluate(deep, 64), 1);
	CHECK_EQ(evaluate(deep, 65), -EBADMSG);
}

TEST(a_thousand_operations)
{
	uint8_t nops[1001];

	memset(nops, 0x96, sizeof(nops));
	nops[0] = 0x31;
	CHECK_EQ(evaluate(nops, 1000), 1);
	CHECK_EQ(evaluate(nops, 1001), -EBADMSG);
}

int main(void)
{
	RUN(a_frame);
	RUN(the_root);
	RUN(what_cannot_be_known);
	RUN(a_signal_frame);
	RUN(aarch64);
	RUN(constants);
	RUN(registers_and_memory);
	RUN(the_stack);
	RUN(arithmetic);
	RUN(comparisons_and_jumps);
	RUN(damaged_expressions);
	RUN(a_thousand_operations);
	return TEST_END();
}
