/* SPDX-License-Identifier: MIT */
#include "base/user.h"

#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PASSWD_SIZE 16384	/* bytes for one entry's strings */

/*
 * A decimal id from the environment. 0, or -EINVAL; the greatest number means "no id" to the
 * kernel.
 */
static int id_from_env(const char *name, uint32_t *id)
{
	const char *s = getenv(name);
	uint64_t value = 0;

	if (!s || !*s || strlen(s) > 10)
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		value = value * 10 + (uint64_t)(*s - '0');
	}
	if (value >= UINT32_MAX)
		return -EINVAL;
	*id = (uint32_t)value;
	return 0;
}

/*
 * Name services other than files come as shared libraries of this very libc: a
 * static program (the kernel started no interpreter for it) cannot rely on them.
 */
static void restrict_name_services(void)
{
	static const char *const databases[] = { "passwd", "group", "initgroups" };

	if (getauxval(AT_BASE))
		return;
	for (size_t i = 0; i < sizeof(databases) / sizeof(databases[0]); i++)
		__nss_configure_lookup(databases[i], "files");
}

/* All groups of the user; where they cannot be found out, the one that sudo told us. */
static void find_groups(struct user *u)
{
	char *strings = malloc(PASSWD_SIZE);
	struct passwd entry, *found = NULL;
	int all;

	restrict_name_services();
	u->n_groups = USER_GROUPS_MAX;
	/* Less than all may mean that there are more than fit: the first ones are there then. */
	if (!strings || getpwuid_r(u->uid, &entry, strings, PASSWD_SIZE, &found) || !found)
		all = 0;
	else
		all = getgrouplist(entry.pw_name, u->gid, u->groups, &u->n_groups) >= 0 ||
		      u->n_groups > USER_GROUPS_MAX;
	if (!all) {
		u->groups[0] = u->gid;
		u->n_groups = 1;
	}
	if (u->n_groups > USER_GROUPS_MAX)
		u->n_groups = USER_GROUPS_MAX;
	free(strings);
}

struct user user_invoking(void)
{
	struct user u = { 0 }, nobody = { 0 };

	if (geteuid() != 0 || id_from_env("SUDO_UID", &u.uid) || id_from_env("SUDO_GID", &u.gid) ||
	    !u.uid)
		return nobody;
	u.switched = 1;
	find_groups(&u);
	u.n_own_groups = getgroups(USER_GROUPS_MAX, u.own_groups);
	/* Root needs no group to get at a file: more than fit are no loss. */
	if (u.n_own_groups < 0)
		u.n_own_groups = 0;
	return u;
}

char *user_home(const struct user *u)
{
	const char *home = u->switched ? NULL : getenv("HOME");
	char *strings = malloc(PASSWD_SIZE), *copy = NULL;
	struct passwd entry, *found = NULL;

	restrict_name_services();
	/* Under sudo HOME may be either one's. */
	if (!home && strings &&
	    !getpwuid_r(u->switched ? u->uid : geteuid(), &entry, strings, PASSWD_SIZE, &found) &&
	    found)
		home = entry.pw_dir;
	if (home && *home == '/')
		copy = strdup(home);
	free(strings);
	return copy;
}

static void set_or_unset(const char *name, const char *value)
{
	if (value && *value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

void user_environment(const struct user *u)
{
	char *strings = u->switched ? malloc(PASSWD_SIZE) : NULL;
	struct passwd entry, *found = NULL;

	if (!u->switched)
		return;
	restrict_name_services();
	if (!strings || getpwuid_r(u->uid, &entry, strings, PASSWD_SIZE, &found))
		found = NULL;
	set_or_unset("HOME", found ? found->pw_dir : NULL);
	set_or_unset("USER", found ? found->pw_name : NULL);
	set_or_unset("LOGNAME", found ? found->pw_name : NULL);
	set_or_unset("SHELL", found ? found->pw_shell : NULL);
	free(strings);
}

/* For this thread alone, unlike setgroups(3). */
static int thread_setgroups(int n, const gid_t *groups)
{
	return syscall(SYS_setgroups, (size_t)n, groups) ? -errno : 0;
}

void user_leave(const struct user *u)
{
	if (!u->switched)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	thread_setgroups(u->n_own_groups, u->own_groups);
}

int user_enter(const struct user *u)
{
	int err;

	if (!u->switched)
		return 0;
	err = thread_setgroups(u->n_groups, u->groups);
	if (err)
		return err;
	setfsgid(u->gid);
	/*
	 * From root to another: the kernel takes CAP_DAC_OVERRIDE and its kin away
	 * (capabilities(7)).
	 */
	setfsuid(u->uid);
	/* Neither tells an error; asking with an id that is none tells what is set. */
	if ((gid_t)setfsgid((gid_t)-1) != u->gid || (uid_t)setfsuid((uid_t)-1) != u->uid) {
		user_leave(u);
		return -EPERM;
	}
	return 0;
}

int user_become(const struct user *u)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (!u->switched)
		return 0;
	if (setgroups((size_t)u->n_groups, u->groups) || setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return -errno;
	if (getresuid(&ruid, &euid, &suid) || getresgid(&rgid, &egid, &sgid))
		return -errno;
	if (ruid != u->uid || euid != u->uid || suid != u->uid ||
	    rgid != u->gid || egid != u->gid || sgid != u->gid)
		return -EPERM;
	/*
	 * A securebit may keep capabilities over the change; then root would still be one call
	 * away.
	 */
	return setuid(0) ? 0 : -EPERM;
}
