/* SPDX-License-Identifier: MIT */
#include "profile/summary.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define TEXT_MAX 1024	/* bytes of a row's text */

void summary_line(struct summary *s, enum summary_place place)
{
	s->place = place;
	s->begins = 1;
}

static void add(struct summary *s, const char *key, double value, const char *format, va_list args)
{
	char text[TEXT_MAX];

	vsnprintf(text, sizeof(text), format, args);
	vec_push(&s->rows, (struct summary_row){ .place = s->place,
						 .begins = s->begins,
						 .key = key,
						 .value = value,
						 .text = xstrdup(text) });
	s->begins = 0;
}

void summary_row(struct summary *s, const char *key, double value, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(s, key, value, format, args);
	va_end(args);
}

void summary_text(struct summary *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(s, NULL, 0, format, args);
	va_end(args);
}

void summary_replace(struct summary *s, const char *key, double value, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (size_t i = 0; i < s->rows.n; i++) {
		struct summary_row *r = &s->rows.v[i];

		if (!r->key || strcmp(r->key, key))
			continue;
		free(r->text);
		r->text = xstrdup(text);
		r->value = value;
	}
}

void summary_print(const struct summary *s, const char *prefix, FILE *to)
{
	const char *end = "";

	for (int place = 0; place < SUMMARY_PLACES; place++)
		for (size_t i = 0; i < s->rows.n; i++) {
			const struct summary_row *r = &s->rows.v[i];

			if ((int)r->place != place)
				continue;
			if (r->begins)
				fprintf(to, "%s%s", end, prefix);
			fputs(r->text, to);
			end = "\n";
		}
	fputs(end, to);
}

void summary_free(struct summary *s)
{
	for (size_t i = 0; i < s->rows.n; i++)
		free(s->rows.v[i].text);
	vec_free(&s->rows);
}
