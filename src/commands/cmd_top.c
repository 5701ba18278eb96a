/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/event_list.h"
#include "commands/recording.h"
#include "commands/summary.h"
#include "sinks/sink.h"
#include "tui/tui.h"
#include "tui/viewer.h"

/* of a plain table that are no rows: two headers, and how much was left out */
#define TABLE_LINES 3
#define TARGET_MAX 128

/* What is sampled, in a few words. */
static void name_target(char text[TARGET_MAX], const struct target_options *o)
{
	char raw[TARGET_MAX] = "all";

	if (o->pids.n || o->tids.n)
		snprintf(raw, sizeof(raw), "%s %d%s", o->pids.n ? "pid" : "tid",
			 o->pids.n ? o->pids.v[0] : o->tids.v[0],
			 o->pids.n + o->tids.n > 1 ? " and others" : "");
	else if (o->cgroup || o->comm || o->command)
		snprintf(raw, sizeof(raw), "%s",
			 o->cgroup ? o->cgroup
			 : o->comm ? o->comm
				   : o->command[0]);
	text_clean(text, TARGET_MAX, raw);
}

/* What depends on where standard output goes. */
static void fit_terminal(struct viewer_options *v, const struct record_options *o)
{
	int terminal = isatty(STDOUT_FILENO);
	struct winsize w;

	v->color = sink_wants_color();
	v->rows = o->view.rows < INT32_MAX ? (int)o->view.rows : INT32_MAX;
	if (!terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
		return;
	v->columns = w.ws_col;
	if (!o->view.rows && w.ws_row > 2 * TABLE_LINES)
		v->rows = w.ws_row - TABLE_LINES;
}

#define EARLY 200000000u	/* ns: the first update comes so soon */
#define EARLY_END 1200000000u	/* until a second was sampled */

/* What is given turns while we show. */
struct turns {
	struct recording *r;
	struct viewer *v;
};

static size_t fds(void *ctx, struct pollfd p[LOOP_FDS])
{
	struct turns *t = ctx;
	size_t n = recording_fds(t->r, p);

	p[n] = (struct pollfd){ .fd = viewer_wake(t->v), .events = POLLIN };
	return n + 1;
}

/* The viewer has all of it, and what ended more than @window ns ago is in no window any more. */
static void make_room(struct turns *t, uint64_t window)
{
	struct session *s = t->r->session;

	if (session_renews(s) && viewer_renew(t->v))
		profile_free(session_renew(s, window));
	else
		session_fold(s, window);
}

static uint64_t turn(void *ctx, uint64_t now)
{
	struct turns *t = ctx;
	struct session *s = t->r->session;
	const struct record_options *o = &t->r->o;
	int early = o->live.refresh > EARLY && now < session_started(s) + EARLY_END;
	const struct session_turn turn = session_turn(s, now, early ? EARLY : o->live.refresh);

	if (turn.fetched) {
		session_update(s, now);
		if (viewer_update(t->v, session_profile(s)))
			make_room(t, o->live.window + o->live.refresh);
		recording_rest(t->r, now);
	}
	return viewer_ended(t->v) || recording_targets_ended(t->r) ? LOOP_DONE : turn.next;
}

/* On a terminal of its own the user has seen it all: names that are still to come do not count. */
static int show(struct recording *r, struct viewer *v, struct error *e)
{
	struct turns t = { r, v };
	const struct loop_consumer consumer = { fds, turn, &t };
	int err = recording_start(r, e);

	if (err)
		return err;
	recording_loop(r, &consumer, 1);
	session_finish(r->session, !r->terminal, &r->result);
	viewer_finish(v, session_profile(r->session));
	return 0;
}

static int top(struct recording *r, struct error *e)
{
	char target[TARGET_MAX];
	struct viewer_options o = { .plain = r->o.live.plain || r->o.live.tables || !tui_possible(),
				    .refresh = r->o.live.refresh,
				    .window = r->o.live.window,
				    .since_start = r->o.live.since_start,
				    .tables = r->o.live.tables,
				    .target = target,
				    .user = &r->user };
	const struct annotator_options options = { .source_dirs = r->o.source.dirs.v,
						   .n_source_dirs = r->o.source.dirs.n,
						   .live = 1 };
	struct viewer *v = NULL;
	struct annotator *annotator;
	int err;

	heap_keep_small();
	r->user = user_invoking();
	name_target(target, &r->o.target);
	fit_terminal(&o, &r->o);
	/* It loads a library, which the sandbox would not let it do. */
	annotator = o.plain ? NULL : annotator_new(&options);
	o.annotator = annotator;
	err = recording_find(r, e) || recording_prepare(r, e);
	v = err ? NULL : viewer_new(&o, e);
	if (v) {
		r->live = 1;
		r->terminal = !o.plain;
		err = show(r, v, e);
	}
	viewer_free(v);
	annotator_free(annotator);
	if (err || !v)
		return command_failed_because(e, r->o.verbose);
	if (r->o.verbose)
		summary_renewals(&r->result);
	started_end(&r->command, &r->loop);
	session_save_names(r->session);
	return started_status(&r->command, &r->loop, r->o.quiet);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct recording r = RECORDING_NEW(argv);
	struct error e = { .status = STATUS_ERROR };
	int status = STATUS_OK, err;

	r.o.quiet = 1;
	err = record_options_parse(&r.o, c, argc, argv, &e);
	if (!err)
		status = event_list_asked(&r.o.sources.samples.events)
				 ? event_list_print(NULL, 0, &e)
				 : top(&r, &e);
	else if (err < 0)
		status = command_failed(&e);
	recording_cleanup(&r);
	return status;
}

const struct cli_command command_top = {
	.name = "top",
	.summary = "which code runs, or waits, live",
	.usage = "top [TARGET] [OPTION]... [[--] COMMAND ARG...]",
	.about = "Shows live which code runs. On a terminal, ? lists the keys; elsewhere it prints "
		 "tables.\n"
		 "  sudo ebprof top                                   the whole machine\n"
		 "  sudo ebprof top -p PID --window 30                a process, its last 30 "
		 "seconds\n"
		 "  sudo ebprof top --count 3 --rows 10 -n nginx      three tables\n"
		 "  sudo ebprof top --alloc ./server                  what it allocates, and what "
		 "is in use\n",
	.rows = record_rows,
	.parts = source_parts,
	.rules = record_rules,
	.family = record_family,
	.bit = EBPROF_TOP,
	.starts = 1,
	.run = run,
};
