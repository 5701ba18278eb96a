/* SPDX-License-Identifier: MIT */
#include "symbols/short_templates.h"

#include <ctype.h>
#include <string.h>

#include "symbols/name_out.h"

#define DEPTH 128	/* brackets in brackets; names with more stay as they are */

struct shortener {
	const char *name, *p;
	const char *after_operator;	/* behind the last one */
	struct name_out out;
	char open[DEPTH];		/* brackets */
	size_t n;
	/* the bracket within which nothing is shown, counted from 1; 0: none */
	size_t hidden;
	int shortened;
	/* of the function's own name in what was written, behind its return type */
	size_t begin;
	int settled;			/* that is known */
};

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t length_of(const char *p, const char *const *tokens)
{
	for (; *tokens; tokens++)
		if (!strncmp(p, *tokens, strlen(*tokens)))
			return strlen(*tokens);
	return 0;
}

/* Bytes at s->p in which < and > are no brackets: an operator's name, or an arrow. */
static size_t plain_bytes(const struct shortener *s)
{
	/* Longer ones first. */
	static const char *const tokens[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=",
					      "->",  "<",   ">",   "()",  "[]", "++", "--", "&&",
					      "||",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=",
					      "|=",  "==",  "!=",  "+",	  "-",	"*",  "/",  "%",
					      "^",   "&",   "|",   "=",	  "!",	"~",  ",",  NULL };
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	if (!strncmp(s->p, word, n) && !is_word(s->p[n]) && (s->p == s->name || !is_word(s->p[-1])))
		return n + length_of(s->p + n, tokens);
	return !strncmp(s->p, "->", 2) ? 2 : 0;
}

/*
 * Whether the < at s->p begins arguments. A bracket with no name before it is a path's, as Rust has
 * them.
 */
static int is_arguments(const struct shortener *s)
{
	char before = s->p > s->name ? s->p[-1] : '\0';

	if (s->after_operator &&
	    (s->p == s->after_operator || (before == ' ' && s->p - 1 == s->after_operator)))
		return 1;
	return before && (is_word(before) || strchr(":]}", before)) && s->p[1] != '>';
}

static void put(struct shortener *s, const char *p, size_t n)
{
	if (!s->hidden)
		name_out_bytes(&s->out, p, n);
}

static int ends_with(const struct shortener *s, const char *text)
{
	size_t n = strlen(text);

	return s->out.len >= n && !memcmp(s->out.dst + s->out.len - n, text, n);
}

/*
 * The names of template functions begin with what these return: what stands before the last blank
 * outside of all brackets, up to the arguments. Not so what begins like "vtable for", and names
 * that are in brackets themselves ("void (*f(int))(int)").
 */
static void find_begin(struct shortener *s)
{
	static const char nameless[] = "(anonymous namespace)";

	if (s->settled || s->n)
		return;
	if (*s->p == ' ') {
		s->settled = ends_with(s, " for") || ends_with(s, " to");
		s->begin = s->settled ? 0 : s->out.len + 1;
	} else if (*s->p == '(' && !ends_with(s, "decltype") && !ends_with(s, "decltype ") &&
		   strncmp(s->p, nameless, sizeof(nameless) - 1) != 0) {
		s->settled = 1;
		s->begin = s->out.len > s->begin ? s->begin : 0;
	}
}

static int open_bracket(struct shortener *s)
{
	if (s->n == DEPTH)
		return 0;
	put(s, s->p, 1);
	s->open[s->n++] = *s->p;
	if (*s->p == '<' && !s->hidden && is_arguments(s)) {
		put(s, "...", 3);
		s->hidden = s->n;
		s->shortened = 1;
	}
	return 1;
}

/* Another bracket than > also closes each < in it: that was a comparison. */
static int close_bracket(struct shortener *s)
{
	char opening = *s->p == '>' ? '<' : *s->p == ')' ? '(' : *s->p == ']' ? '[' : '{';

	while (*s->p != '>' && s->n && s->open[s->n - 1] == '<')
		if (s->hidden == s->n--)
			return 0;
	if (s->n && s->open[s->n - 1] == opening) {
		if (s->hidden == s->n)
			s->hidden = 0;
		s->n--;
	} else if (*s->p != '>') {
		return 0;
	}
	put(s, s->p, 1);
	return 1;
}

int short_templates(const char *name, char *dst, size_t size)
{
	struct shortener s = { .name = name, .p = name, .out = { .dst = dst, .size = size } };
	int ok = strchr(name, '<') != NULL;

	while (ok && *s.p) {
		size_t n = plain_bytes(&s);

		if (n) {
			put(&s, s.p, n);
			s.p += n;
			s.after_operator = n > 2 ? s.p : s.after_operator;
			/* The blanks of "operator new" are its own. */
			s.settled |= n > 2 && !s.n;
			continue;
		}
		find_begin(&s);
		if (strchr("<([{", *s.p))
			ok = open_bracket(&s);
		else if (strchr(">)]}", *s.p))
			ok = close_bracket(&s);
		else
			put(&s, s.p, 1);
		s.p++;
	}
	if (!ok || s.hidden || !name_out_end(&s.out))
		return 0;
	s.begin = s.settled ? s.begin : 0;
	memmove(dst, dst + s.begin, s.out.len - s.begin + 1);
	return s.shortened || s.begin;
}
