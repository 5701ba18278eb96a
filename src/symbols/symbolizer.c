/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbols/demangle.h"
#include "symbols/image_files.h"
#include "symbols/image_sources.h"
#include "symbols/kallsyms.h"
#include "symbols/name_cache.h"
#include "symbols/name_key.h"
#include "symbols/short_templates.h"

#define KALLSYMS	"/proc/kallsyms"
/* of debug files that have no build id, of all images: some seconds */
#define CRC_BYTES	(4ull << 30)
/* of .gnu_debugdata, of all images: a whole system's are some hundred MiB */
#define MINI_BYTES	(512u << 20)
#define KERNEL_BYTES (16u << 20)	/* that are kept of the kernel's functions */
/* bytes of symbols that are kept; a target may map any number of files */
#define MEMORY		(1u << 30)
#define ASKED		64		/* a look-up counts for, at first */
#define MAX_RAW		DEMANGLER_NAME	/* bytes of a name in its file; longer ones are cut */
/* bytes of a demangled one; where it is longer the raw one is shown */
#define MAX_READABLE	DEMANGLER_TEXT

/* Where a name is from: one part of its key. The first are the sources of an image. */
enum {
	FROM_DWARF = SOURCE_DWARF,
	FROM_DWARF_FILES,
	FROM_KERNEL,
	FROM_JIT,
	FROM_JIT_FILES,
	ORIGINS
};

struct image_symbols {
	int why;			/* 0, or why there are no symbols */
	struct image_files files;
	struct image_sources sources;
	size_t bytes;			/* that these take */
	uint64_t asked;			/* how often, of late; the least goes first */
	struct name_cache *cache;	/* what was found before, and now; NULL: not kept */
	struct name_key key;		/* of it */
	uint64_t spent;			/* ns of CPU time, for what is not in the store yet */
};

struct symbolizer {
	struct symbolizer_options o;
	struct image_budget budget;
	VEC(struct image_symbols *) images;	/* by image->id; NULL: not asked for so far */
	size_t stored;			/* bytes read from the store */
	size_t bytes;			/* of symbols, of all images */
	struct kallsyms *kernel;
	struct kernel_dwarf kernel_dwarf;
	int kernel_opened, kernel_why;
	int kernel_whole;		/* all of kallsyms was read, */
	int kernel_kept;		/* and what is built in was in the store before */
	uint64_t kernel_reads;
	struct strtab *names;
	/* hash_pair(image and origin, token) -> id in names */
	struct hashmap named;
	struct source_frame frames[SOURCE_FRAMES_MAX];
	char raw[MAX_RAW], readable[MAX_READABLE], clean[MAX_READABLE];
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *o)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->o = *o;
	s->o.memory = o->memory ? o->memory : MEMORY;
	s->budget = (struct image_budget){ .crc = CRC_BYTES, .unpacked = MINI_BYTES };
	s->names = strtab_new();
	s->kernel_dwarf.fd = -1;
	return s;
}

/* What was in the files is not known any more. */
static void close_sources(struct image_symbols *is)
{
	image_sources_close(&is->sources);
	is->bytes = 0;
}

static void free_image(struct image_symbols *is)
{
	close_sources(is);
	name_cache_free(is->cache);
	image_files_close(&is->files);
	free(is);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->images.n; i++)
		if (s->images.v[i])
			free_image(s->images.v[i]);
	vec_free(&s->images);
	kallsyms_free(s->kernel);
	kernel_dwarf_close(&s->kernel_dwarf);
	strtab_free(s->names);
	hashmap_free(&s->named);
	free(s);
}

/*
 * Reads what was found in an earlier run. Nothing is kept of a file that cannot be told from
 * another one.
 */
static void open_cache(struct symbolizer *s, struct image_symbols *is, const struct image *image)
{
	uint8_t options = (s->o.no_inline ? 1 : 0) | (s->o.no_demangle ? 2 : 0) |
			  (s->o.short_templates ? 4 : 0);
	size_t size = 0;
	void *bytes;

	if (!s->o.store || name_key_make(&is->key, image, &is->files, options))
		return;
	is->cache = name_cache_new(s->names);
	if (s->stored > NAME_STORE_BYTES)
		return;
	bytes = name_store_read(s->o.store, is->key.file, NAME_CACHE_BYTES, &size);
	if (bytes && name_cache_read(is->cache, bytes, size, is->key.bytes, is->key.size)) {
		/* With whatever it held. */
		name_cache_free(is->cache);
		is->cache = name_cache_new(s->names);
	}
	s->stored += bytes ? size : 0;
	free(bytes);
}

static struct image_symbols *symbols_of(struct symbolizer *s, const struct image *image)
{
	const struct debug_places places = { .dirs = s->o.debug_dirs, .n_dirs = s->o.n_debug_dirs };
	struct image_symbols *is;

