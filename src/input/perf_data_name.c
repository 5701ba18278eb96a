/* SPDX-License-Identifier: MIT */
/* The second step of a perf.data file: names for its addresses (perf_data.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/user.h"
#include "base/xalloc.h"
#include "input/perf_data.h"
#include "symbols/jit_file.h"
#include "symbols/no_name.h"
#include "symbols/perf_map.h"
#include "symbols/symbolizer.h"

#define NAME_MAX_SHOWN 512	/* bytes of "[image+0xoffset]" */

struct place {
	uint32_t place, location;
	uint64_t address;
};

struct namer {
	struct perf_data *d;
	struct profile *p;
	struct perf_data_images *images;
	struct symbolizer *symbolizer;
	/* by what processes have made: the perf map that names it; NULL: none, or not looked at */
	struct symbol_source **maps;
	uint8_t *looked;		/* the same: 1 it was looked for */
	uint32_t last;			/* image that was asked for; they come in order */
};

static int is_made(const struct place *p)
{
	return p->place >= PERF_DATA_MADE && p->place < PERF_DATA_MARK;
}

/* --- Places. -------------------------------------------------------------------- */
static int name_kernel(struct namer *n, uint64_t address, const char **module,
		       struct symbol_frame *frames)
{
	const struct perf_data_symbol *symbol = perf_data_symbol(&n->d->tasks, address);
	const struct perf_data_images *k = n->images;

	*module = frame_kinds[FRAME_KERNEL].module;
	/* What the kernel has there by now may be another one. */
	if (symbol) {
		if (symbol->type == PERF_RECORD_KSYMBOL_TYPE_BPF)
			*module = "bpf";
		frames[0] = (struct symbol_frame){
			.name = profile_text(n->p, slice_string(n->p, symbol->name)), .file = ""
		};
		return 1;
	}
	if (!perf_data_kernel_runs(n->images))
		return -ESTALE;
	/* After another start modules lie elsewhere. */
	if (k->slide && (address < k->start || address >= k->end))
		return -ESTALE;
	return symbolizer_kernel(n->symbolizer, address + k->slide, frames, module);
}

static int name_file(struct namer *n, const struct place *p, const struct image **image,
		     struct symbol_frame *frames)
{
	*image = perf_data_image(n->images, p->place);
	if (p->place != n->last) {
		n->last = p->place;
		if (*image && (*image)->kind == IMAGE_FILE && (*image)->fd < 0 &&
		    !n->d->missing++)
			n->d->first_missing = p->place;
	}
	return *image ? symbolizer_user(n->symbolizer, *image, p->address, frames) : -ENOENT;
}

/*
 * The perf map of process @pid, which may have ended long ago. As perf has it, it counts where it
 * is in our own /tmp, and belongs to root or to who calls us.
 */
static struct symbol_source *open_map(uint32_t pid)
{
	const struct user user = user_invoking();
	char path[JIT_PERF_MAP_PATH_MAX];
	struct jit_process self;
	int fd;

	if (jit_process_open(getpid(), &self))
		return NULL;
	if (user.switched)
		self.uid = user.uid;
	jit_perf_map_path((pid_t)pid, path);
	fd = jit_file_open(&self, path);
	jit_process_close(&self);
	return fd < 0 ? NULL : perf_map_open(fd);
}

static int name_made(struct namer *n, const struct place *p, struct symbol_frame *frames)
{
	uint32_t i = p->place - PERF_DATA_MADE;

	if (!n->looked[i]) {
		n->looked[i] = 1;
		n->maps[i] = open_map(n->d->made.v[i].pid);
	}
	return n->maps[i] ? symbolizer_jit(n->symbolizer, i, n->maps[i], p->address, frames)
			  : -ENOENT;
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
	int kernel = p->place == PERF_DATA_IN_KERNEL;
	const char *why = kernel && !perf_data_kernel_runs(n->images) ? "another kernel"
			  : p->place == PERF_DATA_NOWHERE	      ? "nothing is mapped there"
			  : is_made(p)				      ? "made at run time"
			  : no_name_reason(err, image && image->fd >= 0);
	enum frame_kind kind = kernel ? FRAME_KERNEL : FRAME_USER;
	char text[NAME_MAX_SHOWN] = "[unknown]";
	struct line line;

	if (p->place < PERF_DATA_MADE)
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

	return is_made(p) ? frame_kinds[FRAME_JIT].module
			  : profile_text(n->p,
					 v.modules[v.locations[p->location].module].name);
}

static void name_place(struct namer *n, const struct place *p)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	const struct image *image = NULL;
	const char *module = module_name(n, p);
	int found = -ENOENT;

	if (p->place == PERF_DATA_IN_KERNEL)
		found = name_kernel(n, p->address, &module, frames);
	else if (p->place < PERF_DATA_MADE)
		found = name_file(n, p, &image, frames);
	else if (is_made(p))
		found = name_made(n, p, frames);
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
	struct namer n = {
		.d = d, .p = d->room.profile, .images = &d->images, .last = PERF_DATA_NOWHERE
	};
	VEC(struct place) all = { 0 };

	perf_data_symbols_sort(&d->tasks);
	n.symbolizer = symbolizer_new(&(struct symbolizer_options){ 0 });
	n.maps = xcalloc(d->made.n + 1, sizeof(*n.maps));
	n.looked = xcalloc(d->made.n + 1, sizeof(*n.looked));
	for (uint32_t i = 0; i < d->places.n; i++)
		if (d->places.v[i] != PERF_DATA_MARK)
			vec_push(&all, (struct place){ d->places.v[i], i,
						       profile_view(n.p).locations[i].address });
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_place);
	for (size_t i = 0; i < all.n && room_take(&d->room, 0); i++)
		name_place(&n, &all.v[i]);
	vec_free(&all);
	for (size_t i = 0; i < d->made.n; i++)
		symbol_source_free(n.maps[i]);
	free(n.maps);
	free(n.looked);
	symbolizer_free(n.symbolizer);
	return room_take(&d->room, 0)
		       ? 0
		       : error_set(e, STATUS_ERROR, -E2BIG, "it has too many different names");
}
