/* SPDX-License-Identifier: MIT */
/* The second step of a perf.data file: names for its addresses (perf_data.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/xalloc.h"
#include "elf/image.h"
#include "input/perf_data.h"
#include "symbols/no_name.h"
#include "symbols/symbolizer.h"

#define KALLSYMS "/proc/kallsyms"
#define NAME_MAX_SHOWN 512	/* bytes of "[image+0xoffset]" */

struct place {
	uint32_t place, location;
	uint64_t address;
};

struct namer {
	struct perf_data *d;
	struct profile *p;
	struct images *images;
	struct symbolizer *symbolizer;
	/* by image of the tasks: one of @images, plus 1; 0: not asked for */
	uint32_t *opened;
	/* The kernel that was sampled, and what is to be added to its addresses; NULL: another. */
	const struct perf_data_kernel *kernel;
	uint64_t slide;
};

/* --- The kernel. ---------------------------------------------------------------- */

/* Where the running kernel has @symbol; 0: it does not say. */
static uint64_t address_now(struct slice symbol)
{
	FILE *f = fopen(KALLSYMS, "re");
	uint64_t address = 0, at;
	char line[1024], name[512];

	while (f && !address && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %*c %511s", &at, name) == 2 &&
		    strlen(name) == symbol.n && !memcmp(name, symbol.s, symbol.n))
			address = at;
	if (f)
		fclose(f);
	return address;
}

/* 1 where the running kernel is the one that @k is of. */
static int is_running(const struct namer *n, const struct perf_data_kernel *k, uint64_t slide)
{
	static const char path[] = "[kernel.kallsyms]";
	const struct perf_data_id *known =
		perf_data_build_id(&n->d->tasks, (struct slice){ path, sizeof(path) - 1 });
	const uint8_t *id = k->build_id_size ? k->build_id : known ? known->bytes : NULL;
	size_t size = k->build_id_size ? k->build_id_size : known ? known->size : 0;
	struct slice release = n->d->file.release;
	uint8_t ours[ELF_BUILD_ID_MAX];
	struct utsname system;
	int now;

	/* What came through a pipe has no build ids: then it has to lie in the same place. */
	if (!id)
		return !slide && !uname(&system) && release.n == strlen(system.release) &&
		       !memcmp(release.s, system.release, release.n);
	now = kernel_build_id(&(struct kernel_places){ 0 }, ours);
	return now > 0 && (size_t)now == size && !memcmp(ours, id, size);
}

static void find_kernel(struct namer *n)
{
	const struct perf_data_tasks *t = &n->d->tasks;

	for (size_t i = 0; i < t->kernel.n; i++) {
		const struct perf_data_kernel *k = &t->kernel.v[i];
		uint64_t now = k->symbol.n ? address_now(k->symbol) : 0;

		if (!now)
			continue;
		if (is_running(n, k, now - k->reference)) {
			n->kernel = k;
			n->slide = now - k->reference;
		}
		return;
	}
}

static int name_kernel(struct namer *n, uint64_t address, const char **module,
		       struct symbol_frame *frames)
{
	const struct perf_data_kernel *k = n->kernel;

	*module = frame_kinds[FRAME_KERNEL].module;
	if (!k)
		return -ESTALE;
	/* After another start modules lie elsewhere. */
	if (n->slide && (address < k->start || address >= k->end))
		return -ESTALE;
	return symbolizer_kernel(n->symbolizer, address + n->slide, frames, module);
}

/* --- Files. --------------------------------------------------------------------- */
static const struct image *open_image(struct namer *n, uint32_t i)
{
	const struct perf_data_image *image = &n->d->tasks.images.v[i];
	uint32_t id;

	if (!n->opened[i]) {
		char *path = xasprintf("%.*s", (int)image->path.n, image->path.s);

		/* No process: it may be another one's number by now. */
		id = images_get(n->images, 0,
				&(struct image_key){ .path = path,
						     .dev_major = image->dev_major,
						     .dev_minor = image->dev_minor,
						     .inode = image->inode,
						     .build_id = image->build_id,
						     .build_id_size = image->build_id_size,
						     .end = UINT64_MAX });
		n->opened[i] = id == IMAGE_NONE ? IMAGE_NONE : id + 1;
		free(path);
	}
	return n->opened[i] == IMAGE_NONE ? NULL : images_at(n->images, n->opened[i] - 1);
}

