/* SPDX-License-Identifier: MIT */
/*
 * Go's table: of programs by the compiler at hand (tests/fixtures/go_symbols.go), and as other
 * versions write it.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "go/gopclntab.h"
#include "symbols/go_symbols.h"
#include "test.h"
#include "unit/gopclntab_image.h"

static const char *fixtures;
static struct go_image image;
static struct elf_file *elf;
static struct symbol_source *source;

static void close_source(void)
{
	symbol_source_free(source);
	elf_file_free(elf);
	source = NULL;
	elf = NULL;
}

static int open_memory(const void *bytes, size_t size)
{
	close_source();
	elf = elf_file_open_memory(bytes, size);
	errno = 0;
	source = elf ? go_symbols_open(elf) : NULL;
	return source ? 0 : -errno;
}

static int open_image(void)
{
	return open_memory(image.bytes, image.size);
}

static const char *name_of(const struct source_function *f)
{
	static char name[300];

	return source->ops->name(source, f->token, name, sizeof(name)) ? NULL : name;
}

/*
 * "name file:line" of the frames at @address, innermost first, with ";" between; files without
 * their folders.
 */
static const char *frames_at(uint64_t address)
{
	static char text[8192];
	struct source_frame frames[SOURCE_FRAMES_MAX];
	int n = source->ops->frames(source, address, frames);
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < n && at < sizeof(text); i++) {
		char name[300] = "?", file[300] = "?";

		source->ops->name(source, frames[i].function, name, sizeof(name));
		if (frames[i].file != SOURCE_NO_FILE)
			source->ops->file(source, frames[i].file, file, sizeof(file));
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s:%u", i ? ";" : "",
				       name, basename(file), frames[i].line);
	}
	return n > 0 ? text : n == -ENOENT ? "nothing" : "error";
}

/* --- Programs by the compiler --- */

#define AT(name, line) name " go_symbols.go:" #line

/* In which function which frames there must be. */
static const struct {
	const char *function, *frames;
} expected[] = {
	{ "main.outer", AT("main.leaf", 11) ";" AT("main.middle", 15) ";" AT("main.outer", 21) },
	{ "main.outer", AT("main.leaf", 11) ";" AT("main.middle", 16) ";" AT("main.outer", 21) },
	{ "main.outer", AT("main.middle", 16) ";" AT("main.outer", 21) },
	{ "main.outer", AT("main.outer", 22) },
	{ "main.outer", AT("main.leaf", 11) ";" AT("main.outer", 23) },
	{ "main.(*shape).area",
	  AT("main.leaf", 11) ";" AT("main.middle", 15) ";" AT("main.(*shape).area", 30) },
	{ "main.(*shape).area", AT("main.(*shape).area", 30) },
	{ "main.each[...]", AT("main.each[...]", 35) },
	{ "main.main.func1", AT("main.main.func1", 43) },
	{ "main.main", AT("main.main", 42) },
};

#define N_EXPECTED (sizeof(expected) / sizeof(*expected))

/* All executable bytes of the file: what was expected is there, and no line of ours is another. */
static void check_program(const char *name)
{
	int seen[N_EXPECTED] = { 0 }, functions = 0, padding = 0, others = 0;
	const struct elf_segment *s;
	size_t n = elf_file_segments(elf, &s);

	for (size_t i = 0; i < n; i++) {
		char last[64] = "";

		for (uint64_t a = s[i].vaddr;
		     s[i].type == 1 && (s[i].flags & 1) && a < s[i].vaddr + s[i].memsz; a++) {
			struct source_function f;
			const char *function, *frames;

			if (source->ops->find(source, a, &f) || !(function = name_of(&f)) ||
			    strncmp(function, "main.", 5))
				continue;
			functions += strcmp(function, last) != 0;
			snprintf(last, sizeof(last), "%s", function);
			frames = frames_at(a);
			for (size_t j = 0; j < N_EXPECTED; j++)
				seen[j] |= !strcmp(function, expected[j].function) &&
					   !strcmp(frames, expected[j].frames);
			if (strcmp(function, "main.outer"))
				continue;
			/* Between two functions there are bytes of no line. */
			padding += !strcmp(frames, "main.outer ?:0");
			if (strcmp(frames, "main.outer ?:0") != 0)
				others += padding || !strstr(frames, "main.outer go_symbols.go:2");
		}
	}
	for (size_t j = 0; j < N_EXPECTED; j++)
		if (!seen[j])
			printf("%s: not in %s: %s\n", name, expected[j].function,
			       expected[j].frames);
	for (size_t j = 0; j < N_EXPECTED; j++)
		CHECK(seen[j]);
	CHECK_EQ(functions, 5);
	CHECK_EQ(others, 0);
	CHECK(padding < 32);
}

