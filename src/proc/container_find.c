/* SPDX-License-Identifier: MIT */
#include "proc/container_find.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/xalloc.h"
#include "proc/container.h"
#include "proc/container_files.h"

#define POD "pod/"

/* Ids, each once. */
typedef VEC(char *) id_vec;

static void add(id_vec *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (!strcmp(ids->v[i], id))
			return;
	vec_push(ids, xstrdup(id));
}

/* What @folder lists: names of logs, or ids. */
static void list(id_vec *ids, const char *root, const char *folder)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	dir = opendir(path);
	for (size_t i = 0; dir && i < CONTAINERS_MOST && (d = readdir(dir)); i++) {
		struct container c = { 0 };

		if (!container_of_log(d->d_name, &c))
			add(ids, c.id);
		else if (container_is_id(d->d_name, strlen(d->d_name)))
			add(ids, d->d_name);
	}
	if (dir)
		closedir(dir);
}

/* "NAME" or "NAMESPACE/NAME", behind "pod/". */
static int is_pod(const struct container *c, const char *name)
{
	const char *slash = strchr(name, '/');
	size_t n = slash ? (size_t)(slash - name) : 0;

	if (slash && (strlen(c->namespace) != n || strncmp(c->namespace, name, n)))
		return 0;
	return *c->pod && !strcmp(c->pod, slash ? slash + 1 : name);
}

static int is_called(const struct container *c, const char *name)
{
	return strncmp(name, POD, strlen(POD)) ? *c->name && !strcmp(c->name, name)
					       : is_pod(c, name + strlen(POD));
}

/* The pod's own cgroup is the one above those of its containers. */
static int go_up(struct cgroup *c, struct error *e)
{
	char path[sizeof(c->path)], *slash, *name;

	strcpy(path, c->path);
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	name = strrchr(path, '/');
	if (!slash || !name || !strstr(name, "pod"))
		return error_set(e, STATUS_NO_TARGET, -ENOENT,
				 "the cgroup %.300s is in none of a pod; give the container's name",
				 c->path);
	return cgroup_find(path, c, e);
}

int container_cgroup(const char *root, const char *name, struct cgroup *out, struct error *e)
{
	int found = 0, pod = !strncmp(name, POD, strlen(POD)), err = 0;
	struct cgroup c;
	id_vec ids = { 0 };

	list(&ids, root, CONTAINER_LOGS);
	for (const struct container_place *p = container_places; p->folder; p++)
		list(&ids, root, p->folder);
	for (size_t i = 0; i < ids.n; i++) {
		struct container known;

		/* One that has ended is listed for a while, but has no cgroup. */
		if (err || container_look(root, ids.v[i], &known) || !is_called(&known, name) ||
		    cgroup_find(ids.v[i], &c, NULL) || (pod && go_up(&c, NULL)))
			continue;
		if (found && c.id != out->id)
			err = error_set(e, STATUS_NO_TARGET, -EEXIST,
					"several containers are called '%.128s': in %.150s, and in "
					"%.150s; give an id", name, out->path, c.path);
		*out = c;
		found = 1;
	}
	for (size_t i = 0; i < ids.n; i++)
		free(ids.v[i]);
	vec_free(&ids);
	if (!err && !found)
		err = error_set(e, STATUS_NO_TARGET, -ENOENT,
				"no cgroup, and no %s that runs, is called '%.200s'",
				pod ? "pod" : "container", name);
	return err;
}
