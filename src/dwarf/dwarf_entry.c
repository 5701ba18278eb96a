/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_entry.h"

#include <errno.h>

#define PEEK		256		/* bytes of an entry: more than most have */
#define PEEK_MAX	8192

static int read_entry(const struct dwarf_unit *u, uint64_t at, size_t size, dwarf_take *take,
		      void *ctx, struct dwarf_entry *out)
{
	const struct dwarf_abbrevs *t = dwarf_abbrevs_at(u->file, u->abbrev);
	const struct dwarf_abbrev *a;
	uint8_t room[PEEK_MAX];
	long n = dwarf_peek(u->file, DWARF_INFO, at, room, size);
	struct cursor c = { room, room + (n > 0 ? n : 0), 0 };

	*out = (struct dwarf_entry){ .code = cursor_uleb(&c) };
	a = t && out->code ? dwarf_abbrev_of(t, out->code) : NULL;
	if (n <= 0 || !t || (out->code && !a))
		return -EBADMSG;
	for (uint32_t i = 0; a && i < a->n; i++) {
		const struct dwarf_attribute *attr = &t->attributes.v[a->first + i];
		struct dwarf_value v = dwarf_form_read(&c, attr->form, attr->implicit, u->encoding,
						       room);

		if (v.kind == DWARF_STRING_HERE)
			v.u += at;
		take(ctx, attr->name, v);
	}
	if (a) {
		out->tag = a->tag;
		out->has_children = a->children;
	}
	out->end = at + (uint64_t)(c.p - room);
	if (c.bad && size < PEEK_MAX)
		return read_entry(u, at, PEEK_MAX, take, ctx, out);
	return c.bad ? -EBADMSG : 0;
}

int dwarf_entry_read(const struct dwarf_unit *u, uint64_t at, dwarf_take *take, void *ctx,
		     struct dwarf_entry *out)
{
	return read_entry(u, at, PEEK, take, ctx, out);
}