static void check_file(const char *name, int with_sections)
{
	char *path = xasprintf("%s/%s", fixtures, name);
	FILE *file = fopen(path, "r");
	uint8_t *bytes = xmalloc(16 << 20);
	size_t n = file ? fread(bytes, 1, 16 << 20, file) : 0;
	Elf64_Ehdr *h = (Elf64_Ehdr *)bytes;

	CHECK(n > sizeof(*h));	/* else make has not built it: is a Go compiler installed? */
	if (!with_sections) {
		h->e_shoff = 0;
		h->e_shnum = h->e_shstrndx = 0;
	}
	if (n) {
		CHECK_EQ(open_memory(bytes, n), 0);
		if (source)
			check_program(name);
	}
	close_source();
	if (file)
		fclose(file);
	free(bytes);
	free(path);
}

TEST(compiled)
{
	check_file("plain", 1);
}

TEST(compiled_and_stripped)
{
	check_file("stripped", 1);
	check_file("stripped", 0);
}

TEST(position_independent)
{
	check_file("pie", 1);
	check_file("pie", 0);
}

TEST(position_independent_by_a_c_linker)
{
	check_file("external", 1);
	check_file("external", 0);
}

/* --- Tables by hand --- */

static const struct { uint32_t at; const char *frames; } places[] = {
	{ 0x00, "main.main a.go:9" },
	{ 0x3f, "main.main a.go:9" },
	{ 0x40, "main.outer a.go:20" },
	{ 0x4c, "main.outer a.go:21" },
	{ 0x50, "main.middle b.go:11;main.outer a.go:21" },
	{ 0x52, "main.leaf b.go:5;main.middle b.go:11;main.outer a.go:21" },
	{ 0x5f, "main.leaf b.go:5;main.middle b.go:11;main.outer a.go:21" },
	{ 0x60, "main.middle b.go:12;main.outer a.go:21" },
	{ 0x70, "main.outer a.go:22" },
	{ 0x7f, "main.outer a.go:22" },
	{ 0x80, "nothing" },
};

static void check_places(void)
{
	struct source_function f;

	CHECK(source != NULL);
	if (!source)
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		CHECK_STR(frames_at(GO_TEXT + places[i].at), places[i].frames);
	CHECK_STR(frames_at(GO_TEXT - 1), "nothing");
	CHECK_EQ(source->ops->find(source, GO_TEXT - 1, &f), -ENOENT);
	CHECK_EQ(source->ops->find(source, GO_TEXT + 0x80, &f), -ENOENT);
	CHECK_EQ(source->ops->find(source, GO_TEXT + 0x7f, &f), 0);
	CHECK_EQ(f.start, GO_TEXT + 0x40);
	CHECK_STR(name_of(&f), "main.outer");
}

static void make(struct go_image g)
{
	image = g;
	go_image_make(&image);
}

TEST(versions)
{
	for (enum go_version v = GO_1_16; v <= GO_1_20; v++)
		for (int bare = 0; bare < 2; bare++) {
			make((struct go_image){ .version = v, .no_sections = bare });
			CHECK_EQ(open_image(), 0);
			check_places();
		}
}

/* Its trees are not read: where they are has changed within the version. */
TEST(the_oldest_version)
{
	struct source_function f;

	make((struct go_image){ .version = GO_1_2 });
	CHECK_EQ(open_image(), 0);
	if (!source)
		return;
	CHECK_STR(frames_at(GO_TEXT + 0x3f), "main.main a.go:9");
	CHECK_STR(frames_at(GO_TEXT + 0x40), "main.outer a.go:20");
	CHECK_STR(frames_at(GO_TEXT + 0x52), "main.outer b.go:5");
	CHECK_EQ(source->ops->find(source, GO_TEXT + 0x7f, &f), 0);
	CHECK_STR(name_of(&f), "main.outer");
}

