/* SPDX-License-Identifier: MIT */
#include "lang/python_code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "dwarf/cfi_load.h"

#define CODE_MAX (1u << 20)	/* bytes of a function */
#define INSN_MAX 16
#define JUMPS_LEAST 2		/* what looks like one may be a number */

/* The code of @function, in a malloc'd block; NULL: it is not whole in the file. */
static uint8_t *code_of(const struct elf_file *f, const struct elf_code *code,
			const struct python_function *function)
{
	const struct elf_segment *s = elf_code_at(code, function->address);
	uint64_t at = s ? function->address - s->vaddr : 0;
	uint8_t *bytes;

	if (!s || !function->size || function->size > CODE_MAX || function->size > s->filesz - at)
		return NULL;
	bytes = xcalloc(1, function->size + INSN_MAX);
	if (!elf_file_read(f, s->offset + at, bytes, function->size))
		return bytes;
	free(bytes);
	return NULL;
}

static int32_t number_at(const uint8_t *p)
{
	int32_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static uint64_t sign_extend(uint64_t x, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return ((x & (2 * sign - 1)) ^ sign) - sign;
}

/* --- Parts. ------------------------------------------------------------------- */

/* Where the jump at @p (of address @pc) leads; 0: it is none, or a short one. */
static uint64_t target_of(uint16_t machine, const uint8_t *p, uint64_t pc)
{
	uint32_t word = (uint32_t)number_at(p);

	if (machine == EM_AARCH64) {
		if (word >> 26 == 0x05)				/* b */
			return pc + sign_extend(word, 26) * 4;
		if ((word & 0xff000010) == 0x54000000)		/* b.cond */
			return pc + sign_extend(word >> 5, 19) * 4;
		return 0;
	}
	if (p[0] == 0xe9)					/* jmp */
		return pc + 5 + (uint64_t)(int64_t)number_at(p + 1);
	if (p[0] == 0x0f && (p[1] & 0xf0) == 0x80)		/* jcc */
		return pc + 6 + (uint64_t)(int64_t)number_at(p + 2);
	return 0;
}

typedef VEC(uint64_t) targets;

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where jumps out of @function lead, ascending. */
static void collect_targets(const struct elf_file *f, const struct elf_code *code,
			    const struct python_function *function, targets *out)
{
	uint16_t machine = elf_file_machine(f);
	size_t step = machine == EM_AARCH64 ? 4 : 1;
	uint8_t *bytes = code_of(f, code, function);

	for (size_t i = 0; bytes && i < function->size; i += step) {
		uint64_t to = target_of(machine, bytes + i, function->address + i);

		if (to && to - function->address >= function->size)
			vec_push(out, to);
	}
	free(bytes);
	if (out->n)
		qsort(out->v, out->n, sizeof(out->v[0]), ascending);
}

/* How many lead into the midst of @part. */
static size_t hits(const targets *targets, const struct python_function *part)
{
	if (!part->size)
		return 0;
	return upper_bound(targets->v, targets->n, , part->address + part->size - 1) -
	       upper_bound(targets->v, targets->n, , part->address);
}

/* Parts jump back, too; entries of the PLT do not. */
static int jumps_back(const struct elf_file *f, const struct elf_code *code,
		      const struct python_function *part, const struct python_function *function)
{
	targets targets = { 0 };
	size_t n;

	collect_targets(f, code, part, &targets);
	n = hits(&targets, function);
	vec_free(&targets);
	return n > 0;
}

int python_moved_part(const struct elf_file *f, const struct elf_code *code,
		      const struct python_function *function, struct python_function *out)
{
	size_t n = 0, most = JUMPS_LEAST - 1;
	struct cfi_section section;
	struct cfi_fde *fdes = NULL;
	targets targets = { 0 };

	collect_targets(f, code, function, &targets);
	if (targets.n && !cfi_load_eh_frame(f, &section)) {
		if (cfi_fdes(&section, &fdes, &n) < 0)
			n = 0;
		for (size_t i = 0; i < n; i++) {
			struct python_function part = { fdes[i].start,
							fdes[i].end - fdes[i].start };

			if (hits(&targets, &part) > most && jumps_back(f, code, &part, function)) {
				most = hits(&targets, &part);
				*out = part;
			}
		}
		free(fdes);
		free((void *)(uintptr_t)section.data);
	}
	vec_free(&targets);
	return most >= JUMPS_LEAST ? 0 : -ENOENT;
}

/* --- Thread-local variables. -------------------------------------------------- */

struct insn {
	uint8_t size;
	uint8_t bytes[5];
};

/* What @p begins with: bytes of it, 0: none of these. */
static size_t skipped(const struct insn *insns, size_t n, const uint8_t *p)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(p, insns[i].bytes, insns[i].size))
			return insns[i].size;
	return 0;
}

