/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "commands/commands.h"
#include "selftest/findings.h"
#include "selftest/native.h"
#include "selftest/programs.h"
#include "selftest/trial.h"
#include "sinks/sink.h"

struct options {
	string_vec names;
	const char *format, *be;
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "PROGRAM", cli_strings, AT(names), NULL, 0 },
	{ 'f', 0, "format", "FORMAT", cli_string, AT(format), "table or json", CLI_BRIEF },
	{ 0, 0, "be", "PROGRAM", cli_string, AT(be), NULL, 0 },
	CLI_END
};

static const struct selftest_program *find(const char *name)
{
	for (const struct selftest_program *p = known_programs; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static int check(const struct options *o, struct error *e)
{
	if (o->format && strcmp(o->format, "table") && strcmp(o->format, "json"))
		return error_set(e, STATUS_USAGE, -EINVAL, "-f takes table or json, not '%s'",
				 o->format);
	for (size_t i = 0; i < o->names.n; i++)
		if (!find(o->names.v[i]))
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "there is no program '%s'; ebprof selftest --help lists "
					 "them", o->names.v[i]);
	return 0;
}

static int is_asked(const struct options *o, const char *name)
{
	for (size_t i = 0; i < o->names.n; i++)
		if (!strcmp(o->names.v[i], name))
			return 1;
	return !o->names.n;
}

static void show_progress(const char *name)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s%s", name, *name ? "..." : "");
}

/* Writes what was found; the exit status. */
static int conclude(struct sink *to, const struct options *o, const struct outcome *all, size_t n)
{
	const int json = o->format && !strcmp(o->format, "json");
	int status = STATUS_OK;

	for (size_t i = 0; i < n; i++) {
		if (!json)
			findings_line(sink_file(to), &all[i], sink_wants_color());
		if (all[i].state == OUTCOME_WRONG)
			status = STATUS_ERROR;
	}
	if (json)
		findings_json(sink_file(to), all, n);
	else
		findings_sum(sink_file(to), all, n);
	return status;
}

/* What a machine did once, because it was busy, it does not do twice. */
static enum status try_twice(const struct selftest_program *p, struct outcome *o)
{
	enum status status = trial_run(p, o);

	return o->state == OUTCOME_WRONG ? trial_run(p, o) : status;
}

static int selftest(const struct options *o, struct error *e)
{
	VEC(struct outcome) all = { 0 };
	struct sink *to = sink_open_stdout(e);
	int status = STATUS_OK, err;

	if (!to)
		return command_failed(e);
	for (const struct selftest_program *p = known_programs; p->name; p++) {
		struct outcome outcome;

		if (!is_asked(o, p->name))
			continue;
		show_progress(p->name);
		if (try_twice(p, &outcome) == STATUS_DENIED && !all.n) {
			/* What is refused to the first one is refused to all. */
			error_set(e, STATUS_DENIED, -EPERM, "%s", outcome.why);
			status = STATUS_DENIED;
			break;
		}
		vec_push(&all, outcome);
	}
	show_progress("");
	if (status) {
		sink_abandon(to);
		return command_failed(e);
	}
	status = conclude(to, o, all.v, all.n);
	vec_free(&all);
	err = sink_commit(to, e);
	return err && err != -EPIPE ? command_failed(e) : status;
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, &o, argc, argv, &rest, &e), status;

	if (!err)
		err = check(&o, &e);
	if (err)
		status = err < 0 ? command_failed(&e) : STATUS_OK;
	else if (o.be)
		status = native_run(o.be) ? STATUS_USAGE : STATUS_OK;
	else
		status = selftest(&o, &e);
	vec_free(&o.names);
	return status;
}

static void more(FILE *to)
{
	fputs("\nPrograms:", to);
	for (const struct selftest_program *p = known_programs; p->name; p++)
		fprintf(to, " %s", p->name);
	fputs("\nExit status: 0 all that could be recorded is right, 1 something is wrong, "
	      "3 nothing can be recorded.\n", to);
}

const struct cli_command command_selftest = {
	.name = "selftest",
	.summary = "record programs of known behaviour, and compare",
	.usage = "selftest [-f FORMAT] [PROGRAM]...",
	.about = "Records small programs of which it is known what they do, in native code and in "
		 "each runtime\n"
		 "that is installed, as record and alloc do, and says how far what they show is "
		 "off.\n",
	.rows = rows,
	.more = more,
	.run = run,
};
