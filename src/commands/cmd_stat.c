/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "collect/tracefs.h"
#include "commands/commands.h"
#include "proc/launch.h"
#include "sinks/sink.h"
#include "stat/run.h"
#include "stat/show.h"

#define SECOND 1000000000ull
#define RUNS_COMPARED 10	/* of each command, unless -r says otherwise */
#define RUNS_MAX 100000
#define TITLE_MAX 512
#define EVENTS_MAX 64
#define BETWEEN "---"		/* of two commands */

/* What getrusage(2) and the clock tell, before the events. */
enum { ELAPSED, USER, SYSTEM, PEAK, OF_COMMANDS };

struct options {
	string_vec events;
	uint64_t runs, warmup, interval, duration;
	int_vec pids;
	int all, force, ignore_failure, show_output, hide_output;
	const char *separator, *format, *file;
};

struct stat_command {
	struct options o;
	char **argv[2];		/* of the commands; [1] NULL: nothing is compared */
	struct event events[EVENTS_MAX];
	size_t n_events;
	VEC(struct measure) measures;
	size_t own;		/* of them are before the events */
	size_t done;		/* runs of each side */
	int status;		/* of the last run */
	int user_only;
	struct loop loop;
	struct counters *counting;	/* what an interval shows */
	double last[EVENTS_MAX];	/* its values at the last one's end */
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
	  "these events (ebprof -e list names them); may be repeated", CLI_BRIEF },
	CLI_HEADING("Target (one of these, or -- COMMAND)"),
	{ 'p', 0, "pid", "PID", cli_pids, AT(pids), "a process, and what its threads start",
	  CLI_BRIEF },
	{ 'a', 0, "all", NULL, cli_flag, AT(all), "the whole machine", CLI_BRIEF },
	{ 'd', 0, "duration", "SECS", cli_duration, AT(duration),
	  "of -p and -a: so long; without it until Ctrl-C, or the process ends", CLI_BRIEF },
	CLI_HEADING("Runs of commands"),
	{ 'r', 0, "repeat", "N", cli_count, AT(runs),
	  "run it so often (1; 10 of each where two are compared)", CLI_BRIEF },
	{ 0, 0, "warmup", "N", cli_count, AT(warmup), "runs before these, which do not count",
	  CLI_BRIEF },
	{ 0, 0, "ignore-failure", NULL, cli_flag, AT(ignore_failure),
	  "go on where a run fails; else that ends them", CLI_BRIEF },
	{ 0, 0, "show-output", NULL, cli_flag, AT(show_output),
	  "what a command prints is seen in all runs, not where it runs once alone", 0 },
	{ 0, 0, "hide-output", NULL, cli_flag, AT(hide_output), "and in none", 0 },
	CLI_HEADING("Output"),
	{ 'I', 0, "interval", "MS", cli_millis, AT(interval),
	  "a line for each event so often, too", CLI_BRIEF },
	{ 'o', 0, "output", "FILE", cli_string, AT(file), "write here, not to standard output",
	  CLI_BRIEF },
	{ 'f', 0, "format", "FORMAT", cli_string, AT(format), "table or json", CLI_BRIEF },
	{ 'x', 0, "field-separator", "SEP", cli_string, AT(separator),
	  "values alone, with this between them, as perf stat -x has them", CLI_BRIEF },
	{ 0, 0, "force", NULL, cli_flag, AT(force), "replace a write-protected file, too", 0 },
	CLI_END
};

static const struct cli_rule rules[] = {
	{ .one_of = "pid all COMMAND", .why = "choose one target: -p, -a or -- COMMAND" },
	{ .all = "duration", .any = "COMMAND",
	  .why = "-d is for -p and -a; a command is counted until it ends (timeout(1) ends it)" },
	{ .all = "repeat", .any = "pid all",
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

static int check(struct stat_command *s, struct error *e)
{
	if (!s->argv[0] && !s->o.pids.n && !s->o.all)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "nothing to count: ebprof stat -- COMMAND, -p PID or -a");
	if (s->o.pids.n > 1)
		return error_set(e, STATUS_USAGE, -EINVAL, "-p takes one process here");
	if (s->o.runs > RUNS_MAX || s->o.warmup > RUNS_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "at most %d runs", RUNS_MAX);
	if (s->o.interval && (s->argv[1] || s->o.runs > 1))
		return error_set(e, STATUS_USAGE, -EINVAL, "-I is for what runs once");
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
	while (*list) {
		char name[sizeof(((struct event *)0)->name)];
		size_t n = strcspn(list, ",");
		int err;

		if (s->n_events == EVENTS_MAX)
			return error_set(e, STATUS_USAGE, -EINVAL, "at most %d events", EVENTS_MAX);
		snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : 0), list);
		err = event_parse(name, tracefs, &s->events[s->n_events], e);
		if (err)
			return err;
		s->n_events++;
		list += n + (list[n] == ',');
	}
	return 0;
}

