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
#define PUSH_FAULTS 100		/* of which one is taken */
#define PUSH_EVERY (15 * REFRESH_DEFAULT)
#define PUSH_LEAST (REFRESH_DEFAULT / 10)
#define PUSH_KEEP_FOR (7 * 24 * 3600 * REFRESH_DEFAULT)
#define PUSH_KEEP_BYTES (256u << 20)
#define PUSH_SPOOL_FOR (24 * 3600 * REFRESH_DEFAULT)
#define PUSH_SPOOL_BYTES (64u << 20)
/* names are asked for now and then: files are opened again rather than kept in memory for days */
#define PUSH_SYMBOLS (16u << 20)
#define LIVE_SYMBOLS (32u << 20)	/* the same, of top and serve */
#define PUSH_TABLES (16u << 20)	/* what has none is unwound in user space: few stacks are */
#define PUSH_SEND_TIMEOUT (30 * REFRESH_DEFAULT)

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
		err = with_source_check(&o->source, &o->results, e);
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

static int check_servers(const struct push_options *o, struct error *e)
{
	const struct courier_options *c = &o->places.courier;
	int bad = courier_bad_header(c);
	size_t servers = 0;

	for (size_t i = 0; i < o->to.n; i++)
		servers += (size_t)place_is_server(o->to.v[i]);
	if (servers > PLACE_SERVERS_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--to: at most %d servers",
				 PLACE_SERVERS_MAX);
	if (c->token_file && servers != 1)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--token-file: with one server, which gets the token");
	if (bad >= 0)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--header: 'NAME: VALUE'; secrets belong into --token-file");
	return 0;
}

/* What was not given. */
static void push_defaults(struct push_options *o)
{
	const struct { uint64_t *value, otherwise; } defaults[] = {
		{ &o->every, PUSH_EVERY },
		{ &o->places.keep_for, PUSH_KEEP_FOR },
		{ &o->places.keep_bytes, PUSH_KEEP_BYTES },
		{ &o->places.spool.keep_for, PUSH_SPOOL_FOR },
		{ &o->places.spool.keep_bytes, PUSH_SPOOL_BYTES },
		{ &o->places.courier.timeout, PUSH_SEND_TIMEOUT },
	};

	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		if (!*defaults[i].value)
			*defaults[i].value = defaults[i].otherwise;
}

static int check_push(struct push_options *o, struct error *e)
{
	if (!o->to.n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "where to? --to dir:PATH, a folder for the profiles; or a server: "
				 "--to otlp+http://HOST:4318; or --config");
	push_defaults(o);
	if (o->every < PUSH_LEAST || o->every > WINDOW_MOST)
		return error_set(e, STATUS_USAGE, -EINVAL, "--every: from 100ms to 1h");
	if (o->places.keep_for < o->every)
		return error_set(e, STATUS_USAGE, -EINVAL, "--keep-for: at least --every");
	return check_servers(o, e);
}

/* What goes on for ever takes less, unless the user asks for more. */
static void bound_sources(struct source_options *o, const struct push_options *push)
{
	if (o->page_faults && !o->samples.period)
		o->samples.period = PUSH_FAULTS;
	if (!o->samples.period && !o->samples.frequency)
		o->samples.frequency = PUSH_FREQUENCY;
	if (o->waits.off_cpu || o->waits.wall)
		o->waits.max_overhead = push->max_overhead;
	o->allocations.max_overhead = push->max_overhead;
	o->allocations.windows = 1;
}

int record_options_parse(struct record_options *o, const struct cli_command *c, int argc,
			 char **argv, struct error *e)
{
	int rest, err;

	if (c->bit == EBPROF_PUSH)
		o->config = (struct cli_config){ .fallback = PUSH_CONFIG, .unless = "to" };
	err = cli_parse(c, o, argc, argv, &rest, e);
	if (err)
		return err;
	if (rest < argc && has_target(&o->target))
		o->target.until = argv + rest;
	else if (rest < argc)
		o->target.command = argv + rest;
	if (c->bit == EBPROF_PUSH && !o->stack.unwind_memory)
		o->stack.unwind_memory = PUSH_TABLES;
	o->sources.live = c->bit == EBPROF_TOP || c->bit == EBPROF_SERVE;
	if (o->sources.live)
		o->names.memory = LIVE_SYMBOLS;
	if (c->bit == EBPROF_PUSH)
		bound_sources(&o->sources, &o->push);
	err = check(o, e);
	if (!err && c->bit == EBPROF_PUSH) {
		o->names.memory = PUSH_SYMBOLS;
		err = check_push(&o->push, e);
	}
	return err || c->bit != EBPROF_TOP ? err : check_live(&o->live, e);
}

void record_options_free(struct record_options *o)
{
	vec_free(&o->target.pids);
	vec_free(&o->target.tids);
	vec_free(&o->target.cpus);
	vec_free(&o->results.files);
	vec_free(&o->source.dirs);
	vec_free(&o->names.debug_dirs);
	vec_free(&o->push.to);
	vec_free(&o->push.places.courier.headers);
	vec_free(&o->push.labels);
	vec_free(&o->push.labels_from);
	cli_config_free(&o->config);
	source_options_free(&o->sources);
}
