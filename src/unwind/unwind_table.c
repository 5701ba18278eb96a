/* SPDX-License-Identifier: MIT */
#include "unwind/unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "unwind/cfi.h"
#include "unwind/unwind_pack.h"
#include "unwind/unwind_rule.h"

#define GAP		(EBP_RULE_SPECIAL | EBP_RULE_GAP)
#define STOP		(EBP_RULE_SPECIAL | EBP_RULE_STOP)
#define SECTION_MAX	(512u << 20)	/* bytes of CFI */
#define ROWS_MAX	(16u << 20)
#define CODE_MAX	(4ull << 30)
#define PADDING		15		/* bytes between two functions that the first one's last rule covers, too */
#define ENTRY_SIZE	64		/* of an entry point without CFI */

#ifdef __aarch64__
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

enum { EH_FRAME, DEBUG_FRAME, SEPARATE, SECTIONS };

/* Code that one FDE, or a rule made by us, is about; by offset in the file. */
struct range {
	uint64_t start, end;
	uint64_t delta;		/* virtual address - offset */
	uint8_t section;
	uint8_t made;		/* by us: @rule */
	uint16_t rule;
	size_t fde;		/* of its section */
};

struct builder {
	const struct elf_file *elf;
	uint16_t machine;
	struct cfi_section section[SECTIONS];
	uint8_t *data[SECTIONS];	/* what is to be freed */
	struct cfi_fde *fdes[SECTIONS];
	size_t nfdes[SECTIONS];
	VEC(struct range) ranges;
	unwind_rows rows;
	VEC(struct ebp_exotic) exotic;
	struct hashmap exotics;		/* hash -> index of exotic */
	/* While one FDE's rows are taken: */
	const struct range *range;
	uint64_t limit;			/* its rows end here */
	uint64_t code;
};

/* --- Rows. ------------------------------------------------------------------ */

static void push_row(struct builder *b, uint64_t offset, uint16_t rule)
{
	struct unwind_row *last = b->rows.n ? &b->rows.v[b->rows.n - 1] : NULL;

	if (last && last->offset == offset) {
		last->rule = rule;
		if (b->rows.n > 1 && last[-1].rule == rule)
			b->rows.n--;
		return;
	}
	if (last ? last->rule == rule : rule == GAP)
		return;
	vec_push(&b->rows, (struct unwind_row){ (uint32_t)offset, rule });
}

static uint16_t exotic_rule(struct builder *b, const struct ebp_exotic *x)
{
	uint64_t hash = hash_bytes(x, sizeof(*x));
	uint32_t i;

	for (; (i = hashmap_get(&b->exotics, hash)) != HASHMAP_NONE; hash++)
		if (!memcmp(&b->exotic.v[i], x, sizeof(*x)))
			return (uint16_t)(EBP_RULE_SPECIAL | (EBP_RULE_EXOTIC + i));
	if (b->exotic.n >= EBP_EXOTIC_MAX)
		return EBP_RULE_SPECIAL | EBP_RULE_UNSUPPORTED;
	i = (uint32_t)b->exotic.n;
	hashmap_set(&b->exotics, hash, i);
	vec_push(&b->exotic, *x);
	return (uint16_t)(EBP_RULE_SPECIAL | (EBP_RULE_EXOTIC + i));
}

static void take_row(void *ctx, const struct cfi_row *row)
{
	struct builder *b = ctx;
	uint64_t offset = row->start - b->range->delta;
	struct ebp_exotic x;
	uint16_t rule;

	if (offset < b->range->start || offset >= b->limit)
		return;
	rule = unwind_rule(b->machine, row, &x);
	if (rule == (EBP_RULE_SPECIAL | EBP_RULE_EXOTIC))
		rule = exotic_rule(b, &x);
	push_row(b, offset, rule);
}

/* --- Ranges. ---------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* Of one start the shorter comes first, and the longer covers it: FDEs before what we make. */
	if (x->made != y->made)
		return x->made > y->made ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* The executable segment that holds virtual address @vaddr, or NULL. */
static const struct elf_segment *segment_of(const struct elf_file *elf, uint64_t vaddr)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(elf, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && s[i].flags & PF_X && vaddr >= s[i].vaddr && vaddr - s[i].vaddr < s[i].filesz)
			return &s[i];
	return NULL;
}

/* @r has virtual addresses; adds it with offsets, cut at its segment's end. */
static void add_range(struct builder *b, struct range r)
{
	const struct elf_segment *s = segment_of(b->elf, r.start);

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
	const struct elf_segment *s = segment_of(b->elf, vaddr);
	uint64_t offset = s ? vaddr - s->vaddr + s->offset : 0;
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->ranges.v[mid].start <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return !s || (low && b->ranges.v[low - 1].end > offset);
}

static void sort_ranges(struct builder *b)
{
	if (b->ranges.n > 1)
		qsort(b->ranges.v, b->ranges.n, sizeof(*b->ranges.v), by_start);
}

/* --- Sections. -------------------------------------------------------------- */

