/* SPDX-License-Identifier: MIT */
#include "unwind/table/pack.h"

#include <string.h>

#define NO_ID UINT16_MAX

/* Every rule of a page once, in the order of appearance. */
struct dict {
	uint16_t rules[EBP_PAGE_BYTES];
	uint32_t n;
	uint16_t id[1 << 16];		/* of each rule; NO_ID: not in it */
};

struct packer {
	struct dict dict;
	uint32_t uniform;		/* the last block without rows, or UNWIND_PAGE_NONE */
	uint16_t uniform_rule;
	VEC(uint8_t) bytes;
	VEC(uint32_t) blocks;
};

static void dict_clear(struct dict *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		d->id[d->rules[i]] = NO_ID;
	d->n = 0;
}

static uint16_t dict_id(struct dict *d, uint16_t rule)
{
	if (d->id[rule] == NO_ID) {
		d->id[rule] = (uint16_t)d->n;
		d->rules[d->n++] = rule;
	}
	return d->id[rule];
}

/* Writes the block of a page whose rows are @rows[0 .. n-1]. */
static void write_block(struct packer *p, const struct unwind_row *rows, uint32_t n,
			uint16_t before)
{
	struct ebp_block head = { .nrows = (uint16_t)n, .before = before };
	size_t begin = p->bytes.n, lows, ids, end;
	uint32_t bucket = 0;

	dict_clear(&p->dict);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t in = (rows[i].offset & (EBP_PAGE_BYTES - 1)) >> EBP_BUCKET_SHIFT;

		dict_id(&p->dict, rows[i].rule);
		while (bucket <= in)
			head.first[bucket++] = (uint16_t)i;
	}
	while (bucket <= EBP_BUCKETS)
		head.first[bucket++] = (uint16_t)n;
	head.ndict = (uint16_t)p->dict.n;
	head.flags = p->dict.n > 256 ? EBP_BLOCK_WIDE : 0;
	lows = begin + sizeof(head) + 2 * p->dict.n;
	ids = lows + n;
	if (head.flags)
		ids += ids & 1;
	end = ids + (head.flags ? 2 * n : n);
	end = (end + 15) & ~(size_t)15;
	vec_reserve(&p->bytes, end);
	memset(p->bytes.v + begin, 0, end - begin);
	memcpy(p->bytes.v + begin, &head, sizeof(head));
	memcpy(p->bytes.v + begin + sizeof(head), p->dict.rules, 2 * p->dict.n);
	for (uint32_t i = 0; i < n; i++) {
		uint16_t id = p->dict.id[rows[i].rule];

		p->bytes.v[lows + i] = (uint8_t)rows[i].offset;
		if (head.flags)
			memcpy(p->bytes.v + ids + 2 * i, &id, 2);
		else
			p->bytes.v[ids + i] = (uint8_t)id;
	}
	p->bytes.n = end;
	vec_push(&p->blocks, (uint32_t)begin);
}

/*
 * @n rows are in the page. Its block's index, or UNWIND_PAGE_NONE. Pages in the midst of one
 * rule share a block: else a file of a few bytes could ask for 64 K of them.
 */
static uint32_t pack_page(struct packer *p, const struct unwind_row *rows, uint32_t n,
			  uint16_t before)
{
	if ((!n && before == UNWIND_GAP) || n > UINT16_MAX)
		return UNWIND_PAGE_NONE;
	if (!n && p->uniform != UNWIND_PAGE_NONE && p->uniform_rule == before)
		return p->uniform;
	write_block(p, rows, n, before);
	if (!n) {
		p->uniform = (uint32_t)p->blocks.n - 1;
		p->uniform_rule = before;
	}
	return (uint32_t)p->blocks.n - 1;
}

void unwind_push_row(unwind_rows *rows, uint64_t offset, uint16_t rule)
{
	struct unwind_row *last = rows->n ? &rows->v[rows->n - 1] : NULL;

	if (last && last->offset == offset) {
		last->rule = rule;
		if (rows->n > 1 && last[-1].rule == rule)
			rows->n--;
		return;
	}
	if (last ? last->rule == rule : rule == UNWIND_GAP)
		return;
	vec_push(rows, (struct unwind_row){ (uint32_t)offset, rule });
}

void unwind_put_row(unwind_rows *rows, uint64_t offset, uint64_t bytes, uint16_t rule)
{
	size_t from = rows->n, n = rows->n;
	uint16_t before;
	unwind_rows behind = { 0 };

	while (from && rows->v[from - 1].offset > offset)
		from--;
	for (size_t i = from; i < n; i++)
		vec_push(&behind, rows->v[i]);
	rows->n = from;
	before = from ? rows->v[from - 1].rule : UNWIND_GAP;
	unwind_push_row(rows, offset, rule);
	unwind_push_row(rows, offset + bytes, before);
	for (size_t i = 0; i < behind.n; i++)
		unwind_push_row(rows, behind.v[i].offset, behind.v[i].rule);
	vec_free(&behind);
}

void unwind_pack(const unwind_rows *rows, struct unwind_table *out)
{
	struct packer *p = xcalloc(1, sizeof(*p));
	uint16_t before = UNWIND_GAP;
	size_t i = 0;

	memset(p->dict.id, 0xff, sizeof(p->dict.id));
	p->uniform = UNWIND_PAGE_NONE;
	out->first_page = rows->n ? rows->v[0].offset >> EBP_PAGE_SHIFT : 0;
	out->npages = rows->n ? (rows->v[rows->n - 1].offset >> EBP_PAGE_SHIFT) - out->first_page +
					1
			      : 0;
	out->page = xcalloc(out->npages + 1, sizeof(*out->page));
	for (uint32_t page = 0; page < out->npages; page++) {
		size_t begin = i;

		while (i < rows->n && rows->v[i].offset >> EBP_PAGE_SHIFT == out->first_page + page)
			i++;
		out->page[page] = pack_page(p, rows->v + begin, (uint32_t)(i - begin), before);
		if (i > begin)
			before = rows->v[i - 1].rule;
	}
	out->rows = rows->n;
	out->nblocks = (uint32_t)p->blocks.n;
	vec_push(&p->blocks, (uint32_t)p->bytes.n);
	out->block = p->blocks.v;
	out->bytes = p->bytes.v;
	free(p);
}
