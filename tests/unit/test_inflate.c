/* SPDX-License-Identifier: MIT */
#include "elf/inflate.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#include "table_image.h"
#include "test.h"
#include "unit/debug_fixture.h"

#define ZLIB	ELFCOMPRESS_ZLIB
#define ZSTD	2
#define GNU	100		/* no SHF_COMPRESSED, but ".zdebug_" */
#define LIMIT	(64u << 20)

static struct table_image image;
static uint8_t packed[0x8000];

/* Words that pack to about a third, of @n bytes. */
static uint8_t *plain(size_t n)
{
	uint8_t *p = malloc(n + 1);
	uint32_t x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		p[i] = i % 3 ? (uint8_t)(i / 64) : (uint8_t)(x >> 16);
	}
	return p;
}

/* Packs @n bytes at @p with a header that says @type and @claim; the bytes of all. */
static size_t pack(uint32_t type, const void *p, size_t n, uint64_t claim)
{
	Elf64_Chdr head = { .ch_type = type, .ch_size = claim, .ch_addralign = 1 };
	uint64_t big = htobe64(claim);
	size_t at = type == GNU ? 12 : sizeof(head);
	uLongf room = sizeof(packed) - at;

	memcpy(packed, &head, sizeof(head));
	if (type == GNU) {
		memcpy(packed, "ZLIB", 4);
		memcpy(packed + 4, &big, 8);
	}
	if (type == ZSTD)
		room = ZSTD_compress(packed + at, room, p, n, 3);
	else
		CHECK_EQ(compress(packed + at, &room, p, n), Z_OK);
	CHECK(!ZSTD_isError(room));
	return at + room;
}

static const char *name_of(uint32_t type)
{
	return type == GNU ? ".zdebug_info" : ".debug_info";
}

/* Unpacks @n bytes of packed[] as a section of @type. NULL with errno. */
static uint8_t *unpack(uint32_t type, size_t n, size_t limit, size_t *size)
{
	const struct elf_section *s;
	struct elf_file *f;
	uint8_t *out;
	int err;

	image_begin(&image, EM_X86_64);
	image_section(&image, name_of(type), 0, packed, n)->sh_flags = type == GNU ? 0
										   : SHF_COMPRESSED;
	f = image_end(&image);
	s = inflate_find(f, ".debug_info");
	CHECK(s != NULL);
	errno = 0;
	out = s ? inflate_section(f, s, limit, size) : NULL;
	err = errno;
	elf_file_free(f);
	errno = err;
	return out;
}

static int error_of(uint32_t type, size_t n, size_t limit)
{
	size_t size;
	uint8_t *out = unpack(type, n, limit, &size);

	if (!out)
		return errno;
	free(out);
	return 0;
}

static const uint32_t types[] = { ZLIB, ZSTD, GNU };

TEST(unpacks_what_was_packed)
{
	static const size_t sizes[] = { 1, 4096, 30001 };

	for (size_t i = 0; i < 3 * sizeof(types) / sizeof(*types); i++) {
		size_t n = sizes[i / 3], size = 0;
		uint8_t *p = plain(n), *out;

		out = unpack(types[i % 3], pack(types[i % 3], p, n, n), LIMIT, &size);
		CHECK(out != NULL);
		CHECK_EQ(size, n);
		CHECK(out && !memcmp(out, p, n) && !out[n]);
		free(out);
		free(p);
	}
}

TEST(joined_streams_are_one)
{
	uint8_t *p = plain(8000), *out;
	size_t n = pack(GNU, p, 3000, 8000), size = 0;
	uLongf room = sizeof(packed) - n;

	CHECK_EQ(compress(packed + n, &room, p + 3000, 5000), Z_OK);
	out = unpack(GNU, n + room, LIMIT, &size);
	CHECK(out && size == 8000 && !memcmp(out, p, 8000));
	free(out);
	free(p);
}

TEST(what_is_not_packed_is_read)
{
	size_t size = 0;
	uint8_t *out;
	struct elf_file *f;

	image_begin(&image, EM_X86_64);
	image_section(&image, ".debug_line", 0, "as it is", 8);
	f = image_end(&image);
	out = inflate_section(f, inflate_find(f, ".debug_line"), 8, &size);
	CHECK_STR((char *)out, "as it is");
	CHECK_EQ(size, 8);
	free(out);
	CHECK(!inflate_section(f, inflate_find(f, ".debug_line"), 7, &size) && errno == EFBIG);
	CHECK(!inflate_find(f, ".debug_info"));
	CHECK(!inflate_find(f, ".debug_a_name_that_is_far_too_long_for_one"));
	elf_file_free(f);
}

