/* SPDX-License-Identifier: MIT */
/*
 * The part of the assembler that knows where frames are: which module of the profile an image is,
 * and which one the code that a process made at run time.
 */
#include <stdio.h>

#include "session/assembler.h"
#include "session/assembler_state.h"

/* The profile's modules get their images in the order they are made. */
static uint32_t add_module(struct assembler *a, const char *name, const char *path,
			   const char *build_id, uint32_t image)
{
	uint32_t module = profile_module(a->profile, name, path, build_id);

	while (a->module_images.n <= module)
		vec_push(&a->module_images, IMAGE_NONE);
	a->module_images.v[module] = image;
	return module;
}

void assembler_places_init(struct assembler *a)
{
	a->kernel_module = add_module(a, frame_kinds[FRAME_KERNEL].module, "[kernel.kallsyms]", "",
				      IMAGE_NONE);
}

void assembler_places_free(struct assembler *a)
{
	vec_free(&a->made);
	vec_free(&a->module_made);
	hashmap_free(&a->made_ids);
	vec_free(&a->image_modules);
	vec_free(&a->module_images);
}

static uint32_t module_of_image(struct assembler *a, uint32_t id)
{
	const struct image *image = images_at(a->images, id);
	char build_id[2 * ELF_BUILD_ID_MAX + 1] = "";

	while (a->image_modules.n <= id)
		vec_push(&a->image_modules, PROFILE_NONE);
	if (a->image_modules.v[id] == PROFILE_NONE) {
		for (int i = 0; i < image->build_id_size; i++)
			sprintf(build_id + 2 * i, "%02x", image->build_id[i]);
		a->image_modules.v[id] = add_module(a, image->name, image->path, build_id, id);
	}
	return a->image_modules.v[id];
}

/* The module of what @incarnation made at run time. */
static uint32_t module_of_made(struct assembler *a, uint32_t incarnation)
{
	uint32_t id = hashmap_put(&a->made_ids, incarnation, (uint32_t)a->made.n);
	char name[64];

	if (id == a->made.n) {
		/* By this name, too, no two are one: addresses of two programs must not mix. */
		snprintf(name, sizeof(name), "//anon of %d.%u",
			 procs_info(a->procs, incarnation).pid, incarnation);
		vec_push(&a->made,
			 (struct made){ .incarnation = incarnation,
					.module = add_module(a, PROFILE_MADE, name, "", IMAGE_NONE),
					.runtime = namer_runtime(a->namer) });
		while (a->module_made.n <= a->made.v[id].module)
			vec_push(&a->module_made, PROFILE_NONE);
		a->module_made.v[a->made.v[id].module] = id;
	}
	assembler_find_names(a, &a->made.v[id]);
	return a->made.v[id].module;
}

/* What the kernel side tells may be wrong: not every number that frames carry need be one. */
static int is_image(const struct assembler *a, uint32_t id)
{
	return id < images_count(a->images) && images_at(a->images, id)->state != IMAGE_UNUSED;
}

uint32_t assembler_location(struct assembler *a, uint32_t incarnation,
			    const struct frame_word *frame, uint64_t time)
{
	struct proc_place place = { .image = IMAGE_NONE, .offset = frame->address };
	uint32_t module;

	if (frame->where == FRAME_IN_CODE)
		return assembler_lang_location(a, frame);
	if (frame->where == FRAME_IN_FILE)
		place.image = frame->image;
	else if (frame->where == FRAME_IN_PROCESS)
		place = procs_locate(a->procs, incarnation, frame->address, time);
	if (place.image == IMAGE_NONE)
		module = module_of_made(a, incarnation);
	else if (is_image(a, place.image))
		module = module_of_image(a, place.image);
	else
		return assembler_no_place(a, frame->kind, place.image);
	return profile_location(a->profile, module, frame->kind, place.offset);
}

void assembler_needs(const struct assembler *a, unsigned char *images, uint32_t n)
{
	struct profile_view v = profile_view(a->profile);

	for (size_t i = 0; i < v.nlocations; i++) {
		const struct location *l = &v.locations[i];
		uint32_t image = l->nlines || l->kind == FRAME_KERNEL ||
						 l->module >= a->module_images.n
					 ? IMAGE_NONE
					 : a->module_images.v[l->module];

		if (image < n)
			images[image] = 0;
	}
}

void assembler_knows_images(const struct assembler *a, unsigned char *images, uint32_t n)
{
	for (size_t i = 0; i < a->image_modules.n && i < n; i++)
		if (a->image_modules.v[i] != PROFILE_NONE)
			images[i] = 0;
}
