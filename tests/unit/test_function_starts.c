/* SPDX-License-Identifier: MIT */
/* Functions without symbols: against those of the unstripped program, and in files made here. */
#include "symbols/function_starts.h"

#include <errno.h>

#include "elf/elf_main.h"
#include "symbols/elf_symbols.h"
#include "table_image.h"
#include "test.h"
#include "unit/debug_fixture.h"

/* --- Programs of compilers. -------------------------------------------------------- */

/* With a function of which a part is moved away, and with labels of an assembler that have no size.
 */
static int make_source(void)
{
	return shell(
		"{ echo '#include <stdlib.h>';"
		" echo '__attribute__((noinline, cold)) int rare(int x) { abort(); return x; }';"
		" for i in $(seq 100); do echo \"__attribute__((noinline)) int f_$i(int x)"
		" { if (x == $i) { rare(x); } return x * $i + 1; }\"; done;"
		" echo 'int main(int n, char **v) { (void)v; return f_1(n) + f_100(n); }'; } "
		">functions.c &&"
		" printf '.text\\n.globl bare\\nbare:\\nnop\\nret\\n.globl "
		"framed\\nframed:\\n.cfi_startproc\\nnop\\nret\\n"
		".cfi_endproc\\n.section .note.GNU-stack,\"\"\\n' >labels.s");
}

struct tally {
	int right, wrong, unsized;
};

/* Each byte of .text: where @full has a symbol with a size, @bare has a function that begins there.
 */
static struct tally compare(const struct elf_file *full, const struct symbol_source *bare)
{
	const struct elf_section *text = elf_file_section(full, ".text");
	struct symbol_source *symbols = elf_symbols_open(full);
	struct source_function symbol, function;
	struct tally t = { 0 };

	for (uint64_t at = text->addr; symbols && at < text->addr + text->size; at++) {
		if (symbols->ops->find(symbols, at, &symbol))
			continue;
		if (symbol.open_ended)
			t.unsized++;
		else if (!bare->ops->find(bare, at, &function) && function.start == symbol.start)
			t.right++;
		else if (t.wrong++ < 5)
			printf("%llx: not at %llx\n", (unsigned long long)at,
			       (unsigned long long)symbol.start);
	}
	symbol_source_free(symbols);
	return t;
}

/* The name of the function at @address, "-" where it has none, "" where there is no function. */
static const char *name_at(const struct symbol_source *s, uint64_t address)
{
	static char name[64];
	struct source_function f;

	if (!s || s->ops->find(s, address, &f))
		return "";
	return s->ops->name(s, f.token, name, sizeof(name)) ? "-" : name;
}

/* Where @name begins in the program FILE. */
static uint64_t address_of(const char *file, const char *name)
{
	unsigned long address = 0;
	FILE *f;

	CHECK_EQ(shell("nm %s | awk '$3 == \"%s\" { print $1 }' >address", file, name), 0);
	f = fopen(fixture_path("address"), "r");
	CHECK(f && fscanf(f, "%lx", &address) == 1);
	if (f)
		fclose(f);
	return address;
}

/* Compiles with @options, and compares the program with what strip leaves of it. */
static void check_program(const char *options, const char *strip, int is_program)
{
	struct fixture_file full, bare;
	struct symbol_source *s;
	struct tally t = { 0 };

	CHECK_EQ(shell("cc -O2 %s -o full functions.c labels.s && strip %s -o bare full", options,
		       strip),
		 0);
	full = fixture_open("full");
	bare = fixture_open("bare");
	s = bare.elf ? function_starts_open(bare.elf, NULL) : NULL;
	CHECK(full.elf && s);
	if (full.elf && s)
		t = compare(full.elf, s);
	CHECK(t.right > 900);
	CHECK_EQ(t.wrong, 0);
	CHECK_STR(name_at(s, address_of("full", "f_7")), "-");
	CHECK_STR(name_at(s, address_of("full", "bare")), "");
	CHECK_STR(name_at(s, address_of("full", "framed") + 1), "-");
	CHECK_STR(name_at(s, address_of("full", "_init")), "_init");
	CHECK_STR(name_at(s, address_of("full", "_fini") + 4), "_fini");
	if (is_program) {
		CHECK_EQ(elf_main(bare.elf), address_of("full", "main"));
		CHECK_STR(name_at(s, address_of("full", "main") + 1), "main");
		CHECK_STR(name_at(s, address_of("full", "_start") + 5), "_start");
	} else {
		CHECK_EQ(elf_main(bare.elf), 0);
	}
	symbol_source_free(s);
	fixture_close(&full);
	fixture_close(&bare);
}

TEST(of_compilers)
{
	check_program("", "", 1);
	check_program("-no-pie -fno-pie", "", 1);
	check_program("-Wl,--no-eh-frame-hdr", "", 1);
	check_program("-shared -fPIC", "", 0);
	check_program("-g", "--strip-debug --strip-unneeded", 1);
	/* Of what has no .eh_frame, in .debug_frame; _start's is of the C library. */
	check_program("-g -fno-asynchronous-unwind-tables -fno-unwind-tables",
		      "--keep-section=.debug_frame", 1);
}

TEST(of_a_debug_file)
{
	struct fixture_file full, bare, debug;
	struct symbol_source *s;
	struct tally t = { 0 };

	CHECK_EQ(shell("cc -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -o full "
		       "functions.c labels.s && strip -o bare full &&"
		       " objcopy --only-keep-debug full debug"),
		 0);
	full = fixture_open("full");
	bare = fixture_open("bare");
	debug = fixture_open("debug");
	s = function_starts_open(bare.elf, NULL);
	CHECK_STR(name_at(s, address_of("full", "f_7")), "");
	symbol_source_free(s);
	s = function_starts_open(bare.elf, debug.elf);
	CHECK(s != NULL);
	if (s)
		t = compare(full.elf, s);
	CHECK(t.right > 900);
	CHECK_EQ(t.wrong, 0);
	symbol_source_free(s);
	fixture_close(&full);
	fixture_close(&bare);
	fixture_close(&debug);
}

