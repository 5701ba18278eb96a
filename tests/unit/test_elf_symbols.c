/* SPDX-License-Identifier: MIT */
#include "symbols/elf_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "elf/elf_file.h"
#include "elf_image.h"
#include "test.h"

static struct elf_image image;
static struct elf_file *elf;
static struct symbol_source *source;

static void sym(const char *name, uint64_t value, uint64_t size, int type, int bind)
{
	elf_image_symbol(&image, 0, name, value, size, type, bind, IMAGE_TEXT);
}

static void func(const char *name, uint64_t value, uint64_t size)
{
	sym(name, value, size, STT_FUNC, STB_GLOBAL);
}

static void open_image(void)
{
	elf_image_end(&image);
	elf = elf_file_open_memory(image.bytes, image.size);
	source = elf ? elf_symbols_open(elf) : NULL;
}

static void close_image(void)
{
	symbol_source_free(source);
	elf_file_free(elf);
}

/* "name+0x1f" at @address, or "-"; the buffer is the next call's too. */
static const char *at(uint64_t address)
{
	static char text[300];
	struct source_function f;
	char name[200];

	if (!source || source->ops->find(source, address, &f))
		return "-";
	if (source->ops->name(source, f.token, name, sizeof(name)))
		return "?";
	snprintf(text, sizeof(text), "%s+0x%llx", name, (unsigned long long)(address - f.start));
	return text;
}

TEST(sizes_are_respected)
{
	elf_image_begin(&image);
	func("b", 0x401100, 0x20);
	func("a", 0x401000, 0x10);
	open_image();
	CHECK_STR(at(0x400fff), "-");
	CHECK_STR(at(0x401000), "a+0x0");
	CHECK_STR(at(0x40100f), "a+0xf");
	CHECK_STR(at(0x401010), "-");
	CHECK_STR(at(0x4010ff), "-");
	CHECK_STR(at(0x40111f), "b+0x1f");
	CHECK_STR(at(0x401120), "-");
	CHECK_STR(at(UINT64_MAX), "-");
	close_image();
}

TEST(without_a_size_up_to_the_next)
{
	elf_image_begin(&image);
	func("first", 0x401000, 0);
	sym("label", 0x401100, 0, STT_NOTYPE, STB_GLOBAL);
	func("sized", 0x401200, 0x10);
	sym("last", 0x401800, 0, STT_NOTYPE, STB_LOCAL);
	sym("end", 0x402000, 0, STT_NOTYPE, STB_GLOBAL);
	elf_image_symbol(&image, 0, "cold", 0x502010, 0, STT_FUNC, STB_LOCAL, IMAGE_COLD);
	open_image();
	CHECK_STR(at(0x4010ff), "first+0xff");
	CHECK_STR(at(0x4011ff), "label+0xff");
	CHECK_STR(at(0x401210), "-");
	CHECK_STR(at(0x401fff), "last+0x7ff");
	CHECK_STR(at(0x402000), "-");
	CHECK_STR(at(0x50200f), "-");
	CHECK_STR(at(0x5020ff), "cold+0xef");
	CHECK_STR(at(0x502100), "-");
	close_image();
}

TEST(nested_symbols)
{
	elf_image_begin(&image);
	func("outer", 0x401000, 0x100);
	func("inner", 0x401040, 0x20);
	func("innermost", 0x401048, 0x8);
	func("across", 0x4010f0, 0x20);
	/* The same start: each where the shorter one has ended. */
	func("long", 0x401200, 0x100);
	sym("short", 0x401200, 0x10, STT_FUNC, STB_GLOBAL);
	/* A label in a function is a place in it. */
	sym("loop", 0x401280, 0, STT_NOTYPE, STB_LOCAL);
	open_image();
	CHECK_STR(at(0x40103f), "outer+0x3f");
	CHECK_STR(at(0x401040), "inner+0x0");
	CHECK_STR(at(0x401048), "innermost+0x0");
	CHECK_STR(at(0x401050), "inner+0x10");
	CHECK_STR(at(0x401060), "outer+0x60");
	CHECK_STR(at(0x4010ef), "outer+0xef");
	CHECK_STR(at(0x4010f0), "across+0x0");
	CHECK_STR(at(0x401100), "across+0x10");
	CHECK_STR(at(0x401110), "-");
	CHECK_STR(at(0x40120f), "short+0xf");
	CHECK_STR(at(0x401210), "long+0x10");
	CHECK_STR(at(0x401284), "long+0x84");
	close_image();
}

