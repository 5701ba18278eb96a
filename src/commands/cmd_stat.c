/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "collect/perf_events.h"
#include "collect/pmu.h"
#include "collect/tracefs.h"
#include "commands/commands.h"
#include "commands/targets.h"
#include "proc/cgroup_names.h"
#include "proc/launch.h"
#include "sinks/sink.h"
#include "stat/results.h"
#include "stat/run.h"
#include "stat/show.h"
#include "stat/show_parts.h"

#define SECOND 1000000000ull
#define RUNS_COMPARED 10	/* of each command, unless -r says otherwise */
#define RUNS_MAX 100000
#define TITLE_MAX 512
#define EVENTS_MAX 64
#define BETWEEN "---"		/* of two commands */

struct options {
	string_vec events;
	uint64_t runs, warmup, interval, duration;
	int_vec pids;
	int all, force, ignore_failure, show_output, hide_output;
	int per_thread, per_process, per_cpu, per_cgroup;
	const char *cgroup, *separator, *format, *file;
};

struct stat_command {
	struct options o;
	char **argv[2];		/* of the commands; [1] NULL: nothing is compared */
	struct event events[EVENTS_MAX + TOPDOWN_EVENTS];
	size_t n_events;	/* without those that top-down needs, which follow */
	struct stat_results results;
	struct targets targets;	/* of -G */
	/* Of its hierarchy, or of that in which cgroups are told apart. */
	char controller[sizeof(((struct cgroup *)0)->controller)];
	int status;		/* ours, where nothing failed */
	struct loop loop;
	struct counters *counting;	/* what an interval shows */
	double last[EVENTS_MAX + TOPDOWN_EVENTS];	/* its values at the last one's end, */
	struct stat_parts last_parts;	/* and those of what is told apart */
};

/* --- Options. ------------------------------------------------------------------------ */

#define AT(field) offsetof(struct options, field)

static int store_program(const char *option, const char *text, void *field, struct error *e)
{
	(void)option;
	(void)field;
	return launch_finds(text)
		       ? CLI_PROGRAM
		       : error_set(e, STATUS_USAGE, -EINVAL,
				   "'%s' is no option and no program; ebprof stat [OPTION]... -- "
				   "COMMAND",
				   text);
}

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "COMMAND", store_program, 0, NULL, 0 },
	CLI_HEADING("What is counted"),
	{ 'e', 0, "event", "EVENT[,EVENT...]", cli_strings, AT(events),
	  "these events (ebprof list names them); may be repeated", CLI_BRIEF },
	CLI_HEADING("Target (one of these, or -- COMMAND)"),
	{ 'p', 0, "pid", "PID", cli_pids, AT(pids), "a process, and what its threads start",
	  CLI_BRIEF },
	{ 'a', 0, "all", NULL, cli_flag, AT(all), "the whole machine", CLI_BRIEF },
	{ 'G', 0, "cgroup", "CGROUP", cli_string, AT(cgroup),
	  "a cgroup: path, or container id or name, pod/NAME", CLI_BRIEF },
	{ 'd', 0, "duration", "TIME", cli_duration, AT(duration),
	  "with -p, -a, -G: for so long; else until Ctrl-C or the process ends", CLI_BRIEF },
	CLI_HEADING("Told apart (one of these)"),
	{ 0, 0, "per-thread", NULL, cli_flag, AT(per_thread), "by thread, those that ended, too",
	  CLI_BRIEF },
	{ 0, 0, "per-process", NULL, cli_flag, AT(per_process), "by process", 0 },
	{ 0, 0, "per-cpu", NULL, cli_flag, AT(per_cpu), "by CPU", 0 },
	{ 0, 0, "per-cgroup", NULL, cli_flag, AT(per_cgroup), "by cgroup: containers, services",
	  0 },
	CLI_HEADING("Runs of commands"),
	{ 'r', 0, "repeat", "N", cli_count, AT(runs),
	  "run it N times (default 1; where two are compared, 10 of each)", CLI_BRIEF },
	{ 0, 0, "warmup", "N", cli_count, AT(warmup), "runs before these, which do not count", 0 },
	{ 0, 0, "ignore-failure", NULL, cli_flag, AT(ignore_failure),
	  "go on where a run fails; else that ends them", 0 },
	{ 0, 0, "show-output", NULL, cli_flag, AT(show_output),
	  "show what a command prints in all runs (default: where there is one run)", 0 },
	{ 0, 0, "hide-output", NULL, cli_flag, AT(hide_output), "show it in none", 0 },
	CLI_HEADING("Output"),
	{ 'I', 0, "interval", "MS", cli_millis, AT(interval),
	  "print the counts every MS milliseconds, too", CLI_BRIEF },
	{ 'o', 0, "output", "FILE", cli_string, AT(file), "write here, not to standard output",
	  CLI_BRIEF },
	{ 'f', 0, "format", "FORMAT", cli_string, AT(format), "table or json", CLI_BRIEF },
	{ 'x', 0, "field-separator", "SEP", cli_string, AT(separator),
	  "values alone, with this between them, as perf stat -x has them", 0 },
	{ 0, 0, "force", NULL, cli_flag, AT(force), "replace a write-protected file, too", 0 },
	CLI_END
};

