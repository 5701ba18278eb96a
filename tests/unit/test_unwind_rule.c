/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "test.h"
#include "unwind/table/rule.h"

#define SPECIAL(rule) (EBP_RULE_SPECIAL | (rule))
#define UNSUPPORTED SPECIAL(EBP_RULE_UNSUPPORTED)
#define EXOTIC SPECIAL(EBP_RULE_EXOTIC)
#define SAVED(n) ((n) << EBP_RULE_SAVED_SHIFT)

enum { RBP = 6, RSP = 7, R10 = 10, RIP = 16, FP = 29, LR = 30, SP = 31 };

static struct cfi_value at(int64_t offset)
{
	return (struct cfi_value){ .kind = CFI_OFFSET, .offset = offset };
}

static struct cfi_value base(uint8_t reg, int64_t offset)
{
	return (struct cfi_value){ .kind = CFI_REGISTER, .reg = reg, .offset = offset };
}

static struct cfi_value kind(uint8_t kind)
{
	return (struct cfi_value){ .kind = kind };
}

#define EXPRESSION(k, ...) (struct cfi_value){ \
	.kind = (k), .size = sizeof((const uint8_t[]){ __VA_ARGS__ }), \
	.expression = (const uint8_t[]){ __VA_ARGS__ } }

static struct cfi_row x86(struct cfi_value cfa, struct cfi_value rbp)
{
	struct cfi_row row = { .cfa = cfa, .ra = RIP };

	row.reg[RBP] = rbp;
	row.reg[RIP] = at(-8);
	return row;
}

static struct cfi_row arm64(struct cfi_value cfa, struct cfi_value fp, struct cfi_value lr)
{
	struct cfi_row row = { .cfa = cfa, .ra = LR };

	row.reg[FP] = fp;
	row.reg[LR] = lr;
	return row;
}

static int rule_of(uint16_t machine, struct cfi_row row, struct ebp_exotic *x)
{
	struct ebp_exotic unused;

	return unwind_rule(machine, &row, x ? x : &unused);
}

#define X86(cfa, rbp, x) rule_of(EM_X86_64, x86(cfa, rbp), x)
#define ARM64(cfa, fp, lr, x) rule_of(EM_AARCH64, arm64(cfa, fp, lr), x)

TEST(plain_x86)
{
	CHECK_EQ(X86(base(RSP, 8), kind(CFI_SAME), NULL), 1);
	CHECK_EQ(X86(base(RSP, 8 * 0x7ff), kind(CFI_SAME), NULL), 0x7ff);
	CHECK_EQ(X86(base(RBP, 16), at(-16), NULL), EBP_RULE_FP_BASE | SAVED(1) | 2);
	CHECK_EQ(X86(base(RSP, 64), at(-64), NULL), SAVED(7) | 8);
}

