/* SPDX-License-Identifier: MIT */
#include "proc/idle_cpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define WINDOW		50000000ull	/* ns; what /proc/uptime says is in 10 ms */

void idle_cpu_open(struct idle_cpu *c, const char *proc)
{
	int folder = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);

	*c = (struct idle_cpu){
		.load = openat(folder, "loadavg", O_RDONLY | O_CLOEXEC),
		.uptime = openat(folder, "uptime", O_RDONLY | O_CLOEXEC),
		.online = sysconf(_SC_NPROCESSORS_ONLN),
	};
	if (folder >= 0)
		close(folder);
}

void idle_cpu_close(struct idle_cpu *c)
{
	if (c->load >= 0)
		close(c->load);
	if (c->uptime >= 0)
		close(c->uptime);
	c->load = c->uptime = -1;
}

static int text_of(int fd, char *text, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return 1;
}

/* "up.cc idle.cc", of all CPUs together. */
static int idle_of(const struct idle_cpu *c, uint64_t *ns)
{
	char text[128];
	unsigned long long seconds, hundredths;

	if (!text_of(c->uptime, text, sizeof(text)) ||
	    sscanf(text, "%*s %llu.%llu", &seconds, &hundredths) != 2)
		return 0;
	*ns = seconds * 1000000000ull + hundredths * 10000000ull;
	return 1;
}

/* Load over 1, 5 and 15 minutes, "running/all". */
static int is_left_now(const struct idle_cpu *c)
{
	char text[128];
	long running;

	return !text_of(c->load, text, sizeof(text)) ||
	       sscanf(text, "%*s %*s %*s %ld/", &running) != 1 || running <= c->online;
}

int idle_cpu_left(struct idle_cpu *c)
{
	uint64_t now = clock_ns(), own, idle;

	if (now - c->since >= WINDOW) {
		if (!idle_of(c, &idle))
			return is_left_now(c);
		own = clock_thread_ns();
		c->was_left = c->since &&
			      2 * (idle - c->idle + own - c->own) > now - c->since;
		c->since = now;
		c->idle = idle;
		c->own = own;
	}
	return c->was_left && is_left_now(c);
}
