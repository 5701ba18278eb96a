/* SPDX-License-Identifier: MIT */
/* A kernel of three functions, moved at its boot; what it tells of itself is in files. */
#include "symbols/kernel_dwarf.h"

#include <errno.h>

#include "symbols/symbolizer.h"
#include "test.h"
#include "unit/debug_fixture.h"

#define LINKED	0xffffffff81000000ull
#define SLIDE	0x0000000012400000ull

static char kallsyms[300], notes[300], vmlinux[300], dir[300];
static const char *dirs[] = { dir };
static uint64_t at_inner, at_plain;	/* in the file */

static uint64_t address_of(const char *label)
{
	unsigned long long address = 0;
	char line[256], name[128];
	FILE *f;

	CHECK_EQ(shell("nm vmlinux >names"), 0);
	f = fopen(fixture_path("names"), "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %127s", &address, name) == 2 && !strcmp(name, label))
			break;
	if (f)
		fclose(f);
	return address;
}

static void begin(void)
{
	CHECK_EQ(fixture_begin(), 0);
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", fixture_dir);
	snprintf(notes, sizeof(notes), "%s/notes", fixture_dir);
	snprintf(vmlinux, sizeof(vmlinux), "%s/vmlinux", fixture_dir);
	snprintf(dir, sizeof(dir), "%s/d", fixture_dir);
	CHECK_EQ(shell("{ echo '__asm__(\".globl _stext; _stext: nop\");';"
		       " echo 'static inline __attribute__((always_inline)) int inner(int x) {';"
		       " echo '__asm__ volatile(\"at_inner: nop\" : : \"r\"(x)); return x + 1; }';"
		       " echo 'static inline __attribute__((always_inline)) int middle(int x) {';"
		       " echo 'return inner(x); }';"
		       " echo 'int sys_outer(int x) {';"
		       " echo 'return middle(x); }';"
		       " echo 'int plain(int x) { __asm__ volatile(\"at_plain: nop\"); return x * "
		       "3; }'; } >vmlinux.c"
		       " && cc -g -O2 -ffreestanding -fno-pie -mcmodel=kernel "
		       "-fno-toplevel-reorder -fcf-protection=none"
		       " -fno-asynchronous-unwind-tables -nostdlib -static -no-pie "
		       "-Wl,--build-id=sha1 -Wl,-Ttext=0x%llx"
		       " -Wl,-e,_stext -o vmlinux vmlinux.c"
		       " && objcopy -O binary --only-section=.note.gnu.build-id vmlinux notes && "
		       "mkdir d",
		       LINKED),
		 0);
	at_inner = address_of("at_inner");
	at_plain = address_of("at_plain");
	CHECK(at_inner > LINKED && at_plain > at_inner);
	CHECK_EQ(shell("{ echo '%llx T _text'; echo '%llx T _stext'; echo '%llx T "
		       "__x64_sys_outer'; echo '%llx T plain';"
		       " echo 'ffffffffc0000000 T _stext\t[module]'; echo 'ffffffffc0000010 T "
		       "in_module\t[module]'; } >kallsyms",
		       LINKED + SLIDE, LINKED + SLIDE,
		       (unsigned long long)address_of("sys_outer") + SLIDE,
		       (unsigned long long)address_of("plain") + SLIDE),
		 0);
}

static struct symbolizer_options options(const char *file)
{
	return (struct symbolizer_options){
		.debug_dirs = dirs,
		.n_debug_dirs = 1,
		.kernel = { .vmlinux = file,
			    .kallsyms = kallsyms,
			    .notes = notes,
			    .release = "9.9-test" },
	};
}

/*
 * How many frames there are at @address of the file, as the kernel was moved; the first three with
 * their texts.
 */
static int frames_at(const struct symbolizer_options *o, uint64_t address,
		     struct symbol_frame out[SOURCE_FRAMES_MAX])
{
	struct symbolizer *s = symbolizer_new(o);
	static char names[3][64], files[3][512];
	const char *module = "";
	int n = symbolizer_kernel(s, address + SLIDE, out, &module);

	CHECK_STR(module, "[kernel]");
	/* They live as long as the symbolizer. */
	for (int i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", i < n ? out[i].name : "");
		snprintf(files[i], sizeof(files[i]), "%s", i < n ? out[i].file : "");
		out[i].name = names[i];
		out[i].file = files[i];
	}
	symbolizer_free(s);
	return n;
}

