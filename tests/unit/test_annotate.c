/* SPDX-License-Identifier: MIT */
/* Annotations: their rows, arrows and texts; the kernel's code; which files are read as sources. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate/internal.h"
#include "annotate/source_text.h"
#include "elf_image.h"
#include "proc/maps.h"
#include "test.h"
#include "unit/stacks.h"

/* --- Rows. ------------------------------------------------------------------------- */

/* Of instructions, each with the row that it jumps to, or 0. */
static struct annotation *code(const uint32_t *targets, uint32_t n)
{
	struct annotation *a = xcalloc(1, sizeof(*a));

	a->name = xstrdup("f");
	a->module = xstrdup("x");
	a->all = a->total = 100;
	annotation_add(a, ANNOTATION_CODE, "f in x");
	for (uint32_t i = 0; i < n; i++) {
		struct annotation_row *r = annotation_add(a, ANNOTATION_INSTRUCTION, "nop");

		r->number = 0x1000 + i;
		r->target = targets[i];
	}
	return a;
}

static const char *arrows(const struct annotation *a, size_t row)
{
	return a->rows.v[row].arrows ? a->rows.v[row].arrows : "";
}

TEST(one_jump_back)
{
	struct annotation *a = code((const uint32_t[]){ 0, 0, 0, 2, 0 }, 5);

	annotate_arrows(a, 0);
	CHECK_STR(arrows(a, 0), "");
	CHECK_STR(arrows(a, 1), "   ");
	CHECK_STR(arrows(a, 2), "/> ");
	CHECK_STR(arrows(a, 3), "|  ");
	CHECK_STR(arrows(a, 4), "\\- ");
	annotation_free(a);
}

TEST(arrows_to_one_place_are_one)
{
	/* Rows 1 and 2 lead to 5, and 4 to 3 within them. */
	struct annotation *a = code((const uint32_t[]){ 5, 5, 0, 3, 0 }, 5);

	annotate_arrows(a, 0);
	CHECK_STR(arrows(a, 1), "/-- ");
	CHECK_STR(arrows(a, 2), "+-- ");
	CHECK_STR(arrows(a, 3), "|/> ");
	CHECK_STR(arrows(a, 4), "|\\- ");
	CHECK_STR(arrows(a, 5), "\\-> ");
	annotation_free(a);
}

TEST(far_jumps_say_which_way)
{
	uint32_t targets[3000] = { [0] = 2999, [2998] = 1 };
	struct annotation *a = code(targets, 3000);

	annotate_arrows(a, 0);
	CHECK_STR(arrows(a, 1), "v ");
	CHECK_STR(arrows(a, 2999), "^ ");
	annotation_free(a);
}

/* As many as there can be: each row jumps, all over one another. */
TEST(more_arrows_than_lanes)
{
	enum { N = 4000 };
	uint32_t *targets = xcalloc(N, sizeof(*targets));
	struct annotation *a;
	size_t width;

	for (uint32_t i = 0; i < N; i++)
		targets[i] = (i + 500) % N + 1;
	a = code(targets, N);
	annotate_arrows(a, 0);
	width = strlen(arrows(a, 1));
	CHECK(width > 3 && width < 20);
	for (size_t i = 1; i <= N; i++)
		CHECK_EQ(strlen(arrows(a, i)), width);
	annotation_free(a);
	free(targets);
}

TEST(thin_keeps_what_is_near)
{
	uint32_t targets[100] = { [50] = 53, [51] = 99 };
	struct annotation *a = code(targets, 100);

	a->rows.v[51].self = 7;
	annotation_thin(a, 2, 1000);
	CHECK_EQ(a->rows.n, 8);
	CHECK_EQ(a->rows.v[0].kind, ANNOTATION_CODE);
	CHECK_EQ(a->rows.v[1].kind, ANNOTATION_GAP);
	CHECK_EQ(a->rows.v[2].number, 0x1000 + 48);
	CHECK_EQ(a->rows.v[4].self, 7);
	/* The same instruction, where it is by now; one that is gone is none. */
	CHECK_EQ(a->rows.v[4].target, 6);
	CHECK_EQ(a->rows.v[5].target, 0);
	CHECK_EQ(a->rows.v[7].kind, ANNOTATION_GAP);
	annotation_thin(a, 2, 3);
	CHECK_EQ(a->rows.n, 6);
	annotation_free(a);
}

