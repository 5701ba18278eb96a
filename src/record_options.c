/* SPDX-License-Identifier: MIT */
#include "record_options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "bpf/ebprof.h"
#include "result_files.h"

#define UNWIND_MEMORY_DEFAULT (256u << 20)
#define FREQUENCY_DEFAULT 99	/* not 100: a timer that runs in step with others sees only them */
#define MIN_BLOCK_DEFAULT 1000	/* ns */
#define OVERHEAD_DEFAULT 1.0	/* % of a CPU */
#define REFRESH_DEFAULT 1000000000ull	/* ns */
#define REFRESH_LEAST 100000000ull
#define WINDOW_DEFAULT (10 * REFRESH_DEFAULT)
#define WINDOW_MOST (3600 * REFRESH_DEFAULT)

#define ALLOC_INTERVAL_DEFAULT (512u << 10)	/* bytes */

#define ALLOC_INTERVAL_MAX (1ull << 36)
#define AT(field) offsetof(struct record_options, field)

/* Words to bits of enum ebp_kind. */
static int store_states(const char *option, const char *text, void *field, struct error *e)
{
	static const struct { const char *word; enum ebp_kind kind; } states[] = {
		{ "blocked", EBP_BLOCKED }, { "disk", EBP_DISK_WAIT }, { "runnable", EBP_RUNNABLE },
	};
	unsigned int *bits = field;

	while (*text) {
		size_t n = strcspn(text, ","), i = 0;

		while (i < sizeof(states) / sizeof(*states) && (strlen(states[i].word) != n || strncmp(states[i].word, text, n)))
			i++;
		if (i == sizeof(states) / sizeof(*states))
			return error_set(e, STATUS_USAGE, -EINVAL, "%s '%s': known states are blocked, disk and runnable",
					 option, text);
		*bits |= 1u << states[i].kind;
		text += n + (text[n] == ',');
	}
	return 0;
}

static int store_interval(const char *option, const char *text, void *field, struct error *e)
{
	uint64_t *interval = field;

	if (strcmp(text, "all"))
		return cli_count(option, text, field, e);
	*interval = ALLOC_ALL;
	return 0;
}

/* What all that samples can be told; a row of a table each. */
#define TARGET_ROWS \
	{ 'p', 0, "pid", "PID[,PID...]", cli_pids, AT(pids), "these processes, and what they forked and fork" }, \
	{ 't', 0, "tid", "TID[,TID...]", cli_pids, AT(tids), "these threads" }, \
	{ 'a', 0, "all", NULL, cli_flag, AT(all), "the whole system (default without a target)" }, \
	{ 'G', 0, "cgroup", "CGROUP", cli_string, AT(cgroup), "a cgroup's path, or a container's id or its beginning" }, \
	{ 'n', 0, "comm", "COMM", cli_string, AT(comm), "processes of this name" }, \
	{ 'C', 0, "cpus", "CPUS", cli_cpus, AT(cpus), "these CPUs only: 0-3,7" }, \
	{ 0, 0, "no-inherit", NULL, cli_flag, AT(no_inherit), "leave out what the targets fork" }, \
	{ 0, 0, "include-self", NULL, cli_flag, AT(include_self), "sample ebprof itself, too" }, \
	{ 0, 0, "include-idle", NULL, cli_flag, AT(include_idle), "sample idle CPUs, too" },
