/* SPDX-License-Identifier: MIT */
/* Sections of CFI: entries, CIEs, encoded pointers, and the search table. */
#include <errno.h>

#include "cfi_bytes.h"
#include "test.h"

/* The FDEs that @s holds; freed by the caller. */
static struct cfi_fde *walk(const struct cfi_section *s, size_t want, long passed)
{
	struct cfi_fde *fdes = NULL;
	size_t n = 999;

	CHECK_EQ(cfi_fdes(s, &fdes, &n), passed);
	CHECK_EQ(n, want);
	if (n != want) {
		free(fdes);
		return calloc(want + 1, sizeof(*fdes));
	}
	return fdes;
}

static void check_walk(const struct bytes *b, int debug_frame, size_t want, long passed)
{
	struct cfi_section s = section_of(b);

	s.debug_frame = (uint8_t)debug_frame;
	free(walk(&s, want, passed));
}

static void count(void *ctx, const struct cfi_row *row)
{
	(void)row;
	++*(int *)ctx;
}

/* One FDE whose addresses are encoded as @encoding, from these bytes; 0: it is not taken. */
static uint64_t start_of(uint8_t encoding, unsigned size, uint64_t value, uint64_t range)
{
	struct bytes b = { .n = 0 };
	size_t cie = add_cie(&b, encoding, 16, BYTES(X86_INITIAL)), at = begin_fde(&b, cie);
	struct cfi_section s;
	struct cfi_fde *fdes = NULL;
	uint64_t start = 0;
	size_t n = 0;

	if ((encoding & 0x70) == 0x50)
		put(&b, (unsigned)(-(VADDR + b.n) & 7), 0);
	put(&b, size, value);
	put(&b, size, range);
	put(&b, 1, 0);
	finish(&b, at);
	s = section_of(&b);
	s.text = 0x400000;
	s.got = 0x600000;
	CHECK_EQ(cfi_fdes(&s, &fdes, &n), n ? 0 : 1);
	if (n) {
		CHECK_EQ(fdes[0].end - fdes[0].start, 0x40);
		CHECK_EQ(fdes[0].offset, at);
		start = fdes[0].start;
	}
	free(fdes);
	return start;
}

TEST(encodings)
{
	/*
	 * Of the pointer in start_of(): the CIE has 24 bytes, here with 5 of program, and the FDE's
	 * head 8.
	 */
	const uint64_t here = VADDR + 22 + 8;

	CHECK_EQ(start_of(0x00, 8, CODE, 0x40), CODE);
	CHECK_EQ(start_of(0x08, 8, CODE, 0x40), CODE);
	CHECK_EQ(start_of(0x02, 2, 0xfff0, 0x40), 0xfff0);
	CHECK_EQ(start_of(0x03, 4, 0xfffffff0, 0x40), 0xfffffff0);
	CHECK_EQ(start_of(0x04, 8, CODE, 0x40), CODE);
	CHECK_EQ(start_of(0x0c, 8, CODE, 0x40), CODE);
	CHECK_EQ(start_of(0x0a, 2, 0x7000, 0x40), 0x7000);
	CHECK_EQ(start_of(0x0b, 4, 0x80000000, 0x40), 0xffffffff80000000);
	CHECK_EQ(start_of(0x01, 1, 0x7f, 0x40), 0x7f);		/* ULEB128 */
	CHECK_EQ(start_of(0x09, 2, 0x3fff, 0x00c0), 0x1fff);	/* SLEB128 */
	CHECK_EQ(start_of(0x19, 2, 0x00c0, 0x00c0), here + 0x40);
	CHECK_EQ(start_of(0x19, 2, 0x7fc0, 0x00c0), here - 0x40);
	CHECK_EQ(start_of(0x1b, 4, 0x1000, 0x40), here + 0x1000);
	CHECK_EQ(start_of(0x1b, 4, -0x1000, 0x40), here - 0x1000);
	CHECK_EQ(start_of(0x1a, 2, -0x1000, 0x40), here - 0x1000);
	CHECK_EQ(start_of(0x10, 8, -0x1000, 0x40), here - 0x1000);
	CHECK_EQ(start_of(0x2b, 4, 0x10, 0x40), 0x400010);
	CHECK_EQ(start_of(0x3b, 4, -0x10, 0x40), 0x5ffff0);
	CHECK_EQ(start_of(0x50, 8, CODE, 0x40), CODE);
	/*
	 * Not taken: relative to the function, which begins nowhere else; indirect, omitted, and
	 * what nobody has defined.
	 */
	CHECK_EQ(start_of(0x4b, 4, 0x1000, 0x40), 0);
	CHECK_EQ(start_of(0x9b, 4, 0x1000, 0x40), 0);
	CHECK_EQ(start_of(0xff, 4, 0x1000, 0x40), 0);
	CHECK_EQ(start_of(0x05, 8, 0x1000, 0x40), 0);
	CHECK_EQ(start_of(0x6b, 4, 0x1000, 0x40), 0);
	/* From the end of addresses on. */
	CHECK_EQ(start_of(0x00, 8, -0x20ull, 0x40), 0);
}

