/* SPDX-License-Identifier: MIT */
/* What runtimes keep of containers: the name of a log, and a file of JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *field, size_t size)
{
	if (!memchr(field, '\0', size) || strpbrk(field, " \n\"\\{}"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container c = { 0 };
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (size < 512)
		container_of_log(text, &c);
	container_of_json(text, size, &c);
	check(c.name, sizeof(c.name));
	check(c.image, sizeof(c.image));
	check(c.pod, sizeof(c.pod));
	check(c.namespace, sizeof(c.namespace));
	free(text);
	return 0;
}
