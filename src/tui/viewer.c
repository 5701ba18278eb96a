/* SPDX-License-Identifier: MIT */
#include "tui/viewer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "output/views.h"
#include "profile/window.h"
#include "sinks/sink.h"
#include "tui/heading.h"
#include "tui/tui.h"

/* an update may come this part of a refresh before its time, and count */
#define EARLY 8

struct viewer {
	const struct viewer_options *o;
	struct window *window;
	struct tui *tui;		/* NULL: plain */
	int wake;			/* eventfd: the user wants to end */
	int stop;			/* eventfd: we are told to end */
	atomic_int ended;
	pthread_t thread;
};

/* Says so to who samples. */
static void end(struct viewer *v)
{
	const uint64_t one = 1;

	atomic_store(&v->ended, 1);
	(void)!write(v->wake, &one, sizeof(one));
}

static struct window_show show(void *ctx, int since_start, const struct part_choice *c)
{
	return window_show(ctx, since_start, c);
}

static size_t steps(void *ctx, struct window_step *to, size_t n)
{
	return window_steps(ctx, to, n);
}

static void clear(void *ctx)
{
	window_clear(ctx);
}

static void *show_terminal(void *arg)
{
	struct viewer *v = arg;
	const struct tui_source source = {
		show, steps, clear, window_fd(v->window), v->stop, v->window
	};

	tui_run(v->tui, &source);
	end(v);
	return NULL;
}

/* One table. 0, or a negative errno where standard output takes no more. */
static int write_table(struct window *w, const struct viewer_options *o)
{
	const struct output_options output = { .rows = o->rows,
					       .columns = o->columns,
					       .color = o->color };
	struct window_show show = window_show(w, o->since_start, &(struct part_choice){ 0 });
	struct sink *s = sink_open_stdout(NULL);
	char clock[16] = "", text[512];
	time_t now = time(NULL);
	struct tm tm;
	int err = -EIO;

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S ", &tm);
	if (s) {
		struct outfile *f = sink_file(s);

		heading_text(text, sizeof(text), &show, o->target, o->since_start, 1);
		outfile_printf(f, "%s%s\n", clock, text);
		views_top(show.profile, VIEWS_FUNCTION, 0, &output, f);
		outfile_write(f, "\n", 1);
		err = sink_commit(s, NULL);
	}
	profile_free(show.profile);
	return err;
}

/* A table each refresh, until there were enough or nobody reads them. */
static void *show_plain(void *arg)
{
	struct viewer *v = arg;
	struct pollfd p[] = { { .fd = window_fd(v->window), .events = POLLIN },
			      { .fd = v->stop, .events = POLLIN } };
	/* ns of sampling: to begin with it may take its time */
	uint64_t next = v->o->refresh, n = 0;
	int last = 0, done = 0;

	while (!done && !last) {
		uint64_t least = next, now;

		poll(p, 2, -1);
		last = p[1].revents != 0;
		window_clear(v->window);
		/*
		 * What came since the last table is one more where it is half of one, or the only
		 * one.
		 */
		if (last)
			least = n ? next - v->o->refresh / 2 : 0;
		now = window_duration(v->window);
		if (now + v->o->refresh / EARLY < least)
			continue;
		/* Late ones are left out. */
		while (next <= now + v->o->refresh / EARLY)
			next += v->o->refresh;
		done = write_table(v->window, v->o) || ++n == v->o->tables;
	}
	end(v);
	return NULL;
}

struct viewer *viewer_new(const struct viewer_options *o, struct error *e)
{
	struct viewer *v = xcalloc(1, sizeof(*v));
	int err = 0;

	v->o = o;
	v->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	v->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	v->window = window_new(o->window);
	if (!o->plain && !(v->tui = tui_new(o->target, o->user, 1, o->since_start, e)))
		err = -EIO;
	else if (v->wake < 0 || v->stop < 0 || !v->window)
		err = error_set(e, STATUS_ERROR, -EMFILE, "cannot show: too many open files");
	if (!err && v->tui)
		tui_annotate(v->tui, o->annotator, NULL);
	if (!err)
		err = thread_start(&v->thread, o->plain ? show_plain : show_terminal, v);
	if (!err)
		return v;
	tui_free(v->tui);
	window_free(v->window);
	free(v);
	return NULL;
}

void viewer_free(struct viewer *v)
{
	const uint64_t one = 1;

	if (!v)
		return;
	(void)!write(v->stop, &one, sizeof(one));
	pthread_join(v->thread, NULL);
	tui_free(v->tui);
	window_free(v->window);
	close(v->wake);
	close(v->stop);
	free(v);
}

int viewer_update(struct viewer *v, const struct profile *p)
{
	return window_update(v->window, p);
}

void viewer_finish(struct viewer *v, const struct profile *p)
{
	window_finish(v->window, p);
}

int viewer_renew(struct viewer *v)
{
	return window_renew(v->window);
}

int viewer_ended(struct viewer *v)
{
	return atomic_load(&v->ended);
}

int viewer_wake(const struct viewer *v)
{
	return v->wake;
}

/* --- A saved profile. ------------------------------------------------------------ */

static struct window_show show_saved(void *ctx, int since_start, const struct part_choice *c)
{
	const struct profile *p = ctx;

	(void)since_start;
	return (struct window_show){ .profile = part_new(p, NULL, c),
				     .type = part_type(p, c),
				     .ntypes = (uint32_t)profile_view(p).ntypes };
}

int viewer_browse(const struct viewer_saved *saved, const char *name, const struct user *u,
		  struct error *e)
{
	const struct tui_source source = {
		.show = show_saved, .fd = -1, .stop = -1, .ctx = (void *)saved->profile
	};
	struct tui *t = tui_new(name, u, 0, 0, e);

	if (!t)
		return -ENOTTY;
	if (saved->diff)
		tui_compare(t, saved->diff);
	tui_across(t, saved->across);
	tui_annotate(t, saved->annotator, saved->code);
	/* What is read of functions from here on is whoever's programs these were. */
	if (saved->annotator)
		sandbox_enter(&(struct sandbox_options){ .becomes_user = u->switched,
							 .terminal = 1 });
	tui_run(t, &source);
	tui_free(t);
	return 0;
}