TEST(bases_that_are_not_known)
{
	for (uint8_t encoding = 0x2b; encoding <= 0x3b; encoding += 0x10) {
		struct bytes b = { .n = 0 };
		size_t at = begin_fde(&b, add_cie(&b, encoding, 16, NO_BYTES));

		put(&b, 8, 0x1000);
		put(&b, 1, 0);
		finish(&b, at);
		check_walk(&b, 0, 0, 1);
	}
}

/*
 * A CIE of that augmentation string and data, then an FDE with 3 bytes of augmentation data; rows
 * of it, or -1.
 */
static int augmented(const char *augmentation, const void *data, size_t size, uint8_t *signal)
{
	struct bytes b = { .n = 0 };
	size_t cie = begin(&b), at;
	struct cfi_section s;
	struct cfi_fde fde = { 0 };
	struct cfi_row row;

	put(&b, 4, 0);
	put(&b, 1, 1);
	put_bytes(&b, augmentation, strlen(augmentation) + 1);
	if (!strcmp(augmentation, "eh"))
		put(&b, 8, 0x1234);
	put(&b, 1, 1);
	put(&b, 1, 0x78);
	put(&b, 1, 16);
	if (*augmentation == 'z')
		put(&b, 1, size);
	put_bytes(&b, data, size);
	put_bytes(&b, BYTES(X86_INITIAL));
	finish(&b, cie);
	at = begin_fde(&b, cie);
	put(&b, 8, CODE);
	put(&b, 8, 0x40);
	if (*augmentation == 'z') {
		put(&b, 1, 3);
		put(&b, 3, 0x0b0b0b);	/* were it run, it would be damage */
	}
	put_bytes(&b, BYTES(0x44, 0x0e, 16));
	fde.offset = finish(&b, at);
	s = section_of(&b);
	if (cfi_row_at(&s, &fde, CODE + 4, &row))
		return -1;
	*signal = row.signal;
	return (int)row.cfa.offset;
}

TEST(augmentations)
{
	uint8_t signal;

	CHECK_EQ(augmented("", NO_BYTES, &signal), 16);
	CHECK_EQ(augmented("eh", NO_BYTES, &signal), 16);
	CHECK_EQ(augmented("z", NO_BYTES, &signal), 16);
	CHECK_EQ(augmented("zR", BYTES(0), &signal), 16);
	CHECK_EQ(signal, 0);
	CHECK_EQ(augmented("zRS", BYTES(0), &signal), 16);
	CHECK_EQ(signal, 1);
	CHECK_EQ(augmented("zRBG", BYTES(0), &signal), 16);
	/* indirect, pc-relative */
	CHECK_EQ(augmented("zPLR", BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0), &signal), 16);
	CHECK_EQ(augmented("zPR", BYTES(0xff, 0), &signal), 16);
	CHECK_EQ(augmented("zLPR", BYTES(0xff, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0), &signal), 16);
	/* The personality at the next multiple of 8: the CIE's bytes 24 to 31. */
	CHECK_EQ(augmented("zRP", BYTES(0, 0x50, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8), &signal),
		 16);
	/* More data than the letters speak of. */
	CHECK_EQ(augmented("zR", BYTES(0, 1, 2, 3), &signal), 16);
	/* Not known; without a length; cut off; without an end. */
	CHECK_EQ(augmented("zRX", BYTES(0), &signal), -1);
	CHECK_EQ(augmented("R", BYTES(0), &signal), -1);
	CHECK_EQ(augmented("armcc+", NO_BYTES, &signal), -1);
	CHECK_EQ(augmented("zR", NO_BYTES, &signal), -1);
	CHECK_EQ(augmented("zPR", BYTES(0x00, 1, 2, 3, 0), &signal), -1);
	CHECK_EQ(augmented("zPR", BYTES(0x0f, 0), &signal), -1);
	CHECK_EQ(augmented("zBBBBBBBBBBBBBBBBBBBBBBB", NO_BYTES, &signal), -1);
}

