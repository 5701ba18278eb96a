/* SPDX-License-Identifier: MIT */
/*
 * From ELF files to tables: which code is covered by what. Blocks are test_unwind_pack's, rows
 * test_unwind_rule's.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "table_image.h"
#include "test.h"
#include "unwind/table/build.h"

#define GAP	(EBP_RULE_SPECIAL | EBP_RULE_GAP)
#define STOP	(EBP_RULE_SPECIAL | EBP_RULE_STOP)
#define PLT10	(EBP_RULE_SPECIAL | EBP_RULE_PLT10)
#define PLT11	(EBP_RULE_SPECIAL | EBP_RULE_PLT11)

/* CFA = rsp + 8 * n from the start of the code. */
#define FRAME(n) BYTES(0x0e, 8 * (n))

static struct table_image image;

static size_t begin_cfi(struct bytes *s)
{
	s->n = 0;
	return add_cie(s, 0, 16, BYTES(X86_INITIAL));
}

/* The table of `image`, which is complete but for its headers. */
static struct unwind_table build(uint16_t machine)
{
	struct elf_file *elf = image_end(&image);
	struct unwind_table t = { 0 };

	CHECK(elf != NULL);
	if (elf)
		CHECK_EQ(unwind_table_build_for(machine, elf, NULL, &t), 0);
	elf_file_free(elf);
	return t;
}

/* The rule of the code's byte @at. */
static int rule(const struct unwind_table *t, uint64_t at)
{
	return unwind_table_rule(t, IMAGE_CODE + at);
}

/*
 * Three functions in disorder: rules are found by offset in the file, which is
 * not the address; small holes belong to what precedes.
 */
TEST(functions)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE + 0x200, 0x100, FRAME(4));
	add_fde(&s, cie, CODE + 0x100, 0x31, BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	add_fde(&s, cie, CODE + 0x140, 0x10, FRAME(3));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	t = build(EM_X86_64);
	CHECK_EQ(t.flags, 0);
	CHECK_EQ(rule(&t, 0xff), GAP);
	CHECK_EQ(rule(&t, 0x100), 1);
	CHECK_EQ(rule(&t, 0x101), 2 | 1 << EBP_RULE_SAVED_SHIFT);
	CHECK_EQ(rule(&t, 0x103), 2 | 1 << EBP_RULE_SAVED_SHIFT);
	CHECK_EQ(rule(&t, 0x104), EBP_RULE_FP_BASE | 2 | 1 << EBP_RULE_SAVED_SHIFT);
	CHECK_EQ(rule(&t, 0x13f), EBP_RULE_FP_BASE | 2 | 1 << EBP_RULE_SAVED_SHIFT);
	CHECK_EQ(rule(&t, 0x140), 3);
	CHECK_EQ(rule(&t, 0x14f), 3);
	CHECK_EQ(rule(&t, 0x150), GAP);
	CHECK_EQ(rule(&t, 0x2ff), 4);
	CHECK_EQ(rule(&t, 0x300), GAP);
	CHECK_EQ(t.code, 0x100 + 0x31 + 0x10);
	unwind_table_free(&t);
}

/* Padding of 15 bytes is covered, of 16 not. */
TEST(padding)
{
	for (int more = 0; more < 2; more++) {
		struct unwind_table t;
		struct bytes s;
		size_t cie = begin_cfi(&s);

		add_fde(&s, cie, CODE, 1, FRAME(2));
		add_fde(&s, cie, CODE + 16 + (unsigned)more, 16, FRAME(3));
		image_begin(&image, EM_X86_64);
		image_frames(&image, ".eh_frame", &s);
		t = build(EM_X86_64);
		CHECK_EQ(rule(&t, 1), more ? GAP : 2);
		CHECK_EQ(rule(&t, 15 + more), more ? GAP : 2);
		CHECK_EQ(rule(&t, 16 + more), 3);
		unwind_table_free(&t);
	}
}

/*
 * The later start holds; of one start, the longer; what was covered behind the later one is a gap.
 */
