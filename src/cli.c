/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "base/file.h"

#define LETTERS_MAX 256
#define LONG_BASE 1000		/* getopt_long's value of row i is LONG_BASE + i */

static int bad(struct error *e, const char *option, const char *text, const char *expected)
{
	return error_set(e, STATUS_USAGE, -EINVAL, "%s '%s': %s", option, text, expected);
}

/* A plain decimal number, the whole of @text. */
static int parse_u64(const char *text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
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

int cli_pids(const char *option, const char *text, void *field, struct error *e)
{
	int_vec *list = field;
	const char *s = text;

	do {
		char *end;
		long pid;

		errno = 0;
		pid = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : 0;
		if (pid < 1 || pid > INT32_MAX || errno || (*end && *end != ','))
			return bad(e, option, text, "expected numbers like 1234 or 1234,1240");
		vec_push(list, (int)pid);
		s = *end ? end + 1 : NULL;
	} while (s);
	return 0;
}

int cli_cpus(const char *option, const char *text, void *field, struct error *e)
{
	int_vec *list = field;
	int *cpus;
	size_t n;

	if (list_parse(text, &cpus, &n) || !n)
		return bad(e, option, text, "expected CPU numbers like 0-3,7");
	vec_free(list);
	list->v = cpus;
	list->n = list->cap = n;
	return 0;
}

/* @text is a number, with a unit of @units behind it or none: then @plain ns each. */
static int parse_time(const char *text, double plain, uint64_t *ns)
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
	if (*end || !isfinite(x) || x * scale < 1 || x * scale > 1e18)
		return -EINVAL;
	*ns = (uint64_t)(x * scale);
	return 0;
}

int cli_duration(const char *option, const char *text, void *field, struct error *e)
{
	return parse_time(text, 1e9, field) ?
		bad(e, option, text, "expected a time above 0 like 10, 500ms or 2m") : 0;
}

int cli_millis(const char *option, const char *text, void *field, struct error *e)
{
	return parse_time(text, 1e6, field) ?
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

int cli_count(const char *option, const char *text, void *field, struct error *e)
{
	uint64_t x;

	if (parse_u64(text, &x) || !x)
		return bad(e, option, text, "expected a whole number above 0");
	*(uint64_t *)field = x;
	return 0;
}

int cli_kib(const char *option, const char *text, void *field, struct error *e)
{
	uint64_t x;

	if (parse_u64(text, &x) || x < 4 || x > 1 << 20 || (x & (x - 1)))
		return bad(e, option, text, "expected a power of two from 4 to 1048576 (KiB)");
	*(uint64_t *)field = x << 10;
	return 0;
}

int cli_memory(const char *option, const char *text, void *field, struct error *e)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t unit = !strcmp(text + digits, "G") ? 1024 : !text[digits] || !strcmp(text + digits, "M") ? 1 : 0, x;
	char number[8] = "";

	memcpy(number, text, digits < sizeof(number) ? digits : 0);
	if (!unit || parse_u64(number, &x) || !x || x * unit > 4096)
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

/* "-x" or "--name", as the user is told of row @r. */
static void name_of(const struct cli_option *r, char *buf, size_t size)
{
	if (r->name)
		snprintf(buf, size, "--%s", r->name);
	else if (!r->letter)
		snprintf(buf, size, "%s", r->arg);
	else
		snprintf(buf, size, "-%c", r->letter);
}

/* The row that takes operands; NULL: none does. */
static const struct cli_option *operand_row(const struct cli_option *rows)
{
	while (rows->store && (rows->letter || rows->name))
		rows++;
	return rows->store ? rows : NULL;
}

static const struct cli_option *row_of(const struct cli_option *rows, int value)
{
	if (value >= LONG_BASE)
		return &rows[value - LONG_BASE];
	for (; rows->store; rows++)
		if (value && (rows->letter == value || rows->alias == value))
			return rows;
	return NULL;
}

/* getopt_long's two tables, from ours. */
static void getopt_tables(const struct cli_option *rows, char letters[LETTERS_MAX], struct option *longs)
{
	size_t n = 0;

	*letters++ = operand_row(rows) ? '-' : '+';	/* give operands as options of value 1; stop at the first one */
	*letters++ = ':';	/* tell a missing argument from an unknown option */
	for (int i = 0; rows[i].store; i++) {
		const char own[] = { rows[i].letter, rows[i].alias };

		for (int k = 0; k < 2; k++) {
			if (!own[k])
				continue;
			*letters++ = own[k];
			if (rows[i].arg)
				*letters++ = ':';
		}
		if (rows[i].name)
			longs[n++] = (struct option){
				rows[i].name, rows[i].arg ? required_argument : no_argument, NULL, LONG_BASE + i };
	}
	*letters = '\0';
	longs[n] = (struct option){ 0 };
}

int cli_parse(const struct cli_option *rows, void *options, int argc, char **argv, int *rest, struct error *e)
{
	const struct cli_option *operands = operand_row(rows);
	char letters[LETTERS_MAX], name[64];
	struct option longs[LETTERS_MAX];
	int c, err = 0;

	getopt_tables(rows, letters, longs);
	opterr = 0;
	optind = 0;	/* glibc: scan anew */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct cli_option *r = c == 1 ? operands : row_of(rows, c == ':' || c == '?' ? 0 : c);

		if (c == ':')
			return error_set(e, STATUS_USAGE, -EINVAL, "option '%s' needs an argument; see ebprof --help",
					 argv[optind - 1]);
		if (!r && optopt && optopt < LONG_BASE)
			return error_set(e, STATUS_USAGE, -EINVAL, "unknown option '-%c'; see ebprof --help", optopt);
		if (!r)
			return error_set(e, STATUS_USAGE, -EINVAL, "unknown option '%s'; see ebprof --help", argv[optind - 1]);
		name_of(r, name, sizeof(name));
		err = r->store(name, optarg, (char *)options + r->offset, e);
		if (err)
			return err;
	}
	for (; operands && optind < argc && !err; optind++)
		err = operands->store(operands->arg, argv[optind], (char *)options + operands->offset, e);
	*rest = optind;
	if (err)
		return err;
	if (optind < argc && strcmp(argv[optind - 1], "--"))
		return error_set(e, STATUS_USAGE, -EINVAL, "unexpected argument '%s'; "
				 "a command to run goes behind --: ebprof -- %s", argv[optind], argv[optind]);
	return 0;
}

void cli_help(const struct cli_option *rows, FILE *to)
{
	for (; rows->store; rows++) {
		char left[64];

		if (!rows->help)
			continue;
		snprintf(left, sizeof(left), "  %c%c%s %s%s%s%s", rows->letter ? '-' : ' ', rows->letter ? rows->letter : ' ',
			 rows->letter && rows->name ? "," : " ", rows->name ? "--" : "", rows->name ? rows->name : "",
			 rows->arg ? " " : "", rows->arg ? rows->arg : "");
		fprintf(to, "%-27s %s\n", left, rows->help);
	}
}
