/* SPDX-License-Identifier: MIT */
/*
 * Rules by stack heights against call frame information: of functions by hand, and of all the code
 * of libraries of this machine, whose compiler says the same in .eh_frame.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "base/vec.h"
#include "dwarf/cfi_load.h"
#include "elf/elf_file.h"
#include "test.h"
#include "unwind/code/heights.h"
#include "unwind/code/x86.h"
#include "unwind/table/rule.h"

#define GAP	(EBP_RULE_SPECIAL | EBP_RULE_GAP)
#define STOP	(EBP_RULE_SPECIAL | EBP_RULE_STOP)
#define EXOTIC	(EBP_RULE_SPECIAL | EBP_RULE_EXOTIC)

struct row {
	uint64_t at;
	uint16_t rule;
	int32_t offset;		/* of an exotic one: of the CFA, and of rbp */
	int32_t fp;
};
typedef VEC(struct row) rows;

static void take_row(void *ctx, size_t at, uint16_t rule, const struct ebp_exotic *x)
{
	rows *r = ctx;
	struct row row = { at, rule, 0, 0 };

	if (rule == EXOTIC) {
		row.offset = x->cfa_offset;
		row.fp = x->fp_offset;
	}
	if (r->n && r->v[r->n - 1].at == at)
		r->v[r->n - 1] = row;
	else
		vec_push(r, row);
}

static const struct row *row_at(const rows *r, uint64_t at)
{
	size_t n = upper_bound(r->v, r->n, .at, at);

	return n ? &r->v[n - 1] : NULL;
}

static uint16_t rule_at(const rows *r, uint64_t at)
{
	const struct row *row = row_at(r, at);

	return row ? row->rule : GAP;
}

static rows rows_of(const uint8_t *code, size_t n)
{
	static const uint64_t entry[] = { 0 };
	const struct unwind_code c = { .code = code, .n = n, .entries = entry, .nentries = 1 };
	rows r = { 0 };

	unwind_heights(&c, take_row, &r);
	return r;
}

#define SP(words)	 (words)
#define SAVED(words, at) ((words) | (at) << EBP_RULE_SAVED_SHIFT)
#define FP(words)	 (EBP_RULE_FP_BASE | (words))