/* What the 16 bits have no room for. */
TEST(beyond_plain_x86)
{
	static const struct {
		uint8_t reg;
		int64_t cfa, rbp;
	} rows[] = {
		{ RSP, 8 * 0x800, -16 }, { RSP, 12, -16 }, { RSP, -8, -16 }, { R10, 16, -16 },
		{ RSP, 80, -72 },	 { RSP, 80, -20 }, { RSP, 80, 8 },   { RSP, 80, -8 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ebp_exotic x;

		CHECK_EQ(X86(base(rows[i].reg, rows[i].cfa), at(rows[i].rbp), &x), EXOTIC);
		CHECK_EQ(x.cfa, EBP_CFA_REG);
		CHECK_EQ(x.cfa_reg, rows[i].reg);
		CHECK_EQ(x.cfa_offset, rows[i].cfa);
		CHECK_EQ(x.fp, EBP_AT_CFA);
		CHECK_EQ(x.fp_offset, rows[i].rbp);
		CHECK_EQ(x.ra, EBP_AT_CFA);
		CHECK_EQ(x.ra_offset, -8);
	}
}

/* A return address that is not at CFA - 8; vfork's is in a register. */
TEST(return_address_x86)
{
	struct cfi_row row = x86(base(RSP, 8), kind(CFI_SAME));
	struct ebp_exotic x;

	row.reg[RIP] = at(-16);
	CHECK_EQ(unwind_rule(EM_X86_64, &row, &x), EXOTIC);
	CHECK_EQ(x.ra_offset, -16);
	CHECK_EQ(x.fp, EBP_AT_SAME);
	row.reg[RIP] = base(5, 0);
	CHECK_EQ(unwind_rule(EM_X86_64, &row, &x), EXOTIC);
	CHECK_EQ(x.ra, EBP_IN_REG);
	CHECK_EQ(x.ra_reg, 5);
	row.reg[RIP] = kind(CFI_UNDEFINED);
	CHECK_EQ(unwind_rule(EM_X86_64, &row, &x), SPECIAL(EBP_RULE_STOP));
	row.reg[RIP] = kind(CFI_SAME);
	CHECK_EQ(unwind_rule(EM_X86_64, &row, &x), UNSUPPORTED);
}

TEST(signal_frames)
{
	struct cfi_row row = x86(EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0xa0, 0x01, 0x06),
				 kind(CFI_SAME));
	struct ebp_exotic x;

	row.signal = 1;
	row.reg[RIP] = EXPRESSION(CFI_EXPRESSION, 0x77, 0xa8, 0x01);
	CHECK_EQ(unwind_rule(EM_X86_64, &row, &x), SPECIAL(EBP_RULE_SIGNAL));
	/* A root that calls itself a signal frame, as clone's start has been known to. */
	row.reg[RIP] = kind(CFI_UNDEFINED);
	CHECK_EQ(unwind_rule(EM_X86_64, &row, &x), SPECIAL(EBP_RULE_STOP));
	row = arm64(base(SP, 0), kind(CFI_SAME), kind(CFI_SAME));
	row.signal = 1;
	CHECK_EQ(unwind_rule(EM_AARCH64, &row, &x), SPECIAL(EBP_RULE_SIGNAL));
}

#define PLT(n) EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + (n), \
			  0x2a, 0x33, 0x24, 0x22)

TEST(plt)
{
	struct ebp_exotic x;

	CHECK_EQ(X86(PLT(10), kind(CFI_SAME), NULL), SPECIAL(EBP_RULE_PLT10));
	CHECK_EQ(X86(PLT(11), kind(CFI_SAME), NULL), SPECIAL(EBP_RULE_PLT11));
	CHECK_EQ(X86(PLT(5), kind(CFI_SAME), NULL), UNSUPPORTED);
	CHECK_EQ(X86(PLT(11), at(-16), NULL), UNSUPPORTED);
	/* `minus` in the place of `plus`. */
	CHECK_EQ(X86(EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
				0x24, 0x1c),
		     kind(CFI_SAME), &x),
		 UNSUPPORTED);
}

/*
 * A realigned stack (`breg6 -8; deref`, rbp in its own slot), and OpenSSL's (`breg7 128; deref;
 * plus_uconst 8`).
 */
TEST(expressions)
{
	struct ebp_exotic x;

	CHECK_EQ(X86(EXPRESSION(CFI_VAL_EXPRESSION, 0x76, 0x78, 0x06),
		     EXPRESSION(CFI_EXPRESSION, 0x76, 0), &x),
		 EXOTIC);
	CHECK_EQ(x.cfa, EBP_CFA_DEREF);
	CHECK_EQ(x.cfa_reg, RBP);
	CHECK_EQ(x.cfa_offset, -8);
	CHECK_EQ(x.cfa_add, 0);
	CHECK_EQ(x.fp, EBP_AT_REG);
	CHECK_EQ(x.fp_reg, RBP);
	CHECK_EQ(x.fp_offset, 0);
	CHECK_EQ(X86(EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0x80, 0x01, 0x06, 0x23, 8),
		     kind(CFI_SAME), &x),
		 EXOTIC);
	CHECK_EQ(x.cfa_reg, RSP);
	CHECK_EQ(x.cfa_offset, 128);
	CHECK_EQ(x.cfa_add, 8);
	CHECK_EQ(x.fp, EBP_AT_SAME);
	CHECK_EQ(X86(EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 16), kind(CFI_SAME), &x), EXOTIC);
	CHECK_EQ(x.cfa, EBP_CFA_REG);
}

