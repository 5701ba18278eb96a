/* SPDX-License-Identifier: MIT */
#include "commands/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/text.h"
#include "collect/features.h"
#include "commands/naming.h"
#include "proc/procfs.h"

#define NICENESS -10		/* where we may; we use little of what it gives */
#define REST 30000000000ull	/* ns between two of recording_rest() */
#define TEXT_MAX 1024		/* bytes of a title and the like */

/* What we start: the target, or what says how long. NULL: nothing. */
static char **command_of(const struct recording *r)
{
	return r->o.target.command ? r->o.target.command : r->o.target.until;
}

/* Events and images are descriptors: take as many as we may have. */
static void raise_file_limit(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static void fill_collect(struct recording *r)
{
	const struct record_options *o = &r->o;
	struct collector_options *c = &r->collect;

	/* With a delay the command is past its exec when sampling starts. */
	if (o->target.command && o->delay)
		vec_push(&r->targets.ids, r->command.launch.pid);
	*c = (struct collector_options){
		.target = &o->target,
		.stack = &o->stack,
		.targets = r->targets.ids.v,
		.ntargets = r->targets.ids.n,
		.command = o->target.command && !o->delay ? r->command.launch.pid : 0,
		.cgroup = r->targets.cgroup.id,
		.cgroup_controller = r->targets.cgroup.controller,
	};
	if (!o->target.include_self)
		beside_pids(&r->beside, c->self);
	/* Asked for by number is asked for. */
	for (size_t i = 0; i < r->targets.list.n; i++)
		if (r->targets.list.v[i].tgid == getpid())
			c->self[0] = 0;
}

/* What the targets forked while all was loaded; forks from now on are followed in the kernel. */
static void add_forked(struct recording *r)
{
	for (size_t i = targets_find_forked(&r->targets, &r->o.target); i < r->targets.ids.n; i++)
		session_add_target(r->session, r->targets.ids.v[i]);
}

size_t recording_fds(void *recording, struct pollfd fds[LOOP_FDS])
{
	return session_fds(((struct recording *)recording)->session, fds);
}

static uint64_t follow(void *ctx, uint64_t now)
{
	(void)now;
	return session_follow(((struct recording *)ctx)->session);
}

static void fill_options(struct recording *r)
{
	r->sandbox = (struct sandbox_options){
		.refusals = r->beside.refusals,
		.command = r->command.launch.pid,
		.becomes_user = r->user.switched,
		.network = r->debuginfod != NULL,
		.terminal = r->terminal,
	};
	r->session_options = (struct session_options){
		.sources = &r->sources,
		.collect = r->collect,
		.symbols = naming_options(&r->o.names, &r->o.view, r->debuginfod, &r->beside),
		.remote = r->beside.remote,
		.sandbox = &r->sandbox,
		.why = r->o.names.why,
		.by = r->o.sources.samples.owners,
		.live = r->live,
		.lean = r->lean,
		.names_pause = r->names_pause,
		.self_contained = r->o.target.command && launch_self_contained(&r->command.launch),
	};
}

int recording_start(struct recording *r, struct error *e)
{
	const struct loop_consumer waiting = { recording_fds, follow, r };
	int err = 0;

	/*
	 * On a busy machine we would wait for our turn while stacks pile up and
	 * processes exit unread. After the fork: the command is not favoured.
	 */
	setpriority(PRIO_PROCESS, 0, NICENESS);
	fill_collect(r);
	fill_options(r);
	r->session = session_new(&r->session_options, e);
	if (!r->session)
		return -EIO;
	if (r->o.delay) {
		err = started_go(&r->command, &r->loop, e);
		if (!err && loop_run(&r->loop, &waiting, 1, clock_ns() + r->o.delay) == LOOP_ASKED)
			return 0;
	}
	if (!err)
		err = session_start(r->session, e);
	if (err)
		return err;
	add_forked(r);
	return r->o.delay ? 0 : started_go(&r->command, &r->loop, e);
}

void recording_loop(struct recording *r, const struct loop_consumer *consumers, size_t n)
{
	uint64_t started = session_started(r->session),
		 until = r->o.duration ? started + r->o.duration : UINT64_MAX;

	if (started) {
		r->next_rest = started + REST;
		session_ends(r->session, until, r->loop.signals);
		loop_run(&r->loop, consumers, n, until);
	}
	session_stop(r->session);
	/* Names may be long in coming: whoever asked for the end can ask again. */
	loop_read_signals(&r->loop);
	if (r->loop.asked)
		loop_unblock_signals(&r->loop);
}

int recording_targets_ended(const struct recording *r)
{
	return !r->o.target.until && targets_ended(&r->targets);
}

/* @text, cleaned, as a string of the profile. */
static uint32_t clean_string(struct profile *p, const char *text)
{
	char clean[TEXT_MAX];

	text_clean(clean, sizeof(clean), text);
	return profile_string(p, clean);
}

void recording_rest(struct recording *r, uint64_t now)
{
	if (now < r->next_rest)
		return;
	r->next_rest = now + REST;
	session_rest(r->session);
	heap_trim();
}

void recording_describe(const struct recording *r, struct profile *p)
{
	struct profile_meta *m = profile_meta(p);
	char text[TEXT_MAX] = "ebprof";
	struct utsname u;

	if (r->o.sources.allocations.on)
		strcat(text, " alloc");
	else if (r->server)
		strcat(text, " serve");
	for (char **arg = r->argv + 1; *arg; arg++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", *arg);
	m->command = clean_string(p, text);
	m->title = clean_string(p, r->o.view.title ? r->o.view.title : "");
	if (!uname(&u)) {
		snprintf(text, sizeof(text), "%s, %s %s %s", u.nodename, u.sysname, u.release,
			 u.machine);
		m->host = clean_string(p, text);
	}
}

static void drop_capabilities(const struct recording *r)
{
	caps_limit(CAPS_TO_SAMPLE | (r->user.switched ? CAPS_TO_BECOME_USER : 0u) |
		   (command_of(r) ? CAPS_TO_SIGNAL : 0u));
}

/* Starts the command, which waits, with what sources put into its environment. */
static int prepare_command(struct recording *r, struct error *e)
{
	char *env[SOURCE_ENVIRONMENT_MAX] = { NULL };
	int err;

	if (r->o.target.command)
		sources_environment(&r->sources, env);
	err = started_prepare(&r->command, command_of(r), *env ? env : NULL, e);
	for (char **text = env; *text; text++)
		free(*text);
	return err;
}

int recording_find(struct recording *r, struct error *e)
{
	int err;

	raise_file_limit();
	err = naming_open(&r->debuginfod, &r->o.names, e);
	if (!err)
		err = feature_require("pid namespace", e);
	if (!err)
		err = targets_find(&r->targets, &r->o.target, e);
	if (!err && r->targets.kthreads && r->o.stack.user_only)
		err = error_set(e, STATUS_USAGE, -EINVAL,
				"-U: a kernel thread has no user stack; leave -U out");
	if (!err)
		err = sources_choose(&r->sources, &r->o.sources, e);
	if (!err && r->times && !r->o.stack.no_timeline && sources_keep_times(&r->sources))
		r->o.stack.timeline = 1;
	return err;
}

int recording_prepare(struct recording *r, struct error *e)
{
	const struct beside_options beside = {
		.user = &r->user,
		.results = r->results,
		.last = r->last,
		.push = r->push,
		.server = r->server,
		.store = !r->o.names.no_cache,
		.demangle = !r->o.names.no_demangle,
	};
	const struct source_setup setup = {
		.target = &r->o.target,
		.ids = r->targets.ids.v,
		.nids = r->targets.ids.n,
		.forked = r->targets.list.n,
		.members = r->targets.ids.n ? r->targets.ids.v : r->targets.members.v,
		.nmembers = r->targets.ids.n ? r->targets.ids.n : r->targets.members.n,
		.notes = r->o.quiet ? NULL : stderr,
	};
	int err = beside_start(&r->beside, &beside, e);

	if (!err)
		err = sources_prepare(&r->sources, &setup, e);
	if (err)
		return err;
	drop_capabilities(r);
	err = loop_watch_signals(&r->loop, command_of(r) != NULL);
	if (err)
		return error_set(e, STATUS_ERROR, err, "cannot wait for signals: %s",
				 strerror(-err));
	return prepare_command(r, e);
}

void recording_cleanup(struct recording *r)
{
	started_cancel(&r->command);
	outfile_abandon(r->last);
	session_free(r->session);
	sources_free(&r->sources);
	debuginfod_free(r->debuginfod);
	beside_end(&r->beside);
	targets_free(&r->targets);
	loop_close(&r->loop);
	record_options_free(&r->o);
}
