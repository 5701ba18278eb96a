/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/user.h"
#include "cli.h"
#include "commands.h"
#include "result_files.h"
#include "saved.h"

struct options {
	string_vec inputs, files;
	const char *format, *type;
	int annotate, help;
};

#define AT(field) offsetof(struct options, field)

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "FILE", cli_strings, AT(inputs), NULL },
	{ 'o', 0, "output", "FILE", cli_strings, AT(files), "write here; may be repeated; - is standard output" },
	{ 'f', 0, "format", "FORMAT", cli_string, AT(format), "see below (default: by the file's name)" },
	{ 0, 0, "sample-type", "NAME", cli_string, AT(type), "of a file that has several" },
	{ 0, 0, "annotate", NULL, cli_flag, AT(annotate), "folded: mark kernel, inlined and JIT frames _[k], _[i], _[j]" },
	{ 'h', 0, "help", NULL, cli_flag, AT(help), "this text" },
	{ 0 },
};

static void help(void)
{
	fputs("Usage: ebprof convert [OPTION]... FILE\n"
	      "Writes a saved profile (pprof, folded stacks, perf script's text, gzipped or not; - is standard\n"
	      "input) in another format.\n"
	      "  ebprof convert cpu.pb.gz -o cpu.folded\n"
	      "  perf script | ebprof convert - -f top\n\n", stdout);
	cli_help(rows, stdout);
	result_files_help(stdout);
}

static int check(const struct options *o, struct error *e)
{
	if (o->inputs.n != 1)
		return error_set(e, STATUS_USAGE, -EINVAL, "convert takes one file%s; see ebprof convert --help",
				 o->inputs.n ? "" : ", or - for standard input");
	return result_files_check(o->format, e);
}

static int convert(const struct options *o, struct error *e)
{
	const struct output_options output = { .annotate = o->annotate };
	const struct user user = user_invoking();
	struct result_files files = { 0 };
	struct profile *p = saved_read(o->inputs.v[0], o->type, e);
	int err = p ? result_files_open(&files, &o->files, o->format, &user, e) : -EINVAL;

	if (!err)
		err = result_files_write(&files, p, &output, e);
	result_files_free(&files);
	profile_free(p);
	return err;
}

int cmd_convert(int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int status = STATUS_OK, rest;

	if (cli_parse(rows, &o, argc, argv, &rest, &e))
		status = command_failed(&e);
	else if (o.help)
		help();
	else if (check(&o, &e) || convert(&o, &e))
		status = command_failed(&e);
	vec_free(&o.inputs);
	vec_free(&o.files);
	return status;
}