TEST(inlined_functions_of_a_kernel_that_was_moved)
{
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct symbolizer_options o;
	struct symbolizer *s;
	const char *module;

	begin();
	o = options(vmlinux);
	CHECK_EQ(frames_at(&o, at_inner, out), 3);
	CHECK_STR(out[0].name, "inner");
	CHECK_EQ(out[0].line, 3);
	CHECK(strstr(out[0].file, "/vmlinux.c") != NULL);
	CHECK_STR(out[1].name, "middle");
	CHECK_EQ(out[1].line, 5);
	CHECK_STR(out[2].name, "__x64_sys_outer");	/* as the kernel calls it */
	CHECK_EQ(out[2].line, 7);
	CHECK_EQ(frames_at(&o, at_plain, out), 1);
	CHECK_STR(out[0].name, "plain");
	CHECK_EQ(out[0].line, 8);
	o.no_inline = 1;
	CHECK_EQ(frames_at(&o, at_inner, out), 1);
	CHECK_STR(out[0].name, "__x64_sys_outer");
	s = symbolizer_new(&o);
	CHECK_EQ(symbolizer_kernel(s, 0xffffffffc0000018, out, &module), 1);
	CHECK_STR(out[0].name, "in_module");
	CHECK_STR(module, "[module]");
	symbolizer_free(s);
	fixture_end();
}

TEST(found_where_distributions_put_it)
{
	static const char *const places[] = { "d/boot/vmlinux-9.9-test",
					      "d/lib/modules/9.9-test/vmlinux" };
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct symbolizer_options o;

	begin();
	o = options(NULL);
	CHECK_EQ(frames_at(&o, at_inner, out), 1);
	CHECK_STR(out[0].name, "__x64_sys_outer");
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(shell("mkdir -p $(dirname %s) && mv vmlinux %s", places[i], places[i]), 0);
		CHECK_EQ(frames_at(&o, at_inner, out), 3);
		CHECK_EQ(shell("mv %s vmlinux", places[i]), 0);
	}
	CHECK_EQ(shell("id=$(readelf -n vmlinux | sed -n 's/.*Build ID: //p') && mkdir -p "
		       "d/.build-id/${id%%${id#??}} &&"
		       " cp vmlinux d/.build-id/${id%%${id#??}}/${id#??}.debug"),
		 0);
	CHECK_EQ(frames_at(&o, at_inner, out), 3);
	fixture_end();
}

TEST(no_other_kernels_file_is_taken)
{
	struct kernel_places places = { .vmlinux = vmlinux, .notes = notes };
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct symbolizer_options o;
	struct kernel_dwarf k;

	begin();
	o = options(vmlinux);
	CHECK_EQ(kernel_dwarf_open(&k, &places, NULL, 0, LINKED + SLIDE), 0);
	CHECK_EQ(k.slide, SLIDE);
	kernel_dwarf_close(&k);
	kernel_dwarf_close(&k);
	CHECK_EQ(shell("cp vmlinux v && strip -g v && mv v stripped"), 0);
	places.vmlinux = fixture_path("stripped");
	CHECK_EQ(kernel_dwarf_open(&k, &places, NULL, 0, LINKED), -ENODATA);
	CHECK_EQ(k.fd, -1);
	places.vmlinux = vmlinux;
	/* Built again from something else. */
	CHECK_EQ(shell("cc -g -nostdlib -shared -Wl,--build-id=sha1 -Wl,-soname,x -o vmlinux "
		       "prog.c"),
		 0);
	CHECK_EQ(kernel_dwarf_open(&k, &places, NULL, 0, LINKED), -ESTALE);
	CHECK_EQ(frames_at(&o, at_inner, out), 1);
	CHECK_EQ(shell("rm vmlinux && mkfifo vmlinux"), 0);
	CHECK_EQ(kernel_dwarf_open(&k, &places, NULL, 0, LINKED), -ENOENT);
	CHECK_EQ(shell("printf x >notes"), 0);
	CHECK_EQ(kernel_dwarf_open(&k, &places, NULL, 0, LINKED), -ENODATA);
	places.notes = fixture_path("no_notes");
	CHECK_EQ(kernel_dwarf_open(&k, &places, NULL, 0, LINKED), -ENOENT);
	fixture_end();
}

int main(void)
{
	RUN(inlined_functions_of_a_kernel_that_was_moved);
	RUN(found_where_distributions_put_it);
	RUN(no_other_kernels_file_is_taken);
	return TEST_END();
}
