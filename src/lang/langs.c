/* SPDX-License-Identifier: MIT */
#include "lang/langs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "bpf/unwind.h"
#include "lang/lang_pages.h"

#define TEXT_CHUNK 32	/* bytes of a text that ends with a zero */
#define WALKED_MAX 8192	/* codes that are kept of threads that slept */
/* Their ids count down from the last one; the kernel's count up from each CPU's first. */
#define WALKED_ID(i) ((1ull << EBP_CODE_BITS) - 1 - (i))
#define KEPT 4		/* codes of one slot: those before the last may be in stacks under way */

/* What was found in an image. */
enum found { NOT_LOOKED, NO_LANGUAGE, LAYOUT };

struct looked {
	uint8_t found;
	uint32_t number;	/* of a layout, with its flag */
};

struct slot {
	uint32_t code[KEPT];	/* places in codes, plus 1; 0: none */
	uint32_t next;
};

struct kept {
	struct lang_code code;	/* without ops: nothing is kept here */
	pid_t pid;		/* whose it is */
	int gone;		/* that process was gone when we last looked */
};

/* Code of a thread that slept. */
struct walked {
	struct ebp_process process;
	uint64_t identity;
};

struct langs {
	const struct images *images;
	langs_publish *publish;
	void *ctx;
	langs_read *read;	/* NULL: none */
	void *memory;		/* its context */
	struct lang_reader readers[EBP_LANGUAGES];
	VEC(struct looked) looked;		/* by image */
	VEC(struct lang_image) layouts;		/* by number less 1; ops NULL: unused */
	VEC(struct kept) codes;
	struct hashmap ids;			/* id -> place in codes */
	struct slot slots[EBP_CODES];
	VEC(struct walked) walked;
	struct hashmap walked_ids;		/* hash of one -> index */
	struct lang_pages *pages;		/* NULL: not needed yet */
	char why[256];
};

struct langs *langs_new(const struct images *images, langs_publish *publish, void *ctx)
{
	struct langs *l = xcalloc(1, sizeof(*l));

	l->images = images;
	l->publish = publish;
	l->ctx = ctx;
	for (int i = 0; i < EBP_LANGUAGES; i++)
		if (lang_rows[i] && lang_rows[i]->open)
			l->readers[i].state = lang_rows[i]->open();
	return l;
}

void langs_memory(struct langs *l, langs_read *read, void *ctx)
{
	l->read = read;
	l->memory = ctx;
	for (int i = 0; i < EBP_LANGUAGES; i++) {
		l->readers[i].read = read;
		l->readers[i].ctx = ctx;
	}
}

void langs_free(struct langs *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->layouts.n; i++)
		lang_image_free(&l->layouts.v[i]);
	for (size_t i = 0; i < l->codes.n; i++)
		lang_code_free(&l->codes.v[i].code);
	for (int i = 0; i < EBP_LANGUAGES; i++)
		if (lang_rows[i] && lang_rows[i]->close)
			lang_rows[i]->close(l->readers[i].state);
	vec_free(&l->looked);
	vec_free(&l->layouts);
	vec_free(&l->codes);
	hashmap_free(&l->ids);
	vec_free(&l->walked);
	hashmap_free(&l->walked_ids);
	free(l->pages);
	free(l);
}

static void recognise(struct langs *l, const struct image *image, struct lang_image *out)
{
	struct elf_file *f = image->fd >= 0 ? elf_file_open(image->fd) : NULL;
	const char *language = "";

	if (!f)
		return;
	for (int i = 0; i < EBP_LANGUAGES && !out->ops && !*out->why && elf_file_is64(f); i++) {
		if (!lang_rows[i])
			continue;
		lang_rows[i]->recognise(f, image->name, out);
		language = lang_rows[i]->name;
	}
	elf_file_free(f);
	if (!out->ops && *out->why && !*l->why)
		snprintf(l->why, sizeof(l->why), "functions of %s are not shown: %.120s: %s",
			 language, image->name, out->why);
}

/* The place for one more layout, which is unused. */
static uint32_t free_layout(struct langs *l)
{
	uint32_t i = 0;

	while (i < l->layouts.n && l->layouts.v[i].ops)
		i++;
	if (i == l->layouts.n)
		vec_push(&l->layouts, (struct lang_image){ .ops = NULL });
	return i;
}

static void look_at(struct langs *l, uint32_t id)
{
	struct looked *looked = &l->looked.v[id];
	const struct image *image = images_at(l->images, id);
	struct lang_image found = { 0 };
	uint32_t place = free_layout(l), number = place + 1;

	/* Another mapping may open it. */
	if (image->kind == IMAGE_FILE && image->fd < 0)
		return;
	looked->found = NO_LANGUAGE;
	if (image->kind == IMAGE_FILE)
		recognise(l, image, &found);
	found.layout.language = found.ops ? found.ops->language : EBP_LANGUAGE_NONE;
	if (found.layout.language >= EBP_LANGUAGE_MACHINE)
		number |= EBP_LAYOUT_MACHINE;
	if (!found.ops || place >= EBP_LAYOUTS_MAX ||
	    l->publish(l->ctx, number, &found.layout)) {
		lang_image_free(&found);
		return;
	}
	l->layouts.v[place] = found;
	looked->found = LAYOUT;
	looked->number = number;
}

