/* SPDX-License-Identifier: MIT */
/*
 * An ELF64 file in memory with sections of our choice, for tests of what reads call frame
 * information.
 */
#ifndef EBPROF_TESTS_TABLE_IMAGE_H
#define EBPROF_TESTS_TABLE_IMAGE_H

#include "cfi_bytes.h"
#include "elf/elf_file.h"

#define IMAGE_CODE	0x2000		/* offset in the file of the code, whose address is CODE */
#define IMAGE_CODE_SIZE	0x1000
#define IMAGE_SECTIONS	12
#define IMAGE_SEGMENTS	3

struct table_image {
	uint8_t b[0x10000];
	size_t n;
	Elf64_Ehdr head;
	Elf64_Phdr segments[IMAGE_SEGMENTS];
	Elf64_Shdr sections[IMAGE_SECTIONS];
	char names[256];
	size_t names_size;
	unsigned nsections, nsegments;
};

static inline void image_begin(struct table_image *e, uint16_t machine)
{
	memset(e, 0, sizeof(*e));
	e->n = IMAGE_CODE + IMAGE_CODE_SIZE;
	e->names_size = e->nsections = e->nsegments = 1;
	e->head = (Elf64_Ehdr){ .e_ident = ELFMAG "\2\1\1",
				.e_type = ET_DYN,
				.e_machine = machine,
				.e_version = 1,
				.e_phoff = sizeof(e->head),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_shentsize = sizeof(Elf64_Shdr) };
	e->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_X,
				       .p_offset = IMAGE_CODE,
				       .p_vaddr = CODE,
				       .p_filesz = IMAGE_CODE_SIZE,
				       .p_memsz = IMAGE_CODE_SIZE };
}

/* A section of @size bytes at @p, at address @addr; in the code segment where that is in it. */
static inline Elf64_Shdr *image_section(struct table_image *e, const char *name, uint64_t addr,
					const void *p, size_t size)
{
	Elf64_Shdr *s = &e->sections[e->nsections++];
	int in_code = addr >= CODE && addr < CODE + IMAGE_CODE_SIZE;
	size_t at = in_code ? IMAGE_CODE + (addr - CODE) : (e->n + 15) & ~(size_t)15;

	*s = (Elf64_Shdr){
		.sh_name = (uint32_t)e->names_size, .sh_type = SHT_PROGBITS,
		.sh_addr = addr, .sh_offset = at, .sh_size = size,
	};
	strcpy(e->names + e->names_size, name);
	e->names_size += strlen(name) + 1;
	if (size)
		memcpy(e->b + at, p, size);
	if (!in_code)
		e->n = at + size;
	return s;
}

static inline void image_frames(struct table_image *e, const char *name, const struct bytes *cfi)
{
	image_section(e, name, VADDR, cfi->b, cfi->n);
}

/* The file; @e must live as long. */
static inline struct elf_file *image_end(struct table_image *e)
{
	Elf64_Shdr *names;

	names = image_section(e, ".shstrtab", 0, NULL, 0);
	names->sh_type = SHT_STRTAB;
	names->sh_size = e->names_size;
	memcpy(e->b + names->sh_offset, e->names, e->names_size);
	e->n = (names->sh_offset + e->names_size + 7) & ~(size_t)7;
	e->head.e_phnum = (uint16_t)e->nsegments;
	e->head.e_shnum = (uint16_t)e->nsections;
	e->head.e_shstrndx = (uint16_t)(e->nsections - 1);
	e->head.e_shoff = e->n;
	memcpy(e->b + e->n, e->sections, e->nsections * sizeof(*e->sections));
	e->n += e->nsections * sizeof(*e->sections);
	memcpy(e->b, &e->head, sizeof(e->head));
	memcpy(e->b + e->head.e_phoff, e->segments, e->nsegments * sizeof(*e->segments));
	return elf_file_open_memory(e->b, e->n);
}

#endif