TEST(rows_as_text)
{
	struct annotation *a = code((const uint32_t[]){ 0, 1 }, 2);
	char *text;

	a->rows.v[1].self = 12;
	annotate_arrows(a, 0);
	text = annotation_text(a, &a->rows.v[1]);
	CHECK_STR(text, "  12.00             1000  /> nop");
	free(text);
	text = annotation_text(a, annotation_add(a, ANNOTATION_LINE, "x++;"));
	CHECK_STR(text, "                     0  x++;");
	free(text);
	annotation_free(a);
}

/* --- Which addresses samples have. -------------------------------------------------- */

static const char *skid(const char *event)
{
	struct profile *p = profile_new();
	const char *first;

	snprintf(profile_meta(p)->event, sizeof(profile_meta(p)->event), "%s", event);
	first = *annotate_skid(p);
	profile_free(p);
	return first ? first : "";
}

TEST(skid_of_events)
{
	CHECK(strstr(skid("cpu-clock"), "that was next"));
	CHECK(strstr(skid("cycles"), "skid"));
	CHECK(strstr(skid("cycles:u"), "skid"));
	CHECK(strstr(skid("cycles:upp"), "the CPU noted"));
	CHECK_STR(skid("sched:sched_switch"), "");
	CHECK_STR(skid(""), "");
}

/* --- The kernel's code. ------------------------------------------------------------- */

#define TEXT 0xffffffff81000000ull

/* An ELF file like /proc/kcore: one segment, with @code at TEXT. */
static int make_core(uint16_t machine, const void *bytes, size_t n)
{
	struct { Elf64_Ehdr e; Elf64_Phdr p; uint8_t code[64]; } core = {
		.e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		       .e_type = ET_CORE,
		       .e_machine = machine,
		       .e_version = EV_CURRENT,
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1 },
		.p = { .p_type = PT_LOAD,
		       .p_flags = PF_R | PF_W | PF_X,
		       .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		       .p_vaddr = TEXT,
		       .p_filesz = 64,
		       .p_memsz = 64 },
	};

	memcpy(core.code, bytes, n);
	return memory_file(&core, sizeof(core));
}

static struct kallsyms *make_symbols(void)
{
	static const char text[] = "ffffffff81000000 T _stext\nffffffff81000000 T first\n"
				   "ffffffff81000010 T second\nffffffff81000020 T third\n";
	int fd = memory_file(text, sizeof(text) - 1);
	struct kallsyms *k;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	k = kallsyms_new(path);
	close(fd);
	return k;
}

static int disassemble(struct disassembly *d, uint16_t machine, const void *bytes, size_t n)
{
	struct disassembler *by = disassembler_new();
	struct kallsyms *symbols = make_symbols();
	int fd = make_core(machine, bytes, n), err;
	struct elf_file *core = elf_file_open(fd);

	CHECK(by && symbols && core);
	err = disassembly_of_kernel(d, by, core, symbols, TEXT + 0x12);
	elf_file_free(core);
	close(fd);
	kallsyms_free(symbols);
	disassembler_free(by);
	return err;
}

