/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <regex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/user.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "commands/saved.h"
#include "commands/serving.h"
#include "commands/summary.h"
#include "commands/view_options.h"
#include "commands/with_source.h"
#include "output/across.h"
#include "output/callers.h"
#include "output/labelled.h"
#include "output/views.h"
#include "profile/between.h"
#include "profile/worth.h"
#include "tui/tui.h"
#include "tui/viewer.h"

/* bytes of a regular expression; its compiled form may be far larger */
#define PATTERN_MAX 256
#define NAME_MAX_MATCHED 4096	/* bytes of a function's name that are looked at */
#define PERCENT_DEFAULT 0.5
#define NAME_SHOWN 200		/* bytes of a file's name */

struct options {
	string_vec inputs;		/* none: the last recording */
	struct result_options results;	/* no files: a view, printed or to look around in */
	const char *by, *across, *focus, *type;
	int tree, plain, quiet, serve;
	struct server_options server;
	double percent;
	uint64_t from, to;		/* ns; 0: not given */
	struct view_options view;
	struct with_source_options source;
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FILE", cli_strings, AT(inputs), NULL, 0 },
	CLI_HEADING("What to show (one of these; default: the functions)"),
	{ 0, 0, "by", "WHAT", cli_string, AT(by),
	  "function (default), module, line, process, thread, second, a label",
	  CLI_BRIEF },
	{ 0, 0, "across", "LABEL", cli_string, AT(across),
	  "a column for each value of a label: file (of several), container, ...", CLI_BRIEF },
	{ 0, 0, "tree", NULL, cli_flag, AT(tree), "the call tree", CLI_BRIEF },
	{ 0, 0, "focus", "REGEX", cli_string, AT(focus),
	  "functions that match, who calls them and what they call", CLI_BRIEF },
	CLI_HEADING("How much of it"),
	VIEW_OPTIONS_TABLE(AT(view), CLI_BRIEF),
	{ 0, 0, "min", "PERCENT", cli_share, AT(percent),
	  "leave out branches of the tree below this (default 0.5)", 0 },
	{ 0, 0, "from", "TIME", cli_moment, AT(from),
	  "only what was sampled from then on: 3s, 500ms (with a timeline)", 0 },
	{ 0, 0, "to", "TIME", cli_duration, AT(to), "only what was sampled before then", 0 },
	WITH_SOURCE_DIR(AT(source), 0),
	SAVED_OPTIONS_TYPE(AT(type)),
	VIEW_OPTIONS_PROFILE(AT(view)),
	CLI_HEADING("Output"),
	RESULT_OPTIONS_FILES(AT(results),
			     "write the whole profile, as ebprof convert does; may be repeated",
			     CLI_BRIEF),
	RESULT_OPTIONS_FORMAT(AT(results), "folded, html, pprof, ... (default: by the file's name)",
			      0),
	WITH_SOURCE_ON(AT(source), 0),
	RESULT_OPTIONS_FORCE(AT(results), 0),
	{ 0, 0, "serve", NULL, cli_flag, AT(serve),
	  "show it in browsers of this machine, until Ctrl-C", CLI_BRIEF },
	SERVING_OPTIONS(AT(server), 0),
	{ 0, 0, "stdio", NULL, cli_flag, AT(plain), "print a table, even on a terminal", 0 },
	{ 0, 0, "plain", NULL, cli_flag, AT(plain), "the same", 0 },
	SAVED_OPTIONS_QUIET(AT(quiet)),
	CLI_END
};

#define BY_LABEL VIEWS_BY

/* Whether samples have to have the name of their file. */
static int wants_file(const struct options *o)
{
	return (o->across && !strcmp(o->across, ACROSS_FILE)) ||
	       (o->by && !strcmp(o->by, ACROSS_FILE));
}

static int check_across(const struct options *o, const struct profile *p, int by, struct error *e)
{
	if (!o->across)
		return 0;
	if (by == BY_LABEL || !views_has_across((enum views_by)by))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--across shows functions, modules or lines; not --by %.200s",
				 o->by);
	if (labelled_has(p, o->across))
		return 0;
	return error_set(e, STATUS_USAGE, -EINVAL, "--across '%.200s': expected file, or a label "
			 "that the samples have, as record --by container gives them", o->across);
}

/* What --by asks for, BY_LABEL for a label's key. -EINVAL with @e filled. */
static int choose_by(const struct profile *p, const char *word, struct error *e)
{
	char list[128] = "";

	for (enum views_by by = 0; by < VIEWS_BY; by++) {
		if (!word || !strcmp(word, views_name(by)))
			return (int)by;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s, ", views_name(by));
	}
	if (labelled_has(p, word))
		return BY_LABEL;
	return error_set(e, STATUS_USAGE, -EINVAL, "--by '%.200s': expected one of %sor a label "
			 "that the samples have, as record --by container gives them", word, list);
}