TEST(the_better_name_of_one_address)
{
	elf_image_begin(&image);
	sym("local1", 0x401000, 16, STT_FUNC, STB_LOCAL);
	sym("weak1", 0x401000, 16, STT_FUNC, STB_WEAK);
	sym("global1", 0x401000, 16, STT_FUNC, STB_GLOBAL);
	sym("weak1b", 0x401000, 16, STT_FUNC, STB_WEAK);
	sym("global2", 0x401100, 0, STT_FUNC, STB_GLOBAL);
	sym("sized2", 0x401100, 16, STT_FUNC, STB_LOCAL);
	func("__read3", 0x401200, 16);
	func("read3", 0x401200, 16);
	func("_read3", 0x401200, 16);
	func("f4", 0x401300, 16);
	func("f4.localalias", 0x401300, 16);
	sym("bare5", 0x401400, 0, STT_NOTYPE, STB_LOCAL);
	sym("global5", 0x401400, 0, STT_NOTYPE, STB_GLOBAL);
	func("symtab6", 0x401500, 16);
	elf_image_symbol(&image, 1, "dynsym6", 0x401500, 16, STT_FUNC, STB_GLOBAL, IMAGE_TEXT);
	elf_image_symbol(&image, 1, "dynsym7", 0x401600, 16, STT_GNU_IFUNC, STB_WEAK, IMAGE_TEXT);
	open_image();
	CHECK_STR(at(0x401000), "global1+0x0");
	CHECK_STR(at(0x401104), "sized2+0x4");
	CHECK_STR(at(0x401110), "-");
	CHECK_STR(at(0x401200), "read3+0x0");
	CHECK_STR(at(0x401300), "f4+0x0");
	CHECK_STR(at(0x401400), "global5+0x0");
	CHECK_STR(at(0x401500), "symtab6+0x0");
	CHECK_STR(at(0x401600), "dynsym7+0x0");
	close_image();
}

TEST(what_is_not_a_function)
{
	elf_image_begin(&image);
	func("f", 0x401000, 0);
	sym("$x", 0x401010, 0, STT_NOTYPE, STB_LOCAL);
	sym("$d.7", 0x401014, 0, STT_NOTYPE, STB_LOCAL);
	sym(".L12", 0x401018, 0, STT_NOTYPE, STB_LOCAL);
	sym("table", 0x401020, 8, STT_OBJECT, STB_GLOBAL);
	sym("file.c", 0x401024, 0, STT_FILE, STB_LOCAL);
	sym("", 0x401028, 8, STT_SECTION, STB_LOCAL);
	sym("tls", 0x40102c, 8, STT_TLS, STB_GLOBAL);
	elf_image_symbol(&image, 0, "undefined", 0x401030, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF);
	elf_image_symbol(&image, 0, "absolute", 0x401034, 0, STT_FUNC, STB_GLOBAL, SHN_ABS);
	elf_image_symbol(&image, 0, "in_data", 0x600010, 8, STT_FUNC, STB_GLOBAL, IMAGE_DATA);
	elf_image_symbol(&image, 0, "elsewhere", 0x401038, 8, STT_FUNC, STB_GLOBAL, IMAGE_COLD);
	open_image();
	CHECK_STR(at(0x401040), "f+0x40");
	CHECK_STR(at(0x600010), "-");
	close_image();
}

