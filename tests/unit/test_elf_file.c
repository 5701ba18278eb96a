/* SPDX-License-Identifier: MIT */
#include "elf/elf_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "elf_image.h"
#include "test.h"

static struct elf_image image;

static struct elf_file *open_image(void)
{
	return elf_file_open_memory(image.bytes, image.size);
}

static void plain_image(void)
{
	elf_image_begin(&image);
	elf_image_symbol(&image, 0, "main", 0x401000, 16, STT_FUNC, STB_GLOBAL, IMAGE_TEXT);
	elf_image_end(&image);
}

TEST(reads_headers_sections_and_segments)
{
	const struct elf_section *s;
	const struct elf_segment *p;
	struct elf_file *f;

	plain_image();
	f = open_image();
	CHECK(f != NULL);
	if (!f)
		return;
	CHECK(elf_file_is64(f));
	CHECK_EQ(elf_file_type(f), ET_EXEC);
	CHECK_EQ(elf_file_machine(f), EM_X86_64);
	CHECK_EQ(elf_file_sections(f, &s), IMAGE_SECTIONS);
	CHECK_EQ(elf_file_segments(f, &p), 3);
	CHECK_STR(s[IMAGE_TEXT].name, ".text");
	CHECK_EQ(s[IMAGE_TEXT].addr, 0x401000);
	CHECK_EQ(p[1].vaddr, 0x502000);
	CHECK(elf_file_section(f, ".dynstr") == &s[IMAGE_DYNSTR]);
	CHECK(elf_file_section(f, ".nothing") == NULL);
	elf_file_free(f);
}

TEST(a_file_reads_as_memory_does)
{
	char a[64], b[64];
	struct elf_file *f;
	int fd;

	plain_image();
	fd = memory_file(image.bytes, image.size);
	f = elf_file_open(fd);
	CHECK(f != NULL);
	if (f) {
		CHECK_EQ(elf_file_read(f, 0x1000, a, sizeof(a)), 0);
		memcpy(b, image.bytes + 0x1000, sizeof(b));
		CHECK(!memcmp(a, b, sizeof(a)));
		CHECK_EQ(elf_file_read(f, image.size - 63, a, 64), -EBADMSG);
		CHECK_EQ(elf_file_read(f, UINT64_MAX, a, 2), -EBADMSG);
		CHECK_EQ(ftruncate(fd, 100), 0);
		CHECK_EQ(elf_file_read(f, 90, a, 64), -EBADMSG);
	}
	elf_file_free(f);
	close(fd);
}

TEST(a_string_ends_with_its_zero_its_table_or_its_room)
{
	char s[400], tiny[4];
	struct elf_file *f;

	plain_image();
	memset(image.bytes + 0x1000, 'n', 300);
	image.bytes[0x1000 + 300] = '\0';
	f = open_image();
	CHECK_EQ(elf_file_string(f, 0x1000, 0x1200, s, sizeof(s)), 0);
	CHECK_EQ(strlen(s), 300);
	CHECK_EQ(elf_file_string(f, 0x1000, 0x1000 + 70, s, sizeof(s)), 0);
	CHECK_EQ(strlen(s), 70);
	CHECK_EQ(elf_file_string(f, 0x1000, 0x1200, tiny, sizeof(tiny)), 0);
	CHECK_STR(tiny, "nnn");
	CHECK_EQ(elf_file_string(f, 0x1000, 0x1200, tiny, 1), 0);
	CHECK_STR(tiny, "");
	CHECK_EQ(elf_file_string(f, 0x1000, 0x1000, s, sizeof(s)), -EBADMSG);
	CHECK_EQ(elf_file_string(f, image.size - 1, UINT64_MAX, s, sizeof(s)), -EBADMSG);
	CHECK_EQ(elf_file_string(f, UINT64_MAX - 1, UINT64_MAX, s, sizeof(s)), -EBADMSG);
	elf_file_free(f);
}

TEST(addresses_follow_the_segments)
{
	struct elf_file *f;
	uint64_t v = 0;

	plain_image();
	/* The same bytes as data as well: the executable segment counts. */
	image.segments[2] = image.segments[1];
	image.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R,
					  .p_offset = 0x2000,
					  .p_vaddr = 0x900000,
					  .p_filesz = 0x200,
					  .p_memsz = 0x200 };
	f = open_image();
	CHECK(f != NULL);
	if (!f)
		return;
	CHECK_EQ(elf_file_vaddr(f, 0x1010, &v), 0);
	CHECK_EQ(v, 0x401010);
	CHECK_EQ(elf_file_vaddr(f, 0x20ff, &v), 0);
	CHECK_EQ(v, 0x5020ff);
	CHECK_EQ(elf_file_vaddr(f, 0x2100, &v), 0);
	CHECK_EQ(v, 0x900100);
	CHECK_EQ(elf_file_vaddr(f, 0x2200, &v), -ENOENT);
	CHECK_EQ(elf_file_vaddr(f, UINT64_MAX, &v), -ENOENT);
	elf_file_free(f);
}

