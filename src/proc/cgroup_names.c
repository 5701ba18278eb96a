/* SPDX-License-Identifier: MIT */
#include "proc/cgroup_names.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proc/cgroup_mounts.h"

static const char mountinfo[] = "/proc/self/mountinfo";

void cgroup_hierarchy(char *controller, size_t size)
{
	cgroup_mounts mounts = { 0 };

	*controller = '\0';
	if (cgroup_mounts_read(mountinfo, &mounts))
		return;
	for (size_t i = 0; i < mounts.n && !*controller; i++)
		snprintf(controller, size, "%s", cgroup_mount_controller(&mounts.v[i]));
	cgroup_mounts_free(&mounts);
}

static void name_below(const struct cgroup_mount *m, void (*name)(void *, uint64_t, const char *),
		       void *ctx)
{
	char *roots[] = { m->point, NULL };
	size_t skip = strlen(m->point);
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	FTSENT *f;

	while (fts && (f = fts_read(fts)))
		if (f->fts_info == FTS_D)
			name(ctx, f->fts_statp->st_ino,
			     f->fts_path[skip] ? f->fts_path + skip : "/");
	if (fts)
		fts_close(fts);
}

void cgroup_names(const char *controller, void (*name)(void *ctx, uint64_t id, const char *path),
		  void *ctx)
{
	cgroup_mounts mounts = { 0 };

	if (cgroup_mounts_read(mountinfo, &mounts))
		return;
	for (size_t i = 0; i < mounts.n; i++)
		if (!strcmp(cgroup_mount_controller(&mounts.v[i]), controller)) {
			name_below(&mounts.v[i], name, ctx);
			break;
		}
	cgroup_mounts_free(&mounts);
}
