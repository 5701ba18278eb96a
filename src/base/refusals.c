/* SPDX-License-Identifier: MIT */
#include "base/refusals.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/xalloc.h"

#define CALLS	16	/* different ones that are told apart; more are one */

/* Written by one process, read by the other. */
struct counted {
	int call;
	uint32_t times;		/* 0: from here on nothing */
};

struct refusals {
	struct counted *calls;	/* CALLS of them, the last for what is more */
	int ends[2];		/* of a socket: ours, and the other process's */
};

static const struct { int call; const char *name; } names[] = {
#include "syscall_names.h"
};

struct refusals *refusals_new(void)
{
	struct refusals *r = xcalloc(1, sizeof(*r));
	int err;

	r->calls = mmap(NULL, CALLS * sizeof(*r->calls), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->calls != MAP_FAILED &&
	    !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, r->ends))
		return r;
	err = errno;
	if (r->calls != MAP_FAILED)
		munmap(r->calls, CALLS * sizeof(*r->calls));
	free(r);
	errno = err;
	return NULL;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void refusals_free(struct refusals *r)
{
	if (!r)
		return;
	close_end(&r->ends[0]);
	close_end(&r->ends[1]);
	munmap(r->calls, CALLS * sizeof(*r->calls));
	free(r);
}

/* --- The process that counts. ----------------------------------------------------- */

static void count(struct refusals *r, int call)
{
	size_t i = 0;

	while (i + 1 < CALLS && r->calls[i].times && r->calls[i].call != call)
		i++;
	r->calls[i].call = i + 1 < CALLS ? call : -1;
	__atomic_fetch_add(&r->calls[i].times, 1, __ATOMIC_RELEASE);
}

/* The listener; -1 where it does not come. */
static int receive(int from)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	char byte;
	struct iovec v = { &byte, 1 };
	struct msghdr message = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const struct cmsghdr *head;
	ssize_t n;
	int fd;

	do {
		n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

static void *watch(void *arg)
{
	struct refusals *r = arg;
	struct seccomp_notif asked;
	int listener = receive(r->ends[1]);

	while (listener >= 0) {
		struct seccomp_notif_resp answer = { .error = -ENOSYS };

		memset(&asked, 0, sizeof(asked));
		/* ENOENT: who asked is gone. */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) {
			if (errno != EINTR && errno != ENOENT)
				break;
			continue;
		}
		count(r, asked.data.nr);
		answer.id = asked.id;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	if (listener >= 0)
		close(listener);
	return NULL;
}

void refusals_watch(void *refusals)
{
	struct refusals *r = refusals;
	pthread_t thread;

	close_end(&r->ends[0]);
	/* Without it the kernel refuses, and nobody counts. */
	if (thread_start(&thread, watch, r))
		close_end(&r->ends[1]);
}

/* --- The process that asks. ------------------------------------------------------- */

int refusals_socket(const struct refusals *r)
{
	return r->ends[0];
}

void refusals_hand_over(struct refusals *r, int listener)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec v = { "", 1 };
	const struct msghdr message = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
					.msg_controllen = sizeof(control) };

	close_end(&r->ends[1]);
	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					 .cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &listener, sizeof(listener));
	while (sendmsg(r->ends[0], &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	close(listener);
	close_end(&r->ends[0]);
}

static const char *name_of(int call)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].call == call)
			return names[i].name;
	return NULL;
}

void refusals_text(const struct refusals *r, char *text, size_t size)
{
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; r && i < CALLS && n < size; i++) {
		uint32_t times = __atomic_load_n(&r->calls[i].times, __ATOMIC_ACQUIRE);
		const char *name = name_of(r->calls[i].call);
		int written;

		if (!times)
			break;
		written = snprintf(text + n, size - n, "%s%s", i ? ", " : "",
				   name		   ? name
				   : i + 1 < CALLS ? "call"
						   : "others");
		n += written > 0 ? (size_t)written : 0;
		if (!name && i + 1 < CALLS && n < size)
			n += (size_t)snprintf(text + n, size - n, " %d", r->calls[i].call);
		if (n < size)
			n += (size_t)snprintf(text + n, size - n,
					      times == 1 ? " (once)" : " (%u times)", times);
	}
}
