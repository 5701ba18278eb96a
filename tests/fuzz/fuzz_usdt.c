/* SPDX-License-Identifier: MIT */
/* Static probes of a file of any bytes, and their arguments: bounded texts, places in the file. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "probes/usdt.h"

static void take(void *ctx, const struct usdt_note *note)
{
	struct usdt_argument a;

	(void)ctx;
	require(note->offset && memchr(note->name, '\0', USDT_TEXT_MAX) && *note->name);
	require(memchr(note->provider, '\0', USDT_TEXT_MAX) != NULL);
	for (unsigned int i = 0; i < USDT_ARGUMENTS_MAX; i++)
		if (!usdt_argument(note->arguments, i, &a))
			require(a.size >= 1 && a.size <= 8 && a.reg >= 0 && a.reg < 33);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f = elf_file_open_memory(data, size);
	struct usdt_argument a;
	char *text = calloc(1, size + 1);

	if (f)
		usdt_each(f, take, NULL);
	elf_file_free(f);
	if (text && size < USDT_TEXT_MAX) {
		memcpy(text, data, size);
		for (unsigned int i = 0; i < USDT_ARGUMENTS_MAX; i++)
			if (!usdt_argument(text, i, &a))
				require(a.size >= 1 && a.size <= 8 && a.reg >= 0 && a.reg < 33);
	}
	free(text);
	return 0;
}
