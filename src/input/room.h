/* SPDX-License-Identifier: MIT */
/*
 * What a file may make us hold, whatever its format: frames, threads, samples, texts and so on.
 * Two bytes of text can be a frame (";f"), and far less of what was packed, so what is
 * held is counted, and a file that wants more than there is room for is refused.
 *
 * What is new to the profile takes from the room; what was there takes nothing.
 */
#ifndef EBPROF_ROOM_H
#define EBPROF_ROOM_H

#include "input/slice.h"
#include "profile/profile.h"

/*
 * Each of them takes about 100 bytes of memory at most, in all, when it is shown. A million stacks
 * of 30 frames fit.
 */
#define ROOM_MAX (1u << 25)
#define ROOM_TEXT 16			/* bytes of text that count as one */

struct room {
	struct profile *profile;
	uint64_t taken;
	uint32_t nodes, threads, samples;	/* of the profile, that were counted */
};

/* Takes @n of the room. 0 where it is full: then nothing more is to be read. */
int room_take(struct room *r, uint64_t n);
/* slice_memo_get(), profile_node() and so on. A node counts as the frames that it stands for. */
uint32_t *room_memo(struct room *r, struct slice_memo *m, struct slice text);
uint32_t room_node(struct room *r, uint32_t parent, uint32_t location);
uint32_t room_thread(struct room *r, uint32_t process, pid_t tid, uint32_t comm);
uint32_t room_sample(struct room *r, uint32_t thread, uint32_t node, uint32_t labels);

#endif
