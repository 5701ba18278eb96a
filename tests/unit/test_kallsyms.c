/* SPDX-License-Identifier: MIT */
#include "symbols/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "elf_image.h"
#include "test.h"

/* A table from @n bytes of @text. */
static struct kallsyms *load(const char *text, size_t n)
{
	int fd = memory_file(text, n), err;
	struct kallsyms *k;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	k = kallsyms_new(path);
	err = errno;
	close(fd);
	errno = err;
	return k;
}

#define LOAD(text) load(text, sizeof(text) - 1)

static const char *at(const struct kallsyms *k, uint64_t address)
{
	static char text[700];
	struct kallsyms_symbol s;

	if (!k || kallsyms_find(k, address, &s))
		return "-";
	snprintf(text, sizeof(text), "%s+0x%llx %s", s.name,
		 (unsigned long long)(address - s.start), s.module);
	return text;
}

/* What is reserved before a function is the function's: by whatever name that goes in the end. */
TEST(prefixes)
{
	struct kallsyms *k = LOAD(
		"ffffffff81000000 T _stext\n"
		"ffffffff81000010 t __pfx_one\n"
		"ffffffff81000020 t one\n"
		"ffffffff81000100 T __pfx_two\n"
		"ffffffff81000100 t __pfx___two\n"
		"ffffffff81000110 t __two\n"
		"ffffffff81000110 T two\n"
		"ffffffff81000200 t three\n"
		"ffffffff81000300 t __pfx_\n"
		"ffffffff81000310 t __pfx_far\n"
		"ffffffff81000400 t four\n"
		"ffffffffc0001010 t two\t[ext4]\n"
		"ffffffffc0001000 t __pfx_two\t[ext4]");

	CHECK(k != NULL);
	CHECK_STR(at(k, 0xffffffff8100000f), "_stext+0xf [kernel]");
	CHECK_STR(at(k, 0xffffffff81000010), "one+0xfffffffffffffff0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000020), "one+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff810000ff), "one+0xdf [kernel]");
	CHECK_STR(at(k, 0xffffffff81000101), "two+0xfffffffffffffff1 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000111), "two+0x1 [kernel]");
	CHECK_STR(at(k, 0xffffffff810001ff), "two+0xef [kernel]");
	CHECK_STR(at(k, 0xffffffff81000301), "__pfx_+0x1 [kernel]");
	CHECK_STR(at(k, 0xffffffff810003ff), "__pfx_+0xff [kernel]");
	CHECK_STR(at(k, 0xffffffff81000400), "four+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffffc0001001), "__pfx_two+0x1 [ext4]");
	CHECK_STR(at(k, 0xffffffffc0001010), "two+0x0 [ext4]");
	kallsyms_free(k);
}

TEST(labels_are_no_functions)
{
	struct kallsyms *k = LOAD(
		"ffffffff81000000 T _stext\n"
		"ffffffff81000010 T copy\n"
		"ffffffff8100001f t .E_copy\n"
		"ffffffff81000040 T next\n");

	CHECK_STR(at(k, 0xffffffff81000024), "copy+0x14 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000040), "next+0x0 [kernel]");
	kallsyms_free(k);
}

TEST(kernel_modules_and_bpf)
{
	struct kallsyms *k = LOAD(
		"ffffffff81000000 T _stext\n"
		"ffffffff81000100 t do_one\n"
		"ffffffff81000200 W weak_one\n"
		"ffffffff81000300 D data\n"
		"ffffffff81000300 r __ksymtab\n"
		"ffffffffc0001000 t ext4_read\t[ext4]\n"
		"ffffffffc0001100 T ext4_write\t[ext4]\n"
		"ffffffffc0000000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
		"ffffffffa0200000 t ftrace_trampoline\t[__builtin__ftrace]\n"
		"ffffffff80001000 t below\t[low]\n"
		"ffffffffc0002000 t last\t[ext4]");

	CHECK(k != NULL);
	CHECK_STR(at(k, 0xffffffff80001004), "below+0x4 [low]");
	CHECK_STR(at(k, 0xffffffff81000000), "_stext+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff810001ff), "do_one+0xff [kernel]");
	CHECK_STR(at(k, 0xffffffff81000340), "weak_one+0x140 [kernel]");
	CHECK_STR(at(k, 0xffffffffc0000010), "bpf_prog_6deef7357e7b4530_sd_fw+0x10 [bpf]");
	CHECK_STR(at(k, 0xffffffffa0200001), "ftrace_trampoline+0x1 [__builtin__ftrace]");
	CHECK_STR(at(k, 0xffffffffc0001101), "ext4_write+0x1 [ext4]");
	CHECK_STR(at(k, 0xffffffffc0002001), "last+0x1 [ext4]");
	kallsyms_free(k);
}

TEST(beyond_the_functions)
{
	struct kallsyms *k = LOAD("ffffffff81000000 T a\nffffffff81000100 T b\n");

	CHECK_STR(at(k, 0xffffffff80ffffff), "-");
	CHECK_STR(at(k, 0xffffffff81000100), "b+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff91000100), "-");
	CHECK_STR(at(k, UINT64_MAX), "-");
	CHECK_STR(at(k, 0x7fff12345678), "-");
	CHECK_STR(at(k, 0), "-");
	kallsyms_free(k);
}

TEST(one_name_for_an_address)
{
	struct kallsyms *k = LOAD(
		"ffffffff81000000 t local\nffffffff81000000 W weak\nffffffff81000000 T __global\n"
		"ffffffff81000000 T global\nffffffff81000000 T _global\n"
		"ffffffff81000100 W a\nffffffff81000100 t b\n");

	CHECK_STR(at(k, 0xffffffff81000008), "global+0x8 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000108), "a+0x8 [kernel]");
	kallsyms_free(k);
}

TEST(hidden_addresses)
{
	struct kallsyms *k = LOAD("0000000000000000 T _stext\n0000000000000000 t x\t[ext4]\n");

	CHECK(!k && errno == EPERM);
	k = LOAD("");
	CHECK(!k && errno == ENODATA);
	k = LOAD("ffffffff81000000 D data\n");
	CHECK(!k && errno == ENODATA);
	k = kallsyms_new("/nonexistent/kallsyms");
	CHECK(!k && errno == ENOENT);
	k = kallsyms_new("/proc/self");
	CHECK(!k && errno == EISDIR);
}

TEST(odd_lines_are_skipped)
{
	struct kallsyms *k = LOAD(
		"\n \nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \nxyz T a\n"
		"fffffffff81000000 T seventeen_digits\nFFFFFFFF81000000 T upper_case\n"
		"00007fff00001000 T user_half\n ffffffff81000000 T indented\nffffffff81000000  T "
		"two_spaces\n"
		"ffffffff81000200 T mod\t[]\nffffffff81000300 T mod2\t[unclosed\n"
		"ffffffff81000400 T nul\0inside\t[m]\nffffffff81000500 t esc\t[a\033[2Jb]\n"
		"ffffffff81000100 T good\n");

	CHECK_STR(at(k, 0xffffffff81000001), "-");
	CHECK_STR(at(k, 0xffffffff81000100), "good+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000200), "mod+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000300), "mod2+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000400), "nul+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000500), "esc+0x0 [a\\x1b[2Jb]");
	kallsyms_free(k);
}

/* More than one chunk; a name that is too long; a line that is longer than a chunk. */
TEST(chunks)
{
	enum { N = 40000 };
	char *text = malloc(N * 64 + 700000), *p = text;
	struct kallsyms *k;

	for (int i = 0; i < N; i++) {
		p += sprintf(p, "%016llx t function_%d\t[m%d]\n",
			     0xffffffff81000000ull + 16ull * (unsigned int)i, i, i % 5);
		if (i == 100) {
			p += sprintf(p, "ffffffff80000000 T ");
			memset(p, 'x', 600000);
			p += 600000;
			*p++ = '\n';
		}
		if (i == 200) {
			p += sprintf(p, "ffffffff80000000 T ");
			memset(p, 'y', 512);
			p += 512;
			*p++ = '\n';
		}
	}
	k = load(text, (size_t)(p - text));
	CHECK_STR(at(k, 0xffffffff80000000), "-");
	for (int i = 0; i < N; i++) {
		char expected[64];

		snprintf(expected, sizeof(expected), "function_%d+0x3 [m%d]", i, i % 5);
		CHECK_STR(at(k, 0xffffffff81000003ull + 16ull * (unsigned int)i), expected);
		if (!test_ok)
			break;
	}
	kallsyms_free(k);
	free(text);
}

static const char kernel[] =
	"0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n"
	"ffffffff81000010 T _stext\nffffffff81000100 t a\nffffffff81000200 T __pfx_b\n"
	"ffffffff81000210 T b\nffffffff81000300 T _etext\nffffffffc0000000 t c\t[m]\n";

/* What is built in is known, wherever the kernel is; what is not is left to the whole table. */
TEST(kept_and_moved)
{
	const uint64_t moved = 0x7000000;
	struct kallsyms *k = LOAD(kernel);
	size_t size;
	unsigned char *bytes = kallsyms_write(k, &size);

	kallsyms_free(k);
	k = kallsyms_of_kept(bytes, size, 0xffffffff81000010 + moved);
	CHECK(k != NULL);
	CHECK_EQ(kallsyms_stext(k), 0xffffffff81000010 + moved);
	CHECK_STR(at(k, 0xffffffff81000180 + moved), "a+0x80 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000200 + moved), "b+0xfffffffffffffff0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000210 + moved), "b+0x0 [kernel]");
	CHECK_STR(at(k, 0xffffffff81000008 + moved), "-");
	CHECK_STR(at(k, 0xffffffff81000300 + moved), "-");
	CHECK_STR(at(k, 0xffffffffc0000000), "-");
	kallsyms_free(k);
	/* Cut, or another one's. */
	for (size_t n = 0; n < size; n++)
		CHECK(!kallsyms_of_kept(bytes, n, 0xffffffff81000010) && errno == EBADMSG);
	CHECK(!kallsyms_of_kept(bytes, size, 0));
	for (size_t i = 0; i < size; i++) {
		unsigned char before = bytes[i];

		bytes[i] = 0xff;
		k = kallsyms_of_kept(bytes, size, 0xffffffff81000010);
		for (uint64_t a = 0xffffffff81000000; k && a < 0xffffffff81000310; a += 8)
			at(k, a);
		kallsyms_free(k);
		bytes[i] = before;
	}
	free(bytes);
}

TEST(stext_alone)
{
	int fd = memory_file(kernel, sizeof(kernel) - 1);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK_EQ(kallsyms_read_stext(path), 0xffffffff81000010);
	CHECK_EQ(kallsyms_read_stext("/nowhere"), 0);
	close(fd);
}

int main(void)
{
	RUN(prefixes);
	RUN(labels_are_no_functions);
	RUN(kernel_modules_and_bpf);
	RUN(beyond_the_functions);
	RUN(one_name_for_an_address);
	RUN(hidden_addresses);
	RUN(odd_lines_are_skipped);
	RUN(chunks);
	RUN(kept_and_moved);
	RUN(stext_alone);
	return TEST_END();
}
