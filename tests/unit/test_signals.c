/* SPDX-License-Identifier: MIT */
/* The first signal is for who samples; the second ends the program, whatever that one does. */
#include "loop/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* A program that reads of its signals up to the @last, says so, and then waits for ever. */
static pid_t stuck_after(uint32_t last, int *said)
{
	int ends[2];
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct signalfd_siginfo info = { 0 };
		struct pollfd p = { .events = POLLIN };
		sigset_t set;

		signal(SIGINT, SIG_IGN);	/* as in a shell's background */
		sigemptyset(&set);
		sigaddset(&set, SIGINT);
		sigaddset(&set, SIGTERM);
		sigaddset(&set, SIGCHLD);
		p.fd = signals_watch(&set);
		if (write(ends[1], "s", 1) != 1)
			_exit(1);
		while (info.ssi_signo != last && poll(&p, 1, -1) == 1)
			if (read(p.fd, &info, sizeof(info)) != sizeof(info))
				_exit(1);
		if (write(ends[1], "l", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	*said = ends[0];
	return pid;
}

static void wait_until_it_says(int said, char what)
{
	char c = 0;

	CHECK_EQ(read(said, &c, 1), 1);
	CHECK_EQ(c, what);
}

static int ended_by(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(the_second_ends_it)
{
	int said;
	pid_t pid = stuck_after(SIGINT, &said);

	wait_until_it_says(said, 's');
	kill(pid, SIGCHLD);
	kill(pid, SIGINT);
	wait_until_it_says(said, 'l');
	kill(pid, SIGTERM);
	CHECK_EQ(ended_by(pid), SIGTERM);
	close(said);
}

TEST(of_the_same_number_too)
{
	int said;
	pid_t pid = stuck_after(SIGINT, &said);

	wait_until_it_says(said, 's');
	kill(pid, SIGINT);
	wait_until_it_says(said, 'l');
	usleep(300000);
	kill(pid, SIGINT);
	CHECK_EQ(ended_by(pid), SIGINT);
	close(said);
}

int main(void)
{
	RUN(the_second_ends_it);
	RUN(of_the_same_number_too);
	return TEST_END();
}
