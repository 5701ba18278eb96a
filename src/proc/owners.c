/* SPDX-License-Identifier: MIT */
#include "proc/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "proc/cgroup_owner.h"
#include "proc/containers.h"

#define ID_SHOWN 12
#define OWNER_TEXT 512

struct owners {
	enum owner_kind kind;
	struct containers *containers;
	struct strtab *texts;		/* 0 is "" */
};

/* A name for the owner that the cgroup names; @text stays "" where it has none. */
typedef void name_owner(struct owners *o, const struct cgroup_owner *owner,
			char text[OWNER_TEXT]);

static const struct container *container_of(struct owners *o, const char *id)
{
	return containers_at(o->containers, containers_number(o->containers, id));
}

/* "NAMESPACE/POD", or "" where it is in none. */
static void pod(const struct container *c, char text[OWNER_TEXT])
{
	if (*c->pod)
		snprintf(text, OWNER_TEXT, "%s%s%s", c->namespace, *c->namespace ? "/" : "",
			 c->pod);
}

static void name_container(struct owners *o, const struct cgroup_owner *owner,
			   char text[OWNER_TEXT])
{
	const struct container *c = container_of(o, owner->name);
	size_t n;

	pod(c, text);
	n = strlen(text);
	if (*c->name)
		snprintf(text + n, OWNER_TEXT - n, "%s%s", n ? "/" : "", c->name);
	else if (!n)
		snprintf(text, OWNER_TEXT, "%.*s", *c->image ? OWNER_TEXT - 1 : ID_SHOWN,
			 *c->image ? c->image : c->id);
}

static void name_pod(struct owners *o, const struct cgroup_owner *owner, char text[OWNER_TEXT])
{
	pod(container_of(o, owner->name), text);
}

static void name_unit(struct owners *o, const struct cgroup_owner *owner, char text[OWNER_TEXT])
{
	(void)o;
	text_clean(text, OWNER_TEXT, owner->name);
}

static const struct {
	const char *name;
	unsigned int cgroups;		/* enum cgroup_kind, bits */
	name_owner *text;
} kinds[] = {
	[OWNER_CONTAINER] = { "container", CGROUP_CONTAINER, name_container },
	[OWNER_POD] = { "pod", CGROUP_CONTAINER, name_pod },
	[OWNER_UNIT] = { "unit", CGROUP_SERVICE | CGROUP_SCOPE, name_unit },
};

enum owner_kind owner_kind(const char *name)
{
	for (size_t i = OWNER_CONTAINER; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return (enum owner_kind)i;
	return OWNER_NONE;
}

const char *owner_kind_name(enum owner_kind kind)
{
	return kinds[kind].name;
}

struct owners *owners_new(enum owner_kind kind)
{
	struct owners *o = xcalloc(1, sizeof(*o));

	o->kind = kind;
	o->containers = containers_new();
	o->texts = strtab_new();
	return o;
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	containers_free(o->containers);
	strtab_free(o->texts);
	free(o);
}

enum owner_kind owners_kind(const struct owners *o)
{
	return o->kind;
}

uint32_t owners_of(struct owners *o, pid_t pid, pid_t parent)
{
	unsigned int cgroups = kinds[o->kind].cgroups;
	char text[OWNER_TEXT] = "";
	struct cgroup_owner owner;
	int found = pid ? cgroup_owner_of(pid, cgroups, &owner) : 0;

	if (found < 0 && parent)
		found = cgroup_owner_of(parent, cgroups, &owner);
	if (found > 0)
		kinds[o->kind].text(o, &owner, text);
	return strtab_add(o->texts, text);
}

const char *owners_text(const struct owners *o, uint32_t owner)
{
	return strtab_get(o->texts, owner);
}
