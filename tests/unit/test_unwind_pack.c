/* SPDX-License-Identifier: MIT */
/* Page blocks: what is packed is found again, at every offset. */
#include "test.h"
#include "unwind/table/pack.h"

#define GAP (EBP_RULE_SPECIAL | EBP_RULE_GAP)

static struct unwind_table pack(const unwind_rows *rows)
{
	struct unwind_table t = { 0 };

	unwind_pack(rows, &t);
	return t;
}

static void add(unwind_rows *rows, uint32_t offset, uint16_t rule)
{
	vec_push(rows, (struct unwind_row){ offset, rule });
}

/* The rules of [from, to) are those of @rows. */
static void check_range(const struct unwind_table *t, const unwind_rows *rows, uint64_t from,
			uint64_t to)
{
	size_t i = 0;

	for (uint64_t offset = from; offset < to; offset++) {
		while (i < rows->n && rows->v[i].offset <= offset)
			i++;
		if (unwind_table_rule(t, offset) != (i ? rows->v[i - 1].rule : GAP)) {
			CHECK_EQ(unwind_table_rule(t, offset), i ? rows->v[i - 1].rule : GAP);
			printf("at offset 0x%llx\n", (unsigned long long)offset);
			return;
		}
	}
}

/* Each block is where it says, and as long. */
static void check_blocks(const struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->nblocks; i++) {
		struct ebp_block head;

		memcpy(&head, t->bytes + t->block[i], sizeof(head));
		CHECK_EQ(t->block[i] % 16, 0);
		CHECK(t->block[i + 1] - t->block[i] < 324 << 10);
		CHECK_EQ(head.first[0], 0);
		CHECK_EQ(head.first[EBP_BUCKETS], head.nrows);
		CHECK(sizeof(head) + 2u * head.ndict + head.nrows <= t->block[i + 1] - t->block[i]);
	}
}

static void check_all(const unwind_rows *rows)
{
	struct unwind_table t = pack(rows);
	uint64_t first = rows->v[0].offset & ~(uint64_t)(EBP_PAGE_BYTES - 1),
		 last = rows->v[rows->n - 1].offset;

	check_blocks(&t);
	check_range(&t, rows, first >= EBP_PAGE_BYTES ? first - EBP_PAGE_BYTES : 0,
		    last + 2 * EBP_PAGE_BYTES);
	unwind_table_free(&t);
}

TEST(no_rows_no_pages)
{
	unwind_rows rows = { 0 };
	struct unwind_table t = pack(&rows);

	CHECK_EQ(t.npages, 0);
	CHECK_EQ(t.nblocks, 0);
	CHECK_EQ(unwind_table_rule(&t, 0), GAP);
	unwind_table_free(&t);
}

/* Rows on, before and behind the borders of buckets and pages. */
TEST(borders)
{
	static const uint32_t offsets[] = {
		0x2ffff, 0x30000, 0x30001, 0x300fe, 0x300ff, 0x30100, 0x30101, 0x301ff, 0x30300,
		0x3feff, 0x3ff00, 0x3fffe, 0x3ffff, 0x40000, 0x400ff, 0x50100, 0x7ffff, 0x80000,
	};
	size_t n = sizeof(offsets) / sizeof(*offsets);
	unwind_rows rows = { 0 };

	for (size_t i = 0; i < n; i++)
		add(&rows, offsets[i], i + 1 < n ? (uint16_t)(i + 1) : GAP);
	check_all(&rows);
	vec_free(&rows);
}

TEST(first_and_last_offset)
{
	unwind_rows rows = { 0 };
	struct unwind_table t;

	add(&rows, 0, 1);
	add(&rows, 1, GAP);
	add(&rows, 0xfffffffe, 2);
	add(&rows, 0xffffffff, GAP);
	t = pack(&rows);
	CHECK_EQ(t.npages, 65536);
	CHECK_EQ(t.nblocks, 2);
	CHECK_EQ(unwind_table_rule(&t, 0), 1);
	CHECK_EQ(unwind_table_rule(&t, 1), GAP);
	CHECK_EQ(unwind_table_rule(&t, 0xfffffffe), 2);
	CHECK_EQ(unwind_table_rule(&t, 0xffffffff), GAP);
	CHECK_EQ(unwind_table_rule(&t, 1ull << 32), GAP);
	CHECK_EQ(unwind_table_rule(&t, UINT64_MAX), GAP);
	unwind_table_free(&t);
	vec_free(&rows);
}