static int find_events(struct stat_command *s, struct error *e)
{
	struct tracefs t;
	int err = 0;

	tracefs_open(&t);
	for (size_t i = 0; i < s->o.events.n && !err; i++)
		err = add_events(s, s->o.events.v[i], tracefs_events(&t), e);
	tracefs_close(&t);
	return s->o.events.n || err ? err : add_events(s, defaults, NULL, e);
}

static void make_measures(struct stat_command *s)
{
	static const struct measure own[OF_COMMANDS] = {
		[ELAPSED] = { .name = "elapsed", .unit = SERIES_NS },
		[USER] = { .name = "user", .unit = SERIES_NS },
		[SYSTEM] = { .name = "system", .unit = SERIES_NS },
		[PEAK] = { .name = "peak memory", .unit = SERIES_BYTES },
	};

	s->own = s->argv[0] ? OF_COMMANDS : ELAPSED + 1;
	for (size_t i = 0; i < s->own; i++)
		vec_push(&s->measures, own[i]);
	for (size_t i = 0; i < s->n_events; i++)
		vec_push(&s->measures,
			 (struct measure){ .name = s->events[i].name,
					   .unit = event_is_clock(&s->events[i]) ? SERIES_NS
										 : SERIES_COUNT });
	for (size_t i = 0; i < s->measures.n; i++)
		s->measures.v[i].sides[0].share = s->measures.v[i].sides[1].share = 1;
}

/* --- Counting. ----------------------------------------------------------------------- */

static void add(struct series *s, double value)
{
	vec_push(&s->v, value);
}

static void take_counts(struct stat_command *s, const struct counters *c, int side)
{
	for (size_t i = 0; i < s->n_events; i++) {
		struct series *to = &s->measures.v[s->own + i].sides[side];
		struct counted got = counters_read(c, i);

		to->absent = counters_absent(c, i);
		if (to->absent || got.share <= 0)
			continue;
		add(to, got.value);
		to->share = got.share < to->share ? got.share : to->share;
	}
	s->user_only |= counters_user_only(c);
}

static void take_run(struct stat_command *s, const struct run *r, int side)
{
	const double own[OF_COMMANDS] = {
		[ELAPSED] = (double)r->elapsed, [USER] = (double)r->user,
		[SYSTEM] = (double)r->system, [PEAK] = (double)r->peak,
	};

	for (size_t i = 0; i < OF_COMMANDS; i++)
		add(&s->measures.v[i].sides[side], own[i]);
}

/* What was counted since the last interval. */
static void show_interval(void *ctx, uint64_t elapsed)
{
	struct stat_command *s = ctx;
	char cell[64];

	for (size_t i = 0; i < s->n_events; i++) {
		double value = counters_read(s->counting, i).value;

		if (counters_absent(s->counting, i))
			continue;
		printf("%12.3f s  %-24s  %14s\n", (double)elapsed / (double)SECOND,
		       s->events[i].name,
		       stat_value(s->measures.v[s->own + i].unit, value - s->last[i], cell,
				  sizeof(cell)));
		s->last[i] = value;
	}
	fflush(stdout);
}

static int run_once(struct stat_command *s, int side, int counts, struct error *e)
{
	const struct run_ticks ticks = { s->o.interval, show_interval, s };
	int once = s->o.runs == 1 && !s->argv[1] && !s->o.warmup;
	int hidden = s->o.hide_output || (!s->o.show_output && !once);
	struct counters *c = counters_new(s->events, s->n_events);
	struct run r = { 0 };
	int err;

	s->counting = c;
	err = run_command(&r, s->argv[side], hidden, c, &s->loop, &ticks, e);
	s->counting = NULL;
	s->status = err ? (int)e->status : r.status;
	if (!err && r.status && !once && !s->o.ignore_failure && !s->loop.asked)
		err = error_set(e, STATUS_ERROR, -ECANCELED,
				"'%s' ended with status %d; --ignore-failure counts it all the "
				"same, --show-output shows what it says",
				s->argv[side][0], r.status);
	if (!err && counts && (once || !s->loop.asked)) {
		take_counts(s, c, side);
		take_run(s, &r, side);
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
		s->done += i >= s->o.warmup && !err && (!s->loop.asked || s->o.runs == 1);
	}
	if (isatty(STDERR_FILENO) && all > 1)
		fprintf(stderr, "\r\033[K");
	return err;
}