TEST(stripped_and_damaged)
{
	elf_image_begin(&image);
	open_image();
	CHECK(!source && errno == ENODATA);
	close_image();

	/* A name behind the end of the strings, and one that is not terminated. */
	elf_image_begin(&image);
	func("good", 0x401000, 16);
	func("wild", 0x401100, 16);
	func("tail", 0x401200, 16);
	image.symbols[0][2].st_name = 14;	/* still in the file */
	elf_image_end(&image);
	image.sections[IMAGE_STRTAB].sh_size = 13;	/* "\0good\0wild\0ta" */
	elf = elf_file_open_memory(image.bytes, image.size);
	source = elf_symbols_open(elf);
	CHECK_STR(at(0x401000), "good+0x0");
	CHECK_STR(at(0x401100), "?");
	CHECK_STR(at(0x401200), "ta+0x0");
	close_image();

	/* Sizes and section ends that overflow. */
	elf_image_begin(&image);
	func("wide", 0x401000, UINT64_MAX);
	func("wider", 0x401010, UINT64_MAX - 0x401000);
	elf_image_symbol(&image, 0, "cold", 0x502000, 16, STT_FUNC, STB_GLOBAL, IMAGE_COLD);
	elf_image_end(&image);
	image.sections[IMAGE_COLD].sh_size = UINT64_MAX;
	elf = elf_file_open_memory(image.bytes, image.size);
	source = elf_symbols_open(elf);
	CHECK_STR(at(0x40100f), "wide+0xf");
	CHECK_STR(at(0x401fff), "wider+0xfef");
	CHECK_STR(at(0x402000), "-");
	CHECK_STR(at(0x502000), "-");
	close_image();

	/* A table that the file's end cuts: what there is of it. */
	elf_image_begin(&image);
	for (int i = 0; i < 8; i++)
		func("f", 0x401000 + 16 * (uint64_t)i, 16);
	elf_image_end(&image);
	image.sections[IMAGE_SYMTAB].sh_size = 1ull << 40;
	image.sections[IMAGE_DYNSYM].sh_link = 9999;
	elf = elf_file_open_memory(image.bytes, image.size);
	source = elf_symbols_open(elf);
	CHECK(source || errno == EBADMSG);
	close_image();
}

/* Names are read in steps: short, long, and cut to the caller's size. */
TEST(long_names)
{
	char name[1000], small[10], whole[2000];
	struct source_function f;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t n = 62; n < 67; n++) {
		char part[80];

		snprintf(part, sizeof(part), "%.*s", (int)n, name);
		elf_image_begin(&image);
		func(part, 0x401000, 16);
		open_image();
		strcat(part, "+0x0");
		CHECK_STR(at(0x401000), part);
		close_image();
	}
	elf_image_begin(&image);
	func(name, 0x401000, 16);
	open_image();
	CHECK_EQ(source->ops->find(source, 0x401000, &f), 0);
	CHECK_EQ(source->ops->name(source, f.token, whole, sizeof(whole)), 0);
	CHECK_STR(whole, name);
	CHECK_EQ(source->ops->name(source, f.token, small, sizeof(small)), 0);
	CHECK_STR(small, "xxxxxxxxx");
	close_image();
}

/*
 * Many symbols inside of one another, and many overlapping ones: neither slow to load nor to
 * search.
 */
TEST(hostile_nesting_is_not_slow)
{
	enum { N = 200000 };
	Elf64_Sym *symbols = calloc(N, sizeof(*symbols));
	struct source_function f;
	struct timespec a, b;
	int fd;

	elf_image_begin(&image);
	func("f", 0x401000, 16);
	elf_image_end(&image);
	for (int i = 0; i < N; i++)
		symbols[i] = (Elf64_Sym){ 1,
					  ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					  0,
					  IMAGE_TEXT,
					  0x401000 + (uint64_t)i,
					  i % 2 ? N : (uint64_t)(2 * (N - i)) };
	image.sections[IMAGE_TEXT].sh_size = 4 * N;
	image.sections[IMAGE_SYMTAB].sh_offset = sizeof(image.bytes);
	image.sections[IMAGE_SYMTAB].sh_size = N * sizeof(*symbols);
	fd = memory_file(image.bytes, sizeof(image.bytes));
	CHECK_EQ(write(fd, symbols, N * sizeof(*symbols)), N * sizeof(*symbols));
	elf = elf_file_open(fd);
	clock_gettime(CLOCK_MONOTONIC, &a);
	source = elf_symbols_open(elf);
	CHECK(source != NULL);
	for (uint64_t i = 0; source && i < N; i++)
		source->ops->find(source, 0x401000 + i, &f);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK(b.tv_sec - a.tv_sec < 5);
	CHECK_STR(at(0x401000 + 100), "f+0x0");
	close_image();
	close(fd);
	free(symbols);
}

