/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotator.h"
#include "base/text.h"
#include "base/user.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "commands/saved.h"
#include "commands/since.h"
#include "commands/view_options.h"
#include "commands/with_source.h"
#include "output/output.h"
#include "output/rollup.h"
#include "profile/diff.h"
#include "profile/latency.h"
#include "profile/merge.h"
#include "tui/tui.h"
#include "tui/viewer.h"

#define TITLE_MAX 1024

struct options {
	string_vec inputs;		/* until they are taken apart */
	string_vec sides[2];		/* before, after */
	struct result_options results;
	const char *normalize, *type;
	int all, annotate, quiet, plain;
	struct view_options view;
	double fail_above;		/* below 0: not given */
	uint64_t since;			/* ns; 0: files are named */
	string_vec found;		/* by that; malloc'd */
	struct with_source_options source;	/* of the browser */
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FILE", cli_strings, AT(inputs), NULL, 0 },
	CLI_HEADING("Comparison"),
	{ 0, 0, "normalize", "BY", cli_string, AT(normalize),
	  "samples (shares, the default), seconds (CPUs busy), none", CLI_BRIEF },
	{ 0, 0, "all", NULL, cli_flag, AT(all), "list changes within chance, too", CLI_BRIEF },
	{ 0, 0, "fail-above", "PERCENT", cli_percent, AT(fail_above),
	  "exit with 7 if a function gains more, significantly", CLI_BRIEF },
	{ 0, 0, "since", "TIME", cli_duration, AT(since),
	  "of a folder of ebprof push: the last 1h against the hour before", CLI_BRIEF },
	WITH_SOURCE_DIR(AT(source), 0),
	SAVED_OPTIONS_TYPE(AT(type)),
	CLI_HEADING("Output"),
	RESULT_OPTIONS_FILES(AT(results), "write here; may be repeated; - is standard output",
			     CLI_BRIEF),
	RESULT_OPTIONS_FORMAT(AT(results),
			      "table, json, folded or html (default: by the file's name)",
			      CLI_BRIEF),
	RESULT_OPTIONS_FORCE(AT(results), 0),
	{ 0, 0, "annotate", NULL, cli_flag, AT(annotate),
	  "folded: mark kernel, inlined, JIT, ... frames _[k], _[i], _[j], ...", 0 },
	VIEW_OPTIONS_TABLE(AT(view), 0),
	VIEW_OPTIONS_PROFILE(AT(view)),
	{ 0, 0, "stdio", NULL, cli_flag, AT(plain), "print tables, even on a terminal", 0 },
	{ 0, 0, "plain", NULL, cli_flag, AT(plain), "the same", 0 },
	SAVED_OPTIONS_QUIET(AT(quiet)),
	CLI_END
};

struct comparison {
	struct options o;
	enum diff_normalize normalize;
	struct results results;
	struct diff *diff;
	struct profile *calls[2];	/* the times of calls, by side */
	struct profile *after;		/* that side with its places, for the browser */
};

static void more(FILE *to)
{
	results_help(&output_differences, to);
}

/* The windows that --since means, instead of the folder that was named. */
static int find_windows(struct options *o, struct error *e)
{
	string_vec found[2] = { 0 };
	int err;

	if (o->sides[DIFF_BEFORE].n != 1 || o->sides[DIFF_AFTER].n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "diff --since takes one folder of ebprof push, or FOLDER/SERVICE");
	err = since_find(o->sides[DIFF_BEFORE].v[0], o->since, &found[DIFF_BEFORE],
			 &found[DIFF_AFTER], e);
	o->sides[DIFF_BEFORE].n = 0;
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < found[side].n; i++) {
			vec_push(&o->sides[side], found[side].v[i]);
			vec_push(&o->found, found[side].v[i]);
		}
		vec_free(&found[side]);
	}
	return err;
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
	if (!err && o->since)
		return find_windows(o, e);
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

/* 1 where a user sits at a terminal and has not said what to print. */
static int interactive(const struct options *o)
{
	return !o->plain && !o->results.files.n && !o->results.format && !o->view.sort &&
	       !o->view.rows && !o->all && o->fail_above < 0 && tui_possible();
}