/* A section that is compressed (gABI, SHF_COMPRESSED), unpacked. NULL with errno. */
static uint8_t *inflate_section(const struct elf_file *f, const struct elf_section *s, size_t *size)
{
	Elf64_Chdr head;
	uint8_t *packed, *out = NULL;
	uLongf got;

	if (s->size <= sizeof(head) || s->size > SECTION_MAX || elf_file_read(f, s->offset, &head, sizeof(head)) ||
	    head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > SECTION_MAX) {
		errno = ENOTSUP;
		return NULL;
	}
	packed = xmalloc(s->size - sizeof(head));
	got = head.ch_size;
	if (!elf_file_read(f, s->offset + sizeof(head), packed, s->size - sizeof(head))) {
		out = xmalloc(head.ch_size + 1);
		if (uncompress(out, &got, packed, s->size - sizeof(head)) != Z_OK || got != head.ch_size) {
			free(out);
			out = NULL;
		}
	}
	free(packed);
	*size = got;
	errno = EBADMSG;
	return out;
}

static int load(struct builder *b, int which, const struct elf_file *f, const char *name)
{
	const struct elf_section *s = elf_file_section(f, name);
	size_t size;
	uint8_t *data;

	if (!s || s->type == SHT_NOBITS)
		return -ENOENT;
	data = s->flags & SHF_COMPRESSED ? inflate_section(f, s, &size) : elf_file_section_data(f, s, SECTION_MAX, &size);
	if (!data)
		return -errno;
	b->data[which] = data;
	b->section[which] = (struct cfi_section){
		.data = data, .size = size, .vaddr = s->addr, .machine = b->machine, .debug_frame = which != EH_FRAME,
	};
	return 0;
}

/* The offset of .eh_frame from .eh_frame_hdr (LSB Core 5, 10.6.2), in the usual encoding only: pcrel, sdata4. */
static int load_by_header(struct builder *b)
{
	const struct elf_segment *seg, *text = NULL, *hdr = NULL;
	size_t n = elf_file_segments(b->elf, &seg), size;
	struct { uint8_t version, eh_enc, count_enc, table_enc; int32_t eh_frame; } head;
	uint64_t vaddr;

	for (size_t i = 0; i < n; i++)
		if (seg[i].type == PT_GNU_EH_FRAME)
			hdr = &seg[i];
	if (!hdr || elf_file_read(b->elf, hdr->offset, &head, sizeof(head)) || head.version != 1 || head.eh_enc != 0x1b)
		return -ENOENT;
	vaddr = hdr->vaddr + 4 + (uint64_t)(int64_t)head.eh_frame;
	for (size_t i = 0; i < n; i++)
		if (seg[i].type == PT_LOAD && vaddr >= seg[i].vaddr && vaddr - seg[i].vaddr < seg[i].filesz)
			text = &seg[i];
	if (!text)
		return -ENOENT;
	size = text->filesz - (vaddr - text->vaddr);
	if (size > SECTION_MAX)
		return -EFBIG;
	b->data[EH_FRAME] = xmalloc(size);
	if (elf_file_read(b->elf, text->offset + (vaddr - text->vaddr), b->data[EH_FRAME], size))
		return -EBADMSG;
	b->section[EH_FRAME] = (struct cfi_section){
		.data = b->data[EH_FRAME], .size = size, .vaddr = vaddr, .machine = b->machine,
	};
	return 0;
}

/* Adds the FDEs of a section; with @fill only where none of those before covers them. */
static int add_fdes(struct builder *b, int which, int fill)
{
	size_t before = b->ranges.n;
	long err;

	if (!b->section[which].data)
		return 0;
	err = cfi_fdes(&b->section[which], &b->fdes[which], &b->nfdes[which]);
	if (err < 0)
		return (int)err;
	for (size_t i = 0; i < b->nfdes[which]; i++) {
		const struct cfi_fde *f = &b->fdes[which][i];

		if (!fill || !is_covered(b, before, f->start))
			add_range(b, (struct range){ .start = f->start, .end = f->end, .section = (uint8_t)which, .fde = i });
	}
	sort_ranges(b);
	return 0;
}

/* --- What linkers and libraries leave without CFI. ------------------------- */

static void make_range(struct builder *b, uint64_t start, uint64_t end, uint16_t rule)
{
	add_range(b, (struct range){ .start = start, .end = end, .made = 1, .rule = rule });
}

static void make_plt(struct builder *b, size_t covered)
{
	static const struct plt { const char *name; int lazy; } plts[] = { { ".plt", 1 }, { ".plt.sec", 0 }, { ".plt.got", 0 } };

	for (size_t i = 0; i < sizeof(plts) / sizeof(*plts); i++) {
		const struct elf_section *s = elf_file_section(b->elf, plts[i].name);
		uint64_t at = s ? s->addr : 0, end;

		if (!s || s->size > CODE_MAX || is_covered(b, covered, at))
			continue;
		end = at + s->size;
		if (b->machine == EM_AARCH64) {
			make_range(b, at, end, 0);	/* nothing saved, CFA = sp */
		} else if (plts[i].lazy && s->size >= 16) {
			/* The first entry is entered with one word pushed, and pushes another (psABI, figure 5.2). */
			make_range(b, at, at + 6, 2);
			make_range(b, at + 6, at + 16, 3);
			make_range(b, at + 16, end, EBP_RULE_SPECIAL | EBP_RULE_PLT11);
		} else {
			make_range(b, at, end, 1);
		}
	}
}

