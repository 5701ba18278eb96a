/* SPDX-License-Identifier: MIT */
#include "output/order.h"

#include <stdlib.h>

#include "base/xalloc.h"

uint32_t *order_by(const uint32_t *key, size_t n, size_t keys)
{
	size_t *start = xcalloc(keys + 1, sizeof(*start));
	uint32_t *order = xcalloc(n, sizeof(*order));

	for (size_t i = 0; i < n; i++)
		start[key[i] + 1]++;
	for (size_t k = 0; k < keys; k++)
		start[k + 1] += start[k];
	for (size_t i = 0; i < n; i++)
		order[start[key[i]]++] = (uint32_t)i;
	free(start);
	return order;
}