/* 1 where the user says which part to print. */
static int has_view(const struct options *o)
{
	return o->by || o->across || o->tree || o->focus;
}

static int check(const struct options *o, struct error *e)
{
	if (has_view(o) && (o->results.files.n || o->results.format))
		return error_set(e, STATUS_USAGE, -EINVAL, "-o and -f write all of the profile; "
				 "leave out --by, --across, --tree and --focus, or write these by "
				 "> FILE");
	if ((o->by || o->across || o->view.sort) + o->tree + (o->focus != NULL) > 1)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "choose one view: --by, --across and --sort, --tree, or --focus");
	if (o->serve && (has_view(o) || o->results.files.n || o->results.format))
		return error_set(e, STATUS_USAGE, -EINVAL, "--serve shows all of the profile, and "
				 "writes nothing; leave out -o, -f, --by, --across, --tree and "
				 "--focus");
	if (!o->serve && (o->server.listen || o->server.port || o->server.open))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--listen, --port and --open go with --serve");
	if (o->focus && strlen(o->focus) > PATTERN_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--focus: at most %d bytes",
				 PATTERN_MAX);
	if (o->to && o->from >= o->to)
		return error_set(e, STATUS_USAGE, -EINVAL, "--from has to be before --to");
	if (results_check(&output_profiles, o->results.format, e))
		return -EINVAL;
	return with_source_check(&o->source, &o->results, e);
}

static int matches(void *regex, const char *name, const char *module)
{
	char text[NAME_MAX_MATCHED];

	(void)module;
	snprintf(text, sizeof(text), "%s", name);
	return !regexec(regex, text, 0, NULL, 0);
}

/* The functions whose names match, for callers_new(). The caller frees it; NULL with @e. */
static unsigned char *find_focus(const struct profile *p, const char *pattern, struct error *e)
{
	unsigned char *focus;
	regex_t regex;
	int err = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (err) {
		regerror(err, &regex, why, sizeof(why));
		error_set(e, STATUS_USAGE, -EINVAL, "--focus '%s': %s", pattern, why);
		return NULL;
	}
	focus = callers_focus(p, matches, &regex);
	regfree(&regex);
	if (!focus)
		error_set(e, STATUS_ERROR, -ENOENT, "--focus '%s': no function has such a name",
			  pattern);
	return focus;
}

/* The values beside one another, and then each of them by its whole name. */
static void write_across(const struct options *o, const struct profile *p, enum views_by by,
			 const struct output_options *output, struct outfile *f)
{
	struct across *a = across_new(p, o->across);

	views_across(p, a, by, o->view.sort == OUTPUT_SORT_TOTAL, output, f);
	outfile_write(f, "\n", 1);
	views_label(p, o->across, output, f);
	if (a->others)
		outfile_printf(f, "the last %zu of them have no column\n", a->others);
	across_free(a);
}

/* Writes the view that is asked for. */
static int write_view(const struct options *o, const struct profile *p, const struct sink *s,
		      struct error *e)
{
	struct output_options output = { 0 };
	struct outfile *f = sink_file(s);
	int by = choose_by(p, o->by, e);
	unsigned char *focus = NULL;

	if (by < 0 || check_across(o, p, by, e))
		return -EINVAL;
	if (o->focus && !(focus = find_focus(p, o->focus, e)))
		return -EINVAL;
	view_options_output(&o->view, &output);
	sink_fit(s, &output);
	if (o->tree && !o->view.rows)
		output.rows = 0;
	if (focus)
		views_focus(p, focus, &output, f);
	else if (o->tree)
		views_tree(p, o->percent, &output, f);
	else if (by == BY_LABEL)
		views_label(p, o->by, &output, f);
	else if (o->across)
		write_across(o, p, (enum views_by)by, &output, f);
	else
		views_top(p, (enum views_by)by, o->view.sort == OUTPUT_SORT_TOTAL, &output, f);
	free(focus);
	return 0;
}

/* 1 where a user sits at a terminal and has not said what to print. */
static int interactive(const struct options *o)
{
	return !o->plain && !o->by && !o->tree && !o->focus && !o->view.sort && !o->view.rows &&
	       tui_possible();
}

/* 0, or a negative errno with @e filled. */
static int browse(const struct options *o, const struct profile *p, struct error *e)
{
	const struct user user = user_invoking();
	struct annotator *annotator;
	char name[NAME_SHOWN];
	int err = check_across(o, p, VIEWS_FUNCTION, e);

	if (err)
		return err;
	annotator = with_source_reader(&o->source);
	text_clean(name, sizeof(name), o->inputs.n ? o->inputs.v[0] : "the last recording");
	err = viewer_browse(&(struct viewer_saved){ .profile = p, .across = o->across,
						    .annotator = annotator },
			    name, &user, e);
	annotator_free(annotator);
	return err;
}

