/* SPDX-License-Identifier: MIT */
#include "probes/signatures.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "dwarf/dwarf_functions.h"
#include "dwarf/dwarf_signature.h"

#define NO_UNIT SIZE_MAX

struct unit_code {
	struct dwarf_range range;
	size_t unit;
};

struct signatures {
	struct dwarf_debug debug;
	VEC(struct unit_code) code;
	size_t unit;			/* whose functions these are */
	struct dwarf_functions functions;
};

static void take_code(struct signatures *s, size_t unit)
{
	const struct dwarf_unit *u = &s->debug.units.v[unit];
	dwarf_ranges ranges = { 0 };

	dwarf_entry_ranges(u, u->low, u->high, u->range_list, &ranges);
	for (size_t i = 0; i < ranges.n; i++)
		vec_push(&s->code, (struct unit_code){ ranges.v[i], unit });
	vec_free(&ranges);
}

struct signatures *signatures_open(const struct elf_file *f)
{
	struct signatures *s = xcalloc(1, sizeof(*s));

	s->unit = NO_UNIT;
	if (dwarf_file_open(&s->debug.file, f, 0)) {
		free(s);
		return NULL;
	}
	dwarf_units_read(&s->debug.file, NULL, &s->debug.units);
	for (size_t i = 0; i < s->debug.units.n; i++)
		take_code(s, i);
	return s;
}

void signatures_close(struct signatures *s)
{
	if (!s)
		return;
	dwarf_functions_free(&s->functions);
	vec_free(&s->code);
	vec_free(&s->debug.units);
	dwarf_file_close(&s->debug.file);
	free(s);
}

static size_t unit_of(const struct signatures *s, uint64_t address)
{
	for (size_t i = 0; i < s->code.n; i++)
		if (address >= s->code.v[i].range.start && address < s->code.v[i].range.end)
			return s->code.v[i].unit;
	return NO_UNIT;
}

/* The function that begins at @address; DWARF_NO_NODE: none that is known. */
static uint32_t function_at(struct signatures *s, uint64_t address)
{
	size_t unit = unit_of(s, address);
	uint32_t node;

	if (unit == NO_UNIT)
		return DWARF_NO_NODE;
	if (unit != s->unit) {
		dwarf_functions_free(&s->functions);
		dwarf_functions_read(&s->debug.units.v[unit], &s->functions);
		s->unit = unit;
	}
	node = dwarf_functions_find(&s->functions, address);
	while (node != DWARF_NO_NODE && s->functions.nodes.v[node].parent != DWARF_NO_NODE)
		node = s->functions.nodes.v[node].parent;
	return node != DWARF_NO_NODE && s->functions.nodes.v[node].start == address ? node
										   : DWARF_NO_NODE;
}

void signatures_find(struct signatures *s, uint64_t address, char text[SIGNATURE_TEXT])
{
	uint32_t node = function_at(s, address);
	struct dwarf_signature x;
	size_t n;

	*text = '\0';
	if (node == DWARF_NO_NODE ||
	    dwarf_signature(&s->debug, s->functions.nodes.v[node].entry, &x))
		return;
	n = (size_t)snprintf(text, SIGNATURE_TEXT, "%d", x.result);
	for (int i = 0; i < DWARF_ARGUMENTS_MAX; i++)
		n += (size_t)snprintf(text + n, SIGNATURE_TEXT - n, " %d", x.argument[i]);
}
