/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_functions.h"

#include <dwarf.h>
#include <errno.h>

#include "base/search.h"
#include "base/sort.h"

#define UNIT_MAX	(1ull << 30)	/* bytes of one unit */
#define NAMELESS_MAX	4096	/* scopes that are looked at to count those without a name */
#define NODES_MAX	(16u << 20)
/* ranges in all, and one a byte of the unit: many entries may have the same list */
#define COVERED_LEAST	(1u << 20)
/* entries nested more deeply count as their ancestor's children */
#define LEVELS		1024

struct covered {
	uint64_t start, end;
	uint32_t node;
};

struct reader {
	const struct dwarf_unit *u;
	struct dwarf_functions *out;
	const struct dwarf_abbrevs *abbrevs;
	const uint8_t *bytes;		/* from u->entries on */
	uint64_t most_covered;
	struct cursor c;
	VEC(struct covered) covered;
	dwarf_ranges ranges;
	uint32_t nodes[LEVELS];		/* of the ancestors, by level */
	uint32_t scopes[LEVELS];
	/* the entries of those that they are in, with code or without; 0: none */
	uint64_t functions[LEVELS];
	size_t level, beyond;		/* beyond: levels that have no place in @nodes */
};

/* What is read of an entry. */
struct entry {
	struct dwarf_value low, high, ranges, origin, sibling, call_file, call_line, name,
		declaration;
};

static void take_attribute(struct entry *e, uint16_t name, struct dwarf_value v)
{
	switch (name) {
	case DW_AT_sibling:		e->sibling = v; break;
	case DW_AT_name:		e->name = v; break;
	case DW_AT_declaration:		e->declaration = v; break;
	case DW_AT_low_pc:		e->low = v; break;
	case DW_AT_high_pc:		e->high = v; break;
	case DW_AT_ranges:		e->ranges = v; break;
	case DW_AT_abstract_origin:	e->origin = v; break;
	case DW_AT_call_file:		e->call_file = v; break;
	case DW_AT_call_line:		e->call_line = v; break;
	default:			break;
	}
}

static struct entry read_entry(struct reader *r, const struct dwarf_abbrev *a)
{
	struct entry e = { 0 };

	for (uint32_t i = 0; i < a->n; i++) {
		const struct dwarf_attribute *attr = &r->abbrevs->attributes.v[a->first + i];

		take_attribute(&e, attr->name,
			       dwarf_form_read(&r->c, attr->form, attr->implicit,
					       r->u->encoding, r->bytes));
	}
	return e;
}

/*
 * Offset in .debug_info of what @v refers to, with DWARF_ALT; @otherwise where it refers to
 * nothing.
 */
static uint64_t referred(const struct dwarf_unit *u, struct dwarf_value v, uint64_t otherwise)
{
	switch (v.kind) {
	case DWARF_REF_UNIT:	return u->offset + v.u;
	case DWARF_REF:		return v.u;
	case DWARF_REF_ALT:	return v.u | DWARF_ALT;
	default:		return otherwise;
	}
}

/* The next entry is the sibling, where that lies ahead. */
static int skip_to(struct reader *r, struct dwarf_value sibling)
{
	uint64_t at = referred(r->u, sibling, 0);

	if (at <= r->u->entries + (uint64_t)(r->c.p - r->bytes) || at >= r->u->end)
		return 0;
	r->c.p = r->bytes + (at - r->u->entries);
	return 1;
}

/* A function or an inlined call. Returns its node, or the one around it where it has no code. */
static uint32_t take_code(struct reader *r, const struct dwarf_abbrev *a, const struct entry *e,
			  uint64_t offset)
{
	int inlined = a->tag == DW_TAG_inlined_subroutine;
	uint32_t parent = inlined ? r->nodes[r->level] : DWARF_NO_NODE;
	uint32_t node = (uint32_t)r->out->nodes.n;

	r->ranges.n = 0;
	if (node < NODES_MAX)
		dwarf_entry_ranges(r->u, e->low, e->high, e->ranges, &r->ranges);
	if (!r->ranges.n)
		return r->nodes[r->level];
	vec_push(&r->out->nodes,
		 (struct dwarf_node){
			 .entry = referred(r->u, e->origin, offset),
			 .start = r->ranges.v[0].start,
			 .parent = parent,
			 .call_file = e->call_file.kind ? (uint32_t)e->call_file.u : DWARF_NO_FILE,
			 .call_line = (uint32_t)e->call_line.u,
		 });
	for (size_t i = 0; i < r->ranges.n && r->covered.n < r->most_covered; i++)
		vec_push(&r->covered,
			 (struct covered){ r->ranges.v[i].start, r->ranges.v[i].end, node });
	return node;
}