#define SOURCE_ROWS \
	{ 'd', 0, "duration", "TIME", cli_duration, AT(duration), "10, 10s, 500ms, 2m; else until Ctrl-C or the target ends" }, \
	{ 0, 0, "delay", "MS", cli_millis, AT(delay), "wait before the first sample" }, \
	{ 'F', 'r', "frequency", "HZ", cli_count, AT(frequency), "samples a second and CPU (default 99)" }, \
	{ 'e', 0, "event", "EVENT", cli_string, AT(event), "an event by its perf name (default cycles, else cpu-clock)" }, \
	{ 0, 0, "off-cpu", NULL, cli_flag, AT(off_cpu), "where threads wait, in time, instead of what they run (or with -e)" }, \
	{ 0, 0, "wall", NULL, cli_flag, AT(wall), "what threads run and where they wait, in one profile of time" }, \
	{ 0, 0, "wakers", NULL, cli_flag, AT(wakers), "who ended each wait stands above it" }, \
	{ 0, 0, "min-block", "TIME", cli_duration, AT(min_block), "leave out shorter waits (default 1us; with --wall none)" }, \
	{ 0, 0, "state", "STATE[,STATE...]", store_states, AT(states), "only these waits: blocked, disk, runnable" }, \
	{ 0, 0, "max-overhead", "PERCENT", cli_percent, AT(max_overhead), \
		"of each CPU, for the stacks of waits (default 1); alloc -p: of PID's time" }, \
	{ 'U', 0, "user", NULL, cli_flag, AT(user_only), "user stacks only" }, \
	{ 'K', 0, "kernel", NULL, cli_flag, AT(kernel_only), "kernel stacks only" }, \
	{ 0, 0, "per-thread", NULL, cli_flag, AT(per_thread), "tell threads apart" }, \
	{ 0, 0, "max-frames", "N", cli_count, AT(max_frames), "cut stacks at N frames (default and most: 511)" }, \
	{ 0, 0, "unwind-memory", "SIZE", cli_memory, AT(unwind_memory), "for unwind tables, at most (default 256M)" }, \
	{ 0, 0, "no-rescue", NULL, cli_flag, AT(no_rescue), "do not send stacks here that the kernel cannot unwind" }, \
	{ 0, 0, "buffer", "KIB", cli_kib, AT(buffer), "ring buffer for new stacks (default: by CPUs and rate)" },
#define ALLOC_ROWS \
	{ 0, 0, "alloc-interval", "BYTES", store_interval, AT(alloc_interval), \
		"alloc: a block every BYTES (default 524288), or all" }, \
	{ 0, 0, "allocator", "PATH:PREFIX", cli_strings, AT(allocators), \
		"alloc -p: PREFIXmalloc() and its like in PATH, too; may be repeated" }, \
	{ 0, 0, "leaks", NULL, cli_flag, AT(leaks), "alloc: show what was never freed" }, \
	{ 0, 0, "page-faults", NULL, cli_flag, AT(page_faults), "alloc: follow page faults instead: cheap, for any target" },
#define NAME_ROWS \
	{ 0, 0, "debug-dir", "DIR", cli_strings, AT(debug_dirs), "look for debug files here, too; may be repeated" }, \
	{ 0, 0, "debuginfod", NULL, cli_flag, AT(debuginfod), "ask the servers in DEBUGINFOD_URLS for debug files" }, \
	{ 0, 0, "no-cache", NULL, cli_flag, AT(no_cache), "neither use nor keep names found in earlier runs" }, \
	{ 0, 0, "vmlinux", "FILE", cli_string, AT(vmlinux), "the running kernel with its debug information" }, \
	{ 0, 0, "no-inline", NULL, cli_flag, AT(no_inline), "count inlined functions as what they went into" }, \
	{ 0, 0, "no-demangle", NULL, cli_flag, AT(no_demangle), "names as the linker knows them" }, \
	{ 0, 0, "short-templates", NULL, cli_flag, AT(short_templates), "names without the arguments of templates" }, \
	{ 0, 0, "why", NULL, cli_flag, AT(why), "tell in place of a missing name why it is missing" },
#define COMMON_ROWS \
	{ 'h', 0, "help", NULL, cli_flag, AT(help), "this text" }, \
	{ 'V', 0, "version", NULL, cli_flag, AT(version), "the version" }, \
	{ 'g', 0, NULL, NULL, cli_ignore, 0, NULL } /* perf's "with stacks": always */,

