/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables from hostile ELF files: the input is one, or, where it begins
 * otherwise, the .eh_frame of one that is made here.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/unwind_table.h"

#define TEXT	0x1000u
#define CFI_MAX	0x4000u

/* An ELF file of one executable segment, whose .eh_frame is found by PT_GNU_EH_FRAME. */
struct image {
	Elf64_Ehdr head;
	Elf64_Phdr text, hdr;
	struct { uint8_t encodings[4]; int32_t eh_frame; } table;
	uint8_t cfi[CFI_MAX];
};

static void make(struct image *i, const uint8_t *data, size_t size)
{
	memset(i, 0, sizeof(*i));
	memcpy(i->head.e_ident, ELFMAG, SELFMAG);
	i->head.e_ident[EI_CLASS] = ELFCLASS64;
	i->head.e_ident[EI_DATA] = ELFDATA2LSB;
	i->head.e_ident[EI_VERSION] = EV_CURRENT;
	i->head.e_type = ET_DYN;
	i->head.e_machine = EM_X86_64;
	i->head.e_version = EV_CURRENT;
	i->head.e_entry = TEXT;
	i->head.e_ehsize = sizeof(i->head);
	i->head.e_phentsize = sizeof(i->text);
	i->head.e_phnum = 2;
	i->head.e_phoff = offsetof(struct image, text);
	i->text = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(*i), .p_memsz = sizeof(*i) };
	i->hdr = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_filesz = sizeof(i->table),
		.p_offset = offsetof(struct image, table), .p_vaddr = offsetof(struct image, table) };
	memcpy(i->table.encodings, "\1\x1b\3\x3b", 4);
	i->table.eh_frame = (int32_t)(offsetof(struct image, cfi) - offsetof(struct image, table) - 4);
	memcpy(i->cfi, data, size < CFI_MAX ? size : CFI_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image image;
	struct unwind_table t;
	struct elf_file *elf;

	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG)) {
		elf = elf_file_open_memory(data, size);
	} else {
		make(&image, data, size);
		elf = elf_file_open_memory(&image, sizeof(image));
	}
	if (!elf)
		return 0;
	if (!unwind_table_build_for(EM_X86_64, elf, NULL, &t)) {
		for (uint32_t p = 0; p < t.npages && p < 4; p++)
			for (uint32_t o = 0; o < EBP_PAGE_BYTES; o += 61) {
				uint16_t rule = unwind_table_rule(&t, ((uint64_t)t.first_page + p) * EBP_PAGE_BYTES + o);

				if (rule & EBP_RULE_SPECIAL && (rule & ~EBP_RULE_SPECIAL) >= EBP_RULE_EXOTIC + t.nexotic)
					abort();
			}
		unwind_table_free(&t);
	}
	elf_file_free(elf);
	return 0;
}
