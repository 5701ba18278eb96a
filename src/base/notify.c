/* SPDX-License-Identifier: MIT */
#include "base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/xalloc.h"

#define MICROSECOND 1000u	/* ns */
#define TIMES 3			/* that we report in the time in which one is expected */

struct notify {
	int fd;
	uint64_t every;		/* ns; 0: nobody watches */
	uint64_t next;		/* CLOCK_MONOTONIC ns */
};

/* ns in which we have to report, as sd_watchdog_enabled(3) says; our parent may stand for us. */
static uint64_t watched(void)
{
	const char *time = getenv("WATCHDOG_USEC"), *whom = getenv("WATCHDOG_PID");
	long pid = whom ? atol(whom) : 0;

	if (!time || (pid && pid != getpid() && pid != getppid()))
		return 0;
	return strtoull(time, NULL, 10) * MICROSECOND;
}

struct notify *notify_new(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	struct notify *notify;
	int fd;

	if (n < 2 || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return NULL;
	memcpy(to.sun_path, path, n);
	if (*path == '@')	/* an abstract name (unix(7)) */
		*to.sun_path = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	if (connect(fd, (const struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n))) {
		close(fd);
		return NULL;
	}
	notify = xcalloc(1, sizeof(*notify));
	*notify = (struct notify){ .fd = fd, .every = watched() / TIMES };
	return notify;
}

void notify_send(struct notify *n, const char *text)
{
	if (n)
		(void)!send(n->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

uint64_t notify_turn(void *ctx, uint64_t now)
{
	struct notify *n = ctx;

	if (!n || !n->every)
		return UINT64_MAX;
	if (now >= n->next) {
		n->next = now + n->every;
		notify_send(n, "WATCHDOG=1");
	}
	return n->next;
}

void notify_free(struct notify *n)
{
	if (!n)
		return;
	close(n->fd);
	free(n);
}