/*
 * Real linkers. Each function of this program holds bytes of its own, so that
 * where it lies in the file is known without asking a symbol table.
 */
static const char program[] =
	"#define F(name, magic) __attribute__((noinline, used)) int name(int x) "
	"{ __asm__ volatile(\"jmp 1f; .ascii \\\"\" magic \"\\\"; 1:\"); return x + __LINE__; }\n"
	"F(first, \"@magic-1@\")\n"
	"F(second, \"@magic-2@\")\n"
	"static F(third, \"@magic-3@\")\n"
	"__asm__(\".text\\n.globl by_hand\\nby_hand: .ascii \\\"@magic-4@\\\"\\n.size by_hand, "
	".-by_hand\");\n"
	"int data[5000] = { 1 };\n"
	"int _start(void) { return first(second(third(data[4]))); }\n";

static void check_linked(const char *path)
{
	static const char *const names[] = { "first", "second", "third", "by_hand" };
	static char bytes[1 << 20];
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	uint64_t address;

	CHECK(n > 0);
	if (!n)
		return;
	elf = elf_file_open(fileno(file));
	source = elf ? elf_symbols_open(elf) : NULL;
	CHECK(source != NULL);
	for (int i = 0; elf && source && i < 4; i++) {
		char magic[24], *found;

		snprintf(magic, sizeof(magic), "@magic-%d@", i + 1);
		found = memmem(bytes, n, magic, strlen(magic));
		CHECK(found != NULL);
		if (!found)
			continue;
		CHECK_EQ(elf_file_vaddr(elf, (uint64_t)(found - bytes), &address), 0);
		CHECK(!strncmp(at(address), names[i], strlen(names[i])) &&
		      at(address)[strlen(names[i])] == '+');
	}
	close_image();
	fclose(file);
}

TEST(real_linkers)
{
	/* The first are what every toolchain has; the rest is tried where it links. */
	static const struct { int needed; const char *flags; } variants[] = {
		{ 1, "-static -no-pie" },
		{ 1, "-pie -fPIE" },
		{ 1, "-shared -fPIC" },
		{ 1, "-static -no-pie -Wl,-z,noseparate-code" },
		{ 1, "-pie -fPIE -Wl,-z,separate-code" },
		{ 0, "-static -no-pie -Wl,-Ttext-segment=0x10000000" },
		{ 0, "-pie -fPIE -Wl,-Ttext=0x7654000" },
		{ 0, "-static -no-pie -m32" },
		{ 0, "-shared -fPIC -m32" },
		{ 0, "-pie -fPIE -fuse-ld=lld" },
		{ 0, "-static -no-pie -fuse-ld=lld -Wl,--no-rosegment" },
		{ 0, "-pie -fPIE -fuse-ld=gold" },
		{ 0, "-shared -fPIC -ffunction-sections -Wl,-z,max-page-size=0x10000" },
	};
	char dir[] = "/tmp/test_elf_symbols.XXXXXX", command[400], path[100], source_path[100];
	const char *cc = getenv("CC") ? getenv("CC") : "cc";
	FILE *file;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/a.out", dir);
	snprintf(source_path, sizeof(source_path), "%s/a.c", dir);
	file = fopen(source_path, "w");
	CHECK(file != NULL);
	if (!file)
		return;
	fputs(program, file);
	fclose(file);
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		int status;

		snprintf(command, sizeof(command),
			 "%s -O1 -nostdlib -ffreestanding -fno-stack-protector %s -o %s %s "
			 "2>/dev/null",
			 cc, variants[i].flags, path, source_path);
		status = system(command);
		CHECK(!variants[i].needed || status == 0);
		if (status == 0) {
			int before = test_ok;

			check_linked(path);
			if (before && !test_ok)
				printf("(linked with %s)\n", variants[i].flags);
		}
	}
	unlink(path);
	unlink(source_path);
	rmdir(dir);
}

int main(void)
{
	RUN(sizes_are_respected);
	RUN(without_a_size_up_to_the_next);
	RUN(nested_symbols);
	RUN(the_better_name_of_one_address);
	RUN(what_is_not_a_function);
	RUN(stripped_and_damaged);
	RUN(long_names);
	RUN(hostile_nesting_is_not_slow);
	RUN(real_linkers);
	return TEST_END();
}
