/* SPDX-License-Identifier: MIT */
#include "commands/record_options.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "bpf/ebprof.h"
#include "commands/option_rules.h"
#include "sinks/results.h"

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

/* A command goes with these, and is then not the target. */
static int has_target(const struct target_options *o)
{
	return o->pids.n || o->tids.n || o->all || o->cgroup || o->comm;
}

static int check_rate(struct record_options *o, struct error *e)
{
	static const char sysctl[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	long most = 0;

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

/* A default of its own for memory: all page faults, or the user stacks of some blocks. */
static int check_alloc(struct record_options *o, struct error *e)
{
	if (o->alloc_interval != ALLOC_ALL && o->alloc_interval > ALLOC_INTERVAL_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--alloc-interval %llu: at most %llu",
				 (unsigned long long)o->alloc_interval,
				 (unsigned long long)ALLOC_INTERVAL_MAX);
	if (o->page_faults) {
		o->period = o->period ? o->period : 1;
		o->alloc = 0;
	}
	if (!o->alloc)
		return 0;
	o->stack.user_only = 1;
	if (!o->alloc_interval)
		o->alloc_interval = ALLOC_INTERVAL_DEFAULT;
	return 0;
}

static void set_defaults(struct record_options *o)
{
	if (!o->min_block)
		o->min_block = o->wall ? 0 : MIN_BLOCK_DEFAULT;
	if (!o->states)
		o->states = ~0u;
	if (!overhead_given(o) && !o->alloc)
		o->max_overhead = OVERHEAD_DEFAULT;
	if (!o->stack.max_frames)
		o->stack.max_frames = EBP_FRAMES_MAX;
	if (!o->stack.unwind_memory)
		o->stack.unwind_memory = UNWIND_MEMORY_DEFAULT;
}

static int check(struct record_options *o, unsigned int command, struct error *e)
{
	int err = option_rules_check(o, command, e);

	if (err)
		return err;
	if (o->target.comm && strlen(o->target.comm) >= EBP_COMM_LEN)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-n '%s': the kernel keeps %d characters of a name: try -n '%.*s'",
				 o->target.comm, EBP_COMM_LEN - 1, EBP_COMM_LEN - 1,
				 o->target.comm);
	if (o->stack.max_frames > EBP_FRAMES_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--max-frames %llu: at most %d",
				 (unsigned long long)o->stack.max_frames, EBP_FRAMES_MAX);
	err = check_alloc(o, e);
	if (!err)
		err = results_check(&output_profiles, o->results.format, e);
	if (!err)
		err = check_rate(o, e);
	if (!err)
		set_defaults(o);
	return err;
}

static int check_live(struct live_options *o, struct error *e)
{
	if (!o->refresh)
		o->refresh = REFRESH_DEFAULT;
	if (!o->window)
		o->window = WINDOW_DEFAULT;
	if (o->refresh < REFRESH_LEAST)
		return error_set(e, STATUS_USAGE, -EINVAL, "--refresh: at least 100ms");
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
	if (rest < argc && has_target(&o->target))
		o->target.until = argv + rest;
	else if (rest < argc)
		o->target.command = argv + rest;
	else if (argc > 1 && !strcmp(argv[argc - 1], "--"))
		return error_set(e, STATUS_USAGE, -EINVAL, "no command after --");
	err = check(o, c->bit, e);
	if (err || c->bit != EBPROF_TOP)
		return err;
	/* It shows all the time, so no part of it is left out. */
	if (o->alloc)
		o->max_overhead = OVERHEAD_NONE;
	return check_live(&o->live, e);
}

void record_options_free(struct record_options *o)
{
	vec_free(&o->target.pids);
	vec_free(&o->target.tids);
	vec_free(&o->target.cpus);
	vec_free(&o->results.files);
	vec_free(&o->names.debug_dirs);
	vec_free(&o->allocators);
}
