/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/outfile.h"
#include "base/text.h"
#include "base/user.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "commands/result_files.h"
#include "commands/saved.h"
#include "commands/view_options.h"
#include "commands/wrote.h"
#include "output/difference.h"
#include "output/output.h"
#include "output/rollup.h"
#include "profile/diff.h"

#define TITLE_MAX 1024

struct options {
	string_vec inputs;		/* until they are taken apart */
	string_vec sides[2];		/* before, after */
	string_vec files;
	const char *format, *normalize, *type;
	int all, annotate, force, quiet;
	struct view_options view;
	double fail_above;		/* below 0: not given */
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FILE", cli_strings, AT(inputs), NULL, 0 },
	CLI_HEADING("Comparison"),
	{ 0, 0, "normalize", "BY", cli_string, AT(normalize),
	  "samples (default: shares), seconds (CPUs busy) or none", CLI_BRIEF },
	{ 0, 0, "all", NULL, cli_flag, AT(all), "list what is within chance, too", CLI_BRIEF },
	{ 0, 0, "fail-above", "PERCENT", cli_percent, AT(fail_above),
	  "exit with 7 where a function gains more, significantly", CLI_BRIEF },
	{ 0, 0, "sample-type", "NAME", cli_string, AT(type), "of files that have several",
	  CLI_BRIEF },
	CLI_HEADING("Output"),
	{ 'o', 0, "output", "FILE", cli_strings, AT(files),
	  "write here; may be repeated; - is standard output", CLI_BRIEF },
	{ 'f', 0, "format", "FORMAT", cli_string, AT(format),
	  "table, json, folded or html (default: by the file's name)", CLI_BRIEF },
	RESULT_FILES_FORCE(AT(force), 0),
	{ 0, 0, "annotate", NULL, cli_flag, AT(annotate),
	  "folded: mark kernel, inlined and JIT frames _[k], _[i], _[j]", 0 },
	VIEW_OPTIONS_TABLE(AT(view), 0),
	VIEW_OPTIONS_PROFILE(AT(view)),
	{ 'q', 0, "quiet", NULL, cli_flag, AT(quiet), "no summary", 0 },
	CLI_END
};

/* What a difference can be written as; the first where no name tells another. */
static const struct {
	const char *name, *suffix, *help;
	/* NULL: it is an output of the merged profile. */
	void (*write)(const struct diff *d, int all, const struct output_options *o,
		      struct outfile *f);
} formats[] = {
	{ "table", ".txt", "tables of the functions that changed, with 95 % intervals",
	  difference_write },
	{ "json", ".json", "the same for programs", difference_write_json },
	{ "folded", ".folded", "stack BEFORE AFTER, for flamegraph.pl", NULL },
	{ "html", ".html", "flame graph coloured by what changed", NULL },
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

struct target {
	struct outfile *file;
	const char *path;
	size_t format;
};

struct comparison {
	struct options o;
	enum diff_normalize normalize;
	VEC(struct target) targets;
	struct diff *diff;
};

static void more(FILE *to)
{
	fputs("\nFormats:\n", to);
	for (size_t i = 0; i < FORMATS; i++)
		fprintf(to, "  %-9s %-9s %s\n", formats[i].name, formats[i].suffix,
			formats[i].help);
}

/* Operands, and options on both sides of "--". */
static int parse(const struct cli_command *c, struct options *o, int argc, char **argv,
		 struct error *e)
{
	int split = 1, rest, err;

	while (split < argc && strcmp(argv[split], "--"))
		split++;
	err = cli_parse(c, o, split, argv, &rest, e);
	if (err)
		return err;
	o->sides[DIFF_BEFORE] = o->inputs;
	o->inputs = (string_vec){ 0 };
	if (split < argc) {
		err = cli_parse(c, o, argc - split, argv + split, &rest, e);
		o->sides[DIFF_AFTER] = o->inputs;
		o->inputs = (string_vec){ 0 };
	} else if (o->sides[DIFF_BEFORE].n == 2) {
		vec_push(&o->sides[DIFF_AFTER], o->sides[DIFF_BEFORE].v[--o->sides[DIFF_BEFORE].n]);
	}
	if (!err && (!o->sides[DIFF_BEFORE].n || !o->sides[DIFF_AFTER].n))
		err = error_set(e, STATUS_USAGE, -EINVAL,
				"diff takes two files, or BEFORE... -- AFTER...; "
				"see ebprof diff --help");
	return err;
}

static int parse_normalize(const char *word, enum diff_normalize *normalize, struct error *e)
{
	static const char *const words[] = {
		[DIFF_SAMPLES] = "samples", [DIFF_SECONDS] = "seconds", [DIFF_NONE] = "none"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!word || !strcmp(word, words[i])) {
			*normalize = (enum diff_normalize)i;
			return 0;
		}
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "--normalize '%s': expected samples, seconds or none", word);
}