/* A section with one CIE of .debug_frame, and FDEs of it. */
static size_t debug_cie(struct bytes *b, int version, int wide, unsigned address_size,
			unsigned segment_size)
{
	size_t at = b->n;

	if (wide)
		put(b, 4, 0xffffffff);
	put(b, wide ? 8 : 4, 0);
	put(b, wide ? 8 : 4, UINT64_MAX);
	put(b, 1, (uint64_t)version);
	put(b, 1, 0);
	if (version == 4) {
		put(b, 1, address_size);
		put(b, 1, segment_size);
	}
	put(b, 1, 1);
	put(b, 1, 0x78);
	if (version == 1)
		put(b, 1, 16);
	else
		put(b, 2, 0x0090);	/* 16 as ULEB128, not the shortest */
	put_bytes(b, BYTES(X86_INITIAL));
	b->b[at + (wide ? 4 : 0)] = (uint8_t)(b->n - at - (wide ? 12 : 4));
	return at;
}

static size_t debug_fde(struct bytes *b, size_t cie, int wide, unsigned segment_size)
{
	size_t at = b->n;

	if (wide)
		put(b, 4, 0xffffffff);
	put(b, wide ? 8 : 4, (wide ? 8 : 4) + 16 + segment_size);
	put(b, wide ? 8 : 4, cie);
	put(b, segment_size, 0x55);
	put(b, 8, CODE);
	put(b, 8, 0x40);
	return at;
}

