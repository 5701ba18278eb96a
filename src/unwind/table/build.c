/* SPDX-License-Identifier: MIT */
#include "unwind/table/build.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/search.h"
#include "base/vec.h"
#include "dwarf/cfi.h"
#include "dwarf/cfi_load.h"
#include "elf/elf_code.h"
#include "unwind/code/heights.h"
#include "unwind/table/code.h"
#include "unwind/table/go.h"
#include "unwind/table/pack.h"
#include "unwind/table/rule.h"
#include "unwind/table/throw.h"

#define STOP		(EBP_RULE_SPECIAL | EBP_RULE_STOP)
#define ROWS_MAX	(16u << 20)
#define CODE_MAX	(UINT32_MAX + 0ull)	/* the last offset that a row can have */
/* bytes between two functions that the first one's last rule covers, too */
#define PADDING		15
/*
 * aarch64: less than the vdso's `nop; mov x8, #139; svc #0`, which the step knows by its bytes
 * where there is no rule.
 */
#define PADDING_ARM64	11
#define ENTRY_SIZE	64		/* of an entry point without CFI */

#ifdef __aarch64__
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

enum { EH_FRAME, DEBUG_FRAME, SEPARATE, SECTIONS };

/* Whose a range is: an FDE's; ours, with one rule; ours, by its code. */
enum made { MADE_NOT, MADE_RULE, MADE_BY_CODE };

/* Code that one FDE, or a rule made by us, is about; by offset in the file. */
struct range {
	uint64_t start, end;
	uint64_t delta;		/* virtual address - offset */
	uint32_t fde;		/* its offset in the section */
	uint16_t rule;
	uint8_t section;
	uint8_t made;		/* enum made */
};
_Static_assert(sizeof(struct range) <= 32,
	       "glibc sorts what is larger by pointers to it, which takes twice as long");

struct builder {
	const struct elf_file *elf;
	struct elf_code segments;
	uint16_t machine;
	int go;
	struct cfi_section section[SECTIONS];	/* the data is ours */
	int has_fdes[SECTIONS];
	VEC(struct range) ranges;
	struct unwind_starts starts;	/* of functions without CFI */
	struct unwind_throw throws[UNWIND_THROWS];	/* calls that no CFI is true in */
	size_t nthrows;
	unwind_rows rows;
	VEC(struct ebp_exotic) exotic;
	struct interned exotics;
	/* While one FDE's rows are taken: */
	const struct range *range;
	uint64_t limit;			/* its rows end here */
	uint64_t code;
};

/* --- Rows. ------------------------------------------------------------------ */

static int same_exotic(const void *builder, uint32_t i, const void *x)
{
	const struct builder *b = builder;

	return !memcmp(&b->exotic.v[i], x, sizeof(*b->exotic.v));
}

static uint16_t exotic_rule(struct builder *b, const struct ebp_exotic *x)
{
	uint64_t hash = hash_bytes(x, sizeof(*x));
	uint32_t i = intern_find(&b->exotics, hash, same_exotic, b, x);

	if (i == HASHMAP_NONE) {
		if (b->exotic.n >= EBP_EXOTIC_MAX)
			return EBP_RULE_SPECIAL | EBP_RULE_UNSUPPORTED;
		i = (uint32_t)b->exotic.n;
		intern_add(&b->exotics, hash, i);
		vec_push(&b->exotic, *x);
	}
	return (uint16_t)(EBP_RULE_SPECIAL | (EBP_RULE_EXOTIC + i));
}

static void push_rule(struct builder *b, uint64_t offset, uint16_t rule,
		      const struct ebp_exotic *x)
{
	unwind_push_row(&b->rows, offset,
		 rule == (EBP_RULE_SPECIAL | EBP_RULE_EXOTIC) ? exotic_rule(b, x) : rule);
}

static void take_row(void *ctx, const struct cfi_row *row)
{
	struct builder *b = ctx;
	uint64_t offset = row->start - b->range->delta;
	struct ebp_exotic x;
	uint16_t rule;

	/*
	 * Over the limit the build fails, after the FDE: one program alone may have more rows than
	 * memory holds.
	 */
	if (offset < b->range->start || offset >= b->limit || b->rows.n > ROWS_MAX)
		return;
	rule = unwind_rule(b->machine, row, &x);
	if (b->go && b->range->section != EH_FRAME)
		rule = unwind_go_rule(b->machine, rule);
	push_rule(b, offset, rule, &x);
}

