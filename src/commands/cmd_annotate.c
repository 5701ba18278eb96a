/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/sandbox.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "commands/saved.h"
#include "commands/source_text.h"
#include "output/annotated.h"
#include "sinks/sink.h"
#include "symbols/disassembly.h"
#include "symbols/symbolizer.h"

#define AROUND 2		/* lines of source before and after one that was sampled */
#define LINE_MAX_SHOWN 1024

struct options {
	string_vec inputs;		/* the function, then files; none: the last recording */
	string_vec source_dirs;
	const char *type;
	int quiet;
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FUNCTION", cli_strings, AT(inputs), NULL, 0 },
	{ 0, 0, "source-dir", "DIR", cli_strings, AT(source_dirs),
	  "look for source files here first; may be repeated", CLI_BRIEF },
	SAVED_OPTIONS_TYPE(AT(type)),
	SAVED_OPTIONS_QUIET(AT(quiet)),
	CLI_END
};

struct writer {
	const struct options *o;
	const struct profile *p;
	struct profile_view v;
	const struct annotated *a;
	struct outfile *f;
	struct images *images;
	struct symbolizer *symbolizer;
	struct disassembler *disassembler;	/* NULL: there is none */
};

static double percent(const struct writer *w, uint64_t part)
{
	return w->v.total ? 100.0 * (double)part / (double)w->v.total : 0;
}

/* --- Source. -------------------------------------------------------------------- */

/* "" for what was not sampled. */
static void write_share(const struct writer *w, uint64_t part)
{
	if (part)
		outfile_printf(w->f, "%7.2f ", percent(w, part));
	else
		outfile_printf(w->f, "%7s ", "");
}

static void write_line(const struct writer *w, const struct source_text *s, uint32_t number,
		       uint64_t self, uint64_t total)
{
	char text[LINE_MAX_SHOWN];

	write_share(w, self);
	write_share(w, total);
	outfile_printf(w->f, "%6" PRIu32 "  %s\n", number,
		       source_text_line(s, number, text, sizeof(text)));
}

/* Lines @first to @end - 1 of the function's, all of one file, with those around them. */
static void write_file(const struct writer *w, size_t first, size_t end)
{
	const struct rollup_function *lines = w->a->lines;
	struct source_text s;
	uint32_t next = 1;		/* the line that would follow what was written */
	int err = source_text_read(&s, lines[first].file, &w->o->source_dirs);

	outfile_printf(w->f, "\n%s%s\n  SELF%%  TOTAL%%   LINE\n",
		       *lines[first].file ? lines[first].file : "(unknown file)",
		       err ? ": the source is not here; see --source-dir" : "");
	for (size_t i = first; i < end; i++) {
		uint32_t at = lines[i].line, from = at > AROUND ? at - AROUND : 1,
			 to = i + 1 < end && lines[i + 1].line <= at + AROUND
				      ? lines[i + 1].line - 1
				      : at + AROUND;

		if (from > next && i > first && !err)
			outfile_printf(w->f, "%22s\n", "...");
		for (uint32_t n = from > next ? from : next; n < at && !err; n++)
			write_line(w, &s, n, 0, 0);
		write_line(w, &s, at, lines[i].self, lines[i].total);
		for (uint32_t n = at + 1; n <= to && n <= s.lines.n && !err; n++)
			write_line(w, &s, n, 0, 0);
		next = to + 1;
	}
	source_text_free(&s);
}

static void write_sources(const struct writer *w)
{
	const struct rollup_function *lines = w->a->lines;

	for (size_t i = 0, end; i < w->a->nlines; i = end) {
		for (end = i + 1; end < w->a->nlines && !strcmp(lines[end].file, lines[i].file);)
			end++;
		write_file(w, i, end);
	}
	if (!w->a->nlines)
		outfile_printf(w->f, "\nno lines are known: there is no debug information\n");
}

/* --- Instructions. -------------------------------------------------------------- */

