/* SPDX-License-Identifier: MIT */
/*
 * Files of ours for people and other tools - html, json, firefox, speedscope - which hold the whole
 * profile beside what they show (output/embedded.h): the text of a member "pprof" of some JSON
 * object.
 *
 * No JSON is parsed, and none needs to be: a quote within a text is written \", so "pprof" between
 * bare quotes and before a colon is a member's name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/xalloc.h"
#include "input/readers.h"
#include "input/slice.h"
#include "input/slurp.h"
#include "profile/pprof.h"

#define SIZE_LIMIT ((size_t)1 << 30)	/* bytes, unpacked */

static const char member[] = "\"" PPROF_EMBEDDED "\"";

static struct slice skip_space(struct slice s)
{
	while (s.n && memchr(" \t\r\n", *s.s, 4)) {
		s.s++;
		s.n--;
	}
	return s;
}

/* Takes @c and the space before it off @s. 0 where something else stands there. */
static int take(struct slice *s, char c)
{
	struct slice rest = skip_space(*s);

	if (!rest.n || *rest.s != c)
		return 0;
	*s = (struct slice){ rest.s + 1, rest.n - 1 };
	return 1;
}

/* The text of the first such member; 0 where there is none. */
static int find(struct slice text, struct slice *value)
{
	const size_t n = strlen(member);
	const char *at;

	while (text.n && (at = memmem(text.s, text.n, member, n))) {
		struct slice rest = { at + n, (size_t)(text.s + text.n - at) - n };
		const char *end;

		text = rest;
		if (!take(&rest, ':') || !take(&rest, '"'))
			continue;
		end = rest.n ? memchr(rest.s, '"', rest.n) : NULL;
		if (!end)
			return 0;
		*value = (struct slice){ rest.s, (size_t)(end - rest.s) };
		return 1;
	}
	return 0;
}

int embedded_looks(const char *bytes, size_t n)
{
	struct slice text = skip_space((struct slice){ bytes, n }), value;

	return text.n && (*text.s == '{' || *text.s == '<') && find(text, &value);
}

/* The pprof profile, for the caller to free; NULL with errno. */
static char *unpack(struct slice value, size_t *size)
{
	unsigned char *packed = xmalloc(value.n / 4 * 3 + 1);
	char *bytes = NULL;
	size_t n;

	if (base64_decode(packed, &n, value.s, value.n))
		errno = EBADMSG;
	else
		bytes = slurp_unpack(packed, n, SIZE_LIMIT, size);
	free(packed);
	return bytes;
}

int embedded_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		  struct error *e)
{
	struct slice value;
	char *pprof;
	size_t size;
	int err;

	if (!find((struct slice){ bytes, n }, &value))
		return error_set(e, STATUS_ERROR, -EBADMSG, "it holds no profile of ebprof's");
	pprof = unpack(value, &size);
	if (!pprof)
		return error_set(e, STATUS_ERROR, -errno, "the profile inside of it is %s",
				 errno == EFBIG ? "larger than 1 GiB" : "damaged");
	err = pprof_read(p, pprof, size, notes, e);
	free(pprof);
	return err;
}
