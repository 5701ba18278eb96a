/* SPDX-License-Identifier: MIT */
#include "proc/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_read.h"
#include "base/xalloc.h"
#include "proc/container_files.h"

#define FILE_MOST (4u << 20)	/* bytes of a file of JSON */
#define ID_DIGITS (CONTAINER_ID - 1)
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+"
#define LOG ".log"

/* Where the runtimes keep a folder for each container, named by its id, and the file in it. */
const struct container_place container_places[] = {
	{ "/var/lib/docker/containers", "config.v2.json" },
	{ "/run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json" },
	{ "/run/containerd/io.containerd.runtime.v2.task/default", "config.json" },
	{ "/run/containers/storage/overlay-containers", "userdata/config.json" },
	{ "/var/lib/containers/storage/overlay-containers", "userdata/config.json" },
	{ NULL, NULL }
};

/* What Podman knows of all of them: an array of objects. */
static const char podman_list[] = "/var/lib/containers/storage/overlay-containers/containers.json";

int container_is_id(const char *text, size_t n)
{
	return n == ID_DIGITS && strspn(text, "0123456789abcdef") >= ID_DIGITS;
}

/* The first that is known counts. */
static void set(char *field, size_t size, const char *text, size_t n)
{
	if (*field || n >= size)
		return;
	for (size_t i = 0; i < n; i++)
		field[i] = text[i] && strchr(PLAIN, text[i]) ? text[i] : '_';
	field[n] = '\0';
}

int container_of_log(const char *file, struct container *out)
{
	size_t n = strlen(file), tail = strlen(LOG) + ID_DIGITS + 1;
	const char *first = strchr(file, '_'), *second = first ? strchr(first + 1, '_') : NULL;
	const char *id = n > tail ? file + n - tail + 1 : NULL;

	/* Names of Kubernetes have no "_" (RFC 1123). */
	if (!second || !id || id[-1] != '-' || id - 1 <= second + 1 || second == first + 1 ||
	    first == file || !container_is_id(id, ID_DIGITS) || strcmp(id + ID_DIGITS, LOG))
		return -EINVAL;
	memcpy(out->id, id, ID_DIGITS);
	out->id[ID_DIGITS] = '\0';
	set(out->pod, sizeof(out->pod), file, (size_t)(first - file));
	set(out->namespace, sizeof(out->namespace), first + 1, (size_t)(second - first - 1));
	set(out->name, sizeof(out->name), second + 1, (size_t)(id - 1 - second - 1));
	return 0;
}

/* --- Files of JSON. ------------------------------------------------------------ */

#define FIELD(name) offsetof(struct container, name), sizeof(((struct container *)0)->name)

/* What which key means in any of them: names of the OCI's annotations, and Docker's own. */
static const struct key {
	const char *keys[2];
	size_t offset, size;
} keys[] = {
	{ { "annotations", "io.kubernetes.cri.container-name" }, FIELD(name) },
	{ { "annotations", "io.kubernetes.cri.sandbox-name" }, FIELD(pod) },
	{ { "annotations", "io.kubernetes.cri.sandbox-namespace" }, FIELD(namespace) },
	{ { "annotations", "io.kubernetes.cri.image-name" }, FIELD(image) },
	{ { "annotations", "io.kubernetes.container.name" }, FIELD(name) },
	{ { "annotations", "io.kubernetes.pod.name" }, FIELD(pod) },
	{ { "annotations", "io.kubernetes.pod.namespace" }, FIELD(namespace) },
	{ { "annotations", "io.kubernetes.cri-o.ImageName" }, FIELD(image) },
	{ { "annotations", "nerdctl/name" }, FIELD(name) },
	{ { "Labels", "io.kubernetes.container.name" }, FIELD(name) },
	{ { "Labels", "io.kubernetes.pod.name" }, FIELD(pod) },
	{ { "Labels", "io.kubernetes.pod.namespace" }, FIELD(namespace) },
	{ { "Config", "Image" }, FIELD(image) },
};

