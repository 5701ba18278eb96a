/* SPDX-License-Identifier: MIT */
/*
 * Sorting hundreds of thousands of things by an address, for which qsort(3) would take longer than
 * all the rest.
 */
#ifndef EBPROF_SORT_H
#define EBPROF_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
	uint64_t key;
	uint32_t place;		/* the caller's: where what the key is of lies */
};

/*
 * Sorts @n keys, malloc'd, by ascending key; equal ones keep their order. Digit by digit, leaving
 * out digits that all have in common. Gives the block that they are in now; @keys is no longer.
 */
struct sort_key *sort_keys(struct sort_key *keys, size_t n);

#endif
