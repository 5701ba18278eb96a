/* SPDX-License-Identifier: MIT */
#include "elf/elf_main.h"

#include <elf.h>
#include <string.h>

#include "elf/elf_code.h"

#define START_BYTES	96		/* of _start: 38 on x86-64, 52 on aarch64 */
#define RELOCATIONS_MAX	(64u << 20)	/* bytes */
#define BATCH		512		/* relocations read at once */

/* What _start hands over. */
struct handed {
	uint64_t value;
	int in_memory;		/* @value is the address of a slot that has it */
};

/* As many bytes of code at @vaddr as there are, up to @size; the others are zeros. */
static void read_code(const struct elf_file *f, const struct elf_code *code, uint64_t vaddr,
		      void *dst, size_t size)
{
	const struct elf_segment *s = elf_code_at(code, vaddr);
	uint64_t left = s ? s->filesz - (vaddr - s->vaddr) : 0;

	memset(dst, 0, size);
	if (left)
		elf_file_read(f, s->offset + (vaddr - s->vaddr), dst,
			      left < size ? (size_t)left : size);
}

/* --- x86-64. ---------------------------------------------------------------------- */

/* The call of __libc_start_main() at @p, and the hlt behind it: it never returns. */
static int is_last_call(const uint8_t *p)
{
	return (p[0] == 0xff && p[1] == 0x15 && p[6] == 0xf4) || (p[0] == 0xe8 && p[5] == 0xf4) ||
	       (p[0] == 0x67 && p[1] == 0xe8 && p[6] == 0xf4);
}

/* The instruction before that call sets %rdi. */
static int handed_x86_64(const uint8_t *p, uint64_t vaddr, struct handed *out)
{
	static const struct { uint8_t bytes[3]; int relative, in_memory; } forms[] = {
		{ { 0x48, 0x8d, 0x3d }, 1, 0 },		/* lea main(%rip), %rdi */
		{ { 0x48, 0xc7, 0xc7 }, 0, 0 },		/* mov $main, %rdi */
		{ { 0x48, 0x8b, 0x3d }, 1, 1 },		/* mov main@GOTPCREL(%rip), %rdi */
	};
	int32_t number;

	for (size_t at = 0; at + 14 <= START_BYTES; at++) {
		for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
			if (memcmp(p + at, forms[i].bytes, 3) != 0 || !is_last_call(p + at + 7))
				continue;
			memcpy(&number, p + at + 3, sizeof(number));
			out->value = (uint64_t)(int64_t)number +
				     (forms[i].relative ? vaddr + at + 7 : 0);
			out->in_memory = forms[i].in_memory;
			return 1;
		}
	}
	return 0;
}

/* --- aarch64. ----------------------------------------------------------------------- */

/* The low @bits of @x as a signed number. */
static uint64_t sign_extend(uint64_t x, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return ((x & (2 * sign - 1)) ^ sign) - sign;
}

static int is_branch(uint32_t word)
{
	return word >> 26 == 0x05;
}

static int is_call(uint32_t word)
{
	return word >> 26 == 0x25;
}

