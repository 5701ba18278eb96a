/* SPDX-License-Identifier: MIT */
#include "probes/names.h"

#include <fnmatch.h>
#include <string.h>

#include "base/text.h"
#include "probes/spec.h"
#include "symbols/demangle.h"

static int matches(const char *pattern, const char *name)
{
	/* What is not a pattern may hold brackets all the same: "operator[]". */
	return !strcmp(pattern, name) ||
	       (probe_is_pattern(pattern) && !fnmatch(pattern, name, 0));
}

int probe_name_matches(const char *pattern, const char *name)
{
	size_t n = strcspn(name, "@");
	char bare[PROBE_NAME_MAX];

	if (!n || n >= sizeof(bare))
		return 0;
	memcpy(bare, name, n);
	bare[n] = '\0';
	return matches(pattern, bare);
}

/* 1 where the bracket at @at is no list of arguments, but part of a name. */
static int is_of_name(const char *name, const char *at)
{
	static const char anonymous[] = "(anonymous namespace)", call[] = "operator";
	size_t before = (size_t)(at - name);

	return !strncmp(at, anonymous, sizeof(anonymous) - 1) ||
	       (before >= sizeof(call) - 1 && at[1] == ')' &&
		!strncmp(at - (sizeof(call) - 1), call, sizeof(call) - 1));
}

/* Cuts the arguments off; returns where the name begins, behind what it returns. */
static char *cut(char *name)
{
	char *begin = name;
	int depth = 0;

	for (char *at = name; *at; at++) {
		if (*at == '(' && !depth && !is_of_name(name, at)) {
			*at = '\0';
			break;
		}
		if (*at == '(' || *at == '<')
			depth++;
		else if ((*at == ')' || *at == '>') && depth)
			depth--;
		else if (*at == ' ' && !depth && strncmp(at, " [clone", 7))
			begin = at + 1;
	}
	return begin;
}

int probe_name_matches_demangled(const char *pattern, const char *name)
{
	char text[PROBE_NAME_MAX], *begin;

	if (!demangle(NULL, name, text, sizeof(text)))
		return 0;
	if (matches(pattern, text))
		return 1;
	begin = cut(text);
	return matches(pattern, begin) || matches(pattern, text);
}

void probe_name_show(const char *name, char *shown, size_t size)
{
	char text[PROBE_NAME_MAX];

	demangle(NULL, name, text, sizeof(text));
	text_clean(shown, size, text);
}