TEST(expressions_that_end_early_or_late)
{
	static const uint8_t whole[] = { 0x77, 0x80, 0x01, 0x06, 0x23, 0x88, 0x01, 0x96 };

	/*
	 * Only three of its beginnings are whole: reg + offset, its deref, and that with an addend.
	 */
	for (uint32_t n = 0; n <= sizeof(whole); n++) {
		struct cfi_value v = { .kind = CFI_VAL_EXPRESSION, .size = n, .expression = whole };

		CHECK_EQ(X86(v, kind(CFI_SAME), NULL),
			 n == 3 || n == 4 || n == 7 ? EXOTIC : UNSUPPORTED);
	}
	CHECK_EQ(X86(EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0x80, 0x80, 0x80, 0x80, 0x01),
		     kind(CFI_SAME), NULL),
		 UNSUPPORTED);
}

TEST(frame_pointer_elsewhere)
{
	static const struct {
		uint8_t cfi, place;
	} kinds[] = {
		{ CFI_UNDEFINED, EBP_AT_UNDEFINED },
		{ CFI_VAL_OFFSET, EBP_IS_CFA },
		{ CFI_REGISTER, EBP_IN_REG },
	};
	struct ebp_exotic x;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		CHECK_EQ(X86(base(RSP, 8), kind(kinds[i].cfi), &x), EXOTIC);
		CHECK_EQ(x.fp, kinds[i].place);
	}
	CHECK_EQ(X86(base(RSP, 8), EXPRESSION(CFI_VAL_EXPRESSION, 0x76, 0), &x), UNSUPPORTED);
	CHECK_EQ(X86(base(RSP, 8), EXPRESSION(CFI_EXPRESSION, 0x76, 0, 0x06), &x), UNSUPPORTED);
	CHECK_EQ(X86(base(RSP, 8), base(3, 8), &x), UNSUPPORTED);
}

TEST(what_does_not_fit)
{
	CHECK_EQ(X86(base(RSP, 1ll << 31), kind(CFI_SAME), NULL), UNSUPPORTED);
	CHECK_EQ(X86(base(RSP, (1ll << 32) + 8), kind(CFI_SAME), NULL), UNSUPPORTED);
	CHECK_EQ(X86(base(RSP, 8), at(-(1ll << 32) - 16), NULL), UNSUPPORTED);
	CHECK_EQ(X86(kind(CFI_UNDEFINED), at(-16), NULL), UNSUPPORTED);
	CHECK_EQ(X86(kind(CFI_SAME), at(-16), NULL), UNSUPPORTED);
}

/* The step has the 16 general registers of x86-64; 16 is rip, 17 and up are vectors. */
TEST(registers_that_the_step_does_not_have)
{
	CHECK_EQ(X86(base(15, 8), kind(CFI_SAME), NULL), EXOTIC);
	CHECK_EQ(X86(base(16, 8), kind(CFI_SAME), NULL), UNSUPPORTED);
	CHECK_EQ(X86(EXPRESSION(CFI_VAL_EXPRESSION, 0x81, 0), kind(CFI_SAME), NULL), UNSUPPORTED);
	CHECK_EQ(X86(base(RSP, 8), base(17, 0), NULL), UNSUPPORTED);
	CHECK_EQ(X86(base(RSP, 8), EXPRESSION(CFI_EXPRESSION, 0x8f, 0), NULL), UNSUPPORTED);
	CHECK_EQ(ARM64(base(17, 16), kind(CFI_SAME), at(-8), NULL), EXOTIC);
	CHECK_EQ(ARM64(base(32, 16), kind(CFI_SAME), at(-8), NULL), UNSUPPORTED);
}

/* Equal rules are equal bytes: they are told apart by memcmp(). */
TEST(exotic_rules_have_no_stray_bytes)
{
	struct ebp_exotic a, b;

	memset(&a, 0x55, sizeof(a));
	memset(&b, 0xaa, sizeof(b));
	CHECK_EQ(X86(base(R10, 8), kind(CFI_SAME), &a), EXOTIC);
	CHECK_EQ(X86(base(R10, 8), kind(CFI_SAME), &b), EXOTIC);
	CHECK(!memcmp(&a, &b, sizeof(a)));
}

