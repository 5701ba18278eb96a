/* SPDX-License-Identifier: MIT */
/* The part of the assembler that gives names to locations. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "session/assembler.h"
#include "session/assembler_state.h"
#include "symbols/jit.h"

/* ns until names of code made at run time are looked for again */
#define NAMES_AGAIN 500000000ull
#define MADE_PAUSE 50		/* times what naming such code took, while somebody looks */
#define NAME_MAX_SHOWN 512	/* bytes of "[image+0xoffset]" */

struct dump {
	const struct images *images;
	const char *path;
};

/* A process maps its jitdump, so that profilers find it. */
static void take_dump(void *ctx, const struct mapping *m)
{
	struct dump *d = ctx;
	const struct image *image = m->image == IMAGE_NONE ? NULL : images_at(d->images, m->image);
	size_t n = image ? strlen(image->name) : 0;

	if (n > 9 && !strncmp(image->name, "jit-", 4) && !strcmp(image->name + n - 5, ".dump"))
		d->path = image->path;
}

static const char *dump_of(struct assembler *a, uint32_t incarnation, uint64_t now)
{
	struct dump d = { .images = a->images };

	procs_each_mapping(a->procs, incarnation, now, take_dump, &d);
	return d.path;
}

/*
 * While the process is there. Programs begin to tell when they begin to make code, or when asked
 * to.
 */
void assembler_find_names(struct assembler *a, struct made *m)
{
	uint64_t now = clock_ns();

	if (m->names || (m->tried && now - m->tried < NAMES_AGAIN))
		return;
	m->tried = now;
	m->names = jit_open(procs_info(a->procs, m->incarnation).pid,
			    dump_of(a, m->incarnation, now));
}

/* A line of one function, and of no source. */
static struct line plain_line(struct assembler *a, const char *name, const char *module,
			      enum frame_kind kind)
{
	return (struct line){ .function = profile_function(
				      a->profile, profile_string(a->profile, name),
				      profile_string(a->profile, module), kind) };
}

/*
 * Why a frame has no name, in words. @err: of the symbolizer; @has_file: the image could be opened.
 */
static const char *reason(int err, int has_file)
{
	static const struct {
		int err;
		const char *of_file, *of_symbol;
	} reasons[] = {
		{ -ENODATA, "stripped", "stripped" },
		{ -ENOENT, "no such file", "no symbol there" },
		{ -ESTALE, "file replaced", "file replaced" },
		{ -ENOEXEC, "not an ELF file", "not an ELF file" },
		{ -EBADMSG, "damaged file", "damaged file" },
		{ -EACCES, "no permission", "no permission" },
		{ -EMFILE, "too many open files", "too many open files" },
		{ -EPERM, "no permission", "hidden" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].err == err)
			return has_file ? reasons[i].of_symbol : reasons[i].of_file;
	return "unreadable file";
}

/* What stands for a name: where it is and, if asked for, why there is none. */
static struct line no_name(struct assembler *a, const char *where, const char *why,
			   const char *module, enum frame_kind kind)
{
	char text[NAME_MAX_SHOWN];

	snprintf(text, sizeof(text), a->why ? "[%s: %s]" : "[%s]", where, why);
	return plain_line(a, text, module, kind);
}

/* @frames as lines of @module. */
static int take_frames(struct assembler *a, const struct symbol_frame *frames, int n,
		       const char *module, enum frame_kind kind, struct line *lines)
{
	uint32_t id = profile_string(a->profile, module);

	for (int i = 0; i < n; i++)
		lines[i] = (struct line){
			.function = profile_function(
				a->profile, profile_string(a->profile, frames[i].name), id, kind),
			.file = profile_string(a->profile, frames[i].file),
			.line = frames[i].line,
		};
	return n;
}

/* Code that was made at run time. */
static int name_made(struct assembler *a, struct symbolizer *symbolizer, const struct location *l,
		     struct line *lines, const char **why)
{
	struct made *m = l->module < a->module_made.n && a->module_made.v[l->module] != PROFILE_NONE
				 ? &a->made.v[a->module_made.v[l->module]]
				 : NULL;
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	int n = m && m->names
			? symbolizer_jit(symbolizer, m->incarnation, m->names, l->address, frames)
			: -ENODATA;

	if (n > 0)
		return take_frames(a, frames, n, "[jit]", FRAME_USER, lines);
	*why = n == -ENOENT ? "not in the perf map" : "made at run time";
	lines[0] = no_name(a, "unknown", *why, "", FRAME_USER);
	return 1;
}

/* What stands for the name of the function that begins at @start of @file. */
static struct line no_symbol(struct assembler *a, uint64_t start, const struct image *file, int err,
			     const char **why)
{
	char where[NAME_MAX_SHOWN];

	if (!file) {
		*why = reason(err, 1);
		return no_name(a, "unknown", *why, "[kernel]", FRAME_KERNEL);
	}
	snprintf(where, sizeof(where), "%.400s+0x%llx", file->name, (unsigned long long)start);
	*why = reason(err, file->fd >= 0 || file->kind != IMAGE_FILE);
	return no_name(a, where, *why, file->name, FRAME_USER);
}

