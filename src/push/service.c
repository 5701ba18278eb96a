/* SPDX-License-Identifier: MIT */
#include "push/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "proc/cgroup_owner.h"
#include "proc/containers.h"
#include "proc/otel_context.h"

#define PATH_TEXT 4096
#define ID_SHOWN 12
#define KTHREADD 2
#define OWNERS (CGROUP_CONTAINER | CGROUP_SERVICE)
#define UNIT ".service"
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@"
#define DELETED " (deleted)"
#define OTHER "other"
#define KERNEL "kernel"
#define UNKNOWN 0		/* of names: that of nobody */
#define LOOKS 3			/* more, for what a process publishes after it was seen first */

/* Where a process is. */
struct seen {
	uint32_t in;		/* the number of its container; 0: none */
	uint32_t cgroup;	/* 0: the root, or not known */
	unsigned int looks;	/* that are left */
};

struct services {
	struct strtab *names, *cgroups;	/* 0 is "" */
	struct containers *containers;
	struct remote *remote;
	VEC(uint32_t) of;		/* by process of the profile */
	VEC(struct seen) seen;		/* the same */
};

void service_name(const char *text, char name[SERVICE_NAME])
{
	size_t n = 0;

	for (; n < SERVICE_NAME - 1 && text[n]; n++)
		name[n] = strchr(PLAIN, text[n]) ? text[n] : '_';
	name[n] = '\0';
	if (!n)
		memcpy(name, "_", 2);
	if (*name == '.')
		*name = '_';
}

/* What a container is called of which nothing but the id is known; what a unit is called. */
static void name_owner(const struct cgroup_owner *owner, char name[SERVICE_NAME])
{
	char text[CGROUP_OWNER];
	size_t n = strlen(owner->name);

	if (owner->kind == CGROUP_CONTAINER)
		snprintf(text, sizeof(text), "container-%.*s", ID_SHOWN, owner->name);
	else
		snprintf(text, sizeof(text), "%.*s", (int)(n - strlen(UNIT)), owner->name);
	service_name(text, name);
}

int service_of_cgroup(const char *cgroup, char name[SERVICE_NAME])
{
	struct cgroup_owner owner;

	if (!cgroup_owner(cgroup, OWNERS, &owner))
		return 0;
	name_owner(&owner, name);
	return 1;
}

struct services *services_new(void)
{
	struct services *s = xcalloc(1, sizeof(*s));

	s->containers = containers_new();
	s->names = strtab_new();
	s->cgroups = strtab_new();
	strtab_add(s->names, OTHER);
	return s;
}

void services_free(struct services *s)
{
	if (!s)
		return;
	strtab_free(s->names);
	strtab_free(s->cgroups);
	vec_free(&s->of);
	vec_free(&s->seen);
	containers_free(s->containers);
	free(s);
}

void services_memory(struct services *s, struct remote *remote)
{
	s->remote = remote;
}

/* One of @max at most; @other takes the place of more. */
static uint32_t bounded(struct strtab *t, const char *text, uint32_t max, const char *other)
{
	if (strtab_count(t) <= max)
		return strtab_add(t, text);
	for (uint32_t i = 1; i < strtab_count(t); i++)
		if (!strcmp(strtab_get(t, i), text))
			return i;
	return strtab_add(t, other);
}

static uint32_t service(struct services *s, const char *name)
{
	return bounded(s->names, name, SERVICES_MAX, OTHER);
}

/* By its own name, where one is known; NAMESPACE.NAME in a pod. */
static void call(const struct container *c, char name[SERVICE_NAME])
{
	char text[sizeof(c->namespace) + sizeof(c->name) + sizeof(c->image)];
	const char *slash = strrchr(c->image, '/');

	if (*c->name)
		snprintf(text, sizeof(text), "%s%s%s", c->namespace, *c->namespace ? "." : "",
			 c->name);
	else if (*c->image)
		snprintf(text, sizeof(text), "%s", slash ? slash + 1 : c->image);
	else
		return;
	service_name(text, name);
}

static int by_cgroup(struct services *s, pid_t pid, char name[SERVICE_NAME], struct seen *seen)
{
	char text[CGROUP_TEXT], path[CGROUP_TEXT], clean[SERVICE_CGROUP];
	struct cgroup_owner owner;

	if (cgroup_text(pid, text))
		return 0;
	cgroup_path(text, path, sizeof(path));
	text_clean(clean, sizeof(clean), path);
	seen->cgroup = bounded(s->cgroups, clean, SERVICE_CGROUPS, "");
	if (!cgroup_owner(text, OWNERS, &owner))
		return 0;
	name_owner(&owner, name);
	if (owner.kind == CGROUP_CONTAINER) {
		seen->in = containers_number(s->containers, owner.name);
		call(containers_at(s->containers, seen->in), name);
	}
	return 1;
}

static int by_context(struct services *s, pid_t pid, char name[SERVICE_NAME])
{
	char text[OTEL_SERVICE];

	if (!otel_context_of(s->remote, pid, text))
		return 0;
	service_name(text, name);
	return 1;
}

static int by_program(pid_t pid, char name[SERVICE_NAME])
{
	char path[64], text[PATH_TEXT];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if ((size_t)n > strlen(DELETED) && !strcmp(text + n - strlen(DELETED), DELETED))
		text[n - (ssize_t)strlen(DELETED)] = '\0';
	slash = strrchr(text, '/');
	service_name(slash ? slash + 1 : text, name);
	return 1;
}