TEST(kernel_code_of_x86)
{
	static const uint8_t bytes[64] = {
		[0x10] = 0x55,				/* push rbp */
		[0x11] = 0xe8, 0xea, 0xff, 0xff, 0xff,	/* call first */
		[0x16] = 0x75, 0xf8,			/* jne 0x...10 */
		[0x18] = 0xff, 0xd0,			/* call rax */
		[0x1a] = 0xc3,				/* ret */
		[0x1b] = 0x90, 0x90, 0x90, 0x90, 0x90,
		[0x20] = 0x90,				/* third */
	};
	struct disassembly d = { 0 };

	CHECK_EQ(disassemble(&d, EM_X86_64, bytes, sizeof(bytes)), 0);
	CHECK_EQ(d.n, 5);
	if (d.n == 5) {
		CHECK(d.v[0].address == TEXT + 0x10 && d.v[0].offset == TEXT + 0x10);
		CHECK_EQ(d.v[0].kind, INSTRUCTION_PLAIN);
		CHECK_EQ(d.v[1].kind, INSTRUCTION_CALL);
		CHECK(d.v[1].target == TEXT);
		CHECK_EQ(d.v[2].kind, INSTRUCTION_JUMP);
		CHECK(d.v[2].target == TEXT + 0x10);
		CHECK_EQ(d.v[3].kind, INSTRUCTION_CALL);
		CHECK_EQ(d.v[3].target, 0);
	}
	disassembly_free(&d);
}

TEST(kernel_code_of_aarch64)
{
	static const uint32_t bytes[16] = {
		[4] = 0x97fffffc,	/* bl first */
		[5] = 0xb4000060,	/* cbz x0, third + 0 */
		[6] = 0x17fffffe,	/* b second */
		[7] = 0xd65f03c0,	/* ret */
	};
	struct disassembly d = { 0 };

	CHECK_EQ(disassemble(&d, EM_AARCH64, bytes, sizeof(bytes)), 0);
	CHECK_EQ(d.n, 4);
	if (d.n == 4) {
		CHECK_EQ(d.v[0].kind, INSTRUCTION_CALL);
		CHECK(d.v[0].target == TEXT);
		CHECK_EQ(d.v[1].kind, INSTRUCTION_JUMP);
		CHECK(d.v[1].target == TEXT + 0x20);
		CHECK_EQ(d.v[2].kind, INSTRUCTION_JUMP);
		CHECK(d.v[2].target == TEXT + 0x10);
		CHECK_EQ(d.v[3].target, 0);
	}
	disassembly_free(&d);
}

TEST(kernel_code_of_another_machine)
{
	struct disassembly d = { 0 };

	CHECK_EQ(disassemble(&d, EM_RISCV, "", 1), -ENOTSUP);
	disassembly_free(&d);
}

/* --- Sources. ------------------------------------------------------------------------ */

static char folder[] = "/tmp/ebprof-annotate-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[4][256];
	static int at;

	snprintf(path[at = (at + 1) % 4], sizeof(path[0]), "%s/%s", folder, name);
	return path[at];
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	fchmod(fd, mode);
	close(fd);
}

static int read_source(const char *path, const struct source_places *places)
{
	struct source_text s;
	int err = source_text_read(&s, path, places);

	if (!err)
		err = (int)s.lines.n;
	source_text_free(&s);
	return err;
}

TEST(sources_by_name)
{
	const char *dirs[] = { folder };
	const struct source_places none = { 0 }, below = { .dirs = dirs, .n_dirs = 1 };
	char url[300];
	struct source_text s;
	char line[100];

	write_file("a b.c", "one\n\ttwo\r\nthree", 0644);
	CHECK_EQ(read_source(in_folder("a b.c"), &none), 3);
	snprintf(url, sizeof(url), "file://%s/a%%20b.c", folder);
	CHECK_EQ(read_source(url, &none), 3);
	CHECK_EQ(read_source("/build/x/a b.c", &none), -ENOENT);
	CHECK_EQ(read_source("/build/x/a b.c", &below), 3);
	CHECK_EQ(read_source("", &below), -ENOENT);
	CHECK_EQ(source_text_read(&s, "a b.c", &below), 0);
	CHECK_STR(source_text_line(&s, 2, line, sizeof(line)), "        two");
	CHECK_STR(source_text_line(&s, 3, line, sizeof(line)), "three");
	CHECK_STR(source_text_line(&s, 4, line, sizeof(line)), "");
	CHECK_STR(s.from, in_folder("a b.c"));
	source_text_free(&s);
}

