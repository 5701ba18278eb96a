/* SPDX-License-Identifier: MIT */
#include "base/label.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define NAME_MAX_READ 1024	/* bytes; longer names are only cut */

/* A name with its brackets: how many are open before each byte, and where arguments stand. */
struct brackets {
	uint16_t depth[NAME_MAX_READ + 1];
	size_t args, args_end;	/* 0: none */
	int sound;
};

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Whether what comes before @p is the word "operator". */
static int behind_operator(const char *name, const char *p)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	return (size_t)(p - name) >= n && !memcmp(p - n, word, n) &&
	       (p - n == name || !is_word(p[-(ptrdiff_t)n - 1]));
}

/* Bytes of an operator's own name that look like brackets. */
static size_t operator_bytes(const char *p)
{
	return !strncmp(p, "()", 2) || !strncmp(p, "[]", 2) ? 2 : strspn(p, "<>=-");
}

/* What may stand behind arguments: " const", "&", " [clone .cold]". */
static int may_follow_arguments(const char *p)
{
	static const char *const words[] = { " const", " volatile", "&", "*", NULL };

	while (*p) {
		size_t i = 0;

		if (!strncmp(p, " [clone ", 8))
			return strchr(p, ']') && !strchr(p, ']')[1];
		while (words[i] && strncmp(p, words[i], strlen(words[i])))
			i++;
		if (!words[i])
			return 0;
		p += strlen(words[i]);
	}
	return 1;
}

static void read_brackets(const char *name, struct brackets *b)
{
	static const char opening[] = "<([{", closing[] = ">)]}";
	char open[NAME_MAX_READ];
	size_t n = 0, i, first = 0;

	*b = (struct brackets){ .sound = 1 };
	for (i = 0; name[i]; i++) {
		const char *o = strchr(opening, name[i]), *c = strchr(closing, name[i]);
		size_t skip = behind_operator(name, name + i) ? operator_bytes(name + i) : 0;

		b->depth[i] = (uint16_t)n;
		for (; skip > 1; skip--)
			b->depth[++i] = (uint16_t)n;
		if (skip || (name[i] == '>' && i && name[i - 1] == '-'))
			continue;
		if (o) {
			if (name[i] == '(' && !n)
				first = i;
			open[n++] = *o;
		} else if (c) {
			b->sound &= n && open[n - 1] == opening[c - closing];
			n -= n > 0;
			if (name[i] == ')' && !n)
				b->args_end = i + 1;
		}
	}
	b->depth[i] = (uint16_t)n;
	b->sound &= !n;
	/* Go's receivers and what has no name are in brackets, too. */
	if (first && b->args_end > first && name[first + 1] != '*' &&
	    strncmp(name + first, "(anonymous", 10) && may_follow_arguments(name + b->args_end))
		b->args = first;
}

/* Behind the last space before @to that stands in no bracket. */
static size_t return_type_end(const char *name, const struct brackets *b, size_t to)
{
	for (size_t i = to; i-- > 1;)
		if (name[i] == ' ' && !b->depth[i] && !behind_operator(name, name + i))
			return i + 1;
	return 0;
}

/* What is tried, one after the other. */
struct fitter {
	char text[NAME_MAX_READ * 2];
	size_t columns, size;
};

static int fits(const struct fitter *f, const char *text)
{
	return strlen(text) < f->size && text_width(text) <= f->columns;
}

/*
 * @text becomes its first @n bytes with template arguments left out; it only becomes shorter but
 * for the ellipses.
 */
static void leave_templates_out(struct fitter *f, const char *from, size_t n,
				const struct brackets *b, const char *name)
{
	size_t used = 0;

	for (size_t i = (size_t)(from - name), end = i + n; i < end; i++) {
		int opens = name[i] == '<' && !b->depth[i] && b->depth[i + 1] && i &&
			    (is_word(name[i - 1]) || strchr("]}:)", name[i - 1]));

		f->text[used++] = name[i];
		if (!opens)
			continue;
		memcpy(f->text + used, ELLIPSIS, 3);
		used += 3;
		while (i + 1 < end && !(name[i + 1] == '>' && !b->depth[i + 2]))
			i++;
	}
	f->text[used] = '\0';
}

/*
 * The inner part of f->text that fits, with an ellipsis before it; NULL: even the last is too long.
 */
static const char *inner_part(struct fitter *f)
{
	struct brackets b;
	size_t length = strlen(f->text);

	if (length > NAME_MAX_READ)
		return NULL;
	read_brackets(f->text, &b);
	for (size_t i = 3; i + 2 < length; i++) {
		char kept[3];
		char *part = f->text + i - 3;

		if (strncmp(f->text + i, "::", 2) || b.depth[i])
			continue;
		memcpy(kept, part, 3);
		memcpy(part, ELLIPSIS, 3);
		if (fits(f, part))
			return part;
		memcpy(part, kept, 3);
	}
	return NULL;
}

/* A shorter form of @name that fits; NULL: none does. */
static const char *shorter(struct fitter *f, const char *name)
{
	struct brackets b;
	size_t begin = 0, end = strlen(name);

	read_brackets(name, &b);
	if (!b.sound)
		return NULL;
	if (b.args) {
		begin = return_type_end(name, &b, b.args);
		if (fits(f, name + begin))
			return name + begin;
		end = b.args;
		memcpy(f->text, name + begin, end - begin);
		strcpy(f->text + (end - begin), b.args_end - b.args > 2 ? "(" ELLIPSIS ")" : "()");
		if (fits(f, f->text))
			return f->text;
	}
	leave_templates_out(f, name + begin, end - begin, &b, name);
	return fits(f, f->text) ? f->text : inner_part(f);
}

void label_fit(char *dst, size_t size, const char *name, size_t columns)
{
	struct fitter f = { .columns = columns, .size = size };
	const char *text = name;

	if (!fits(&f, name)) {
		int is_address = *name == '[' && strstr(name, "+0x");

		text = is_address || strlen(name) > NAME_MAX_READ ? NULL : shorter(&f, name);
		if (!text) {
			text_cut(dst, size, name, columns, is_address);
			return;
		}
	}
	memcpy(dst, text, strlen(text) + 1);
}
