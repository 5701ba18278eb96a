/* SPDX-License-Identifier: MIT */
#include "elf/elf_needed.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define DYNAMIC_MAX (1u << 20)	/* bytes */
#define NEEDED_MAX  32		/* bytes of a name */

int elf_needs(const struct elf_file *f, int (*is)(const char *name))
{
	const struct elf_section *dynamic = elf_file_section(f, ".dynamic");
	const struct elf_section *names = elf_file_section(f, ".dynstr");
	char name[NEEDED_MAX];
	const Elf64_Dyn *d;
	size_t size = 0;
	int found = 0;
	void *data;

	if (!dynamic || !names)
		return -ENOENT;
	data = elf_file_section_data(f, dynamic, DYNAMIC_MAX, &size);
	if (!data)
		return -errno;
	d = data;
	for (size_t i = 0; !found && i < size / sizeof(*d) && d[i].d_tag != DT_NULL; i++)
		found = d[i].d_tag == DT_NEEDED && d[i].d_un.d_val < names->size &&
			!elf_file_string(f, names->offset + d[i].d_un.d_val,
					 names->offset + names->size, name, sizeof(name)) &&
			is(name);
	free(data);
	return found;
}
