/* SPDX-License-Identifier: MIT */
#include "profile/simplify.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile_state.h"

#define NAME_SIZE 8192		/* bytes of a name with its end, as they are read */

void profile_drop_inlined(struct profile *p)
{
	for (size_t i = 0; i < p->locations.n; i++) {
		struct location *l = &p->locations.v[i];

		if (l->nlines < 2)
			continue;
		/* The last line is the function that the code lies in. */
		l->first_line += l->nlines - 1;
		l->nlines = 1;
	}
}

/* The function that @f is under its shorter name. */
static uint32_t shorter(struct profile *p, uint32_t id,
			int (*shorten)(const char *name, char *dst, size_t size))
{
	struct function f = p->functions.v[id];
	char name[NAME_SIZE];

	if (!frame_kinds[f.kind].native || !shorten(profile_text(p, f.name), name, sizeof(name)))
		return id;
	return profile_function(p, profile_string(p, name), f.module, f.kind);
}

void profile_shorten_names(struct profile *p,
			   int (*shorten)(const char *name, char *dst, size_t size))
{
	uint32_t n = (uint32_t)p->functions.n, *names = xcalloc(n, sizeof(*names));

	for (uint32_t i = 0; i < n; i++)
		names[i] = shorter(p, i, shorten);
	for (size_t i = 0; i < p->lines.n; i++)
		p->lines.v[i].function = names[p->lines.v[i].function];
	free(names);
}
