/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/internal.h"
#include "base/text.h"
#include "proc/maps.h"

/* Where a process has a file mapped. */
struct search {
	const char *path;		/* as the profile has it: clean */
	uint64_t start, end;		/* 0: nowhere */
};

static void compare(const struct maps_line *line, void *arg)
{
	static const char deleted[] = " (deleted)";
	struct search *s = arg;
	char path[4096];
	size_t n = strlen(s->path);

	text_clean(path, sizeof(path), line->path);
	if (s->end || strncmp(path, s->path, n) != 0 || (path[n] && strcmp(path + n, deleted) != 0))
		return;
	s->start = line->start;
	s->end = line->end;
}

static uint8_t read_id(const char *hex, uint8_t bytes[ELF_BUILD_ID_MAX])
{
	unsigned int byte;
	uint8_t n = 0;

	while (n < ELF_BUILD_ID_MAX && sscanf(hex + 2 * n, "%2x", &byte) == 1) {
		bytes[n++] = (uint8_t)byte;
		if (strlen(hex) < 2 * (size_t)n + 2)
			break;
	}
	return n;
}

/* As process @pid has it, which 0 stands for: our own root. */
static const struct image *image_in(struct annotating *a, pid_t pid, struct image_key *key)
{
	struct search s = { .path = key->path, .end = 0 };
	const struct image *image;
	uint32_t id;

	if (pid)
		maps_for_each_executable(pid, compare, &s);
	if (pid && !s.end)
		return NULL;
	key->start = s.start;
	key->end = s.end;
	id = images_get(a->by->images, pid, key);
	image = id == IMAGE_NONE ? NULL : images_at(a->by->images, id);
	return image && image->fd >= 0 ? image : NULL;
}

const struct image *annotate_image(struct annotating *a, uint32_t module)
{
	const struct module *m = &a->v.modules[module];
	uint8_t id[ELF_BUILD_ID_MAX];
	struct image_key key = { .path = profile_text(a->p, m->path), .build_id = id };
	const struct image *image = NULL;

	key.build_id_size = read_id(profile_text(a->p, m->build_id), id);
	if (!key.build_id_size)
		return NULL;
	for (size_t i = 0; i < a->targets.n && !image; i++)
		image = image_in(a, a->targets.v[i], &key);
	return image ? image : image_in(a, 0, &key);
}