static int count_beside(struct stat_command *s, struct error *e)
{
	const struct run_ticks ticks = { s->o.interval, show_interval, s };
	struct counters *c = counters_new(s->events, s->n_events);
	pid_t pid = s->o.pids.n ? s->o.pids.v[0] : 0;
	int err = pid ? counters_of_process(c, pid, e) : counters_of_machine(c, e);
	uint64_t took;

	if (!err) {
		s->counting = c;
		took = run_beside(c, pid, s->o.duration, &s->loop, &ticks);
		add(&s->measures.v[ELAPSED].sides[0], (double)took);
		take_counts(s, c, 0);
		s->done = 1;
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
	else if (s->o.pids.n)
		snprintf(raw, sizeof(raw), "process %d", s->o.pids.v[0]);
	for (size_t i = 0; s->argv[side] && s->argv[side][i] && n < sizeof(raw) - 1; i++)
		n += (size_t)snprintf(raw + n, sizeof(raw) - n, "%s%s", i ? " " : "",
				      s->argv[side][i]);
	text_clean(to, size, raw);
}

/* Pairs of which one was not finished do not count. */
static void drop_halves(struct stat_command *s)
{
	for (size_t i = 0; i < s->measures.n; i++)
		for (int side = 0; side < 2; side++) {
			struct series *x = &s->measures.v[i].sides[side];

			x->v.n = x->v.n < s->done ? x->v.n : s->done;
		}
}

static void say_what_lacks(const struct stat_command *s)
{
	size_t absent = 0;

	for (size_t i = s->own; i < s->measures.n; i++)
		absent += s->measures.v[i].sides[0].absent != 0;
	if (absent && !s->o.events.n)
		fputs("ebprof: no cycles, instructions and the like: this CPU or virtual machine "
		      "does not count them\n",
		      stderr);
	if (s->user_only)
		fputs("ebprof: what happened in the kernel is not counted: that needs root, or "
		      "kernel.perf_event_paranoid at 1\n",
		      stderr);
}

/* Of the default events those that are missing are said once, not in rows. */
static void drop_absent(struct stat_command *s)
{
	size_t kept = s->own;

	for (size_t i = s->own; i < s->measures.n && !s->o.events.n; i++)
		if (!s->measures.v[i].sides[0].absent)
			s->measures.v[kept++] = s->measures.v[i];
	if (!s->o.events.n)
		s->measures.n = kept;
}

static int write_result(struct stat_command *s, struct sink *to, struct error *e)
{
	char titles[2][TITLE_MAX];
	struct stat_result r = { .titles = { titles[0], s->argv[1] ? titles[1] : NULL },
				 .runs = s->done };
	int err;

	say_what_lacks(s);
	drop_halves(s);
	drop_absent(s);
	r.measures = s->measures.v;
	r.n = s->measures.n;
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
	if (s->done && (!err || err == -ECANCELED)) {
		struct error late;
		int failed = write_result(s, to, err ? &late : e);

		return err ? err : failed;
	}
	sink_abandon(to);
	return err;
}

static void cleanup(struct stat_command *s)
{
	for (size_t i = 0; i < s->measures.n; i++)
		for (int side = 0; side < 2; side++)
			vec_free(&s->measures.v[i].sides[side].v);
	vec_free(&s->measures);
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
	/*
	 * Capabilities stay: nothing of others is read, and an exec that gives root's command more
	 * of them than it had before would end its counters (begin_new_exec()).
	 */
	if (!err) {
		make_measures(&s);
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
		 "stat [OPTION]... -p PID | -a",
	.about = "Counts events, with next to no cost, and says how much runs differ. Two commands "
		 "run in\n"
		 "turn, and are compared in pairs: what changed, and how sure that is.\n"
		 "\n"
		 "Examples:\n"
		 "  ebprof stat ./prog                    its time, memory, CPUs, faults, cycles\n"
		 "  ebprof stat -r 20 -- ./old --- ./new  which is faster, and by how much\n"
		 "  ebprof stat -p 1234 -d 10 -I 1000     what a process does, second by second\n"
		 "  ebprof stat -a -e sched:sched_switch -d 5\n",
	.rows = rows,
	.rules = rules,
	.starts = 1,
	.run = run,
};