/* Go 1.26 leaves the text's address out of the header; gofunc moves with what stands before it. */
TEST(later_versions)
{
	for (int gofunc = 40; gofunc <= 42; gofunc++)
		for (int relocated = 0; relocated < 2; relocated++) {
			make((struct go_image){ .version = GO_1_20,
						.no_text = 1,
						.gofunc = gofunc,
						.relocated = relocated });
			CHECK_EQ(open_image(), 0);
			check_places();
		}
}

/*
 * Without moduledata there are no trees: the line of an inlined call is not said to be its
 * caller's.
 */
TEST(no_moduledata)
{
	make((struct go_image){ .version = GO_1_20 });
	go_set(&image, image.module + 8, 0);
	CHECK_EQ(open_image(), 0);
	if (!source)
		return;
	CHECK_STR(frames_at(GO_TEXT + 0x4c), "main.outer a.go:21");
	CHECK_STR(frames_at(GO_TEXT + 0x52), "main.outer ?:0");
	/* Nor is anybody to tell where the text is, but a function that programs begin with. */
	make((struct go_image){ .version = GO_1_20, .no_text = 1 });
	go_set(&image, image.module + 8, 0);
	CHECK_EQ(open_image(), -EBADMSG);
	memcpy(image.bytes + image.names + image.name[0], "_rt0_amd6", 9);
	CHECK_EQ(open_image(), 0);
	if (source)
		CHECK_STR(frames_at(GO_TEXT + 0x3f), "_rt0_amd6 a.go:9");
	((Elf64_Ehdr *)image.bytes)->e_entry = GO_TEXT + 1;
	CHECK_EQ(open_image(), -EBADMSG);
}

/* --- Damage --- */

TEST(what_is_not_go)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)image.bytes;

	make((struct go_image){ .version = GO_1_20 });
	h->e_shnum = 2;		/* .text alone, and none of a name */
	h->e_shstrndx = 0;
	CHECK_EQ(open_image(), -ENODATA);
	make((struct go_image){ .version = GO_1_20, .no_sections = 1 });
	go_set(&image, GO_TABLE, 0);
	CHECK_EQ(open_image(), -ENODATA);
	make((struct go_image){ .version = GO_1_20 });
	go_set(&image, GO_TABLE, 0);
	CHECK_EQ(open_image(), -EBADMSG);
	go_set(&image, GO_TABLE, 0x08010000fffffff2);
	CHECK_EQ(open_image(), -ENOTSUP);
	go_set(&image, GO_TABLE, 0x04010000fffffff1);
	CHECK_EQ(open_image(), -ENOTSUP);
}

TEST(damaged_headers)
{
	/* Functions, then each part's offset. */
	for (int word = 1; word <= 8; word++) {
		static const uint64_t values[] = { UINT64_MAX, 1ull << 63, 1ull << 32, 1ull << 24 };

		if (word == 2 || word == 3)
			continue;
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			make((struct go_image){ .version = GO_1_20 });
			go_set(&image, GO_TABLE + 8 * (size_t)word, values[i]);
			CHECK_EQ(open_image(), -EBADMSG);
		}
	}
	/* Functions that do not ascend; that end behind the text. */
	make((struct go_image){ .version = GO_1_20 });
	memset(image.bytes + image.functions, 0x7f, 4);
	CHECK_EQ(open_image(), -EBADMSG);
	make((struct go_image){ .version = GO_1_20 });
	memcpy(image.bytes + image.functions + 16, &(uint32_t){ 0x1001 }, 4);
	CHECK_EQ(open_image(), -EBADMSG);
}

/* Trees that lead nowhere, or for ever in a circle. */
TEST(damaged_trees)
{
	static const struct { enum go_version version; size_t at; uint32_t v; } damage[] = {
		{ GO_1_20, 16 + 4, 0x7fffffff },	/* leaf's name */
		{ GO_1_20, 16 + 4, 3 },			/* the middle of a name */
		{ GO_1_20, 16 + 8, 0x40 },		/* its call behind the function */
		{ GO_1_20, 16 + 8, 0xffffffff },
		{ GO_1_20, 16 + 8, 0x12 },		/* its call in itself */
		{ GO_1_18, 20, 1 },			/* its parent is itself */
		{ GO_1_18, 20, 0x7fff },
		{ GO_1_16, 20, 1 },
	};

	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		make((struct go_image){ .version = damage[i].version });
		memcpy(image.bytes + image.tree + damage[i].at, &damage[i].v, 4);
		CHECK_EQ(open_image(), 0);
		if (!source)
			continue;
		CHECK_STR(frames_at(GO_TEXT + 0x52), "main.outer ?:0");
		CHECK_STR(frames_at(GO_TEXT + 0x50), "main.middle b.go:11;main.outer a.go:21");
	}
}

