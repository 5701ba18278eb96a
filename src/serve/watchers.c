/* SPDX-License-Identifier: MIT */
#include "serve/watchers.h"

#include <stddef.h>

struct watcher *watchers_ask(struct watchers *w, uint64_t number, uint64_t now)
{
	struct watcher *to = &w->v[0];

	for (size_t i = 0; i < WATCHERS_MOST; i++) {
		struct watcher *one = &w->v[i];

		if (one->asked && one->number == number) {
			one->asked = now;
			return one;
		}
		if (one->asked < to->asked)
			to = one;
	}
	*to = (struct watcher){ .number = number, .asked = now };
	return to;
}

int watchers_wait(const struct watchers *w, uint64_t now)
{
	for (size_t i = 0; i < WATCHERS_MOST; i++)
		if (w->v[i].asked && !w->v[i].told && now < w->v[i].asked + WATCHERS_TIME)
			return 1;
	return 0;
}
