/* SPDX-License-Identifier: MIT */
#include "lang/python_path.h"

#include <string.h>

static int is(const char *name, size_t size, const char *expected)
{
	return size == strlen(expected) && !memcmp(name, expected, size);
}

/* Where a library has its modules: "python3", "python3.11", "python311.zip". */
static int is_versioned(const char *name, size_t size)
{
	const char stem[] = "python3", zip[] = ".zip";
	size_t i = sizeof(stem) - 1;

	if (size < i || memcmp(name, stem, i))
		return 0;
	while (i < size && (name[i] == '.' || (name[i] >= '0' && name[i] <= '9')) &&
	       !is(name + i, size - i, zip))
		i++;
	return i == size || is(name + i, size - i, zip);
}

const char *python_module_path(const char *file)
{
	const char *shown = file, *name = file, *slash;
	int in_lib = 0;

	for (; (slash = strchr(name, '/')); name = slash + 1) {
		size_t size = (size_t)(slash - name);

		if (is(name, size, "site-packages") || is(name, size, "dist-packages") ||
		    (in_lib && is_versioned(name, size)))
			shown = slash + 1;
		in_lib = is(name, size, "lib") || is(name, size, "lib64");
	}
	return *shown ? shown : file;
}
