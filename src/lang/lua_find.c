/* SPDX-License-Identifier: MIT */
#include "lang/lua_find.h"

#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"

#define CALLS_DEEP	3	/* lua_callk, luaD_call, luaV_execute; one more where they differ */
#define TIMES_BIGGER	2	/* than any other; 3 to 9 were seen */
#define LOOP_LEAST	3000	/* bytes; 5,749 to 15,210 were seen */

struct search {
	const struct code_text *t;
	uint8_t *depth;		/* of each function, plus 1; 0: it was not met */
	size_t biggest, next;	/* bytes of the biggest one, and of the next */
	size_t loop;		/* its number */
};

static size_t size_of(const struct code_text *t, size_t function)
{
	return (size_t)(t->starts[function + 1] - t->starts[function]);
}

static void meet(struct search *s, size_t function, uint8_t depth)
{
	size_t size = size_of(s->t, function);

	if (s->depth[function])
		return;
	s->depth[function] = depth;
	if (size > s->biggest) {
		s->next = s->biggest;
		s->biggest = size;
		s->loop = function;
	} else if (size > s->next) {
		s->next = size;
	}
}

/* What @function calls or jumps to. */
static void meet_called(struct search *s, size_t function)
{
	const struct code_text *t = s->t;
	uint8_t depth = (uint8_t)(s->depth[function] + 1);
	const uint8_t *p = t->bytes + (t->starts[function] - t->address);
	size_t n = size_of(t, function);

	for (size_t i = 0; i + 5 <= n; i++) {
		uint64_t to;
		size_t called;

		if (p[i] != 0xe8 && p[i] != 0xe9)
			continue;
		to = code_text_relative(t, p + i + 1);
		if (to - t->address >= t->n)
			continue;
		called = code_text_function(t, to);
		if (t->starts[called] == to)
			meet(s, called, depth);
	}
}

int lua_find_loop(const struct code_text *t, uint64_t call, struct lang_range *out)
{
	struct search s = { .t = t };
	uint64_t to_offset = t->offset - t->address;
	size_t first;

	if (call - t->address >= t->n)
		return -ENOENT;
	s.depth = xcalloc(t->nstarts, 1);
	first = code_text_function(t, call);
	meet(&s, first, 1);
	for (uint8_t depth = 1; depth <= CALLS_DEEP; depth++)
		for (size_t i = 0; i < t->nstarts; i++)
			if (s.depth[i] == depth)
				meet_called(&s, i);
	free(s.depth);
	if (s.biggest < LOOP_LEAST || s.biggest < TIMES_BIGGER * s.next)
		return -ENOENT;
	*out = (struct lang_range){ .start = t->starts[s.loop] + to_offset,
				    .end = t->starts[s.loop + 1] + to_offset };
	return 0;
}
