/* SPDX-License-Identifier: MIT */
#include "proc/cgroup_mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/*
 * Controllers by which a BPF program can ask a task's cgroup; those that every container runtime
 * uses come first.
 */
static const char *const controllers[] = {
	"memory",  "pids",    "cpu",	 "cpuset",     "cpuacct", "blkio",
	"devices", "freezer", "hugetlb", "perf_event", "net_cls",
};

#define CONTROLLERS (int)(sizeof(controllers) / sizeof(controllers[0]))

const char *cgroup_mount_controller(const struct cgroup_mount *m)
{
	return m->rank ? controllers[m->rank - 1] : "";
}

/* Undoes \ooo in place: the kernel writes a blank, a tab, a newline and a backslash so. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* The first controller of ours in the comma-separated @options, as a rank; -1 for none. */
static int rank_of(const char *options)
{
	for (int i = 0; i < CONTROLLERS; i++) {
		size_t len = strlen(controllers[i]);

		for (const char *o = options; o; o = strchr(o, ',') ? strchr(o, ',') + 1 : NULL)
			if (strcspn(o, ",") == len && !strncmp(o, controllers[i], len))
				return i + 1;
	}
	return -1;
}

/* "36 35 98:0 /root /point options [optional fields] - type source superoptions"; cuts @line up. */
static int parse(char *line, struct cgroup_mount *out)
{
	char *field[6], *rest = line, *type, *options;
	unsigned int major, minor;

	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; i < 6; i++) {
		field[i] = strsep(&rest, " ");
		if (!rest)
			return -EINVAL;
	}
	/* The lone dash may come at once. */
	if (strncmp(rest, "- ", 2)) {
		rest = strstr(rest, " - ");
		if (!rest)
			return -EINVAL;
		rest++;
	}
	rest += 2;
	type = strsep(&rest, " ");
	if (!rest || sscanf(field[2], "%u:%u", &major, &minor) != 2)
		return -EINVAL;
	strsep(&rest, " ");
	options = rest ? rest : "";
	if (!strcmp(type, "cgroup2"))
		out->rank = 0;
	else if (!strcmp(type, "cgroup"))
		out->rank = rank_of(options);
	else
		return -EINVAL;
	unescape(field[3]);
	unescape(field[4]);
	out->root = field[3];
	out->point = field[4];
	out->device = makedev(major, minor);
	return out->rank < 0 ? -EINVAL : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct cgroup_mount *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int cgroup_mounts_read(const char *mountinfo, cgroup_mounts *out)
{
	struct cgroup_mount m;
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(mountinfo, "re");

	if (!f)
		return -errno;
	while (getline(&line, &cap, f) > 0) {
		if (parse(line, &m))
			continue;
		m.root = xstrdup(m.root);
		m.point = xstrdup(m.point);
		vec_push(out, m);
	}
	free(line);
	fclose(f);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_rank);
	return 0;
}

void cgroup_mounts_free(cgroup_mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].root);
		free(m->v[i].point);
	}
	vec_free(m);
}
