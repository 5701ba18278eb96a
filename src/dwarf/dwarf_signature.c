/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_signature.h"

#include <dwarf.h>
#include <errno.h>

#include "dwarf/dwarf_entry.h"
#include "dwarf/dwarf_functions.h"

#define REFERENCES	16		/* followed at most */
#define CHILDREN	64		/* looked at, at most */

/* What is read of an entry. */
struct entry {
	struct dwarf_entry is;
	struct dwarf_value type, size, encoding, next;
};

static void take_attribute(void *entry, uint16_t name, struct dwarf_value v)
{
	struct entry *e = entry;

	switch (name) {
	case DW_AT_type:		e->type = v; break;
	case DW_AT_byte_size:		e->size = v; break;
	case DW_AT_encoding:		e->encoding = v; break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:	e->next = v; break;
	default:			break;
	}
}

static int read_entry(const struct dwarf_unit *u, uint64_t at, struct entry *out)
{
	*out = (struct entry){ .is = { 0 } };
	return dwarf_entry_read(u, at, take_attribute, out, &out->is);
}

/* The entry that @v of one of @u refers to; 0: none that is in this file. */
static uint64_t referred(const struct dwarf_unit *u, struct dwarf_value v)
{
	return v.kind == DWARF_REF_UNIT ? u->offset + v.u : v.kind == DWARF_REF ? v.u : 0;
}

static int is_same_number(uint16_t tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_enumeration_type;
}

static int is_address(uint16_t tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

static int number(const struct entry *e)
{
	static const int8_t signs[DW_ATE_UTF + 1] = {
		[DW_ATE_boolean] = 1,	[DW_ATE_unsigned] = 1, [DW_ATE_unsigned_char] = 1,
		[DW_ATE_address] = 1,	[DW_ATE_UTF] = 1,      [DW_ATE_signed] = -1,
		[DW_ATE_signed_char] = -1,
	};

	if (e->encoding.kind == DWARF_NOTHING || e->encoding.u > DW_ATE_UTF || e->size.u > 8)
		return 0;
	return signs[e->encoding.u] * (int)e->size.u;
}

/* As in struct dwarf_signature, of the type @v in @u. */
static int number_of(const struct dwarf_debug *d, const struct dwarf_unit *u, struct dwarf_value v)
{
	for (int i = 0; i < REFERENCES; i++) {
		uint64_t at = referred(u, v);
		struct entry e;

		u = at ? dwarf_unit_at(&d->units, at) : NULL;
		if (!u || read_entry(u, at, &e))
			return 0;
		if (is_address(e.is.tag))
			return u->encoding.address_size;
		if (!is_same_number(e.is.tag) || e.encoding.kind != DWARF_NOTHING)
			return number(&e);
		/* C's enumerations have no type that they are made of, but a size. */
		if (e.type.kind == DWARF_NOTHING)
			return e.is.tag == DW_TAG_enumeration_type && e.size.u <= 8 ? (int)e.size.u
										 : 0;
		v = e.type;
	}
	return 0;
}

/* Parameters come before all else that a function has. */
static void take_arguments(const struct dwarf_debug *d, const struct dwarf_unit *u, uint64_t at,
			   struct dwarf_signature *out)
{
	unsigned int n = 0;
	struct entry e;

	for (int i = 0; i < CHILDREN && n < DWARF_ARGUMENTS_MAX; i++, at = e.is.end) {
		if (read_entry(u, at, &e) || !e.is.code || e.is.has_children)
			return;
		if (e.is.tag == DW_TAG_formal_parameter)
			out->argument[n++] = number_of(d, u, e.type);
	}
}

int dwarf_signature(struct dwarf_debug *d, uint64_t entry, struct dwarf_signature *out)
{
	*out = (struct dwarf_signature){ 0 };
	for (int i = 0; i < REFERENCES; i++) {
		const struct dwarf_unit *u = entry & DWARF_ALT ? NULL
							       : dwarf_unit_at(&d->units, entry);
		struct entry e;

		if (!u || read_entry(u, entry, &e))
			return -EBADMSG;
		if (!i && e.is.has_children)
			take_arguments(d, u, e.is.end, out);
		/* The result of a member is told where that was declared. */
		if (e.type.kind != DWARF_NOTHING)
			out->result = number_of(d, u, e.type);
		if (e.type.kind != DWARF_NOTHING || e.next.kind == DWARF_NOTHING)
			return 0;
		entry = referred(u, e.next);
	}
	return -EBADMSG;
}
