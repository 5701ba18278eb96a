/* SPDX-License-Identifier: MIT */
/* The types of arguments and results, by DWARF, over any ELF file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf_functions.h"
#include "dwarf/dwarf_signature.h"
#include "probes/signatures.h"

#define UNITS_MAX 16
#define NODES_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_number(int bytes)
{
	if (bytes < -8 || bytes > 8)
		abort();
}

/* Of any entry, a function's or not; and by the address of the function. */
static void look_up(struct dwarf_debug *d, struct signatures *s, const struct dwarf_node *node)
{
	char text[SIGNATURE_TEXT];
	struct dwarf_signature x;

	if (!dwarf_signature(d, node->entry, &x)) {
		check_number(x.result);
		for (int i = 0; i < DWARF_ARGUMENTS_MAX; i++)
			check_number(x.argument[i]);
	}
	signatures_find(s, node->start, text);
	if (strlen(text) >= SIGNATURE_TEXT)
		abort();
}

static void look_at(struct dwarf_debug *d, struct signatures *s, const struct dwarf_unit *u)
{
	struct dwarf_functions f;

	if (!dwarf_functions_read(u, &f))
		for (size_t i = 0; i < f.nodes.n && i < NODES_MAX; i++)
			look_up(d, s, &f.nodes.v[i]);
	dwarf_functions_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f = elf_file_open_memory(data, size);
	struct signatures *s = f ? signatures_open(f) : NULL;
	struct dwarf_debug d = { .alt = NULL };

	if (s && !dwarf_file_open(&d.file, f, 0)) {
		dwarf_units_read(&d.file, NULL, &d.units);
		for (size_t i = 0; i < d.units.n && i < UNITS_MAX; i++)
			look_at(&d, s, &d.units.v[i]);
		vec_free(&d.units);
		dwarf_file_close(&d.file);
	}
	signatures_close(s);
	if (f)
		elf_file_free(f);
	return 0;
}
