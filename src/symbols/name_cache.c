/* SPDX-License-Identifier: MIT */
#include "symbols/name_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "base/vec.h"

#define FORMAT		2
#define NAME_MAX_BYTES	16384	/* of a text; longer ones are cut, as the symbolizer does */
#define STRIPPED	255	/* in place of a number of frames */
#define LEB_MAX		10	/* bytes of a number */
/* of an image, as the two below: so that no file takes all our memory */
#define PLACES_MAX	(256u << 10)
#define TEXTS_MAX	(256u << 10)
#define FRAMES_MAX	(1u << 20)

static const char magic[8] = "ebpnames";

struct place {
	uint64_t offset;
	uint64_t behind;	/* bytes from its function's start to it, where it has no name */
	uint32_t first;		/* in frames */
	uint8_t n;		/* frames, 0, or STRIPPED */
	uint8_t used;		/* by this run */
};

struct name_cache {
	struct strtab *names;
	VEC(struct place) places;
	VEC(struct symbol_frame) frames;
	struct hashmap index;	/* offset -> place */
};

struct name_cache *name_cache_new(struct strtab *names)
{
	struct name_cache *c = xcalloc(1, sizeof(*c));

	c->names = names;
	return c;
}

void name_cache_free(struct name_cache *c)
{
	if (!c)
		return;
	vec_free(&c->places);
	vec_free(&c->frames);
	hashmap_free(&c->index);
	free(c);
}

static int frames_of(uint8_t n)
{
	return n == STRIPPED ? 0 : n;
}

int name_cache_find(struct name_cache *c, uint64_t offset,
		    struct symbol_frame out[SOURCE_FRAMES_MAX])
{
	uint32_t i = hashmap_get(&c->index, offset);
	struct place *p;

	if (i == HASHMAP_NONE)
		return 0;
	p = &c->places.v[i];
	p->used = 1;
	for (int k = 0; k < frames_of(p->n); k++)
		out[k] = c->frames.v[p->first + (uint32_t)k];
	return p->n == STRIPPED ? -ENODATA : p->n ? p->n : -ENOENT;
}

/* The first that is said of a place holds. */
static void add(struct name_cache *c, struct place p, const struct symbol_frame *frames)
{
	p.first = (uint32_t)c->frames.n;
	if (hashmap_put(&c->index, p.offset, (uint32_t)c->places.n) != c->places.n)
		return;
	vec_push(&c->places, p);
	for (int i = 0; i < frames_of(p.n); i++)
		vec_push(&c->frames, frames[i]);
}

void name_cache_add(struct name_cache *c, uint64_t offset, const struct symbol_frame *frames, int n,
		    uint64_t start)
{
	struct place p = { .offset = offset, .behind = n > 0 ? 0 : offset - start, .used = 1 };

	if ((n <= 0 && n != -ENOENT && n != -ENODATA) || n > SOURCE_FRAMES_MAX)
		return;
	p.n = n > 0 ? (uint8_t)n : n == -ENODATA ? STRIPPED : 0;
	add(c, p, frames);
}

int name_cache_start(const struct name_cache *c, uint64_t offset, uint64_t *start)
{
	uint32_t i = hashmap_get(&c->index, offset);

	if (i == HASHMAP_NONE || frames_of(c->places.v[i].n))
		return 0;
	*start = offset - c->places.v[i].behind;
	return 1;
}

/* --- From bytes. ---------------------------------------------------------------- */

typedef VEC(const char *) text_vec;

