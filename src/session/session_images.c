/* SPDX-License-Identifier: MIT */
/* The part of a session that gives back the files of images that nobody maps any more. */
#include <stdlib.h>
#include <string.h>

#include "session/session_state.h"
#include "session/unmapped.h"

#define EVERY 5000000000u	/* ns between two looks */

/* A byte for each image, all @value. */
static unsigned char *bytes_of(const struct session *s, int value)
{
	size_t n = images_count(s->images);
	unsigned char *bytes = xcalloc(n + 1, 1);

	memset(bytes, value, n);
	return bytes;
}

/*
 * What may go of @due: names are read of files, and a profile that is to come has none yet. While
 * the namer reads, whatever it may know stays.
 */
static void leave_needed(struct session *s, unsigned char *due)
{
	uint32_t n = images_count(s->images);

	assembler_needs(s->assembler, due, n);
	if (s->next.assembler)
		assembler_needs(s->next.assembler, due, n);
	if (!namer_forget(s->namer, due, n))
		assembler_knows_images(s->assembler, due, n);
}

/*
 * Ids in stacks that the kernel has sent, and will not send again, mean what they meant: so only
 * what no profile has is named anew.
 */
static void reuse(struct session *s)
{
	uint32_t n = images_count(s->images);
	unsigned char *which = bytes_of(s, 1);

	assembler_knows_images(s->assembler, which, n);
	if (s->next.assembler)
		assembler_knows_images(s->next.assembler, which, n);
	images_reuse(s->images, which);
	free(which);
}

void session_retire_images(struct session *s, uint64_t now)
{
	unsigned char *mapped, *due;

	if (now < s->images_looked + EVERY)
		return;
	s->images_looked = now;
	mapped = bytes_of(s, 0);
	due = bytes_of(s, 0);
	procs_mark_images(s->procs, mapped);
	unwinder_mark_images(s->unwinder, mapped);
	if (unmapped_choose(s->unmapped, s->images, mapped, now, due)) {
		leave_needed(s, due);
		unwinder_retire(s->unwinder, due);
		langs_retire(s->langs, due);
		images_retire(s->images, due);
	}
	reuse(s);
	free(mapped);
	free(due);
}
