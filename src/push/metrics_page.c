/* SPDX-License-Identifier: MIT */
#include "push/metrics_page.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/child.h"

#define TRIES 8			/* of a reader that is overtaken twice in the time of a copy */

/* What is written next is the half that is not read: [turns % 2] is. */
struct metrics_page {
	atomic_uint turns;
	struct { size_t size; char text[METRICS_PAGE_MOST]; } half[2];
};

struct metrics_page *metrics_page_new(void)
{
	return child_memory(sizeof(struct metrics_page));
}

void metrics_page_free(struct metrics_page *p)
{
	if (p)
		munmap(p, sizeof(*p));
}

void metrics_page_write(struct metrics_page *p, const char *text, size_t size)
{
	unsigned int next = atomic_load(&p->turns) + 1;

	if (size > METRICS_PAGE_MOST) {
		size = METRICS_PAGE_MOST;
		while (size && text[size - 1] != '\n')
			size--;
	}
	memcpy(p->half[next % 2].text, text, size);
	p->half[next % 2].size = size;
	atomic_store(&p->turns, next);
}

size_t metrics_page_read(const struct metrics_page *p, char to[METRICS_PAGE_MOST])
{
	size_t size = 0;

	for (int i = 0; i < TRIES; i++) {
		unsigned int now = atomic_load(&p->turns);

		size = p->half[now % 2].size;
		size = size < METRICS_PAGE_MOST ? size : METRICS_PAGE_MOST;
		memcpy(to, p->half[now % 2].text, size);
		if (atomic_load(&p->turns) == now)
			return size;
	}
	return 0;
}
