/* SPDX-License-Identifier: MIT */
/* What several files of an image say of it together, as the symbolizer has it. */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <stdio.h>

#include "elf_image.h"
#include "test.h"
#include "unit/debug_fixture.h"

static struct symbolizer *symbolizer;
static struct image image;
static struct symbol_frame frames[SOURCE_FRAMES_MAX];

static void begin(int fd)
{
	symbolizer = symbolizer_new(&(struct symbolizer_options){ 0 });
	image = (struct image){ .kind = IMAGE_FILE,
				.path = "/nowhere/test",
				.name = "test",
				.fd = fd };
}

static void end(void)
{
	symbolizer_free(symbolizer);
	close(image.fd);
}

/* The name at @offset; "" where there is none. */
static const char *at(uint64_t offset)
{
	return symbolizer_user(symbolizer, &image, offset, frames) > 0 ? frames[0].name : "";
}

/* The offset of @name in the file lib.so, which is its address. */
static uint64_t offset_of(const char *name)
{
	unsigned long address = 0;
	FILE *f;

	CHECK_EQ(shell("nm lib.so | awk '$3 == \"%s\" { print $1 }' >address", name), 0);
	f = fopen(fixture_path("address"), "r");
	CHECK(f && fscanf(f, "%lx", &address) == 1);
	if (f)
		fclose(f);
	return address;
}

/* As Fedora leaves a library: exported names are in .dynsym alone, others in .gnu_debugdata. */
TEST(exported_names_beside_packed_ones)
{
	CHECK_EQ(fixture_begin(), 0);
	CHECK_EQ(shell("cc -O1 -shared -fPIC -Wl,-z,noseparate-code -o lib.so prog.c &&"
		       " nm -D lib.so --format=posix --defined-only | awk '{ print $1 }' | sort "
		       ">dynsyms &&"
		       " nm lib.so --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' "
		       "| sort | comm -13 dynsyms - >keep &&"
		       " objcopy --only-keep-debug lib.so lib.debug &&"
		       " objcopy -S --remove-section .comment --keep-symbols=keep lib.debug mini "
		       "&& xz -f mini &&"
		       " strip -o bare.so lib.so && objcopy --add-section .gnu_debugdata=mini.xz "
		       "bare.so"),
		 0);
	begin(open(fixture_path("bare.so"), O_RDONLY | O_CLOEXEC));
	CHECK_STR(at(offset_of("hidden")), "hidden");
	CHECK_STR(at(offset_of("shared_7")), "shared_7");
	CHECK_STR(at(offset_of("shared_200") + 1), "shared_200");
	CHECK_STR(at(offset_of("hidden") + 1), "hidden");
	end();
	fixture_end();
}

/* What an assembler leaves without a size. */
TEST(a_symbol_without_a_size_ends_where_a_function_begins)
{
	uint64_t middle, last;

	CHECK_EQ(fixture_begin(), 0);
	CHECK_EQ(shell("printf '.text\\n.globl first\\nfirst:\\n.skip 32, "
		       "0x90\\nmiddle:\\n.cfi_startproc\\n.skip 32, 0x90\\nret\\n"
		       ".cfi_endproc\\nnop\\n.globl last\\nlast:\\n.cfi_startproc\\n.skip 16, "
		       "0x90\\n.cfi_endproc\\n"
		       ".section .note.GNU-stack,\"\"\\n' >a.s &&"
		       " cc -shared -nostdlib -Wl,-z,noseparate-code -o lib.so a.s && strip -o "
		       "bare.so lib.so"),
		 0);
	begin(open(fixture_path("bare.so"), O_RDONLY | O_CLOEXEC));
	middle = offset_of("middle");
	last = offset_of("last");
	CHECK_STR(at(offset_of("first")), "first");
	CHECK_STR(at(middle - 1), "first");
	CHECK_STR(at(middle), "");
	CHECK_STR(at(middle + 32), "");
	CHECK_EQ(symbolizer_start(symbolizer, &image, middle + 32), middle);
	CHECK_EQ(symbolizer_start(symbolizer, &image, middle), middle);
	/* Behind the function, and no other one known. */
	CHECK_STR(at(last - 1), "");
	CHECK_EQ(symbolizer_start(symbolizer, &image, last - 1), last - 1);
	CHECK_STR(at(last + 15), "last");
	end();
	fixture_end();
}

static struct elf_image bytes;

TEST(nothing_is_known_of_a_start)
{
	elf_image_begin(&bytes);
	elf_image_symbol(&bytes, 0, "function", 0x401000, 16, STT_FUNC, STB_GLOBAL, IMAGE_TEXT);
	elf_image_end(&bytes);
	begin(memory_file(bytes.bytes, bytes.size));
	CHECK_EQ(symbolizer_user(symbolizer, &image, 0x1010, frames), -ENOENT);
	CHECK_EQ(symbolizer_start(symbolizer, &image, 0x1010), 0x1010);
	CHECK_EQ(symbolizer_start(symbolizer, &image, UINT64_MAX), UINT64_MAX);
	end();
	begin(-1);
	CHECK_EQ(symbolizer_start(symbolizer, &image, 0x1010), 0x1010);
	end();
}

int main(void)
{
	RUN(exported_names_beside_packed_ones);
	RUN(a_symbol_without_a_size_ends_where_a_function_begins);
	RUN(nothing_is_known_of_a_start);
	return TEST_END();
}