static const struct cli_option rows[] = {
	TARGET_ROWS
	SOURCE_ROWS
	{ 'c', 0, "count", "PERIOD", cli_count, AT(period), "one sample every PERIOD events, instead of -F" },
	{ 0, 0, "timeline", NULL, cli_flag, AT(timeline), "keep the time of each sample, for formats that show it" },
	ALLOC_ROWS
	{ 0, 0, "min-age", "TIME", cli_duration, AT(min_age), "alloc: what is younger at the end is not in use" },
	{ 0, 0, "hide-idle", NULL, cli_flag, AT(hide_idle), "leave out the waits of threads that did nothing but wait" },
	NAME_ROWS
	{ 'o', 0, "output", "FILE", cli_strings, AT(files), "write here; may be repeated; - is standard output" },
	{ 'f', 0, "format", "FORMAT", cli_string, AT(format), "see below (default: by the file's name)" },
	{ 0, 0, "title", "TEXT", cli_string, AT(title), "a title for formats that show one" },
	{ 0, 0, "annotate", NULL, cli_flag, AT(annotate), "folded: mark kernel, inlined and JIT frames _[k], _[i], _[j]" },
	{ 0, 0, "strict", NULL, cli_flag, AT(strict), "exit with 6 where a sample was lost" },
	{ 'q', 0, "quiet", NULL, cli_flag, AT(quiet), "no progress and no summary" },
	{ 'v', 0, "verbose", NULL, cli_flag, AT(verbose), "more about the recording itself" },
	COMMON_ROWS
	{ 0 },
};

static const struct cli_option top_rows[] = {
	{ 0, 0, "refresh", "TIME", cli_duration, AT(refresh), "how often what is shown is brought up to date (default 1s)" },
	{ 0, 0, "window", "TIME", cli_duration, AT(window), "show the samples of the last TIME (default 10s)" },
	{ 0, 0, "since-start", NULL, cli_flag, AT(since_start), "show all samples since the start" },
	{ 0, 0, "plain", NULL, cli_flag, AT(plain), "print a table each refresh (default where there is no terminal)" },
	{ 0, 0, "count", "N", cli_count, AT(tables), "end after N tables; implies --plain" },
	{ 0, 0, "rows", "N", cli_count, AT(rows), "at most N rows of each table" },
	TARGET_ROWS
	SOURCE_ROWS
	{ 0, 0, "alloc", NULL, cli_flag, AT(alloc), "memory, as ebprof alloc has it; v shows its other values" },
	ALLOC_ROWS
	{ 'c', 0, "period", "PERIOD", cli_count, AT(period), "one sample every PERIOD events, instead of -F" },
	NAME_ROWS
	COMMON_ROWS
	{ 0 },
};

/* Targets that exclude each other; -C goes with all of them. */
static int count_targets(const struct record_options *o)
{
	return (o->pids.n > 0) + (o->tids.n > 0) + (o->all != 0) + (o->cgroup != NULL) + (o->comm != NULL) +
	       (o->command != NULL);
}

