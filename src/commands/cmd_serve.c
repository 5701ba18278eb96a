/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "commands/commands.h"
#include "commands/event_list.h"
#include "commands/recording.h"
#include "commands/serving.h"
#include "commands/summary.h"
#include "output/html_live.h"
#include "serve/live.h"
#include "sinks/results.h"

#define REFRESH 1000000000u	/* ns between two updates */
#define SECOND 1000000000u

/* What is given turns while we show. */
struct turns {
	struct recording *r;
	struct server *server;
	struct live *live;
	struct timeline *rest;	/* times of what came at the end; NULL: none */
	int gone;		/* the server is: a negative errno */
};

static size_t fds(void *ctx, struct pollfd p[LOOP_FDS])
{
	struct turns *t = ctx;
	size_t n = recording_fds(t->r, p);

	if (server_is_busy(t->server))
		p[n++] = (struct pollfd){ .fd = server_fd(t->server), .events = POLLOUT };
	return n;
}

static uint64_t turn(void *ctx, uint64_t now)
{
	struct turns *t = ctx;
	struct session *s = t->r->session;
	const struct session_turn turn = session_turn(s, now, REFRESH);
	int sent = server_flush(t->server);

	if (turn.fetched && live_is_free(t->live)) {
		session_update(s, now);
		live_take(t->live, session_profile(s), session_take_timeline(s), now);
		recording_rest(t->r, now);
	}
	if (live_is_due(t->live, session_profile(s), now))
		live_send(t->live, session_profile(s));
	if (sent < 0)
		t->gone = sent;
	return t->gone || recording_targets_ended(t->r) ? LOOP_DONE : turn.next;
}

static void put(void *server, enum store_kind kind, uint64_t sequence, struct outfile_bytes *text)
{
	server_put(server, kind, sequence, text);
}

static int is_busy(void *server)
{
	return server_is_busy(server);
}

/* What is left goes out; all have names now. */
static void send_rest(struct turns *t)
{
	const struct profile *p = session_profile(t->r->session);

	if (server_flush_all(t->server))
		return;
	for (int i = 0; i < 2; i++) {
		if (live_is_free(t->live)) {
			live_take(t->live, p, t->rest, clock_ns());
			t->rest = NULL;
		}
		live_send(t->live, p);
		server_flush_all(t->server);
	}
}

/* ns of CPU time that a sample stands for; 0: it does not. */
static uint64_t time_of_each(const struct recording *r)
{
	const struct samples_options *o = &r->o.sources.samples;

	return o->frequency && event_is_time(&o->event) && !r->o.sources.waits.off_cpu &&
			       !r->o.sources.waits.wall
		       ? SECOND / o->frequency
		       : 0;
}

static int show(struct recording *r, struct server *server, struct error *e)
{
	struct turns t = { .r = r, .server = server };
	const struct loop_consumer consumer = { fds, turn, &t };
	int err = recording_start(r, e);

	if (err)
		return err;
	t.live = live_new(&(struct live_sink){ put, is_busy, server }, time_of_each(r));
	recording_describe(r, session_profile(r->session));
	recording_loop(r, &consumer, 1);
	t.rest = session_take_timeline(r->session);
	session_finish(r->session, 1, &r->result);
	send_rest(&t);
	timeline_free(t.rest);
	live_free(t.live);
	if (t.gone)
		fprintf(stderr, "ebprof: the server ended: %s\n", strerror(-t.gone));
	return 0;
}

/* From what was sampled to the exit status. */
static int finish(struct recording *r, struct results *results, uint64_t origin, struct error *e)
{
	struct profile *p = session_profile(r->session);
	struct output_options options = { 0 };
	int err = 0;

	summary_fill(p, &r->sources, &r->result,
		     &(struct summary_options){ "", r->o.verbose, origin });
	view_options_output(&r->o.view, &options);
	started_end(&r->command, &r->loop);
	if (r->o.results.files.n)
		err = results_write(results, p, &options, e);
	session_save_names(r->session);
	if (!r->o.quiet) {
		summary_show(p);
		results_name(results);
	}
	return err ? command_failed(e) : started_status(&r->command, &r->loop, r->o.quiet);
}

static int serve(struct recording *r, struct results *results, struct server **server,
		 struct error *e)
{
	struct outfile_bytes page = { 0 };
	struct outfile *f = outfile_memory(&page);
	uint64_t origin = clock_ns();

	heap_keep_small();
	html_write_live(f);
	outfile_commit(f, NULL);
	r->user = user_invoking();
	r->times = 1;
	r->live = 1;
	*server = recording_find(r, e) ? NULL : serving_begin(&r->o.server, &page, &r->user, e);
	vec_free(&page);
	if (!*server)
		return command_failed_because(e, r->o.verbose);
	r->server = server_pid(*server);
	if ((r->o.results.files.n &&
	     results_open(results, &output_profiles, &r->o.results, &r->user, e)) ||
	    recording_prepare(r, e) || show(r, *server, e))
		return command_failed_because(e, r->o.verbose);
	return finish(r, results, origin, e);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct recording r = RECORDING_NEW(argv);
	struct results results = { 0 };
	struct server *server = NULL;
	struct error e = { .status = STATUS_ERROR };
	int status = STATUS_OK, err;

	r.results = &results;
	err = record_options_parse(&r.o, c, argc, argv, &e);
	if (!err)
		status = event_list_asked(&r.o.sources.samples.events)
				 ? event_list_print(NULL, 0, &e)
				 : serve(&r, &results, &server, &e);
	else if (err < 0)
		status = command_failed(&e);
	server_free(server);
	results_free(&results);
	recording_cleanup(&r);
	return status;
}

const struct cli_command command_serve = {
	.name = "serve",
	.summary = "a page that shows live which code runs, or waits",
	.usage = "serve [TARGET] [OPTION]... [[--] COMMAND ARG...]",
	.about = "Shows the flame graph page in a browser of this machine, and brings it up to "
		 "date each second.\n"
		 "  sudo ebprof serve --open                          the whole machine\n"
		 "  sudo ebprof serve -p PID -o out.html              and saves all of it at the "
		 "end\n"
		 "  sudo ebprof serve --off-cpu ./server              where a program waits\n",
	.rows = record_rows,
	.parts = source_parts,
	.rules = record_rules,
	.family = record_family,
	.bit = EBPROF_SERVE,
	.starts = 1,
	.run = run,
};