static const struct cli_rule rules[] = {
	{ .one_of = "pid all cgroup COMMAND",
	  .why = "choose one target: -p, -a, -G or -- COMMAND" },
	{ .one_of = "per-thread per-process per-cpu per-cgroup",
	  .why = "counts are told apart by one thing: choose one --per-..." },
	{ .all = "duration", .any = "COMMAND",
	  .why = "-d is for what runs already; a command is counted until it ends (timeout(1) "
		 "ends it)" },
	{ .all = "repeat", .any = "pid all cgroup",
	  .why = "-r repeats a command, not a target that runs" },
	{ .one_of = "show-output hide-output",
	  .why = "--show-output and --hide-output exclude each other" },
	{ .one_of = "format field-separator", .why = "-x is a format of its own: leave out -f" },
	{ 0 }
};

/* The two commands behind "--". */
static int take_commands(struct stat_command *s, char **argv, struct error *e)
{
	s->argv[0] = argv;
	for (size_t i = 0; argv[i]; i++) {
		if (strcmp(argv[i], BETWEEN))
			continue;
		argv[i] = NULL;
		s->argv[1] = argv + i + 1;
		break;
	}
	if (!s->argv[0][0] || (s->argv[1] && !s->argv[1][0]))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "there are two commands, or one: -- OLD ARG... --- NEW ARG...");
	return 0;
}

static enum tally_by told_apart(const struct options *o)
{
	return o->per_thread	? TALLY_BY_THREAD
	       : o->per_process ? TALLY_BY_PROCESS
	       : o->per_cpu	? TALLY_BY_CPU
	       : o->per_cgroup	? TALLY_BY_CGROUP
				: TALLY_BY_NOTHING;
}

static int check(struct stat_command *s, struct error *e)
{
	s->results.by = told_apart(&s->o);
	if (!s->argv[0] && !s->o.pids.n && !s->o.all && !s->o.cgroup)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "nothing to count: ebprof stat -- COMMAND, -p PID, -G CGROUP "
				 "or -a");
	if (s->o.pids.n > 1)
		return error_set(e, STATUS_USAGE, -EINVAL, "-p takes one process here");
	if (s->o.runs > RUNS_MAX || s->o.warmup > RUNS_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "at most %d runs", RUNS_MAX);
	if (s->o.interval && (s->argv[1] || s->o.runs > 1))
		return error_set(e, STATUS_USAGE, -EINVAL, "-I is for what runs once");
	if (s->results.by && (s->argv[1] || s->o.runs > 1))
		return error_set(e, STATUS_USAGE, -EINVAL, "--per-... is for what runs once");
	if (s->o.format && strcmp(s->o.format, "table") && strcmp(s->o.format, "json"))
		return error_set(e, STATUS_USAGE, -EINVAL, "-f %s: there are table and json",
				 s->o.format);
	if (!s->o.runs)
		s->o.runs = s->argv[1] ? RUNS_COMPARED : 1;
	return 0;
}

/* --- Events. ------------------------------------------------------------------------- */

static const char defaults[] = "task-clock,context-switches,cpu-migrations,page-faults,"
			       "cycles,instructions,branches,branch-misses";

/* Those of @list, whose names have commas between them. */
static int add_events(struct stat_command *s, const char *list, const char *tracefs,
		      struct error *e)
{
	char name[sizeof(((struct event *)0)->name)];

	while (event_next(&list, name, sizeof(name))) {
		int err;

		if (s->n_events == EVENTS_MAX)
			return error_set(e, STATUS_USAGE, -EINVAL, "at most %d events", EVENTS_MAX);
		err = event_parse(name, tracefs, &s->events[s->n_events], e);
		if (err)
			return err;
		s->n_events++;
	}
	return 0;
}