TEST(overlapping)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE, 0x100, FRAME(2));
	add_fde(&s, cie, CODE + 0x40, 0x40, FRAME(3));
	add_fde(&s, cie, CODE + 0x60, 0x80, FRAME(4));
	add_fde(&s, cie, CODE + 0x60, 0x10, FRAME(5));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	t = build(EM_X86_64);
	CHECK_EQ(rule(&t, 0x3f), 2);
	CHECK_EQ(rule(&t, 0x40), 3);
	CHECK_EQ(rule(&t, 0x5f), 3);
	CHECK_EQ(rule(&t, 0x60), 4);
	CHECK_EQ(rule(&t, 0xdf), 4);
	CHECK_EQ(rule(&t, 0xe0), GAP);
	unwind_table_free(&t);
}

/* What lies outside of the executable segment is cut, or not taken at all; 2^64 is no trap. */
TEST(outside_of_the_segment)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE + 0x800, IMAGE_CODE_SIZE, FRAME(2));
	add_fde(&s, cie, CODE - 0x10, 0x20, FRAME(3));
	add_fde(&s, cie, CODE + IMAGE_CODE_SIZE, 0x20, FRAME(4));
	add_fde(&s, cie, CODE + 0x900, UINT64_MAX - CODE - 0x900, FRAME(5));
	add_fde(&s, cie, CODE + 0xa00, UINT64_MAX - 0x10, FRAME(6));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	t = build(EM_X86_64);
	CHECK_EQ(rule(&t, 0), GAP);
	CHECK_EQ(rule(&t, 0x8ff), 2);
	CHECK_EQ(rule(&t, IMAGE_CODE_SIZE - 1), 5);
	CHECK_EQ(rule(&t, IMAGE_CODE_SIZE), GAP);
	unwind_table_free(&t);
}

/* A segment that ends where offsets do: the last row would not fit in 32 bits. */
TEST(the_last_offset)
{
	for (uint64_t less = 0; less < 2; less++) {
		struct unwind_table t;
		struct bytes s;
		size_t cie = begin_cfi(&s);

		add_fde(&s, cie, CODE + 0x10, 1ull << 40, FRAME(2));
		image_begin(&image, EM_X86_64);
		image_frames(&image, ".eh_frame", &s);
		image.segments[0].p_offset = 0xfffff000;
		image.segments[0].p_filesz = image.segments[0].p_memsz = 0x1000 - less;
		t = build(EM_X86_64);
		CHECK_EQ(unwind_table_rule(&t, 0xfffff00f), GAP);
		CHECK_EQ(unwind_table_rule(&t, 0xfffff010), less ? 2 : GAP);
		CHECK_EQ(unwind_table_rule(&t, 0xfffffffe), less ? 2 : GAP);
		CHECK(t.npages < 2);
		unwind_table_free(&t);
	}
}

/* A damaged program counts up to the damage. */
TEST(damaged_program)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE, 0x40, BYTES(0x50, 0x0e, 16, 0x50, 0x3f));
	add_fde(&s, cie, CODE + 0x40, 0x40, BYTES(0x3f));
	add_fde(&s, cie, CODE + 0x80, 0x10, FRAME(3));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	t = build(EM_X86_64);
	CHECK_EQ(rule(&t, 0), 1);
	CHECK_EQ(rule(&t, 0x10), 2);
	CHECK_EQ(rule(&t, 0x20), GAP);
	CHECK_EQ(rule(&t, 0x40), GAP);
	CHECK_EQ(rule(&t, 0x7f), GAP);
	CHECK_EQ(rule(&t, 0x80), 3);
	unwind_table_free(&t);
}