	while (s->images.n <= image->id)
		vec_push(&s->images, NULL);
	is = s->images.v[image->id];
	if (is)
		return is;
	is = s->images.v[image->id] = xcalloc(1, sizeof(*is));
	is->why = image_files_open(&is->files, image, &places, s->o.debuginfod, &s->budget);
	is->sources = (struct image_sources){ .files = &is->files,
					      .target = image->pid,
					      .memory = s->o.memory };
	if (!is->why)
		open_cache(s, is, image);
	return is;
}

/*
 * The id of s->raw, which is from @origin: demangled and shortened where it is a function's, and
 * cleaned.
 */
static uint32_t intern_raw(struct symbolizer *s, int origin)
{
	int function = origin != FROM_DWARF_FILES && origin != FROM_JIT_FILES && !s->o.no_demangle;
	const char *shown = s->raw;
	size_t n;

	if (function) {
		demangle(s->o.demangler, s->raw, s->readable, sizeof(s->readable));
		shown = s->readable;
	}
	/* Not those that a JIT tells: <init> is no template. s->raw is not needed any more. */
	if (function && s->o.short_templates && origin != FROM_JIT &&
	    short_templates(s->readable, s->raw, sizeof(s->raw)))
		shown = s->raw;
	n = text_clean(s->clean, sizeof(s->clean), shown);
	if (n && origin == SOURCE_PLT)
		snprintf(s->clean + n, sizeof(s->clean) - n, "@plt");
	return strtab_add(s->names, s->clean);
}

typedef int read_name(const struct symbol_source *source, uint64_t token, char *dst, size_t size);

/* What @token means to @source, "" where it cannot be told. Each is read once. */
static const char *text_of(struct symbolizer *s, uint64_t image, int origin,
			   const struct symbol_source *source, read_name *read, uint64_t token)
{
	uint64_t key = hash_pair(image * ORIGINS + (unsigned)origin, token);
	uint32_t id = hashmap_get(&s->named, key);

	if (id == HASHMAP_NONE) {
		if (read(source, token, s->raw, sizeof(s->raw)))
			*s->raw = '\0';
		id = intern_raw(s, origin);
		hashmap_set(&s->named, key, id);
	}
	return strtab_get(s->names, id);
}

/*
 * The frames that @source tells, with names from @origin and files from the one behind it: how
 * many, 0 for none.
 */
static int source_frames(struct symbolizer *s, uint64_t id, int origin,
			 struct symbol_source *source, uint64_t address, struct symbol_frame *out)
{
	const struct symbol_source_ops *ops = source->ops;
	int n = ops->frames(source, address, s->frames);

	for (int i = 0; i < n; i++) {
		const struct source_frame *f = &s->frames[i];

		out[i] = (struct symbol_frame){
			.name = text_of(s, id, origin, source, ops->name, f->function),
			.file = f->file == SOURCE_NO_FILE
					? ""
					: text_of(s, id, origin + 1, source, ops->file, f->file),
			.line = f->line,
		};
	}
	return n < 0 ? 0 : n;
}

/*
 * What is shown of @n frames of which the last, which may be missing, has the name @name by its
 * symbol, unless that is "".
 */
static int finish_frames(const struct symbolizer *s, struct symbol_frame *out, int n,
			 const char *name)
{
	int named = 0;

	if (!n)
		out[n++] = (struct symbol_frame){ "", "", 0 };
	if (*name)
		out[n - 1].name = name;
	if (s->o.no_inline) {
		out[0] = out[n - 1];
		n = 1;
	}
	/* An inlined one without a name is left out. */
	for (int i = 0; i < n; i++)
		if (*out[i].name)
			out[named++] = out[i];
	return named;
}

/* What the sources say of @address, as symbolizer_user() does. */
static int look_up(struct symbolizer *s, struct image_symbols *is, uint64_t id, uint64_t address,
		   struct symbol_frame out[SOURCE_FRAMES_MAX])
{
	struct symbol_source *dwarf = image_sources_dwarf(&is->sources), *source;
	int n = dwarf ? source_frames(s, id, FROM_DWARF, dwarf, address, out) : 0, from;
	struct source_function function;
	const char *name = "";

	/* The linker's name tells clones (.constprop, .cold) apart. */
	from = image_sources_find(&is->sources, address, n && *out[n - 1].name, &function);
	if (from >= 0) {
		source = is->sources.v[from];
		name = text_of(s, id, from, source, source->ops->name, function.token);
	}
	n = finish_frames(s, out, n, name);
	return n ? n : image_sources_why(&is->sources);
}

/* The offset at which the nameless function begins that has @address, which is at @offset. */
static uint64_t start_of(struct image_symbols *is, uint64_t offset, uint64_t address)
{
	uint64_t behind = address - image_sources_start(&is->sources, address);

	return behind <= offset ? offset - behind : offset;
}