/* What is added to the PC by adr and adrp: 21 bits in two parts. */
static uint64_t page_offset(uint32_t word)
{
	return sign_extend((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

/* x0 after the instruction @word at @pc, if that sets it. Returns whether it does. */
static int step_x0(uint32_t word, uint64_t pc, struct handed *x0)
{
	if ((word & 0x9f00001f) == 0x90000000)			/* adrp x0, page */
		*x0 = (struct handed){ (pc & ~0xfffull) + (page_offset(word) << 12), 0 };
	else if ((word & 0x9f00001f) == 0x10000000)		/* adr x0, place */
		*x0 = (struct handed){ pc + page_offset(word), 0 };
	else if ((word & 0xffc003ff) == 0x91000000)		/* add x0, x0, #n */
		x0->value += word >> 10 & 0xfff;
	else if ((word & 0xffc003ff) == 0xf9400000)		/* ldr x0, [x0, #8n] */
		*x0 = (struct handed){ x0->value + (word >> 10 & 0xfff) * 8, 1 };
	else
		return 0;
	return 1;
}

static int handed_aarch64(const uint8_t *p, uint64_t vaddr, struct handed *out)
{
	uint32_t word;
	int set = 0;

	for (size_t at = 0; at + sizeof(word) <= START_BYTES; at += sizeof(word)) {
		memcpy(&word, p + at, sizeof(word));
		if (is_call(word))
			return set;
		set |= step_x0(word, vaddr + at, out);
	}
	return 0;
}

/* Where programs are not relocated, crt1.o hands over a branch to main, behind a nop or bti. */
static uint64_t behind_branch(const struct elf_file *f, const struct elf_code *code, uint64_t vaddr)
{
	uint32_t words[2];

	read_code(f, code, vaddr, words, sizeof(words));
	for (size_t i = 0; i < 2; i++)
		if (is_branch(words[i]) &&
		    (i == 0 || words[0] == 0xd503201f || words[0] == 0xd503245f))
			return vaddr + 4 * i + sign_extend(words[i], 26) * 4;
	return vaddr;
}

/* --- Both. --------------------------------------------------------------------------- */

/* What the dynamic linker will put into @slot: 1, with the address in *@out. */
static int relocated(const struct elf_file *f, uint64_t slot, uint64_t *out)
{
	const uint32_t relative = elf_file_machine(f) == EM_AARCH64 ? R_AARCH64_RELATIVE :
								      R_X86_64_RELATIVE;
	const struct elf_section *s = elf_file_section(f, ".rela.dyn");
	int readable = s && s->type == SHT_RELA && s->size <= RELOCATIONS_MAX;
	uint64_t n = readable ? s->size / sizeof(Elf64_Rela) : 0;
	Elf64_Rela batch[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t part = n - i < BATCH ? (size_t)(n - i) : BATCH;

		if (elf_file_read(f, s->offset + i * sizeof(*batch), batch, part * sizeof(*batch)))
			return 0;
		for (size_t k = 0; k < part; k++) {
			if (batch[k].r_offset != slot || ELF64_R_TYPE(batch[k].r_info) != relative)
				continue;
			*out = (uint64_t)batch[k].r_addend;
			return 1;
		}
	}
	return 0;
}

/* The address in @slot, also where that is relocated in place (DT_RELR), or not at all. 0: none. */
static uint64_t load(const struct elf_file *f, uint64_t slot)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);
	uint64_t value;

	if (relocated(f, slot, &value))
		return value;
	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && slot >= s[i].vaddr && slot - s[i].vaddr < s[i].filesz)
			return elf_file_read(f, s[i].offset + (slot - s[i].vaddr), &value,
					     sizeof(value)) ?
				       0 :
				       value;
	return 0;
}

uint64_t elf_main(const struct elf_file *f)
{
	uint64_t entry = elf_file_entry(f), vaddr = 0;
	uint16_t machine = elf_file_machine(f);
	uint8_t start[START_BYTES];
	struct handed handed = { 0 };
	struct elf_code code;
	int found;

	if (!entry || !elf_file_is64(f) || (machine != EM_X86_64 && machine != EM_AARCH64))
		return 0;
	elf_code_collect(f, &code);
	read_code(f, &code, entry, start, sizeof(start));
	found = machine == EM_X86_64 ? handed_x86_64(start, entry, &handed) :
				       handed_aarch64(start, entry, &handed);
	if (found)
		vaddr = handed.in_memory ? load(f, handed.value) : handed.value;
	if (vaddr && machine == EM_AARCH64)
		vaddr = behind_branch(f, &code, vaddr);
	if (!elf_code_at(&code, vaddr))
		vaddr = 0;
	elf_code_free(&code);
	return vaddr;
}