/* A namespace or class that begins at @offset. Returns its scope. */
static uint32_t take_scope(struct reader *r, const struct dwarf_abbrev *a, const struct entry *e,
			   uint64_t offset)
{
	struct dwarf_value name = e->name;
	uint32_t parent = r->scopes[r->level];
	uint64_t function = r->functions[r->level];

	if (r->out->scopes.n >= NODES_MAX)
		return r->scopes[r->level];
	if (name.kind == DWARF_STRING_HERE)
		name.u += r->u->entries;
	vec_push(&r->out->scopes,
		 (struct dwarf_scope){
			 .start = offset,
			 .end = r->u->end,
			 .parent = parent,
			 .is_namespace = a->tag == DW_TAG_namespace,
			 .function = parent != DWARF_NO_NODE &&
						     r->out->scopes.v[parent].start > function
					     ? 0
					     : function,
			 .name = name,
		 });
	return (uint32_t)r->out->scopes.n - 1;
}

static void descend(struct reader *r, uint32_t node, uint32_t scope, uint64_t function)
{
	if (r->level + 1 == LEVELS) {
		r->beyond++;
		return;
	}
	r->level++;
	r->nodes[r->level] = node;
	r->scopes[r->level] = scope;
	r->functions[r->level] = function;
}

/* The end of a list of children; more of them than lists is padding. */
static void ascend(struct reader *r, uint64_t offset)
{
	uint32_t scope = r->scopes[r->level];

	if (r->beyond) {
		r->beyond--;
	} else if (r->level) {
		r->level--;
		if (scope != r->scopes[r->level])
			r->out->scopes.v[scope].end = offset;
	}
}

/*
 * Their children are no code where the compiler says how to pass them over: gcc does, whose
 * functions are outside of types, but for types that are in a function themselves, as those of
 * lambdas are.
 */
static int is_type(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_subroutine_type || tag == DW_TAG_array_type;
}

