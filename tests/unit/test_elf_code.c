/* SPDX-License-Identifier: MIT */
#include "elf/elf_code.h"

#include <elf.h>

#include "unit/test.h"

#define SEGMENTS_MAX	1024

static struct {
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS_MAX];
} file;

static void begin(void)
{
	memset(&file, 0, sizeof(file));
	file.head = (Elf64_Ehdr){ .e_ident = ELFMAG "\2\1\1",
				  .e_type = ET_DYN,
				  .e_machine = EM_X86_64,
				  .e_version = 1,
				  .e_phoff = sizeof(file.head),
				  .e_phentsize = sizeof(Elf64_Phdr) };
}

static void add(uint32_t type, uint32_t flags, uint64_t vaddr, uint64_t size, uint64_t offset)
{
	file.segments[file.head.e_phnum++] = (Elf64_Phdr){ .p_type = type,
							   .p_flags = flags,
							   .p_vaddr = vaddr,
							   .p_filesz = size,
							   .p_memsz = size,
							   .p_offset = offset };
}

static struct elf_code collect(void)
{
	struct elf_file *f = elf_file_open_memory(&file, sizeof(file));
	struct elf_code code = { 0 };

	CHECK(f != NULL);
	if (f)
		elf_code_collect(f, &code);
	elf_file_free(f);
	return code;
}

/* The offset in the file of what is at @vaddr; -1: nothing. */
static long long offset_at(const struct elf_code *c, uint64_t vaddr)
{
	const struct elf_segment *s = elf_code_at(c, vaddr);

	return s ? (long long)(s->offset + (vaddr - s->vaddr)) : -1;
}

TEST(executable_ones_in_any_order)
{
	struct elf_code c;

	begin();
	add(PT_LOAD, PF_R | PF_X, 0x5000, 0x100, 0x200);
	add(PT_LOAD, PF_R | PF_W, 0x3000, 0x100, 0x700);
	add(PT_NOTE, PF_R | PF_X, 0x4000, 0x100, 0x800);
	add(PT_LOAD, PF_X, 0x1000, 0x100, 0x900);
	add(PT_LOAD, PF_X, 0x2000, 0, 0xa00);
	add(PT_LOAD, PF_X, UINT64_MAX - 0xf, UINT64_MAX, 0x10);
	c = collect();
	CHECK_EQ(offset_at(&c, 0xfff), -1);
	CHECK_EQ(offset_at(&c, 0x1000), 0x900);
	CHECK_EQ(offset_at(&c, 0x10ff), 0x9ff);
	CHECK_EQ(offset_at(&c, 0x1100), -1);
	CHECK_EQ(offset_at(&c, 0x2000), -1);
	CHECK_EQ(offset_at(&c, 0x3000), -1);
	CHECK_EQ(offset_at(&c, 0x4000), -1);
	CHECK_EQ(offset_at(&c, 0x5001), 0x201);
	CHECK_EQ(offset_at(&c, UINT64_MAX), 0x1f);
	CHECK_EQ(offset_at(&c, 0), -1);
	elf_code_free(&c);
}

/*
 * What two share is the first one's; the rest of the second, and what lies in none before, stays
 * its own.
 */
TEST(overlapping)
{
	struct elf_code c;

	begin();
	add(PT_LOAD, PF_X, 0x1000, 0x100, 0x1000);
	add(PT_LOAD, PF_X, 0x1080, 0x100, 0x3000);
	add(PT_LOAD, PF_X, 0x1010, 0x10, 0x2000);
	add(PT_LOAD, PF_X, 0x1000, 0x1000, 0x8000);
	c = collect();
	CHECK_EQ(offset_at(&c, 0x1018), 0x1018);
	CHECK_EQ(offset_at(&c, 0x10ff), 0x10ff);
	CHECK_EQ(offset_at(&c, 0x1100), 0x8100);
	CHECK_EQ(offset_at(&c, 0x1fff), 0x8fff);
	CHECK_EQ(offset_at(&c, 0x2000), -1);
	elf_code_free(&c);
}

TEST(many)
{
	struct elf_code c;

	begin();
	for (uint64_t i = SEGMENTS_MAX; i--; )
		add(PT_LOAD, PF_X, 0x1000 + i * 16, 8, 0x10000 + i);
	c = collect();
	for (uint64_t i = 0; i < SEGMENTS_MAX; i++) {
		CHECK_EQ(offset_at(&c, 0x1000 + i * 16 + 7), 0x10007 + i);
		CHECK_EQ(offset_at(&c, 0x1000 + i * 16 + 8), -1);
	}
	elf_code_free(&c);
}

TEST(none)
{
	struct elf_code c;

	begin();
	c = collect();
	CHECK_EQ(offset_at(&c, 0), -1);
	elf_code_free(&c);
}

int main(void)
{
	RUN(executable_ones_in_any_order);
	RUN(overlapping);
	RUN(many);
	RUN(none);
	return TEST_END();
}
