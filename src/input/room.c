/* SPDX-License-Identifier: MIT */
#include "input/room.h"

#include <string.h>

int room_take(struct room *r, uint64_t n)
{
	if (r->taken <= ROOM_MAX)
		r->taken += n;
	return r->taken <= ROOM_MAX;
}

uint32_t *room_memo(struct room *r, struct slice_memo *m, struct slice text)
{
	uint32_t *value = slice_memo_get(m, text);

	if (*value == PROFILE_NONE)
		room_take(r, 1 + text.n / ROOM_TEXT);
	return value;
}

/* 1 where @index is new to one of the counters. */
static int is_new(uint32_t *known, uint32_t index)
{
	if (index < *known)
		return 0;
	*known = index + 1;
	return 1;
}

uint32_t room_node(struct room *r, uint32_t parent, uint32_t location)
{
	uint32_t node = profile_node(r->profile, parent, location), lines;

	if (is_new(&r->nodes, node)) {
		lines = profile_view(r->profile).locations[location].nlines;
		room_take(r, lines ? lines : 1);
	}
	return node;
}

uint32_t room_thread(struct room *r, uint32_t process, pid_t tid, uint32_t comm)
{
	uint32_t thread = profile_thread(r->profile, process, tid, comm);

	/* And its process, which may be new, too. */
	if (is_new(&r->threads, thread))
		room_take(r, 2 + strlen(profile_text(r->profile, comm)) / ROOM_TEXT);
	return thread;
}

uint32_t room_sample(struct room *r, uint32_t thread, uint32_t node, uint32_t labels)
{
	uint32_t sample = profile_sample(r->profile, thread, node, labels);

	if (is_new(&r->samples, sample))
		room_take(r, 1 + profile_view(r->profile).ntypes / 2);
	return sample;
}