/* What is cut off anywhere is refused, or is less, but not something else. */
TEST(cut_short)
{
	for (enum go_version v = GO_1_2; v <= GO_1_20; v++) {
		make((struct go_image){ .version = v, .no_sections = 1 });
		for (size_t size = 0; size < image.size; size++) {
			uint8_t *copy = xmalloc(size + 1);

			memcpy(copy, image.bytes, size);
			open_memory(copy, size);
			for (uint64_t a = GO_TEXT - 1; source && a <= GO_TEXT + 0x80; a++) {
				struct source_function f;

				frames_at(a);
				if (!source->ops->find(source, a, &f) && name_of(&f))
					CHECK(!strncmp(name_of(&f), "main.", 5));
			}
			close_source();
			free(copy);
		}
	}
}

TEST(names_are_cut_to_size)
{
	struct source_function f;
	char name[6];

	make((struct go_image){ .version = GO_1_20 });
	CHECK_EQ(open_image(), 0);
	if (!source)
		return;
	CHECK_EQ(source->ops->find(source, GO_TEXT, &f), 0);
	CHECK_EQ(source->ops->name(source, f.token, name, sizeof(name)), 0);
	CHECK_STR(name, "main.");
	CHECK_EQ(source->ops->name(source, UINT64_MAX, name, sizeof(name)), -EBADMSG);
	CHECK_EQ(source->ops->file(source, UINT64_MAX - 1, name, sizeof(name)), -EBADMSG);
}

/* The sizes of frames. */
TEST(values_along_a_function)
{
	for (enum go_version v = GO_1_16; v <= GO_1_20; v++) {
		struct go_values values;
		struct go_function f;
		struct gopclntab *t;

		make((struct go_image){ .version = v });
		CHECK_EQ(open_image(), 0);
		t = elf ? gopclntab_open(elf) : NULL;
		CHECK(t != NULL);
		if (!t)
			return;
		CHECK_EQ(gopclntab_function(t, GO_TEXT + 3, &f), 0);
		CHECK_EQ(f.id, 7);
		CHECK_EQ(f.flags, 1);
		CHECK_EQ(gopclntab_function(t, GO_TEXT + 0x44, &f), 0);
		CHECK_EQ(gopclntab_values(t, f.pcsp, &values), 0);
		CHECK_EQ(gopclntab_next(&values), 0);
		CHECK_EQ(values.value, 0);
		CHECK_EQ(gopclntab_next(&values), 0);
		CHECK_EQ(values.value, 24);
		CHECK(values.end > 4 && values.end <= 0x3c);
		CHECK_EQ(gopclntab_next(&values), 0);
		CHECK_EQ(values.value, 0);
		CHECK_EQ(values.end, 0x40);
		CHECK_EQ(gopclntab_next(&values), -ENOENT);
		CHECK_EQ(gopclntab_values(t, 0, &values), -ENOENT);
		CHECK_EQ(gopclntab_values(t, UINT32_MAX, &values), -ENOENT);
		image.bytes[image.values + image.sp] = 0;
		image.bytes[image.values + image.sp + 1] = 0;
		CHECK_EQ(gopclntab_values(t, f.pcsp, &values), 0);
		CHECK_EQ(gopclntab_next(&values), -EBADMSG);
		gopclntab_free(t);
	}
}

/*
 * What is read in search of moduledata is limited for all that is tried, in segments as in
 * relocations.
 */
TEST(searching_has_an_end)
{
	for (int relocated = 0; relocated < 2; relocated++) {
		uint64_t words[GO_MODULE_WORDS], before, all;
		struct gopclntab *t;

		make((struct go_image){ .version = GO_1_20, .relocated = relocated });
		CHECK_EQ(open_image(), 0);
		t = elf ? gopclntab_open(elf) : NULL;
		CHECK(t != NULL);
		if (!t)
			return;
		before = t->left;
		CHECK_EQ(gopclntab_module(t, words), 0);
		CHECK(t->left < before);
		all = before - t->left;
		t->left = all - 1;
		CHECK(gopclntab_module(t, words) < 0);
		CHECK(t->left < all);
		gopclntab_free(t);
	}
}

