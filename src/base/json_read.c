/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <errno.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define PLAIN "+-.0123456789abcdefghijklmnopqrstuvwxyzE"	/* of numbers, true, false, null */
#define UNKNOWN '?'

struct reader {
	char *at;
	const char *end;
	struct json_path path;
	json_see *see;
	void *ctx;
};

static int value(struct reader *r);

static char next(struct reader *r)
{
	r->at += strspn(r->at, BLANKS);
	return *r->at;
}

/* 1 where @c came next, and is behind us. */
static int take(struct reader *r, char c)
{
	if (next(r) != c)
		return 0;
	r->at++;
	return 1;
}

static char unescape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = *r->at++;
	const char *known = c ? strchr(from, c) : NULL;

	if (c == 'u' && strspn(r->at, "0123456789abcdefABCDEF") >= 4)
		r->at += 4;
	return known ? to[known - from] : UNKNOWN;
}

/* Decoded in its place; NULL where it has no end. */
static char *string(struct reader *r)
{
	char *start, *to;

	if (!take(r, '"'))
		return NULL;
	start = to = r->at;
	while (r->at < r->end && *r->at != '"') {
		char c = *r->at++;

		if (c == '\\')
			c = r->at < r->end ? unescape(r) : UNKNOWN;
		*to++ = (unsigned char)c < 0x80 && c ? c : UNKNOWN;
	}
	if (r->at >= r->end)
		return NULL;
	r->at++;
	*to = '\0';
	return start;
}

/* What stands between @open, which is behind us, and @close. */
static int members(struct reader *r, char close)
{
	int err = 0;

	if (r->path.n == JSON_READ_DEPTH)
		return -EINVAL;
	r->path.n++;
	if (!take(r, close))
		do {
			const char *key = close == '}' ? string(r) : "";

			if (!key || (close == '}' && !take(r, ':')))
				return -EINVAL;
			r->path.keys[r->path.n - 1] = key;
			err = value(r);
		} while (!err && take(r, ','));
	else
		close = '\0';
	if (!err && close && !take(r, close))
		return -EINVAL;
	r->path.n--;
	return err;
}

static int value(struct reader *r)
{
	char c = next(r);
	const char *text;
	size_t n;
	int err;

	if (c == '{' || c == '[') {
		r->at++;
		err = members(r, c == '{' ? '}' : ']');
		if (!err && c == '{')
			r->see(r->ctx, &r->path, NULL);
		return err;
	}
	if (c == '"') {
		text = string(r);
		if (text)
			r->see(r->ctx, &r->path, text);
		return text ? 0 : -EINVAL;
	}
	n = strspn(r->at, PLAIN);
	r->at += n;
	return n ? 0 : -EINVAL;
}

int json_read_strings(char *text, size_t n, json_see *see, void *ctx)
{
	struct reader r = { .at = text, .end = text + n, .see = see, .ctx = ctx };
	int err = value(&r);

	return err ? err : next(&r) ? -EINVAL : 0;
}

int json_path_is(const struct json_path *path, const char *const *keys, unsigned int n)
{
	if (path->n < n)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(path->keys[path->n - n + i], keys[i]))
			return 0;
	return 1;
}
