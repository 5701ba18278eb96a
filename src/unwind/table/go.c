/* SPDX-License-Identifier: MIT */
#include "unwind/table/go.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind.h"
#include "go/gopclntab.h"

#define TABLE_MAX	(256u << 20)	/* bytes of symbols or of their names */
#define PREFIX		"runtime."
#define NAME_MAX_KNOWN	40		/* bytes of a name; those that we know are shorter */
/* of all functions; the largest programs have some 3 million */
#define STRETCHES_MAX	(4u << 20)
#define SPECIAL(x)	(EBP_RULE_SPECIAL | (x))
#define CLONE_MAX	256		/* bytes of clone() */
#define CLONE_PARTS	4

static const struct function {
	const char *name;	/* without the prefix, and ".abi0" may follow */
	uint16_t rule;
} functions[] = {
	/* Nobody called them (TOPFRAME in runtime/asm_*.s). */
	{ "goexit", SPECIAL(EBP_RULE_STOP) },
	{ "mstart", SPECIAL(EBP_RULE_STOP) },
	{ "rt0_go", SPECIAL(EBP_RULE_STOP) },
	/*
	 * The scheduler's root: it does not return to the goroutine that gave up its thread, whose
	 * stack may be another thread's by now. Go's own profiler ends there, too.
	 */
	{ "mcall", SPECIAL(EBP_RULE_STOP) },
	/* They switch stacks, and the frame pointer alone leads back. */
	{ "systemstack", SPECIAL(EBP_RULE_GAP) },
	{ "morestack", SPECIAL(EBP_RULE_GAP) },
	{ "asmcgocall", SPECIAL(EBP_RULE_GAP) },
	{ "nanotime1", SPECIAL(EBP_RULE_GAP) },
	{ "walltime", SPECIAL(EBP_RULE_GAP) },
	{ "walltime1", SPECIAL(EBP_RULE_GAP) },
	/* Trampolines of signals. */
	{ "sigreturn", SPECIAL(EBP_RULE_SIGNAL) },
	{ "sigreturn__sigaction", SPECIAL(EBP_RULE_SIGNAL) },
};

/*
 * Where programs begin, _rt0_amd64_linux and what that jumps to; those of libraries, "..._lib", are
 * called.
 */
static const struct function entry = { "_rt0_", SPECIAL(EBP_RULE_STOP) };

static const struct function *find(const char *name)
{
	if (!strncmp(name, entry.name, strlen(entry.name)))
		return strstr(name, "_lib") ? NULL : &entry;
	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return NULL;
	name += strlen(PREFIX);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		size_t n = strlen(functions[i].name);

		if (!strncmp(name, functions[i].name, n) &&
		    (!name[n] || !strcmp(name + n, ".abi0")))
			return &functions[i];
	}
	return NULL;
}

/* --- clone(). ---------------------------------------------------------------------- */

/* Reads code at a virtual address: how much of @size bytes there was. */
static size_t read_code(const struct elf_file *elf, uint64_t at, unsigned char *code, size_t size)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(elf, &s);

	for (size_t i = 0; i < n; i++) {
		uint64_t from = at - s[i].vaddr;

		if (s[i].type != PT_LOAD || at < s[i].vaddr || from >= s[i].filesz)
			continue;
		size = size < s[i].filesz - from ? size : s[i].filesz - from;
		return elf_file_read(elf, s[i].offset + from, code, size) ? 0 : size;
	}
	return 0;
}

/*
 * The thread that it makes comes out of the system call on a stack of its own, and has no caller:
 * `syscall; cmp $0, %rax; je child; mov %eax, n(%rsp); ret; child:` (runtime/sys_linux_amd64.s).
 * At the first two of these both may be, which rax tells: there no rule is good for both. Fills
 * @out with all of the function, ascending, and returns in how many parts: 0 where it looks
 * otherwise.
 */
static size_t parts_of_clone(const struct elf_file *elf, uint64_t start, uint64_t end,
			     struct unwind_go_function out[CLONE_PARTS])
{
	static const unsigned char called[] = { 0x0f, 0x05, 0x48, 0x83, 0xf8, 0, 0x74, 5 },
				   returned[] = { 0x89, 0x44, 0x24 };
	unsigned char code[CLONE_MAX];
	size_t n = end - start < CLONE_MAX ? end - start : CLONE_MAX, i = 0;
	const uint16_t caller = 1;

	if (elf_file_machine(elf) != EM_X86_64)
		return 0;
	n = read_code(elf, start, code, n);
	while (i + 13 < n && (memcmp(code + i, called, sizeof(called)) ||
			      memcmp(code + i + 8, returned, sizeof(returned)) ||
			      code[i + 12] != 0xc3))
		i++;
	if (i + 13 >= n)
		return 0;
	start += i;
	out[0] = (struct unwind_go_function){ start - i, start + 2, caller };
	out[1] = (struct unwind_go_function){ start + 2, start + 8, SPECIAL(EBP_RULE_GAP) };
	out[2] = (struct unwind_go_function){ start + 8, start + 13, caller };
	out[3] = (struct unwind_go_function){ start + 13, end, SPECIAL(EBP_RULE_STOP) };
	return CLONE_PARTS;
}

/* "runtime.clone", and ".abi0" may follow. */
static int is_clone(const char *name)
{
	const size_t n = strlen(PREFIX "clone");

	return !strncmp(name, PREFIX "clone", n) && (!name[n] || !strcmp(name + n, ".abi0"));
}

/* --- By symbols. ------------------------------------------------------------------- */

