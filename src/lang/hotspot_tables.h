/* SPDX-License-Identifier: MIT */
/*
 * What a libjvm.so says of its own structures: the tables that gHotSpotVMStructs and
 * gHotSpotVMTypes lead to (src/hotspot/share/runtime/vmStructs.hpp), read from the file.
 *
 * Pointers are relocated by what .rela.dyn says of them. Offsets of fields are in the tables (to
 * JDK 11), or are stored there by a constructor, with one instruction each, which is looked
 * for in the code.
 */
#ifndef EBPROF_HOTSPOT_TABLES_H
#define EBPROF_HOTSPOT_TABLES_H

#include <stdint.h>

#include "elf/elf_file.h"

/* A field of a structure, or, where @field is "", the structure itself. */
struct hotspot_entry {
	const char *type, *field;	/* valid while it is given */
	int is_static;
	/* a field's offset, or address if it is static; a structure's size. In bytes */
	uint64_t value;
};

typedef void hotspot_take(void *ctx, const struct hotspot_entry *entry);

/* Gives each entry of @f. 0, or -ENOENT: it has no such tables, or -EBADMSG: they are damaged. */
int hotspot_tables_each(const struct elf_file *f, hotspot_take *take, void *ctx);

#endif
