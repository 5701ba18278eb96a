/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_package.h"

#include <errno.h>

#define INDEX_MAX	(64u << 20)	/* bytes of an index that is kept in memory */
#define COLUMNS_MAX	32		/* there are eight kinds of sections */
#define PROBES		1024		/* of the hash table; it is filled to two thirds */
#define HEADER		16

/*
 * Which section a column of the index is about (DWARF 5, 7.3.5.3); 0, which is DWARF_INFO's, counts
 * in one place alone.
 */
static const uint8_t sections[] = {
	[1] = DWARF_INFO,	 [3] = DWARF_ABBREV,   [4] = DWARF_LINE,
	[6] = DWARF_STR_OFFSETS, [8] = DWARF_RNGLISTS,
};

static int read_index(const struct dwarf_package *p, uint64_t at, uint32_t *out, size_t n)
{
	return dwarf_read(&p->file, DWARF_CU_INDEX, at, out, n * sizeof(*out));
}

int dwarf_package_open(struct dwarf_package *p, const struct elf_file *elf)
{
	uint32_t header[4];
	int err = dwarf_file_open(&p->file, elf, 1);

	if (err)
		return err;
	dwarf_keep(&p->file, DWARF_CU_INDEX, INDEX_MAX);
	err = p->file.section[DWARF_CU_INDEX].size ? read_index(p, 0, header, 4) : -ENODATA;
	if (!err) {
		/* GNU's is a word; DWARF's a half one, with two zeros behind it. */
		p->version = header[0];
		p->columns = header[1];
		p->units = header[2];
		p->slots = header[3];
		err = p->version != 2 && p->version != 5 ? -ENOTSUP
		      : !p->slots || p->slots & (p->slots - 1) || p->columns > COLUMNS_MAX
			      ? -EBADMSG
			      : 0;
	}
	if (err)
		dwarf_package_close(p);
	return err;
}

void dwarf_package_close(struct dwarf_package *p)
{
	dwarf_file_close(&p->file);
}

/* The row of the unit, counted from 1; 0: it has none. The table is open, with double hashing. */
static uint32_t find_row(const struct dwarf_package *p, uint64_t id)
{
	uint32_t mask = p->slots - 1, slot = (uint32_t)id & mask,
		 step = ((uint32_t)(id >> 32) & mask) | 1, row;
	uint64_t found;

	for (uint32_t i = 0; i < PROBES && i < p->slots; i++, slot = (slot + step) & mask) {
		if (dwarf_number(&p->file, DWARF_CU_INDEX, HEADER + 8ull * slot, 8, &found) ||
		    read_index(p, HEADER + 8ull * p->slots + 4ull * slot, &row, 1) || !row)
			return 0;
		if (found == id)
			return row <= p->units ? row : 0;
	}
	return 0;
}

/* @size bytes at @offset of section @id. */
static int share(struct dwarf_file *from, enum dwarf_section_id id, uint64_t offset, uint64_t size,
		 struct dwarf_file *to)
{
	const struct dwarf_section *s = &from->section[id];

	if (offset > s->size || size > s->size - offset)
		return -EBADMSG;
	to->section[id] = (struct dwarf_section){
		.offset = s->offset + offset,
		.size = size,
		.memory = s->memory ? s->memory + offset : NULL,
		.borrowed = s->memory != NULL,
	};
	return 0;
}

int dwarf_package_unit(struct dwarf_package *p, uint64_t id, struct dwarf_file *out)
{
	uint32_t kinds[COLUMNS_MAX], offsets[COLUMNS_MAX], sizes[COLUMNS_MAX],
		row = find_row(p, id);
	uint64_t at = HEADER + 12ull * p->slots, width = 4ull * p->columns;
	int err;

	if (!row)
		return -ENOENT;
	*out = (struct dwarf_file){ .elf = p->file.elf, .whole = &p->file };
	err = read_index(p, at, kinds, p->columns);
	if (!err)
		err = read_index(p, at + width * row, offsets, p->columns);
	if (!err)
		err = read_index(p, at + width * ((uint64_t)p->units + row), sizes, p->columns);
	for (uint32_t i = 0; !err && i < p->columns; i++)
		if (kinds[i] == 1 || (kinds[i] < sizeof(sections) && sections[kinds[i]]))
			err = share(&p->file, sections[kinds[i]], offsets[i], sizes[i], out);
	/* Strings are everybody's. */
	if (!err)
		err = share(&p->file, DWARF_STR, 0, p->file.section[DWARF_STR].size, out);
	return err;
}
