/* SPDX-License-Identifier: MIT */
#include "commands/record_options.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "bpf/ebprof.h"
#include "commands/result_files.h"

#define UNWIND_MEMORY_DEFAULT (256u << 20)
#define FREQUENCY_DEFAULT 99	/* not 100: a timer that runs in step with others sees only them */
#define FREQUENCY_UNLIMITED 100000	/* -F max where the kernel names no limit: its default */
#define MIN_BLOCK_DEFAULT 1000	/* ns */
#define OVERHEAD_DEFAULT 1.0	/* % of a CPU */
#define REFRESH_DEFAULT 1000000000ull	/* ns */
#define REFRESH_LEAST 100000000ull
#define WINDOW_DEFAULT (10 * REFRESH_DEFAULT)
#define WINDOW_MOST (3600 * REFRESH_DEFAULT)

#define ALLOC_INTERVAL_DEFAULT (512u << 10)	/* bytes */

#define ALLOC_INTERVAL_MAX (1ull << 36)

/* Targets that exclude each other; -C and a command go with all of them. */
static int count_targets(const struct record_options *o)
{
	return (o->pids.n > 0) + (o->tids.n > 0) + (o->all != 0) + (o->cgroup != NULL) +
	       (o->comm != NULL);
}

static int check_rate(struct record_options *o, struct error *e)
{
	static const char sysctl[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	long most = 0;

	if (o->frequency && o->period)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-F and -c exclude each other: a rate, or a number of events");
	if (!o->frequency && !o->period)
		o->frequency = FREQUENCY_DEFAULT;
	if (o->frequency && file_read_long(sysctl, &most))
		most = 0;
	if (o->frequency == CLI_RATE_MAX)
		o->frequency = most > 0 ? (uint64_t)most : FREQUENCY_UNLIMITED;
	if (o->frequency && most > 0 && o->frequency > (uint64_t)most)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-F %llu is above this kernel's limit of %ld Hz; "
				 "lower it, or raise the limit: sudo sysctl "
				 "kernel.perf_event_max_sample_rate=%llu",
				 (unsigned long long)o->frequency, most,
				 (unsigned long long)o->frequency);
	return 0;
}

static int overhead_given(const struct record_options *o)
{
	return o->max_overhead > 0 || o->max_overhead < 0;
}

/* They are an event like others, but for their types of values. */
static int check_page_faults(struct record_options *o, struct error *e)
{
	if (o->alloc_interval || o->leaks || o->min_age || o->allocators.n || overhead_given(o))
		return error_set(
			e, STATUS_USAGE, -EINVAL,
			"page faults tell where memory comes from, whose ever allocator asks "
			"for it, not when it goes; leave out --alloc-interval, --allocator, "
			"--leaks, --min-age and "
			"--max-overhead");
	if (o->event || o->off_cpu || o->wall || o->frequency)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--page-faults counts each of them, or one of -c PERIOD; "
				 "leave out -e, -F, --off-cpu and --wall");
	if (!o->period)
		o->period = 1;
	o->alloc = 0;
	return 0;
}

static int check_alloc(struct record_options *o, struct error *e)
{
	if (!o->alloc &&
	    (o->alloc_interval || o->leaks || o->min_age || o->page_faults || o->allocators.n))
		return error_set(
			e, STATUS_USAGE, -EINVAL,
			"--alloc-interval, --allocator, --leaks, --min-age and --page-faults "
			"go with ebprof alloc, or top --alloc");
	if (o->page_faults)
		return check_page_faults(o, e);
	if (!o->alloc)
		return 0;
	if (!o->command && !o->pids.n)
		return error_set(
			e, STATUS_USAGE, -EINVAL,
			"ebprof alloc follows a command that it starts, or some processes: "
			"ebprof alloc -- COMMAND, or -p PID; probes in all of them would slow all "
			"of them down, but "
			"--page-faults is cheap enough for any target");
	if (o->alloc_interval != ALLOC_ALL && o->alloc_interval > ALLOC_INTERVAL_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--alloc-interval %llu: at most %llu",
				 (unsigned long long)o->alloc_interval,
				 (unsigned long long)ALLOC_INTERVAL_MAX);
	if (o->event || o->off_cpu || o->wall || o->frequency || o->period || o->timeline ||
	    o->kernel_only || o->delay)
		return error_set(
			e, STATUS_USAGE, -EINVAL,
			"ebprof alloc follows allocations alone; leave out -e, -F, -c, -K, "
			"--off-cpu, --wall, --timeline and --delay");
	if (o->command && overhead_given(o))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--max-overhead goes with ebprof alloc -p: a command pays for its "
				 "samples alone, which a larger --alloc-interval makes fewer");
	if (o->command && o->allocators.n)
		return error_set(
			e, STATUS_USAGE, -EINVAL,
			"--allocator goes with ebprof alloc -p: of a command only functions "
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
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "choose one target: -p, -t, -a, -G or -n");
	if (o->off_cpu && o->wall)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--off-cpu and --wall exclude each other: the latter has both");
	if ((o->off_cpu || o->wall) && o->timeline)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--timeline knows samples, not waits; leave it out with %s",
				 o->wall ? "--wall" : "--off-cpu");
	if (!(o->off_cpu || o->wall) && (o->min_block || o->states || o->wakers || o->hide_idle))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--wakers, --hide-idle, --min-block and --state go with --off-cpu "
				 "or --wall");
	if (!(o->off_cpu || o->wall || o->alloc) && overhead_given(o))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--max-overhead goes with --off-cpu, --wall or ebprof alloc -p");
	if (o->user_only && o->kernel_only)
		return error_set(e, STATUS_USAGE, -EINVAL, "-U and -K exclude each other; "
				 "without both, user and kernel stacks are taken");
	if (o->comm && strlen(o->comm) >= EBP_COMM_LEN)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-n '%s': the kernel keeps %d characters of a name: try -n '%.*s'",
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
	if (!overhead_given(o) && !o->alloc)
		o->max_overhead = OVERHEAD_DEFAULT;
	if (!o->max_frames)
		o->max_frames = EBP_FRAMES_MAX;
	if (!o->unwind_memory)
		o->unwind_memory = UNWIND_MEMORY_DEFAULT;
	return 0;
}

static int check_top(struct record_options *o, struct error *e)
{
	if (!o->refresh)
		o->refresh = REFRESH_DEFAULT;
	if (!o->window)
		o->window = WINDOW_DEFAULT;
	if (o->refresh < REFRESH_LEAST)
		return error_set(e, STATUS_USAGE, -EINVAL, "--refresh: at least 100ms");
	if (o->alloc && overhead_given(o))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "top --alloc shows all the time, not slices of it; "
				 "--max-overhead goes with ebprof alloc -p");
	if (o->alloc)
		o->max_overhead = OVERHEAD_NONE;
	if (o->window < o->refresh || o->window > WINDOW_MOST)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--window: from --refresh to 1h; or --since-start");
	return 0;
}

int record_options_parse(struct record_options *o, const struct cli_command *c, int argc,
			 char **argv, struct error *e)
{
	int rest, err = cli_parse(c, o, argc, argv, &rest, e);

	if (err)
		return err;
	if (rest < argc && count_targets(o))
		o->until = argv + rest;
	else if (rest < argc)
		o->command = argv + rest;
	else if (argc > 1 && !strcmp(argv[argc - 1], "--"))
		return error_set(e, STATUS_USAGE, -EINVAL, "no command behind --");
	err = check(o, e);
	return !err && c->bit == EBPROF_TOP ? check_top(o, e) : err;
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
