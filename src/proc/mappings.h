/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one address space, and since when each is there.
 *
 * There is no end of a mapping: perf tells no munmap, and a mapping ends for us
 * where a newer one covers it. So of all that cover an address the one with
 * the latest start in time counts. Shared between processes after fork by a
 * reference count; a change of a shared one makes a copy first.
 */
#ifndef EBPROF_MAPPINGS_H
#define EBPROF_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end;	/* addresses; end exclusive */
	/* of @start in the file, or in memory that processes share, bytes; else @start itself */
	uint64_t offset;
	uint64_t from;		/* ns; 0: since the process began */
	uint32_t image;		/* or IMAGE_NONE */
};

struct mappings;

/* One more reference; takes and returns NULL for "none known". */
struct mappings *mappings_ref(struct mappings *m);
void mappings_unref(struct mappings *m);
size_t mappings_count(const struct mappings *m);

/* Adds one that appeared at @new->from. *@m may be NULL, and changes where it is shared or NULL. */
void mappings_add(struct mappings **m, const struct mapping *new);
/*
 * Adds what /proc/PID/maps showed at @now, in any order: what contradicts a
 * known mapping holds from @now on, the rest was there from the beginning.
 */
void mappings_add_snapshot(struct mappings **m, struct mapping *list, size_t n, uint64_t now);
/* Adds what @parent held at @time, when it forked. */
void mappings_add_inherited(struct mappings **m, const struct mappings *parent, uint64_t time);

/* Sets @images, by id, to 1 for those of all mappings, older ones among them. */
void mappings_mark(const struct mappings *m, unsigned char *images);

/*
 * Calls @fn for every mapping in such an order that, where two overlap, the
 * later call is the one that mappings_find() would prefer at @time.
 */
void mappings_each(const struct mappings *m, uint64_t time,
		   void (*fn)(void *ctx, const struct mapping *m), void *ctx);

/*
 * The mapping that covers @address at @time, or NULL. Where all that cover it
 * are younger, the oldest of those: an event may be stamped after the first
 * sample in what it tells of. Valid until the next change of @m.
 */
const struct mapping *mappings_find(const struct mappings *m, uint64_t address, uint64_t time);

#endif
