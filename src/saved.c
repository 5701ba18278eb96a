/* SPDX-License-Identifier: MIT */
#include "saved.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "input/input.h"
#include "profile/merge.h"

static int show_type(struct profile *p, const char *path, const char *type, struct error *e)
{
	struct profile_view v = profile_view(p);
	char known[256] = "";

	for (size_t i = 0; i < v.ntypes; i++) {
		const char *name = profile_text(p, v.types[i].name);

		if (!strcmp(name, type)) {
			profile_show(p, (uint32_t)i);
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", *known ? ", " : "", name);
	}
	return error_set(e, STATUS_USAGE, -EINVAL, "--sample-type '%.100s': %.100s has %s", type, path, known);
}

struct profile *saved_read(const char *path, const char *type, struct error *e)
{
	struct profile *p = input_read(path, e);

	if (p && type && show_type(p, path, type, e)) {
		profile_free(p);
		return NULL;
	}
	return p;
}

struct profile *saved_read_all(const char *const *paths, size_t n, const char *type, struct error *e)
{
	struct profile *all;

	if (n == 1)
		return saved_read(paths[0], type, e);
	all = profile_new();
	for (size_t i = 0; i < n; i++) {
		struct profile *p = saved_read(paths[i], type, e);

		if (!p) {
			profile_free(all);
			return NULL;
		}
		profile_merge_run(all, p);
		profile_free(p);
	}
	return all;
}
