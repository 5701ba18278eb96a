/* SPDX-License-Identifier: MIT */
#include "commands/recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/text.h"
#include "collect/features.h"
#include "collect/perf_events.h"
#include "collect/tracefs.h"
#include "commands/recording_alloc.h"
#include "proc/procfs.h"

#define NICENESS -10		/* where we may; we use little of what it gives */
#define TEXT_MAX 1024		/* bytes of a title and the like */
#define COMMAND_SHOWN 128	/* bytes of the command's name in a message */
#define PATIENCE 1000000000ull	/* ns for the command to end, before it is said that we wait */
#define PATIENCE_STEP 5		/* ms */
#define WORTH_KEEPING 30000000	/* ns of CPU time that the names of one file took */

/* What we start: the target, or what says how long. NULL: nothing. */
static char **command_of(const struct recording *r)
{
	return r->o.command ? r->o.command : r->o.until;
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

/* The event that the user names. */
static int parse_event(struct recording *r, struct error *e)
{
	struct tracefs t;
	int err;

	tracefs_open(&t);
	err = event_parse(r->o.event, tracefs_events(&t), &r->event, e);
	tracefs_close(&t);
	return err;
}

/* Hardware cycles where they can be had: they tick with the work, and their pc has no skid. */
static int choose_event(struct recording *r, struct error *e)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd;

	if (r->o.page_faults) {
		r->event = event_page_faults;
		return 0;
	}
	if (r->o.alloc || (!r->o.event && r->o.off_cpu)) {
		r->no_event = 1;
		return 0;
	}
	if (!r->o.event && r->o.wall)
		return event_parse("cpu-clock", NULL, &r->event, e);
	if (r->o.event)
		return parse_event(r, e);
	fd = perf_event_open(&attr, 0, -1);
	if (fd >= 0)
		close(fd);
	return event_parse(fd >= 0 ? "cycles" : "cpu-clock", NULL, &r->event, e);
}

/* A tracepoint has no rate of its own: every hit, as perf does, unless -c says otherwise. */
static void adapt_rate(struct recording *r)
{
	if (r->event.type != PERF_TYPE_TRACEPOINT)
		return;
	r->o.frequency = 0;
	if (!r->o.period)
		r->o.period = 1;
}

void recording_end_command(struct recording *r)
{
	loop_read_signals(&r->loop);
	loop_unblock_signals(&r->loop);
	if (r->launched && !r->loop.asked && !r->loop.child_ended) {
		r->command_stopped = 1;
		kill(r->launch.pid, SIGTERM);
	}
}

static void add_part(struct collector_options *c, const struct collector_part_ops *ops, void *ctx)
{
	c->parts[c->nparts++] = (struct collector_part){ ops, ctx };
}

/* What is measured, and how that is done in the kernel. */
static void choose_parts(struct recording *r)
{
	struct collector_options *c = &r->collect;
	const struct record_options *o = &r->o;
	struct event_part part = { .event = c->event, .frequency = c->frequency,
				   .period = c->period };

	if (o->page_faults) {
		r->page_faults = (struct page_faults){ part };
		add_part(c, &page_faults_kernel, &r->page_faults);
	} else if (c->event) {
		r->samples = (struct samples){ .part = part };
		add_part(c, &samples_kernel, &r->samples);
	}
	if (c->off_cpu) {
		r->waits.o = (struct waits_options){ .wall = o->wall,
						     .wakers = o->wakers,
						     .min_block = o->min_block,
						     .states = o->states,
						     .overhead = o->max_overhead / 100 };
		add_part(c, &waits_kernel, &r->waits);
	}
	if (o->alloc) {
		r->allocations.probes = &r->probes;
		add_part(c, &allocations_kernel, &r->allocations);
	}
}

