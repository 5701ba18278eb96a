/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static int bad(struct error *e, const char *option, const char *text, const char *expected)
{
	return error_set(e, STATUS_USAGE, -EINVAL, "%s '%s': %s", option, text, expected);
}

/* None of these is ever called: they mark rows. */
int cli_heading(const char *option, const char *text, void *field, struct error *e)
{
	(void)field;
	return bad(e, option, text, "this is a heading");
}

int cli_parts(const char *option, const char *text, void *field, struct error *e)
{
	(void)field;
	return bad(e, option, text, "these are tables");
}

int cli_answer(const char *option, const char *text, void *field, struct error *e)
{
	(void)field;
	return bad(e, option, text, "this is a question");
}

int cli_flag(const char *option, const char *text, void *field, struct error *e)
{
	(void)option;
	(void)text;
	(void)e;
	*(int *)field = 1;
	return 0;
}

int cli_ignore(const char *option, const char *text, void *field, struct error *e)
{
	(void)option;
	(void)text;
	(void)field;
	(void)e;
	return 0;
}

int cli_string(const char *option, const char *text, void *field, struct error *e)
{
	if (!*text)
		return bad(e, option, text, "must not be empty");
	*(const char **)field = text;
	return 0;
}

int cli_strings(const char *option, const char *text, void *field, struct error *e)
{
	string_vec *list = field;

	if (!*text)
		return bad(e, option, text, "must not be empty");
	vec_push(list, text);
	return 0;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, CLI_BLANKS);
}

int cli_pids(const char *option, const char *text, void *field, struct error *e)
{
	const char *s = skip_blanks(text);
	int_vec *list = field;
	int comma;

	if (!*s)
		return bad(e, option, text,
			   "there is no number in it; perhaps no such process runs");
	do {
		char *end;
		long pid;

		errno = 0;
		pid = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : 0;
		if (pid < 1 || pid > INT32_MAX || errno || (*end && !strchr("," CLI_BLANKS, *end)))
			return bad(e, option, text, "expected numbers like 1234 or 1234,1240");
		vec_push(list, (int)pid);
		s = skip_blanks(end);
		comma = *s == ',';
		s = skip_blanks(s + comma);
	} while (*s || comma);
	return 0;
}

int cli_cpus(const char *option, const char *text, void *field, struct error *e)
{
	int_vec *list = field;
	int *cpus = NULL;
	size_t n = 0;

	if (list_parse(text, &cpus, &n) || !n) {
		free(cpus);
		return bad(e, option, text, "expected CPU numbers like 0-3,7");
	}
	vec_free(list);
	list->v = cpus;
	list->n = list->cap = n;
	return 0;
}

/* @text: @least ns or more, a number with a unit of @units behind it, or none: then @plain. */
static int parse_time(const char *text, double plain, double least, uint64_t *ns)
{
	static const struct { const char *name; double ns; } units[] = {
		{ "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
	};
	double x, scale = plain;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	x = strtod(text, &end);
	for (size_t i = 0; *end && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name)) {
			scale = units[i].ns;
			end += strlen(end);
		}
	if (*end || !isfinite(x) || x * scale < least || x * scale > 1e18)
		return -EINVAL;
	*ns = (uint64_t)(x * scale);
	return 0;
}

int cli_duration(const char *option, const char *text, void *field, struct error *e)
{
	return parse_time(text, 1e9, 1, field) ?
		bad(e, option, text, "expected a time above 0 like 10, 500ms or 2m") : 0;
}

int cli_moment(const char *option, const char *text, void *field, struct error *e)
{
	return parse_time(text, 1e9, 0, field) ?
		bad(e, option, text, "expected a time since the beginning like 0, 500ms or 2m") : 0;
}

int cli_millis(const char *option, const char *text, void *field, struct error *e)
{
	return parse_time(text, 1e6, 1, field) ?
		bad(e, option, text, "expected a time above 0 in milliseconds, or like 2s") : 0;
}

int cli_percent(const char *option, const char *text, void *field, struct error *e)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || strcmp(end + (*end == '%'), "") || !(x > 0 && x <= 100))
		return bad(e, option, text, "expected a percentage above 0, like 1%");
	*(double *)field = x;
	return 0;
}

int cli_rate(const char *option, const char *text, void *field, struct error *e)
{
	static const struct { const char *unit; uint64_t factor; } units[] = {
		{ "", 1 }, { "Hz", 1 }, { "kHz", 1000 }, { "k", 1000 },
	};
	size_t digits = strspn(text, "0123456789");
	char number[16] = "";
	uint64_t x;

	if (!strcasecmp(text, "max")) {
		*(uint64_t *)field = CLI_RATE_MAX;
		return 0;
	}
	memcpy(number, text, digits < sizeof(number) ? digits : 0);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcasecmp(text + digits, units[i].unit) && !text_u64(number, 10, &x) && x) {
			*(uint64_t *)field = x * units[i].factor;
			return 0;
		}
	return bad(e, option, text, "expected samples a second like 99, 99Hz or 1kHz, or max");
}

int cli_count(const char *option, const char *text, void *field, struct error *e)
{
	uint64_t x;

	if (text_u64(text, 10, &x) || !x)
		return bad(e, option, text, "expected a whole number above 0");
	*(uint64_t *)field = x;
	return 0;
}

int cli_kib(const char *option, const char *text, void *field, struct error *e)
{
	uint64_t x;

	if (text_u64(text, 10, &x) || x < 4 || x > 1 << 20 || (x & (x - 1)))
		return bad(e, option, text, "expected a power of two from 4 to 1048576 (KiB)");
	*(uint64_t *)field = x << 10;
	return 0;
}

int cli_memory(const char *option, const char *text, void *field, struct error *e)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t unit = !strcmp(text + digits, "G")		       ? 1024
			: !text[digits] || !strcmp(text + digits, "M") ? 1
								       : 0,
		 x;
	char number[8] = "";

	memcpy(number, text, digits < sizeof(number) ? digits : 0);
	if (!unit || text_u64(number, 10, &x) || !x || x * unit > 4096)
		return bad(e, option, text, "expected 1M to 4G");
	*(uint64_t *)field = x * unit << 20;
	return 0;
}

int cli_share(const char *option, const char *text, void *field, struct error *e)
{
	char *end;
	double x = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1;

	if (!(x >= 0 && x <= 100) || strcmp(end + (*end == '%'), ""))
		return bad(e, option, text, "expected a number of percent, 0 to 100");
	*(double *)field = x;
	return 0;
}