/* --- Ranges. ---------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/*
	 * Of one start the shorter comes first, and the longer covers it: FDEs before what we make.
	 */
	if (x->made != y->made)
		return x->made > y->made ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* @r has virtual addresses; adds it with offsets, cut at its segment's end. */
static void add_range(struct builder *b, struct range r)
{
	const struct elf_segment *s = elf_code_at(&b->segments, r.start);

	if (!s || r.end <= r.start || s->offset > CODE_MAX || s->filesz > CODE_MAX)
		return;
	if (r.end - s->vaddr > s->filesz)
		r.end = s->vaddr + s->filesz;
	r.delta = s->vaddr - s->offset;
	r.start -= r.delta;
	r.end -= r.delta;
	if (r.end <= CODE_MAX)
		vec_push(&b->ranges, r);
}

/* Whether the first @n ranges, sorted, have one that covers the virtual address @vaddr. */
static int is_covered(const struct builder *b, size_t n, uint64_t vaddr)
{
	const struct elf_segment *s = elf_code_at(&b->segments, vaddr);
	uint64_t offset = s ? vaddr - s->vaddr + s->offset : 0;
	size_t low = upper_bound(b->ranges.v, n, .start, offset);

	return !s || (low && b->ranges.v[low - 1].end > offset);
}

/* Most are, after each step. */
static int is_sorted(const struct builder *b)
{
	for (size_t i = 1; i < b->ranges.n; i++)
		if (by_start(&b->ranges.v[i - 1], &b->ranges.v[i]) > 0)
			return 0;
	return 1;
}

static void sort_ranges(struct builder *b)
{
	if (!is_sorted(b))
		qsort(b->ranges.v, b->ranges.n, sizeof(*b->ranges.v), by_start);
}

/* 0, also where the section is not there. */
static int load(struct builder *b, int which, const struct elf_file *debug)
{
	int err = -ENOENT;

	if (which == EH_FRAME)
		err = cfi_load_eh_frame(b->elf, &b->section[which]);
	else if (which == DEBUG_FRAME || debug)
		err = cfi_load_section(which == SEPARATE ? debug : b->elf, ".debug_frame",
				       &b->section[which]);
	b->section[which].machine = b->machine;
	return err == -ENOENT ? 0 : err;
}

static void drop(struct builder *b, int which)
{
	free((void *)(uintptr_t)b->section[which].data);
	b->section[which].data = NULL;
}

/*
 * Adds the FDEs of a section, each where none of the sections before covers it. Those of
 * functions that the linker threw away begin at 0 in .debug_frame.
 */
static int add_fdes(struct builder *b, int which)
{
	size_t before = b->ranges.n, n;
	int fill = which != EH_FRAME;
	struct cfi_fde *fdes;
	long err;

	if (!b->section[which].data)
		return 0;
	err = cfi_fdes(&b->section[which], &fdes, &n);
	if (err < 0)
		return (int)err;
	for (size_t i = 0; i < n; i++) {
		const struct cfi_fde *f = &fdes[i];

		if (!fill || (f->start && !is_covered(b, before, f->start)))
			add_range(b, (struct range){ .start = f->start,
						     .end = f->end,
						     .section = (uint8_t)which,
						     .fde = (uint32_t)f->offset });
	}
	/* They take as much as the rows will, and are in the ranges. */
	free(fdes);
	b->has_fdes[which] = n > 0;
	/* Before the next is loaded: most of what both have is the same. */
	if (b->ranges.n == before)
		drop(b, which);
	sort_ranges(b);
	return 0;
}

/* --- What linkers and libraries leave without CFI. ------------------------- */

static void make_range(struct builder *b, uint64_t start, uint64_t end, uint16_t rule)
{
	add_range(b, (struct range){ .start = start, .end = end, .made = MADE_RULE, .rule = rule });
}

