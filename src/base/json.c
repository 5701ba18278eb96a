/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void quote(struct json *j, const char *text)
{
	const char *from = text;

	outfile_write(j->f, "\"", 1);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && !strchr("\"\\<>&", c))
			continue;
		outfile_write(j->f, from, (size_t)(text - from));
		outfile_printf(j->f, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
		from = text + 1;
	}
	outfile_write(j->f, from, (size_t)(text - from));
	outfile_write(j->f, "\"", 1);
}

/* What stands before a value. */
static void lead(struct json *j, const char *key)
{
	if (j->depth && j->more[j->depth - 1])
		outfile_write(j->f, ",", 1);
	if (j->depth)
		j->more[j->depth - 1] = 1;
	if (key) {
		quote(j, key);
		outfile_write(j->f, ":", 1);
	}
}

static void open_level(struct json *j, const char *key, const char *open, char close)
{
	lead(j, key);
	outfile_write(j->f, open, 1);
	j->close[j->depth] = close;
	j->more[j->depth++] = 0;
}

void json_object(struct json *j, const char *key)
{
	open_level(j, key, "{", '}');
}

void json_array(struct json *j, const char *key)
{
	open_level(j, key, "[", ']');
}

void json_end(struct json *j)
{
	outfile_write(j->f, &j->close[--j->depth], 1);
}

void json_string(struct json *j, const char *key, const char *text)
{
	lead(j, key);
	quote(j, text);
}

static void number(struct json *j, const char *key, const char *text, int n)
{
	lead(j, key);
	outfile_write(j->f, text, (size_t)n);
}

void json_uint(struct json *j, const char *key, uint64_t n)
{
	char text[32];

	number(j, key, text, snprintf(text, sizeof(text), "%" PRIu64, n));
}

void json_int(struct json *j, const char *key, int64_t n)
{
	char text[32];

	number(j, key, text, snprintf(text, sizeof(text), "%" PRId64, n));
}

void json_double(struct json *j, const char *key, double n)
{
	char text[32];

	if (isfinite(n))
		number(j, key, text, snprintf(text, sizeof(text), "%.9g", n));
	else
		json_null(j, key);
}

void json_bool(struct json *j, const char *key, int b)
{
	number(j, key, b ? "true" : "false", b ? 4 : 5);
}

void json_null(struct json *j, const char *key)
{
	number(j, key, "null", 4);
}

void json_decimal(struct json *j, const char *key, uint64_t n, unsigned int digits)
{
	char text[48];
	uint64_t unit = 1;

	for (unsigned int i = 0; i < digits; i++)
		unit *= 10;
	number(j, key, text,
	       digits ? snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, n / unit,
				 (int)digits, n % unit)
		      : snprintf(text, sizeof(text), "%" PRIu64, n));
}

struct outfile *json_bytes(struct json *j, const char *key)
{
	lead(j, key);
	outfile_write(j->f, "\"", 1);
	return outfile_within(j->f);
}

void json_bytes_end(struct json *j, struct outfile *bytes)
{
	outfile_commit(bytes, NULL);
	outfile_write(j->f, "\"", 1);
}

void json_newline(struct json *j)
{
	outfile_write(j->f, "\n", 1);
}
