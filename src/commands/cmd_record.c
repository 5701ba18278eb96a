/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "commands/commands.h"
#include "commands/event_list.h"
#include "commands/hints.h"
#include "commands/last_recording.h"
#include "commands/no_samples.h"
#include "commands/packages.h"
#include "commands/recording.h"
#include "commands/summary.h"
#include "sinks/results.h"

/* Keeps it, and says how to come back to it where it was shown and is gone otherwise. */
static void keep(struct recording *r, struct profile *p)
{
	struct outfile *last = r->last;
	int err;

	r->last = NULL;
	if (!last)
		return;
	if (!profile_account(p)->taken) {
		outfile_abandon(last);
		return;
	}
	err = last_recording_write(last, p);
	if (r->o.quiet)
		return;
	if (err == -EFBIG)
		fprintf(stderr, "ebprof: too large to be kept for ebprof report (%u MiB at most); "
			"save it with -o out.pb.gz\n", LAST_RECORDING_BYTES >> 20);
	else if (!err && results_show(r->results))
		fputs("ebprof: this recording is kept: ebprof report opens it again, "
		      "ebprof report -o out.html draws it\n", stderr);
}

#define PROGRESS 250000000u	/* ns between two progress lines */

/* What is given turns while we record. */
struct turns {
	struct recording *r;
	int show;		/* a progress line */
	uint64_t shown;		/* when it was */
};

static size_t fds(void *ctx, struct pollfd p[LOOP_FDS])
{
	return recording_fds(((struct turns *)ctx)->r, p);
}

static uint64_t turn(void *ctx, uint64_t now)
{
	struct turns *t = ctx;
	const struct session_turn turn = session_turn(t->r->session, now, 0);
	struct session_progress p;

	if (t->show && now >= t->shown + PROGRESS) {
		session_progress(t->r->session, now, &p);
		progress_show(&p, t->r->o.duration);
		t->shown = now;
	}
	return recording_targets_ended(t->r) ? LOOP_DONE : turn.next;
}

/* Samples until an end comes. */
static int sample(struct recording *r, struct error *e)
{
	/* A command writes to the same terminal, and would have its lines wiped out. */
	struct turns t = { .r = r,
			   .show = !r->o.quiet && !r->o.target.command && !r->o.target.until &&
				   isatty(STDERR_FILENO) };
	const struct loop_consumer consumer = { fds, turn, &t };
	int err = recording_start(r, e);

	if (!err) {
		t.shown = session_started(r->session);
		recording_loop(r, &consumer, 1);
		session_finish(r->session, 1, &r->result);
	}
	if (t.show)
		progress_clear();
	return err;
}

/* From what was sampled to the exit status. */
static int finish(struct recording *r, struct results *results, struct with_source *source,
		  uint64_t origin, struct error *e)
{
	struct profile *p = session_profile(r->session);
	const struct profile_account *a = profile_account(p);
	struct output_options options = { .annotate = r->o.annotate };
	const struct hints_options hints = {
		.package_lists = PACKAGES_LISTS, .debuginfod = r->o.names.debuginfod,
		.debuginfod_urls = getenv("DEBUGINFOD_URLS") != NULL,
	};
	char none[NO_SAMPLES_TEXT] = "";
	int err, command;

	if (!a->taken && !r->o.sources.allocations.on)
		no_samples_why(r, none);
	summary_fill(p, &r->sources, &r->result,
		     &(struct summary_options){ none, r->o.verbose, origin });
	view_options_output(&r->o.view, &options);
	started_end(&r->command, &r->loop);
	recording_describe(r, p);
	with_source_add(source, p, &options);
	err = results_write(results, p, &options, e);
	session_save_names(r->session);
	if (!r->o.quiet) {
		summary_show(p);
		hints_show(p, &hints, stderr);
		results_name(results);
	}
	keep(r, p);
	if (err)
		command_failed(e);
	command = started_status(&r->command, &r->loop, r->o.quiet);
	if (err)
		return (int)e->status;
	if (r->o.strict && (summary_lost(a) || r->result.skipped))
		return STATUS_LOST;
	if (r->command.runs && !r->command.stopped)
		return command;
	return a->taken ? STATUS_OK : STATUS_NO_SAMPLES;
}

