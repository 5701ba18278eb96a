/* SPDX-License-Identifier: MIT */
/* What fuzz targets of languages have in common. */
#ifndef EBPROF_FUZZ_LANG_H
#define EBPROF_FUZZ_LANG_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/ebprof.h"
#include "lang/lang.h"

/* The input as a record of code of @language: names and lines of it. */
static inline void fuzz_decode(const uint8_t *data, size_t size, enum ebp_language language)
{
	struct ebp_code *record = malloc(size + 8);
	struct lang_code code;

	if (!record)
		return;
	memcpy(record, data, size);
	if (size >= sizeof(*record))
		record->language = language;
	if (!lang_code_decode(record, size, &code)) {
		if (code.ops->complete)
			code.ops->complete(&code, record, NULL);
		for (uint32_t place = 0; place < 64; place++)
			code.ops->line(&code, place);
		lang_code_free(&code);
	}
	free(record);
}

/* The input as the file of an interpreter of that @name. */
static inline void fuzz_recognise(const uint8_t *data, size_t size, const struct lang_ops *ops,
				  const char *name)
{
	struct elf_file *f = elf_file_open_memory(data, size);
	struct lang_image image = { 0 };

	if (!f)
		return;
	ops->recognise(f, name, &image);
	lang_image_runs(&image, 5);
	lang_image_free(&image);
	elf_file_free(f);
}

#endif
