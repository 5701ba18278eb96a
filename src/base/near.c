/* SPDX-License-Identifier: MIT */
#include "base/near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits (insert, delete, change, swap of neighbours) from @a to @b, both shorter than NEAR_MAX. */
static size_t edits(const char *a, const char *b)
{
	size_t rows[3][NEAR_MAX], *before = rows[0], *last = rows[1], *now = rows[2], m = strlen(b);

	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *reuse = before;

		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			int same = tolower((unsigned char)a[i - 1]) ==
				   tolower((unsigned char)b[j - 1]);

			now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = reuse;
	}
	return last[m];
}

void near_consider(struct near *n, const char *name)
{
	size_t len = strlen(n->word), d;

	if (len >= NEAR_MAX || strlen(name) >= NEAR_MAX)
		return;
	d = edits(n->word, name);
	if (d > (len < 6 ? 1 : len / 3) || d >= n->distance)
		return;
	n->distance = d;
	snprintf(n->best, sizeof(n->best), "%s", name);
}
