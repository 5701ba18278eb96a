/* SPDX-License-Identifier: MIT */
#include "symbols/disassembly.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "symbols/image_sources.h"

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcapstone.so." TEXT_OF(major)
/* Its structures are those of the headers' version. */
#define LIBRARY LIBRARY_OF(CS_API_MAJOR)
#define CODE_MAX (256u << 10)		/* bytes of a function */
#define MINI_BYTES (64u << 20)		/* of .gnu_debugdata */
#define CRC_BYTES (1u << 30)		/* of a debug file without a build id */

struct disassembler {
	void *library;
	/* capstone's functions of these names */
	__typeof__(cs_open) *open;
	__typeof__(cs_close) *close;
	__typeof__(cs_option) *option;
	__typeof__(cs_malloc) *malloc;
	__typeof__(cs_free) *free;
	__typeof__(cs_disasm_iter) *next;
};

/* The code of one function, and who knows where functions begin. */
struct reader {
	const struct disassembler *by;
	uint16_t machine;
	/* where the function begins that has the code at @address; 0: nothing tells */
	uint64_t (*start_of)(void *ctx, uint64_t address);
	void *ctx;
	csh capstone;
	VEC(struct instruction) all;
};

struct disassembler *disassembler_new(void)
{
	struct disassembler *by = xcalloc(1, sizeof(*by));
	const struct { const char *name; void *to; } functions[] = {
		{ "cs_open", &by->open },   { "cs_close", &by->close },
		{ "cs_option", &by->option },
		{ "cs_malloc", &by->malloc }, { "cs_free", &by->free },
		{ "cs_disasm_iter", &by->next },
	};

	/* 0 in a static program, whose dlopen() would load it with whatever glibc is here. */
	by->library = getauxval(AT_BASE) ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
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

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (machines[i].machine != r->machine ||
		    r->by->open(machines[i].arch, machines[i].mode, &r->capstone) != CS_ERR_OK)
			continue;
		r->by->option(r->capstone, CS_OPT_DETAIL, CS_OPT_ON);
		return 0;
	}
	return -ENOTSUP;
}

/* --- Instructions. -------------------------------------------------------------- */

static int is_in_group(const cs_insn *insn, uint8_t group)
{
	const cs_detail *d = insn->detail;

	return d && memchr(d->groups, group, d->groups_count) != NULL;
}

/* Its last operand, where that is a number. */
static uint64_t immediate(const struct reader *r, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_arm64 *arm = &insn->detail->arm64;

	if (r->machine == EM_X86_64)
		return x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM
			       ? (uint64_t)x86->operands[0].imm
			       : 0;
	return arm->op_count && arm->operands[arm->op_count - 1].type == ARM64_OP_IMM
		       ? (uint64_t)arm->operands[arm->op_count - 1].imm
		       : 0;
}

static enum instruction_kind kind_of(const cs_insn *insn)
{
	/* bl is a jump to capstone's tables of aarch64 */
	if (is_in_group(insn, CS_GRP_CALL) || !strcmp(insn->mnemonic, "bl") ||
	    !strcmp(insn->mnemonic, "blr"))
		return INSTRUCTION_CALL;
	return is_in_group(insn, CS_GRP_JUMP) ? INSTRUCTION_JUMP : INSTRUCTION_PLAIN;
}

static void add(struct reader *r, const cs_insn *insn, uint64_t to_offset)
{
	char raw[DISASSEMBLY_TEXT];
	struct instruction i = { .address = insn->address,
				 .offset = insn->address + to_offset,
				 .kind = kind_of(insn) };

	if (i.kind != INSTRUCTION_PLAIN && insn->detail)
		i.target = immediate(r, insn);
	snprintf(raw, sizeof(raw), "%-7s %s", insn->mnemonic, insn->op_str);
	text_clean(i.text, sizeof(i.text), raw);
	vec_push(&r->all, i);
}