static size_t take(const struct elf_file *elf, const Elf64_Sym *symbols, size_t n,
		   const char *names, size_t size, struct unwind_go_function *out)
{
	size_t found = 0;

	for (size_t i = 0; i < n && found + CLONE_PARTS <= UNWIND_GO_MAX; i++) {
		const Elf64_Sym *s = &symbols[i];
		const struct function *f = NULL;

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_name >= size || !s->st_value ||
		    !s->st_size)
			continue;
		f = find(names + s->st_name);
		if (is_clone(names + s->st_name))
			found += parts_of_clone(elf, s->st_value, s->st_value + s->st_size,
						out + found);
		/* Nobody called the trampoline: where it is returned to may be its first byte. */
		if (f)
			out[found++] = (struct unwind_go_function){
				.start = s->st_value - (f->rule == SPECIAL(EBP_RULE_SIGNAL)),
				.end = s->st_value + s->st_size, .rule = f->rule,
			};
	}
	return found;
}

/* The code is in @elf, the symbols are in @f. */
static size_t from_file(const struct elf_file *elf, const struct elf_file *f,
			struct unwind_go_function *out)
{
	const struct elf_section *all, *table = elf_file_section(f, ".symtab");
	size_t n = elf_file_sections(f, &all), size, names_size, found = 0;
	void *symbols = NULL, *names = NULL;

	if (!table || table->link >= n || table->type == SHT_NOBITS)
		return 0;
	symbols = elf_file_section_data(f, table, TABLE_MAX, &size);
	if (symbols)
		names = elf_file_section_data(f, &all[table->link], TABLE_MAX, &names_size);
	if (names)
		found = take(elf, symbols, size / sizeof(Elf64_Sym), names, names_size, out);
	free(symbols);
	free(names);
	return found;
}

size_t unwind_go(const struct elf_file *elf, const struct elf_file *debug,
		 struct unwind_go_function out[UNWIND_GO_MAX])
{
	size_t n;

	if (!elf_file_section(elf, ".note.go.buildid"))
		return 0;
	n = from_file(elf, elf, out);
	return n || !debug ? n : from_file(elf, debug, out);
}

uint16_t unwind_go_rule(uint16_t machine, uint16_t rule)
{
	const uint16_t other = EBP_RULE_SPECIAL | EBP_RULE_FP_BASE | 7 << EBP_RULE_SAVED_SHIFT;

	if (machine != EM_X86_64 || rule & other || (rule & EBP_RULE_OFFSET_MASK) < 2)
		return rule;
	return (uint16_t)(rule | 1 << EBP_RULE_SAVED_SHIFT);
}

/*
 * The rule where the stack pointer is @delta bytes below what it was at the function's first
 * instruction.
 */
static uint16_t rule_of_delta(int32_t delta)
{
	if (delta < 0 || delta % 8 || delta / 8 + 1u > EBP_RULE_OFFSET_MASK)
		return SPECIAL(EBP_RULE_GAP);
	return unwind_go_rule(EM_X86_64, (uint16_t)(delta / 8 + 1));
}

/* --- By the runtime's table. ------------------------------------------------------- */

struct visitor {
	const struct elf_file *elf;
	void (*fn)(void *ctx, uint64_t start, uint64_t end, uint16_t rule);
	void *ctx;
	uint32_t left;		/* stretches that may still be given */
};

static void visit_function(const struct gopclntab *t, const struct go_function *f,
			   struct visitor *to)
{
	const struct function *known = NULL;
	struct unwind_go_function parts[CLONE_PARTS];
	char name[NAME_MAX_KNOWN];
	size_t nparts = 0;
	struct go_values v;
	uint64_t at = 0;

	/*
	 * The flag of those that have no caller is of no use: the signal handler's has it, and a
	 * trampoline behind it.
	 */
	if (!gopclntab_string(t, &t->names, f->name, name, sizeof(name))) {
		known = find(name);
		if (is_clone(name))
			nparts = parts_of_clone(to->elf, f->start, f->start + f->size, parts);
	}
	for (size_t i = 0; i < nparts; i++)
		to->fn(to->ctx, parts[i].start, parts[i].end, parts[i].rule);
	if (nparts)
		return;
	if (known || f->flags & GO_SPWRITE) {
		uint16_t rule = known ? known->rule : SPECIAL(EBP_RULE_GAP);

		to->fn(to->ctx, f->start - (rule == SPECIAL(EBP_RULE_SIGNAL)), f->start + f->size,
		       rule);
		return;
	}
	if (gopclntab_values(t, f->pcsp, &v))
		return;
	for (; to->left && at < f->size && !gopclntab_next(&v); to->left--) {
		uint64_t end = v.end < f->size ? v.end : f->size;

		to->fn(to->ctx, f->start + at, f->start + end, rule_of_delta(v.value));
		at = end;
	}
}

int unwind_go_table(const struct elf_file *elf,
		    void (*fn)(void *ctx, uint64_t start, uint64_t end, uint16_t rule), void *ctx)
{
	struct visitor to = { elf, fn, ctx, STRETCHES_MAX };
	struct gopclntab *t;

	if (elf_file_machine(elf) != EM_X86_64)
		return -ENODATA;
	t = gopclntab_open(elf);
	if (!t)
		return -errno;
	for (uint32_t i = 0; i < t->n && to.left; i++) {
		struct go_function f;

		if (!gopclntab_function_read(t, i, &f) && f.size)
			visit_function(t, &f, &to);
	}
	gopclntab_free(t);
	return 0;
}
