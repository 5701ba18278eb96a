/* SPDX-License-Identifier: MIT */
#include "cli/cli_rules.h"

#include <errno.h>
#include <string.h>

static int is_given(const struct cli_given *g, const char *name, size_t length)
{
	for (size_t i = 0; i < g->n; i++)
		if (strlen(g->names[i]) == length && !strncmp(g->names[i], name, length))
			return 1;
	return 0;
}

/* How many of @list are given; *@all: whether each of them is. NULL is an empty list. */
static size_t count_given(const struct cli_given *g, const char *list, int *all)
{
	size_t n = 0, listed = 0;

	for (size_t length; list && *list; list += length + (list[length] == ' ')) {
		length = strcspn(list, " ");
		n += (size_t)is_given(g, list, length);
		listed++;
	}
	*all = n == listed;
	return n;
}

static int is_broken(const struct cli_rule *r, const struct cli_given *g)
{
	int all, ignored;

	if (r->one_of)
		return count_given(g, r->one_of, &ignored) > 1;
	count_given(g, r->all, &all);
	return all && (!r->any || count_given(g, r->any, &ignored)) &&
	       !count_given(g, r->needs, &ignored);
}

int cli_given_has(const struct cli_given *g, const char *name)
{
	return is_given(g, name, strlen(name));
}

void cli_given_add(struct cli_given *g, const char *name)
{
	if (!cli_given_has(g, name) && g->n < CLI_GIVEN_MAX)
		g->names[g->n++] = name;
}

int cli_rules_check(const struct cli_rule *rules, const struct cli_given *g, struct error *e)
{
	int err = 0;

	for (const struct cli_rule *r = rules; (r->why || r->rules) && !err; r++) {
		if (r->rules)
			err = cli_rules_check(r->rules, g, e);
		else if (is_broken(r, g))
			err = error_set(e, STATUS_USAGE, -EINVAL, "%s", r->why);
	}
	return err;
}
