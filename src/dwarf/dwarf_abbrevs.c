/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_abbrevs.h"

#include <stdlib.h>

static int by_code(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

void dwarf_abbrevs_sort(struct dwarf_abbrevs *t)
{
	qsort(t->list.v, t->list.n, sizeof(*t->list.v), by_code);
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *t)
{
	if (!t)
		return;
	vec_free(&t->list);
	vec_free(&t->attributes);
	free(t);
}

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code)
{
	struct dwarf_abbrev key = { .code = code };

	return t->list.n ? bsearch(&key, t->list.v, t->list.n, sizeof(key), by_code) : NULL;
}