static int print(const struct options *o, const struct profile *p, struct error *e)
{
	struct sink *s = sink_open_stdout(e);
	int err = s ? write_view(o, p, s, e) : -EIO;

	if (!err)
		return sink_commit(s, e);
	sink_abandon(s);
	return err;
}

/* Which one it is: the one before, where this one was not kept. */
static void tell_last(struct profile *p)
{
	const struct profile_meta *m = profile_meta(p);
	time_t start = (time_t)(m->start / 1000000000);
	char when[64] = "";
	struct tm t;

	if (m->start && localtime_r(&start, &t))
		strftime(when, sizeof(when), ", begun %Y-%m-%d %H:%M:%S", &t);
	fprintf(stderr, "ebprof: the last recording%s: %s\n", when, profile_text(p, m->command));
}

static int save(const struct options *o, const struct profile *p, struct output_options *output,
		struct error *e)
{
	struct with_source source = { 0 };
	int err;

	with_source_begin(&source, &o->source, NULL);
	with_source_add(&source, p, output);
	err = results_save(p, &o->results, o->quiet, output, e);
	with_source_end(&source);
	return err;
}

static int show(const struct options *o, const struct profile *p, struct error *e)
{
	struct output_options output = { 0 };

	view_options_output(&o->view, &output);
	if (o->serve)
		return serving_show(p, &o->server, &output, e);
	if (o->results.files.n || o->results.format)
		return save(o, p, &output, e);
	return interactive(o) ? browse(o, p, e) : print(o, p, e);
}

/* Leaves the time that was asked for. */
static int take_range(const struct options *o, struct profile *p, struct error *e)
{
	int by_time = o->from || o->to, by_second = o->by && !strcmp(o->by, "second");

	if ((by_time || by_second) && !profile_view(p).nticks)
		return error_set(e, STATUS_USAGE, -ENODATA,
				 "%s needs a timeline, which this profile does not have; "
				 "record --timeline makes one",
				 by_time ? "a range of time" : "--by second");
	if (by_second && !worth_any(p, profile_view(p).shown))
		profile_show(p, 0);
	return by_time ? profile_between(p, o->from, o->to) : 0;
}

static struct profile *read_inputs(const struct options *o, struct error *e)
{
	if (!o->inputs.n)
		return saved_read_last(o->type, e);
	if (wants_file(o))
		return saved_read_labelled(o->inputs.v, o->inputs.n, ACROSS_FILE, o->type, e);
	return saved_read_all(o->inputs.v, o->inputs.n, o->type, e);
}

/* Returns the exit status. */
static int report(const struct options *o, struct error *e)
{
	struct profile *p = read_inputs(o, e);
	int status = STATUS_OK, err = -EIO;

	if (p) {
		view_options_apply(&o->view, p);
		err = take_range(o, p, e);
		err = err ? err : show(o, p, e);
	}
	if (p && !o->inputs.n && !o->quiet)
		tell_last(p);
	if (err && err != -EPIPE)
		status = command_failed(e);
	else if (!o->quiet)
		summary_show_saved(p);
	if (!status && !profile_view(p).total)
		status = STATUS_NO_SAMPLES;
	profile_free(p);
	return status;
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { .percent = PERCENT_DEFAULT };
	struct error e = { .status = STATUS_ERROR };
	int status = STATUS_OK, rest, err = cli_parse(c, &o, argc, argv, &rest, &e);

	if (!err)
		err = check(&o, &e);
	if (!err)
		status = report(&o, &e);
	else if (err < 0)
		status = command_failed(&e);
	vec_free(&o.inputs);
	vec_free(&o.source.dirs);
	vec_free(&o.results.files);
	return status;
}

static void more(FILE *to)
{
	results_help(&output_profiles, to);
}

const struct cli_command command_report = {
	.name = "report",
	.summary = "look at a saved profile",
	.usage = "report [OPTION]... [FILE]...",
	.about = "Shows a saved profile: perf.data, pprof, folded stacks, perf script's text, or "
		 "an html, json,\n"
		 "firefox or speedscope file of ebprof's own, gzipped or not; - is standard input; "
		 "without a\n"
		 "file the last recording. Several are added up, or beside one another with "
		 "--across file;\nebprof diff A B says what differs. On a terminal, to look "
		 "around in (? lists keys).\n"
		 "  ebprof report                                     the last recording\n"
		 "  ebprof report -o out.html                         the same as a flame graph\n"
		 "  ebprof report --tree --min 2 cpu.pb.gz            the call tree\n"
		 "  ebprof report --focus '^malloc$' cpu.folded       its callers and what it "
		 "calls\n"
		 "  ebprof report --across file a.pb.gz b.pb.gz       both beside one "
		 "another\n"
		 "  ebprof report --serve --open cpu.pb.gz            the same as a page in a "
		 "browser\n"
		 "  ebprof report --from 3s --to 5s cpu.pb.gz         two seconds of a timeline\n"
		 "  ebprof report perf.data                           what perf recorded\n",
	.rows = rows,
	.more = more,
	.run = run,
};
