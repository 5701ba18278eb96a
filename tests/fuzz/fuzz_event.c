/* SPDX-License-Identifier: MIT */
/*
 * Names of events: any bytes give an event that parses back to itself, or an error that can be
 * shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/event.h"
#include "fuzz/fuzz.h"

/* A folder with one tracepoint; the file that says its id. */
static char events[] = "/dev/shm/ebprof-fuzz-XXXXXX";
static char group[64], tracepoint[64], id[64];

static void remove_events(void)
{
	unlink(id);
	rmdir(tracepoint);
	rmdir(group);
	rmdir(events);
}

static void make_events(void)
{
	int fd;

	if (!mkdtemp(events))
		abort();
	snprintf(group, sizeof(group), "%s/sched", events);
	snprintf(tracepoint, sizeof(tracepoint), "%s/sched/sched_switch", events);
	snprintf(id, sizeof(id), "%s/sched/sched_switch/id", events);
	atexit(remove_events);
	if (mkdir(group, 0755) || mkdir(tracepoint, 0755))
		abort();
	fd = open(id, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "316\n", 4) != 4)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int made;
	struct event ev, again;
	struct error e = { 0 };
	char *name = malloc(size + 1);
	int err;

	if (!made++)
		make_events();
	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	err = event_parse(name, events, &ev, &e);
	require(err == 0 || err == -EINVAL || err == -ENOENT || err == -EACCES);
	if (err) {
		require(e.text[0] && !strpbrk(e.text, "\n\033") && e.status != STATUS_OK);
	} else {
		require(ev.name[0] && memchr(ev.name, '\0', sizeof(ev.name)));
		require(ev.precise >= 0 && ev.precise <= 3 &&
			!(ev.exclude_user && ev.exclude_kernel));
	}
	/* Those of PMUs may have a name that the user gives them. */
	if (!err && !*ev.pmu) {
		require(event_parse(ev.name, events, &again, &e) == 0);
		require(!strcmp(ev.name, again.name) && ev.type == again.type &&
			ev.config == again.config);
		require(ev.precise == again.precise && ev.exclude_user == again.exclude_user &&
			ev.exclude_kernel == again.exclude_kernel);
	}
	free(name);
	return 0;
}
