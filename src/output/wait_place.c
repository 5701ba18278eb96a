/* SPDX-License-Identifier: MIT */
#include "output/wait_place.h"

#include <stdio.h>
#include <string.h>

#include "output/rollup.h"

static int is_mark(const struct profile_view *v, uint32_t node)
{
	return v->locations[v->nodes[node].location].kind == FRAME_MARK;
}

/*
 * A mark that has code below it, the outermost one: those at the root tell of the stack as a
 * whole.
 */
uint32_t wait_place(const struct profile_view *v, uint32_t node, uint32_t *mark)
{
	uint32_t place = node, on = 0, above = 0;

	for (uint32_t n = node; n; n = v->nodes[n].parent) {
		if (is_mark(v, n)) {
			above = n;
		} else if (above) {
			place = n;
			on = above;
			above = 0;
		}
	}
	if (mark)
		*mark = on;
	return place;
}

/* The state as a label has it, where no frame does. */
static const char *labelled_state(const struct profile *p, const struct profile_view *v,
				  uint32_t sample)
{
	const struct label_set *set = &v->label_sets[v->samples[sample].labels];

	for (uint32_t i = 0; i < set->n; i++)
		if (!strcmp(profile_text(p, v->labels[set->first + i].key), "state"))
			return profile_text(p, v->labels[set->first + i].text);
	return "waits";
}

void wait_words(const struct profile *p, uint32_t sample, struct wait_words *words)
{
	struct profile_view v = profile_view(p);
	uint32_t mark, place = wait_place(&v, v.samples[sample].node, &mark);
	const char *state = mark ? rollup_name(p, rollup_leaf(&v, mark))
				 : labelled_state(p, &v, sample);
	size_t brackets = *state == '[';

	snprintf(words->state, sizeof(words->state), "%.*s",
		 (int)(strlen(state) - 2 * brackets), state + brackets);
	words->place = place ? rollup_name(p, rollup_leaf(&v, place)) : ROLLUP_NO_STACK;
}
