/* SPDX-License-Identifier: MIT */
#include "elf/debug_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A section that begins with a name: that into @name, and where it ends. */
static int read_named(const struct elf_file *f, const char *section, char *name, size_t room,
		      char **data, size_t *size, size_t *end)
{
	const struct elf_section *s = elf_file_section(f, section);

	if (!s)
		return -ENOENT;
	*data = elf_file_section_data(f, s, PATH_MAX + 64, size);
	if (!*data)
		return errno == ENOMEM ? -ENOMEM : -EBADMSG;
	*end = strlen(*data);	/* a NUL is behind the data */
	if (!*end || *end >= *size || *end >= room) {
		free(*data);
		return -EBADMSG;
	}
	memcpy(name, *data, *end + 1);
	return 0;
}

/* The name, zeros up to a multiple of four, and the CRC. */
int debug_link_read(const struct elf_file *f, struct debug_link *out)
{
	size_t size, end;
	char *data;
	int err = read_named(f, ".gnu_debuglink", out->name, sizeof(out->name), &data, &size, &end);

	if (err)
		return err;
	end = (end + 4) & ~(size_t)3;
	if (size < end + sizeof(out->crc) || strchr(out->name, '/') || !strcmp(out->name, ".") ||
	    !strcmp(out->name, ".."))
		err = -EBADMSG;
	else
		memcpy(&out->crc, data + end, sizeof(out->crc));
	free(data);
	return err;
}

/* The name, and the build id up to the section's end. */
int debug_alt_link_read(const struct elf_file *f, struct debug_alt_link *out)
{
	size_t size, end;
	char *data;
	int err = read_named(f, ".gnu_debugaltlink", out->name, sizeof(out->name), &data, &size,
			     &end);

	if (err)
		return err;
	out->build_id_size = size - end - 1;
	if (!out->build_id_size || out->build_id_size > ELF_BUILD_ID_MAX)
		err = -EBADMSG;
	else
		memcpy(out->build_id, data + end + 1, out->build_id_size);
	free(data);
	return err;
}