/* Of the defaults those that few CPUs have: they take no row and no counter where they are not. */
static int add_rare(struct stat_command *s, struct error *e)
{
	static const char *const rare[] = { "stalled-cycles-frontend", "stalled-cycles-backend" };
	int err = 0;

	for (size_t i = 0; i < sizeof(rare) / sizeof(*rare) && !err; i++) {
		err = event_parse(rare[i], NULL, &s->events[s->n_events], e);
		s->n_events += !err && !perf_event_absent(&s->events[s->n_events]);
	}
	return err;
}

/*
 * What top-down needs, behind the events. Members of a group can be tried only with their leader:
 * where they cannot be had they have no shares later.
 */
static void add_topdown(struct stat_command *s)
{
	struct topdown t = topdown_find(PMU_DEVICES, s->events + s->n_events);

	for (size_t i = 0; i < (t.group ? 1 : t.n); i++)
		if (perf_event_absent(&s->events[s->n_events + i]))
			return;
	s->results.topdown = t;
}

/* What counts for a socket cannot be told apart. */
static int check_uncore(const struct stat_command *s, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < s->n_events && !err; i++)
		if (!s->o.all || s->results.by)
			err = pmu_refuse_uncore(&s->events[i], "-e ", e);
	return err;
}

static int find_events(struct stat_command *s, struct error *e)
{
	struct tracefs t;
	int err = 0;

	tracefs_open(&t);
	for (size_t i = 0; i < s->o.events.n && !err; i++)
		err = add_events(s, s->o.events.v[i], tracefs_events(&t), e);
	tracefs_close(&t);
	if (!err && !s->o.events.n)
		err = add_events(s, defaults, NULL, e);
	if (!err && !s->o.events.n)
		err = add_rare(s, e);
	if (!err && !s->o.events.n && !s->results.by)
		add_topdown(s);
	if (!err)
		err = check_uncore(s, e);
	if (!err && (s->results.by || s->o.cgroup) && s->n_events > TALLY_EVENTS)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "at most %d events with -G and --per-...", TALLY_EVENTS);
	return err;
}

/* The cgroup of -G; cgroups that are told apart are of its hierarchy. */
static int find_cgroup(struct stat_command *s, struct error *e)
{
	const struct target_options o = { .cgroup = s->o.cgroup };
	int err = o.cgroup ? targets_find(&s->targets, &o, e) : 0;

	if (o.cgroup)
		memcpy(s->controller, s->targets.cgroup.controller, sizeof(s->controller));
	else
		cgroup_hierarchy(s->controller, sizeof(s->controller));
	s->results.controller = s->controller;
	return err;
}

/* For one run. */
static struct counters *new_counters(struct stat_command *s)
{
	const struct topdown *t = &s->results.topdown;
	struct counters *c = counters_new(s->events, s->n_events + t->n);

	if (t->group)
		counters_group(c, s->n_events, t->n);
	if (s->results.by || s->o.cgroup)
		counters_tell_apart(c, s->results.by, s->targets.cgroup.id, s->controller);
	return c;
}

/* --- Counting. ----------------------------------------------------------------------- */

static void show_parts_interval(struct stat_command *s, double seconds)
{
	struct stat_parts now = stat_parts_new(s->counting, s->results.by, s->n_events,
					       s->controller);

	stat_parts_interval(&now, &s->last_parts, s->results.measures.v,
			    s->results.measures.n, seconds);
	stat_parts_free(&s->last_parts);
	s->last_parts = now;
}

static void show_value(const struct measure *m, double seconds, double value)
{
	char cell[64];

	printf("%12.3f s  %-24s  %14s\n", seconds, m->name,
	       stat_value(m, value, cell, sizeof(cell)));
}

/* What was counted since the last interval. */
static void show_interval(void *ctx, uint64_t elapsed)
{
	struct stat_command *s = ctx;
	const struct topdown *t = &s->results.topdown;
	double seconds = (double)elapsed / (double)SECOND, since[EVENTS_MAX + TOPDOWN_EVENTS];
	double shares[TOPDOWN_SHARES];
	const struct measure *m = s->results.measures.v + s->results.own;

	counters_look(s->counting);
	if (s->results.by)
		show_parts_interval(s, seconds);
	for (size_t i = 0; i < s->n_events + t->n && !s->results.by; i++) {
		double value = counters_read(s->counting, i).value;

		since[i] = value - s->last[i];
		s->last[i] = value;
		if (i < s->n_events && !counters_absent(s->counting, i))
			show_value(&m[i], seconds, since[i]);
	}
	if (t->n && !topdown_shares(t, since + s->n_events, shares))
		for (size_t i = 0; i < TOPDOWN_SHARES; i++)
			show_value(&m[s->n_events + i], seconds, 100 * shares[i]);
	fflush(stdout);
}

