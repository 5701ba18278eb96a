/* SPDX-License-Identifier: MIT */
#include "serve/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/xalloc.h"

#define END_LINE "{\"end\":true}\n"

struct update {
	uint64_t sequence;
	struct store_text text;
};

struct store {
	struct store_text page;
	struct update whole;		/* sequence 0: there is none */
	VEC(struct update) updates;	/* without gaps */
	int ended;
};

struct store *store_new(void)
{
	return xcalloc(1, sizeof(struct store));
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->updates.n; i++)
		free(s->updates.v[i].text.v);
	vec_free(&s->updates);
	free(s->whole.text.v);
	free(s->page.v);
	free(s);
}

/* Those that the whole one has are for who is late, and he not for ever. */
static void drop_old(struct store *s)
{
	size_t n = 0;

	while (n < s->updates.n &&
	       s->updates.v[n].sequence + STORE_LATE <= s->whole.sequence)
		free(s->updates.v[n++].text.v);
	s->updates.n -= n;
	if (n)
		memmove(s->updates.v, s->updates.v + n, s->updates.n * sizeof(*s->updates.v));
}

void store_add(struct store *s, enum store_kind kind, uint64_t sequence, struct store_text text)
{
	switch (kind) {
	case STORE_PAGE:
		free(s->page.v);
		s->page = text;
		break;
	case STORE_UPDATE:
		vec_push(&s->updates, ((struct update){ sequence, text }));
		break;
	case STORE_WHOLE:
		free(s->whole.text.v);
		s->whole = (struct update){ sequence, text };
		drop_old(s);
		break;
	case STORE_END:
		free(text.v);
		s->ended = 1;
		break;
	}
}

struct store_text store_page(const struct store *s)
{
	return s->page;
}

int store_has_ended(const struct store *s)
{
	return s->ended;
}

uint64_t store_sequence(const struct store *s)
{
	return s->updates.n ? s->updates.v[s->updates.n - 1].sequence : 0;
}

static void append(struct store_text *to, struct store_text more)
{
	if (!more.n)
		return;
	memcpy(to->v + to->n, more.v, more.n);
	to->n += more.n;
}

struct store_text store_since(const struct store *s, uint64_t since)
{
	uint64_t first = s->updates.n ? s->updates.v[0].sequence : 1;
	/* One who has nothing needs the whole one; so does who is too late, or was never ours. */
	int whole = s->whole.sequence &&
		    (!since || since + 1 < first || since > store_sequence(s));
	uint64_t from = whole ? s->whole.sequence : since > store_sequence(s) ? 0 : since;
	struct store_text end = { END_LINE, s->ended ? strlen(END_LINE) : 0 }, to = { 0 };
	size_t size = end.n + (whole ? s->whole.text.n : 0);

	for (size_t i = 0; i < s->updates.n; i++)
		if (s->updates.v[i].sequence > from)
			size += s->updates.v[i].text.n;
	to.v = xcalloc(1, size + 1);
	if (whole)
		append(&to, s->whole.text);
	for (size_t i = 0; i < s->updates.n; i++)
		if (s->updates.v[i].sequence > from)
			append(&to, s->updates.v[i].text);
	append(&to, end);
	return to;
}
