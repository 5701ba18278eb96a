/* SPDX-License-Identifier: MIT */
#include "probes/spec.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "probes/names.h"

static const struct {
	const char *name;
	enum probe_type type;
	int of_file;
	const char *form;
} types[] = {
	{ "uprobe", PROBE_UPROBE, 1, "uprobe:FILE:FUNCTION[+OFFSET] or uprobe:FILE:SOURCE:LINE" },
	{ "uretprobe", PROBE_URETPROBE, 1, "uretprobe:FILE:FUNCTION" },
	{ "usdt", PROBE_USDT, 1, "usdt:FILE[:PROVIDER]:NAME" },
	{ "kprobe", PROBE_KPROBE, 0, "kprobe:FUNCTION[+OFFSET]" },
	{ "kretprobe", PROBE_KRETPROBE, 0, "kretprobe:FUNCTION" },
};

#define TYPES (sizeof(types) / sizeof(*types))

/* The row of @text; TYPES: none. */
static size_t row_of(const char *text)
{
	size_t n = strcspn(text, ":"), i = 0;

	while (i < TYPES && (strlen(types[i].name) != n || strncmp(types[i].name, text, n)))
		i++;
	return text[n] == ':' ? i : TYPES;
}

int probe_spec_is(const char *text)
{
	return row_of(text) < TYPES;
}

int probe_is_regex(const char *text)
{
	size_t n = strlen(text);

	return n > 2 && *text == '/' && text[n - 1] == '/';
}

int probe_is_pattern(const char *text)
{
	return strpbrk(text, "*?[") || probe_is_regex(text);
}

const char *probe_type_name(enum probe_type type)
{
	size_t i = 0;

	while (types[i].type != type)
		i++;
	return types[i].name;
}

/* Takes "+OFFSET" off the end of the name; or all of it is an address. */
static int split_offset(struct probe_spec *spec)
{
	char *plus = strrchr(spec->name, '+');

	if (!text_u64(spec->name, 0, &spec->offset)) {
		*spec->name = '\0';
		return 0;
	}
	spec->offset = 0;
	/* "operator+" has no number behind it. */
	if (!plus || plus == spec->name || plus[1] < '0' || plus[1] > '9')
		return 0;
	if (text_u64(plus + 1, 0, &spec->offset))
		return -EINVAL;
	*plus = '\0';
	return 0;
}

/* Takes ":LINE" off the end of the name. "ns::1" is no line of a file. */
static void split_line(struct probe_spec *spec)
{
	char *colon = strrchr(spec->name, ':');
	uint64_t line;

	if (!colon || colon == spec->name || colon[-1] == ':' || text_u64(colon + 1, 0, &line) ||
	    !line || line > UINT32_MAX)
		return;
	*colon = '\0';
	spec->line = (uint32_t)line;
}

/* Neither a provider nor a static probe has a colon in its name. */
static void split_provider(struct probe_spec *spec)
{
	char *colon = strchr(spec->name, ':');

	if (!colon)
		return;
	memcpy(spec->provider, spec->name, (size_t)(colon - spec->name));
	memmove(spec->name, colon + 1, strlen(colon));
}

int probe_spec_parse(struct probe_spec *spec, const char *text, struct error *e)
{
	size_t row = row_of(text), n;
	const char *rest = strchr(text, ':');
	struct probe_pattern pattern;

	memset(spec, 0, sizeof(*spec));
	if (row == TYPES)
		return error_set(e, STATUS_USAGE, -EINVAL, "'%.200s' is no probe", text);
	if (strlen(text) >= PROBE_TEXT_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "a probe's text has at most %d bytes",
				 PROBE_TEXT_MAX - 1);
	spec->type = types[row].type;
	rest++;
	if (types[row].of_file) {
		n = strcspn(rest, ":");
		memcpy(spec->file, rest, n);
		rest += n + (rest[n] == ':');
	}
	memcpy(spec->name, rest, strlen(rest) + 1);
	if (spec->type == PROBE_USDT)
		split_provider(spec);
	if (spec->type == PROBE_UPROBE)
		split_line(spec);
	if (!*spec->name || (types[row].of_file && !*spec->file) ||
	    (spec->type != PROBE_USDT && !spec->line && !probe_is_regex(spec->name) &&
	     split_offset(spec)))
		return error_set(e, STATUS_USAGE, -EINVAL, "malformed probe '%.200s'; expected %s",
				 text, types[row].form);
	if (spec->offset && *spec->name && spec->type != PROBE_UPROBE &&
	    spec->type != PROBE_KPROBE)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%.200s': a return has no offset; expected %s", text,
				 types[row].form);
	if (spec->offset && *spec->name && probe_is_pattern(spec->name))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%.200s': an offset is of one function, not of a pattern", text);
	if (probe_is_regex(spec->name) && (spec->type == PROBE_USDT || spec->line))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%.200s': a regular expression is of functions", text);
	if (probe_pattern_open(&pattern, spec->name))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%.200s': malformed regular expression, or has {, \\1 or many +",
				 text);
	probe_pattern_close(&pattern);
	return 0;
}
