/* SPDX-License-Identifier: MIT */
#include "push/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "proc/cgroup_owner.h"
#include "proc/containers.h"

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

struct services {
	struct strtab *names;		/* 0 is "" */
	struct containers *containers;
	VEC(uint32_t) of;		/* by process of the profile */
	VEC(uint32_t) in;		/* by process: the number of its container; 0: none */
};

void service_name(const char *text, char name[SERVICE_NAME])
{
	size_t n = 0;

	for (; text[n] && n < SERVICE_NAME - 1; n++)
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
	strtab_add(s->names, OTHER);
	return s;
}

void services_free(struct services *s)
{
	if (!s)
		return;
	strtab_free(s->names);
	vec_free(&s->of);
	vec_free(&s->in);
	containers_free(s->containers);
	free(s);
}

static uint32_t service(struct services *s, const char *name)
{
	if (strtab_count(s->names) <= SERVICES_MAX)
		return strtab_add(s->names, name);
	for (uint32_t i = 1; i < strtab_count(s->names); i++)
		if (!strcmp(strtab_get(s->names, i), name))
			return i;
	return strtab_add(s->names, OTHER);
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

static int by_cgroup(struct services *s, pid_t pid, char name[SERVICE_NAME], uint32_t *in)
{
	struct cgroup_owner owner;

	if (cgroup_owner_of(pid, OWNERS, &owner) <= 0)
		return 0;
	name_owner(&owner, name);
	*in = 0;
	if (owner.kind == CGROUP_CONTAINER) {
		*in = containers_number(s->containers, owner.name);
		call(containers_at(s->containers, *in), name);
	}
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

/* As far as it can be seen; *@in: its container. */
static uint32_t find(struct services *s, const struct process *process, uint32_t *in)
{
	char name[SERVICE_NAME];

	*in = 0;
	if (!process->pid || process->pid == KTHREADD || process->parent == KTHREADD)
		return service(s, KERNEL);
	return by_cgroup(s, process->pid, name, in) || by_program(process->pid, name) ||
			       (process->parent && by_cgroup(s, process->parent, name, in))
		       ? service(s, name)
		       : UNKNOWN;
}

struct container services_container(const struct services *s, uint32_t service,
				    const unsigned char *ran)
{
	struct container all = { .id = "" };
	uint32_t first = 0;

	for (size_t i = 0; i < s->of.n; i++) {
		const struct container *c;

		if (!ran[i] || s->of.v[i] != service || (first && s->in.v[i] == first))
			continue;
		c = containers_at(s->containers, s->in.v[i]);
		if (!c)
			return (struct container){ .id = "" };
		if (!first) {
			first = s->in.v[i];
			all = *c;
			continue;
		}
		*all.id = *all.pod = '\0';
		if (strcmp(all.name, c->name))
			*all.name = '\0';
		if (strcmp(all.image, c->image))
			*all.image = '\0';
		if (strcmp(all.namespace, c->namespace))
			*all.namespace = '\0';
	}
	return all;
}

static void add_process(struct services *s, uint32_t service, uint32_t in)
{
	vec_push(&s->of, service);
	vec_push(&s->in, in);
}

void services_look(struct services *s, const struct profile *p)
{
	const struct profile_view v = profile_view(p);
	uint32_t in;

	while (s->of.n < v.nprocesses) {
		uint32_t service = find(s, &v.processes[s->of.n], &in);

		add_process(s, service, in);
	}
}

void services_settle(struct services *s, const struct profile *p)
{
	const struct profile_view v = profile_view(p);
	char name[SERVICE_NAME];

	services_look(s, p);
	for (size_t i = 0; i < s->of.n; i++)
		if (s->of.v[i] == UNKNOWN) {
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
		s->in.v[f.processes[i]] = s->in.v[i];
	}
	s->of.n = s->in.n = profile_view(p).nprocesses;
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
	memset(&s->in, 0, sizeof(s->in));
	for (size_t i = 0; i < before.of.n; i++)
		hashmap_set(&known, identity(&w.processes[i]), (uint32_t)i);
	for (size_t i = 0; i < v.nprocesses; i++) {
		uint32_t was = hashmap_get(&known, identity(&v.processes[i])), service, in;

		service = was == HASHMAP_NONE ? find(s, &v.processes[i], &in) : before.of.v[was];
		add_process(s, service, was == HASHMAP_NONE ? in : before.in.v[was]);
	}
	vec_free(&before.of);
	vec_free(&before.in);
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