/* Equal exotic rules are kept once. */
TEST(exotic_rules)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE, 0x10, BYTES(0x0c, 10, 0));
	add_fde(&s, cie, CODE + 0x20, 0x10, BYTES(0x0c, 10, 8));
	add_fde(&s, cie, CODE + 0x40, 0x10, BYTES(0x0c, 10, 0));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	t = build(EM_X86_64);
	CHECK_EQ(t.nexotic, 2);
	CHECK_EQ(rule(&t, 0), EBP_RULE_SPECIAL | EBP_RULE_EXOTIC);
	CHECK_EQ(rule(&t, 0x20), EBP_RULE_SPECIAL | (EBP_RULE_EXOTIC + 1));
	CHECK_EQ(rule(&t, 0x40), EBP_RULE_SPECIAL | EBP_RULE_EXOTIC);
	CHECK_EQ(t.exotic[0].cfa_reg, 10);
	CHECK_EQ(t.exotic[1].cfa_offset, 8);
	unwind_table_free(&t);
}

static size_t begin_debug(struct bytes *s)
{
	size_t start;

	s->n = 0;
	start = begin(s);
	put(s, 4, UINT32_MAX);
	put_bytes(s, BYTES(1, 0, 1, 0x78, 16, X86_INITIAL));
	return finish(s, start);
}

static void debug_fde(struct bytes *s, size_t cie, uint64_t code, uint64_t size,
		      const void *program, size_t length)
{
	size_t start = begin(s);

	put(s, 4, cie);
	put(s, 8, code);
	put(s, 8, size);
	put_bytes(s, program, length);
	finish(s, start);
}

/*
 * .debug_frame fills what .eh_frame leaves; a separate file's, what both leave; functions at 0 are
 * none.
 */
TEST(debug_frame_fills)
{
	static struct table_image separate;
	struct elf_file *elf, *debug;
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE + 0x100, 0x40, FRAME(2));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	cie = begin_debug(&s);
	debug_fde(&s, cie, CODE + 0x110, 0x100, FRAME(3));
	debug_fde(&s, cie, CODE + 0x80, 0x100, FRAME(4));
	debug_fde(&s, cie, 0, CODE + 0x70, FRAME(5));
	image_frames(&image, ".debug_frame", &s);
	elf = image_end(&image);
	image_begin(&separate, EM_X86_64);
	cie = begin_debug(&s);
	debug_fde(&s, cie, CODE + 0x90, 0x10, FRAME(6));
	debug_fde(&s, cie, CODE + 0x400, 0x10, FRAME(7));
	image_frames(&separate, ".debug_frame", &s);
	debug = image_end(&separate);
	CHECK_EQ(unwind_table_build_for(EM_X86_64, elf, debug, &t), 0);
	CHECK_EQ(rule(&t, 0x10), GAP);
	CHECK_EQ(rule(&t, 0x80), 4);
	CHECK_EQ(rule(&t, 0x90), 4);
	CHECK_EQ(rule(&t, 0x100), 2);
	CHECK_EQ(rule(&t, 0x13f), 2);
	CHECK_EQ(rule(&t, 0x140), GAP);
	CHECK_EQ(rule(&t, 0x400), 7);
	unwind_table_free(&t);
	elf_file_free(elf);
	elf_file_free(debug);
}

