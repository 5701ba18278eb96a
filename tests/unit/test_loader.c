/* SPDX-License-Identifier: MIT */
/* The process that loads programs for one that may not; pipes stand for programs. */
#include "collect/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "unit/test.h"

#define CAP_SYS_PTRACE 19

/* What the loader did, as it says. */
struct shared {
	int loads, others, ptrace;
	struct ebp_turn turn;
	int kept, other;	/* descriptors that it is to have, and not to have */
};

static const struct ebp_turn first = { 1, 1 << 3 }, second = { 2, 1 << 3 | 1 << 17 };

static int load(void *ctx, const struct ebp_turn *turn, int fds[LOADER_PROGRAMS])
{
	struct shared *s = ctx;
	int ends[2];

	s->loads++;
	s->turn = *turn;
	s->others = fcntl(s->kept, F_GETFD) < 0 || fcntl(s->other, F_GETFD) >= 0 ||
		    fcntl(STDIN_FILENO, F_GETFD) >= 0;
	s->ptrace = caps_has(CAP_SYS_PTRACE);
	if (pipe(ends))
		return -errno;
	fds[0] = ends[0];
	fds[1] = ends[1];
	return 2;
}

static int fail(void *ctx, const struct ebp_turn *turn, int fds[LOADER_PROGRAMS])
{
	(void)turn;
	(void)fds;
	((struct shared *)ctx)->loads++;
	return -E2BIG;
}

/* What bpf(2) says where a signal waits. */
static int fail_again(void *ctx, const struct ebp_turn *turn, int fds[LOADER_PROGRAMS])
{
	fail(ctx, turn, fds);
	return -EAGAIN;
}

static struct shared *begin(loader_fn *fn, struct loader **l)
{
	struct shared *s = child_memory(sizeof(*s));

	CHECK(s != NULL);
	s->kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s->other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*l = loader_new(fn, s, &s->kept, 1);
	CHECK(*l != NULL);
	return s;
}

static void end(struct shared *s, struct loader *l)
{
	loader_free(l);
	close(s->kept);
	close(s->other);
	munmap(s, sizeof(*s));
}

static int answer(struct loader *l, int fds[LOADER_PROGRAMS])
{
	struct pollfd p = { .fd = loader_fd(l), .events = POLLIN };

	CHECK_EQ(poll(&p, 1, 60000), 1);
	return loader_take(l, fds);
}

TEST(loads_when_it_is_asked)
{
	int fds[LOADER_PROGRAMS];
	struct loader *l;
	struct shared *s = begin(load, &l);
	char byte = 0;

	CHECK(!loader_is_under_way(l));
	CHECK_EQ(loader_take(l, fds), 0);
	CHECK_EQ(s->loads, 0);
	/* Signals are not for it. */
	CHECK_EQ(kill(loader_pid(l), SIGTERM), 0);
	loader_ask(l, &first);
	loader_ask(l, &second);
	CHECK(loader_is_under_way(l));
	CHECK_EQ(answer(l, fds), 2);
	CHECK(!loader_is_under_way(l));
	CHECK_EQ(write(fds[1], "x", 1), 1);
	CHECK_EQ(read(fds[0], &byte, 1), 1);
	CHECK_EQ(byte, 'x');
	CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(loader_take(l, fds), 0);
	CHECK_EQ(s->loads, 1);
	CHECK_EQ(s->turn.number, first.number);
	CHECK_EQ(s->turn.languages, first.languages);
	CHECK_EQ(s->others, 0);
	CHECK_EQ(s->ptrace, 0);
	close(fds[0]);
	close(fds[1]);
	end(s, l);
}

TEST(loads_for_more_languages)
{
	int fds[LOADER_PROGRAMS];
	struct loader *l;
	struct shared *s = begin(load, &l);
	const struct ebp_turn *turns[] = { &first, &second };

	for (size_t i = 0; i < 2; i++) {
		loader_ask(l, turns[i]);
		CHECK_EQ(answer(l, fds), 2);
		CHECK_EQ(s->turn.languages, turns[i]->languages);
		CHECK_EQ(s->others, 0);
		close(fds[0]);
		close(fds[1]);
	}
	/* No more: it ends. */
	loader_ask(l, &first);
	CHECK_EQ(answer(l, fds), -ECHILD);
	CHECK_EQ(s->loads, 2);
	end(s, l);
}

/* Whatever comes asks for what more languages it names, or is the last. */
TEST(nothing_else_can_be_asked)
{
	char much[65536];
	int fds[LOADER_PROGRAMS];
	siginfo_t ended;
	struct loader *l;
	struct shared *s = begin(load, &l);

	memset(much, 0xff, sizeof(much));
	CHECK(!kill(loader_pid(l), SIGSTOP));
	CHECK_EQ(send(loader_fd(l), much, sizeof(much), 0), (ssize_t)sizeof(much));
	CHECK_EQ(send(loader_fd(l), much, 100, MSG_NOSIGNAL), 100);
	loader_ask(l, &first);
	CHECK(!kill(loader_pid(l), SIGCONT));
	/* It has taken the first one alone. */
	CHECK(!waitid(P_PID, (id_t)loader_pid(l), &ended, WEXITED | WNOWAIT));
	CHECK_EQ(answer(l, fds), 2);
	CHECK_EQ(s->loads, 1);
	CHECK(send(loader_fd(l), much, 1, MSG_NOSIGNAL) < 0);
	close(fds[0]);
	close(fds[1]);
	end(s, l);
}

TEST(what_cannot_be_loaded)
{
	int fds[LOADER_PROGRAMS];
	struct loader *l;
	struct shared *s = begin(fail, &l);

	loader_ask(l, &first);
	CHECK_EQ(answer(l, fds), -E2BIG);
	CHECK_EQ(loader_take(l, fds), 0);
	CHECK_EQ(s->loads, 1);
	end(s, l);
}

/* It is an answer, too. */
TEST(what_should_be_tried_again)
{
	int fds[LOADER_PROGRAMS];
	struct loader *l;
	struct shared *s = begin(fail_again, &l);

	loader_ask(l, &first);
	CHECK_EQ(answer(l, fds), -EAGAIN);
	CHECK(!loader_is_under_way(l));
	end(s, l);
}

TEST(one_that_is_killed)
{
	int fds[LOADER_PROGRAMS];
	struct loader *l;
	struct shared *s = begin(load, &l);

	signal(SIGPIPE, SIG_IGN);
	kill(loader_pid(l), SIGKILL);
	child_wait(loader_pid(l));
	loader_ask(l, &first);
	CHECK(answer(l, fds) < 0);
	CHECK(!loader_is_under_way(l));
	end(s, l);
}

TEST(one_that_is_never_asked)
{
	struct loader *l;
	struct shared *s = begin(load, &l);
	pid_t pid = loader_pid(l);

	end(s, l);
	CHECK(kill(pid, 0) && errno == ESRCH);
}

int main(void)
{
	RUN(loads_when_it_is_asked);
	RUN(loads_for_more_languages);
	RUN(nothing_else_can_be_asked);
	RUN(what_cannot_be_loaded);
	RUN(what_should_be_tried_again);
	RUN(one_that_is_killed);
	RUN(one_that_is_never_asked);
	return TEST_END();
}