static void see(void *ctx, const struct json_path *path, const char *text)
{
	struct container *out = ctx;

	for (size_t i = 0; text && i < sizeof(keys) / sizeof(*keys); i++)
		if (json_path_is(path, keys[i].keys, 2))
			set((char *)out + keys[i].offset, keys[i].size, text, strlen(text));
}

/* Docker's own name, after what Kubernetes may have written. */
static void see_name(void *ctx, const struct json_path *path, const char *text)
{
	struct container *out = ctx;

	if (text && path->n == 1 && !strcmp(path->keys[0], "Name")) {
		text += *text == '/';
		set(out->name, sizeof(out->name), text, strlen(text));
	}
}

void container_of_json(char *text, size_t n, struct container *out)
{
	char *copy = xmalloc(n + 1);

	memcpy(copy, text, n + 1);
	json_read_strings(copy, n, see, out);
	free(copy);
	json_read_strings(text, n, see_name, out);
}

/* One of Podman's list. */
struct listed {
	struct container *out;
	char name[128], metadata[4096];
	int is_it;
};

static void see_image(void *ctx, const struct json_path *path, const char *text)
{
	static const char *const image[] = { "image-name" };
	struct container *out = ctx;

	if (text && json_path_is(path, image, 1))
		set(out->image, sizeof(out->image), text, strlen(text));
}

static void see_listed(void *ctx, const struct json_path *path, const char *text)
{
	struct listed *l = ctx;

	if (!text && path->n == 1) {
		if (l->is_it) {
			set(l->out->name, sizeof(l->out->name), l->name, strlen(l->name));
			json_read_strings(l->metadata, strlen(l->metadata), see_image, l->out);
		}
		*l = (struct listed){ .out = l->out };
	} else if (!text || path->n < 2) {
		return;
	} else if (path->n == 2 && !strcmp(path->keys[1], "id")) {
		l->is_it = !strcmp(text, l->out->id);
	} else if (path->n == 3 && !strcmp(path->keys[1], "names") && !*l->name) {
		snprintf(l->name, sizeof(l->name), "%s", text);
	} else if (path->n == 2 && !strcmp(path->keys[1], "metadata")) {
		snprintf(l->metadata, sizeof(l->metadata), "%s", text);
	}
}

/* The file's text and, in *@n, its size; NULL where it is none of ours to read. */
static char *read_text(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	char *text = NULL;
	ssize_t got;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= FILE_MOST) {
		text = xmalloc((size_t)st.st_size + 1);
		got = io_read_full(fd, text, (size_t)st.st_size);
		*n = got < 0 ? 0 : (size_t)got;
		text[*n] = '\0';
	}
	close(fd);
	return text;
}

static void look_at(const char *path, struct container *out)
{
	size_t n;
	char *text = read_text(path, &n);

	if (text)
		container_of_json(text, n, out);
	free(text);
}

static void look_at_list(const char *path, struct container *out)
{
	struct listed l = { .out = out };
	size_t n;
	char *text = read_text(path, &n);

	if (text)
		json_read_strings(text, n, see_listed, &l);
	free(text);
}

/* --- All places. --------------------------------------------------------------- */

static void look_at_logs(const char *root, struct container *out)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s" CONTAINER_LOGS, root);
	dir = opendir(path);
	for (size_t i = 0; dir && i < CONTAINERS_MOST && (d = readdir(dir)); i++) {
		struct container c = { 0 };

		if (!container_of_log(d->d_name, &c) && !strcmp(c.id, out->id)) {
			*out = c;
			break;
		}
	}
	if (dir)
		closedir(dir);
}

int container_look(const char *root, const char *id, struct container *out)
{
	char path[PATH_MAX];

	*out = (struct container){ 0 };
	if (!container_is_id(id, strlen(id)))
		return -ENOENT;
	memcpy(out->id, id, CONTAINER_ID);
	look_at_logs(root, out);
	for (const struct container_place *p = container_places; p->folder; p++) {
		snprintf(path, sizeof(path), "%s%s/%s/%s", root, p->folder, id, p->file);
		look_at(path, out);
	}
	snprintf(path, sizeof(path), "%s%s", root, podman_list);
	if (!*out->name)
		look_at_list(path, out);
	return *out->name || *out->image || *out->pod ? 0 : -ENOENT;
}
