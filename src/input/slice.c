/* SPDX-License-Identifier: MIT */
#include "input/slice.h"

#include <string.h>

#include "base/text.h"

/* bytes of a text with its end; longer ones are cut, as the symbolizer does */
#define TEXT_MAX 8192

static int is_blank(char c)
{
	return c == ' ' || c == '\t';
}

int slice_line(struct slice *rest, struct slice *line)
{
	const char *end;

	if (!rest->n)
		return 0;
	end = memchr(rest->s, '\n', rest->n);
	line->s = rest->s;
	line->n = end ? (size_t)(end - rest->s) : rest->n;
	rest->s += line->n + (end != NULL);
	rest->n -= line->n + (end != NULL);
	if (line->n && line->s[line->n - 1] == '\r')
		line->n--;
	return 1;
}

struct slice slice_skip(struct slice s)
{
	while (s.n && is_blank(*s.s)) {
		s.s++;
		s.n--;
	}
	return s;
}

struct slice slice_trim(struct slice s)
{
	while (s.n && is_blank(s.s[s.n - 1]))
		s.n--;
	return s;
}

int slice_word(struct slice *rest, struct slice *word)
{
	struct slice s = slice_skip(*rest);

	*word = (struct slice){ s.s, 0 };
	while (word->n < s.n && !is_blank(s.s[word->n]))
		word->n++;
	*rest = (struct slice){ s.s + word->n, s.n - word->n };
	return word->n > 0;
}

int slice_last_word(struct slice *rest, struct slice *word)
{
	struct slice s = slice_trim(*rest);
	size_t begin = s.n;

	while (begin && !is_blank(s.s[begin - 1]))
		begin--;
	*word = (struct slice){ s.s + begin, s.n - begin };
	*rest = slice_trim((struct slice){ s.s, begin });
	return word->n > 0;
}

int slice_begins(struct slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && !memcmp(s.s, prefix, n);
}

int slice_ends(struct slice s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && !memcmp(s.s + s.n - n, suffix, n);
}

int slice_decimal(struct slice s, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < s.n; i++)
		if (s.s[i] < '0' || s.s[i] > '9' || __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(s.s[i] - '0'), value))
			return 0;
	return s.n > 0;
}

int slice_hex(struct slice s, uint64_t *value)
{
	static const char digits[] = "0123456789abcdef";

	*value = 0;
	for (size_t i = 0; i < s.n; i++) {
		const char *digit = memchr(digits, s.s[i], 16);

		if (!digit)
			return 0;
		*value = *value << 4 | (uint64_t)(digit - digits);
	}
	return s.n > 0 && s.n <= 16;
}

uint32_t slice_string(struct profile *p, struct slice s)
{
	char raw[TEXT_MAX + 1], clean[TEXT_MAX];
	size_t n = s.n < TEXT_MAX ? s.n : TEXT_MAX;

	for (size_t i = 0; i < n; i++)
		raw[i] = s.s[i] ? s.s[i] : '\xff';	/* which is no UTF-8 */
	raw[n] = '\0';
	text_clean(clean, sizeof(clean), raw);
	return profile_string(p, clean);
}

static int same_text(const void *memo, uint32_t id, const void *text)
{
	const struct slice *a = &((const struct slice_memo *)memo)->entries.v[id].text, *b = text;

	return a->n == b->n && (!a->n || !memcmp(a->s, b->s, a->n));
}

uint32_t *slice_memo_get(struct slice_memo *m, struct slice text)
{
	uint32_t next = (uint32_t)m->entries.n;
	uint32_t id = intern(&m->ids, hash_bytes(text.s, text.n), next, same_text, m, &text);

	if (id == next)
		vec_push(&m->entries, (struct slice_memo_entry){ text, PROFILE_NONE });
	return &m->entries.v[id].value;
}

void slice_memo_free(struct slice_memo *m)
{
	vec_free(&m->entries);
	interned_free(&m->ids);
}
