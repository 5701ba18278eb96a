/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "commands/commands.h"
#include "commands/saved.h"
#include "commands/view_options.h"
#include "commands/with_source.h"

struct options {
	string_vec inputs;
	struct result_options results;
	const char *type;
	int annotate, quiet;
	struct view_options view;
	struct with_source_options source;
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FILE", cli_strings, AT(inputs), NULL, 0 },
	CLI_HEADING("Output"),
	RESULT_OPTIONS_FILES(AT(results), "write here; may be repeated; - is standard output",
			     0),
	RESULT_OPTIONS_FORMAT(AT(results), "folded, html, pprof, ... (default: by the file's name)",
			      0),
	WITH_SOURCE_ON(AT(source), 0),
	WITH_SOURCE_DIR(AT(source), 0),
	RESULT_OPTIONS_FORCE(AT(results), 0),
	{ 0, 0, "sample-type", "NAME", cli_string, AT(type),
	  "which values, if the file has several", 0 },
	{ 0, 0, "annotate", NULL, cli_flag, AT(annotate),
	  "folded: mark kernel, inlined, JIT, ... frames _[k], _[i], _[j], ...", 0 },
	VIEW_OPTIONS_TABLE(AT(view), 0),
	VIEW_OPTIONS_PROFILE(AT(view)),
	{ 'q', 0, "quiet", NULL, cli_flag, AT(quiet), "do not name the files that were written",
	  0 },
	CLI_END
};

static int check(const struct options *o, struct error *e)
{
	if (o->inputs.n != 1)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "convert takes one file%s; see ebprof convert --help",
				 o->inputs.n ? "" : ", or - for standard input");
	if (results_check(&output_profiles, o->results.format, e))
		return -EINVAL;
	return with_source_check(&o->source, &o->results, e);
}

static int convert(const struct options *o, struct error *e)
{
	struct output_options output = { .annotate = o->annotate };
	struct with_source source = { 0 };
	struct profile *p = saved_read(o->inputs.v[0], o->type, e);
	int err;

	if (!p)
		return -EINVAL;
	view_options_apply(&o->view, p);
	view_options_output(&o->view, &output);
	with_source_begin(&source, &o->source, NULL);
	with_source_add(&source, p, &output);
	err = results_save(p, &o->results, o->quiet, &output, e);
	with_source_end(&source);
	profile_free(p);
	return err;
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, &o, argc, argv, &rest, &e);

	if (!err)
		err = check(&o, &e);
	if (!err)
		err = convert(&o, &e);
	vec_free(&o.inputs);
	vec_free(&o.source.dirs);
	vec_free(&o.results.files);
	return err < 0 ? command_failed(&e) : STATUS_OK;
}

static void more(FILE *to)
{
	results_help(&output_profiles, to);
}

const struct cli_command command_convert = {
	.name = "convert",
	.summary = "write a saved profile in another format",
	.usage = "convert [OPTION]... FILE",
	.about = "Writes a saved profile in another format: perf.data, pprof, folded stacks, perf "
		 "script's text,\n"
		 "or an html, json, firefox or speedscope file of ebprof's own, gzipped or not; - "
		 "is standard input.\n"
		 "  ebprof convert cpu.pb.gz -o cpu.folded\n"
		 "  ebprof convert perf.data -o cpu.pb.gz\n",
	.rows = rows,
	.more = more,
	.run = run,
};
