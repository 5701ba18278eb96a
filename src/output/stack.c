/* SPDX-License-Identifier: MIT */
#include "output/stack.h"

#include "base/vec.h"

void stack_fill(struct stack *s, const struct profile_view *v, uint32_t node)
{
	for (s->n = 0; node; node = v->nodes[node].parent) {
		uint32_t location = v->nodes[node].location;
		const struct location *l = &v->locations[location];

		if (!l->nlines)
			vec_push(s, (struct stack_frame){ location, (uint32_t)v->nfunctions, 0 });
		for (uint32_t i = 0; i < l->nlines; i++)
			vec_push(s, (struct stack_frame){ location,
							  v->lines[l->first_line + i].function,
							  i + 1 < l->nlines });
	}
}

struct stack_source *stack_sources(const struct profile_view *v)
{
	struct stack_source *sources = xcalloc(v->nfunctions + 1, sizeof(*sources));

	for (size_t i = 0; i < v->nlines; i++) {
		const struct line *l = &v->lines[i];
		struct stack_source *s = &sources[l->function];

		if (!s->file)
			s->file = l->file;
		if (l->file && l->file == s->file && l->line && (!s->line || l->line < s->line))
			s->line = l->line;
	}
	return sources;
}
