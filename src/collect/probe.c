/* SPDX-License-Identifier: MIT */
#include "collect/probe.h"

#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/text.h"

void probe_say(struct feature_result *r, enum feature_state state, const char *fmt, ...)
{
	char raw[sizeof(r->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	r->state = state;
	text_clean(r->detail, sizeof(r->detail), raw);
}

void probe_fix(struct feature_result *r, const char *fmt, ...)
{
	char raw[sizeof(r->fix)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	text_clean(r->fix, sizeof(r->fix), raw);
}

int probe_release(void)
{
	struct utsname u;
	unsigned int major, minor;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major > 999 ||
	    minor > 999)
		return 0;
	return (int)(major * 1000 + minor);
}

int probe_initial_ns(const char *kind)
{
	/*
	 * The initial namespaces have fixed inodes: include/linux/proc_ns.h, PROC_USER_INIT_INO and
	 * so on.
	 */
	ino_t inode = !strcmp(kind, "user") ? 0xeffffffdu : 0xeffffffcu;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, &st) || st.st_ino == inode;
}

int probe_has(int cap)
{
	return caps_has(cap) && probe_initial_ns("user");
}

int probe_has_or_admin(int cap)
{
	return probe_has(cap) || probe_has(CAP_SYS_ADMIN);
}
