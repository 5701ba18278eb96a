/* SPDX-License-Identifier: MIT */
/* Searching sorted arrays. */
#ifndef EBPROF_SEARCH_H
#define EBPROF_SEARCH_H

#include <stddef.h>

/*
 * How many of the first @n elements of the ascending @array are not above @key:
 * the last of those, if there is one, is where @key belongs. @member is what they are
 * ordered by, with its dot, or empty where the elements are numbers themselves. @key is evaluated
 * once.
 */
#define upper_bound(array, n, member, key) __extension__({ \
	size_t low_ = 0, high_ = (n); \
	__auto_type key_ = (key); \
	while (low_ < high_) { \
		size_t middle_ = low_ + (high_ - low_) / 2; \
		if ((array)[middle_] member <= key_) \
			low_ = middle_ + 1; \
		else \
			high_ = middle_; \
	} \
	low_; \
})

#endif
