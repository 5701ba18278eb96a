/* SPDX-License-Identifier: MIT */
#include "sources/probes_links.h"

#include <unistd.h>

#include "base/vec.h"
#include "collect/crew.h"
#include "collect/uprobe.h"

static int is_alike(const struct probes_place *a, const struct probes_place *b)
{
	return a->event == b->event && a->file == b->file;
}

size_t probes_links_add(struct probes *p, size_t first, int program)
{
	size_t n = 1;

	while (first + n < p->places.n && is_alike(&p->places.v[first], &p->places.v[first + n]))
		n++;
	vec_push(&p->links, (struct probes_link){ .first = first, .n = n, .program = program,
						  .fd = -1 });
	return n;
}

static int set(const struct probes *p, const struct probes_link *l)
{
	VEC(uint64_t) offsets = { 0 }, cookies = { 0 }, semaphores = { 0 };
	const struct probes_place *at = &p->places.v[l->first];
	struct uprobe_places places = { .file = at->file, .pid = p->only };
	int counted = 0, link;

	for (size_t i = l->first; i < l->first + l->n; i++) {
		const struct probes_place *next = &p->places.v[i];

		vec_push(&offsets, next->offset);
		vec_push(&cookies, EBP_PROBE_PLACE(next->event, i) |
					   (uint64_t)next->price << EBP_PROBE_PRICE_SHIFT);
		vec_push(&semaphores, next->semaphore);
		counted |= next->semaphore != 0;
	}
	places.offsets = offsets.v;
	places.cookies = cookies.v;
	places.semaphores = counted ? semaphores.v : NULL;
	places.n = (uint32_t)offsets.n;
	link = uprobe_link(l->program, &places, p->events.v[at->event].at_return);
	vec_free(&offsets);
	vec_free(&cookies);
	vec_free(&semaphores);
	return link;
}

static void set_one(void *ctx, size_t i)
{
	struct probes *p = ctx;

	if (p->links.v[i].fd < 0)
		p->links.v[i].fd = set(p, &p->links.v[i]);
}

static void close_one(void *ctx, size_t i)
{
	struct probes *p = ctx;

	if (p->links.v[i].fd >= 0)
		close(p->links.v[i].fd);
	p->links.v[i].fd = -1;
}

/* Each waits for the kernel: where that is done again and again, all at once. */
static void each(struct probes *p, void (*fn)(void *ctx, size_t i))
{
	for (size_t i = 0; i < p->links.n; i++)
		if (p->slices.crew)
			crew_give(p->slices.crew, fn, p, i);
		else
			fn(p, i);
	if (p->slices.crew)
		crew_wait(p->slices.crew);
}

int probes_links_set(struct probes *p)
{
	int err = 0;

	each(p, set_one);
	for (size_t i = 0; i < p->links.n && !err; i++)
		err = p->links.v[i].fd < 0 ? p->links.v[i].fd : 0;
	return err;
}

void probes_links_close(struct probes *p)
{
	each(p, close_one);
}
