/* SPDX-License-Identifier: MIT */
#include "elf/elf_main.h"

#include "table_image.h"
#include "test.h"

#define SLOT	0x601000	/* of main's address */
#define MAIN	(CODE + 0x800)

static struct table_image image;

/* What is found where the code at CODE + 0x100, the entry point, is @size bytes at @code. */
static uint64_t main_of(uint16_t machine, const void *code, size_t size)
{
	struct elf_file *f;
	uint64_t found;

	image_section(&image, ".text", CODE + 0x100, code, size);
	image.head.e_machine = machine;
	image.head.e_entry = CODE + 0x100;
	f = image_end(&image);
	CHECK(f != NULL);
	found = f ? elf_main(f) : 0;
	elf_file_free(f);
	return found;
}

/* As main_of(), of nothing but the code. */
static uint64_t main_in(uint16_t machine, const void *code, size_t size)
{
	image_begin(&image, machine);
	return main_of(machine, code, size);
}

/* glibc's, from xor %ebp, %ebp to xor %ecx, %ecx; @seven bytes that set %rdi; a call, and hlt. */
#define X86_64(...)                                                                               \
	0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0x54, \
		0x45, 0x31, 0xc0, 0x31, 0xc9, __VA_ARGS__
#define RDI_AT	(CODE + 0x100 + 20)
#define NUMBER(n) (uint8_t)(n), (uint8_t)((n) >> 8), (uint8_t)((n) >> 16), (uint8_t)((n) >> 24)
#define LEA	0x48, 0x8d, 0x3d, NUMBER(MAIN - RDI_AT - 7)
#define HLT	0xf4

TEST(x86_64)
{
	CHECK_EQ(main_in(EM_X86_64, BYTES(X86_64(LEA, 0xff, 0x15, NUMBER(0), HLT))), MAIN);
	CHECK_EQ(main_in(EM_X86_64, BYTES(X86_64(LEA, 0x67, 0xe8, NUMBER(0), HLT))), MAIN);
	CHECK_EQ(main_in(EM_X86_64, BYTES(X86_64(LEA, 0xe8, NUMBER(0), HLT))), MAIN);
	CHECK_EQ(main_in(EM_X86_64,
			 BYTES(X86_64(0x48, 0xc7, 0xc7, NUMBER(MAIN), 0xe8, NUMBER(0), HLT))),
		 MAIN);
	/* Behind endbr64, too. */
	CHECK_EQ(main_in(EM_X86_64, BYTES(0xf3, 0x0f, 0x1e, 0xfa,
					  X86_64(0x48, 0x8d, 0x3d, NUMBER(MAIN - RDI_AT - 11), 0xe8,
						 NUMBER(0), HLT))),
		 MAIN);
}

TEST(x86_64_is_not)
{
	/* It returns: no _start. */
	CHECK_EQ(main_in(EM_X86_64, BYTES(X86_64(LEA, 0xff, 0x15, NUMBER(0), 0x90))), 0);
	/* Another register. */
	CHECK_EQ(main_in(EM_X86_64,
			 BYTES(X86_64(0x48, 0x8d, 0x35, NUMBER(16), 0xff, 0x15, NUMBER(0), HLT))),
		 0);
	/* No code there. */
	CHECK_EQ(main_in(EM_X86_64,
			 BYTES(X86_64(0x48, 0x8d, 0x3d, NUMBER(0x100000), 0xe8, NUMBER(0), HLT))),
		 0);
	CHECK_EQ(main_in(EM_X86_64,
			 BYTES(X86_64(0x48, 0xc7, 0xc7, NUMBER(-8), 0xe8, NUMBER(0), HLT))),
		 0);
	CHECK_EQ(main_in(EM_386, BYTES(X86_64(LEA, 0xff, 0x15, NUMBER(0), HLT))), 0);
}

#define MOV_SLOT X86_64(0x48, 0x8b, 0x3d, NUMBER(SLOT - RDI_AT - 7), 0xff, 0x15, NUMBER(0), HLT)

/* SLOT with @value in the file. */
static void add_slot(uint64_t value)
{
	Elf64_Shdr *s = image_section(&image, ".got", SLOT, &value, sizeof(value));

	image.segments[image.nsegments++] = (Elf64_Phdr){ .p_type = PT_LOAD,
							  .p_flags = PF_R | PF_W,
							  .p_offset = s->sh_offset,
							  .p_vaddr = SLOT,
							  .p_filesz = sizeof(value),
							  .p_memsz = sizeof(value) };
}

static void add_relocations(const Elf64_Rela *r, size_t size)
{
	image_section(&image, ".rela.dyn", 0x7000, r, size)->sh_type = SHT_RELA;
}

