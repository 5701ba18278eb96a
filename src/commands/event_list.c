/* SPDX-License-Identifier: MIT */
#include "commands/event_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/event.h"
#include "collect/perf_events.h"
#include "collect/pmu.h"
#include "collect/trace_format.h"
#include "collect/tracefs.h"

struct listing {
	const char *pattern;	/* NULL: all */
	const char *tracefs;	/* NULL: fields are not wanted */
	size_t matches, shown, absent;
	char one[sizeof(((struct event *)0)->name)];	/* a tracepoint that matched */
};

static int matches(const struct listing *l, const char *name)
{
	return !l->pattern || !fnmatch(l->pattern, name, 0);
}

/* "    field:type name" for those that are its own. */
static void show_fields(const char *tracefs, const char *tracepoint)
{
	trace_field_vec fields = { 0 };

	trace_format_read(tracefs, tracepoint, &fields);
	for (size_t i = 0; i < fields.n; i++)
		if (!fields.v[i].common)
			printf("    %-24s %s\n", fields.v[i].name, fields.v[i].type);
	vec_free(&fields);
}

/* 1 where it is shown. */
static int show_line(struct listing *l, const char *name, const char *kind, const struct event *ev)
{
	if (!matches(l, name))
		return 0;
	l->matches++;
	if (ev && perf_event_absent(ev)) {
		l->absent++;
		return 0;
	}
	printf("%-48s %s\n", name, kind);
	l->shown++;
	return 1;
}

static void show_pmu(void *ctx, const char *name, const char *what, const struct event *ev)
{
	show_line(ctx, name, what, ev);
}

static void show(void *ctx, const struct event *ev)
{
	static const char *const kinds[] = {
		[PERF_TYPE_HARDWARE] = "hardware", [PERF_TYPE_SOFTWARE] = "software",
		[PERF_TYPE_TRACEPOINT] = "tracepoint", [PERF_TYPE_HW_CACHE] = "cache",
	};
	struct listing *l = ctx;

	if (!show_line(l, ev->name, kinds[ev->type], ev) || ev->type != PERF_TYPE_TRACEPOINT)
		return;
	snprintf(l->one, sizeof(l->one), "%s", ev->name);
	if (l->tracefs)
		show_fields(l->tracefs, ev->name);
}

int event_list_asked(const string_vec *events)
{
	return events->n == 1 && !strcmp(events->v[0], "list");
}

/* What is not listed, and why. */
static void say_what_lacks(const struct listing *l, const char *tracefs)
{
	if (l->absent)
		fprintf(stderr,
			"ebprof: %zu hardware event%s left out, which this machine does not "
			"offer\n",
			l->absent, l->absent == 1 ? " is" : "s are");
	if (!tracefs || access(tracefs, R_OK | X_OK))
		fputs("ebprof: tracepoints are left out; only root may list them\n", stderr);
}

int event_list_print(const char *pattern, int fields, struct error *e)
{
	struct listing l = { .pattern = pattern };
	const char *tracefs;
	struct tracefs t;
	int err = 0;

	tracefs_open(&t);
	tracefs = tracefs_events(&t);
	l.tracefs = fields ? tracefs : NULL;
	event_list(tracefs, show, &l);
	pmu_list(PMU_DEVICES, show_pmu, &l);
	if (!pattern)
		printf("%-48s raw, of the CPU's manual\n", "rHEX");
	if (!l.tracefs && pattern && l.shown == 1 && *l.one)
		show_fields(tracefs, l.one);
	fflush(stdout);
	if (pattern && !l.matches)
		err = error_set(e, STATUS_ERROR, -ENOENT, "no event matches '%.200s'%s", pattern,
				!tracefs || access(tracefs, R_OK | X_OK)
					? "; only root may list tracepoints" : "");
	else
		say_what_lacks(&l, tracefs);
	tracefs_close(&t);
	return err;
}