/* --- What is written. ------------------------------------------------------ */

static int is_gzip(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcmp(path + len - 3, ".gz");
}

/* The format whose suffix ends @path, or FORMATS. */
static size_t format_of(const char *path)
{
	size_t len = strlen(path) - (is_gzip(path) ? 3 : 0), i = 0;

	for (; i < FORMATS; i++) {
		size_t n = strlen(formats[i].suffix);

		if (len >= n && !strncmp(path + len - n, formats[i].suffix, n))
			break;
	}
	return i;
}

/*
 * -EINVAL where neither -f nor the name of the file says one that a difference can have; -EEXIST
 * where they disagree.
 */
static int choose_format(const char *path, const char *format, size_t *chosen)
{
	const char *slash = strrchr(path, '/');
	size_t named = format_of(path);

	*chosen = named < FORMATS ? named : 0;
	if (!format)
		return named == FORMATS && strcmp(path, "-") && strchr(slash ? slash : path, '.')
			       ? -EINVAL
			       : 0;
	for (*chosen = 0; *chosen < FORMATS; ++*chosen)
		if (!strcmp(output_word(format), formats[*chosen].name))
			return named < FORMATS && named != *chosen ? -EEXIST : 0;
	return -EINVAL;
}

static int open_target(struct comparison *c, const char *path, const struct user *u,
		       struct error *e)
{
	struct target t = { .path = path };
	int err = choose_format(path, c->o.format, &t.format);

	if (err == -EEXIST)
		return error_set(
			e, STATUS_USAGE, err,
			"-o '%s' and -f %s: the name is that of another format, %s; leave out -f, "
			"or name the file like out%s",
			path, c->o.format, formats[format_of(path)].name, formats[t.format].suffix);
	if (err)
		return error_set(e, STATUS_USAGE, err,
				 "%s '%s': a difference is written as table (.txt), json (.json), "
				 "folded (.folded) or html (.html)",
				 c->o.format ? "-f" : "-o", c->o.format ? c->o.format : path);
	t.file = c->o.force ? outfile_open_force(path, u, e) : outfile_open(path, u, e);
	if (!t.file)
		return -EIO;	/* @e says what it was */
	vec_push(&c->targets, t);
	return 0;
}

/* Early: a bad name is an error before large files are read. */
static int open_targets(struct comparison *c, struct error *e)
{
	const struct user user = user_invoking();
	int err = 0;

	if (!c->o.files.n)
		return open_target(c, "-", &user, e);
	for (size_t i = 0; i < c->o.files.n && !err; i++)
		err = open_target(c, c->o.files.v[i], &user, e);
	return err;
}

/* NULL where it is one of diff's own. */
static const struct output_format *output_of(const struct target *t)
{
	return formats[t->format].write ? NULL : output_by_name(formats[t->format].name);
}

static void write_target(const struct comparison *c, const struct target *t)
{
	struct output_options o = { .difference = 1,
				    .weight = diff_weight(c->diff),
				    .annotate = c->o.annotate };

	result_files_terminal(t->file, &o);
	view_options_output(&c->o.view, &o);
	if (output_of(t)) {
		output_write(output_of(t), diff_profile(c->diff), &o, t->file, t->path);
		return;
	}
	if (is_gzip(t->path))
		outfile_compress(t->file);
	formats[t->format].write(c->diff, c->o.all, &o, t->file);
}

/* All of them, whatever happens to one; the first error is told. */
static int write_targets(struct comparison *c, struct error *e)
{
	int first = 0;

	for (size_t i = 0; i < c->targets.n; i++) {
		struct target *t = &c->targets.v[i];
		int err, named = outfile_is_named(t->file);

		write_target(c, t);
		err = outfile_commit(t->file, first ? NULL : e);
		t->file = NULL;
		if (!err && named && !c->o.quiet)
			wrote_tell(t->path, output_of(t));
		if (err && err != -EPIPE && !first)
			first = err;
	}
	return first;
}

/* --- What is read and compared. -------------------------------------------- */

static int read_file(struct comparison *c, enum diff_side side, const char *path, struct error *e)
{
	struct profile *p = saved_read(path, c->o.type, e);
	struct error why;
	int err = -EIO;

	if (!p)
		return err;
	view_options_apply(&c->o.view, p);
	err = diff_add(c->diff, side, p, &why);
	profile_free(p);
	return err ? error_set(e, why.status, err, "%s %s", path, why.text) : 0;
}