/* The file of a module; NULL: it is not here, or cannot be told from another one. */
static const struct image *image_of(const struct writer *w, uint32_t module)
{
	const struct module *m = &w->v.modules[module];
	const char *id = profile_text(w->p, m->build_id);
	uint8_t bytes[ELF_BUILD_ID_MAX];
	unsigned int byte;
	uint8_t n = 0;
	uint32_t image;

	while (n < ELF_BUILD_ID_MAX && sscanf(id + 2 * n, "%2x", &byte) == 1) {
		bytes[n++] = (uint8_t)byte;
		if (strlen(id) < 2 * (size_t)n + 2)
			break;
	}
	if (!n)
		return NULL;
	image = images_get(w->images, 0, &(struct image_key){ .path = profile_text(w->p, m->path),
							      .build_id = bytes,
							      .build_id_size = n,
							      .end = UINT64_MAX });
	return image == IMAGE_NONE ? NULL : images_at(w->images, image);
}

/* Where an instruction comes from, where that is another place than the one before. */
static void write_origin(const struct writer *w, const struct image *image, uint64_t offset,
			 char last[LINE_MAX_SHOWN])
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	int n = symbolizer_user(w->symbolizer, image, offset, frames);
	char text[LINE_MAX_SHOWN] = "";
	size_t used = 0;

	for (int i = 0; i < n && used < sizeof(text) - 1; i++) {
		const char *slash = strrchr(frames[i].file, '/');

		if (!frames[i].line)
			break;
		snprintf(text + used, sizeof(text) - used, "%s%.200s:%" PRIu32,
			 i ? " < " : "", slash ? slash + 1 : frames[i].file, frames[i].line);
		used = strlen(text);
		if (i + 1 < n && used < sizeof(text) - 1)
			snprintf(text + used, sizeof(text) - used, " [%.200s]", frames[i].name);
		used = strlen(text);
	}
	if (!strcmp(text, last))
		return;
	outfile_printf(w->f, "%24s%s\n", "", text);
	strcpy(last, text);
}

static void write_instructions(const struct writer *w, const struct image *image,
			       const struct disassembly *d, size_t first, size_t end)
{
	char last[LINE_MAX_SHOWN] = "";

	outfile_printf(w->f, "\n%s\n  SELF%%          ADDRESS\n", image->path);
	for (size_t i = 0; i < d->n; i++) {
		uint64_t self = 0, next = i + 1 < d->n ? d->v[i + 1].offset : UINT64_MAX;

		/* Both are in the order of addresses. */
		for (; first < end && w->a->code[first].address < next; first++)
			self += w->a->code[first].self;
		write_origin(w, image, d->v[i].offset, last);
		write_share(w, self);
		outfile_printf(w->f, "%16" PRIx64 "  %s\n", d->v[i].address, d->v[i].text);
	}
}

/* How many of the places from @first on are of the function that @d is, which has the first. */
static size_t covered(const struct writer *w, const struct disassembly *d, size_t first)
{
	size_t end = first + 1;

	while (end < w->a->ncode && w->a->code[end].module == w->a->code[first].module && d->n &&
	       w->a->code[end].address <= d->v[d->n - 1].offset)
		end++;
	return end;
}

static const char *why_no_code(const struct writer *w, const struct annotated_code *c,
			       const struct image *image, int err)
{
	if (!w->disassembler)
		return "instructions are not shown: there is no libcapstone.so.4 "
		       "(package libcapstone4)";
	if (frame_is_kernel(c->kind))
		return "instructions of the kernel are not shown";
	if (!*profile_text(w->p, w->v.modules[c->module].build_id))
		return "instructions are not shown: the profile has no build id of the file";
	if (!image || image->fd < 0)
		return "instructions are not shown: the file that was sampled is not here";
	return err == -ENOTSUP ? "instructions of this machine are not known"
			       : "instructions are not shown: nothing tells where the function "
				 "begins";
}