/* The kernel's code in processes is known where the kernel is. */
static int name_file(struct namer *n, const struct place *p, const struct image **image,
		     struct symbol_frame *frames)
{
	*image = open_image(n, p->place);
	if (!*image)
		return -ENOENT;
	if ((*image)->kind != IMAGE_FILE && !n->kernel)
		return -ESTALE;
	return symbolizer_user(n->symbolizer, *image, p->address, frames);
}

/* --- Lines. --------------------------------------------------------------------- */
static struct line line_of(struct namer *n, const char *name, const char *module,
			   enum frame_kind kind)
{
	return (struct line){ .function = profile_function(n->p, profile_string(n->p, name),
							   profile_string(n->p, module), kind) };
}

/* What is known of a place, or why nothing is: @err. */
static void set_nameless(struct namer *n, const struct place *p, const struct image *image,
			 const char *module, int err)
{
	const char *why = p->place == PERF_DATA_IN_KERNEL && !n->kernel
				  ? "another kernel"
			  : p->place == PERF_DATA_NOWHERE ? "nothing is mapped there"
			  : p->place == PERF_DATA_MADE	  ? "made at run time"
			  : no_name_reason(err, image && image->fd >= 0);
	enum frame_kind kind = p->place == PERF_DATA_IN_KERNEL ? FRAME_KERNEL : FRAME_USER;
	char text[NAME_MAX_SHOWN] = "[unknown]";
	struct line line;

	if (p->place < PERF_DATA_IMAGES_END)
		snprintf(text, sizeof(text), "[%.400s+0x%" PRIx64 "]", module,
			 image && image->fd >= 0
				 ? symbolizer_start(n->symbolizer, image, p->address)
				 : p->address);
	line = line_of(n, text, module, kind);
	profile_name_location(n->p, p->location, &line, 1, why);
}

static void set_frames(struct namer *n, const struct place *p, const struct symbol_frame *frames,
		       int found, const char *module)
{
	enum frame_kind kind = p->place == PERF_DATA_IN_KERNEL ? FRAME_KERNEL : FRAME_USER;
	struct line lines[SOURCE_FRAMES_MAX];

	for (int i = 0; i < found; i++) {
		lines[i] = line_of(n, frames[i].name, module, kind);
		lines[i].file = profile_string(n->p, frames[i].file);
		lines[i].line = frames[i].line;
		room_take(&n->d->room, 1 + (strlen(frames[i].name) + strlen(frames[i].file)) /
						   ROOM_TEXT / 8);
	}
	profile_name_location(n->p, p->location, lines, (size_t)found, "");
}

static const char *module_name(const struct namer *n, const struct place *p)
{
	struct profile_view v = profile_view(n->p);

	return p->place == PERF_DATA_MADE ? frame_kinds[FRAME_JIT].module
					  : profile_text(n->p, v.modules[v.locations[p->location]
										 .module]
								       .name);
}

static void name_place(struct namer *n, const struct place *p)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	const struct image *image = NULL;
	const char *module = module_name(n, p);
	int found = -ENOENT;

	if (p->place == PERF_DATA_IN_KERNEL)
		found = name_kernel(n, p->address, &module, frames);
	else if (p->place < PERF_DATA_IMAGES_END)
		found = name_file(n, p, &image, frames);
	if (found > 0)
		set_frames(n, p, frames, found, module);
	else
		set_nameless(n, p, image, module, found);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

int perf_data_name(struct perf_data *d, struct error *e)
{
	struct namer n = { .d = d, .p = d->room.profile, .images = images_new() };
	VEC(struct place) all = { 0 };

	n.symbolizer = symbolizer_new(&(struct symbolizer_options){ 0 });
	n.opened = xcalloc(d->tasks.images.n + 1, sizeof(*n.opened));
	for (uint32_t i = 0; i < d->places.n; i++)
		vec_push(&all, (struct place){ d->places.v[i], i,
					       profile_view(n.p).locations[i].address });
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_place);
	if (all.n && all.v[all.n - 1].place == PERF_DATA_IN_KERNEL)
		find_kernel(&n);
	for (size_t i = 0; i < all.n && room_take(&d->room, 0); i++)
		name_place(&n, &all.v[i]);
	vec_free(&all);
	free(n.opened);
	symbolizer_free(n.symbolizer);
	images_free(n.images);
	return room_take(&d->room, 0)
		       ? 0
		       : error_set(e, STATUS_ERROR, -E2BIG, "it has too many different names");
}
