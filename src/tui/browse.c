/* SPDX-License-Identifier: MIT */
#include "tui/browse.h"

#include <errno.h>

#include "tui/tui.h"

static struct window_show show(void *ctx, int since_start, const struct part_choice *c)
{
	const struct profile *p = ctx;

	(void)since_start;
	return (struct window_show){ .profile = part_new(p, NULL, c),
				     .type = part_type(p, c),
				     .ntypes = (uint32_t)profile_view(p).ntypes };
}

int browse_profile(const struct profile *p, const char *name, const struct user *u, struct error *e)
{
	const struct tui_source source = { .show = show, .fd = -1, .stop = -1, .ctx = (void *)p };
	struct tui *t = tui_new(name, u, 0, 0, e);

	if (!t)
		return -ENOTTY;
	tui_run(t, &source);
	tui_free(t);
	return 0;
}
