/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses.
 *
 * Sources stand behind one small vtable (symbol_source.h); a source is opened
 * when the first address of its image is asked for, and only what is asked for
 * is demangled. Names are demangled and cleaned once here, and live as long as
 * the symbolizer. What an earlier run found out comes first, and opens nothing. Not thread safe.
 */
#ifndef EBPROF_SYMBOLIZER_H
#define EBPROF_SYMBOLIZER_H

#include <stdint.h>

#include "elf/debuginfod.h"
#include "elf/image.h"
#include "symbols/demangler.h"
#include "symbols/kernel_dwarf.h"
#include "symbols/name_store.h"
#include "symbols/symbol_frame.h"
#include "symbols/symbol_source.h"

struct symbolizer;

/* All zero: the usual. What it points to must outlive the symbolizer. */
struct symbolizer_options {
	const char *const *debug_dirs;	/* looked in for debug files before /usr/lib/debug */
	size_t n_debug_dirs;
	struct debuginfod *debuginfod;	/* asked for debug files that are not here; NULL: not */
	/* keeps what was found from one run to the next; NULL: not */
	struct name_store *store;
	uint64_t worth_keeping;		/* ns that the names of a file must have taken for that */
	/* for names that may take long; NULL: these stay as the linker knows them */
	struct demangler *demangler;
	struct kernel_places kernel;
	/* what was inlined counts as the function that it went into */
	int no_inline;
	int no_demangle;		/* names as the linker knows them */
	/* without the arguments of templates (symbols/short_templates.h) */
	int short_templates;
	/* bytes of all files' symbols that are kept at once, about; 0: a gigabyte */
	size_t memory;
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *o);
void symbolizer_free(struct symbolizer *s);

/*
 * The functions at @offset of @image's file: what was inlined there, innermost
 * first, and last the function that it went into. A caller looks a return
 * address up at address - 1; ask in the order of offsets. How many (1 to
 * SOURCE_FRAMES_MAX), or a negative errno saying why there is no name: -ENOENT
 * no symbol covers it, -ENODATA nor could one, because the file is stripped, -ENOEXEC
 * not an ELF file, -EBADMSG damaged, or image->why.
 */
int symbolizer_user(struct symbolizer *s, const struct image *image, uint64_t offset,
		    struct symbol_frame out[SOURCE_FRAMES_MAX]);

/*
 * Where the function begins that has the code at @offset, for which symbolizer_user() found no
 * name: its offset in the file, the same for all places of one function; or @offset where that is
 * not known.
 */
uint64_t symbolizer_start(struct symbolizer *s, const struct image *image, uint64_t offset);

/*
 * @image will not be asked for any more: what is known of it goes, but names that were given stay.
 * What took long to find goes into the store.
 */
void symbolizer_forget(struct symbolizer *s, uint32_t image);

/* Bytes of files' symbols that it has now: at most what the options say, or what one file takes. */
size_t symbolizer_memory(const struct symbolizer *s);
/* So many from now on (symbolizer_options.memory). */
void symbolizer_limit(struct symbolizer *s, size_t memory);
/* Nothing is asked for a while: not even one file takes more. */
void symbolizer_rest(struct symbolizer *s);

/*
 * The same at @address of code that a process made at run time, by what @source (symbols/jit.h)
 * tells of it: @process is a number of the caller's for that. How many, or -ENOENT.
 */
int symbolizer_jit(struct symbolizer *s, uint32_t process, struct symbol_source *source,
		   uint64_t address, struct symbol_frame out[SOURCE_FRAMES_MAX]);

/*
 * The kernel's functions at @address, modules, BPF programs and ftrace trampolines included, as
 * they were when the first one was asked for, or after symbolizer_reread_kernel(); *@module is
 * "[kernel]", "[ext4]", "[bpf]". What was inlined, and lines, where the kernel's own DWARF is found
 * (symbols/kernel_dwarf.h). How many, or -ENOENT nothing there, -EPERM addresses hidden
 * (kptr_restrict).
 */
int symbolizer_kernel(struct symbolizer *s, uint64_t address,
		      struct symbol_frame out[SOURCE_FRAMES_MAX], const char **module);
void symbolizer_reread_kernel(struct symbolizer *s);

/*
 * 1 where kernel addresses are hidden from us by kernel.kptr_restrict; known after the first kernel
 * look-up.
 */
int symbolizer_kernel_hidden(const struct symbolizer *s);

/* Puts what took long to find into the store. */
void symbolizer_save(struct symbolizer *s);

#endif
