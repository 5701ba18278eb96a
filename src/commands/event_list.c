/* SPDX-License-Identifier: MIT */
#include "commands/event_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/event.h"
#include "collect/perf_events.h"
#include "collect/tracefs.h"

struct listing {
	size_t shown, absent;
};

/* A hardware event that cannot be opened is not there; without the rights to ask, it may be. */
static int is_absent(const struct event *ev)
{
	struct perf_event_attr attr = event_attr(ev, 0, 1000000, 1);
	int fd;

	if (event_is_software(ev))
		return 0;
	attr.disabled = attr.exclude_kernel = 1;
	fd = perf_event_open(&attr, 0, -1);
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT || fd == -EOPNOTSUPP || fd == -EINVAL || fd == -ENODEV;
}

static void show(void *ctx, const struct event *ev)
{
	static const char *const kinds[] = {
		[PERF_TYPE_HARDWARE] = "hardware", [PERF_TYPE_SOFTWARE] = "software",
		[PERF_TYPE_TRACEPOINT] = "tracepoint", [PERF_TYPE_HW_CACHE] = "cache",
	};
	struct listing *l = ctx;

	if (is_absent(ev)) {
		l->absent++;
		return;
	}
	printf("%-48s %s\n", ev->name, kinds[ev->type]);
	l->shown++;
}

int event_list_asked(const char *event)
{
	return event && !strcmp(event, "list");
}

int event_list_print(void)
{
	struct listing l = { 0 };
	struct tracefs t;

	tracefs_open(&t);
	event_list(tracefs_events(&t), show, &l);
	printf("%-48s raw, of the CPU's manual\n", "rHEX");
	fflush(stdout);
	if (l.absent)
		fprintf(stderr,
			"ebprof: %zu hardware event%s left out, which this machine does not "
			"offer\n",
			l.absent, l.absent == 1 ? " is" : "s are");
	if (!tracefs_events(&t) || access(tracefs_events(&t), R_OK | X_OK))
		fputs("ebprof: tracepoints are left out; only root may list them\n", stderr);
	tracefs_close(&t);
	return STATUS_OK;
}