/* As far as it is the same function, and is code. */
static int read_code(struct reader *r, const uint8_t *code, size_t n, uint64_t start,
		     uint64_t to_offset)
{
	int err = open_capstone(r);
	cs_insn *insn = err ? NULL : r->by->malloc(r->capstone);
	uint64_t address = start;

	while (insn && n && r->by->next(r->capstone, &code, &n, &address, insn) &&
	       (insn->address == start || r->start_of(r->ctx, insn->address) == start))
		add(r, insn, to_offset);
	if (insn)
		r->by->free(insn, 1);
	if (!err)
		r->by->close(&r->capstone);
	return err;
}

/* --- Where the code is. --------------------------------------------------------- */

/* The segment that has the code at @address. */
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

/* The function that begins at @start; @to_offset is added to addresses. */
static int read_function(struct reader *r, const struct elf_file *elf, uint64_t start,
			 const struct elf_segment *s, uint64_t to_offset)
{
	uint64_t size = s->filesz - (start - s->vaddr);
	uint8_t *code;
	int err;

	size = size < CODE_MAX ? size : CODE_MAX;
	code = xmalloc(size);
	err = elf_file_read(elf, start - s->vaddr + s->offset, code, size);
	if (!err)
		err = read_code(r, code, size, start, to_offset);
	free(code);
	return err;
}

/* --- Of an image. ----------------------------------------------------------------- */

static uint64_t start_in_image(void *ctx, uint64_t address)
{
	struct image_sources *sources = ctx;
	struct source_function f;
	uint64_t start;

	if (image_sources_find(sources, address, 0, &f) >= 0)
		return f.start;
	start = image_sources_start(sources, address);
	return start == address ? 0 : start;
}

static int read_image(struct reader *r, const struct elf_file *elf, uint64_t offset)
{
	const struct elf_segment *s;
	uint64_t address, start;
	int err = elf_file_vaddr(elf, offset, &address);

	if (err)
		return err;
	start = r->start_of(r->ctx, address);
	s = start ? segment_at(elf, start) : NULL;
	return s ? read_function(r, elf, start, s, s->offset - s->vaddr) : -ENOENT;
}

int disassembly_of(struct disassembly *d, const struct disassembler *by,
		   const struct image *image, uint64_t offset)
{
	struct image_budget budget = { .crc = CRC_BYTES, .unpacked = MINI_BYTES };
	struct image_files files;
	struct image_sources sources = { .files = &files };
	struct reader r = { .by = by, .start_of = start_in_image, .ctx = &sources };
	int err = image_files_open(&files, image, &(struct debug_places){ 0 }, NULL, &budget);

	*d = (struct disassembly){ 0 };
	if (err)
		return err;
	r.machine = elf_file_machine(files.elf[IMAGE_OWN]);
	err = read_image(&r, files.elf[IMAGE_OWN], offset);
	image_sources_close(&sources);
	image_files_close(&files);
	*d = (struct disassembly){ r.all.v, r.all.n };
	return err;
}

/* --- Of the kernel. --------------------------------------------------------------- */

static uint64_t start_in_kernel(void *ctx, uint64_t address)
{
	struct kallsyms_symbol symbol;

	return kallsyms_find(ctx, address, &symbol) ? 0 : symbol.start;
}

/* Symbols say where functions begin; what fills the room before the next one is nobody's. */
static void leave_padding(struct reader *r)
{
	while (r->all.n > 1 && (!strncmp(r->all.v[r->all.n - 1].text, "int3", 4) ||
				!strncmp(r->all.v[r->all.n - 1].text, "nop", 3)))
		r->all.n--;
}

int disassembly_of_kernel(struct disassembly *d, const struct disassembler *by,
			  const struct elf_file *core, const struct kallsyms *symbols,
			  uint64_t address)
{
	struct reader r = { .by = by, .machine = elf_file_machine(core),
			    .start_of = start_in_kernel, .ctx = (void *)symbols };
	uint64_t start = start_in_kernel(r.ctx, address);
	const struct elf_segment *s = start ? segment_at(core, start) : NULL;
	int err = s ? read_function(&r, core, start, s, 0) : -ENOENT;

	leave_padding(&r);
	*d = (struct disassembly){ r.all.v, r.all.n };
	return err;
}

void disassembly_free(struct disassembly *d)
{
	free(d->v);
	*d = (struct disassembly){ 0 };
}