/* A compressed .debug_frame; one that claims to be far larger than it can be is not unpacked. */
TEST(compressed)
{
	static const struct {
		uint32_t type;
		uint64_t more;
		int taken;
	} heads[] = {
		{ ELFCOMPRESS_ZLIB, 0, 1 },
		{ ELFCOMPRESS_ZLIB, 1, 0 },
		{ ELFCOMPRESS_ZLIB, 1 << 20, 0 },
		{ 2, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		Elf64_Chdr head = { .ch_type = heads[i].type, .ch_addralign = 8 };
		uint8_t packed[1024];
		uLongf n = sizeof(packed) - sizeof(head);
		struct unwind_table t;
		struct bytes s;
		size_t cie = begin_debug(&s);

		debug_fde(&s, cie, CODE, 0x40, FRAME(2));
		head.ch_size = s.n + heads[i].more;
		memcpy(packed, &head, sizeof(head));
		CHECK_EQ(compress(packed + sizeof(head), &n, s.b, s.n), Z_OK);
		image_begin(&image, EM_X86_64);
		image_section(&image, ".debug_frame", 0, packed, sizeof(head) + n)->sh_flags =
			SHF_COMPRESSED;
		t = build(EM_X86_64);
		CHECK_EQ(rule(&t, 0), heads[i].taken ? 2 : GAP);
		CHECK_EQ(t.flags, heads[i].taken ? 0 : EBP_OBJECT_NO_CFI);
		unwind_table_free(&t);
	}
}

/* Section headers stripped: by way of PT_GNU_EH_FRAME, up to the terminator. */
TEST(stripped_headers)
{
	struct unwind_table t;
	struct bytes s, hdr = { 0 };
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE, 0x40, FRAME(2));
	put(&s, 4, 0);
	add_fde(&s, cie, CODE + 0x100, 0x40, FRAME(3));
	put_bytes(&hdr, BYTES(1, 0x1b, 0xff, 0xff));
	put(&hdr, 4, (uint64_t)(0x100 - 4));
	image_begin(&image, EM_X86_64);
	image_section(&image, "", VADDR - 0x100, hdr.b, hdr.n);
	image.n = image.sections[1].sh_offset + 0x100;
	image_frames(&image, "", &s);
	image.segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
					  .p_offset = image.sections[1].sh_offset,
					  .p_vaddr = VADDR - 0x100,
					  .p_filesz = hdr.n };
	image.segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R,
					  .p_offset = image.sections[2].sh_offset,
					  .p_vaddr = VADDR,
					  .p_filesz = s.n };
	image.nsegments = 3;
	t = build(EM_X86_64);
	CHECK_EQ(rule(&t, 0), 2);
	CHECK_EQ(rule(&t, 0x100), GAP);
	CHECK_EQ(t.flags, 0);
	unwind_table_free(&t);
}

static const uint8_t lazy[48] = {
	0xff, 0x35, 0,	  0,	0, 0, 0xff, 0x25, 0,	0, 0, 0, 0x0f, 0x1f,
	0x40, 0,    0xff, 0x25, 0, 0, 0,    0,	  0x68, 0, 0, 0, 0,    0xe9,
};
static const uint8_t lazy_ibt[48] = {
	0xff, 0x35, 0,	  0,	0, 0,	 0xff, 0x25, 0,	   0,	 0,
	0,    0x0f, 0x1f, 0x40, 0, 0xf3, 0x0f, 0x1e, 0xfa, 0x68,
};
static const uint8_t other[48] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53 };

TEST(plt)
{
	static const struct { const uint8_t *code; int head, push, entry; } plts[] = {
		{ lazy, 2, 3, PLT11 }, { lazy_ibt, 2, 3, PLT10 }, { other, GAP, GAP, GAP },
	};

	for (size_t i = 0; i < sizeof(plts) / sizeof(*plts); i++) {
		struct unwind_table t;

		image_begin(&image, EM_X86_64);
		image_section(&image, ".plt", CODE + 0x100, plts[i].code, 48);
		image_section(&image, ".plt.sec", CODE + 0x200, plts[i].code, 32);
		image_section(&image, ".plt.got", CODE + 0x300, plts[i].code, 16);
		t = build(EM_X86_64);
		CHECK_EQ(rule(&t, 0x100), plts[i].head);
		CHECK_EQ(rule(&t, 0x105), plts[i].head);
		CHECK_EQ(rule(&t, 0x106), plts[i].push);
		CHECK_EQ(rule(&t, 0x10f), plts[i].push);
		CHECK_EQ(rule(&t, 0x110), plts[i].entry);
		CHECK_EQ(rule(&t, 0x12f), plts[i].entry);
		CHECK_EQ(rule(&t, 0x130), GAP);
		CHECK_EQ(rule(&t, 0x21f), 1);
		CHECK_EQ(rule(&t, 0x220), GAP);
		CHECK_EQ(rule(&t, 0x30f), 1);
		unwind_table_free(&t);
	}
}

