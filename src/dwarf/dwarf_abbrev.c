/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_abbrev.h"

#include <dwarf.h>

#include "base/cursor.h"
#include "dwarf/dwarf_form.h"

#define SECTION_MAX	(256u << 20)
#define LIST_MAX	(1u << 20)	/* abbreviations, and attributes, of one table */
/* attributes of an entry that take no bytes: a small file could have any number */
#define FREE_MAX	32
#define KEPT_MAX	(64u << 20)	/* bytes of tables that are kept */

/* Its attributes, up to the pair of zeros. */
static int take_attributes(struct dwarf_abbrevs *t, struct cursor *c, struct dwarf_abbrev *a)
{
	unsigned free_ones = 0;

	a->first = (uint32_t)t->attributes.n;
	for (;;) {
		struct dwarf_attribute attr = { 0 };
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		int size;

		if (c->bad || name > UINT16_MAX || form > UINT16_MAX || t->attributes.n > LIST_MAX)
			return -1;
		if (!name && !form)
			break;
		attr.name = (uint16_t)name;
		attr.form = (uint16_t)form;
		if (form == DW_FORM_implicit_const)
			attr.implicit = cursor_sleb(c);
		size = dwarf_form_size(attr.form);
		if (!size && ++free_ones > FREE_MAX)
			return -1;
		a->fixed = a->fixed < 0 || size < 0 ? -1 : a->fixed + size;
		vec_push(&t->attributes, attr);
	}
	a->n = (uint32_t)t->attributes.n - a->first;
	return 0;
}

/*
 * The table at @offset; of it @only this abbreviation, unless that is 0. NULL where it is damaged,
 * up to there.
 */
static struct dwarf_abbrevs *parse(struct dwarf_file *f, uint64_t offset, uint64_t only)
{
	const struct dwarf_section *s = &f->section[DWARF_ABBREV];
	struct cursor c = { s->memory + offset, s->memory + s->size, 0 };
	struct dwarf_abbrevs *t = xcalloc(1, sizeof(*t));
	int sorted = 1;

	t->offset = offset;
	while (!only || !t->list.n) {
		const uint8_t *before = c.p;
		struct dwarf_abbrev a = { .code = cursor_uleb(&c) };
		uint64_t tag;

		if (!a.code && !c.bad)
			break;
		tag = cursor_uleb(&c);
		a.children = (uint8_t)cursor_fixed(&c, 1);
		if (c.bad || tag > UINT16_MAX || t->list.n > LIST_MAX ||
		    take_attributes(t, &c, &a)) {
			dwarf_abbrevs_free(t);
			return NULL;
		}
		a.tag = (uint16_t)tag;
		if (dwarf_spend(f, (uint64_t)(c.p - before))) {
			dwarf_abbrevs_free(t);
			return NULL;
		}
		if (only && a.code != only) {
			t->attributes.n = a.first;
			continue;
		}
		sorted &= !t->list.n || t->list.v[t->list.n - 1].code < a.code;
		vec_push(&t->list, a);
	}
	if (!sorted)
		dwarf_abbrevs_sort(t);
	return t;
}

/* As parse(), of the section. */
static struct dwarf_abbrevs *read_table(struct dwarf_file *f, uint64_t offset, uint64_t only)
{
	dwarf_keep(f, DWARF_ABBREV, SECTION_MAX);
	return f->section[DWARF_ABBREV].memory && offset < f->section[DWARF_ABBREV].size
		       ? parse(f, offset, only)
		       : NULL;
}

const struct dwarf_abbrevs *dwarf_abbrevs_root(struct dwarf_file *f, uint64_t offset, uint64_t code)
{
	if (!f->root || f->root->offset != offset || !dwarf_abbrev_of(f->root, code)) {
		dwarf_abbrevs_free(f->root);
		f->root = read_table(f, offset, code);
	}
	return f->root;
}

const struct dwarf_abbrevs *dwarf_abbrevs_at(struct dwarf_file *f, uint64_t offset)
{
	uint32_t id = hashmap_get(&f->abbrev_ids, offset);
	struct dwarf_abbrevs *t;

	if (id != HASHMAP_NONE)
		return f->abbrevs.v[id];
	t = read_table(f, offset, 0);
	if (!t)
		return NULL;
	/* They may overlap, so that a small file has any number of large ones. */
	if (f->abbrev_bytes > KEPT_MAX)
		dwarf_file_forget(f);
	f->abbrev_bytes += sizeof(*t) + t->list.cap * sizeof(*t->list.v) +
			   t->attributes.cap * sizeof(*t->attributes.v);
	hashmap_set(&f->abbrev_ids, offset, (uint32_t)f->abbrevs.n);
	vec_push(&f->abbrevs, t);
	return t;
}