uint32_t langs_layout(struct langs *l, uint32_t image)
{
	if (image >= images_count(l->images))
		return 0;
	while (l->looked.n <= image)
		vec_push(&l->looked, (struct looked){ .found = NOT_LOOKED });
	if (l->looked.v[image].found == NOT_LOOKED)
		look_at(l, image);
	return l->looked.v[image].found == LAYOUT ? l->looked.v[image].number : 0;
}

void langs_jump(const struct langs *l, uint32_t number, uint64_t bias, struct ebp_jump *out)
{
	ebp_layout_jump(&l->layouts.v[number - 1].layout, bias, out);
}

void langs_retire(struct langs *l, const unsigned char *which)
{
	for (uint32_t i = 0; i < l->looked.n; i++) {
		struct looked *looked = &l->looked.v[i];
		struct lang_image *layout;

		if (!which[i])
			continue;
		if (looked->found == LAYOUT) {
			layout = &l->layouts.v[(looked->number & ~EBP_LAYOUT_MACHINE) - 1];
			lang_image_free(layout);
			*layout = (struct lang_image){ .ops = NULL };
		}
		*looked = (struct looked){ .found = NOT_LOOKED };
	}
}

int langs_has_machine(const struct langs *l)
{
	for (size_t i = 0; i < l->layouts.n; i++)
		if (l->layouts.v[i].ops &&
		    l->layouts.v[i].ops->language >= EBP_LANGUAGE_MACHINE)
			return 1;
	return 0;
}

/* NULL: no interpreter that is known. */
static const struct lang_image *image_of(struct langs *l, uint32_t image)
{
	uint32_t number = langs_layout(l, image);

	return number ? &l->layouts.v[(number & ~EBP_LAYOUT_MACHINE) - 1] : NULL;
}

enum lang_runs langs_runs(struct langs *l, uint32_t image, uint64_t offset)
{
	const struct lang_image *i = image_of(l, image);

	enum lang_runs runs = i ? lang_image_runs(i, offset) : LANG_RUNS_NOT;

	return i && runs == LANG_RUNS_NOT ? LANG_RUNS_BESIDE : runs;
}

const char *langs_lock(struct langs *l, uint32_t image, uint64_t offset)
{
	const struct lang_image *i = image_of(l, image);

	return i ? lang_image_lock(i, offset) : NULL;
}

const char *langs_why(const struct langs *l)
{
	return *l->why ? l->why : NULL;
}

/* The place stays its slot's. */
static void drop(struct langs *l, uint32_t place)
{
	struct kept *k = &l->codes.v[place];

	if (k->code.ops)
		hashmap_del(&l->ids, k->code.id);
	lang_code_free(&k->code);
}

/* The place for a code of @slot: of one that was there long ago, or a new one. */
static uint32_t make_place(struct langs *l, uint32_t slot)
{
	struct slot *s = &l->slots[slot];
	uint32_t *place = &s->code[s->next++ % KEPT];

	if (*place) {
		drop(l, *place - 1);
	} else {
		vec_push(&l->codes, (struct kept){ .pid = 0 });
		*place = (uint32_t)l->codes.n;
	}
	return *place - 1;
}

/* A text whose page was not there, nor need it be so now. */
static void fetch_text(const struct langs *l, pid_t pid, struct ebp_text *t, uint8_t *bytes,
		       size_t size)
{
	uint16_t length = TEXT_CHUNK;

	if (t->width || !t->object ||
	    (t->length_at != EBP_TEXT_ENDS &&
	     l->read(l->memory, pid, t->object + t->length_at, &length, sizeof(length))))
		return;
	if (!l->read(l->memory, pid, t->object + t->text_at, bytes,
		     length < size ? length : size - 1)) {
		t->length = t->length_at == EBP_TEXT_ENDS
				    ? (uint32_t)strnlen((const char *)bytes, TEXT_CHUNK)
				    : length;
		t->width = EBP_TEXT_UTF8;
	}
}

static int is_away(const struct ebp_text *t)
{
	return !t->width && t->object;
}

/* The record with its texts, in a malloc'd block; NULL: it has them. */
static struct ebp_code *fetched(const struct langs *l, const struct ebp_code *record, size_t size)
{
	pid_t pid = (pid_t)record->process.tgid;
	struct ebp_code *r;

