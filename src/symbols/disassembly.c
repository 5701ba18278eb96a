/* SPDX-License-Identifier: MIT */
#include "symbols/disassembly.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "symbols/image_sources.h"

#define CODE_MAX (256u << 10)		/* bytes of a function */
#define MINI_BYTES (64u << 20)		/* of .gnu_debugdata */
#define CRC_BYTES (1u << 30)		/* of a debug file without a build id */

struct disassembler {
	void *library;
	/* capstone's functions of these names */
	__typeof__(cs_open) *open;
	__typeof__(cs_close) *close;
	__typeof__(cs_malloc) *malloc;
	__typeof__(cs_free) *free;
	__typeof__(cs_disasm_iter) *next;
};

struct reader {
	const struct disassembler *by;
	struct image_files files;
	struct image_sources sources;
	csh capstone;
	VEC(struct instruction) all;
};

struct disassembler *disassembler_new(void)
{
	struct disassembler *by = xcalloc(1, sizeof(*by));
	const struct { const char *name; void *to; } functions[] = {
		{ "cs_open", &by->open },   { "cs_close", &by->close },
		{ "cs_malloc", &by->malloc }, { "cs_free", &by->free },
		{ "cs_disasm_iter", &by->next },
	};

	by->library = dlopen("libcapstone.so.4", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; by->library && i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(by->library, functions[i].name);

		if (function) {
			memcpy(functions[i].to, &function, sizeof(function));
			continue;
		}
		dlclose(by->library);
		by->library = NULL;
	}
	if (by->library)
		return by;
	free(by);
	return NULL;
}

void disassembler_free(struct disassembler *by)
{
	if (!by)
		return;
	dlclose(by->library);
	free(by);
}

static int open_capstone(struct reader *r)
{
	static const struct { uint16_t machine; cs_arch arch; cs_mode mode; } machines[] = {
		{ EM_X86_64, CS_ARCH_X86, CS_MODE_64 },
		{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM },
	};
	uint16_t machine = elf_file_machine(r->files.elf[IMAGE_OWN]);

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == machine &&
		    r->by->open(machines[i].arch, machines[i].mode, &r->capstone) == CS_ERR_OK)
			return 0;
	return -ENOTSUP;
}

/* Where the function begins that has the code at @address; 0: nothing tells. */
static uint64_t start_of(struct reader *r, uint64_t address)
{
	struct source_function f;
	uint64_t start;

	if (image_sources_find(&r->sources, address, 0, &f) >= 0)
		return f.start;
	start = image_sources_start(&r->sources, address);
	return start == address ? 0 : start;
}

/* The segment of code at @address. */
static const struct elf_segment *segment_at(const struct elf_file *elf, uint64_t address)
{
	const struct elf_segment *all;
	size_t n = elf_file_segments(elf, &all);

	for (size_t i = 0; i < n; i++)
		if (all[i].type == PT_LOAD && (all[i].flags & PF_X) && address >= all[i].vaddr &&
		    address - all[i].vaddr < all[i].filesz)
			return &all[i];
	return NULL;
}

static void add(struct reader *r, const cs_insn *insn, const struct elf_segment *s)
{
	char raw[DISASSEMBLY_TEXT];
	struct instruction i = { .address = insn->address,
				 .offset = insn->address - s->vaddr + s->offset };

	snprintf(raw, sizeof(raw), "%-7s %s", insn->mnemonic, insn->op_str);
	text_clean(i.text, sizeof(i.text), raw);
	vec_push(&r->all, i);
}

/* As far as it is the same function, and is code. */
static void read_code(struct reader *r, const uint8_t *code, size_t n, uint64_t start,
		      const struct elf_segment *s)
{
	cs_insn *insn = r->by->malloc(r->capstone);
	uint64_t address = start;

	while (insn && n && r->by->next(r->capstone, &code, &n, &address, insn) &&
	       (insn->address == start || start_of(r, insn->address) == start))
		add(r, insn, s);
	if (insn)
		r->by->free(insn, 1);
}

static int read_function(struct reader *r, uint64_t offset)
{
	const struct elf_file *elf = r->files.elf[IMAGE_OWN];
	const struct elf_segment *s;
	uint64_t address, start, size;
	uint8_t *code;
	int err = elf_file_vaddr(elf, offset, &address);

	if (err)
		return err;
	start = start_of(r, address);
	s = start ? segment_at(elf, start) : NULL;
	if (!s)
		return -ENOENT;
	size = s->filesz - (start - s->vaddr);
	size = size < CODE_MAX ? size : CODE_MAX;
	code = xmalloc(size);
	err = elf_file_read(elf, start - s->vaddr + s->offset, code, size);
	if (!err)
		read_code(r, code, size, start, s);
	free(code);
	return err;
}

int disassembly_of(struct disassembly *d, const struct disassembler *by,
		   const struct image *image, uint64_t offset)
{
	struct image_budget budget = { .crc = CRC_BYTES, .unpacked = MINI_BYTES };
	struct reader r = { .by = by };
	int err = image_files_open(&r.files, image, &(struct debug_places){ 0 }, NULL, &budget);

	*d = (struct disassembly){ 0 };
	if (err)
		return err;
	r.sources.files = &r.files;
	err = open_capstone(&r);
	if (!err) {
		err = read_function(&r, offset);
		by->close(&r.capstone);
	}
	image_sources_close(&r.sources);
	image_files_close(&r.files);
	*d = (struct disassembly){ r.all.v, r.all.n };
	return err;
}

void disassembly_free(struct disassembly *d)
{
	free(d->v);
	*d = (struct disassembly){ 0 };
}