static void write_codes(const struct writer *w)
{
	for (size_t i = 0, end; i < w->a->ncode; i = end) {
		const struct annotated_code *c = &w->a->code[i];
		const struct image *image = frame_is_kernel(c->kind) ? NULL
								     : image_of(w, c->module);
		struct disassembly d = { 0 };
		int err = image && image->fd >= 0 && w->disassembler
				  ? disassembly_of(&d, w->disassembler, image, c->address)
				  : -ENOENT;

		end = covered(w, &d, i);
		if (!err && d.n) {
			write_instructions(w, image, &d, i, end);
		} else {
			while (end < w->a->ncode && w->a->code[end].module == c->module)
				end++;
			outfile_printf(w->f, "\n%s\n", why_no_code(w, c, image, err));
		}
		disassembly_free(&d);
	}
}

/* --- The command. --------------------------------------------------------------- */
static int unknown(const struct profile *p, const char *name, struct error *e)
{
	struct near near = NEAR(name);
	size_t n;
	struct rollup_function *all = rollup_functions(p, &n);

	for (size_t i = 0; i < n; i++)
		near_consider(&near, all[i].name);
	free(all);
	if (*near.best)
		return error_set(e, STATUS_ERROR, -ENOENT,
				 "no function '%s' was sampled; did you mean '%s'?", name,
				 near.best);
	return error_set(e, STATUS_ERROR, -ENOENT, "no function '%s' was sampled", name);
}

static void write_all(struct writer *w, const char *name)
{
	w->disassembler = disassembler_new();
	/* What is read from here on is whoever's program that was. */
	sandbox_enter(&(struct sandbox_options){ 0 });
	w->images = images_new();
	w->symbolizer = symbolizer_new(&(struct symbolizer_options){ 0 });
	outfile_printf(w->f, "%s%s%s: self %.2f%%, total %.2f%%\n", name,
		       *w->a->module ? " of " : "", w->a->module, percent(w, w->a->self),
		       percent(w, w->a->total));
	write_sources(w);
	write_codes(w);
	disassembler_free(w->disassembler);
	symbolizer_free(w->symbolizer);
	images_free(w->images);
}

static int annotate(const struct options *o, struct error *e)
{
	const char *name = o->inputs.v[0];
	struct profile *p = o->inputs.n > 1
				    ? saved_read_all(o->inputs.v + 1, o->inputs.n - 1, o->type, e)
				    : saved_read_last(o->type, e);
	struct annotated *a = p ? annotated_new(p, name) : NULL;
	struct sink *s = a ? sink_open_stdout(e) : NULL;
	int err = -EIO;

	if (p && !a)
		err = unknown(p, name, e);
	if (s) {
		struct writer w = {
			.o = o, .p = p, .v = profile_view(p), .a = a, .f = sink_file(s)
		};

		write_all(&w, name);
		err = sink_commit(s, e);
	}
	annotated_free(a);
	profile_free(p);
	return err == -EPIPE ? 0 : err;
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, &o, argc, argv, &rest, &e);

	if (!err && !o.inputs.n)
		err = error_set(&e, STATUS_USAGE, -EINVAL,
				"annotate takes a function's name; see ebprof annotate --help");
	if (!err)
		err = annotate(&o, &e);
	vec_free(&o.inputs);
	vec_free(&o.source_dirs);
	return err < 0 ? command_failed(&e) : STATUS_OK;
}

const struct cli_command command_annotate = {
	.name = "annotate",
	.summary = "the hot lines and instructions of a function",
	.usage = "annotate [OPTION]... FUNCTION [FILE]...",
	.about = "Shows the lines of source and the instructions of a function of a saved profile, "
		 "with their shares\n"
		 "of all samples; without a file, of the last recording.\n"
		 "  ebprof annotate hash_field cpu.pb.gz\n"
		 "  ebprof annotate --source-dir ~/src/demo main perf.data\n",
	.rows = rows,
	.run = run,
};