TEST(damage_is_told)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		uint32_t t = types[i];
		uint8_t *p = plain(9000);
		size_t n = pack(t, p, 9000, 9000);

		for (size_t cut = 0; cut < n; cut += cut < 40 ? 1 : 501)
			CHECK_EQ(error_of(t, cut, LIMIT), EBADMSG);
		packed[n / 2] ^= 0x55;
		packed[n / 2 + 1] ^= 0x55;
		/* zstd without a check sum may not notice a changed literal. */
		CHECK(t == ZSTD || error_of(t, n, LIMIT) == EBADMSG);
		n = pack(t, p, 9000, 9001);
		CHECK_EQ(error_of(t, n, LIMIT), EBADMSG);
		n = pack(t, p, 9000, 8999);
		CHECK_EQ(error_of(t, n, LIMIT), EBADMSG);
		n = pack(t, p, 9000, 9000);
		CHECK_EQ(error_of(t, n, 8999), EFBIG);
		CHECK_EQ(error_of(t, n, 9000), 0);
		free(p);
	}
	pack(GNU, "x", 1, 1);
	packed[0] = 'z';
	CHECK_EQ(error_of(GNU, 20, LIMIT), EBADMSG);
	CHECK_EQ(error_of(77, pack(77, "x", 1, 1), LIMIT), ENOTSUP);
}

/* The claim alone costs nothing, and zeros that could be unpacked are refused before they are. */
TEST(bombs_are_refused)
{
	uint8_t *zeros = calloc(1, 8 << 20);

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		uint32_t t = types[i];

		CHECK_EQ(error_of(t, pack(t, zeros, 8 << 20, 8 << 20), LIMIT), EFBIG);
		CHECK_EQ(error_of(t, pack(t, zeros, 100, UINT64_MAX), SIZE_MAX), EFBIG);
		CHECK_EQ(error_of(t, pack(t, zeros, 100, 1ull << 40), SIZE_MAX), EFBIG);
		CHECK_EQ(error_of(t, pack(t, zeros, 1 << 20, 1 << 20), LIMIT), 0);
	}
	free(zeros);
}

/* What objcopy packs is what the file had; in 32-bit files, too. */
TEST(unpacks_what_tools_pack)
{
	static const char *const kinds[] = { "zlib-gabi", "zlib-gnu", "zstd" };
	static const char *const inputs[] = { "prog", "prog32.o" };

	CHECK_EQ(fixture_begin(), 0);
	CHECK_EQ(shell("objcopy -I elf64-x86-64 -O elf32-x86-64 prog prog32.o"), 0);
	for (size_t i = 0; i < 6; i++) {
		size_t a_size = 0, b_size = 0;
		struct fixture_file a, b;
		uint8_t *x, *y;

		/* objcopy may have been built without zstd. */
		if (shell("objcopy --compress-debug-sections=%s %s packed", kinds[i % 3],
			  inputs[i / 3]))
			continue;
		a = fixture_open(inputs[i / 3]);
		b = fixture_open("packed");
		CHECK(a.elf && b.elf);
		if (a.elf && b.elf) {
			CHECK_EQ(elf_file_is64(a.elf), i < 3);
			x = inflate_section(a.elf, inflate_find(a.elf, ".debug_info"), LIMIT,
					    &a_size);
			y = inflate_section(b.elf, inflate_find(b.elf, ".debug_info"), LIMIT,
					    &b_size);
			CHECK(x && y && a_size == b_size && !memcmp(x, y, a_size));
			CHECK(i % 3 == 2 || inflate_find(b.elf, ".debug_info")->size < a_size);
			free(x);
			free(y);
		}
		fixture_close(&a);
		fixture_close(&b);
	}
	fixture_end();
}

int main(void)
{
	RUN(unpacks_what_was_packed);
	RUN(joined_streams_are_one);
	RUN(what_is_not_packed_is_read);
	RUN(damage_is_told);
	RUN(bombs_are_refused);
	RUN(unpacks_what_tools_pack);
	return TEST_END();
}