#define BEGINS(p, with) (!memcmp((p), (with), sizeof(with) - 1))

/* What the instruction at @p (of address @pc) adds to @out: its bytes, 0: it is none of ours. */
static size_t step_x86_64(const uint8_t *p, uint64_t pc, struct python_tls *out, int *done)
{
	static const struct insn frames[] = {
		{ 4, { 0xf3, 0x0f, 0x1e, 0xfa } },		/* endbr64 */
		{ 1, { 0x55 } }, { 1, { 0x5d } },		/* push, pop %rbp */
		{ 3, { 0x48, 0x89, 0xe5 } },			/* mov %rsp, %rbp */
		{ 4, { 0x48, 0x83, 0xec, 8 } }, { 4, { 0x48, 0x83, 0xc4, 8 } },
		{ 1, { 0x66 } },				/* a prefix, as padding */
	};

	if (BEGINS(p, "\x64\x48\x8b\x04\x25")) {		/* mov %fs:n, %rax */
		out->at = (uint64_t)(int64_t)number_at(p + 5);
		*done = 1;
		return 9;
	}
	if (BEGINS(p, "\x48\x8d\x3d")) {			/* lea place(%rip), %rdi */
		out->module = 1;
		out->at = pc + 7 + (uint64_t)(int64_t)number_at(p + 3);
		return 7;
	}
	if (!out->module || (p[0] != 0xe8 && !BEGINS(p, "\x48\xe8") && !BEGINS(p, "\x48\x8b")))
		return skipped(frames, sizeof(frames) / sizeof(*frames), p);
	if (p[1] != 0x8b)					/* call __tls_get_addr */
		return p[0] == 0xe8 ? 5 : 6;
	/* mov (%rax), n(%rax) of one byte or four */
	*done = p[2] == 0x00 || p[2] == 0x40 || p[2] == 0x80;
	out->offset = p[2] == 0x80 ? (uint32_t)number_at(p + 3) : p[2] == 0x40 ? p[3] : 0;
	return 3;
}

/* The same of aarch64: of a program's own storage alone. */
static size_t step_aarch64(const uint8_t *p, int *known, struct python_tls *out, int *done)
{
	static const struct insn frames[] = {
		{ 4, { 0x5f, 0x24, 0x03, 0xd5 } }, { 4, { 0x1f, 0x20, 0x03, 0xd5 } }, /* bti, nop */
		{ 4, { 0x3f, 0x23, 0x03, 0xd5 } },		/* paciasp */
		{ 4, { 0xbf, 0x23, 0x03, 0xd5 } },		/* autiasp */
		{ 4, { 0xfd, 0x7b, 0xbf, 0xa9 } },		/* stp x29, x30, [sp, #-16]! */
		{ 4, { 0xfd, 0x7b, 0xc1, 0xa8 } },		/* ldp x29, x30, [sp], #16 */
		{ 4, { 0xfd, 0x03, 0x00, 0x91 } },		/* mov x29, sp */
	};
	uint32_t word = (uint32_t)number_at(p);

	if (word == 0xd53bd040)					/* mrs x0, tpidr_el0 */
		*known = 1;
	else if (*known && (word & 0xff8003ff) == 0x91000000)	/* add x0, x0, #n[, lsl #12] */
		out->at += (uint64_t)(word >> 10 & 0xfff) << (word >> 22 & 1) * 12;
	else if (*known && (word & 0xffc003ff) == 0xf9400000) {	/* ldr x0, [x0, #8n] */
		out->at += (uint64_t)(word >> 10 & 0xfff) * 8;
		*done = 1;
	} else {
		return skipped(frames, sizeof(frames) / sizeof(*frames), p);
	}
	return 4;
}

int python_returned_tls(const struct elf_file *f, const struct elf_code *code,
			const struct python_function *function, struct python_tls *out)
{
	uint8_t *bytes = code_of(f, code, function);
	int known = 0, done = 0;

	*out = (struct python_tls){ 0 };
	for (size_t i = 0, n = 1; bytes && !done && n && i < function->size; i += n)
		n = elf_file_machine(f) == EM_AARCH64
			    ? step_aarch64(bytes + i, &known, out, &done)
			    : step_x86_64(bytes + i, function->address + i, out, &done);
	free(bytes);
	return done ? 0 : -ENOENT;
}
