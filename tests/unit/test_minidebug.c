/* SPDX-License-Identifier: MIT */
#include "elf/minidebug.h"

#include <elf.h>
#include <errno.h>
#include <lzma.h>

#include "symbols/elf_symbols.h"
#include "table_image.h"
#include "test.h"
#include "unit/debug_fixture.h"

static struct table_image image;
static uint8_t packed[0x8000];

/* Unpacks @n bytes of packed[]: 0, with *@size where it is wanted, or an errno. */
static int error_of(size_t n, size_t *size)
{
	struct elf_file *f;
	size_t got = 0;
	uint8_t *out;
	int err;

	image_begin(&image, EM_X86_64);
	image_section(&image, ".gnu_debugdata", 0, packed, n);
	f = image_end(&image);
	errno = 0;
	out = minidebug_unpack(f, &got);
	err = out ? 0 : errno;
	free(out);
	elf_file_free(f);
	if (size)
		*size = got;
	return err;
}

/* @size zeros with a dictionary of @dict bytes, as xz packs them. */
static size_t pack_zeros(size_t size, uint32_t dict)
{
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
	uint8_t *zeros = calloc(1, size);
	size_t n = 0;

	lzma_lzma_preset(&options, 0);
	options.dict_size = dict;
	CHECK_EQ(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, zeros, size, packed, &n, sizeof(packed)), LZMA_OK);
	free(zeros);
	return n;
}

/* Made as Fedora's find-debuginfo does: only the functions that .dynsym does not have. */
TEST(finds_the_symbols_that_were_stripped)
{
	struct source_function at;
	struct fixture_file f;
	struct elf_file *mini;
	struct symbol_source *s;
	int found = 0;
	char name[64];
	uint8_t *bytes;
	size_t size;

	CHECK_EQ(fixture_begin(), 0);
	CHECK_EQ(shell("objcopy --only-keep-debug prog prog.debug && nm prog.debug --format=posix --defined-only |"
		       " awk '$2 ~ /[Tt]/ { print $1 }' >keep && objcopy -S --remove-section .gdb_index --remove-section .comment"
		       " --keep-symbols=keep prog.debug mini && xz -f mini && strip -s -o stripped prog &&"
		       " objcopy --add-section .gnu_debugdata=mini.xz stripped && nm prog |"
		       " awk '$3 == \"hidden\" { print \"0x\" $1 }' >address"), 0);
	f = fixture_open("stripped");
	bytes = f.elf ? minidebug_unpack(f.elf, &size) : NULL;
	CHECK(bytes != NULL);
	mini = bytes ? elf_file_open_memory(bytes, size) : NULL;
	CHECK(mini != NULL);
	if (mini) {
		FILE *address = fopen(fixture_path("address"), "r");
		unsigned long a = 0;

		CHECK(address && fscanf(address, "%lx", &a) == 1);
		fclose(address);
		s = elf_symbols_open(mini);
		found = s && !s->ops->find(s, a, &at) && !s->ops->name(s, at.token, name, sizeof(name));
		CHECK(found);
		CHECK_STR(found ? name : NULL, "hidden");
		symbol_source_free(s);
	}
	elf_file_free(mini);
	free(bytes);
	fixture_close(&f);
	f = fixture_open("prog");
	CHECK(f.elf && !minidebug_unpack(f.elf, &size) && errno == ENOENT);
	fixture_close(&f);
	fixture_end();
}

TEST(damage_is_told)
{
	size_t n = pack_zeros(1 << 20, 1 << 20), size;

	CHECK_EQ(error_of(n, &size), 0);
	CHECK_EQ(size, 1 << 20);
	for (size_t cut = 12; cut < n; cut++)
		CHECK_EQ(error_of(cut, NULL), EBADMSG);
	packed[n / 2] ^= 0x10;
	CHECK_EQ(error_of(n, NULL), EBADMSG);
	memset(packed, 'x', 100);
	CHECK_EQ(error_of(100, NULL), ENOTSUP);
	CHECK(error_of(0, NULL) != 0);
}

TEST(limits_hold)
{
	size_t size;

	CHECK_EQ(error_of(pack_zeros(48 << 20, 1 << 20), &size), 0);
	CHECK_EQ(size, 48 << 20);
	CHECK_EQ(error_of(pack_zeros((64 << 20) + 1, 1 << 20), NULL), EFBIG);
	/* A dictionary that would take more memory than we give. */
	CHECK_EQ(error_of(pack_zeros(1 << 20, 64 << 20), NULL), 0);
	CHECK_EQ(error_of(pack_zeros(1 << 20, 512 << 20), NULL), ENOTSUP);
}

int main(void)
{
	RUN(finds_the_symbols_that_were_stripped);
	RUN(damage_is_told);
	RUN(limits_hold);
	return TEST_END();
}