TEST(through_the_global_offset_table)
{
	const Elf64_Rela of_x86_64[] = {
		{ SLOT - 8, ELF64_R_INFO(0, R_X86_64_RELATIVE), CODE + 0x10 },
		{ SLOT, ELF64_R_INFO(0, R_X86_64_RELATIVE), MAIN },
	};
	const Elf64_Rela of_another = { SLOT, ELF64_R_INFO(3, R_X86_64_GLOB_DAT), 0 };

	image_begin(&image, EM_X86_64);
	add_slot(MAIN);		/* as DT_RELR has it */
	CHECK_EQ(main_of(EM_X86_64, BYTES(MOV_SLOT)), MAIN);
	image_begin(&image, EM_X86_64);
	add_slot(0);
	add_relocations(of_x86_64, sizeof(of_x86_64));
	CHECK_EQ(main_of(EM_X86_64, BYTES(MOV_SLOT)), MAIN);
	/* main() is in a library. */
	image_begin(&image, EM_X86_64);
	add_slot(0);
	add_relocations(&of_another, sizeof(of_another));
	CHECK_EQ(main_of(EM_X86_64, BYTES(MOV_SLOT)), 0);
	/* The slot is not in the file. */
	CHECK_EQ(main_in(EM_X86_64, BYTES(MOV_SLOT)), 0);
}

/* glibc's: what sets x0 is words 7 and 8 of it. */
#define ARM64(page, low)                                                                          \
	{                                                                                         \
		0xd503201f, 0xd280001d, 0xd280001e, 0xaa0003e5, 0xf94003e1, 0x910023e2,           \
			0x910003e6, (page), (low), 0xd2800003, 0xd2800004, 0x97ffffd5, 0x97ffffe0 \
	}
#define ADRP(pages)	(0x90000000 | ((pages) & 3) << 29 | ((pages) >> 2 & 0x7ffff) << 5)
#define ADR(bytes)	(0x10000000 | ((bytes) & 3) << 29 | ((bytes) >> 2 & 0x7ffff) << 5)
#define ADD(n)		(0x91000000 | (n) << 10)
#define LDR(n)		(0xf9400000 | (n) / 8 << 10)
#define NOP		0xd503201f

TEST(aarch64)
{
	const uint32_t add[] = ARM64(ADRP(0), ADD(0x800)),
		       adr[] = ARM64(NOP, ADR(0x800 - 0x100 - 32));
	const uint32_t back[] = ARM64(ADRP(0xfffffu << 1), ADD(0x800)), none[] = ARM64(NOP, NOP);
	const uint32_t load[] = ARM64(ADRP(0x200), LDR(0));
	const Elf64_Rela relative = { SLOT, ELF64_R_INFO(0, R_AARCH64_RELATIVE), MAIN };

	CHECK_EQ(main_in(EM_AARCH64, add, sizeof(add)), MAIN);
	CHECK_EQ(main_in(EM_AARCH64, adr, sizeof(adr)), MAIN);
	CHECK_EQ(main_in(EM_AARCH64, back, sizeof(back)), 0);
	CHECK_EQ(main_in(EM_AARCH64, none, sizeof(none)), 0);
	image_begin(&image, EM_AARCH64);
	add_slot(0);
	add_relocations(&relative, sizeof(relative));
	CHECK_EQ(main_of(EM_AARCH64, load, sizeof(load)), MAIN);
}

/* What is handed over only jumps to main(). */
TEST(aarch64_behind_a_branch)
{
	const uint32_t start[] = ARM64(ADRP(0), ADD(0x700));
	const uint32_t far[] = { 0xd503201f, 0x14000000 + 0xfc / 4 }, backwards[] = { 0x17ffffff };

	image_begin(&image, EM_AARCH64);
	image_section(&image, ".wrap", CODE + 0x700, far, sizeof(far));
	CHECK_EQ(main_of(EM_AARCH64, start, sizeof(start)), MAIN);
	image_begin(&image, EM_AARCH64);
	image_section(&image, ".wrap", CODE + 0x700, backwards, sizeof(backwards));
	CHECK_EQ(main_of(EM_AARCH64, start, sizeof(start)), CODE + 0x6fc);
}

/* A program may end in the middle of an instruction, and begin where nothing is. */
TEST(at_the_end_of_the_code)
{
	const uint8_t code[] = { X86_64(LEA, 0xff, 0x15, NUMBER(0), HLT) };

	for (size_t n = 1; n < sizeof(code); n++) {
		image_begin(&image, EM_X86_64);
		image.segments[0].p_filesz = 0x100 + n;
		CHECK_EQ(main_of(EM_X86_64, code, sizeof(code)), 0);
	}
	image_begin(&image, EM_X86_64);
	image.segments[0].p_vaddr = 0x10000;
	CHECK_EQ(main_of(EM_X86_64, code, sizeof(code)), 0);
}

int main(void)
{
	RUN(x86_64);
	RUN(x86_64_is_not);
	RUN(through_the_global_offset_table);
	RUN(aarch64);
	RUN(aarch64_behind_a_branch);
	RUN(at_the_end_of_the_code);
	return TEST_END();
}