/* push %rbp; jmp *%rbx; [endbr64;] xor %rdi, %rdi; call; hlt: nothing lies above that jump. */
static void test_contexts(void)
{
	static const uint8_t plain[] = { 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0,
					 0xf4, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t protected[] = { 0x55, 0xff, 0xe3, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31,
					     0xff, 0xe8, 0, 0, 0, 0, 0xf4, 0, 0, 0, 0 };
	static const uint8_t other[] = { 0x55, 0xff, 0xe3, 0x48, 0x31, 0xf6, 0xe8, 0, 0, 0, 0,
					 0xf4, 0, 0, 0, 0, 0, 0, 0, 0 };
	rows r = rows_of(plain, sizeof(plain));

	CHECK_EQ(rule_at(&r, 0), 1);
	CHECK_EQ(rule_at(&r, 2), GAP);
	vec_free(&r);
	r = rows_of(protected, sizeof(protected));
	CHECK_EQ(rule_at(&r, 2), GAP);
	vec_free(&r);
	r = rows_of(other, sizeof(other));
	CHECK_EQ(rule_at(&r, 2), SAVED(2, 1));
	vec_free(&r);
}

static void test_pushes(void)
{
	/* push %rbp; push %rbx; sub $24, %rsp; call; add $24, %rsp; pop %rbx; pop %rbp; ret */
	static const uint8_t code[] = { 0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0xe8, 0, 0, 0, 0,
					0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3 };
	rows r = rows_of(code, sizeof(code));

	CHECK_EQ(rule_at(&r, 0), SP(1));
	CHECK_EQ(rule_at(&r, 1), SAVED(2, 1));
	CHECK_EQ(rule_at(&r, 2), SAVED(3, 1));
	CHECK_EQ(rule_at(&r, 6), SAVED(6, 1));
	CHECK_EQ(rule_at(&r, 10), SAVED(6, 1));
	CHECK_EQ(rule_at(&r, 15), SAVED(3, 1));
	CHECK_EQ(rule_at(&r, 16), SAVED(2, 1));
	CHECK_EQ(rule_at(&r, 17), SP(1));
	vec_free(&r);
}

static void test_frame_pointer(void)
{
	/* push %rbp; mov %rsp, %rbp; sub %rax, %rsp (as alloca does); leave; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0xc9, 0xc3 };
	rows r = rows_of(code, sizeof(code));

	CHECK_EQ(rule_at(&r, 4), SAVED(2, 1));
	CHECK_EQ(rule_at(&r, 7), SAVED(FP(2), 1));
	CHECK_EQ(rule_at(&r, 8), SP(1));
	vec_free(&r);
}

/* What is jumped to has the height of the jump, also where it is before it or behind a return. */
static void test_branches(void)
{
	/* push %rbx; jmp 5; 3: nop; nop; 5: test; je 3; jne 12; pop %rbx; ret; nop; 12: int3 */
	static const uint8_t code[] = { 0x53, 0xeb, 0x02, 0x90, 0x90, 0x85, 0xc0, 0x74,
					0xfa, 0x75, 0x03, 0x5b, 0xc3, 0x90, 0xf8, 0xc3 };
	rows r = rows_of(code, sizeof(code));

	CHECK_EQ(rule_at(&r, 3), SP(2));
	CHECK_EQ(rule_at(&r, 12), SP(1));
	CHECK_EQ(rule_at(&r, 14), SP(2));
	vec_free(&r);
}

/* Two ways that disagree; a way behind a call that does not return has no say. */
static void test_disagreement(void)
{
	/* je 3; push %rax; 3: nop; ret */
	static const uint8_t code[] = { 0x74, 0x01, 0x50, 0x90, 0xc3 };
	/* je 9; push %rax; push %rax; call; 9: ret */
	static const uint8_t behind[] = { 0x74, 0x07, 0x50, 0x50, 0xe8, 0, 0, 0, 0, 0xc3 };
	rows r = rows_of(code, sizeof(code));

	CHECK_EQ(rule_at(&r, 3), GAP);
	vec_free(&r);
	r = rows_of(behind, sizeof(behind));
	CHECK_EQ(rule_at(&r, 9), SP(1));
	vec_free(&r);
}

/* Cases of a table have its height; a function behind it, whose callers are not known, its own. */
static void test_table(void)
{
	/* push %rbx; jmp *%rax; pop %rbx; ret; push %rbp; pop %rbp; ret */
	static const uint8_t code[] = { 0x53, 0xff, 0xe0, 0x5b, 0xc3, 0x55, 0x5d, 0xc3 };
	rows r = rows_of(code, sizeof(code));

	CHECK_EQ(rule_at(&r, 3), SP(2));
	CHECK_EQ(rule_at(&r, 4), SP(1));
	CHECK_EQ(rule_at(&r, 5), SP(1));
	CHECK_EQ(rule_at(&r, 6), SAVED(2, 1));
	vec_free(&r);
}

/* musl's clone, in the child; and where its signal handlers return to. */
static void test_roots(void)
{
	/* xor %ebp, %ebp; pop %rdi; call *%r9; mov %eax, %edi; ret */
	static const uint8_t clone[] = { 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0xc3 };
	/* push %rbp; xor %ebp, %ebp; pop %rbp; ret: a register as any other */
	static const uint8_t zero[] = { 0x55, 0x31, 0xed, 0x5d, 0xc3 };
	/* mov $15, %rax; syscall */
	static const uint8_t restore[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	rows r = rows_of(clone, sizeof(clone));

	CHECK_EQ(rule_at(&r, 2), STOP);
	CHECK_EQ(rule_at(&r, 5), STOP);
	vec_free(&r);
	r = rows_of(zero, sizeof(zero));
	CHECK_EQ(rule_at(&r, 3), SAVED(2, 1));
	CHECK_EQ(rule_at(&r, 4), SP(1));
	vec_free(&r);
	r = rows_of(restore, sizeof(restore));
	CHECK_EQ(rule_at(&r, 0), GAP);
	vec_free(&r);
}

/* --- Compilers' code, which has CFI. ---------------------------------------------- */

struct truth {
	rows rows;
	VEC(uint64_t) entries;	/* of functions; parts of them that were moved away have none */
};

static void take_cfi(void *ctx, const struct cfi_row *row)
{
	struct truth *t = ctx;
	struct ebp_exotic x = { 0 };
	uint16_t rule = unwind_rule(EM_X86_64, row, &x);

	if (t->rows.n && t->rows.v[t->rows.n - 1].at == row->start)
		t->rows.n--;
	vec_push(&t->rows, (struct row){ row->start, rule, x.cfa_offset, x.fp_offset });
}

static int by_at(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void read_truth(const struct elf_file *elf, struct truth *t)
{
	struct cfi_section section = { 0 };
	struct cfi_fde *fdes;
	size_t n = 0, first;

	CHECK_EQ(cfi_load_eh_frame(elf, &section), 0);
	section.machine = EM_X86_64;
	CHECK(cfi_fdes(&section, &fdes, &n) >= 0);
	for (size_t i = 0; i < n; i++) {
		first = t->rows.n;
		cfi_rows(&section, &fdes[i], take_cfi, t, NULL);
		if (t->rows.n > first && t->rows.v[first].rule == SP(1))
			vec_push(&t->entries, fdes[i].start);
	}
	qsort(t->rows.v, t->rows.n, sizeof(*t->rows.v), by_at);
	first = t->rows.n;
	for (size_t i = 0; i < n; i++) {
		size_t k = upper_bound(t->rows.v, first, .at, fdes[i].end);

		if (!k || t->rows.v[k - 1].at != fdes[i].end)
			vec_push(&t->rows, (struct row){ fdes[i].end, GAP, 0, 0 });
	}
	free(fdes);
	free((void *)(uintptr_t)section.data);
	qsort(t->rows.v, t->rows.n, sizeof(*t->rows.v), by_at);
	qsort(t->entries.v, t->entries.n, sizeof(*t->entries.v), by_number);
}

struct outcome {
	unsigned long same, other_base, none, wrong;
};

/* CFI says that rbp is in its slot still when it was popped, until the return: below rsp. */
static int is_popped(uint16_t truth, uint16_t ours)
{
	unsigned saved = truth >> EBP_RULE_SAVED_SHIFT & 7, words = truth & EBP_RULE_OFFSET_MASK;

	return saved && saved + 1 > words && ours == words;
}

/* By different registers two rules can be the same one: only rbp's place is compared then. */
static void compare(const struct row *truth, const struct row *ours, struct outcome *o)
{
	uint16_t t = truth->rule, r = ours->rule;
	unsigned saved = EBP_RULE_OFFSET_MASK + 1;

	if (r == GAP)
		o->none++;
	else if (t == r && truth->offset == ours->offset && truth->fp == ours->fp)
		o->same++;
	else if (is_popped(t, r))
		o->same++;
	else if (t & EBP_RULE_SPECIAL || r & EBP_RULE_SPECIAL)
		o->wrong += r != STOP && (t == EXOTIC) == (r == EXOTIC);
	else if ((t ^ r) & EBP_RULE_FP_BASE)
		(t / saved & 7) == (r / saved & 7) ? o->other_base++ : o->wrong++;
	else
		o->wrong++;
}

/* Nothing of a file of another machine. */
static struct outcome compare_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	int is_x86 = elf && elf_file_machine(elf) == EM_X86_64;
	const struct elf_section *text = is_x86 ? elf_file_section(elf, ".text") : NULL;
	struct truth t = { 0 };
	struct outcome o = { 0 };
	rows ours = { 0 };
	size_t n = 0;
	uint8_t *code = text ? elf_file_section_data(elf, text, UNWIND_HEIGHTS_MAX, &n) : NULL;

	if (code) {
		struct unwind_code c = { .code = code, .n = n, .base = text->addr };
		struct x86 i;

		read_truth(elf, &t);
		c.entries = t.entries.v;
		c.nentries = t.entries.n;
		unwind_heights(&c, take_row, &ours);
		for (size_t at = 0; at < n; at += i.size) {
			const struct row *truth = row_at(&t.rows, text->addr + at);

			if (x86_decode(code, n, at, &i))
				i.size = 1;
			else if (truth && truth->rule != GAP)
				compare(truth, row_at(&ours, at), &o);
		}
	}
	free(code);
	vec_free(&t.rows);
	vec_free(&t.entries);
	vec_free(&ours);
	elf_file_free(elf);
	if (fd >= 0)
		close(fd);
	return o;
}

/*
 * Without C++, whose unwinder jumps where no code does, and which has no exceptions without CFI.
 * Of OpenSSL's assembler a part has the stack pointer in other registers.
 */
static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/bin/perl",
	"/bin/bash",
	"/usr/bin/make",
};

/* What is given is right, but for 3 in 1,000, and of nearly all something is given. */
static void test_compilers(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct outcome o = compare_file(files[i]);
		unsigned long all = o.same + o.other_base + o.none + o.wrong;

		printf("%s: %lu same, %lu by another register, %lu none, %lu wrong\n", files[i],
		       o.same, o.other_base, o.none, o.wrong);
		CHECK(!all || all > 1000);
		CHECK(o.wrong * 1000 <= 3 * all);
		CHECK(o.none * 10 <= all);
	}
}

int main(void)
{
	RUN(test_contexts);
	RUN(test_pushes);
	RUN(test_frame_pointer);
	RUN(test_branches);
	RUN(test_disagreement);
	RUN(test_table);
	RUN(test_roots);
	RUN(test_compilers);
	return TEST_END();
}
