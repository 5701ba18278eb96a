/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "elf_image.h"
#include "test.h"

static struct elf_image bytes;

static struct image file_image(uint32_t id, int fd)
{
	return (struct image){
		.id = id, .kind = IMAGE_FILE, .path = "/test", .name = "test", .fd = fd
	};
}

TEST(names_of_a_file)
{
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ 0 });
	struct symbol_frame a[SOURCE_FRAMES_MAX], b[SOURCE_FRAMES_MAX];
	struct image image;

	elf_image_begin(&bytes);
	elf_image_symbol(&bytes, 0, "_ZN3Foo3barEPKc", 0x401000, 16, STT_FUNC, STB_GLOBAL,
			 IMAGE_TEXT);
	elf_image_symbol(&bytes, 0, "evil\033[2J\n;name", 0x502000, 16, STT_FUNC, STB_GLOBAL,
			 IMAGE_COLD);
	elf_image_symbol(&bytes, 0, "memcpy@@GLIBC_2.14", 0x502040, 16, STT_FUNC, STB_GLOBAL,
			 IMAGE_COLD);
	elf_image_end(&bytes);
	image = file_image(7, memory_file(bytes.bytes, bytes.size));

	CHECK_EQ(symbolizer_user(s, &image, 0x1008, a), 1);
	CHECK_STR(a->name, "Foo::bar(char const*)");
	CHECK_EQ(symbolizer_user(s, &image, 0x1009, b), 1);
	CHECK(a->name == b->name);	/* interned */
	CHECK_EQ(symbolizer_user(s, &image, 0x2001, b), 1);
	CHECK_STR(b->name, "evil\\x1b[2J\\n;name");
	CHECK_EQ(symbolizer_user(s, &image, 0x2040, b), 1);
	CHECK_STR(b->name, "memcpy");
	CHECK_EQ(symbolizer_user(s, &image, 0x1010, b), -ENOENT);
	CHECK_EQ(symbolizer_user(s, &image, UINT64_MAX, b), -ENOENT);
	CHECK_STR(a->name, "Foo::bar(char const*)");
	symbolizer_free(s);
	close(image.fd);
}

TEST(short_names_of_templates)
{
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ .short_templates = 1 });
	struct symbol_frame a[SOURCE_FRAMES_MAX];
	struct image image;

	elf_image_begin(&bytes);
	elf_image_symbol(&bytes, 0, "_ZNSt6vectorIiSaIiEE9push_backERKi", 0x401000, 16, STT_FUNC,
			 STB_GLOBAL, IMAGE_TEXT);
	elf_image_symbol(&bytes, 0, "_ZlsRSoi", 0x502000, 16, STT_FUNC, STB_GLOBAL, IMAGE_COLD);
	elf_image_end(&bytes);
	image = file_image(7, memory_file(bytes.bytes, bytes.size));
	CHECK_EQ(symbolizer_user(s, &image, 0x1008, a), 1);
	CHECK_STR(a->name, "std::vector<...>::push_back(int const&)");
	CHECK_EQ(symbolizer_user(s, &image, 0x2000, a), 1);
	CHECK_STR(a->name, "operator<<(std::ostream&, int)");
	symbolizer_free(s);
	close(image.fd);
}

/*
 * Whatever it had to forget, it knows the same; and of one file it may keep more than all may take.
 */
