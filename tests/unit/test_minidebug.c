/* SPDX-License-Identifier: MIT */
#include "elf/minidebug.h"

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <sys/mman.h>

#include "draws.h"
#include "symbols/elf_symbols.h"
#include "symbols/image_files.h"
#include "table_image.h"
#include "test.h"
#include "unit/debug_fixture.h"

static struct table_image image;
static uint8_t packed[1 << 20];

/* A file of *@size bytes with @n bytes of packed[] in .gnu_debugdata, behind all else; malloc'd. */
static uint8_t *file_of(size_t n, size_t *size)
{
	uint8_t *file;
	Elf64_Shdr *s;

	image_begin(&image, EM_X86_64);
	image_section(&image, ".gnu_debugdata", 0, NULL, 0);
	elf_file_free(image_end(&image));
	file = malloc(image.n + n);
	memcpy(file, image.b, image.n);
	memcpy(file + image.n, packed, n);
	s = (Elf64_Shdr *)(file + image.head.e_shoff) + 1;
	s->sh_offset = image.n;
	s->sh_size = n;
	*size = image.n + n;
	return file;
}

/* Unpacks @n bytes of packed[], for which *@left is there: 0, or an errno. */
static int unpack_within(size_t n, uint64_t *left)
{
	size_t size, got;
	uint8_t *file = file_of(n, &size), *out;
	struct elf_file *f = elf_file_open_memory(file, size);
	int err;

	errno = 0;
	out = minidebug_unpack(f, left, &got);
	err = out ? 0 : errno;
	free(out);
	elf_file_free(f);
	free(file);
	return err;
}

/* 0, with the size in *@size where it is wanted, or an errno. */
static int error_of(size_t n, size_t *size)
{
	uint64_t left = UINT64_MAX;
	int err = unpack_within(n, &left);

	if (size)
		*size = UINT64_MAX - left - n;
	return err;
}

/*
 * @size bytes with a dictionary of @dict bytes, as xz packs them: @noise of them at random, the
 * others zeros.
 */
static size_t pack(size_t noise, size_t size, uint32_t dict)
{
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
	uint8_t *bytes = calloc(1, size);
	uint64_t state = 1;
	size_t n = 0;

	for (size_t i = 0; i < noise; i++)
		bytes[i] = (uint8_t)draw_bits(&state);
	lzma_lzma_preset(&options, 0);
	options.dict_size = dict;
	CHECK_EQ(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, bytes, size, packed, &n,
					   sizeof(packed)),
		 LZMA_OK);
	free(bytes);
	return n;
}

static size_t pack_zeros(size_t size, uint32_t dict)
{
	return pack(0, size, dict);
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
	uint64_t left = UINT64_MAX;
	uint8_t *bytes;
	size_t size;

	CHECK_EQ(fixture_begin(), 0);
	CHECK_EQ(shell("objcopy --only-keep-debug prog prog.debug && nm prog.debug --format=posix "
		       "--defined-only |"
		       " awk '$2 ~ /[Tt]/ { print $1 }' >keep && objcopy -S --remove-section "
		       ".gdb_index --remove-section .comment"
		       " --keep-symbols=keep prog.debug mini && xz -f mini && strip -s -o stripped "
		       "prog &&"
		       " objcopy --add-section .gnu_debugdata=mini.xz stripped && nm prog |"
		       " awk '$3 == \"hidden\" { print \"0x\" $1 }' >address"),
		 0);
	f = fixture_open("stripped");
	bytes = f.elf ? minidebug_unpack(f.elf, &left, &size) : NULL;
	CHECK(bytes != NULL);
	mini = bytes ? elf_file_open_memory(bytes, size) : NULL;
	CHECK(mini != NULL);
	if (mini) {
		FILE *address = fopen(fixture_path("address"), "r");
		unsigned long a = 0;

		CHECK(address && fscanf(address, "%lx", &a) == 1);
		fclose(address);
		s = elf_symbols_open(mini);
		found = s && !s->ops->find(s, a, &at) &&
			!s->ops->name(s, at.token, name, sizeof(name));
		CHECK(found);
		CHECK_STR(found ? name : NULL, "hidden");
		symbol_source_free(s);
	}
	elf_file_free(mini);
	free(bytes);
	fixture_close(&f);
	f = fixture_open("prog");
	CHECK(f.elf && !minidebug_unpack(f.elf, &left, &size) && errno == ENOENT);
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

	CHECK_EQ(error_of(pack(500000, 48 << 20, 1 << 20), &size), 0);
	CHECK_EQ(size, 48 << 20);
	CHECK_EQ(error_of(pack(600000, (64 << 20) + 1, 1 << 20), NULL), EFBIG);
	/* No symbols pack so well; that is seen early. */
	CHECK_EQ(error_of(pack_zeros(48 << 20, 1 << 20), &size), EFBIG);
	CHECK(size <= 2 << 20);
	/* A dictionary that would take more memory than we give. */
	CHECK_EQ(error_of(pack_zeros(1 << 20, 64 << 20), NULL), 0);
	CHECK_EQ(error_of(pack_zeros(1 << 20, 512 << 20), NULL), ENOTSUP);
}

/* What is unpacked, in vain or not, counts for all files. */
TEST(files_share_a_budget)
{
	size_t n = pack_zeros(1 << 20, 1 << 20);
	uint64_t all = n + (1 << 20), left = 2 * all + 1;

	CHECK_EQ(unpack_within(n, &left), 0);
	CHECK_EQ(left, all + 1);
	CHECK_EQ(unpack_within(n, &left), 0);
	CHECK_EQ(left, 1);
	CHECK_EQ(unpack_within(n, &left), EFBIG);
	CHECK_EQ(left, 1);
	left = all / 2;
	CHECK_EQ(unpack_within(n, &left), EFBIG);
	CHECK_EQ(left, 0);
}

TEST(what_is_no_elf_file_is_not_kept)
{
	struct image_budget budget = { .crc = UINT64_MAX, .unpacked = UINT64_MAX };
	struct debug_places places = { 0 };
	struct image_files files;
	struct image mapped;
	uint8_t *file;
	size_t size;

	file = file_of(pack_zeros(1 << 20, 1 << 20), &size);
	mapped = (struct image){ .kind = IMAGE_FILE,
				 .path = "/test",
				 .name = "test",
				 .fd = memfd_create("test", MFD_CLOEXEC) };
	CHECK_EQ(write(mapped.fd, file, size), (ssize_t)size);
	CHECK_EQ(image_files_open(&files, &mapped, &places, NULL, &budget), 0);
	CHECK(budget.unpacked < UINT64_MAX - (1 << 20));
	CHECK(!files.elf[IMAGE_MINI] && !files.memory[IMAGE_MINI]);
	image_files_close(&files);
	close(mapped.fd);
	free(file);
}

int main(void)
{
	RUN(finds_the_symbols_that_were_stripped);
	RUN(damage_is_told);
	RUN(limits_hold);
	RUN(files_share_a_budget);
	RUN(what_is_no_elf_file_is_not_kept);
	return TEST_END();
}
