/* SPDX-License-Identifier: MIT */
#include "collect/trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define FORMAT_MAX (64u << 10)	/* bytes; a page and less, mostly */
#define OFFSET_MAX 65536u	/* of a field: records are shorter than that */

/* "unsigned char name[16]", @n bytes, into a type and a name. 0 or -EINVAL. */
static int split_declaration(const char *text, size_t n, struct trace_field *f)
{
	const char *end = text + n, *name, *bracket = memchr(text, '[', n);
	size_t type;

	/* "__data_loc char[] name" has its brackets before the name. */
	if (bracket && !memchr(bracket, ' ', (size_t)(end - bracket)))
		end = bracket;
	for (name = end; name > text && name[-1] != ' ' && name[-1] != '*'; name--)
		;
	if (name == end || (size_t)(end - name) >= sizeof(f->name))
		return -EINVAL;
	memcpy(f->name, name, (size_t)(end - name));
	f->name[end - name] = '\0';
	type = (size_t)(name - text);
	while (type && text[type - 1] == ' ')
		type--;
	snprintf(f->type, sizeof(f->type), "%.*s%.*s", (int)type, text,
		 (int)(text + n - end), end);
	return 0;
}

static enum trace_kind kind_of(const struct trace_field *f)
{
	int characters = strstr(f->type, "char") != NULL;

	if (!strncmp(f->type, "__data_loc ", 11))
		return characters && f->size == 4 ? TRACE_DYNAMIC_TEXT : TRACE_OTHER;
	if (!strncmp(f->type, "__rel_loc ", 10))
		return TRACE_OTHER;
	if (strchr(f->type, '['))
		return characters ? TRACE_TEXT : TRACE_OTHER;
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8 ? TRACE_NUMBER
									    : TRACE_OTHER;
}

/* "\tfield:int prev_prio;\toffset:24;\tsize:4;\tsigned:1;" */
static void take_line(const char *line, trace_field_vec *fields)
{
	const char *begin = strstr(line, "field:"), *end = begin ? strchr(begin, ';') : NULL;
	struct trace_field f = { .common = 0 };

	if (!end)
		return;
	begin += strlen("field:");
	if (sscanf(end, "; offset:%u; size:%u; signed:%d;", &f.offset, &f.size, &f.is_signed) != 3)
		return;
	if (f.offset > OFFSET_MAX || f.size > OFFSET_MAX ||
	    split_declaration(begin, (size_t)(end - begin), &f))
		return;
	f.is_signed = f.is_signed != 0;
	f.common = !strncmp(f.name, "common_", 7);
	f.kind = kind_of(&f);
	vec_push(fields, f);
}

void trace_format_parse(const char *text, trace_field_vec *fields)
{
	char line[512];
	size_t n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n >= sizeof(line))
			continue;
		memcpy(line, text, n);
		line[n] = '\0';
		take_line(line, fields);
	}
}

int trace_format_read(const char *tracefs, const char *name, trace_field_vec *fields)
{
	const char *colon = strchr(name, ':');
	char *path, *text;
	ssize_t got;

	if (!colon)
		return -EINVAL;
	path = xasprintf("%s/%.*s/%s/format", tracefs, (int)(colon - name), name, colon + 1);
	text = xcalloc(FORMAT_MAX, 1);
	got = file_read(path, text, FORMAT_MAX);
	if (got > 0)
		trace_format_parse(text, fields);
	free(text);
	free(path);
	return got < 0 ? (int)got : 0;
}

const struct trace_field *trace_format_find(const trace_field_vec *fields, const char *name)
{
	for (size_t i = 0; i < fields->n; i++)
		if (!strcmp(fields->v[i].name, name))
			return &fields->v[i];
	return NULL;
}
