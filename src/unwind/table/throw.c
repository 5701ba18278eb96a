/* SPDX-License-Identifier: MIT */
#include "unwind/table/throw.h"

#include "elf/elf_lookup.h"

#define WORDS_MAX 512		/* instructions of one of the functions; they have some 150 */
#define SP 31

/*
 * What the compiler makes of uw_install_context(), whose result goes to x4 (GCC's
 * EH_RETURN_STACKADJ_REGNUM) and whose handler becomes the address to return to. Bits that are not
 * in the mask may be any.
 */
static const struct { uint32_t mask, code; } sequence[] = {
	{ 0xfc000000, 0x94000000 },	/* bl */
	{ 0xffffffff, 0xaa0003e4 },	/* mov x4, x0 */
	{ 0xffc003ff, 0xf94003e0 },	/* ldr x0, [sp, #place] */
	{ 0xffc003ff, 0xf94003e1 },	/* ldr x1, [sp, #place + 8] */
	{ 0xfc000000, 0x94000000 },	/* bl _Unwind_DebugHook */
	{ 0xffffffff, 0xf90007a1 },	/* str x1, [x29, #8] */
};
#define SEQUENCE (sizeof(sequence) / sizeof(*sequence))

/* Of a load from the stack pointer on. */
static uint32_t place_of(uint32_t load)
{
	return (load >> 10 & 0xfff) * 8;
}

static int is_sequence(const uint32_t *code)
{
	size_t i = 0;

	while (i < SEQUENCE && (code[i] & sequence[i].mask) == sequence[i].code)
		i++;
	return i == SEQUENCE && place_of(code[3]) == place_of(code[2]) + 8;
}

/* 1 where there is one in @f. */
static int find(const struct elf_file *elf, const struct elf_function *f, struct unwind_throw *out)
{
	uint32_t code[WORDS_MAX];
	size_t n = f->size / sizeof(*code);

	if (!f->offset || n > WORDS_MAX || elf_file_read(elf, f->offset, code, n * sizeof(*code)))
		return 0;
	for (size_t i = 0; i + SEQUENCE <= n; i++)
		if (is_sequence(&code[i])) {
			*out = (struct unwind_throw){ f->offset + i * sizeof(*code),
						      place_of(code[i + 2]) };
			return 1;
		}
	return 0;
}

size_t unwind_throws(const struct elf_file *elf, struct unwind_throw throws[UNWIND_THROWS])
{
	struct elf_function functions[UNWIND_THROWS] = {
		{ .name = "_Unwind_RaiseException" },
		{ .name = "_Unwind_Resume" },
		{ .name = "_Unwind_ForcedUnwind" },
		{ .name = "_Unwind_Resume_or_Rethrow" },
	};
	size_t n = 0;

	if (!elf_may_export(elf, functions[0].name) ||
	    elf_lookup(elf, functions, UNWIND_THROWS))
		return 0;
	for (size_t i = 0; i < UNWIND_THROWS; i++)
		n += (size_t)find(elf, &functions[i], &throws[n]);
	return n;
}

/* The frame record is where the stack pointer points to, and has the handler's x29 soon. */
struct ebp_exotic unwind_throw_rule(const struct unwind_throw *t)
{
	return (struct ebp_exotic){
		.cfa = EBP_CFA_DEREF, .cfa_reg = SP, .cfa_offset = (int32_t)t->place,
		.ra = EBP_AT_REG, .ra_reg = SP, .ra_offset = (int32_t)t->place + 8,
		.fp = EBP_AT_REG, .fp_reg = SP,
	};
}