static int run_once(struct stat_command *s, int side, int counts, struct error *e)
{
	const struct run_ticks ticks = { s->o.interval, show_interval, s };
	int once = s->o.runs == 1 && !s->argv[1] && !s->o.warmup;
	int hidden = s->o.hide_output || (!s->o.show_output && !once);
	struct counters *c = new_counters(s);
	struct run r = { 0 };
	int err;

	s->counting = c;
	err = run_command(&r, s->argv[side], hidden, c, &s->loop, &ticks, e);
	s->counting = NULL;
	s->status = once || s->loop.asked ? r.status : STATUS_OK;
	if (!err && r.status && !once && !s->o.ignore_failure && !s->loop.asked)
		err = error_set(e, STATUS_ERROR, -ECANCELED,
				"'%s' ended with status %d; --ignore-failure counts it all the "
				"same, --show-output shows what it says",
				s->argv[side][0], r.status);
	if (!err && counts && (once || !s->loop.asked)) {
		stat_results_add_counts(&s->results, c, side);
		stat_results_add_run(&s->results, &r, side);
	}
	counters_free(c);
	return err;
}

static void show_progress(const struct stat_command *s, uint64_t run, uint64_t of)
{
	if (isatty(STDERR_FILENO) && of > 1)
		fprintf(stderr, "\r\033[Krun %llu of %llu%s", (unsigned long long)run + 1,
			(unsigned long long)of, s->argv[1] ? " of each" : "");
}

/* All runs; of two commands in turn, in an order that turns, too, so that neither gains by it. */
static int run_all(struct stat_command *s, struct error *e)
{
	const uint64_t all = s->o.warmup + s->o.runs;
	int sides = s->argv[1] ? 2 : 1, err = 0;

	for (uint64_t i = 0; i < all && !err && !s->loop.asked; i++) {
		show_progress(s, i, all);
		for (int k = 0; k < sides && !err && !s->loop.asked; k++)
			err = run_once(s, sides == 2 ? (k + (int)(i & 1)) & 1 : 0,
				       i >= s->o.warmup, e);
		s->results.done += i >= s->o.warmup && !err && (!s->loop.asked || s->o.runs == 1);
	}
	if (isatty(STDERR_FILENO) && all > 1)
		fprintf(stderr, "\r\033[K");
	return err;
}

static int count_beside(struct stat_command *s, struct error *e)
{
	const struct run_ticks ticks = { s->o.interval, show_interval, s };
	struct counters *c = new_counters(s);
	pid_t pid = s->o.pids.n ? s->o.pids.v[0] : 0;
	int err = pid ? counters_of_process(c, pid, e) : counters_of_machine(c, e);
	uint64_t took;

	if (!err) {
		s->counting = c;
		took = run_beside(c, pid, s->o.duration, &s->loop, &ticks);
		stat_results_add_time(&s->results, took);
		stat_results_add_counts(&s->results, c, 0);
		s->results.done = 1;
	}
	counters_free(c);
	return err;
}

/* --- The result. --------------------------------------------------------------------- */

/* A command's words, or which target it was. */
static void title(const struct stat_command *s, int side, char *to, size_t size)
{
	char raw[TITLE_MAX] = "";
	size_t n = 0;

	if (s->o.all)
		snprintf(raw, sizeof(raw), "the whole machine");
	else if (s->o.cgroup)
		snprintf(raw, sizeof(raw), "cgroup %.400s", s->targets.cgroup.path);
	else if (s->o.pids.n)
		snprintf(raw, sizeof(raw), "process %d", s->o.pids.v[0]);
	for (size_t i = 0; s->argv[side] && s->argv[side][i] && n < sizeof(raw) - 1; i++)
		n += (size_t)snprintf(raw + n, sizeof(raw) - n, "%s%s", i ? " " : "",
				      s->argv[side][i]);
	text_clean(to, size, raw);
}

