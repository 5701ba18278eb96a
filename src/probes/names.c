/* SPDX-License-Identifier: MIT */
#include "probes/names.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/text.h"
#include "probes/spec.h"
#include "symbols/demangle.h"

#define COPIES_MAX 8		/* each may double what was before it */

/*
 * What regcomp(3) of libc copies for each of them: nested they take memory without bounds, so there
 * are few of +, and none of {}. Nor of \1: regexec(3) may take exponential time for it.
 */
static int is_bounded(const char *regex)
{
	int copies = 0;

	for (; *regex; regex++) {
		if (*regex == '{' || (*regex == '\\' && regex[1] >= '1' && regex[1] <= '9'))
			return 0;
		copies += *regex == '+';
		regex += *regex == '\\' && regex[1];
	}
	return copies <= COPIES_MAX;
}

int probe_pattern_open(struct probe_pattern *p, const char *text)
{
	char inner[PROBE_NAME_MAX];
	size_t n = strlen(text);

	*p = (struct probe_pattern){ .text = text, .is_regex = probe_is_regex(text) };
	if (!p->is_regex)
		return 0;
	if (n - 1 > sizeof(inner))
		return -EINVAL;
	memcpy(inner, text + 1, n - 2);
	inner[n - 2] = '\0';
	if (!is_bounded(inner))
		return -EINVAL;
	return regcomp(&p->regex, inner, REG_EXTENDED | REG_NOSUB) ? -EINVAL : 0;
}

void probe_pattern_close(struct probe_pattern *p)
{
	if (p->is_regex)
		regfree(&p->regex);
}

int probe_pattern_matches(const struct probe_pattern *p, const char *name)
{
	if (p->is_regex)
		return !regexec(&p->regex, name, 0, NULL, 0);
	/* What is not a pattern may hold brackets all the same: "operator[]". */
	return !strcmp(p->text, name) ||
	       (probe_is_pattern(p->text) && !fnmatch(p->text, name, 0));
}

int probe_name_matches(const struct probe_pattern *p, const char *name)
{
	size_t n = strcspn(name, "@");
	char bare[PROBE_NAME_MAX];

	if (!n || n >= sizeof(bare))
		return 0;
	memcpy(bare, name, n);
	bare[n] = '\0';
	return probe_pattern_matches(p, bare);
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

/* Behind the '>' that ends the '<' at @at; NULL: there is none. */
static char *behind_brackets(char *at)
{
	int depth = 0;

	for (char *from = at; *at; at++) {
		if (*at == '<')
			depth++;
		else if (*at == '>' && (at == from || at[-1] != '-') && !--depth)
			return at + 1;
	}
	return NULL;
}

/* " as Trait" of the type between @at and @end, or @end. */
static char *find_trait(char *at, char *end)
{
	int depth = 0;

	for (; at < end; at++) {
		if (*at == '<')
			depth++;
		else if (*at == '>' && at[-1] != '-')
			depth--;
		else if (!depth && !strncmp(at, " as ", 4))
			break;
	}
	return at;
}

/*
 * A name of Rust as its source has it: of "<shop::Apple as Priced>::price" and
 * "<shop::Apple>::price" "shop::Apple::price", of "total::<Apple>" "total". Returns 0 where it is
 * so already.
 */
static int plain_rust(char *name)
{
	int changed = 0;
	char *end, *at;

	if (*name == '<' && (end = behind_brackets(name))) {
		at = find_trait(name + 1, end - 1);
		memmove(name, name + 1, (size_t)(at - name - 1));
		memmove(at - 1, end, strlen(end) + 1);
		changed = 1;
	}
	for (at = name; (at = strstr(at, "::<")) && (end = behind_brackets(at + 2)); changed = 1)
		memmove(at, end, strlen(end) + 1);
	return changed;
}

int probe_name_matches_demangled(const struct probe_pattern *p, const char *name)
{
	char text[PROBE_NAME_MAX], *begin;

	if (!demangle(NULL, name, text, sizeof(text)))
		return 0;
	if (probe_pattern_matches(p, text))
		return 1;
	if (plain_rust(text))
		return probe_pattern_matches(p, text);
	begin = cut(text);
	return probe_pattern_matches(p, begin) || probe_pattern_matches(p, text);
}

void probe_name_show(const char *name, char *shown, size_t size)
{
	char text[PROBE_NAME_MAX];

	demangle(NULL, name, text, sizeof(text));
	text_clean(shown, size, text);
}
