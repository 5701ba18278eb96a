/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000u

pid_t child_fork(void)
{
	sigset_t all, before;
	pid_t pid;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	err = errno;
	if (pid)
		sigprocmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return pid;
}

void child_wait(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void *child_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

pid_t child_serve(void (*serve)(void *memory), void *memory, size_t size)
{
	pid_t owner = getpid(), pid = child_fork();
	int err = errno;

	if (!pid) {
		closefrom(0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == owner)
			serve(memory);
		_exit(0);
	}
	if (pid < 0)
		munmap(memory, size);
	errno = err;
	return pid;
}

void child_turn(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

int child_turn_until(sem_t *s, uint64_t end)
{
	const struct timespec until = { (time_t)(end / SECOND), (long)(end % SECOND) };
	int err;

	do
		err = sem_clockwait(s, CLOCK_MONOTONIC, &until);
	while (err && errno == EINTR);
	return err;
}