/* Of the default events those that are missing are said once, not in rows. */
static void say_what_lacks(const struct stat_command *s)
{
	const char *between = "ebprof: this CPU or virtual machine does not count ";

	for (size_t i = 0; i < s->results.measures.n && !s->o.events.n; i++)
		if (s->results.measures.v[i].sides[0].absent) {
			fprintf(stderr, "%s%s", between, s->results.measures.v[i].name);
			between = ", ";
		}
	if (*between == ',')
		fputs("\n", stderr);
	if (s->results.user_only)
		fputs("ebprof: what happened in the kernel is not counted: that needs root, or "
		      "kernel.perf_event_paranoid at 1\n",
		      stderr);
	if (s->results.lost)
		fputs("ebprof: there were too many to tell all apart: some counts are missing\n",
		      stderr);
}

static int write_result(struct stat_command *s, struct sink *to, struct error *e)
{
	char titles[2][TITLE_MAX];
	struct stat_result r = { .titles = { titles[0], s->argv[1] ? titles[1] : NULL },
				 .runs = s->results.done,
				 .parts = s->results.by ? &s->results.parts : NULL };
	int err;

	say_what_lacks(s);
	stat_results_end(&s->results, !s->o.events.n);
	r.measures = s->results.measures.v;
	r.n = s->results.measures.n;
	for (int i = 0; i < 2; i++)
		title(s, i, titles[i], sizeof(titles[i]));
	if (s->o.separator)
		stat_show_values(sink_file(to), &r, s->o.separator);
	else if (s->o.format && !strcmp(s->o.format, "json"))
		stat_show_json(sink_file(to), &r);
	else
		stat_show_table(sink_file(to), &r);
	err = sink_commit(to, e);
	return err == -EPIPE ? 0 : err;
}

static int measure(struct stat_command *s, struct error *e)
{
	struct user u = user_invoking();
	const struct sink_target file = { .path = s->o.file, .user = &u, .force = s->o.force };
	struct sink *to = s->o.file ? sink_open(&file, e) : sink_open_stdout(e);
	int err = to ? loop_watch_signals(&s->loop, 0) : -EINVAL;

	if (!to)
		return err;
	if (err)
		error_set(e, STATUS_ERROR, err, "cannot watch signals: %s", strerror(-err));
	else
		err = s->argv[0] ? run_all(s, e) : count_beside(s, e);
	if (s->results.done && (!err || err == -ECANCELED)) {
		struct error late;
		int failed = write_result(s, to, err ? &late : e);

		return err ? err : failed;
	}
	sink_abandon(to);
	return err;
}

static void cleanup(struct stat_command *s)
{
	stat_results_free(&s->results);
	stat_parts_free(&s->last_parts);
	targets_free(&s->targets);
	vec_free(&s->o.events);
	vec_free(&s->o.pids);
	loop_close(&s->loop);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct stat_command s = { .loop = LOOP_NEW };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, &s.o, argc, argv, &rest, &e);

	if (err == CLI_ANSWERED)
		return STATUS_OK;
	if (!err && rest < argc)
		err = take_commands(&s, argv + rest, &e);
	if (!err)
		err = check(&s, &e);
	if (!err)
		err = find_events(&s, &e);
	if (!err)
		err = find_cgroup(&s, &e);
	/*
	 * Capabilities stay: nothing of others is read, and an exec that gives root's command more
	 * of them than it had before would end its counters (begin_new_exec()).
	 */
	if (!err) {
		stat_results_begin(&s.results, s.events, s.n_events, s.argv[0] != NULL);
		err = measure(&s, &e);
	}
	cleanup(&s);
	return err ? command_failed(&e) : s.status;
}

const struct cli_command command_stat = {
	.name = "stat",
	.summary = "count events of a command or a process; compare two commands",
	.usage = "stat [OPTION]... [--] COMMAND [ARG]...\n"
		 "stat [OPTION]... -- OLD [ARG]... --- NEW [ARG]...\n"
		 "stat [OPTION]... -p PID | -G CGROUP | -a",
	.about = "Counts events, with next to no cost, and says how much runs differ. Two commands "
		 "run in\n"
		 "turn, and are compared in pairs: what changed, and how sure that is.\n"
		 "  ebprof stat ./prog                      time, memory, CPUs, faults, cycles\n"
		 "  ebprof stat -r 20 -- ./old --- ./new    which is faster, and by how much\n"
		 "  ebprof stat -p 1234 -d 10 -I 1000       what a process does, second by second\n"
		 "  ebprof stat -a -e sched:sched_switch,msr/tsc/ -d 5\n"
		 "  ebprof stat -p 1234 -d 10 --per-thread  which threads do it\n"
		 "  ebprof stat -a -d 10 --per-cgroup       which containers and services\n",
	.rows = rows,
	.rules = rules,
	.starts = 1,
	.run = run,
};
