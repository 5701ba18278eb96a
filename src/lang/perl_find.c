/* SPDX-License-Identifier: MIT */
#include "lang/perl_find.h"

#include <errno.h>

#define BEHIND		24	/* bytes: the call is that near */
#define CALLERS_LEAST	3	/* eval of a block, eval of a text, require */
#define CALLERS_MAX	8
#define FOUND_MAX	16

/* A function to which others give themselves as an argument. */
struct taker {
	uint64_t address;
	size_t ncallers;
	size_t callers[CALLERS_MAX];	/* numbers of functions */
};

/* What @at calls or jumps to within a few bytes, if that is a function; 0: nothing. */
static uint64_t called_behind(const struct code_text *t, size_t at)
{
	for (size_t i = at; i < at + BEHIND && i + 5 <= t->n; i++) {
		uint64_t to;

		if (t->bytes[i] != 0xe8 && t->bytes[i] != 0xe9)
			continue;
		to = code_text_relative(t, t->bytes + i + 1);
		if (to - t->address < t->n && t->starts[code_text_function(t, to)] == to)
			return to;
	}
	return 0;
}

static size_t take(struct taker *found, size_t n, uint64_t address, size_t caller)
{
	size_t i = 0;

	while (i < n && found[i].address != address)
		i++;
	if (i == FOUND_MAX)
		return n;
	if (i == n)
		found[n++] = (struct taker){ .address = address };
	if (found[i].ncallers < CALLERS_MAX)
		found[i].callers[found[i].ncallers++] = caller;
	return n;
}

/* Functions that load their own address as a second argument: lea SELF(%rip), %rsi. */
static size_t find_takers(const struct code_text *t, struct taker *found)
{
	size_t n = 0;

	for (size_t i = 0; i + 7 <= t->n; i++) {
		uint64_t self, to;
		size_t caller;

		if (t->bytes[i] != 0x48 || t->bytes[i + 1] != 0x8d || t->bytes[i + 2] != 0x35)
			continue;
		self = code_text_relative(t, t->bytes + i + 3);
		if (self - t->address > i)
			continue;
		caller = code_text_function(t, t->address + i);
		to = t->starts[caller] == self ? called_behind(t, i + 7) : 0;
		if (to)
			n = take(found, n, to, caller);
	}
	return n;
}

static void put_range(const struct code_text *t, size_t function, struct lang_image *out)
{
	uint64_t to_offset = t->offset - t->address;

	vec_push(&out->code, (struct lang_range){ .start = t->starts[function] + to_offset,
						  .end = t->starts[function + 1] + to_offset,
						  .runs = LANG_RUNS_AGAIN });
}

int perl_find_again(const struct code_text *t, struct lang_image *out)
{
	struct taker found[FOUND_MAX], *best = NULL;
	size_t n = find_takers(t, found);

	for (size_t i = 0; i < n; i++) {
		if (found[i].ncallers < CALLERS_LEAST)
			continue;
		if (best)
			return -ENOENT;
		best = &found[i];
	}
	if (!best)
		return -ENOENT;
	put_range(t, code_text_function(t, best->address), out);
	for (size_t i = 0; i < best->ncallers; i++)
		put_range(t, best->callers[i], out);
	return 0;
}