/* As far as it can be seen. */
static uint32_t find(struct services *s, const struct process *process, struct seen *seen)
{
	char name[SERVICE_NAME];

	*seen = (struct seen){ 0 };
	if (!process->pid || process->pid == KTHREADD || process->parent == KTHREADD)
		return service(s, KERNEL);
	if (by_cgroup(s, process->pid, name, seen) || by_context(s, process->pid, name))
		return service(s, name);
	if (by_program(process->pid, name)) {
		seen->looks = LOOKS;
		return service(s, name);
	}
	return process->parent && by_cgroup(s, process->parent, name, seen) ? service(s, name)
									    : UNKNOWN;
}

/* --- What those of a service have in common. ------------------------------------------ */

static void common_container(struct container *all, const struct container *c)
{
	*all->id = *all->pod = '\0';
	if (strcmp(all->name, c->name))
		*all->name = '\0';
	if (strcmp(all->image, c->image))
		*all->image = '\0';
	if (strcmp(all->namespace, c->namespace))
		*all->namespace = '\0';
}

static struct container container_of(const struct services *s, uint32_t service,
				     const unsigned char *ran)
{
	struct container all = { .id = "" };
	uint32_t first = 0;

	for (size_t i = 0; i < s->of.n; i++) {
		uint32_t in = s->seen.v[i].in;
		const struct container *c;

		if (!ran[i] || s->of.v[i] != service || (first && in == first))
			continue;
		c = containers_at(s->containers, in);
		if (!c)
			return (struct container){ .id = "" };
		if (first) {
			common_container(&all, c);
		} else {
			first = in;
			all = *c;
		}
	}
	return all;
}

/* Cuts @path to what is above both. */
static void common_path(char *path, const char *other)
{
	size_t n = 0, parent = 0;

	for (; path[n] && path[n] == other[n]; n++)
		if (path[n] == '/')
			parent = n;
	if ((path[n] && path[n] != '/') || (other[n] && other[n] != '/'))
		n = parent;
	path[n] = '\0';
}

static void cgroup_of(const struct services *s, uint32_t service, const unsigned char *ran,
		      char path[SERVICE_CGROUP])
{
	int any = 0;

	*path = '\0';
	for (size_t i = 0; i < s->of.n; i++) {
		const char *own = strtab_get(s->cgroups, s->seen.v[i].cgroup);

		if (!ran[i] || s->of.v[i] != service)
			continue;
		if (any++)
			common_path(path, own);
		else
			snprintf(path, SERVICE_CGROUP, "%s", own);
	}
}

struct service_place services_place(const struct services *s, uint32_t service,
				    const unsigned char *ran)
{
	struct service_place p = { .container = container_of(s, service, ran) };

	cgroup_of(s, service, ran, p.cgroup);
	return p;
}

/* --- The processes of a profile. ------------------------------------------------------- */

static void add_process(struct services *s, uint32_t service, const struct seen *seen)
{
	vec_push(&s->of, service);
	vec_push(&s->seen, *seen);
}

void services_look(struct services *s, const struct profile *p)
{
	const struct profile_view v = profile_view(p);
	struct seen seen;

	while (s->of.n < v.nprocesses) {
		uint32_t service = find(s, &v.processes[s->of.n], &seen);

		add_process(s, service, &seen);
	}
}

/* One that goes by its program still, as far as it is the same one that has its PID. */
static void look_again(struct services *s, const struct process *process, size_t i)
{
	char name[SERVICE_NAME];

	s->seen.v[i].looks--;
	if (!by_program(process->pid, name) || service(s, name) != s->of.v[i] ||
	    !by_context(s, process->pid, name))
		return;
	s->of.v[i] = service(s, name);
	s->seen.v[i].looks = 0;
}

void services_settle(struct services *s, const struct profile *p)
{
	const struct profile_view v = profile_view(p);
	char name[SERVICE_NAME];

	services_look(s, p);
	for (size_t i = 0; i < s->of.n; i++)
		if (s->seen.v[i].looks) {
			look_again(s, &v.processes[i], i);
		} else if (s->of.v[i] == UNKNOWN) {
			service_name(profile_text(p, v.processes[i].comm), name);
			s->of.v[i] = service(s, name);
		}
}

void services_fold(struct services *s, const struct profile *p)
{
	const struct profile_folded f = profile_folded(p);

	/* An index never becomes higher. What became one of several has no more samples. */
	for (size_t i = 0; i < s->of.n && i < f.nprocesses; i++) {
		s->of.v[f.processes[i]] = s->of.v[i];
		s->seen.v[f.processes[i]] = s->seen.v[i];
	}
	s->of.n = s->seen.n = profile_view(p).nprocesses;
}

static uint64_t identity(const struct process *p)
{
	return (uint64_t)(uint32_t)p->pid << 32 | p->incarnation;
}

void services_renew(struct services *s, const struct profile *old, const struct profile *p)
{
	const struct profile_view v = profile_view(p), w = profile_view(old);
	struct services before = *s;
	struct hashmap known = { 0 };

	memset(&s->of, 0, sizeof(s->of));
	memset(&s->seen, 0, sizeof(s->seen));
	for (size_t i = 0; i < before.of.n; i++)
		hashmap_set(&known, identity(&w.processes[i]), (uint32_t)i);
	for (size_t i = 0; i < v.nprocesses; i++) {
		uint32_t was = hashmap_get(&known, identity(&v.processes[i])), service;
		struct seen seen;

		service = was == HASHMAP_NONE ? find(s, &v.processes[i], &seen) : before.of.v[was];
		add_process(s, service, was == HASHMAP_NONE ? &seen : &before.seen.v[was]);
	}
	vec_free(&before.of);
	vec_free(&before.seen);
	hashmap_free(&known);
}

const uint32_t *services_of(const struct services *s)
{
	return s->of.v;
}

size_t services_count(const struct services *s)
{
	return strtab_count(s->names);
}

const char *services_text(const struct services *s, uint32_t service)
{
	return strtab_get(s->names, service);
}
