/* SPDX-License-Identifier: MIT */
#include "collect/loader.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/io.h"
#include "base/xalloc.h"

struct loader {
	pid_t pid;
	int fd;
	int under_way, failed;
};

/* A message of one number, and descriptors beside it. */
struct answer {
	int32_t result;
	struct iovec iov;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(LOADER_PROGRAMS * sizeof(int))];
	struct msghdr message;
};

static void answer_prepare(struct answer *a)
{
	memset(a, 0, sizeof(*a));
	a->iov = (struct iovec){ &a->result, sizeof(a->result) };
	a->message = (struct msghdr){ .msg_iov = &a->iov, .msg_iovlen = 1,
				      .msg_control = a->control,
				      .msg_controllen = sizeof(a->control) };
}

static void answer_send(int to, int result, const int *fds)
{
	size_t bytes = result > 0 ? (size_t)result * sizeof(*fds) : 0;
	struct cmsghdr *head;
	struct answer a;

	answer_prepare(&a);
	a.result = result;
	a.message.msg_controllen = bytes ? CMSG_SPACE(bytes) : 0;
	if (bytes) {
		head = CMSG_FIRSTHDR(&a.message);
		*head = (struct cmsghdr){ CMSG_LEN(bytes), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(head), fds, bytes);
	}
	while (sendmsg(to, &a.message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* All descriptors but @n of them; @keep is sorted. */
static void close_others(int *keep, size_t n)
{
	unsigned int from = 0;

	qsort(keep, n, sizeof(*keep), compare);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned int)keep[i] > from)
			close_range(from, (unsigned int)keep[i] - 1, 0);
		if ((unsigned int)keep[i] >= from)
			from = (unsigned int)keep[i] + 1;
	}
	closefrom((int)from);
}

static __attribute__((noreturn)) void serve(int fd, loader_fn *load, void *ctx, const int *keep,
					    size_t n)
{
	int *kept = xcalloc(n + 1, sizeof(*kept)), fds[LOADER_PROGRAMS], loaded;
	uint32_t languages = 0;
	struct ebp_turn turn;

	if (n)
		memcpy(kept, keep, n * sizeof(*kept));
	kept[n] = fd;
	close_others(kept, n + 1);
	caps_limit(CAPS_TO_LOAD);
	while (io_read(fd, &turn, sizeof(turn)) == sizeof(turn) && turn.languages & ~languages) {
		languages |= turn.languages;
		loaded = load(ctx, &turn, fds);
		answer_send(fd, loaded, fds);
		while (loaded > 0)
			close(fds[--loaded]);
	}
	_exit(0);
}

struct loader *loader_new(loader_fn *load, void *ctx, const int *keep, size_t n)
{
	pid_t owner = getpid(), pid;
	struct loader *l;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return NULL;
	pid = child_fork();
	err = errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != owner)
			_exit(0);
		serve(ends[1], load, ctx, keep, n);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		errno = err;
		return NULL;
	}
	l = xcalloc(1, sizeof(*l));
	*l = (struct loader){ .pid = pid, .fd = ends[0] };
	return l;
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	close(l->fd);
	/* One that is loading is not waited for: nobody wants its programs any more. */
	if (!l->under_way)
		child_wait(l->pid);
	free(l);
}

pid_t loader_pid(const struct loader *l)
{
	return l->pid;
}

void loader_ask(struct loader *l, const struct ebp_turn *turn)
{
	if (l->under_way || l->failed)
		return;
	io_write(l->fd, turn, sizeof(*turn));
	l->under_way = 1;
}

int loader_is_under_way(const struct loader *l)
{
	return l->under_way;
}

int loader_fd(const struct loader *l)
{
	return l->fd;
}

/* How many programs are in @fds, or a negative errno; 0: there is no answer yet. */
static int receive(struct loader *l, int fds[LOADER_PROGRAMS])
{
	const struct cmsghdr *head;
	struct answer a;
	ssize_t n;

	answer_prepare(&a);
	/* An end that leaves questions unread is told once, and before its answer. */
	do
		n = recvmsg(l->fd, &a.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n != sizeof(a.result))
		return n < 0 ? -errno : -ECHILD;
	head = CMSG_FIRSTHDR(&a.message);
	if (a.result <= 0)
		return a.result ? a.result : -ENODATA;
	if (!head || head->cmsg_len != CMSG_LEN((size_t)a.result * sizeof(*fds)))
		return -EMFILE;
	memcpy(fds, CMSG_DATA(head), (size_t)a.result * sizeof(*fds));
	return a.result;
}

int loader_take(struct loader *l, int fds[LOADER_PROGRAMS])
{
	int n = l->under_way ? receive(l, fds) : 0;

	if (!n)
		return 0;
	l->under_way = 0;
	l->failed = n < 0;
	return n;
}