static int read_file(struct comparison *c, enum diff_side side, const char *path, struct error *e)
{
	struct profile *p = saved_read(path, c->o.type, e);
	struct error why;
	int err = -EIO;

	if (!p)
		return err;
	view_options_apply(&c->o.view, p);
	err = diff_add(c->diff, side, p, &why);
	profile_add_latencies(c->calls[side], p);
	if (side == DIFF_AFTER && interactive(&c->o))
		profile_merge_run(c->after, p);
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

static int write_files(struct comparison *c, struct error *e)
{
	struct output_options o = { .difference = 1,
				    .weight = diff_weight(c->diff),
				    .diff = c->diff,
				    .all = c->o.all,
				    .annotate = c->o.annotate };
	int err;

	view_options_output(&c->o.view, &o);
	err = results_write(&c->results, diff_profile(c->diff), &o, e);
	if (!c->o.quiet)
		results_name(&c->results);
	return err;
}

static int browse(struct comparison *c, const struct user *user, struct error *e)
{
	const struct profile *p = diff_profile(c->diff);
	const struct viewer_saved saved = { .profile = p,
					    .diff = c->diff,
					    .annotator = with_source_reader(&c->o.source),
					    .code = c->after };
	int err = viewer_browse(&saved, profile_text(p, profile_view(p).meta->title), user, e);

	annotator_free(saved.annotator);
	return err;
}

static int show(struct comparison *c, const struct user *user, struct error *e)
{
	return interactive(&c->o) ? browse(c, user, e) : write_files(c, e);
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
	struct summary calls = { 0 };
	const size_t before = c->o.sides[DIFF_BEFORE].n, after = c->o.sides[DIFF_AFTER].n;

	fprintf(stderr, "ebprof: %" PRIu64 " %s of %zu file%s before, %" PRIu64 " of %zu after\n",
		v.types[DIFF_BEFORE].total, diff_counted(c->diff) ? "samples" : diff_unit(c->diff),
		before, before > 1 ? "s" : "", v.types[DIFF_AFTER].total, after);
	if (before == 1 && after == 1)
		fputs("ebprof: one file of each does not show how much runs vary; give several\n",
		      stderr);
	latency_summaries(c->calls[DIFF_BEFORE], " before", &calls);
	latency_summaries(c->calls[DIFF_AFTER], " after", &calls);
	summary_print(&calls, "ebprof: ", stderr);
	summary_free(&calls);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct comparison x = { .o = { .fail_above = -1 },
				.calls = { profile_new(), profile_new() },
				.after = profile_new() };
	const struct user user = user_invoking();
	struct error e = { .status = STATUS_ERROR };
	int status = STATUS_OK, err = parse(c, &x.o, argc, argv, &e);

	if (!err)
		err = parse_normalize(x.o.normalize, &x.normalize, &e);
	/* Early: a bad name is an error before large files are read. */
	if (!err)
		err = results_open(&x.results, &output_differences, &x.o.results, &user, &e);
	if (!err)
		err = read_files(&x, &e);
	if (!err)
		err = show(&x, &user, &e);
	if (!err && !x.o.quiet)
		summarize(&x);
	if (err != CLI_ANSWERED)
		status = err ? command_failed(&e) : judge(&x);
	results_free(&x.results);
	profile_free(x.calls[DIFF_BEFORE]);
	profile_free(x.calls[DIFF_AFTER]);
	profile_free(x.after);
	diff_free(x.diff);
	for (size_t i = 0; i < x.o.found.n; i++)
		free((void *)x.o.found.v[i]);
	vec_free(&x.o.found);
	vec_free(&x.o.source.dirs);
	vec_free(&x.o.inputs);
	vec_free(&x.o.sides[0]);
	vec_free(&x.o.sides[1]);
	vec_free(&x.o.results.files);
	return status;
}

const struct cli_command command_diff = {
	.name = "diff",
	.summary = "what became slower between two profiles, and how sure that is",
	.usage = "diff [OPTION]... BEFORE AFTER\n"
		 "diff [OPTION]... BEFORE... -- AFTER...\n"
		 "diff [OPTION]... --since TIME FOLDER[/SERVICE]",
	.about = "Shows which functions became slower or faster between two saved profiles, and "
		 "how sure that is.\n"
		 "With several files of each (best five or more) it takes into account how much "
		 "runs vary.\n"
		 "  ebprof diff old.pb.gz new.pb.gz                   what changed, as a table\n"
		 "  ebprof diff old*.folded -- new*.folded            runs of two builds\n"
		 "  ebprof diff old.pb.gz new.pb.gz -o diff.html      as a flame graph\n"
		 "  ebprof diff --since 1h /var/lib/profiles/nginx    this hour, and that before\n"
		 "  ebprof diff --normalize none --fail-above 5% old.pb.gz new.pb.gz\n",
	.rows = rows,
	.more = more,
	.run = run,
};