TEST(finds_the_build_id)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_file *f;

	plain_image();
	f = open_image();
	CHECK_EQ(elf_file_build_id(f, id), 8);
	CHECK(!memcmp(id, "\0\1\2\3\4\5\6\7", 8));
	elf_file_free(f);

	image.segments[2].p_type = PT_NULL;	/* from the section now */
	f = open_image();
	CHECK_EQ(elf_file_build_id(f, id), 8);
	elf_file_free(f);

	/* Longer than the kernel takes (the bytes behind are there), then longer than the note. */
	image.sections[IMAGE_NOTE].sh_size = 40;
	memcpy(image.bytes + image.sections[IMAGE_NOTE].sh_offset + 4, &(uint32_t){ 21 }, 4);
	f = open_image();
	CHECK_EQ(elf_file_build_id(f, id), 0);
	elf_file_free(f);
	memcpy(image.bytes + image.sections[IMAGE_NOTE].sh_offset + 4, &(uint32_t){ UINT32_MAX },
	       4);
	f = open_image();
	CHECK_EQ(elf_file_build_id(f, id), 0);
	elf_file_free(f);
}

TEST(section_data_is_bounded)
{
	const struct elf_section *s;
	struct elf_file *f;
	size_t size = 0;
	char *data;

	plain_image();
	image.sections[IMAGE_COLD].sh_flags |= SHF_COMPRESSED;
	image.sections[IMAGE_DYNSTR].sh_size = 1ull << 40;
	image.sections[IMAGE_DYNSYM].sh_offset = UINT64_MAX - 4;
	f = open_image();
	CHECK(f != NULL);
	if (!f)
		return;
	elf_file_sections(f, &s);
	data = elf_file_section_data(f, &s[IMAGE_STRTAB], 1000, &size);
	CHECK(data != NULL);
	CHECK_EQ(size, 6);
	CHECK(data && !memcmp(data, "\0main\0\0", 7));
	free(data);
	CHECK(!elf_file_section_data(f, &s[IMAGE_STRTAB], 5, &size) && errno == EFBIG);
	CHECK(!elf_file_section_data(f, &s[IMAGE_DATA], 100000, &size) && errno == EBADMSG);
	CHECK(!elf_file_section_data(f, &s[IMAGE_COLD], 100000, &size) && errno == ENOTSUP);
	CHECK(!elf_file_section_data(f, &s[IMAGE_DYNSTR], SIZE_MAX, &size) && errno == EBADMSG);
	CHECK(!elf_file_section_data(f, &s[IMAGE_DYNSYM], 100000, &size) && errno == EBADMSG);
	elf_file_free(f);
}

/* Header counts that do not fit stand in section 0. */
TEST(extended_counts)
{
	const struct elf_section *s;
	const struct elf_segment *p;
	struct elf_file *f;

	plain_image();
	image.header->e_shnum = 0;
	image.header->e_shstrndx = SHN_XINDEX;
	image.header->e_phnum = PN_XNUM;
	image.sections[0].sh_size = IMAGE_SECTIONS;
	image.sections[0].sh_link = IMAGE_SHSTRTAB;
	image.sections[0].sh_info = 3;
	f = open_image();
	CHECK(f != NULL);
	if (!f)
		return;
	CHECK_EQ(elf_file_sections(f, &s), IMAGE_SECTIONS);
	CHECK_STR(s[IMAGE_TEXT].name, ".text");
	CHECK_EQ(elf_file_segments(f, &p), 3);
	elf_file_free(f);
}

/* Linkers write a dozen; each address that is looked up may lead through all of them. */
TEST(crowds_of_segments)
{
	enum { MOST = 1024 };
	static struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[MOST + 1];
	} crowd;

	plain_image();
	crowd.head = *image.header;
	crowd.head.e_shoff = 0;
	for (unsigned n = MOST; n <= MOST + 1; n++) {
		const struct elf_segment *p;
		struct elf_file *f;

		crowd.head.e_phnum = (uint16_t)n;
		f = elf_file_open_memory(&crowd, sizeof(crowd));
		CHECK_EQ(f ? elf_file_segments(f, &p) : 0, n > MOST ? 0 : MOST);
		elf_file_free(f);
	}
}