/* One rule over many pages, twice: the pages within share a block. A gap has none. */
TEST(pages_without_rows)
{
	unwind_rows rows = { 0 };
	struct unwind_table t;

	add(&rows, 0x18000, 7);
	add(&rows, 0x58000, GAP);
	add(&rows, 0x98000, 8);
	add(&rows, 0xc8000, GAP);
	t = pack(&rows);
	CHECK_EQ(t.first_page, 1);
	CHECK_EQ(t.npages, 12);
	CHECK_EQ(t.page[1], t.page[3]);
	CHECK_EQ(t.page[5], UNWIND_PAGE_NONE);
	CHECK_EQ(t.page[9], t.page[10]);
	CHECK(t.page[1] != t.page[9]);
	CHECK_EQ(t.nblocks, 6);
	unwind_table_free(&t);
	check_all(&rows);
	vec_free(&rows);
}

/* @n rules in a page, each at its own byte; 256 fit into a byte. */
static void check_rules(uint32_t n, uint32_t start, int wide)
{
	unwind_rows rows = { 0 };
	struct unwind_table t;
	struct ebp_block head;

	for (uint32_t i = 0; i < n; i++)
		add(&rows, start + i, (uint16_t)(i + 1));
	add(&rows, EBP_PAGE_BYTES + 5, GAP);
	t = pack(&rows);
	memcpy(&head, t.bytes + t.block[0], sizeof(head));
	CHECK_EQ(head.ndict, n);
	CHECK_EQ(head.flags & EBP_BLOCK_WIDE, wide);
	unwind_table_free(&t);
	check_all(&rows);
	vec_free(&rows);
}

TEST(many_rules)
{
	check_rules(256, 100, 0);
	check_rules(257, 100, EBP_BLOCK_WIDE);
	check_rules(258, 100, EBP_BLOCK_WIDE);	/* the other parity of where ids begin */
	check_rules(30000, 1, EBP_BLOCK_WIDE);
}

/*
 * A row for each byte: one more than a block can count, so the page is a gap, and the next one is
 * not.
 */
TEST(full_pages)
{
	for (uint32_t less = 0; less < 2; less++) {
		unwind_rows rows = { 0 };
		struct unwind_table t;

		for (uint32_t i = less; i < EBP_PAGE_BYTES; i++)
			add(&rows, i, (uint16_t)(1 + i % 5000));
		add(&rows, EBP_PAGE_BYTES + 1, GAP);
		t = pack(&rows);
		CHECK_EQ(t.page[0] == UNWIND_PAGE_NONE, !less);
		if (less)
			check_range(&t, &rows, 0, 3 * EBP_PAGE_BYTES);
		CHECK_EQ(unwind_table_rule(&t, EBP_PAGE_BYTES), 1 + 65535 % 5000);
		CHECK_EQ(unwind_table_rule(&t, EBP_PAGE_BYTES + 1), GAP);
		unwind_table_free(&t);
		vec_free(&rows);
	}
}

/* A rule for a part of what others are for: these hold before and after it. */
TEST(put_between)
{
	unwind_rows rows = { 0 };

	unwind_push_row(&rows, 100, 1);
	unwind_push_row(&rows, 120, 2);
	unwind_push_row(&rows, 140, 3);
	unwind_put_row(&rows, 104, 4, 9);
	unwind_put_row(&rows, 120, 4, 8);
	unwind_put_row(&rows, 136, 4, 7);
	CHECK_EQ(rows.n, 7);
	for (size_t i = 0; i < rows.n; i++) {
		static const uint32_t offsets[] = { 100, 104, 108, 120, 124, 136, 140 };
		static const uint16_t rules[] = { 1, 9, 1, 8, 2, 7, 3 };

		CHECK_EQ(rows.v[i].offset, offsets[i]);
		CHECK_EQ(rows.v[i].rule, rules[i]);
	}
	vec_free(&rows);
}

int main(void)
{
	RUN(no_rows_no_pages);
	RUN(borders);
	RUN(first_and_last_offset);
	RUN(pages_without_rows);
	RUN(many_rules);
	RUN(full_pages);
	RUN(put_between);
	return TEST_END();
}