static int record(struct recording *r, struct results *results, uint64_t origin, struct error *e)
{
	struct with_source source = { 0 };
	int status;

	r->user = user_invoking();
	if (recording_find(r, e) ||
	    results_open(results, &output_profiles, &r->o.results, &r->user, e))
		return command_failed_because(e, r->o.verbose);
	r->last = r->o.no_keep ? NULL : last_recording_open(&r->user);
	with_source_begin(&source, &r->o.source, r->debuginfod);
	if (recording_prepare(r, e) || sample(r, e)) {
		with_source_end(&source);
		return command_failed_because(e, r->o.verbose);
	}
	status = finish(r, results, &source, origin, e);
	with_source_end(&source);
	return status;
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct recording r = RECORDING_NEW(argv);
	struct results results = { 0 };
	struct error e = { .status = STATUS_ERROR };
	uint64_t origin = clock_ns();
	int status = STATUS_OK, err;

	r.o.sources.allocations.on = c->bit == EBPROF_ALLOC;
	r.results = &results;
	r.times = 1;
	err = record_options_parse(&r.o, c, argc, argv, &e);
	if (!err)
		status = event_list_asked(&r.o.sources.samples.events)
				 ? event_list_print(NULL, 0, &e)
				 : record(&r, &results, origin, &e);
	else if (err < 0)
		status = command_failed(&e);
	results_free(&results);
	recording_cleanup(&r);
	return status;
}

static void more(FILE *to)
{
	results_help(&output_profiles, to);
	fputs("\nExit status: 0 done, 1 error, 2 usage, 3 not permitted, 4 no such target, 5 no "
	      "samples,\n"
	      "6 lost samples with --strict; with a COMMAND its own.\n",
	      to);
}

const struct cli_command command_record = {
	.name = "record",
	.summary = "which code runs, or waits, and how often (default)",
	.usage = "[record] [TARGET] [OPTION]... [[--] COMMAND ARG...]",
	.about = "Samples what runs, and shows which code it is.\n"
		 "  sudo ebprof -p PID -d 10                          a table on the terminal\n"
		 "  sudo ebprof -a -d 10 | flamegraph.pl > out.svg    folded stacks in a pipe\n"
		 "  sudo ebprof -o out.html ./prog ARG                a program from its first "
		 "instruction on\n"
		 "  sudo ebprof -p PID -- sleep 10                    as long as another command "
		 "runs\n",
	.rows = record_rows,
	.parts = source_parts,
	.rules = record_rules,
	.family = record_family,
	.bit = EBPROF_RECORD,
	.starts = 1,
	.more = more,
	.run = run,
};

const struct cli_command command_alloc = {
	.name = "alloc",
	.summary = "which code allocates memory, and what is never freed",
	.usage = "alloc [OPTION]... -p PID | [--] COMMAND ARG...\n"
		 "alloc --page-faults [TARGET] [OPTION]... [[--] COMMAND ARG...]",
	.about = "Follows memory from malloc() and related functions, or page faults.\n"
		 "  sudo ebprof alloc --leaks ./prog ARG              what it allocates and never "
		 "frees\n"
		 "  sudo ebprof alloc -p PID -d 10                    a running process; reports "
		 "the cost first\n"
		 "  sudo ebprof alloc --page-faults -a -d 60          what makes memory grow, for "
		 "next to nothing\n",
	.rows = record_rows,
	.parts = source_parts,
	.rules = record_rules,
	.family = record_family,
	.bit = EBPROF_ALLOC,
	.starts = 1,
	.more = more,
	.run = run,
};