/* --- Files made here. --------------------------------------------------------------- */

static struct table_image image;
static struct bytes cfi;
static struct elf_file *elf;
static struct symbol_source *source;

static void image_open(const char *section)
{
	if (section)
		image_frames(&image, section, &cfi);
	elf = image_end(&image);
	source = function_starts_open(elf, NULL);
}

static void image_close(void)
{
	symbol_source_free(source);
	elf_file_free(elf);
}

/* The start of the function at CODE + @at, from CODE; -1: none. */
static long start_at(uint64_t at)
{
	struct source_function f;

	return !source || source->ops->find(source, CODE + at, &f) ? -1 : (long)(f.start - CODE);
}

static size_t begin_cfi(void)
{
	image_begin(&image, EM_X86_64);
	cfi.n = 0;
	return add_cie(&cfi, 0, 16, BYTES(X86_INITIAL));
}

TEST(in_any_order_and_cut_where_the_next_begins)
{
	size_t cie = begin_cfi();

	add_fde(&cfi, cie, CODE + 0x300, 0x10, NO_BYTES);
	add_fde(&cfi, cie, CODE + 0x100, 0x180, NO_BYTES);
	add_fde(&cfi, cie, CODE + 0x200, 0x20, NO_BYTES);
	add_fde(&cfi, cie, CODE + 0x200, 0x40, NO_BYTES);
	image_open(".eh_frame");
	CHECK_EQ(start_at(0xff), -1);
	CHECK_EQ(start_at(0x100), 0x100);
	CHECK_EQ(start_at(0x1ff), 0x100);
	CHECK_EQ(start_at(0x200), 0x200);
	CHECK_EQ(start_at(0x23f), 0x200);
	CHECK_EQ(start_at(0x240), -1);
	CHECK_EQ(start_at(0x30f), 0x300);
	CHECK_EQ(start_at(0x310), -1);
	CHECK_STR(name_at(source, CODE + 0x100), "-");
	CHECK(source && source->ops->bytes(source) > 3 * 16);
	CHECK(function_starts_between(source, CODE + 0xff, CODE + 0x100));
	CHECK(!function_starts_between(source, CODE + 0x100, CODE + 0x1ff));
	CHECK(function_starts_between(source, CODE + 0x100, CODE + 0x250));
	CHECK(!function_starts_between(source, CODE + 0x300, UINT64_MAX));
	CHECK(!function_starts_between(source, 0, CODE + 0xff));
	image_close();
}

TEST(only_in_the_code)
{
	size_t cie = begin_cfi();

	add_fde(&cfi, cie, CODE + IMAGE_CODE_SIZE, 0x10, NO_BYTES);
	add_fde(&cfi, cie, CODE - 1, 0x1000, NO_BYTES);
	add_fde(&cfi, cie, 0, 0x10, NO_BYTES);
	add_fde(&cfi, cie, UINT64_MAX - 15, 8, NO_BYTES);
	image_open(".eh_frame");
	CHECK(!source && errno == ENODATA);
	image_close();
	cie = begin_cfi();
	add_fde(&cfi, cie, CODE + IMAGE_CODE_SIZE - 16, UINT64_MAX / 2, NO_BYTES);
	image_open(".eh_frame");
	CHECK_EQ(start_at(IMAGE_CODE_SIZE - 1), IMAGE_CODE_SIZE - 16);
	CHECK_EQ(start_at(IMAGE_CODE_SIZE), -1);
	image_close();
}

TEST(without_frames)
{
	image_begin(&image, EM_X86_64);
	image_open(NULL);
	CHECK(!source && errno == ENODATA);
	image_close();
	begin_cfi();
	image_open(".eh_frame");
	CHECK(!source && errno == ENODATA);
	image_close();
}

/* A library has an entry point, too: libc.so.6 says its version there. */
TEST(the_entry_point_of_a_program)
{
	size_t cie = begin_cfi();

	add_fde(&cfi, cie, CODE + 0x100, 0x40, NO_BYTES);
	image.head.e_entry = CODE + 0x100;
	image_open(".eh_frame");
	CHECK_STR(name_at(source, CODE + 0x110), "-");
	image_close();
	cie = begin_cfi();
	add_fde(&cfi, cie, CODE + 0x100, 0x40, NO_BYTES);
	image.head.e_entry = CODE + 0x100;
	image.head.e_type = ET_EXEC;
	image_open(".eh_frame");
	CHECK_STR(name_at(source, CODE + 0x110), "_start");
	image_close();
	/* In the middle of a function: it is no start. */
	cie = begin_cfi();
	add_fde(&cfi, cie, CODE + 0x100, 0x40, NO_BYTES);
	image.head.e_entry = CODE + 0x110;
	image.head.e_type = ET_EXEC;
	image_open(".eh_frame");
	CHECK_STR(name_at(source, CODE + 0x110), "-");
	image_close();
}

int main(void)
{
	if (fixture_begin() || make_source()) {
		printf("no programs could be made\n");
		return 1;
	}
	RUN(of_compilers);
	RUN(of_a_debug_file);
	fixture_end();
	RUN(in_any_order_and_cut_where_the_next_begins);
	RUN(only_in_the_code);
	RUN(without_frames);
	RUN(the_entry_point_of_a_program);
	return TEST_END();
}