TEST(what_is_no_source)
{
	const struct user as_we_are = { 0 };
	const struct source_places none = { 0 }, everybodys = { .everybodys = &as_we_are };
	int fd;

	CHECK_EQ(read_source("/proc/kallsyms", &none), -ENOENT);
	CHECK_EQ(read_source("/proc/self/environ", &none), -ENOENT);
	CHECK_EQ(read_source("/dev/zero", &none), -ENOENT);
	mkfifo(in_folder("fifo"), 0644);
	CHECK_EQ(read_source(in_folder("fifo"), &none), -ENOENT);
	write_file("secret", "password\n", 0640);
	CHECK_EQ(read_source(in_folder("secret"), &none), 1);
	CHECK_EQ(read_source(in_folder("secret"), &everybodys), -EACCES);
	fd = open(in_folder("huge"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(!ftruncate(fd, 1ll << 40));
	close(fd);
	CHECK_EQ(read_source(in_folder("huge"), &none), -EFBIG);
}

/* --- Sums. ---------------------------------------------------------------------------- */

/* a(1) into b(2) into c(3), twice; and a(1) into b(9). */
static struct profile *inlined(void)
{
	struct profile *p = profile_new();
	uint32_t file = profile_string(p, "x.c"), module = profile_string(p, "x"), function[3];
	uint32_t thread = stacks_thread(p, 5, 5, "x"), m = profile_module(p, "x", "/x", "");

	for (int i = 0; i < 3; i++)
		function[i] = profile_function(p, profile_string(p, (char[]){ "abc"[i], 0 }),
					       module, FRAME_USER);
	for (uint64_t address = 0; address < 3; address++) {
		const struct line lines[] = {
			{ function[0], file, 1 },
			{ function[1], file, address == 2 ? 9 : 2 },
			{ function[2], file, 3 },
		};
		uint32_t location = profile_location(p, m, FRAME_USER, address);

		profile_name_location(p, location, lines, 3, "");
		profile_add(p, thread, profile_node(p, 0, location), 10 + address);
	}
	return p;
}

TEST(chains_of_a_line)
{
	struct profile *p = inlined();
	struct annotated_sums *sums = annotated_sums_new(p);
	struct annotated *a = annotated_new(sums, "a", NULL);

	CHECK(a != NULL);
	CHECK_EQ(a->nlines, 1);
	CHECK_EQ(a->nchains, 2);
	CHECK_EQ(a->chains[0].total, 21);
	CHECK_EQ(a->chains[0].self, 21);
	CHECK_EQ(a->chains[1].total, 12);
	CHECK_EQ(a->ncode, 3);
	CHECK_EQ(a->processes[0], 33);
	annotated_free(a);
	/* What was inlined into it has the samples, in its code. */
	a = annotated_new(sums, "c", "x");
	CHECK_EQ(a->chains[0].self, 0);
	CHECK_EQ(a->chains[0].total, 21);
	CHECK_EQ(a->ncode, 3);
	annotated_free(a);
	CHECK(!annotated_new(sums, "a", "y"));
	CHECK(!annotated_new(sums, "d", NULL));
	annotated_sums_free(sums);
	profile_free(p);
}

TEST(processes_of_another_machine)
{
	struct profile *p = inlined();
	const uint64_t values[] = { 33 };

	CHECK_EQ(annotate_targets_of(p, values, 0).n, 0);
	CHECK_EQ(annotate_targets_of(p, values, 1).n, 1);
	profile_meta(p)->host = profile_string(p, "nowhere, Linux");
	profile_meta(p)->start = UINT64_MAX / 2;
	CHECK_EQ(annotate_since_boot(p), 0);
	profile_free(p);
}

/* --- A function of this program. -------------------------------------------------------- */

static __attribute__((noinline)) unsigned int looped(unsigned int n)
{
	volatile unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum = sum + i;
	return sum;
}

/* Where in the file it is. */
static void find_mapping(const struct maps_line *line, void *arg)
{
	uint64_t *place = arg;

	if (*place >= line->start && *place < line->end)
		*place = *place - line->start + line->offset;
}

/* A profile of one sample at its beginning, with the build id that @hex is. */
static struct profile *of_this_program(const char *hex)
{
	struct profile *p = profile_new();
	uint32_t thread = stacks_thread(p, 1, 1, "x"), location;
	uint64_t place = (uint64_t)(uintptr_t)looped;
	struct line line = { .file = profile_string(p, __FILE__), .line = 440 };
	char path[4096] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	maps_for_each_executable(getpid(), find_mapping, &place);
	snprintf(profile_meta(p)->event, sizeof(profile_meta(p)->event), "cpu-clock");
	line.function = profile_function(p, profile_string(p, "looped"), profile_string(p, "x"),
					 FRAME_USER);
	location = profile_location(p, profile_module(p, "x", path, hex), FRAME_USER, place);
	profile_name_location(p, location, &line, 1, "");
	profile_add(p, thread, profile_node(p, 0, location), 3);
	return p;
}

static void own_build_id(char hex[2 * ELF_BUILD_ID_MAX + 1])
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf = elf_file_open(fd);
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(elf, id);

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	elf_file_free(elf);
	close(fd);
}

static size_t count(const struct annotation *a, enum annotation_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < a->rows.n; i++)
		n += a->rows.v[i].kind == kind;
	return n;
}