	if (!l->read || size < sizeof(*record) ||
	    !(is_away(&record->name) || is_away(&record->scope) || is_away(&record->file)))
		return NULL;
	r = xmalloc(size);
	memcpy(r, record, size);
	fetch_text(l, pid, &r->name, r->name_bytes, sizeof(r->name_bytes));
	fetch_text(l, pid, &r->scope, r->scope_bytes, sizeof(r->scope_bytes));
	fetch_text(l, pid, &r->file, r->file_bytes, sizeof(r->file_bytes));
	return r;
}

/* 0, or negative where the record is not whole. */
static int decode(const struct langs *l, const struct ebp_code *record, size_t size,
		  struct lang_code *out)
{
	struct ebp_code *whole = fetched(l, record, size);
	int err = lang_code_decode(whole ? whole : record, size, out);

	free(whole);
	if (!err && out->ops->complete)
		out->ops->complete(out, record, &l->readers[out->ops->language]);
	return err;
}

void langs_code(struct langs *l, const struct ebp_code *record, size_t size)
{
	struct lang_code code;
	uint32_t place;

	if (decode(l, record, size, &code))
		return;
	place = make_place(l, record->slot % EBP_CODES);
	l->codes.v[place] = (struct kept){ code, (pid_t)record->process.tgid, 0 };
	hashmap_set(&l->ids, code.id, place);
}

const struct lang_code *langs_find(const struct langs *l, uint64_t id)
{
	uint32_t place = hashmap_get(&l->ids, id);

	return place == HASHMAP_NONE ? NULL : &l->codes.v[place].code;
}

static int is_there(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return !access(path, F_OK);
}

void langs_rest(struct langs *l)
{
	struct hashmap there = { 0 };	/* pid -> 1 where it is */

	for (uint32_t i = 0; i < l->codes.n; i++) {
		struct kept *k = &l->codes.v[i];
		uint32_t is;

		if (!k->code.ops)
			continue;
		is = hashmap_get(&there, (uint64_t)k->pid);
		if (is == HASHMAP_NONE) {
			is = (uint32_t)is_there(k->pid);
			hashmap_set(&there, (uint64_t)k->pid, is);
		}
		if (!is && k->gone)
			drop(l, i);
		else
			k->gone = !is;
	}
	hashmap_free(&there);
}

/* --- Threads that sleep. --------------------------------------------------------- */

struct walking {
	struct langs *l;
	struct ebp_process process;
};

/* The index of @w; HASHMAP_NONE: it is new, and *@hash is free for it. */
static uint32_t find_walked(const struct langs *l, const struct walked *w, uint64_t *hash)
{
	uint32_t i;

	*hash = hash_bytes(w, sizeof(*w));
	for (; (i = hashmap_get(&l->walked_ids, *hash)) != HASHMAP_NONE; ++*hash)
		if (!memcmp(&l->walked.v[i], w, sizeof(*w)))
			break;
	return i;
}

static uint64_t walked_id(void *ctx, uint64_t identity)
{
	const struct walking *g = ctx;
	const struct walked w = { g->process, identity };
	uint64_t hash;
	uint32_t i = find_walked(g->l, &w, &hash);

	return i == HASHMAP_NONE ? 0 : WALKED_ID(i);
}

static uint64_t take_walked(void *ctx, uint64_t identity, struct ebp_code *record)
{
	const struct walking *g = ctx;
	const struct walked w = { g->process, identity };
	struct langs *l = g->l;
	struct lang_code code;
	uint64_t hash;

	record->process = g->process;
	record->id = WALKED_ID(l->walked.n);
	if (l->walked.n >= WALKED_MAX || find_walked(l, &w, &hash) != HASHMAP_NONE ||
	    decode(l, record, sizeof(*record) + record->head.n, &code))
		return EBP_CODE_UNNAMED;
	hashmap_set(&l->ids, code.id, (uint32_t)l->codes.n);
	vec_push(&l->codes, (struct kept){ code, (pid_t)g->process.tgid, 0 });
	hashmap_set(&l->walked_ids, hash, (uint32_t)l->walked.n);
	vec_push(&l->walked, w);
	return code.id;
}

size_t langs_walk(struct langs *l, uint32_t number, const struct langs_thread *t, uint64_t *words)
{
	const struct lang_image *image =
		number && number <= l->layouts.n && l->layouts.v[number - 1].ops
			? &l->layouts.v[number - 1]
			: NULL;
	struct walking g = { l, t->process };
	struct lang_reader reader;

	if (!image || !image->ops->walk || !l->read)
		return 0;
	if (!l->pages)
		l->pages = xcalloc(1, sizeof(*l->pages));
	lang_pages_begin(l->pages, &l->readers[image->ops->language]);
	reader = (struct lang_reader){ .read = lang_pages_read, .ctx = l->pages };
	return image->ops->walk(&(const struct lang_walk){ .layout = &image->layout,
							   .bias = t->bias,
							   .thread_pointer = t->thread_pointer,
							   .pid = (pid_t)t->process.tgid,
							   .await = t->await,
							   .reader = &reader,
							   .find = walked_id,
							   .take = take_walked,
							   .ctx = &g },
				words);
}
