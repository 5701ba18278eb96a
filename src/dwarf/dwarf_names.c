/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_names.h"

#include <dwarf.h>
#include <errno.h>

#include "dwarf/dwarf_entry.h"
#include "dwarf/dwarf_functions.h"

#define REFERENCES	16		/* followed at most */

struct names {
	struct dwarf_value linkage, name, next;
};

static void take_attribute(void *names, uint16_t name, struct dwarf_value v)
{
	struct names *n = names;

	switch (name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:	n->linkage = v; break;
	case DW_AT_name:		n->name = v; break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:	n->next = v; break;
	default:			break;
	}
}

static int read_names(const struct dwarf_unit *u, uint64_t at, struct names *out)
{
	struct dwarf_entry entry;
	int err;

	*out = (struct names){ 0 };
	err = dwarf_entry_read(u, at, take_attribute, out, &entry);
	return err || entry.code ? err : -EBADMSG;
}

int dwarf_debug_text(const struct dwarf_debug *d, const struct dwarf_unit *u, struct dwarf_value v,
		     char *dst, size_t size)
{
	if (v.kind == DWARF_STRING_ALT)
		return d->alt ? dwarf_string(&d->alt->file, DWARF_STR, v.u, dst, size) : -ENOENT;
	return dwarf_text(u, v, dst, size);
}

int dwarf_name(struct dwarf_debug *d, uint64_t entry, char *dst, size_t size, uint64_t *scoped)
{
	int err = -ENOENT;

	*scoped = 0;

	/*
	 * A shorter name may come before the one for linkage, which is at the declaration mostly.
	 */
	for (int i = 0; i < REFERENCES; i++) {
		const struct dwarf_unit *u;
		struct names n;

		if (entry & DWARF_ALT)
			d = d->alt;
		u = d ? dwarf_unit_at(&d->units, entry & ~DWARF_ALT) : NULL;
		if (!u || read_names(u, entry & ~DWARF_ALT, &n))
			break;
		if (n.linkage.kind) {
			*scoped = 0;
			return dwarf_debug_text(d, u, n.linkage, dst, size);
		}
		if (n.name.kind && err)
			err = dwarf_debug_text(d, u, n.name, dst, size);
		/* The last of them stands where it was declared. */
		*scoped = err || entry & DWARF_ALT ? 0 : entry;
		if (!n.next.kind)
			break;
		entry = n.next.kind == DWARF_REF_UNIT  ? u->offset + n.next.u
			: n.next.kind == DWARF_REF     ? n.next.u
			: n.next.kind == DWARF_REF_ALT ? n.next.u | DWARF_ALT
						       : 0;
	}
	return err;
}
