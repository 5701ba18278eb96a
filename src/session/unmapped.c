/* SPDX-License-Identifier: MIT */
#include "session/unmapped.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"

struct waiting {
	uint32_t image;
	uint64_t since;
};

struct unmapped {
	VEC(uint64_t) since;		/* by image id; 0: it is mapped, or none that could go */
	VEC(struct waiting) waiting;	/* room for one question */
};

struct unmapped *unmapped_new(void)
{
	return xcalloc(1, sizeof(struct unmapped));
}

void unmapped_free(struct unmapped *u)
{
	if (!u)
		return;
	vec_free(&u->since);
	vec_free(&u->waiting);
	free(u);
}

static int is_deleted(const struct image *image)
{
	struct stat st;

	return image->fd >= 0 && !fstat(image->fd, &st) && !st.st_nlink;
}

static int longest_first(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return x->since < y->since ? -1 : x->since > y->since;
}

/* Those that could go by now, and have since when. */
static void look(struct unmapped *u, const struct images *images, const unsigned char *mapped,
		 uint64_t now)
{
	while (u->since.n < images_count(images))
		vec_push(&u->since, 0);
	u->waiting.n = 0;
	for (uint32_t i = 0; i < u->since.n; i++) {
		const struct image *image = images_at(images, i);
		uint64_t *since = &u->since.v[i];

		if (mapped[i] || image->kind != IMAGE_FILE || image->state != IMAGE_LIVE)
			*since = 0;
		else if (!*since)
			*since = now;
		if (*since && now - *since >= UNMAPPED_SETTLED)
			vec_push(&u->waiting, (struct waiting){ i, *since });
	}
	if (u->waiting.n)
		qsort(u->waiting.v, u->waiting.n, sizeof(*u->waiting.v), longest_first);
}

size_t unmapped_choose(struct unmapped *u, const struct images *images,
		       const unsigned char *mapped, uint64_t now, unsigned char *due)
{
	size_t n = 0, beyond;

	look(u, images, mapped, now);
	beyond = u->waiting.n > UNMAPPED_KEPT ? u->waiting.n - UNMAPPED_KEPT : 0;
	for (uint32_t i = 0; i < u->since.n; i++)
		due[i] = 0;
	for (size_t i = 0; i < u->waiting.n; i++) {
		const struct waiting *w = &u->waiting.v[i];

		due[w->image] = i < beyond || now - w->since >= UNMAPPED_MAX_AGE ||
				is_deleted(images_at(images, w->image));
		n += due[w->image];
	}
	return n;
}