#define STEPS	(1u << 20)	/* to the last place of a function */
/* look-ups of both its file and its line: more than a file has steps for */
#define ENOUGH	64

/* A program with one function, of STEPS bytes, each of which has a line of its own. */
static struct {
	Elf64_Ehdr elf;
	Elf64_Phdr text;
	Elf64_Shdr sections[3];
	char section_names[24];
	_Alignas(8) uint64_t header[9];
	char names[8];
	uint32_t files[2];
	uint8_t values[2 * STEPS + 8];
	uint32_t table[3];
	struct {
		uint32_t start, name, args, deferreturn, pcsp, pcfile, pcln, pcdata, unit, line,
			flags;
	} function;
} slow;

static void make_slow(void)
{
	const size_t at = offsetof(__typeof__(slow), header), size = sizeof(slow) - at;

	memcpy(slow.section_names, "\0.gopclntab\0.shstrtab", 22);
	slow.elf = (Elf64_Ehdr){ .e_ident = ELFMAG "\2\1\1",
				 .e_type = ET_EXEC,
				 .e_machine = EM_X86_64,
				 .e_version = 1,
				 .e_phoff = offsetof(__typeof__(slow), text),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 1,
				 .e_shoff = offsetof(__typeof__(slow), sections),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = 3,
				 .e_shstrndx = 2 };
	slow.text = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = GO_TEXT, .p_memsz = STEPS
	};
	slow.sections[1] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = size
	};
	slow.sections[2] = (Elf64_Shdr){ .sh_name = 12,
					 .sh_type = SHT_STRTAB,
					 .sh_size = sizeof(slow.section_names),
					 .sh_offset = offsetof(__typeof__(slow), section_names) };
	memcpy(slow.header,
	       (uint64_t[]){ 0xfffffff1 | 1ull << 48 | 8ull << 56, 1, 1, GO_TEXT,
			     offsetof(__typeof__(slow), names) - at,
			     offsetof(__typeof__(slow), files) - at,
			     offsetof(__typeof__(slow), files) - at,
			     offsetof(__typeof__(slow), values) - at,
			     offsetof(__typeof__(slow), table) - at },
	       sizeof(slow.header));
	strcpy(slow.names + 1, "main");
	/* Each is one more than the one before, for one byte. */
	for (size_t i = 0; i < STEPS; i++) {
		slow.values[1 + 2 * i] = 2;
		slow.values[2 + 2 * i] = 1;
	}
	memcpy(slow.table, (uint32_t[]){ 0, sizeof(slow.table), STEPS }, sizeof(slow.table));
	slow.function.name = slow.function.pcfile = slow.function.pcln = 1;
}

/* Each look-up has a limit, and all of a file: then names are left, without lines. */
TEST(steps_of_a_file_are_limited)
{
	make_slow();
	CHECK_EQ(open_memory(&slow, sizeof(slow)), 0);
	if (!source)
		return;
	CHECK_STR(frames_at(GO_TEXT + 99), "main ?:99");
	CHECK_STR(frames_at(GO_TEXT + STEPS - 1), "main ?:1048575");
	for (int i = 0; i < ENOUGH; i++)
		frames_at(GO_TEXT + STEPS - 1);
	CHECK_STR(frames_at(GO_TEXT + STEPS - 1), "main ?:0");
}

int main(int argc, char **argv)
{
	char *path = xasprintf("%s", argc ? argv[0] : ""),
	     *folder = xasprintf("%s/../fixtures/go_symbols", dirname(path));

	fixtures = folder;
	RUN(compiled);
	RUN(compiled_and_stripped);
	RUN(position_independent);
	RUN(position_independent_by_a_c_linker);
	RUN(versions);
	RUN(the_oldest_version);
	RUN(later_versions);
	RUN(no_moduledata);
	RUN(what_is_not_go);
	RUN(damaged_headers);
	RUN(damaged_trees);
	RUN(cut_short);
	RUN(names_are_cut_to_size);
	RUN(values_along_a_function);
	RUN(searching_has_an_end);
	RUN(steps_of_a_file_are_limited);
	close_source();
	free(folder);
	free(path);
	return TEST_END();
}