static int read_files(struct comparison *c, struct error *e)
{
	const size_t runs[2] = { c->o.sides[DIFF_BEFORE].n, c->o.sides[DIFF_AFTER].n };
	char text[TITLE_MAX], clean[TITLE_MAX];
	int err = 0;

	c->diff = diff_new(c->normalize, runs);
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < runs[side] && !err; i++)
			err = read_file(c, (enum diff_side)side, c->o.sides[side].v[i], e);
	if (err)
		return err;
	diff_compare(c->diff);
	snprintf(text, sizeof(text), "%s against %s", c->o.sides[DIFF_BEFORE].v[0],
		 c->o.sides[DIFF_AFTER].v[0]);
	text_clean(clean, sizeof(clean), c->o.view.title ? c->o.view.title : text);
	profile_meta(diff_profile(c->diff))->title = profile_string(diff_profile(c->diff), clean);
	return 0;
}

/* The row that gained most, of those that are significant; NULL: none gained. */
static const struct diff_row *worst(const struct diff_list *l)
{
	for (size_t i = 0; i < l->significant; i++)
		if (diff_change(&l->rows[i]) > 0)
			return &l->rows[i];
	return NULL;
}

/* Returns the status to exit with. */
static int judge(const struct comparison *c)
{
	const struct diff_list *lists[] = { diff_self(c->diff), diff_total(c->diff) };
	const struct profile *p = diff_profile(c->diff);

	for (size_t i = 0; c->o.fail_above >= 0 && i < 2; i++) {
		const struct diff_row *r = worst(lists[i]);

		if (!r || 100 * diff_change(r) <= c->o.fail_above)
			continue;
		fprintf(stderr, "ebprof: %s gained %.2f points (%s), more than %g\n",
			r->function == PROFILE_NONE ? ROLLUP_NO_STACK : rollup_name(p, r->function),
			100 * diff_change(r), i ? "total" : "self", c->o.fail_above);
		return STATUS_SLOWER;
	}
	return STATUS_OK;
}

static void summarize(const struct comparison *c)
{
	struct profile_view v = profile_view(diff_profile(c->diff));
	const size_t before = c->o.sides[DIFF_BEFORE].n, after = c->o.sides[DIFF_AFTER].n;

	fprintf(stderr, "ebprof: %" PRIu64 " %s of %zu file%s before, %" PRIu64 " of %zu after\n",
		v.types[DIFF_BEFORE].total, diff_counted(c->diff) ? "samples" : diff_unit(c->diff),
		before, before > 1 ? "s" : "", v.types[DIFF_AFTER].total, after);
	if (before == 1 && after == 1)
		fputs("ebprof: how much runs differ anyway is not known from one file of each; "
		      "give several\n",
		      stderr);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct comparison x = { .o = { .fail_above = -1 } };
	struct error e = { .status = STATUS_ERROR };
	int status = STATUS_OK, err = parse(c, &x.o, argc, argv, &e);

	if (!err)
		err = parse_normalize(x.o.normalize, &x.normalize, &e);
	if (!err)
		err = open_targets(&x, &e);
	if (!err)
		err = read_files(&x, &e);
	if (!err)
		err = write_targets(&x, &e);
	if (!err && !x.o.quiet)
		summarize(&x);
	if (err != CLI_ANSWERED)
		status = err ? command_failed(&e) : judge(&x);
	for (size_t i = 0; i < x.targets.n; i++)
		outfile_abandon(x.targets.v[i].file);
	vec_free(&x.targets);
	diff_free(x.diff);
	vec_free(&x.o.inputs);
	vec_free(&x.o.sides[0]);
	vec_free(&x.o.sides[1]);
	vec_free(&x.o.files);
	return status;
}

const struct cli_command command_diff = {
	.name = "diff",
	.summary = "what became slower from one profile to another, and how sure that is",
	.usage = "diff [OPTION]... BEFORE AFTER\n"
		 "diff [OPTION]... BEFORE... -- AFTER...",
	.about = "Says which functions became slower or faster from one saved profile to another, "
		 "and how sure that\n"
		 "is. With several files of each (best five or more) it knows how much they differ "
		 "anyway.\n"
		 "  ebprof diff old.pb.gz new.pb.gz                   what changed, as a table\n"
		 "  ebprof diff old*.folded -- new*.folded            runs of two builds\n"
		 "  ebprof diff old.pb.gz new.pb.gz -o diff.html      as a flame graph\n"
		 "  ebprof diff --normalize none --fail-above 5% old.pb.gz new.pb.gz\n",
	.rows = rows,
	.more = more,
	.run = run,
};
