/* SPDX-License-Identifier: MIT */
/*
 * Stretches of a text that is being read, in place: nothing is terminated and
 * nothing is owned. What goes into the profile is copied and cleaned there.
 */
#ifndef EBPROF_SLICE_H
#define EBPROF_SLICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "profile/profile.h"

struct slice {
	const char *s;
	size_t n;
};

/* Takes the next line off @rest, without its end ("\n" or "\r\n"). 0 where there is none. */
int slice_line(struct slice *rest, struct slice *line);
/*
 * Takes the next word off the beginning, or the end, of @rest and the blanks before it. 0 where
 * there is none.
 */
int slice_word(struct slice *rest, struct slice *word);
int slice_last_word(struct slice *rest, struct slice *word);
/* Without the blanks and tabs at its beginning; at its end. */
struct slice slice_skip(struct slice s);
struct slice slice_trim(struct slice s);
int slice_begins(struct slice s, const char *prefix);
int slice_ends(struct slice s, const char *suffix);
/*
 * All of @s is decimal digits, or 1 to 16 hexadecimal ones. 1 with @value filled; 0 too where it
 * does not fit.
 */
int slice_decimal(struct slice s, uint64_t *value);
int slice_hex(struct slice s, uint64_t *value);
/* Cleaned, and cut where it is very long, as a string of the profile; each byte 0 as U+FFFD. */
uint32_t slice_string(struct profile *p, struct slice s);

/* Numbers that go with stretches of one text. A memo that is all zeros is empty. */
struct slice_memo {
	VEC(struct slice_memo_entry { struct slice text; uint32_t value; }) entries;
	struct interned ids;
};

/* Where @text's number is kept, PROFILE_NONE the first time; good until the next call. */
uint32_t *slice_memo_get(struct slice_memo *m, struct slice text);
void slice_memo_free(struct slice_memo *m);

#endif
