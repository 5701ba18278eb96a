/* SPDX-License-Identifier: MIT */
/*
 * What the server has to give: a page, and updates of a profile that grows (output/html_live.h). Of
 * these it keeps the last whole one, all since, and some before for watchers who are a little
 * late.
 */
#ifndef EBPROF_STORE_H
#define EBPROF_STORE_H

#include <stddef.h>
#include <stdint.h>

enum store_kind {
	STORE_PAGE,		/* HTML */
	STORE_UPDATE,		/* what came since the last one */
	STORE_WHOLE,		/* all up to the update of the same number */
	STORE_END,		/* no more will come */
};

#define STORE_LATE 60		/* updates that are kept behind a whole one */

struct store_text { char *v; size_t n; };	/* malloc'd */

struct store;

struct store *store_new(void);
void store_free(struct store *s);
/* Takes @text. Updates come in the order of @sequence, which begins with 1. */
void store_add(struct store *s, enum store_kind kind, uint64_t sequence, struct store_text text);
/* {NULL, 0} until there is one; the store's. */
struct store_text store_page(const struct store *s);
int store_has_ended(const struct store *s);
/* Of the last update; 0: there is none. */
uint64_t store_sequence(const struct store *s);
/* What whoever has all up to @since (0: nothing) lacks; the caller's. */
struct store_text store_since(const struct store *s, uint64_t since);

#endif