TEST(plain_arm64)
{
	static const struct {
		uint8_t saved;
		int fp, lr;
	} places[] = {
		{ EBP_SAVED_PAIR_LOW, -96, -88 }, { EBP_SAVED_PAIR_HIGH, -16, -8 },
		{ EBP_SAVED_PAIR_32, -32, -24 },  { EBP_SAVED_PAIR_48, -48, -40 },
		{ EBP_SAVED_LR_LOW, 0, -96 },	  { EBP_SAVED_LR_HIGH, 0, -16 },
		{ EBP_SAVED_LR_TOP, 0, -8 },
	};

	CHECK_EQ(ARM64(base(SP, 0), kind(CFI_SAME), kind(CFI_SAME), NULL),
		 SAVED(EBP_SAVED_NOTHING));
	CHECK_EQ(ARM64(base(SP, 32), kind(CFI_SAME), kind(CFI_SAME), NULL),
		 SAVED(EBP_SAVED_NOTHING) | 2);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct cfi_value fp = places[i].fp ? at(places[i].fp) : kind(CFI_SAME);

		CHECK_EQ(ARM64(base(SP, 96), fp, at(places[i].lr), NULL),
			 SAVED(places[i].saved) | 6);
		CHECK_EQ(ARM64(base(FP, 96), fp, at(places[i].lr), NULL),
			 EBP_RULE_FP_BASE | SAVED(places[i].saved) | 6);
	}
	CHECK_EQ(ARM64(base(SP, 16 * 0x7ff), at(-16), at(-8), NULL),
		 SAVED(EBP_SAVED_PAIR_HIGH) | 0x7ff);
}

/* _dl_runtime_resolve of glibc: the PLT pushed 16 bytes that its CFA is without. */
TEST(return_address_above_the_cfa)
{
	CHECK_EQ(ARM64(base(SP, 208), kind(CFI_SAME), at(8), NULL),
		 SAVED(EBP_SAVED_LR_TOP) | 224 / 16);
	CHECK_EQ(ARM64(base(SP, 0), kind(CFI_SAME), at(8), NULL), SAVED(EBP_SAVED_LR_TOP) | 1);
}

TEST(beyond_plain_arm64)
{
	struct cfi_row row = arm64(base(SP, 0), kind(CFI_SAME), kind(CFI_SAME));
	struct ebp_exotic x;

	CHECK_EQ(ARM64(base(SP, 16 * 0x800), at(-16), at(-8), &x), EXOTIC);
	CHECK_EQ(ARM64(base(SP, 24), at(-16), at(-8), &x), EXOTIC);
	CHECK_EQ(ARM64(base(SP, 96), at(-16), at(-24), &x), EXOTIC);
	CHECK_EQ(x.fp_offset, -16);
	CHECK_EQ(x.ra_offset, -24);
	/* fp is saved, and lr not (yet): right in a leaf. */
	CHECK_EQ(ARM64(base(SP, 96), at(-16), kind(CFI_SAME), &x), EXOTIC);
	CHECK_EQ(x.ra, EBP_AT_SAME);
	CHECK_EQ(ARM64(base(SP, 0), kind(CFI_SAME), kind(CFI_UNDEFINED), &x),
		 SPECIAL(EBP_RULE_STOP));
	/* Another column for the return address: what is not said of it is that it is there. */
	row.ra = 15;
	CHECK_EQ(unwind_rule(EM_AARCH64, &row, &x), EXOTIC);
	CHECK_EQ(x.ra, EBP_IN_REG);
	CHECK_EQ(x.ra_reg, 15);
	row.reg[15] = at(-8);
	CHECK_EQ(unwind_rule(EM_AARCH64, &row, &x), EXOTIC);
	CHECK_EQ(x.ra, EBP_AT_CFA);
}

int main(void)
{
	RUN(plain_x86);
	RUN(beyond_plain_x86);
	RUN(return_address_x86);
	RUN(signal_frames);
	RUN(plt);
	RUN(expressions);
	RUN(expressions_that_end_early_or_late);
	RUN(frame_pointer_elsewhere);
	RUN(what_does_not_fit);
	RUN(registers_that_the_step_does_not_have);
	RUN(exotic_rules_have_no_stray_bytes);
	RUN(plain_arm64);
	RUN(return_address_above_the_cfa);
	RUN(beyond_plain_arm64);
	return TEST_END();
}