/*
 * .plt, bound lazily (psABI, figure 5.2): its first entry is entered with one word
 * pushed and pushes another; the others push one in their middle. Linkers
 * that build it in another way (mold) are left alone.
 */
static void make_lazy_plt(struct builder *b, const struct elf_section *s)
{
	static const uint8_t push_got[] = { 0xff, 0x35 }, jump[] = { 0xff, 0x25 };
	static const uint8_t endbr_push[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68 };
	uint8_t code[32];
	uint16_t rule;

	if (s->size < sizeof(code) || elf_file_read(b->elf, s->offset, code, sizeof(code)) ||
	    memcmp(code, push_got, 2))
		return;
	if (!memcmp(code + 16, jump, 2) && code[22] == 0x68)
		rule = EBP_RULE_SPECIAL | EBP_RULE_PLT11;
	else if (!memcmp(code + 16, endbr_push, 5))
		rule = EBP_RULE_SPECIAL | EBP_RULE_PLT10;
	else
		return;
	make_range(b, s->addr, s->addr + 6, 2);
	make_range(b, s->addr + 6, s->addr + 16, 3);
	make_range(b, s->addr + 16, s->addr + s->size, rule);
}

static void make_plt(struct builder *b, size_t covered)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct elf_section *s = elf_file_section(b->elf, names[i]);

		if (!s || s->type == SHT_NOBITS || s->size > CODE_MAX ||
		    is_covered(b, covered, s->addr))
			continue;
		if (b->machine == EM_AARCH64)
			/* CFA = sp */
			make_range(b, s->addr, s->addr + s->size, EBP_SAVED_NOTHING);
		else if (i == 0)
			make_lazy_plt(b, s);
		else
			make_range(b, s->addr, s->addr + s->size, 1);
	}
}

/*
 * .init and .fini: crti.o's `sub $8, %rsp`, calls, and crtn.o's `add $8, %rsp;
 * ret`, without CFI in most C libraries.
 */
static void make_init(struct builder *b, const char *name, size_t covered)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa },
			     sub[] = { 0x48, 0x83, 0xec, 0x08 };
	static const uint8_t leave[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	const struct elf_section *s = elf_file_section(b->elf, name);
	uint8_t head[8], tail[5];
	unsigned prologue;

	if (!s || s->size < sizeof(head) + sizeof(tail) || b->machine != EM_X86_64 ||
	    is_covered(b, covered, s->addr) ||
	    elf_file_read(b->elf, s->offset, head, sizeof(head)) ||
	    elf_file_read(b->elf, s->offset + s->size - sizeof(tail), tail, sizeof(tail)))
		return;
	prologue = memcmp(head, endbr, 4) ? 4 : 8;
	if (memcmp(head + prologue - 4, sub, 4) || memcmp(tail, leave, 5))
		return;
	make_range(b, s->addr, s->addr + prologue, 1);
	make_range(b, s->addr + prologue, s->addr + s->size - 1, 2);
	make_range(b, s->addr + s->size - 1, s->addr + s->size, 1);
}

static void make_go(struct builder *b, const struct elf_file *debug)
{
	struct unwind_go_function f[UNWIND_GO_MAX];
	size_t n = unwind_go(b->elf, debug, f);

	b->go = n > 0;
	for (size_t i = 0; i < n; i++)
		make_range(b, f[i].start, f[i].end, f[i].rule);
	sort_ranges(b);
}

struct go_ranges {
	struct builder *b;
	size_t covered;
};

static void take_go_range(void *ctx, uint64_t start, uint64_t end, uint16_t rule)
{
	const struct go_ranges *g = ctx;

	if (!is_covered(g->b, g->covered, start))
		make_range(g->b, start, end, rule);
}

/*
 * A stripped Go program has no CFI of its own functions, but the table that its runtime unwinds by.
 */
static void make_stripped_go(struct builder *b)
{
	struct go_ranges g = { b, b->ranges.n };

	if (!b->has_fdes[DEBUG_FRAME] && !b->has_fdes[SEPARATE] &&
	    elf_file_section(b->elf, ".note.go.buildid"))
		unwind_go_table(b->elf, take_go_range, &g);
	sort_ranges(b);
}