/* What was asked long ago counts for less each time that something is closed. */
static struct image_symbols *least_asked(const struct symbolizer *s, const struct image_symbols *is)
{
	struct image_symbols *least = NULL;

	for (size_t i = 0; i < s->images.n; i++) {
		struct image_symbols *other = s->images.v[i];

		if (!other)
			continue;
		other->asked -= other->asked / 8;
		if (other != is && other->bytes && (!least || other->asked < least->asked))
			least = other;
	}
	return least;
}

/*
 * Counts what @is takes, which was just asked, and closes what is asked least where all take too
 * much: not the oldest, for files are asked in turns, and the next would always be the oldest.
 */
static void keep_within_memory(struct symbolizer *s, struct image_symbols *is)
{
	struct image_symbols *least;

	s->bytes -= is->bytes;
	is->bytes = image_sources_bytes(&is->sources);
	s->bytes += is->bytes;
	is->asked += ASKED;
	while (s->bytes > s->o.memory && (least = least_asked(s, is))) {
		s->bytes -= least->bytes;
		close_sources(least);
	}
}

void symbolizer_limit(struct symbolizer *s, size_t memory)
{
	s->o.memory = memory;
}

void symbolizer_rest(struct symbolizer *s)
{
	struct image_symbols *least;

	while (s->bytes > s->o.memory && (least = least_asked(s, NULL))) {
		s->bytes -= least->bytes;
		close_sources(least);
	}
}

size_t symbolizer_memory(const struct symbolizer *s)
{
	return s->bytes;
}

int symbolizer_user(struct symbolizer *s, const struct image *image, uint64_t offset,
		    struct symbol_frame out[SOURCE_FRAMES_MAX])
{
	struct image_symbols *is = symbols_of(s, image);
	uint64_t address, begin, start;
	int n = !is->why && is->cache ? name_cache_find(is->cache, offset, out) : 0;

	if (n || is->why)
		return n ? n : is->why;
	n = elf_file_vaddr(is->files.elf[IMAGE_OWN], offset, &address);
	if (n)
		return n;
	begin = is->cache ? clock_thread_ns() : 0;
	/* What lies in files beside the program may come and go without a trace in the key. */
	if (is->cache && image_sources_split(&is->sources)) {
		name_cache_free(is->cache);
		is->cache = NULL;
	}
	n = look_up(s, is, image->id, address, out);
	start = n < 0 ? start_of(is, offset, address) : offset;
	keep_within_memory(s, is);
	if (is->cache) {
		name_cache_add(is->cache, offset, out, n, start);
		is->spent += clock_thread_ns() - begin;
	}
	return n;
}

uint64_t symbolizer_start(struct symbolizer *s, const struct image *image, uint64_t offset)
{
	struct image_symbols *is = symbols_of(s, image);
	uint64_t address, start = offset;

	if (is->why || (is->cache && name_cache_start(is->cache, offset, &start)))
		return start;
	if (elf_file_vaddr(is->files.elf[IMAGE_OWN], offset, &address))
		return offset;
	start = start_of(is, offset, address);
	keep_within_memory(s, is);
	return start;
}

int symbolizer_jit(struct symbolizer *s, uint32_t process, struct symbol_source *source,
		   uint64_t address, struct symbol_frame out[SOURCE_FRAMES_MAX])
{
	struct source_function function;
	int n = source->ops->frames ? source_frames(s, process, FROM_JIT, source, address, out) : 0;

	if (!n && !source->ops->find(source, address, &function))
		out[n++] = (struct symbol_frame){ text_of(s, process, FROM_JIT, source,
							  source->ops->name, function.token),
						  "", 0 };
	return n && *out->name ? n : -ENOENT;
}

/* The file in which functions of the running kernel are kept. 0, or -ENOENT: none. */
static int kernel_file(const struct symbolizer *s, char name[2 * ELF_BUILD_ID_MAX + 8])
{
	const struct kernel_places *places = &s->o.kernel;
	uint8_t id[ELF_BUILD_ID_MAX];
	int n = s->o.store && (!places->kallsyms || places->notes) ? kernel_build_id(places, id)
								   : -ENOENT;

	for (int i = 0; i < n; i++)
		sprintf(name + 2 * i, "%02x", id[i]);
	if (n > 0)
		strcpy(name + 2 * n, ".kernel");
	return n > 0 ? 0 : -ENOENT;
}

/* What is built into the kernel, as an earlier run read it; NULL: nothing was kept. */
static struct kallsyms *open_kept_kernel(const struct symbolizer *s, const char *path)
{
	char name[2 * ELF_BUILD_ID_MAX + 8];
	size_t size = 0;
	void *bytes = kernel_file(s, name) ? NULL
					   : name_store_read(s->o.store, name, KERNEL_BYTES, &size);
	struct kallsyms *k = bytes ? kallsyms_of_kept(bytes, size, kallsyms_read_stext(path))
				   : NULL;

