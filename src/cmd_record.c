/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/clock.h"
#include "commands.h"
#include "no_samples.h"
#include "recording.h"
#include "result_files.h"
#include "summary.h"

/* From what was sampled to the exit status. */
static int finish(struct recording *r, struct result_files *files, uint64_t origin, struct error *e)
{
	struct profile *p = session_profile(r->session);
	const struct profile_account *a = profile_account(p);
	const struct output_options options = { .annotate = r->o.annotate };
	char none[NO_SAMPLES_TEXT] = "";
	int err, command;

	if (!a->taken)
		no_samples_why(r, none);
	recording_end_command(r);
	recording_describe(r, p);
	err = result_files_write(files, p, &options, e);
	session_save_names(r->session);
	if (!r->o.quiet)
		summary_show(p, &r->result, &r->o, origin, none);
	if (err)
		command_failed(e);
	command = recording_command_status(r);
	if (err)
		return (int)e->status;
	if (r->o.strict && (summary_lost(a) || r->result.skipped))
		return STATUS_LOST;
	if (r->launched && !r->command_stopped)
		return command;
	return a->taken ? STATUS_OK : STATUS_NO_SAMPLES;
}

static int record(struct recording *r, struct result_files *files, uint64_t origin, struct error *e)
{
	r->user = user_invoking();
	if (recording_find(r, e) || result_files_open(files, &r->o.files, r->o.format, &r->user, e) ||
	    recording_prepare(r, e) || recording_run(r, e))
		return command_failed(e);
	return finish(r, files, origin, e);
}

static int run(int argc, char **argv, int alloc)
{
	struct recording r = RECORDING_NEW(argv);
	struct result_files files = { 0 };
	struct error e = { .status = STATUS_ERROR };
	uint64_t origin = clock_ns();
	int status = STATUS_OK;

	r.o.alloc = alloc;
	r.files = &files;
	if (record_options_parse(&r.o, argc, argv, &e))
		status = command_failed(&e);
	else if (r.o.help)
		record_options_help(stdout);
	else if (r.o.version)
		puts("ebprof " EBPROF_VERSION);
	else
		status = record(&r, &files, origin, &e);
	result_files_free(&files);
	recording_cleanup(&r);
	return status;
}

int cmd_record(int argc, char **argv)
{
	return run(argc, argv, 0);
}

int cmd_alloc(int argc, char **argv)
{
	return run(argc, argv, 1);
}