TEST(memory_of_many_files)
{
	enum { FILES = 6 };
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ .memory = 2000 });
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct image images[FILES];
	size_t most = 0;
	char name[64];

	for (uint32_t f = 0; f < FILES; f++) {
		elf_image_begin(&bytes);
		for (unsigned i = 0; i < 30; i++) {
			snprintf(name, sizeof(name), "file_%u_function_%u", f, i);
			elf_image_symbol(&bytes, 0, name, 0x401000 + 16 * i, 16, STT_FUNC,
					 STB_GLOBAL, IMAGE_TEXT);
		}
		elf_image_end(&bytes);
		images[f] = file_image(f, memory_file(bytes.bytes, bytes.size));
	}
	for (uint32_t n = 0; n < 500; n++) {
		uint32_t mixed = n * 7919, f = mixed % FILES, i = mixed / FILES % 30;

		snprintf(name, sizeof(name), "file_%u_function_%u", f, i);
		CHECK_EQ(symbolizer_user(s, &images[f], 0x1000 + 16 * i, out), 1);
		CHECK_STR(out->name, name);
		most = symbolizer_memory(s) > most ? symbolizer_memory(s) : most;
	}
	CHECK(most > 600 && most <= 2000);
	symbolizer_free(s);
	s = symbolizer_new(&(struct symbolizer_options){ .memory = 1 });
	CHECK_EQ(symbolizer_user(s, &images[0], 0x1000, out), 1);
	CHECK_EQ(symbolizer_user(s, &images[1], 0x1000, out), 1);
	CHECK_STR(out->name, "file_1_function_0");
	CHECK(symbolizer_memory(s) > 600 && symbolizer_memory(s) < 1200);
	symbolizer_free(s);
	for (int f = 0; f < FILES; f++)
		close(images[f].fd);
}

TEST(why_there_is_no_name)
{
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ 0 });
	struct image missing = file_image(0, -1), script, stripped, damaged;
	struct image special = {
		.id = 4, .kind = IMAGE_SPECIAL, .path = "[vsyscall]", .name = "[vsyscall]", .fd = -1
	};
	struct symbol_frame out[SOURCE_FRAMES_MAX];

	missing.why = -EACCES;
	script = file_image(1, memory_file("#!/bin/sh\n", 10));
	elf_image_begin(&bytes);
	elf_image_end(&bytes);
	stripped = file_image(2, memory_file(bytes.bytes, bytes.size));
	damaged = file_image(3, memory_file(bytes.bytes, 100));
	for (int twice = 0; twice < 2; twice++) {
		CHECK_EQ(symbolizer_user(s, &missing, 0x1000, out), -EACCES);
		CHECK_EQ(symbolizer_user(s, &script, 0x1000, out), -ENOEXEC);
		CHECK_EQ(symbolizer_user(s, &stripped, 0x1000, out), -ENODATA);
		CHECK_EQ(symbolizer_user(s, &damaged, 0x1000, out), -EBADMSG);
		CHECK_EQ(symbolizer_user(s, &special, 0x1000, out), -ENOENT);
	}
	symbolizer_free(s);
	symbolizer_free(NULL);
	close(script.fd);
	close(stripped.fd);
	close(damaged.fd);
}

TEST(names_of_the_vdso)
{
	struct image vdso = {
		.id = 0, .kind = IMAGE_VDSO, .path = "[vdso]", .name = "[vdso]", .fd = -1
	};
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ 0 });
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	int found = 0;

	if (!getauxval(AT_SYSINFO_EHDR)) {	/* vdso=0 */
		CHECK(symbolizer_user(s, &vdso, 0x800, out) < 0);
		symbolizer_free(s);
		return;
	}
	for (uint64_t offset = 0; offset < 65536; offset += 16)
		if (symbolizer_user(s, &vdso, offset, out) > 0)
			found |= strstr(out->name, "clock_gettime") != NULL;
	CHECK(found);
	symbolizer_free(s);
}

enum { known_line = __LINE__ + 3 };

__attribute__((noinline)) static int known_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

/* This program, which is mapped where the linker's names are. */
TEST(names_of_this_program)
{
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ 0 });
	struct image image;
	unsigned long start, end, offset, address = (unsigned long)known_function;
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	char line[4096];
	FILE *self = fopen("/proc/self/exe", "r"), *maps = fopen("/proc/self/maps", "r");
	int seen = 0;

	CHECK(self && maps);
	image = file_image(0, fileno(self));
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3 ||
		    address < start || address >= end)
			continue;
		CHECK_EQ(symbolizer_user(s, &image, address - start + offset, out), 1);
		CHECK_STR(out->name, "known_function");
		CHECK(strstr(out->file, "/tests/unit/test_symbolizer.c") != NULL);
		CHECK(out->line >= known_line && out->line < known_line + 4);
		seen = 1;
	}
	CHECK(seen);
	CHECK_EQ(known_function(1), 2);
	fclose(maps);
	fclose(self);
	symbolizer_free(s);
}

