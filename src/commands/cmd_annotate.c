/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotator.h"
#include "base/near.h"
#include "base/sandbox.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "commands/naming.h"
#include "commands/saved.h"
#include "output/annotation.h"
#include "sinks/sink.h"

struct options {
	string_vec inputs;		/* the function, then files; none: the last recording */
	string_vec source_dirs;
	const char *type;
	int quiet, debuginfod;
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FUNCTION", cli_strings, AT(inputs), NULL, 0 },
	{ 0, 0, "source-dir", "DIR", cli_strings, AT(source_dirs),
	  "look for source files here first; may be repeated", CLI_BRIEF },
	{ 0, 0, "debuginfod", NULL, cli_flag, AT(debuginfod),
	  "ask the servers in DEBUGINFOD_URLS for what is not here", 0 },
	SAVED_OPTIONS_TYPE(AT(type)),
	SAVED_OPTIONS_QUIET(AT(quiet)),
	CLI_END
};

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

/* NULL with @e filled: no such function was sampled. */
static struct annotation *make(const struct options *o, const struct profile *p,
			       struct debuginfod *servers, struct error *e)
{
	const char *name = o->inputs.v[0];
	struct annotator *by = annotator_new(
		&(struct annotator_options){ .source_dirs = o->source_dirs.v,
					     .n_source_dirs = o->source_dirs.n,
					     .debuginfod = servers });
	struct annotated_sums *sums = annotated_sums_new(p);
	struct annotation *a;

	/* What is read from here on is whoever's program that was. */
	sandbox_enter(&(struct sandbox_options){ .network = servers != NULL });
	a = annotator_make(by, p, sums, name, NULL);
	annotated_sums_free(sums);
	annotator_free(by);
	if (!a)
		unknown(p, name, e);
	return a;
}

static int annotate(const struct options *o, struct error *e)
{
	struct debuginfod *servers = NULL;
	struct profile *p = NULL;
	struct annotation *a = NULL;
	struct sink *s = NULL;
	int err = naming_open(&servers, &(struct name_options){ .debuginfod = o->debuginfod }, e);

	if (!err)
		p = o->inputs.n > 1
			    ? saved_read_all(o->inputs.v + 1, o->inputs.n - 1, o->type, e)
			    : saved_read_last(o->type, e);
	if (p)
		a = make(o, p, servers, e);
	if (a)
		s = sink_open_stdout(e);
	if (s) {
		annotation_write(a, sink_file(s));
		err = sink_commit(s, e);
	} else {
		err = err ? err : -EIO;
	}
	annotation_free(a);
	profile_free(p);
	debuginfod_free(servers);
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