/* Cleaned again: whoever wrote them may not have been us. */
static int read_texts(struct name_cache *c, struct cursor *in, text_vec *texts)
{
	uint64_t n = cursor_uleb(in);
	char raw[NAME_MAX_BYTES], clean[NAME_MAX_BYTES];

	if (n > TEXTS_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !in->bad; i++) {
		const uint8_t *end = memchr(in->p, '\0', (size_t)(in->end - in->p));
		size_t length = end ? (size_t)(end - in->p) : 0;

		if (!end || length >= sizeof(raw))
			return -EBADMSG;
		memcpy(raw, in->p, length + 1);
		text_clean(clean, sizeof(clean), raw);
		vec_push(texts, strtab_get(c->names, strtab_add(c->names, clean)));
		in->p = end + 1;
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_frame(struct cursor *in, const text_vec *texts, struct symbol_frame *out)
{
	uint64_t name = cursor_uleb(in), file = cursor_uleb(in), line = cursor_uleb(in);

	if (in->bad || name >= texts->n || file >= texts->n || line > UINT32_MAX ||
	    !*texts->v[name])
		return -EBADMSG;
	*out = (struct symbol_frame){ texts->v[name], texts->v[file], (uint32_t)line };
	return 0;
}

/* A place without frames, or with a frame that has no name, is what the symbolizer never says. */
static int read_places(struct name_cache *c, struct cursor *in, const text_vec *texts)
{
	uint64_t n = cursor_uleb(in);
	struct symbol_frame frames[SOURCE_FRAMES_MAX];

	if (n > PLACES_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !in->bad; i++) {
		struct place p = { .offset = cursor_uleb(in), .n = (uint8_t)cursor_fixed(in, 1) };

		if ((p.n != STRIPPED && p.n > SOURCE_FRAMES_MAX) || c->frames.n > FRAMES_MAX)
			return -EBADMSG;
		for (int k = 0; k < frames_of(p.n); k++)
			if (read_frame(in, texts, &frames[k]))
				return -EBADMSG;
		p.behind = frames_of(p.n) ? 0 : cursor_uleb(in);
		if (p.behind > p.offset)
			return -EBADMSG;
		if (!in->bad)
			add(c, p, frames);
	}
	return in->bad || in->p != in->end ? -EBADMSG : 0;
}

int name_cache_read(struct name_cache *c, const void *bytes, size_t size, const void *key,
		    size_t key_size)
{
	struct cursor in = { .p = bytes, .end = (const uint8_t *)bytes + size };
	text_vec texts = { 0 };
	uint64_t format, sum, n;
	int err;

	if (size > NAME_CACHE_BYTES || !cursor_has(&in, sizeof(magic)) ||
	    memcmp(in.p, magic, sizeof(magic)))
		return -EBADMSG;
	cursor_skip(&in, sizeof(magic));
	format = cursor_fixed(&in, 4);
	sum = cursor_fixed(&in, 4);
	if (in.bad || format != FORMAT || sum != crc32(0, in.p, (uInt)(in.end - in.p)))
		return -EBADMSG;
	n = cursor_uleb(&in);
	if (!cursor_has(&in, n))
		return -EBADMSG;
	if (n != key_size || memcmp(in.p, key, key_size))
		return -ESTALE;
	cursor_skip(&in, n);
	err = read_texts(c, &in, &texts);
	if (!err)
		err = read_places(c, &in, &texts);
	vec_free(&texts);
	return err;
}

/* --- To bytes. -------------------------------------------------------------------- */

typedef VEC(uint8_t) byte_vec;

struct writer {
	struct hashmap numbers;		/* a text's address -> its number */
	uint32_t n_texts, n_places, n_frames;
	byte_vec texts, places;
};

static void put_bytes(byte_vec *to, const void *p, size_t n)
{
	if (!n)
		return;
	vec_reserve(to, to->n + n);
	memcpy(to->v + to->n, p, n);
	to->n += n;
}

static void put_number(byte_vec *to, uint64_t x)
{
	for (; x >= 0x80; x >>= 7)
		vec_push(to, (uint8_t)(x | 0x80));
	vec_push(to, (uint8_t)x);
}

static void put_text(struct writer *w, const char *text)
{
	uint32_t number = hashmap_put(&w->numbers, (uintptr_t)text, w->n_texts);

	if (number == w->n_texts) {
		put_bytes(&w->texts, text, strlen(text) + 1);
		w->n_texts++;
	}
	put_number(&w->places, number);
}

static void put_place(struct writer *w, const struct name_cache *c, const struct place *p)
{
	put_number(&w->places, p->offset);
	vec_push(&w->places, p->n);
	if (!frames_of(p->n))
		put_number(&w->places, p->behind);
	for (int i = 0; i < frames_of(p->n); i++) {
		const struct symbol_frame *f = &c->frames.v[p->first + (uint32_t)i];

		put_text(w, f->name);
		put_text(w, f->file);
		put_number(&w->places, f->line);
		w->n_frames++;
	}
	w->n_places++;
}

/* Whether one place more, however large, can be read again. */
static int has_room(const struct writer *w, size_t room)
{
	return w->texts.n + w->places.n + 2 * SOURCE_FRAMES_MAX * (NAME_MAX_BYTES + LEB_MAX) <
		       room &&
	       w->n_places < PLACES_MAX && w->n_texts + 2 * SOURCE_FRAMES_MAX < TEXTS_MAX &&
	       w->n_frames + SOURCE_FRAMES_MAX < FRAMES_MAX;
}

/* Those that this run @used, or the others. */
static void put_places(struct writer *w, const struct name_cache *c, int used, size_t room)
{
	for (size_t i = 0; i < c->places.n && has_room(w, room); i++)
		if (c->places.v[i].used == used)
			put_place(w, c, &c->places.v[i]);
}

void *name_cache_write(const struct name_cache *c, const void *key, size_t key_size, size_t *size)
{
	struct writer w = { .n_texts = 0 };
	byte_vec out = { 0 };
	uint32_t sum, format = FORMAT;

	put_places(&w, c, 1, NAME_CACHE_BYTES - key_size - 64);
	put_places(&w, c, 0, NAME_CACHE_BYTES - key_size - 64);
	put_bytes(&out, magic, sizeof(magic));
	put_bytes(&out, &format, 4);
	put_bytes(&out, &format, 4);	/* the sum's place */
	put_number(&out, key_size);
	put_bytes(&out, key, key_size);
	put_number(&out, w.n_texts);
	put_bytes(&out, w.texts.v, w.texts.n);
	put_number(&out, w.n_places);
	put_bytes(&out, w.places.v, w.places.n);
	sum = (uint32_t)crc32(0, out.v + sizeof(magic) + 8, (uInt)(out.n - sizeof(magic) - 8));
	memcpy(out.v + sizeof(magic) + 4, &sum, 4);
	hashmap_free(&w.numbers);
	vec_free(&w.texts);
	vec_free(&w.places);
	*size = out.n;
	return out.v;
}