static struct annotation *annotate(struct profile *p)
{
	struct annotator *by = annotator_new(&(struct annotator_options){ 0 });
	struct annotated_sums *sums = annotated_sums_new(p);
	struct annotation *a = annotator_make(by, p, sums, "looped", "x");

	CHECK(!annotator_make(by, p, sums, "nothing", NULL));
	annotated_sums_free(sums);
	annotator_free(by);
	return a;
}

TEST(code_of_this_program)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";
	struct annotation *a;
	struct profile *p;

	own_build_id(hex);
	p = of_this_program(hex);
	CHECK(looped(3) == 3);
	a = annotate(p);
	CHECK_EQ(count(a, ANNOTATION_CODE), 1);
	CHECK(count(a, ANNOTATION_INSTRUCTION) > 5);
	CHECK(count(a, ANNOTATION_ORIGIN) > 1);
	for (size_t i = 0, first = 1; i < a->rows.n; i++) {
		const struct annotation_row *r = &a->rows.v[i];

		if (r->kind != ANNOTATION_INSTRUCTION)
			continue;
		CHECK_EQ(r->self, first ? 3 : 0);
		first = 0;
		CHECK(!r->target || a->rows.v[r->target].kind == ANNOTATION_INSTRUCTION);
	}
	annotation_free(a);
	profile_free(p);
	/* Another program under that name. */
	p = of_this_program("0123456789abcdef");
	a = annotate(p);
	CHECK_EQ(count(a, ANNOTATION_INSTRUCTION), 0);
	CHECK(strstr(a->rows.v[a->rows.n - 1].text, "the file that was sampled is not here"));
	annotation_free(a);
	profile_free(p);
}

int main(void)
{
	static const char *const files[] = { "a b.c", "fifo", "secret", "huge" };

	if (!mkdtemp(folder))
		return 1;
	RUN(one_jump_back);
	RUN(arrows_to_one_place_are_one);
	RUN(far_jumps_say_which_way);
	RUN(more_arrows_than_lanes);
	RUN(thin_keeps_what_is_near);
	RUN(rows_as_text);
	RUN(skid_of_events);
	RUN(kernel_code_of_x86);
	RUN(kernel_code_of_aarch64);
	RUN(kernel_code_of_another_machine);
	RUN(sources_by_name);
	RUN(what_is_no_source);
	RUN(chains_of_a_line);
	RUN(processes_of_another_machine);
	RUN(code_of_this_program);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(in_folder(files[i]));
	rmdir(folder);
	return TEST_END();
}
