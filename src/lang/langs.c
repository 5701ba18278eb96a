/* SPDX-License-Identifier: MIT */
#include "lang/langs.h"

#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "bpf/unwind.h"

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

struct langs {
	const struct images *images;
	langs_publish *publish;
	void *ctx;
	VEC(struct looked) looked;		/* by image */
	VEC(struct lang_image) layouts;		/* by number less 1 */
	VEC(struct lang_code) codes;
	struct hashmap ids;			/* id -> place in codes */
	struct slot slots[EBP_CODES];
	char why[256];
};

struct langs *langs_new(const struct images *images, langs_publish *publish, void *ctx)
{
	struct langs *l = xcalloc(1, sizeof(*l));

	l->images = images;
	l->publish = publish;
	l->ctx = ctx;
	return l;
}

void langs_free(struct langs *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->layouts.n; i++)
		lang_image_free(&l->layouts.v[i]);
	for (size_t i = 0; i < l->codes.n; i++)
		lang_code_free(&l->codes.v[i]);
	vec_free(&l->looked);
	vec_free(&l->layouts);
	vec_free(&l->codes);
	hashmap_free(&l->ids);
	free(l);
}

static void recognise(struct langs *l, const struct image *image, struct lang_image *out)
{
	struct elf_file *f = image->fd >= 0 ? elf_file_open(image->fd) : NULL;

	if (!f)
		return;
	for (int i = 0; i < EBP_LANGUAGES && !out->ops && !*out->why && elf_file_is64(f); i++)
		if (lang_rows[i])
			lang_rows[i]->recognise(f, image->name, out);
	elf_file_free(f);
	if (!out->ops && *out->why && !*l->why)
		snprintf(l->why, sizeof(l->why), "%.120s: %s", image->name, out->why);
}

static void look_at(struct langs *l, uint32_t id)
{
	struct looked *looked = &l->looked.v[id];
	const struct image *image = images_at(l->images, id);
	struct lang_image found = { 0 };
	uint32_t number = (uint32_t)l->layouts.n + 1;

	/* Another mapping may open it. */
	if (image->kind == IMAGE_FILE && image->fd < 0)
		return;
	looked->found = NO_LANGUAGE;
	if (image->kind == IMAGE_FILE)
		recognise(l, image, &found);
	found.layout.language = found.ops ? found.ops->language : EBP_LANGUAGE_NONE;
	if (found.layout.language >= EBP_LANGUAGE_MACHINE)
		number |= EBP_LAYOUT_MACHINE;
	if (!found.ops || l->layouts.n >= EBP_LAYOUTS_MAX ||
	    l->publish(l->ctx, number, &found.layout)) {
		lang_image_free(&found);
		return;
	}
	vec_push(&l->layouts, found);
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

int langs_runs(struct langs *l, uint32_t image, uint64_t offset)
{
	uint32_t number = langs_layout(l, image);

	return number && lang_image_runs(&l->layouts.v[(number & ~EBP_LAYOUT_MACHINE) - 1], offset);
}

const char *langs_why(const struct langs *l)
{
	return *l->why ? l->why : NULL;
}

/* The place for a code of @slot: of one that was there long ago, or a new one. */
static uint32_t make_place(struct langs *l, uint32_t slot)
{
	struct slot *s = &l->slots[slot];
	uint32_t *place = &s->code[s->next++ % KEPT];

	if (*place) {
		hashmap_del(&l->ids, l->codes.v[*place - 1].id);
		lang_code_free(&l->codes.v[*place - 1]);
	} else {
		vec_push(&l->codes, (struct lang_code){ 0 });
		*place = (uint32_t)l->codes.n;
	}
	return *place - 1;
}

void langs_code(struct langs *l, const struct ebp_code *record, size_t size)
{
	struct lang_code code;
	uint32_t place;

	if (lang_code_decode(record, size, &code))
		return;
	place = make_place(l, record->slot % EBP_CODES);
	l->codes.v[place] = code;
	hashmap_set(&l->ids, code.id, place);
}

const struct lang_code *langs_find(const struct langs *l, uint64_t id)
{
	uint32_t place = hashmap_get(&l->ids, id);

	return place == HASHMAP_NONE ? NULL : &l->codes.v[place];
}