/* One that has an FDE is left to it; aarch64's saves nothing. */
TEST(plt_described)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie = begin_cfi(&s);

	add_fde(&s, cie, CODE + 0x100, 0x30, FRAME(9));
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	image_section(&image, ".plt", CODE + 0x100, lazy, 48);
	t = build(EM_X86_64);
	CHECK_EQ(rule(&t, 0x100), 9);
	CHECK_EQ(rule(&t, 0x12f), 9);
	unwind_table_free(&t);
	image_begin(&image, EM_AARCH64);
	image_section(&image, ".plt", CODE + 0x100, lazy, 48);
	t = build(EM_AARCH64);
	CHECK_EQ(rule(&t, 0x100), EBP_SAVED_NOTHING << EBP_RULE_SAVED_SHIFT);
	CHECK_EQ(rule(&t, 0x12f), EBP_SAVED_NOTHING << EBP_RULE_SAVED_SHIFT);
	unwind_table_free(&t);
}

TEST(init_and_fini)
{
	static const uint8_t init[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08,
					0x90, 0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	static const uint8_t fini[] = { 0x48, 0x83, 0xec, 0x10, 0x90, 0x90, 0x90,
					0x90, 0x90, 0x48, 0x83, 0xc4, 0x10, 0xc3 };
	struct unwind_table t;

	image_begin(&image, EM_X86_64);
	image_section(&image, ".init", CODE, init, sizeof(init));
	image_section(&image, ".fini", CODE + 0x100, fini, sizeof(fini));
	t = build(EM_X86_64);
	CHECK_EQ(rule(&t, 7), 1);
	CHECK_EQ(rule(&t, 8), 2);
	CHECK_EQ(rule(&t, 13), 2);
	CHECK_EQ(rule(&t, 14), 1);
	CHECK_EQ(rule(&t, 15), GAP);
	CHECK_EQ(rule(&t, 0x104), GAP);
	unwind_table_free(&t);
}

/*
 * An entry point without an FDE is a root, up to the next FDE or for 64 bytes; with one it is what
 * that says.
 */
TEST(entry)
{
	struct unwind_table t;
	struct bytes s;
	size_t cie;

	for (unsigned i = 0; i < 3; i++) {
		cie = begin_cfi(&s);
		add_fde(&s, cie, CODE + (i == 1 ? 0x120 : 0x200), 0x20, FRAME(3));
		if (i == 2)
			add_fde(&s, cie, CODE + 0xf0, 0x20, FRAME(4));
		image_begin(&image, EM_X86_64);
		image_frames(&image, ".eh_frame", &s);
		image.head.e_entry = CODE + 0x100;
		t = build(EM_X86_64);
		CHECK_EQ(rule(&t, 0xff), i == 2 ? 4 : GAP);
		CHECK_EQ(rule(&t, 0x100), i == 2 ? 4 : STOP);
		CHECK_EQ(rule(&t, 0x11f), i == 2 ? GAP : STOP);
		CHECK_EQ(rule(&t, 0x13f), i == 2 ? GAP : i == 1 ? 3 : STOP);
		CHECK_EQ(rule(&t, 0x140), GAP);
		unwind_table_free(&t);
	}
}

TEST(no_cfi)
{
	struct unwind_table t;

	image_begin(&image, EM_X86_64);
	image.head.e_entry = CODE;
	t = build(EM_X86_64);
	CHECK_EQ(t.flags, EBP_OBJECT_NO_CFI);
	CHECK_EQ(t.npages, 0);
	CHECK_EQ(rule(&t, 0), GAP);
	unwind_table_free(&t);
}

/*
 * Go's runtime by its names, before what CFI says of it; and rbp beside the return address of each
 * frame.
 */
TEST(go)
{
	static const char names[] =
		"\0runtime.goexit.abi0\0runtime.mcall\0runtime.sigreturn\0runtime.mcallers\0goexit";
	const Elf64_Sym symbols[] = {
		{ 0 }, { 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, CODE + 0x100, 0x10 },
		{ 21, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, CODE + 0x200, 0x10 },
		{ 35, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, CODE + 0x300, 0x10 },
		{ 53, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, CODE + 0x400, 0x10 },
		{ 70, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, CODE + 0x500, 0x10 },
	};
	struct unwind_table t;
	struct bytes s;

	for (int go = 0; go <= 1; go++) {
		size_t cie = begin_debug(&s);

		for (unsigned at = 0x100; at <= 0x500; at += 0x100)
			debug_fde(&s, cie, CODE + at, 0x10, BYTES(0x41, 0x0e, 32));
		image_begin(&image, EM_X86_64);
		image_frames(&image, ".debug_frame", &s);
		image_section(&image, ".symtab", 0, symbols, sizeof(symbols))->sh_link = 3;
		image_section(&image, ".strtab", 0, names, sizeof(names));
		image_section(&image, go ? ".note.go.buildid" : ".note", 0, "", 1);
		t = build(EM_X86_64);
		CHECK_EQ(rule(&t, 0x101), go ? STOP : 4);
		CHECK_EQ(rule(&t, 0x201), go ? STOP : 4);
		CHECK_EQ(rule(&t, 0x2ff), go ? EBP_RULE_SPECIAL | EBP_RULE_SIGNAL : GAP);
		CHECK_EQ(rule(&t, 0x301), go ? EBP_RULE_SPECIAL | EBP_RULE_SIGNAL : 4);
		CHECK_EQ(rule(&t, 0x400), 1);
		CHECK_EQ(rule(&t, 0x401), go ? 4 | 1 << EBP_RULE_SAVED_SHIFT : 4);
		CHECK_EQ(rule(&t, 0x501), go ? 4 | 1 << EBP_RULE_SAVED_SHIFT : 4);
		unwind_table_free(&t);
	}
}

/* A sparse file has as many bytes as it likes; a library of 200 MB has 8 MB of them. */
TEST(sections_too_large)
{
	for (int large = 0; large < 2; large++) {
		int fd = memfd_create("test", MFD_CLOEXEC);
		struct elf_file *elf;
		struct unwind_table t;
		struct bytes s;
		size_t cie = begin_cfi(&s);

		add_fde(&s, cie, CODE, 0x100, FRAME(4));
		put(&s, 4, 0);
		image_begin(&image, EM_X86_64);
		image_frames(&image, ".eh_frame", &s);
		if (large)
			image.sections[1].sh_size = (128u << 20) + 1;
		elf_file_free(image_end(&image));
		CHECK_EQ(write(fd, image.b, image.n), image.n);
		CHECK_EQ(ftruncate(fd, 256 << 20), 0);
		elf = elf_file_open(fd);
		CHECK(elf != NULL);
		if (!elf)
			return;
		CHECK_EQ(unwind_table_build_for(EM_X86_64, elf, NULL, &t), 0);
		CHECK_EQ(t.flags, large ? EBP_OBJECT_NO_CFI : 0);
		unwind_table_free(&t);
		elf_file_free(elf);
		close(fd);
	}
}

TEST(other_machines)
{
	struct unwind_table t;
	struct elf_file *elf;

	image_begin(&image, EM_AARCH64);
	elf = image_end(&image);
	CHECK_EQ(unwind_table_build_for(EM_X86_64, elf, NULL, &t), -ENOEXEC);
	CHECK_EQ(unwind_table_build_for(EM_AARCH64, elf, NULL, &t), 0);
	unwind_table_free(&t);
	elf_file_free(elf);
}

int main(void)
{
	RUN(functions);
	RUN(padding);
	RUN(overlapping);
	RUN(outside_of_the_segment);
	RUN(the_last_offset);
	RUN(damaged_program);
	RUN(exotic_rules);
	RUN(debug_frame_fills);
	RUN(compressed);
	RUN(stripped_headers);
	RUN(plt);
	RUN(plt_described);
	RUN(init_and_fini);
	RUN(entry);
	RUN(no_cfi);
	RUN(go);
	RUN(sections_too_large);
	RUN(other_machines);
	return TEST_END();
}
