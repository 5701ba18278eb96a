/* SPDX-License-Identifier: MIT */
/* What fuzz targets have in common. */
#ifndef EBPROF_TESTS_FUZZ_H
#define EBPROF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void require(int condition)
{
	if (!condition)
		abort();
}

/*
 * @data as a text, malloc'd, whose first line ends where *@rest begins; NULL where there is no
 * memory.
 */
static inline char *fuzz_text(const uint8_t *data, size_t size, char **rest)
{
	char *text = malloc(size + 1);
	size_t line;

	if (!text)
		return NULL;
	memcpy(text, data, size);
	text[size] = '\0';
	line = strcspn(text, "\n");
	if (text[line])
		text[line++] = '\0';
	*rest = text + line;
	return text;
}

#endif