TEST(debug_frame)
{
	static const struct {
		int version, wide;
		unsigned address_size, segment_size;
		size_t want;
	} forms[] = {
		{ 1, 0, 0, 0, 1 }, { 1, 1, 0, 0, 1 }, { 3, 0, 0, 0, 1 }, { 3, 1, 0, 0, 1 },
		{ 4, 0, 8, 0, 1 }, { 4, 1, 8, 0, 1 }, { 4, 0, 8, 4, 1 }, { 4, 1, 4, 0, 0 },
		{ 2, 0, 0, 0, 0 }, { 5, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct bytes b = { .n = 0 };
		struct cfi_section s;
		struct cfi_fde *fdes;
		int rows = 0;
		size_t cie, at;

		put(&b, 4, 0);	/* an entry without length: not the end here */
		cie = debug_cie(&b, forms[i].version, forms[i].wide, forms[i].address_size,
				forms[i].segment_size);
		at = debug_fde(&b, cie, forms[i].wide, forms[i].segment_size);
		s = section_of(&b);
		s.debug_frame = 1;
		fdes = walk(&s, forms[i].want, !forms[i].want);
		if (forms[i].want) {
			CHECK_EQ(fdes[0].start, CODE);
			CHECK_EQ(fdes[0].end, CODE + 0x40);
			CHECK_EQ(fdes[0].offset, at);
			CHECK_EQ(cfi_rows(&s, fdes, count, &rows, NULL), 0);
			CHECK_EQ(rows, 1);
		}
		free(fdes);
	}
}

TEST(debug_frame_with_wild_cies)
{
	static const uint64_t cies[] = { 1, 16, 100, 0xffffffff, 0xfffffff0, 0x7fffffff };

	for (size_t i = 0; i < sizeof(cies) / sizeof(*cies); i++) {
		struct bytes b = { .n = 0 };
		size_t cie = debug_cie(&b, 3, 0, 0, 0);

		debug_fde(&b, cies[i], 0, 0);
		debug_fde(&b, cie, 0, 0);
		/* The id of all ones makes a CIE of what was to be an FDE. */
		check_walk(&b, 1, 1, cies[i] != 0xffffffff);
	}
}

TEST(the_order_and_the_end)
{
	struct bytes b = { .n = 0 };
	size_t cie = add_cie(&b, 0, 16, BYTES(X86_INITIAL)), other;
	struct cfi_section s;
	struct cfi_fde *fdes;

	add_fde(&b, cie, CODE + 0x100, 0x10, NO_BYTES);
	other = add_cie(&b, 0, 16, NO_BYTES);
	add_fde(&b, other, CODE, 0x10, NO_BYTES);
	add_fde(&b, cie, CODE, 0, NO_BYTES);	/* about nothing */
	add_fde(&b, cie, CODE + 0x50, 0x10, NO_BYTES);
	put(&b, 4, 0);
	add_fde(&b, cie, CODE + 0x60, 0x10, NO_BYTES);
	s = section_of(&b);
	fdes = walk(&s, 3, 0);
	CHECK_EQ(fdes[0].start, CODE + 0x100);
	CHECK_EQ(fdes[1].start, CODE);
	CHECK_EQ(fdes[2].start, CODE + 0x50);
	free(fdes);
	s.size = 0;
	free(walk(&s, 0, 0));
}

TEST(lengths)
{
	static const uint64_t wild[] = { 0x7fffffff, 0xfffffffe, 0xfffffff0, 0x1000 };
	struct bytes b = { .n = 0 };
	size_t cie = add_cie(&b, 0, 16, BYTES(X86_INITIAL)), good;

	add_fde(&b, cie, CODE, 0x10, NO_BYTES);
	good = b.n;
	/* Nothing can be said of what follows. */
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		b.n = good;
		put(&b, 4, wild[i]);
		add_fde(&b, cie, CODE, 0x10, NO_BYTES);
		check_walk(&b, 0, 1, 1);
	}
	/*
	 * 64 bits: 4 GiB, almost all there is, and one that is right, where the CIE's pointer has 4
	 * bytes all the same.
	 */
	for (uint64_t length = 1ull << 32; length; length = length == UINT64_MAX ? 0 : UINT64_MAX) {
		b.n = good;
		put(&b, 4, 0xffffffff);
		put(&b, 8, length);
		add_fde(&b, cie, CODE, 0x10, NO_BYTES);
		check_walk(&b, 0, 1, 1);
	}
	b.n = good;
	put(&b, 4, 0xffffffff);
	put(&b, 8, 4 + 8 + 8 + 1);
	put(&b, 4, b.n - cie);
	put(&b, 8, CODE);
	put(&b, 8, 1);
	put(&b, 1, 0);
	add_fde(&b, cie, CODE, 0x10, NO_BYTES);
	check_walk(&b, 0, 3, 0);
	/* A section that ends anywhere. */
	for (; b.n; b.n--) {
		struct cfi_section s = section_of(&b);
		struct cfi_fde *fdes = NULL;
		size_t n = 0;
		long passed = cfi_fdes(&s, &fdes, &n);

		CHECK(passed == 0 || passed == 1);
		CHECK(n <= 3);
		free(fdes);
	}
}

TEST(entries_that_are_too_short)
{
	struct bytes b = { .n = 0 };
	size_t cie = add_cie(&b, 0, 16, BYTES(X86_INITIAL)), at;

	for (unsigned size = 1; size < 16; size++) {
		at = begin(&b);
		put(&b, 4, b.n - cie);
		put(&b, 8, CODE);
		put(&b, 8, 0x10);
		b.n = at + 4 + size;
		finish(&b, at);
	}
	add_fde(&b, cie, CODE, 0x10, NO_BYTES);
	check_walk(&b, 0, 1, 15);
}