static void take_answer(void *ctx, const struct namer_answer *answer)
{
	struct assembler *a = ctx;
	const struct location l = profile_view(a->profile).locations[answer->id];
	const struct image *file = l.kind == FRAME_KERNEL
					   ? NULL
					   : images_at(a->images, a->module_images.v[l.module]);
	struct line lines[SOURCE_FRAMES_MAX];
	const char *why = "";
	int n = 1;

	/* What is loaded there may be something else by the end. */
	if (!a->live && !file && !answer->reread && answer->n != -EPERM &&
	    strcmp(answer->module, "[kernel]") != 0) {
		vec_push(&a->later, answer->id);
		return;
	}
	if (answer->n > 0)
		n = take_frames(a, answer->frames, answer->n, file ? file->name : answer->module,
				l.kind, lines);
	else
		lines[0] = no_symbol(a, answer->start, file, answer->n, &why);
	profile_name_location(a->profile, answer->id, lines, (size_t)n, why);
}

/* Where @l is, NULL for the kernel and for code that was made at run time. */
static const struct image *image_of(const struct assembler *a, const struct location *l)
{
	uint32_t image = l->kind == FRAME_KERNEL ? IMAGE_NONE : a->module_images.v[l->module];

	return image == IMAGE_NONE ? NULL : images_at(a->images, image);
}

void assembler_ask(struct assembler *a, struct namer *namer)
{
	struct profile_view v = profile_view(a->profile);

	for (; a->asked < v.nlocations; a->asked++) {
		const struct location *l = &v.locations[a->asked];
		const struct image *image = image_of(a, l);

		if (l->kind == FRAME_MARK)
			continue;
		/* Another mapping of a file that could not be opened may open it. */
		if (image ? image->fd >= 0 || image->kind != IMAGE_FILE : l->kind == FRAME_KERNEL)
			namer_ask(namer, (uint32_t)a->asked, image, l->address);
		else
			vec_push(&a->later, (uint32_t)a->asked);
	}
	namer_go(namer);
	namer_take(namer, take_answer, a);
}

/* Asks again for what is loaded into the kernel. */
static void ask_kernel_again(struct assembler *a, struct namer *namer)
{
	const struct location *locations = profile_view(a->profile).locations;
	size_t n = a->later.n, kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t id = a->later.v[i];

		if (locations[id].kind == FRAME_KERNEL)
			namer_ask(namer, id, NULL, locations[id].address);
		else
			a->later.v[kept++] = id;
	}
	a->later.n = kept;
	if (n > kept && !a->reread) {
		namer_reread_kernel(namer);
		a->reread = 1;
	}
}

void assembler_ask_last(struct assembler *a, struct namer *namer)
{
	/* Nothing was asked for so far, so what is read first is as it should be. */
	if (!a->asked) {
		namer_reread_kernel(namer);
		a->reread = 1;
	}
	namer_take(namer, take_answer, a);
	ask_kernel_again(a, namer);
	namer_urge(namer);
	assembler_ask(a, namer);
}

void assembler_name_made(struct assembler *a, struct symbolizer *symbolizer)
{
	const struct location *locations = profile_view(a->profile).locations;
	uint64_t now = clock_ns();
	struct line lines[SOURCE_FRAMES_MAX];
	size_t kept = 0;

	if (!a->made.n || now < a->made_again)
		return;
	for (size_t i = 0; i < a->made.n; i++)
		if (a->made.v[i].names)
			jit_refresh(a->made.v[i].names, dump_of(a, a->made.v[i].incarnation, now));
	for (size_t i = 0; i < a->later.n; i++) {
		const struct location *l = &locations[a->later.v[i]];
		const char *why = "";
		int n = l->kind == FRAME_KERNEL || image_of(a, l)
				? 0
				: name_made(a, symbolizer, l, lines, &why);

		if (n > 0 && !*why)
			profile_name_location(a->profile, a->later.v[i], lines, (size_t)n, why);
		else
			a->later.v[kept++] = a->later.v[i];
	}
	a->later.n = kept;
	/* Much of it: seldom, for this thread has to sample, too. */
	a->made_named = now;
	a->made_again = now + NAMES_AGAIN + MADE_PAUSE * (clock_ns() - now);
}

void assembler_name(struct assembler *a, struct namer *namer, struct symbolizer *symbolizer)
{
	const struct location *locations = profile_view(a->profile).locations;
	struct line lines[SOURCE_FRAMES_MAX];
	size_t kept = 0;

	assembler_ask(a, namer);
	for (size_t i = 0; i < a->made.n; i++)
		if (a->made.v[i].names)
			jit_refresh(a->made.v[i].names,
				    dump_of(a, a->made.v[i].incarnation, clock_ns()));
	for (size_t i = 0; i < a->later.n; i++) {
		const struct location *l = &locations[a->later.v[i]];
		const struct image *image = image_of(a, l);
		const char *why = "";

		if (l->kind == FRAME_KERNEL) {
			a->later.v[kept++] = a->later.v[i];
		} else if (image) {
			namer_ask(namer, a->later.v[i], image, l->address);
		} else {
			int n = name_made(a, symbolizer, l, lines, &why);

			profile_name_location(a->profile, a->later.v[i], lines, (size_t)n, why);
		}
	}
	a->later.n = kept;
	do {
		ask_kernel_again(a, namer);
		namer_finish(namer, take_answer, a);
	} while (a->later.n);
}