/* As whoever runs the tests sees the kernel: named, or hidden, but told either way. */
TEST(names_of_the_kernel)
{
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ 0 });
	unsigned long long address = 0;
	char line[1024], name[512], type;
	FILE *f = fopen("/proc/kallsyms", "r");
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	const char *module;
	int err;

	CHECK_EQ(symbolizer_kernel_hidden(s), 0);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %511s", &address, &type, name) == 3 &&
		    !strcmp(name, "vfs_read"))
			break;
	if (f)
		fclose(f);
	err = symbolizer_kernel(s, address + 4, out, &module);
	if (f && address) {
		CHECK(err > 0);
		CHECK_STR(out[err > 0 ? err - 1 : 0].name, "vfs_read");
		CHECK_STR(module, "[kernel]");
		CHECK_EQ(symbolizer_kernel(s, 0x1000, out, &module), -ENOENT);
		CHECK_EQ(symbolizer_kernel_hidden(s), 0);
	} else {
		CHECK_EQ(err, f ? -EPERM : -ENOENT);
		CHECK_EQ(symbolizer_kernel_hidden(s), f != NULL);
	}
	symbolizer_free(s);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fwrite(bytes, 1, n, f) == n);
	if (f)
		fclose(f);
}

/* The names of two kernel addresses, and whether what was found is kept. */
static void check_kernel(const struct symbolizer_options *o, const char *built_in,
			 const char *in_module)
{
	struct symbolizer *s = symbolizer_new(o);
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	const char *module = "";

	CHECK_EQ(symbolizer_kernel(s, 0xffffffff81000104, out, &module), 1);
	CHECK_STR(out->name, built_in);
	CHECK_STR(module, "[kernel]");
	if (in_module) {
		CHECK_EQ(symbolizer_kernel(s, 0xffffffffc0000004, out, &module), 1);
		CHECK_STR(out->name, in_module);
		CHECK_STR(module, "[m]");
	}
	symbolizer_save(s);
	symbolizer_free(s);
}

/* The kernel's own functions are read once for each kernel; what is loaded into it, always. */
TEST(functions_of_the_kernel_are_kept)
{
	static const char before[] = "ffffffff81000000 T _stext\nffffffff81000100 t a\n"
				     "ffffffff81000200 T z\nffffffffc0000000 t c\t[m]\n",
			  now[] = "ffffffff81000000 T _stext\nffffffff81000100 t b\n"
				  "ffffffff81000200 T z\nffffffffc0000000 t d\t[m]\n";
	/* Sizes, NT_GNU_BUILD_ID, "GNU", the id. */
	struct { uint32_t head[3]; char name[4]; uint8_t id[20]; } notes = {
		{ 4, 20, 3 }, "GNU", { 1, 2, 3 }
	};
	char dir[] = "/tmp/ebprof-kernel-XXXXXX", kallsyms[64], id[64], command[64];
	struct symbolizer_options o = { .kernel = { .kallsyms = kallsyms, .notes = id } };
	const struct user user = { 0 };

	CHECK(mkdtemp(dir) && !setenv("XDG_CACHE_HOME", dir, 1));
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", dir);
	snprintf(id, sizeof(id), "%s/notes", dir);
	write_file(kallsyms, before, sizeof(before) - 1);
	write_file(id, &notes, sizeof(notes));
	o.store = name_store_new(&user);
	check_kernel(&o, "a", NULL);
	/* It would be this one, if it was read. */
	write_file(kallsyms, now, sizeof(now) - 1);
	check_kernel(&o, "a", NULL);
	check_kernel(&o, "a", "d");
	notes.id[0]++;
	write_file(id, &notes, sizeof(notes));
	check_kernel(&o, "b", "d");
	name_store_free(o.store);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(!system(command));
}

int main(void)
{
	RUN(names_of_a_file);
	RUN(short_names_of_templates);
	RUN(memory_of_many_files);
	RUN(why_there_is_no_name);
	RUN(names_of_the_vdso);
	RUN(names_of_this_program);
	RUN(names_of_the_kernel);
	RUN(functions_of_the_kernel_are_kept);
	return TEST_END();
}