	free(bytes);
	return k;
}

static void save_kernel(struct symbolizer *s)
{
	char name[2 * ELF_BUILD_ID_MAX + 8];
	size_t size;
	void *bytes;

	if (!s->kernel || !s->kernel_whole || s->kernel_kept || kernel_file(s, name))
		return;
	bytes = kallsyms_write(s->kernel, &size);
	if (size <= KERNEL_BYTES)
		name_store_write(s->o.store, name, bytes, size, NAME_STORE_BYTES);
	free(bytes);
	s->kernel_kept = 1;
}

static void open_kernel(struct symbolizer *s)
{
	const struct kernel_places *places = &s->o.kernel;
	const char *path = places->kallsyms ? places->kallsyms : KALLSYMS;

	if (!s->kernel_whole)
		s->kernel = open_kept_kernel(s, path);
	s->kernel_kept |= s->kernel != NULL;
	if (!s->kernel) {
		s->kernel_whole = 1;
		s->kernel = kallsyms_new(path);
	}
	s->kernel_why = s->kernel ? 0 : -errno;
	s->kernel_opened = 1;
	s->kernel_reads++;
	if (s->kernel && kallsyms_stext(s->kernel) && !s->kernel_dwarf.names)
		kernel_dwarf_open(&s->kernel_dwarf, places, s->o.debug_dirs, s->o.n_debug_dirs,
				  kallsyms_stext(s->kernel));
}

/* The name of a kernel's function as its symbol has it. */
static const char *kernel_name(struct symbolizer *s, const struct kallsyms_symbol *symbol)
{
	uint64_t key = hash_pair(s->kernel_reads * ORIGINS + FROM_KERNEL, symbol->start);
	uint32_t name = hashmap_get(&s->named, key);

	if (name == HASHMAP_NONE) {
		snprintf(s->raw, sizeof(s->raw), "%s", symbol->name);
		name = intern_raw(s, FROM_KERNEL);
		hashmap_set(&s->named, key, name);
	}
	return strtab_get(s->names, name);
}

int symbolizer_kernel(struct symbolizer *s, uint64_t address,
		      struct symbol_frame out[SOURCE_FRAMES_MAX], const char **module)
{
	const struct kernel_dwarf *k = &s->kernel_dwarf;
	struct kallsyms_symbol found;
	int err, n;

	if (!s->kernel_opened)
		open_kernel(s);
	err = s->kernel_why ? s->kernel_why : kallsyms_find(s->kernel, address, &found);
	/* In a module. */
	if (err == -ENOENT && s->kernel && !s->kernel_whole) {
		s->kernel_whole = 1;
		symbolizer_reread_kernel(s);
		open_kernel(s);
		err = s->kernel_why ? s->kernel_why : kallsyms_find(s->kernel, address, &found);
	}
	if (err)
		return err;
	*module = strtab_get(s->names, strtab_add(s->names, found.module));
	n = k->names ? source_frames(s, IMAGE_NONE, FROM_DWARF, k->names, address - k->slide, out)
		     : 0;
	return finish_frames(s, out, n, kernel_name(s, &found));
}

void symbolizer_reread_kernel(struct symbolizer *s)
{
	kallsyms_free(s->kernel);
	s->kernel = NULL;
	s->kernel_opened = 0;
}

int symbolizer_kernel_hidden(const struct symbolizer *s)
{
	return s->kernel_why == -EPERM;
}

/* A name that stayed as it was would stay so in other runs. */
static void save_image(const struct symbolizer *s, struct image_symbols *is)
{
	size_t size;
	void *bytes;

	if (!is || !is->cache || !is->spent || is->spent < s->o.worth_keeping ||
	    demangler_gave_up(s->o.demangler))
		return;
	is->spent = 0;
	bytes = name_cache_write(is->cache, is->key.bytes, is->key.size, &size);
	/* It was fast enough without; so where it fails nobody need be told. */
	name_store_write(s->o.store, is->key.file, bytes, size, NAME_STORE_BYTES);
	free(bytes);
}

void symbolizer_save(struct symbolizer *s)
{
	save_kernel(s);
	for (size_t i = 0; i < s->images.n; i++)
		save_image(s, s->images.v[i]);
}

void symbolizer_forget(struct symbolizer *s, uint32_t image)
{
	struct image_symbols *is = image < s->images.n ? s->images.v[image] : NULL;

	if (!is)
		return;
	save_image(s, is);
	s->bytes -= is->bytes;
	s->images.v[image] = NULL;
	free_image(is);
}