/*
 * .init and .fini: crti.o's `sub $8, %rsp`, calls, and crtn.o's `add $8, %rsp;
 * ret`, without CFI in most C libraries.
 */
static void make_init(struct builder *b, const char *name, size_t covered)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, sub[] = { 0x48, 0x83, 0xec, 0x08 };
	static const uint8_t leave[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	const struct elf_section *s = elf_file_section(b->elf, name);
	uint8_t head[8], tail[5];
	unsigned prologue;

	if (!s || s->size < sizeof(head) + sizeof(tail) || b->machine != EM_X86_64 || is_covered(b, covered, s->addr) ||
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

/* ld.so's _start has no FDE: nobody called it. */
static void make_entry(struct builder *b, size_t covered)
{
	uint64_t entry = elf_file_entry(b->elf);

	if (entry && !is_covered(b, covered, entry))
		make_range(b, entry, entry + ENTRY_SIZE, STOP);
}

/* --- All together. ------------------------------------------------------------ */

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
		push_row(b, r->start, r->made ? r->rule : GAP);
		if (!r->made)
			cfi_rows(&b->section[r->section], &b->fdes[r->section][r->fde], take_row, b, NULL);
		b->code += b->limit - r->start;
		if (next - b->limit > PADDING)
			push_row(b, b->limit, GAP);
		if (b->rows.n > ROWS_MAX)
			return -EFBIG;
	}
	return 0;
}

static int build(struct builder *b, const struct elf_file *debug, struct unwind_table *out)
{
	size_t covered;
	int err;

	if (load(b, EH_FRAME, b->elf, ".eh_frame"))
		load_by_header(b);
	load(b, DEBUG_FRAME, b->elf, ".debug_frame");
	if (debug)
		load(b, SEPARATE, debug, ".debug_frame");
	for (int i = 0; i < SECTIONS; i++) {
		err = add_fdes(b, i, i > 0);
		if (err)
			return err;
	}
	covered = b->ranges.n;
	out->flags = covered ? 0 : EBP_OBJECT_NO_CFI;
	if (covered)
		make_entry(b, covered);
	make_plt(b, covered);
	make_init(b, ".init", covered);
	make_init(b, ".fini", covered);
	sort_ranges(b);
	err = take_ranges(b);
	if (err)
		return err;
	unwind_pack(&b->rows, out);
	out->exotic = b->exotic.v;
	out->nexotic = (uint32_t)b->exotic.n;
	out->code = b->code;
	b->exotic.v = NULL;
	return 0;
}

int unwind_table_build_for(uint16_t machine, const struct elf_file *elf, const struct elf_file *debug,
			   struct unwind_table *out)
{
	struct builder b = { .elf = elf, .machine = machine };
	int err;

	*out = (struct unwind_table){ 0 };
	if (elf_file_machine(elf) != machine || !elf_file_is64(elf))
		return -ENOEXEC;
	err = build(&b, debug, out);
	for (int i = 0; i < SECTIONS; i++) {
		free(b.data[i]);
		free(b.fdes[i]);
	}
	vec_free(&b.ranges);
	vec_free(&b.rows);
	vec_free(&b.exotic);
	hashmap_free(&b.exotics);
	return err;
}

int unwind_table_build(const struct elf_file *elf, const struct elf_file *debug, struct unwind_table *out)
{
	return unwind_table_build_for(OUR_MACHINE, elf, debug, out);
}

void unwind_table_free(struct unwind_table *t)
{
	free(t->page);
	free(t->block);
	free(t->bytes);
	free(t->exotic);
	*t = (struct unwind_table){ 0 };
}

uint16_t unwind_table_rule(const struct unwind_table *t, uint64_t offset)
{
	uint64_t page = (offset >> EBP_PAGE_SHIFT) - t->first_page;
	uint32_t low = offset & ((1u << EBP_BUCKET_SHIFT) - 1), bucket, i, end;
	const uint8_t *p, *lows, *ids;
	struct ebp_block head;
	uint16_t id, rule;

	if (page >= t->npages || t->page[page] == UNWIND_PAGE_NONE)
		return GAP;
	p = t->bytes + t->block[t->page[page]];
	memcpy(&head, p, sizeof(head));
	bucket = (offset & (EBP_PAGE_BYTES - 1)) >> EBP_BUCKET_SHIFT;
	lows = p + sizeof(head) + 2 * head.ndict;
	ids = lows + head.nrows;
	end = head.first[bucket + 1];
	for (i = head.first[bucket]; i < end && lows[i] <= low; i++)
		;
	if (!i)
		return head.before;
	id = ids[i - 1];
	if (head.flags & EBP_BLOCK_WIDE) {
		ids += (size_t)(ids - t->bytes) & 1;
		memcpy(&id, ids + 2 * (i - 1), sizeof(id));
	}
	memcpy(&rule, p + sizeof(head) + 2 * id, sizeof(rule));
	return rule;
}