TEST(cies_that_are_none)
{
	struct bytes b = { .n = 0 };
	size_t cie, fde;

	add_fde(&b, 4, CODE, 0x10, NO_BYTES);	/* the distance 0 makes a CIE of it */
	cie = add_cie(&b, 0, 16, BYTES(X86_INITIAL));
	fde = add_fde(&b, cie, CODE, 0x10, NO_BYTES);
	add_fde(&b, fde, CODE, 0x10, NO_BYTES);		/* an FDE */
	add_fde(&b, b.n, CODE, 0x10, NO_BYTES);		/* itself */
	add_fde(&b, cie + 1, CODE, 0x10, NO_BYTES);	/* the midst of one */
	add_fde(&b, b.n + 100, CODE, 0x10, NO_BYTES);	/* behind it */
	add_fde(&b, (size_t)-5000, CODE, 0x10, NO_BYTES);	/* before the section */
	add_fde(&b, cie, CODE, 0x10, NO_BYTES);
	check_walk(&b, 0, 2, 5);
}

TEST(columns_of_return_addresses)
{
	static const struct {
		uint16_t machine;
		uint8_t ra;
		size_t want;
	} columns[] = {
		{ EM_X86_64, 16, 1 },  { EM_X86_64, 8, 0 },   { EM_AARCH64, 30, 1 },
		{ EM_AARCH64, 32, 1 }, { EM_AARCH64, 33, 0 }, { EM_AARCH64, 255, 0 },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		struct bytes b = { .n = 0 };
		struct cfi_section s;

		add_fde(&b, add_cie(&b, 0, columns[i].ra, NO_BYTES), CODE, 0x10, NO_BYTES);
		s = section_of(&b);
		s.machine = columns[i].machine;
		free(walk(&s, columns[i].want, !columns[i].want));
	}
}

TEST(more_fdes_than_we_take)
{
	const uint32_t most = 4u << 20, entry[4] = { 12, 0, 0x00101000, 0 };
	struct bytes head = { .n = 0 };
	size_t cie = add_cie(&head, 2, 16, NO_BYTES), n = 0;
	struct cfi_section s = section_of(&head);
	uint8_t *data = calloc(1, head.n + (most + 1) * sizeof(entry));
	struct cfi_fde *fdes = NULL;

	memcpy(data, head.b, head.n);
	for (size_t i = 0; i <= most; i++) {
		size_t at = head.n + i * sizeof(entry);
		uint32_t distance = (uint32_t)(at + 4 - cie);

		memcpy(data + at, entry, sizeof(entry));
		memcpy(data + at + 4, &distance, sizeof(distance));
	}
	s.data = data;
	s.size = head.n + most * sizeof(entry);
	free(walk(&s, most, 0));
	s.size += sizeof(entry);
	CHECK_EQ(cfi_fdes(&s, &fdes, &n), -EFBIG);
	free(data);
}

TEST(a_program_longer_than_we_run)
{
	const uint32_t most = 256u << 10;
	struct bytes head = { .n = 0 };
	size_t cie = add_cie(&head, 0, 16, NO_BYTES),
	       fde = add_fde(&head, cie, CODE, 0x40, NO_BYTES), n = head.n;
	uint8_t *data = calloc(1, n + most + 1);

	for (uint32_t more = 0; more < 2; more++) {
		uint32_t length = (uint32_t)(n - fde - 4) + most + more;
		struct cfi_section s = section_of(&head);

		memcpy(data, head.b, n);
		memcpy(data + fde, &length, sizeof(length));
		s.data = data;
		s.size = n + most + more;
		free(walk(&s, !more, more));
		CHECK_EQ(cfi_length(&s, &(struct cfi_fde){ .offset = fde }), n - fde + most + more);
	}
	free(data);
}

#define HDR	0x8000		/* where .eh_frame_hdr lies */

/* A search table over @fdes, in that order. */
static void make_header(struct bytes *h, const struct cfi_fde *fdes, size_t n, unsigned width)
{
	h->n = 0;
	put(h, 1, 1);
	put(h, 1, 0x1b);
	put(h, 1, 0x03);
	put(h, 1, width == 8 ? 0x3c : 0x3b);
	put(h, 4, VADDR - HDR - 4);
	put(h, 4, n);
	for (size_t i = 0; i < n; i++) {
		put(h, width, fdes[i].start - HDR);
		put(h, width, VADDR + fdes[i].offset - HDR);
	}
}

static int find(const struct cfi_section *s, const struct bytes *h, uint64_t pc,
		struct cfi_fde *out)
{
	return cfi_find(s, h->b, h->n, HDR, pc, out);
}