static int is_scope(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static int take_entry(struct reader *r)
{
	uint64_t offset = r->u->entries + (uint64_t)(r->c.p - r->bytes), code = cursor_uleb(&r->c);
	const struct dwarf_abbrev *a;
	uint32_t node = r->nodes[r->level], scope = r->scopes[r->level];
	struct entry e;
	int is_code, no_code;

	if (!code) {
		ascend(r, offset);
		return 0;
	}
	a = dwarf_abbrev_of(r->abbrevs, code);
	if (!a)
		return -EBADMSG;
	is_code = a->tag == DW_TAG_subprogram || a->tag == DW_TAG_inlined_subroutine;
	if (!is_code && !is_type(a->tag) && a->tag != DW_TAG_namespace && a->fixed >= 0 &&
	    r->u->encoding.offset_size == 4 && r->u->encoding.address_size == 8) {
		cursor_skip(&r->c, (uint64_t)a->fixed);
	} else {
		e = read_entry(r, a);
		if (r->c.bad)
			return -EBADMSG;
		if (is_code)
			node = take_code(r, a, &e, offset);
		else if (a->children && is_scope(a->tag))
			scope = take_scope(r, a, &e, offset);
		/* What is only to be inlined has no code, but it may have a lambda that has. */
		no_code = is_code ? e.declaration.kind != DWARF_NOTHING
				  : is_type(a->tag) && !r->functions[r->level];
		if (a->children && no_code && skip_to(r, e.sibling)) {
			if (scope != r->scopes[r->level])
				r->out->scopes.v[scope].end = r->u->entries +
							      (uint64_t)(r->c.p - r->bytes);
			return 0;
		}
	}
	if (a->children)
		descend(r, node, scope,
			a->tag == DW_TAG_subprogram ? offset : r->functions[r->level]);
	return r->c.bad ? -EBADMSG : 0;
}

/* --- Stretches. ------------------------------------------------------------------ */

/*
 * By start, and of one start in the order they were read: what an inlined call
 * lies in comes before it.
 */
static struct sort_key *sort_covered(const struct reader *r)
{
	struct sort_key *keys = xcalloc(r->covered.n + 1, sizeof(*keys));

	for (size_t i = 0; i < r->covered.n; i++)
		keys[i] = (struct sort_key){ r->covered.v[i].start, (uint32_t)i };
	return sort_keys(keys, r->covered.n);
}

/* From @start on it is @node, until the next piece. */
static void push_piece(struct dwarf_functions *f, uint64_t start, uint32_t node)
{
	if (f->pieces.n && f->pieces.v[f->pieces.n - 1].start == start)
		f->pieces.n--;
	if (!f->pieces.n || f->pieces.v[f->pieces.n - 1].node != node)
		vec_push(&f->pieces, (struct dwarf_piece){ start, node });
}

/* Cuts what nests into pieces that do not: the innermost has each. */
static void cut(struct reader *r)
{
	VEC(struct covered) open = { 0 };
	struct sort_key *keys = sort_covered(r);

	for (size_t i = 0; i <= r->covered.n; i++) {
		uint64_t start = i < r->covered.n ? keys[i].key : UINT64_MAX;

		while (open.n && open.v[open.n - 1].end <= start) {
			uint64_t end = open.v[--open.n].end;

			/* What it lay in goes on, unless it has ended, too. */
			while (open.n && open.v[open.n - 1].end <= end)
				open.n--;
			push_piece(r->out, end, open.n ? open.v[open.n - 1].node : DWARF_NO_NODE);
		}
		if (i == r->covered.n)
			break;
		push_piece(r->out, start, r->covered.v[keys[i].place].node);
		vec_push(&open, r->covered.v[keys[i].place]);
	}
	vec_free(&open);
	free(keys);
}

int dwarf_functions_read(const struct dwarf_unit *u, struct dwarf_functions *out)
{
	struct reader r = { .u = u, .out = out };
	uint64_t size = u->end - u->entries;
	uint8_t *bytes = size > UNIT_MAX || dwarf_spend(u->file, size) ? NULL :
			 dwarf_load(u->file, DWARF_INFO, u->entries, size);

	*out = (struct dwarf_functions){ 0 };
	r.abbrevs = dwarf_abbrevs_at(u->file, u->abbrev);
	if (!bytes || !r.abbrevs) {
		free(bytes);
		return -EBADMSG;
	}
	r.bytes = bytes;
	r.most_covered = COVERED_LEAST + size;
	r.c = (struct cursor){ bytes, bytes + size, 0 };
	r.nodes[0] = r.scopes[0] = DWARF_NO_NODE;
	while (r.c.p < r.c.end && !take_entry(&r))
		;
	free(bytes);
	cut(&r);
	vec_free(&r.covered);
	vec_free(&r.ranges);
	return 0;
}

void dwarf_functions_free(struct dwarf_functions *f)
{
	vec_free(&f->nodes);
	vec_free(&f->pieces);
	vec_free(&f->scopes);
}

uint32_t dwarf_functions_scope(const struct dwarf_functions *f, uint64_t entry)
{
	/* The last that began before it, or what that is in. */
	size_t low = entry ? upper_bound(f->scopes.v, f->scopes.n, .start, entry - 1) : 0;
	uint32_t at = low ? (uint32_t)low - 1 : DWARF_NO_NODE;

	while (at != DWARF_NO_NODE && f->scopes.v[at].end <= entry)
		at = f->scopes.v[at].parent;
	return at;
}

uint32_t dwarf_functions_find(const struct dwarf_functions *f, uint64_t address)
{
	size_t low = upper_bound(f->pieces.v, f->pieces.n, .start, address);

	return low ? f->pieces.v[low - 1].node : DWARF_NO_NODE;
}

uint32_t dwarf_functions_nameless(const struct dwarf_functions *f, uint32_t scope)
{
	const struct dwarf_scope *s = &f->scopes.v[scope];
	uint32_t n = 1;

	/* They lie in it, so behind its beginning. */
	for (uint32_t i = scope;
	     i-- && scope - i < NAMELESS_MAX && f->scopes.v[i].start > s->function;)
		n += f->scopes.v[i].function == s->function &&
		     f->scopes.v[i].name.kind == DWARF_NOTHING;
	return n;
}
