/* SPDX-License-Identifier: MIT */
#include "commands/record_options.h"

#include <errno.h>
#include <string.h>

#include "bpf/ebprof.h"
#include "sinks/results.h"
#include "sources/sources.h"

#define UNWIND_MEMORY_DEFAULT (256u << 20)
#define REFRESH_DEFAULT 1000000000ull	/* ns */
#define REFRESH_LEAST 100000000ull
#define WINDOW_DEFAULT (10 * REFRESH_DEFAULT)
#define WINDOW_MOST (3600 * REFRESH_DEFAULT)
#define PUSH_FREQUENCY 19	/* all the time */
#define PUSH_EVERY (15 * REFRESH_DEFAULT)
#define PUSH_LEAST REFRESH_DEFAULT
#define PUSH_KEEP_FOR (7 * 24 * 3600 * REFRESH_DEFAULT)
#define PUSH_KEEP_BYTES (256u << 20)


/* A command goes with these, and is then not the target. */
static int has_target(const struct target_options *o)
{
	return o->pids.n || o->tids.n || o->all || o->cgroup || o->comm;
}

static void set_defaults(struct record_options *o)
{
	if (!o->stack.max_frames)
		o->stack.max_frames = EBP_FRAMES_MAX;
	if (!o->stack.unwind_memory)
		o->stack.unwind_memory = UNWIND_MEMORY_DEFAULT;
}

static int check(struct record_options *o, struct error *e)
{
	int err;

	if (o->target.comm && strlen(o->target.comm) >= EBP_COMM_LEN)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-n '%s': the kernel keeps %d characters of a name: try -n '%.*s'",
				 o->target.comm, EBP_COMM_LEN - 1, EBP_COMM_LEN - 1,
				 o->target.comm);
	if (o->stack.max_frames > EBP_FRAMES_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--max-frames %llu: at most %d",
				 (unsigned long long)o->stack.max_frames, EBP_FRAMES_MAX);
	err = results_check(&output_profiles, o->results.format, e);
	if (!err)
		err = sources_check(&o->sources, &o->stack, e);
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

static int check_push(struct push_options *o, struct error *e)
{
	if (!o->to.n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "where to? --to dir:PATH, a folder for the profiles");
	if (!o->every)
		o->every = PUSH_EVERY;
	if (!o->keep_for)
		o->keep_for = PUSH_KEEP_FOR;
	if (!o->keep_bytes)
		o->keep_bytes = PUSH_KEEP_BYTES;
	if (o->every < PUSH_LEAST || o->every > WINDOW_MOST)
		return error_set(e, STATUS_USAGE, -EINVAL, "--every: from 1s to 1h");
	if (o->keep_for < o->every)
		return error_set(e, STATUS_USAGE, -EINVAL, "--keep-for: at least --every");
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
	o->sources.live = c->bit == EBPROF_TOP;
	if (c->bit == EBPROF_PUSH && !o->sources.samples.period && !o->sources.samples.frequency)
		o->sources.samples.frequency = PUSH_FREQUENCY;
	err = check(o, e);
	if (!err && c->bit == EBPROF_PUSH)
		err = check_push(&o->push, e);
	return err || !o->sources.live ? err : check_live(&o->live, e);
}

void record_options_free(struct record_options *o)
{
	vec_free(&o->target.pids);
	vec_free(&o->target.tids);
	vec_free(&o->target.cpus);
	vec_free(&o->results.files);
	vec_free(&o->names.debug_dirs);
	vec_free(&o->push.to);
	source_options_free(&o->sources);
}