static void fill_collect(struct recording *r)
{
	const struct record_options *o = &r->o;
	struct collector_options *c = &r->collect;
	size_t n = r->targets.list.n;

	r->target_ids = xcalloc(n + 1, sizeof(*r->target_ids));
	for (size_t i = 0; i < n; i++)
		r->target_ids[i] = r->targets.list.v[i].id;
	/* With a delay the command is past its exec when sampling starts. */
	if (o->command && o->delay)
		r->target_ids[n++] = r->launch.pid;
	*c = (struct collector_options){
		.event = r->no_event ? NULL : &r->event,
		.off_cpu = o->off_cpu || o->wall,
		.wall = o->wall,
		.alloc = o->alloc ? &r->probes : NULL,
		.frequency = o->frequency,
		.period = o->period,
		.targets = r->target_ids,
		.ntargets = n,
		.by_thread = o->tids.n > 0,
		.inherit = !o->no_inherit,
		.command = o->command && !o->delay ? r->launch.pid : 0,
		.comm = o->comm,
		.cgroup = r->targets.cgroup.id,
		.cgroup_controller = r->targets.cgroup.controller,
		.cpus = o->cpus.v,
		.ncpus = o->cpus.n,
		.user = !o->kernel_only,
		.kernel = !o->user_only,
		.timeline = o->timeline,
		.idle = o->include_idle,
		.max_frames = (uint32_t)o->max_frames,
		.rescue = !o->no_rescue,
		.ring_bytes = o->buffer,
	};
	choose_parts(r);
	if (!o->include_self) {
		c->self[0] = getpid();
		c->self[1] = keeper_pid(r->keeper);
		c->self[2] = remote_pid(r->remote);
		c->self[3] = r->demangler ? demangler_pid(r->demangler) : 0;
	}
	/* Asked for by number is asked for. */
	for (size_t i = 0; i < r->targets.list.n; i++)
		if (r->targets.list.v[i].tgid == getpid())
			c->self[0] = 0;
}

/* What the targets have forked before now; forks from now on are followed in the kernel. */
static void add_descendants(struct recording *r)
{
	pid_t *pids = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->o.pids.n; i++)
		procfs_descendants(r->o.pids.v[i], &pids, &n);
	while (n)
		session_add_target(r->session, pids[--n]);
	free(pids);
}

/* Follows the targets from now on, and lets the command go. */
static int begin_targets(struct recording *r, struct error *e)
{
	int err;

	if (!r->o.no_inherit)
		add_descendants(r);
	if (!command_of(r))
		return 0;
	err = launch_go(&r->launch, command_of(r)[0], e);
	r->launched = !err;
	r->loop.child = err ? 0 : r->launch.pid;
	return err;
}

size_t recording_fds(void *recording, struct pollfd fds[LOOP_FDS])
{
	return session_fds(((struct recording *)recording)->session, fds);
}

static uint64_t follow(void *ctx, uint64_t now)
{
	(void)now;
	session_follow(((struct recording *)ctx)->session);
	return LOOP_LATER;
}

static void fill_options(struct recording *r)
{
	r->sandbox = (struct sandbox_options){
		.refusals = r->refusals,
		.command = r->launch.pid,
		.becomes_user = r->user.switched,
		.network = r->debuginfod != NULL,
		.terminal = r->terminal,
	};
	r->session_options = (struct session_options){
		.collect = r->collect,
		.unwind_memory = r->o.unwind_memory,
		.symbols = {
			.debug_dirs = r->o.debug_dirs.v,
			.n_debug_dirs = r->o.debug_dirs.n,
			.debuginfod = r->debuginfod,
			.store = r->store,
			.worth_keeping = WORTH_KEEPING,
			.kernel = { .vmlinux = r->o.vmlinux },
			.demangler = r->demangler,
			.no_inline = r->o.view.no_inline,
			.no_demangle = r->o.no_demangle,
			.short_templates = r->o.view.short_templates,
		},
		.alloc = r->o.alloc ? &r->alloc : NULL,
		.allocations = r->o.alloc ? &r->allocations : NULL,
		.slices = r->probes.paused ? &r->slices : NULL,
		.leaks = r->o.leaks,
		.remote = r->remote,
		.sandbox = &r->sandbox,
		.why = r->o.why,
		.hide_idle = r->o.hide_idle,
		.per_thread = r->o.per_thread,
		.live = r->live,
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
		err = begin_targets(r, e);
		if (!err && loop_run(&r->loop, &waiting, 1, clock_ns() + r->o.delay) == LOOP_ASKED)
			return 0;
	}
	if (!err)
		err = session_start(r->session, e);
	return err || r->o.delay ? err : begin_targets(r, e);
}

