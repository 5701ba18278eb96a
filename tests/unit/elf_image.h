/* SPDX-License-Identifier: MIT */
/*
 * A small ELF64 image in memory, with symbols of our choice, for tests:
 *
 *	struct elf_image e;
 *	elf_image_begin(&e);
 *	elf_image_symbol(&e, 0, "main", 0x401000, 16, STT_FUNC, STB_GLOBAL, IMAGE_TEXT);
 *	elf_image_end(&e);		e.bytes[0 .. e.size-1]
 *
 * .text is [0x1000, 0x2000) of the file at 0x401000; .cold is [0x2000, 0x2100) at 0x502000.
 */
#ifndef EBPROF_TESTS_ELF_IMAGE_H
#define EBPROF_TESTS_ELF_IMAGE_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IMAGE_MAX_SYMBOLS 64

enum {
	IMAGE_NULL,
	IMAGE_TEXT,
	IMAGE_COLD,
	IMAGE_DATA,
	IMAGE_SYMTAB,
	IMAGE_STRTAB,
	IMAGE_DYNSYM,
	IMAGE_DYNSTR,
	IMAGE_NOTE,
	IMAGE_SHSTRTAB,
	IMAGE_SECTIONS
};

struct elf_image {
	uint8_t bytes[65536];
	size_t size;
	Elf64_Sym symbols[2][IMAGE_MAX_SYMBOLS];	/* .symtab, .dynsym */
	size_t n[2];
	char strings[2][8192];
	size_t strings_size[2];
	Elf64_Shdr *sections;		/* in bytes[], after elf_image_end() */
	Elf64_Phdr *segments;
	Elf64_Ehdr *header;
};

static inline void elf_image_begin(struct elf_image *e)
{
	memset(e, 0, sizeof(*e));
	for (int t = 0; t < 2; t++)
		e->n[t] = e->strings_size[t] = 1;
}

static inline void elf_image_symbol(struct elf_image *e, int dynamic, const char *name,
				    uint64_t value, uint64_t size, int type, int bind, int section)
{
	Elf64_Sym *s = &e->symbols[dynamic][e->n[dynamic]++];

	s->st_name = (uint32_t)e->strings_size[dynamic];
	s->st_info = (unsigned char)ELF64_ST_INFO(bind, type);
	s->st_shndx = (uint16_t)section;
	s->st_value = value;
	s->st_size = size;
	strcpy(e->strings[dynamic] + e->strings_size[dynamic], name);
	e->strings_size[dynamic] += strlen(name) + 1;
}

/* Appends @n bytes, aligned to 8; their offset. */
static inline size_t elf_image_append(struct elf_image *e, const void *p, size_t n)
{
	size_t at = (e->size + 7) & ~(size_t)7;

	memcpy(e->bytes + at, p, n);
	e->size = at + n;
	return at;
}

#define IMAGE_NOTE_SIZE 24

static const Elf64_Phdr elf_image_segments[3] = {
	{ .p_type = PT_LOAD,
	  .p_flags = PF_R | PF_X,
	  .p_offset = 0,
	  .p_vaddr = 0x400000,
	  .p_filesz = 0x2000,
	  .p_memsz = 0x2000 },
	{ .p_type = PT_LOAD,
	  .p_flags = PF_R | PF_X,
	  .p_offset = 0x2000,
	  .p_vaddr = 0x502000,
	  .p_filesz = 0x100,
	  .p_memsz = 0x100 },
	{ .p_type = PT_NOTE, .p_flags = PF_R, .p_filesz = IMAGE_NOTE_SIZE },
};

static const Elf64_Shdr elf_image_sections[IMAGE_SECTIONS] = {
	[IMAGE_TEXT] = { .sh_type = SHT_PROGBITS,
			 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			 .sh_addr = 0x401000,
			 .sh_offset = 0x1000,
			 .sh_size = 0x1000 },
	[IMAGE_COLD] = { .sh_type = SHT_PROGBITS,
			 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			 .sh_addr = 0x502000,
			 .sh_offset = 0x2000,
			 .sh_size = 0x100 },
	[IMAGE_DATA] = { .sh_type = SHT_NOBITS,
			 .sh_flags = SHF_ALLOC | SHF_WRITE,
			 .sh_addr = 0x600000,
			 .sh_size = 0x1000 },
	[IMAGE_NOTE] = { .sh_type = SHT_NOTE, .sh_size = IMAGE_NOTE_SIZE },
	[IMAGE_SHSTRTAB] = { .sh_type = SHT_STRTAB },
};

static inline void elf_image_end(struct elf_image *e)
{
	static const char names[] = "\0.text\0.cold\0.data\0.symtab\0.strtab\0.dynsym\0.dynstr\0"
				    ".note.gnu.build-id\0.shstrtab";
	static const uint32_t note[] = {
		4, 8, NT_GNU_BUILD_ID, 0x00554e47, 0x03020100, 0x07060504
	};
	Elf64_Ehdr h = { .e_ident = ELFMAG "\2\1\1",
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = 1,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_phoff = sizeof(h),
			 .e_phnum = 3,
			 .e_shnum = IMAGE_SECTIONS,
			 .e_shstrndx = IMAGE_SHSTRTAB };
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[IMAGE_SECTIONS];
	const char *name = names;

	memcpy(segments, elf_image_segments, sizeof(segments));
	memcpy(sections, elf_image_sections, sizeof(sections));
	sections[IMAGE_SHSTRTAB].sh_size = sizeof(names);
	e->size = 0x2100;
	for (int t = 0; t < 2; t++) {
		int at = t ? IMAGE_DYNSYM : IMAGE_SYMTAB;

		sections[at] = (Elf64_Shdr){ .sh_type = t ? SHT_DYNSYM : SHT_SYMTAB,
					     .sh_link = (uint32_t)at + 1,
					     .sh_size = e->n[t] * sizeof(Elf64_Sym),
					     .sh_entsize = sizeof(Elf64_Sym) };
		sections[at].sh_offset = elf_image_append(e, e->symbols[t], sections[at].sh_size);
		sections[at + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
						 .sh_size = e->strings_size[t] };
		sections[at + 1].sh_offset = elf_image_append(e, e->strings[t], e->strings_size[t]);
	}
	sections[IMAGE_NOTE].sh_offset = segments[2].p_offset = elf_image_append(e, note,
										 sizeof(note));
	sections[IMAGE_SHSTRTAB].sh_offset = elf_image_append(e, names, sizeof(names));
	for (int i = 0; i < IMAGE_SECTIONS; i++, name += strlen(name) + 1)
		sections[i].sh_name = (uint32_t)(name - names);
	h.e_shoff = elf_image_append(e, sections, sizeof(sections));
	memcpy(e->bytes, &h, sizeof(h));
	memcpy(e->bytes + h.e_phoff, segments, sizeof(segments));
	e->header = (Elf64_Ehdr *)e->bytes;
	e->segments = (Elf64_Phdr *)(e->bytes + h.e_phoff);
	e->sections = (Elf64_Shdr *)(e->bytes + h.e_shoff);
}

/* A file without a name that holds @n bytes. */
static inline int memory_file(const void *p, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, p, n) != (ssize_t)n) {
		close(fd);
		fd = -1;
	}
	return fd;
}

#endif
