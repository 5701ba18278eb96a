/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/vdso.h"
#include "symbols/demangle.h"
#include "symbols/elf_symbols.h"
#include "symbols/kallsyms.h"

#define KALLSYMS	"/proc/kallsyms"
#define MAX_RAW		4096	/* bytes of a name in its file; longer ones are cut */
#define MAX_READABLE	8192	/* bytes of a demangled one; where it is longer the raw one is shown */

/* The sources of an image, the best first; the first that can be opened names it. */
static struct symbol_source *(*const image_sources[])(const struct elf_file *) = {
	elf_symbols_open,
};

struct image_symbols {
	int opened;			/* the rest is known */
	int why;			/* 0, or why there are no symbols */
	void *memory;			/* the vDSO's bytes, else NULL */
	struct elf_file *elf;
	struct symbol_source *source;
};

struct symbolizer {
	VEC(struct image_symbols) images;	/* by image->id */
	struct kallsyms *kernel;
	int kernel_opened, kernel_why;
	struct strtab *names;
	struct hashmap named;			/* hash_pair(image or KERNEL, token) -> id in names */
	char raw[MAX_RAW], readable[MAX_READABLE], clean[MAX_READABLE];
};

#define KERNEL	UINT64_MAX	/* in place of an image's id */

struct symbolizer *symbolizer_new(void)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->names = strtab_new();
	return s;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->images.n; i++) {
		symbol_source_free(s->images.v[i].source);
		elf_file_free(s->images.v[i].elf);
		free(s->images.v[i].memory);
	}
	vec_free(&s->images);
	kallsyms_free(s->kernel);
	strtab_free(s->names);
	hashmap_free(&s->named);
	free(s);
}

/* 0, or why @image has no symbols. What was opened before an error is freed with the rest. */
static int open_image(struct image_symbols *is, const struct image *image)
{
	int err = -ENODATA;
	size_t size;

	if (image->kind == IMAGE_SPECIAL)
		return -ENOENT;
	if (image->kind == IMAGE_VDSO) {
		is->memory = vdso_copy(&size);
		if (!is->memory)
			return -errno;
		is->elf = elf_file_open_memory(is->memory, size);
	} else if (image->fd < 0) {
		return image->why ? image->why : -ENOENT;
	} else {
		is->elf = elf_file_open(image->fd);
	}
	if (!is->elf)
		return -errno;
	for (size_t i = 0; i < sizeof(image_sources) / sizeof(*image_sources) && !is->source; i++) {
		is->source = image_sources[i](is->elf);
		if (!is->source)
			err = -errno;
	}
	return is->source ? 0 : err;
}

static struct image_symbols *symbols_of(struct symbolizer *s, const struct image *image)
{
	struct image_symbols *is;

	while (s->images.n <= image->id)
		vec_push(&s->images, (struct image_symbols){ 0 });
	is = &s->images.v[image->id];
	if (!is->opened) {
		is->why = open_image(is, image);
		is->opened = 1;
	}
	return is;
}

/* The id of s->raw, demangled and cleaned. */
static uint32_t intern_raw(struct symbolizer *s)
{
	demangle(s->raw, s->readable, sizeof(s->readable));
	text_clean(s->clean, sizeof(s->clean), s->readable);
	return strtab_add(s->names, s->clean);
}

int symbolizer_user(struct symbolizer *s, const struct image *image, uint64_t offset, struct symbol *out)
{
	struct image_symbols *is = symbols_of(s, image);
	struct source_function function;
	uint64_t address, key;
	uint32_t name;
	int err;

	if (is->why)
		return is->why;
	err = elf_file_vaddr(is->elf, offset, &address);
	if (err)
		return err;
	err = is->source->ops->find(is->source, address, &function);
	if (err)
		return err;
	key = hash_pair(image->id, function.token);
	name = hashmap_get(&s->named, key);
	if (name == HASHMAP_NONE) {
		err = is->source->ops->name(is->source, function.token, s->raw, sizeof(s->raw));
		if (err)
			return err;
		name = intern_raw(s);
		hashmap_set(&s->named, key, name);
	}
	*out = (struct symbol){ .name = strtab_get(s->names, name), .offset = address - function.start };
	return *out->name ? 0 : -ENOENT;
}

int symbolizer_kernel(struct symbolizer *s, uint64_t address, struct symbol *out)
{
	struct kallsyms_symbol found;
	uint64_t key;
	uint32_t name;
	int err;

	if (!s->kernel_opened) {
		s->kernel = kallsyms_new(KALLSYMS);
		s->kernel_why = s->kernel ? 0 : -errno;
		s->kernel_opened = 1;
	}
	if (s->kernel_why)
		return s->kernel_why;
	err = kallsyms_find(s->kernel, address, &found);
	if (err)
		return err;
	key = hash_pair(KERNEL, found.start);
	name = hashmap_get(&s->named, key);
	if (name == HASHMAP_NONE) {
		snprintf(s->raw, sizeof(s->raw), "%s", found.name);
		name = intern_raw(s);
		hashmap_set(&s->named, key, name);
	}
	*out = (struct symbol){ strtab_get(s->names, name), found.module, address - found.start };
	return 0;
}

int symbolizer_kernel_hidden(const struct symbolizer *s)
{
	return s->kernel_why == -EPERM;
}