void recording_loop(struct recording *r, const struct loop_consumer *consumers, size_t n)
{
	uint64_t started = session_started(r->session),
		 until = r->o.duration ? started + r->o.duration : UINT64_MAX;

	if (started) {
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
	return !r->o.until && targets_ended(&r->targets);
}

/* @text, cleaned, as a string of the profile. */
static uint32_t clean_string(struct profile *p, const char *text)
{
	char clean[TEXT_MAX];

	text_clean(clean, sizeof(clean), text);
	return profile_string(p, clean);
}

void recording_describe(const struct recording *r, struct profile *p)
{
	struct profile_meta *m = profile_meta(p);
	char text[TEXT_MAX] = "ebprof";
	struct utsname u;

	if (r->o.alloc)
		strcat(text, " alloc");
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

/* Waits for the command for a while: 1 where it has ended, and *@status is there. */
static int ends_soon(const struct recording *r, int *status)
{
	const uint64_t end = clock_ns() + PATIENCE;
	pid_t got;

	do {
		got = waitpid(r->launch.pid, status, WNOHANG);
		if (!got)
			poll(NULL, 0, PATIENCE_STEP);
	} while (!got && clock_ns() < end);
	return got == r->launch.pid;
}

/* It has been asked to end, by us or by who asked us. */
static void tell_waiting(const struct recording *r)
{
	struct procfs_stat st = { 0 };
	char name[COMMAND_SHOWN];

	text_clean(name, sizeof(name), command_of(r)[0]);
	fprintf(stderr, "ebprof: waiting for the command %s (PID %d), which ", name, r->launch.pid);
	if (!procfs_stat(r->launch.pid, &st) && (st.state == 'T' || st.state == 't'))
		fprintf(stderr, "is stopped; kill -CONT %d lets it go on and end", r->launch.pid);
	else
		fprintf(stderr, "goes on after SIG%s; kill -KILL %d ends it",
			sigabbrev_np(r->loop.asked ? r->loop.last_signal : SIGTERM), r->launch.pid);
	fputs(", Ctrl-C only ebprof\n", stderr);
}

int recording_command_status(const struct recording *r)
{
	int status = 0;

	if (!r->launched)
		return 0;
	if (ends_soon(r, &status))
		return launch_status(status);
	if (!r->o.quiet)
		tell_waiting(r);
	while (waitpid(r->launch.pid, &status, 0) < 0)
		if (errno != EINTR)
			return STATUS_ERROR;
	return launch_status(status);
}

static int open_debuginfod(struct recording *r, struct error *e)
{
	const char *why;

	r->debuginfod = r->o.debuginfod ? debuginfod_new() : NULL;
	if (r->debuginfod || !r->o.debuginfod)
		return 0;
	why = errno == EDESTADDRREQ ? "DEBUGINFOD_URLS is not set (sudo -E keeps it)"
	      : errno == ELIBACC
		      ? "libdebuginfod.so.1 is not installed; on Debian: apt install libdebuginfod1"
	      : errno == ENOTSUP ? "this is the static ebprof, which can load no library"
				 : strerror(errno);
	return error_set(e, STATUS_ERROR, -errno, "--debuginfod: %s", why);
}

/* The user named it: that it cannot be used is told at once. */
static int check_vmlinux(const struct recording *r, struct error *e)
{
	const struct kernel_places places = { .vmlinux = r->o.vmlinux };
	struct kernel_dwarf kernel;
	int err = r->o.vmlinux ? kernel_dwarf_open(&kernel, &places, NULL, 0, 0) : 0;
	const char *why = err == -ESTALE
				  ? "this is not the kernel that runs: its build id is another one"
			  : err == -ENODATA ? "there is no debug information in it"
			  : err == -ENOEXEC ? "this is not an ELF file"
					    : strerror(-err);

	if (err)
		return error_set(e, STATUS_ERROR, err, "--vmlinux %s: %s", r->o.vmlinux, why);
	if (r->o.vmlinux)
		kernel_dwarf_close(&kernel);
	return 0;
}

/*
 * Files are named, and names kept, by a process that reads nothing foreign. Memory is read, and
 * what may take for ever is demangled, by processes that may be lost.
 */
static int start_processes(struct recording *r, struct error *e)
{
	VEC(struct keeper_job) jobs = { 0 };
	size_t n = r->files ? r->files->files.n : 0;

	r->store = r->o.no_cache ? NULL : name_store_new(&r->user);
	for (size_t i = 0; i < n; i++)
		vec_push(&jobs, (struct keeper_job){ .work = outfile_keep,
						     .end = outfile_end,
						     .ctx = r->files->files.v[i].file });
	if (r->last)
		vec_push(&jobs, (struct keeper_job){
			.work = outfile_keep, .end = outfile_end, .ctx = r->last });
	if (r->store)
		vec_push(&jobs, (struct keeper_job){ .work = name_store_keep, .ctx = r->store });
	r->refusals = refusals_new();
	if (r->refusals)
		vec_push(&jobs, (struct keeper_job){ .begin = refusals_watch, .ctx = r->refusals });
	r->keeper = r->refusals ? keeper_new(jobs.v, jobs.n) : NULL;
	vec_free(&jobs);
	if (!r->keeper)
		return error_set(e, STATUS_ERROR, -errno, "cannot start a process: %s",
				 strerror(errno));
	for (size_t i = 0; i < n; i++)
		outfile_delegate(r->files->files.v[i].file, r->keeper, i);
	if (r->last)
		outfile_delegate(r->last, r->keeper, n++);
	if (r->store)
		name_store_delegate(r->store, r->keeper, n);
	r->remote = remote_new(process_vm_readv);
	if (r->remote && !r->o.no_demangle)
		r->demangler = demangler_new();
	if (!r->remote || (!r->demangler && !r->o.no_demangle))
		return error_set(e, STATUS_ERROR, -errno, "cannot start a process: %s",
				 strerror(errno));
	return 0;
}

static void drop_capabilities(const struct recording *r)
{
	caps_limit(CAPS_TO_SAMPLE | (r->user.switched ? CAPS_TO_BECOME_USER : 0u) |
		   (command_of(r) ? CAPS_TO_SIGNAL : 0u));
}

/*
 * Starts the command, which waits; with our library before its allocator where that is to be
 * followed.
 */
static int prepare_command(struct recording *r, struct error *e)
{
	const struct record_options *o = &r->o;
	char *env[3];
	int err;

	if (!o->alloc || !o->command)
		return launch_prepare(&r->launch, command_of(r), NULL, e);
	alloc_library_environment(&r->library, r->alloc.interval, env);
	err = launch_prepare(&r->launch, o->command, env, e);
	for (char **text = env; *text; text++)
		free(*text);
	return err;
}

int recording_find(struct recording *r, struct error *e)
{
	int err;

	raise_file_limit();
	err = open_debuginfod(r, e);
	if (!err)
		err = check_vmlinux(r, e);
	if (!err)
		err = feature_require("pid namespace", e);
	if (!err)
		err = targets_find(&r->targets, &r->o, e);
	if (!err)
		err = choose_event(r, e);
	if (!err && (r->o.off_cpu || r->o.wall) && !r->no_event && !event_is_software(&r->event))
		err = error_set(e, STATUS_USAGE, -EINVAL,
				"-e %s interrupts where switches are followed; "
				"with --off-cpu and --wall use a software event: -e cpu-clock",
				r->event.name);
	if (!err)
		adapt_rate(r);
	return err;
}

int recording_prepare(struct recording *r, struct error *e)
{
	int err = start_processes(r, e);

	if (!err)
		err = recording_alloc(r, e);
	if (err)
		return err;
	drop_capabilities(r);
	err = loop_watch_signals(&r->loop, command_of(r) != NULL);
	if (err)
		return error_set(e, STATUS_ERROR, err, "cannot wait for signals: %s",
				 strerror(-err));
	return command_of(r) ? prepare_command(r, e) : 0;
}

/* A call that the list lacks costs what it was for, and who sees that should know why. */
static void show_refused(const struct recording *r)
{
	char text[TEXT_MAX];

	refusals_text(r->refusals, text, sizeof(text));
	if (*text)
		fprintf(stderr,
			"ebprof: the sandbox refused system calls: %s; what they were for is "
			"missing, please report it\n",
			text);
}

void recording_cleanup(struct recording *r)
{
	if (!r->launched)
		launch_cancel(&r->launch);
	outfile_abandon(r->last);
	session_free(r->session);
	alloc_probes_free(&r->probes);
	debuginfod_free(r->debuginfod);
	name_store_free(r->store);
	show_refused(r);
	keeper_free(r->keeper);
	refusals_free(r->refusals);
	remote_free(r->remote);
	demangler_free(r->demangler);
	targets_free(&r->targets);
	loop_close(&r->loop);
	free(r->target_ids);
	record_options_free(&r->o);
}
