/* SPDX-License-Identifier: MIT */
#include "lang/lang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "elf/elf_needed.h"

const struct lang_ops *const lang_rows[EBP_LANGUAGES] = {
	[EBP_LANGUAGE_PYTHON] = &lang_python,
	[EBP_LANGUAGE_RUBY] = &lang_ruby,
	[EBP_LANGUAGE_PHP] = &lang_php,
	[EBP_LANGUAGE_PERL] = &lang_perl,
	[EBP_LANGUAGE_LUA] = &lang_lua,
	[EBP_LANGUAGE_V8] = &lang_v8,
	[EBP_LANGUAGE_HOTSPOT] = &lang_hotspot,
	[EBP_LANGUAGE_LUAJIT] = &lang_luajit,
};

uint32_t lang_hinted(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	uint32_t languages = 0;

	for (size_t i = 0; i < EBP_LANGUAGES; i++)
		for (size_t k = 0; lang_rows[i] && lang_rows[i]->files[k]; k++)
			if (strstr(name, lang_rows[i]->files[k]))
				languages |= 1u << i;
	return languages;
}

static int is_musl(const char *name)
{
	return !strncmp(name, "libc.musl-", 10) || !strcmp(name, "libc.so");
}

int lang_needs_musl(const struct elf_file *f)
{
	return elf_needs(f, is_musl) > 0;
}

void lang_image_free(struct lang_image *l)
{
	vec_free(&l->code);
	vec_free(&l->lock);
}

static int by_start(const void *a, const void *b)
{
	const struct lang_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void lang_image_sort(struct lang_image *l)
{
	if (l->code.n)
		qsort(l->code.v, l->code.n, sizeof(l->code.v[0]), by_start);
	if (l->lock.n)
		qsort(l->lock.v, l->lock.n, sizeof(l->lock.v[0]), by_start);
}

/* The one that has @offset; NULL: none. */
static const struct lang_range *range_at(const struct lang_range *ranges, size_t n, uint64_t offset)
{
	size_t before = upper_bound(ranges, n, .start, offset);

	return before && offset < ranges[before - 1].end ? &ranges[before - 1] : NULL;
}

enum lang_runs lang_image_runs(const struct lang_image *l, uint64_t offset)
{
	const struct lang_range *r = range_at(l->code.v, l->code.n, offset);

	if (!r)
		return LANG_RUNS_NOT;
	return r->runs;
}

const char *lang_image_lock(const struct lang_image *l, uint64_t offset)
{
	return l->ops && range_at(l->lock.v, l->lock.n, offset) ? l->ops->lock : NULL;
}

static char *put_utf8(char *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

char *lang_utf8(const uint8_t *bytes, size_t length, unsigned width)
{
	char *text = xmalloc(4 * length + 1), *to = text;

	for (size_t i = 0; i < length; i++) {
		uint32_t c = 0;

		for (unsigned k = 0; k < width; k++)
			c |= (uint32_t)bytes[i * width + k] << 8 * k;
		if (!c)
			break;
		to = put_utf8(to, c);
	}
	*to = '\0';
	return xrealloc(text, (size_t)(to - text) + 1);
}

/* The characters of @t that are in @bytes; those that did not fit are three dots. */
static char *text_of(const struct ebp_text *t, const uint8_t *bytes, size_t size)
{
	int is_utf8 = t->width == EBP_TEXT_UTF8;
	unsigned width = t->width == 1 || t->width == 2 || t->width == 4 ? t->width : is_utf8;
	size_t room = width ? (size - 1) / width : 0, n = t->length < room ? t->length : room;
	char *text, *cut;

	text = is_utf8 ? xasprintf("%.*s", (int)n, (const char *)bytes)
		       : lang_utf8(bytes, n, width);
	if (!width || n == t->length)
		return text;
	cut = xasprintf("%s...", text);
	free(text);
	return cut;
}

/* The name behind its scope. */
static char *name_of(const struct ebp_code *record, const struct lang_ops *ops)
{
	char *name = text_of(&record->name, record->name_bytes, EBP_CODE_NAME), *scope, *joined;

	if (record->name.width && !*name && ops->anonymous) {
		free(name);
		return xstrdup(ops->anonymous);
	}
	if (!*name || !record->scope.length || !record->scope.width)
		return name;
	scope = text_of(&record->scope, record->scope_bytes, EBP_CODE_SCOPE);
	if (ops->tidy)
		ops->tidy(scope);
	joined = xasprintf("%s%s%s", scope, ops->joint, name);
	free(scope);
	free(name);
	return joined;
}

int lang_code_decode(const struct ebp_code *record, size_t size, struct lang_code *out)
{
	if (size < sizeof(*record) || size - sizeof(*record) < record->head.n ||
	    record->language >= EBP_LANGUAGES || !lang_rows[record->language])
		return -EBADMSG;
	*out = (struct lang_code){
		.ops = lang_rows[record->language],
		.id = record->id,
		.name = name_of(record, lang_rows[record->language]),
		.file = text_of(&record->file, record->file_bytes, EBP_CODE_FILE),
		.first_line = record->first_line > INT32_MAX ? 0 : record->first_line,
		.version = record->version,
		.table = xmalloc(record->head.n + 1),
		.table_bytes = record->head.n,
	};
	memcpy(out->table, record->table_data, record->head.n);
	return 0;
}

void lang_code_free(struct lang_code *c)
{
	if (c->ops && c->ops->release)
		c->ops->release(c);
	free(c->name);
	free(c->file);
	free(c->table);
	*c = (struct lang_code){ 0 };
}
