/* SPDX-License-Identifier: MIT */
#include "collect/tracefs.h"

#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

static int is_tracefs(const char *path)
{
	struct statfs fs;

	/*
	 * Works for a user who may not look inside, who then reads that, and not that it is not
	 * mounted.
	 */
	return !statfs(path, &fs) && fs.f_type == TRACEFS_MAGIC;
}

/* 1 where it is in one of its usual places, or in another. */
static int find_mounted(struct tracefs *t)
{
	static const char *const usual[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char line[2 * PATH_MAX];
	struct mntent mount;
	FILE *f;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (is_tracefs(usual[i])) {
			snprintf(t->events, sizeof(t->events), "%s/events", usual[i]);
			return 1;
		}
	f = setmntent("/proc/self/mounts", "re");
	while (f && !*t->events && getmntent_r(f, &mount, line, sizeof(line)))
		if (!strcmp(mount.mnt_type, "tracefs") && strlen(mount.mnt_dir) < PATH_MAX)
			snprintf(t->events, sizeof(t->events), "%s/events", mount.mnt_dir);
	if (f)
		endmntent(f);
	return *t->events != '\0';
}

/* A mount that is in no tree of mounts. */
static int mount_apart(void)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), fd = -1;

	if (fs < 0)
		return -1;
	if (!fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				     MOUNT_ATTR_NOEXEC);
	close(fs);
	return fd;
}

void tracefs_open(struct tracefs *t)
{
	*t = (struct tracefs){ .fd = -1 };
	if (find_mounted(t))
		return;
	t->fd = mount_apart();
	if (t->fd >= 0)
		snprintf(t->events, sizeof(t->events), "/proc/self/fd/%d/events", t->fd);
}

const char *tracefs_events(const struct tracefs *t)
{
	return *t->events ? t->events : NULL;
}

void tracefs_close(struct tracefs *t)
{
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct tracefs){ .fd = -1 };
}