TEST(finding)
{
	struct bytes b = { .n = 0 }, h;
	size_t cie = add_cie(&b, 0, 16, BYTES(X86_INITIAL));
	struct cfi_section s;
	struct cfi_fde *fdes, found;

	for (unsigned i = 0; i < 50; i++)
		add_fde(&b, cie, CODE + i * 0x20, 0x18, NO_BYTES);
	s = section_of(&b);
	fdes = walk(&s, 50, 0);
	for (unsigned width = 4; width <= 8; width += 4) {
		make_header(&h, fdes, 50, width);
		for (unsigned i = 0; i < 50; i++) {
			CHECK_EQ(find(&s, &h, CODE + i * 0x20, &found), 0);
			CHECK(!memcmp(&found, &fdes[i], sizeof(found)));
			CHECK_EQ(find(&s, &h, CODE + i * 0x20 + 0x17, &found), 0);
			CHECK_EQ(found.offset, fdes[i].offset);
			CHECK_EQ(find(&s, &h, CODE + i * 0x20 + 0x18, &found), -ENOENT);
		}
		CHECK_EQ(find(&s, &h, CODE - 1, &found), -ENOENT);
		CHECK_EQ(find(&s, &h, UINT64_MAX, &found), -ENOENT);
		/* The table is cut off, or says that it is longer. */
		h.n--;
		CHECK_EQ(find(&s, &h, CODE, &found), -EBADMSG);
	}
	make_header(&h, fdes, 0, 4);
	CHECK_EQ(find(&s, &h, CODE, &found), -ENOENT);
	free(fdes);
}

TEST(tables_that_lie)
{
	static const uint8_t tables[] = { 0xff, 0x1b, 0x03, 0x3d, 0x39, 0xbb };
	struct bytes b = { .n = 0 }, h;
	size_t cie = add_cie(&b, 0, 16, BYTES(X86_INITIAL));
	struct cfi_fde list[3] = { { CODE, 0, 0 }, { CODE + 0x20, 0, 0 }, { CODE + 0x40, 0, 0 } },
		       found;
	struct cfi_section s;

	list[0].offset = add_fde(&b, cie, CODE + 0x20, 0x20, NO_BYTES);	/* of another address */
	list[1].offset = cie;
	list[2].offset = b.n + 1000;
	s = section_of(&b);
	make_header(&h, list, 3, 4);
	CHECK_EQ(find(&s, &h, CODE, &found), -ENOENT);
	CHECK_EQ(find(&s, &h, CODE + 0x20, &found), -EBADMSG);
	CHECK_EQ(find(&s, &h, CODE + 0x40, &found), -EBADMSG);
	list[2].offset = (size_t)-4;
	make_header(&h, list, 3, 4);
	CHECK_EQ(find(&s, &h, CODE + 0x40, &found), -EBADMSG);
	for (size_t i = 0; i < sizeof(tables); i++) {
		h.b[3] = tables[i];
		CHECK_EQ(find(&s, &h, CODE, &found), -ENOTSUP);
	}
	make_header(&h, list, 3, 4);
	h.b[2] = 0xff;
	CHECK_EQ(find(&s, &h, CODE, &found), -ENOTSUP);
	make_header(&h, list, 3, 4);
	h.b[0] = 2;
	CHECK_EQ(find(&s, &h, CODE, &found), -EBADMSG);
	make_header(&h, list, 3, 4);
	memset(h.b + 8, 0xff, 4);
	CHECK_EQ(find(&s, &h, CODE, &found), -EBADMSG);
	for (h.n = 0; h.n < 12; h.n++)
		CHECK_EQ(find(&s, &h, CODE, &found), -EBADMSG);
}

int main(void)
{
	RUN(encodings);
	RUN(bases_that_are_not_known);
	RUN(augmentations);
	RUN(debug_frame);
	RUN(debug_frame_with_wild_cies);
	RUN(the_order_and_the_end);
	RUN(lengths);
	RUN(entries_that_are_too_short);
	RUN(cies_that_are_none);
	RUN(columns_of_return_addresses);
	RUN(more_fdes_than_we_take);
	RUN(a_program_longer_than_we_run);
	RUN(finding);
	RUN(tables_that_lie);
	return TEST_END();
}