TEST(damaged_sections_leave_the_segments)
{
	const struct elf_section *s;
	struct elf_file *f;
	uint64_t v;

	for (int i = 0; i < 5; i++) {
		plain_image();
		switch (i) {
		case 0: image.header->e_shoff = UINT64_MAX - 8; break;
		case 1: image.header->e_shnum = 0xfff0; break;
		case 2: image.header->e_shentsize = 40; break;
		case 3:
			image.header->e_shnum = 0;
			image.sections[0].sh_size = UINT64_MAX / 64;
			break;
		case 4: image.header->e_shoff = 0; break;
		}
		f = open_image();
		CHECK(f != NULL);
		if (!f)
			continue;
		CHECK_EQ(elf_file_sections(f, &s), 0);
		CHECK_EQ(elf_file_vaddr(f, 0x1000, &v), 0);
		elf_file_free(f);
	}
	/* Damaged names are no names. */
	plain_image();
	image.sections[IMAGE_TEXT].sh_name = UINT32_MAX;
	f = open_image();
	CHECK_EQ(elf_file_sections(f, &s), IMAGE_SECTIONS);
	CHECK_STR(s[IMAGE_TEXT].name, "");
	elf_file_free(f);
}

TEST(refuses_what_is_not_elf)
{
	int fds[2];

	plain_image();
	image.header->e_ident[EI_DATA] = ELFDATA2MSB;
	CHECK(!open_image() && errno == ENOEXEC);
	plain_image();
	image.header->e_ident[EI_CLASS] = 3;
	CHECK(!open_image() && errno == ENOEXEC);
	CHECK(!elf_file_open_memory("#!/bin/sh\necho hello\n", 21) && errno == ENOEXEC);
	CHECK(!elf_file_open_memory("", 0) && errno == ENOEXEC);
	plain_image();
	image.header->e_phoff = 1ull << 63;
	CHECK(!open_image() && errno == EBADMSG);
	plain_image();
	image.header->e_phnum = 60000;
	CHECK(!open_image() && errno == EBADMSG);
	CHECK(!elf_file_open(-1) && errno == EBADF);
	fds[0] = open("/", O_RDONLY | O_CLOEXEC);
	CHECK(!elf_file_open(fds[0]) && errno == ENOEXEC);
	close(fds[0]);
	CHECK_EQ(pipe(fds), 0);
	CHECK(!elf_file_open(fds[0]) && errno == ENOEXEC);
	close(fds[0]);
	close(fds[1]);
}

TEST(truncated_at_every_byte)
{
	uint8_t id[ELF_BUILD_ID_MAX];

	plain_image();
	for (size_t n = 0; n < image.size; n += n < 0x200 || n > 0x2000 ? 1 : 97) {
		void *copy = malloc(n ? n : 1);		/* so that a sanitizer sees its end */
		struct elf_file *f;

		memcpy(copy, image.bytes, n);
		f = elf_file_open_memory(copy, n);
		if (f)
			elf_file_build_id(f, id);
		elf_file_free(f);
		free(copy);
	}
}

/* 1 TiB of zeros with counts to match: neither much memory nor much time. */
TEST(huge_sparse_file)
{
	struct timespec a, b;
	struct elf_file *f;
	uint8_t id[ELF_BUILD_ID_MAX];
	int fd;

	plain_image();
	image.header->e_shoff = 1ull << 39;
	image.header->e_shnum = 65000;
	image.header->e_phoff = 1ull << 38;
	image.header->e_phnum = 1024;
	fd = memory_file(image.bytes, image.size);
	CHECK_EQ(ftruncate(fd, 1ll << 40), 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	f = elf_file_open(fd);
	CHECK(f != NULL);
	if (f)
		CHECK_EQ(elf_file_build_id(f, id), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK(b.tv_sec - a.tv_sec < 5);
	elf_file_free(f);
	close(fd);
}

int main(void)
{
	RUN(reads_headers_sections_and_segments);
	RUN(a_file_reads_as_memory_does);
	RUN(a_string_ends_with_its_zero_its_table_or_its_room);
	RUN(addresses_follow_the_segments);
	RUN(finds_the_build_id);
	RUN(section_data_is_bounded);
	RUN(extended_counts);
	RUN(crowds_of_segments);
	RUN(damaged_sections_leave_the_segments);
	RUN(refuses_what_is_not_elf);
	RUN(truncated_at_every_byte);
	RUN(huge_sparse_file);
	return TEST_END();
}
