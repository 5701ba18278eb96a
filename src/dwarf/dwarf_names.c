/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_names.h"

#include <dwarf.h>
#include <errno.h>

#include "dwarf/dwarf_functions.h"

#define PEEK		256		/* bytes of an entry: more than most have */
#define PEEK_MAX	8192
#define REFERENCES	16		/* followed at most */

struct names {
	struct dwarf_value linkage, name, next;
};

static void take_attribute(struct names *n, uint16_t name, struct dwarf_value v)
{
	switch (name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:	n->linkage = v; break;
	case DW_AT_name:		n->name = v; break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:	n->next = v; break;
	default:			break;
	}
}

static int read_names(const struct dwarf_unit *u, uint64_t entry, size_t size, struct names *out)
{
	const struct dwarf_abbrevs *t = dwarf_abbrevs_at(u->file, u->abbrev);
	const struct dwarf_abbrev *a;
	uint8_t room[PEEK_MAX];
	long n = dwarf_peek(u->file, DWARF_INFO, entry, room, size);
	struct cursor c = { room, room + (n > 0 ? n : 0), 0 };
	uint64_t code = cursor_uleb(&c);

	*out = (struct names){ 0 };
	a = t && code ? dwarf_abbrev_of(t, code) : NULL;
	if (!a || n <= 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct dwarf_attribute *attr = &t->attributes.v[a->first + i];
		struct dwarf_value v = dwarf_form_read(&c, attr->form, attr->implicit, u->encoding,
						       room);

		if (v.kind == DWARF_STRING_HERE)
			v.u += entry;
		take_attribute(out, attr->name, v);
	}
	if (c.bad && size < PEEK_MAX)
		return read_names(u, entry, PEEK_MAX, out);
	return c.bad ? -EBADMSG : 0;
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
		if (!u || read_names(u, entry & ~DWARF_ALT, PEEK, &n))
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