/* ld.so's _start has no FDE: nobody called it. */
static void make_entry(struct builder *b, size_t covered)
{
	uint64_t entry = elf_file_entry(b->elf);

	if (entry && !is_covered(b, covered, entry))
		make_range(b, entry, entry + ENTRY_SIZE, STOP);
}

/* --- What has none at all. ------------------------------------------------------ */

typedef VEC(struct unwind_stretch) stretches;

/* What is left of the code in @size bytes at @start between the ranges, which are sorted. */
static void find_gaps(const struct builder *b, uint64_t offset, uint64_t start, uint64_t size,
		      stretches *out)
{
	uint64_t end = offset + size, at = offset;
	size_t i = upper_bound(b->ranges.v, b->ranges.n, .start, offset);

	for (i -= i > 0; at < end; i++) {
		const struct range *r = i < b->ranges.n ? &b->ranges.v[i] : NULL;
		uint64_t next = r && r->start < end ? r->start : end;

		if (next > at && next - at > PADDING)
			vec_push(out, (struct unwind_stretch){ start + (at - offset),
							       start + (next - offset), at });
		if (next == end)
			return;
		at = r->end > at ? r->end : at;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct unwind_stretch *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sections may overlap in a file that is damaged. */
static void part_stretches(stretches *s)
{
	size_t left = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_address);
	for (size_t i = 0; i < s->n; i++)
		if (!left || s->v[i].start >= s->v[left - 1].end)
			s->v[left++] = s->v[i];
	s->n = left;
}

/* Functions without CFI have the rules that their code tells. */
static void make_code(struct builder *b, const struct elf_file *debug)
{
	const struct elf_section *sections;
	size_t n = elf_file_sections(b->elf, &sections);
	stretches gaps = { 0 };

	if (b->machine != EM_X86_64 || b->go)
		return;
	for (size_t i = 0; i < n; i++)
		if (sections[i].flags & SHF_EXECINSTR && sections[i].type == SHT_PROGBITS)
			find_gaps(b, sections[i].offset, sections[i].addr, sections[i].size, &gaps);
	for (size_t i = 0; i < b->segments.n && !n; i++)
		find_gaps(b, b->segments.v[i].offset, b->segments.v[i].vaddr,
			  b->segments.v[i].filesz, &gaps);
	part_stretches(&gaps);
	b->starts = unwind_code_starts(b->elf, debug, gaps.v, gaps.n);
	for (size_t i = 0; i < gaps.n && b->starts.n; i++)
		add_range(b, (struct range){ .start = gaps.v[i].start,
					     .end = gaps.v[i].end,
					     .made = MADE_BY_CODE });
	vec_free(&gaps);
	sort_ranges(b);
}

/* --- All together. ------------------------------------------------------------ */

/* Calls in the code that was described last, in which that is not true. */
static void take_throws(struct builder *b)
{
	for (size_t i = 0; i < b->nthrows; i++) {
		const struct unwind_throw *t = &b->throws[i];
		struct ebp_exotic x = unwind_throw_rule(t);

		if (t->offset >= b->range->start && t->offset < b->limit)
			unwind_put_row(&b->rows, t->offset, UNWIND_THROW_BYTES,
				       exotic_rule(b, &x));
	}
}

/* The rows of b->range. From where its program is damaged there are none. */
static void take_fde(struct builder *b)
{
	const struct range *r = b->range;
	const struct cfi_fde fde = { r->start + r->delta, r->end + r->delta, r->fde };
	uint64_t bad;

	if (!cfi_rows(&b->section[r->section], &fde, take_row, b, &bad)) {
		take_throws(b);
		return;
	}
	bad -= r->delta;
	if (bad >= r->start && bad < b->limit)
		unwind_push_row(&b->rows, bad, UNWIND_GAP);
}

static void take_code_row(void *ctx, size_t at, uint16_t rule, const struct ebp_exotic *x)
{
	struct builder *b = ctx;

	push_rule(b, b->range->start + at, rule, x);
}

/* Those of @n addresses at @v that are in the code: *@left. */
static const uint64_t *part_of(const uint64_t *v, size_t n, const struct unwind_code *c,
			       size_t *left)
{
	size_t from = c->base ? upper_bound(v, n, , c->base - 1) : 0;

	*left = upper_bound(v, n, , c->base + c->n - 1) - from;
	return v ? v + from : NULL;
}

static void take_code(struct builder *b)
{
	const struct range *r = b->range;
	struct unwind_code c = { .n = (size_t)(b->limit - r->start), .base = r->start + r->delta };
	uint8_t *code = xmalloc(c.n);

	c.entries = part_of(b->starts.v, b->starts.n, &c, &c.nentries);
	c.maybe = part_of(b->starts.taken, b->starts.ntaken, &c, &c.nmaybe);
	c.code = code;
	if (!elf_file_read(b->elf, r->start, code, c.n))
		unwind_heights(&c, take_code_row, b);
	free(code);
}

static int take_ranges(struct builder *b)
{
	for (size_t i = 0; i < b->ranges.n; i++) {
		const struct range *r = &b->ranges.v[i];
		uint64_t next = i + 1 < b->ranges.n ? b->ranges.v[i + 1].start : UINT64_MAX;

		if (next <= r->start)
			continue;
		b->range = r;
		b->limit = r->end < next ? r->end : next;
		/* What precedes a function's first row is not described. */
		unwind_push_row(&b->rows, r->start, r->made == MADE_RULE ? r->rule : UNWIND_GAP);
		if (r->made == MADE_NOT)
			take_fde(b);
		else if (r->made == MADE_BY_CODE)
			take_code(b);
		b->code += b->limit - r->start;
		if (next - b->limit > (b->machine == EM_AARCH64 ? PADDING_ARM64 : PADDING))
			unwind_push_row(&b->rows, b->limit, UNWIND_GAP);
		if (b->rows.n > ROWS_MAX)
			return -EFBIG;
	}
	return 0;
}

/* What the rows are made of: in a large program some times as much as the table. */
static void free_parts(struct builder *b)
{
	for (int i = 0; i < SECTIONS; i++)
		drop(b, i);
	vec_free(&b->ranges);
	unwind_starts_free(&b->starts);
}

static int build(struct builder *b, const struct elf_file *debug, struct unwind_table *out)
{
	size_t made, covered;
	int err;

	make_go(b, debug);
	made = b->ranges.n;
	for (int i = 0; i < SECTIONS; i++) {
		err = load(b, i, debug);
		if (!err)
			err = add_fdes(b, i);
		if (err)
			return err;
	}
	make_stripped_go(b);
	covered = b->ranges.n;
	out->flags = covered > made ? 0 : EBP_OBJECT_NO_CFI;
	if (covered > made)
		make_entry(b, covered);
	make_plt(b, covered);
	make_init(b, ".init", covered);
	make_init(b, ".fini", covered);
	sort_ranges(b);
	make_code(b, debug);
	if (b->machine == EM_AARCH64)
		b->nthrows = unwind_throws(b->elf, b->throws);
	err = take_ranges(b);
	free_parts(b);
	if (err)
		return err;
	unwind_pack(&b->rows, out);
	out->exotic = b->exotic.v;
	out->nexotic = (uint32_t)b->exotic.n;
	out->code = b->code;
	b->exotic.v = NULL;
	return 0;
}

int unwind_table_build_for(uint16_t machine, const struct elf_file *elf,
			   const struct elf_file *debug, struct unwind_table *out)
{
	struct builder b = { .elf = elf, .machine = machine };
	int err;

	*out = (struct unwind_table){ 0 };
	if (elf_file_machine(elf) != machine || !elf_file_is64(elf))
		return -ENOEXEC;
	elf_code_collect(elf, &b.segments);
	err = build(&b, debug, out);
	free_parts(&b);
	elf_code_free(&b.segments);
	vec_free(&b.rows);
	vec_free(&b.exotic);
	interned_free(&b.exotics);
	return err;
}

int unwind_table_build(const struct elf_file *elf, const struct elf_file *debug,
		       struct unwind_table *out)
{
	return unwind_table_build_for(OUR_MACHINE, elf, debug, out);
}
