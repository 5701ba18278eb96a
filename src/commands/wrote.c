/* SPDX-License-Identifier: MIT */
#include "commands/wrote.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define PATH_SHOWN 4096		/* bytes of a path as a shell reads it, clean */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+=:,-"
#define PLACE "FILE"		/* in an advice stands for the path */

/* @path as it can be typed: in quotes where a shell needs them. */
static void quote(const char *path, char out[PATH_SHOWN])
{
	char raw[PATH_SHOWN];
	size_t n = 0;

	if (*path && !path[strspn(path, PLAIN)]) {
		snprintf(out, PATH_SHOWN, "%s", path);
		return;
	}
	raw[n++] = '\'';
	for (; *path && n < sizeof(raw) - 6; path++) {
		if (*path == '\'')
			n += (size_t)sprintf(raw + n, "'\\''");
		else
			raw[n++] = *path;
	}
	raw[n++] = '\'';
	raw[n] = '\0';
	text_clean(out, PATH_SHOWN, raw);
}

static void show_advice(const char *advice, const char *path)
{
	const char *place;

	for (; (place = strstr(advice, PLACE)); advice = place + strlen(PLACE))
		fprintf(stderr, "%.*s%s", (int)(place - advice), advice, path);
	fputs(advice, stderr);
}

void wrote_tell(const char *path, const struct output_format *format)
{
	char shown[PATH_SHOWN];

	quote(path, shown);
	fprintf(stderr, "ebprof: wrote %s", shown);
	if (format && format->open) {
		fputs("; ", stderr);
		if (!format->opens_packed && output_is_packed(path))
			fputs("unpacked by gunzip, ", stderr);
		show_advice(format->open, shown);
	}
	fputc('\n', stderr);
}
