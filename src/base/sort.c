/* SPDX-License-Identifier: MIT */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define DIGIT_BITS	11
#define DIGITS		(1u << DIGIT_BITS)

static int is_sorted(const struct sort_key *keys, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (keys[i].key < keys[i - 1].key)
			return 0;
	return 1;
}

static size_t digit(const struct sort_key *k, unsigned int shift)
{
	return k->key >> shift & (DIGITS - 1);
}

/* Where the keys of each digit begin. 0: all have the same one. */
static int count_digits(const struct sort_key *keys, size_t n, unsigned int shift,
			size_t places[DIGITS])
{
	size_t sum = 0;

	memset(places, 0, DIGITS * sizeof(*places));
	for (size_t i = 0; i < n; i++)
		places[digit(&keys[i], shift)]++;
	if (places[digit(&keys[0], shift)] == n)
		return 0;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = places[d];

		places[d] = sum;
		sum += count;
	}
	return 1;
}

struct sort_key *sort_keys(struct sort_key *keys, size_t n)
{
	struct sort_key *from = keys, *to;
	size_t places[DIGITS];

	if (is_sorted(keys, n))
		return keys;
	to = xreallocarray(NULL, n, sizeof(*to));
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct sort_key *other = from;

		if (!count_digits(from, n, shift, places))
			continue;
		for (size_t i = 0; i < n; i++)
			to[places[digit(&from[i], shift)]++] = from[i];
		from = to;
		to = other;
	}
	free(to);
	return from;
}
