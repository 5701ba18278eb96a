/* SPDX-License-Identifier: MIT */
#include "unwind/table/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "elf/elf_lookup.h"
#include "unwind/code/x86.h"

#define CODE_MAX	(16u << 20)	/* bytes */
#define SYMBOLS_LEAST	512		/* bytes of code for which symbols are read */

typedef VEC(uint64_t) numbers;

struct search {
	const struct unwind_stretch *stretches;
	size_t n;
	numbers starts;
	numbers taken;
	int v8;
};

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Adds @address, if that is in one of the stretches. */
static void add(const struct search *s, numbers *to, uint64_t address)
{
	size_t i = upper_bound(s->stretches, s->n, .start, address);

	if (i && address < s->stretches[i - 1].end)
		vec_push(to, address);
}

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct search *s = ctx;

	/* Its builtins have frames of JavaScript's (bpf/v8_step.h). */
	if (!strncmp(name, "Builtins_", 9) || !strncmp(name, "v8dbg_", 6))
		s->v8 = 1;
	/* What was moved out of a function (GCC's .cold) begins in the midst of it. */
	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && !strstr(name, ".cold"))
		add(s, &s->starts, sym->st_value);
}

/* What is called, or has its address taken, in the code at @code, of the stretch @at. */
static void take_targets(struct search *s, const struct unwind_stretch *at, const uint8_t *code)
{
	size_t n = (size_t)(at->end - at->start);
	struct x86 i;

	for (size_t k = 0; k < n; k += i.size) {
		if (x86_decode(code, n, k, &i)) {
			i.size = 1;
			continue;
		}
		if (!i.map && i.op == 0xe8)
			add(s, &s->starts, at->start + k + i.size + (uint64_t)i.imm);
		else if (!i.map && i.op == 0x8d && i.rm == X86_RIP)
			add(s, &s->taken, at->start + k + i.size + (uint64_t)i.disp);
	}
}

static void find_starts(struct search *s, const struct elf_file *elf, const struct elf_file *debug,
		       uint64_t size)
{
	add(s, &s->starts, elf_file_entry(elf));
	if (size >= SYMBOLS_LEAST) {
		elf_lookup_each(elf, take_symbol, s);
		if (debug)
			elf_lookup_each(debug, take_symbol, s);
	}
	for (size_t i = 0; i < s->n && !s->v8; i++) {
		const struct unwind_stretch *at = &s->stretches[i];
		size_t n = (size_t)(at->end - at->start);
		uint8_t *code = xmalloc(n);

		if (!elf_file_read(elf, at->offset, code, n))
			take_targets(s, at, code);
		free(code);
	}
}

/* Bytes of all of them, but never more than CODE_MAX + 1. */
static uint64_t bytes_of(const struct unwind_stretch *stretches, size_t n)
{
	uint64_t size = 0;

	for (size_t i = 0; i < n && size <= CODE_MAX; i++) {
		uint64_t one = stretches[i].end - stretches[i].start;

		size += one <= CODE_MAX ? one : CODE_MAX + 1;
	}
	return size;
}

/* Ascending, each once. */
static void sort(numbers *n)
{
	size_t left = 0;

	if (n->n)
		qsort(n->v, n->n, sizeof(*n->v), by_number);
	for (size_t i = 0; i < n->n; i++)
		if (!left || n->v[i] != n->v[left - 1])
			n->v[left++] = n->v[i];
	n->n = left;
}

struct unwind_starts unwind_code_starts(const struct elf_file *elf, const struct elf_file *debug,
					const struct unwind_stretch *stretches, size_t n)
{
	struct search s = { .stretches = stretches, .n = n };
	uint64_t size = bytes_of(stretches, n);

	if (size && size <= CODE_MAX)
		find_starts(&s, elf, debug, size);
	if (s.v8)
		s.starts.n = s.taken.n = 0;
	sort(&s.starts);
	sort(&s.taken);
	return (struct unwind_starts){ s.starts.v, s.starts.n, s.taken.v, s.taken.n };
}

void unwind_starts_free(struct unwind_starts *s)
{
	free(s->v);
	free(s->taken);
	*s = (struct unwind_starts){ 0 };
}
