/* SPDX-License-Identifier: MIT */
#include "proc/cgroup_owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "proc/container_files.h"

#define ID_DIGITS 64
#define SERVICE ".service"
#define SCOPE ".scope"

/* What of @part, of @n bytes, is the name: where it begins, and its size in *@size. NULL: none. */
typedef const char *name_of(const char *part, size_t n, size_t *size);

static int ends_with(const char *part, size_t n, const char *end)
{
	size_t size = strlen(end);

	return n > size && !memcmp(part + n - size, end, size);
}

/* "docker-0123...scope", "0123...", "pod1:cri-containerd:0123...": its id. */
static const char *container(const char *part, size_t n, size_t *size)
{
	const char *id = part, *end = part + n;

	if (ends_with(part, n, SCOPE))
		end -= strlen(SCOPE);
	for (const char *c = part; c < end; c++)
		if (*c == '-' || *c == ':')
			id = c + 1;
	*size = ID_DIGITS;
	return container_is_id(id, (size_t)(end - id)) ? id : NULL;
}

/* The manager of a user's units is none of them. */
static const char *service(const char *part, size_t n, size_t *size)
{
	*size = n;
	return ends_with(part, n, SERVICE) && strncmp(part, "user@", 5) ? part : NULL;
}

static const char *scope(const char *part, size_t n, size_t *size)
{
	*size = n;
	return ends_with(part, n, SCOPE) ? part : NULL;
}

static const struct { enum cgroup_kind kind; name_of *name; } kinds_known[] = {
	{ CGROUP_CONTAINER, container },
	{ CGROUP_SERVICE, service },
	{ CGROUP_SCOPE, scope },
};

static int is_one(const char *part, size_t n, unsigned int kinds, struct cgroup_owner *out)
{
	for (size_t i = 0; i < sizeof(kinds_known) / sizeof(*kinds_known); i++) {
		size_t size = 0;
		const char *name = kinds & kinds_known[i].kind
					   ? kinds_known[i].name(part, n, &size)
					   : NULL;

		if (!name)
			continue;
		out->kind = kinds_known[i].kind;
		snprintf(out->name, sizeof(out->name), "%.*s", (int)size, name);
		return 1;
	}
	return 0;
}

/* Of one path, its last parts first. */
static int of_path(const char *path, size_t n, unsigned int kinds, struct cgroup_owner *out)
{
	while (n) {
		size_t from = n;

		while (from && path[from - 1] != '/')
			from--;
		if (is_one(path + from, n - from, kinds, out))
			return 1;
		n = from ? from - 1 : 0;
	}
	return 0;
}

/* Lines HIERARCHY:CONTROLLERS:PATH (cgroups(7)). That of @line, of @n bytes; NULL: it is none. */
static const char *path_of(const char *line, size_t n)
{
	const char *path = memchr(line, ':', n);

	path = path ? memchr(path + 1, ':', n - (size_t)(path + 1 - line)) : NULL;
	return path ? path + 1 : NULL;
}

int cgroup_owner(const char *text, unsigned int kinds, struct cgroup_owner *out)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *path = path_of(text, n);

		if (path && of_path(path, n - (size_t)(path - text), kinds, out))
			return 1;
		text += n + (text[n] == '\n');
	}
	return 0;
}

void cgroup_path(const char *text, char *out, size_t size)
{
	*out = '\0';
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *path = path_of(text, n);
		int unified = !strncmp(text, "0::", 3);

		if (path && n - (size_t)(path - text) > 1 && (unified || !*out))
			snprintf(out, size, "%.*s", (int)(n - (size_t)(path - text)), path);
		if (unified && *out)
			break;
		text += n + (text[n] == '\n');
	}
}

int cgroup_text(pid_t pid, char text[CGROUP_TEXT])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	n = file_read(path, text, CGROUP_TEXT);
	return n > 0 ? 0 : n < 0 ? (int)n : -ESRCH;
}

int cgroup_owner_of(pid_t pid, unsigned int kinds, struct cgroup_owner *out)
{
	char text[CGROUP_TEXT];

	return cgroup_text(pid, text) ? -ESRCH : cgroup_owner(text, kinds, out);
}