static int check_rate(struct record_options *o, struct error *e)
{
	static const char sysctl[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	long most;

	if (o->frequency && o->period)
		return error_set(e, STATUS_USAGE, -EINVAL, "-F and -c exclude each other: a rate, or a number of events");
	if (!o->frequency && !o->period)
		o->frequency = FREQUENCY_DEFAULT;
	if (o->frequency && !file_read_long(sysctl, &most) && most > 0 && o->frequency > (uint64_t)most)
		return error_set(e, STATUS_USAGE, -EINVAL, "-F %llu is above this kernel's limit of %ld Hz; "
				 "lower it, or raise the limit: sudo sysctl kernel.perf_event_max_sample_rate=%llu",
				 (unsigned long long)o->frequency, most, (unsigned long long)o->frequency);
	return 0;
}

/* They are an event like others, but for their types of values. */
static int check_page_faults(struct record_options *o, struct error *e)
{
	if (o->alloc_interval || o->leaks || o->min_age || o->allocators.n || o->max_overhead > 0)
		return error_set(e, STATUS_USAGE, -EINVAL, "page faults tell where memory comes from, whose ever allocator asks "
				 "for it, not when it goes; leave out --alloc-interval, --allocator, --leaks, --min-age and "
				 "--max-overhead");
	if (o->event || o->off_cpu || o->wall || o->frequency)
		return error_set(e, STATUS_USAGE, -EINVAL, "--page-faults counts each of them, or one of -c PERIOD; "
				 "leave out -e, -F, --off-cpu and --wall");
	if (!o->period)
		o->period = 1;
	o->alloc = 0;
	return 0;
}

static int check_alloc(struct record_options *o, struct error *e)
{
	if (!o->alloc && (o->alloc_interval || o->leaks || o->min_age || o->page_faults || o->allocators.n))
		return error_set(e, STATUS_USAGE, -EINVAL, "--alloc-interval, --allocator, --leaks, --min-age and --page-faults "
				 "go with ebprof alloc, or top --alloc");
	if (o->page_faults)
		return check_page_faults(o, e);
	if (!o->alloc)
		return 0;
	if (!o->command && !o->pids.n)
		return error_set(e, STATUS_USAGE, -EINVAL, "ebprof alloc follows a command that it starts, or some processes: "
				 "ebprof alloc -- COMMAND, or -p PID; probes in all of them would slow all of them down, but "
				 "--page-faults is cheap enough for any target");
	if (o->alloc_interval != ALLOC_ALL && o->alloc_interval > ALLOC_INTERVAL_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--alloc-interval %llu: at most %llu",
				 (unsigned long long)o->alloc_interval, (unsigned long long)ALLOC_INTERVAL_MAX);
	if (o->event || o->off_cpu || o->wall || o->frequency || o->period || o->timeline || o->kernel_only || o->delay)
		return error_set(e, STATUS_USAGE, -EINVAL, "ebprof alloc follows allocations alone; leave out -e, -F, -c, -K, "
				 "--off-cpu, --wall, --timeline and --delay");
	if (o->command && o->max_overhead > 0)
		return error_set(e, STATUS_USAGE, -EINVAL, "--max-overhead goes with ebprof alloc -p: a command pays for its "
				 "samples alone, which a larger --alloc-interval makes fewer");
	if (o->command && o->allocators.n)
		return error_set(e, STATUS_USAGE, -EINVAL, "--allocator goes with ebprof alloc -p: of a command only functions "
				 "with the usual names can be replaced; start it, and follow it by -p");
	o->user_only = 1;
	if (!o->alloc_interval)
		o->alloc_interval = ALLOC_INTERVAL_DEFAULT;
	return 0;
}

static int check(struct record_options *o, struct error *e)
{
	int err;

	if (count_targets(o) > 1)
		return error_set(e, STATUS_USAGE, -EINVAL, "choose one target: -p, -t, -a, -G, -n or -- COMMAND");
	if (o->off_cpu && o->wall)
		return error_set(e, STATUS_USAGE, -EINVAL, "--off-cpu and --wall exclude each other: the latter has both");
	if ((o->off_cpu || o->wall) && o->timeline)
		return error_set(e, STATUS_USAGE, -EINVAL, "--timeline knows samples, not waits; leave it out with %s",
				 o->wall ? "--wall" : "--off-cpu");
	if (!(o->off_cpu || o->wall) && (o->min_block || o->states || o->wakers || o->hide_idle))
		return error_set(e, STATUS_USAGE, -EINVAL, "--wakers, --hide-idle, --min-block and --state go with --off-cpu "
				 "or --wall");
	if (!(o->off_cpu || o->wall || o->alloc) && o->max_overhead > 0)
		return error_set(e, STATUS_USAGE, -EINVAL, "--max-overhead goes with --off-cpu, --wall or ebprof alloc -p");
	if (o->user_only && o->kernel_only)
		return error_set(e, STATUS_USAGE, -EINVAL, "-U and -K exclude each other; "
				 "without both, user and kernel stacks are taken");
	if (o->comm && strlen(o->comm) >= EBP_COMM_LEN)
		return error_set(e, STATUS_USAGE, -EINVAL, "-n '%s': the kernel keeps %d characters of a name: try -n '%.*s'",
				 o->comm, EBP_COMM_LEN - 1, EBP_COMM_LEN - 1, o->comm);
	if (o->max_frames > EBP_FRAMES_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--max-frames %llu: at most %d",
				 (unsigned long long)o->max_frames, EBP_FRAMES_MAX);
	err = check_alloc(o, e);
	if (!err)
		err = result_files_check(o->format, e);
	if (!err)
		err = check_rate(o, e);
	if (err)
		return err;
	if (!o->min_block)
		o->min_block = o->wall ? 0 : MIN_BLOCK_DEFAULT;
	if (!o->states)
		o->states = ~0u;
	if (!(o->max_overhead > 0) && !o->alloc)
		o->max_overhead = OVERHEAD_DEFAULT;
	if (!o->max_frames)
		o->max_frames = EBP_FRAMES_MAX;
	if (!o->unwind_memory)
		o->unwind_memory = UNWIND_MEMORY_DEFAULT;
	return 0;
}

static int parse(const struct cli_option *table, struct record_options *o, int argc, char **argv, struct error *e)
{
	int rest, err = cli_parse(table, o, argc, argv, &rest, e);

	if (err || o->help || o->version)
		return err;
	if (rest < argc)
		o->command = argv + rest;
	else if (argc > 1 && !strcmp(argv[argc - 1], "--"))
		return error_set(e, STATUS_USAGE, -EINVAL, "no command behind --");
	return check(o, e);
}

int record_options_parse(struct record_options *o, int argc, char **argv, struct error *e)
{
	return parse(rows, o, argc, argv, e);
}

int record_options_parse_top(struct record_options *o, int argc, char **argv, struct error *e)
{
	int err = parse(top_rows, o, argc, argv, e);

	if (!o->refresh)
		o->refresh = REFRESH_DEFAULT;
	if (!o->window)
		o->window = WINDOW_DEFAULT;
	if (!err && o->refresh < REFRESH_LEAST)
		return error_set(e, STATUS_USAGE, -EINVAL, "--refresh: at least 100ms");
	if (!err && o->alloc && o->max_overhead > 0)
		return error_set(e, STATUS_USAGE, -EINVAL, "top --alloc shows all the time, not slices of it; "
				 "--max-overhead goes with ebprof alloc -p");
	if (!err && (o->window < o->refresh || o->window > WINDOW_MOST))
		return error_set(e, STATUS_USAGE, -EINVAL, "--window: from --refresh to 1h; or --since-start");
	return err;
}

void record_options_free(struct record_options *o)
{
	vec_free(&o->pids);
	vec_free(&o->tids);
	vec_free(&o->cpus);
	vec_free(&o->files);
	vec_free(&o->debug_dirs);
	vec_free(&o->allocators);
}

void record_options_help(FILE *to)
{
	fputs("Usage: ebprof [record] [TARGET] [OPTION]... [-- COMMAND ARG...]\n"
	      "       ebprof alloc [OPTION]... -p PID | -- COMMAND ARG...  or  ebprof alloc --page-faults [TARGET] [OPTION]...\n"
	      "       ebprof top [TARGET] [OPTION]...    the same, live\n"
	      "       ebprof report [OPTION]... FILE     ebprof convert [OPTION]... FILE     ebprof doctor\n"
	      "       ebprof diff [OPTION]... BEFORE AFTER\n"
	      "Samples what runs, and shows which code it is. Needs root or capabilities: ebprof doctor.\n"
	      "  sudo ebprof -p PID -d 10                          a table on the terminal\n"
	      "  sudo ebprof -a -d 10 | flamegraph.pl > out.svg    folded stacks in a pipe\n"
	      "  sudo ebprof -o out.folded -- COMMAND              from its first instruction\n\n", to);
	cli_help(rows, to);
	result_files_help(to);
	fputs("Exit status: 0 done, 1 error, 2 usage, 3 not permitted, 4 no such target, 5 no samples,\n"
	      "6 lost samples with --strict; with -- COMMAND the command's own. See ebprof(1).\n", to);
}

void record_options_help_top(FILE *to)
{
	fputs("Usage: ebprof top [TARGET] [OPTION]... [-- COMMAND ARG...]\n"
	      "Shows live which code runs. On a terminal, ? lists the keys; elsewhere it prints a table each refresh.\n"
	      "  sudo ebprof top                                   the whole machine\n"
	      "  sudo ebprof top -p PID --window 30                a process, its last 30 seconds\n"
	      "  sudo ebprof top --count 3 --rows 10 -n nginx      three tables\n"
	      "  sudo ebprof top --alloc -- ./server               what it allocates, and what is in use\n\n", to);
	cli_help(top_rows, to);
}
