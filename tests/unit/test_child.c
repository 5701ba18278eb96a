/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/test.h"

struct shared {
	sem_t asked, answered;
	int over, sum, descriptors;
	pid_t pid;
};

static void add(void *memory)
{
	struct shared *s = memory;

	s->descriptors = fcntl(0, F_GETFD) >= 0 || fcntl(1, F_GETFD) >= 0;
	while (child_turn(&s->asked), !s->over) {
		s->sum++;
		sem_post(&s->answered);
	}
}

static struct shared *begin(void)
{
	struct shared *s = child_memory(sizeof(*s));

	CHECK(s != NULL);
	sem_init(&s->asked, 1, 0);
	sem_init(&s->answered, 1, 0);
	return s;
}

TEST(takes_turns)
{
	struct shared *s = begin();
	pid_t pid = child_serve(add, s, sizeof(*s));

	CHECK(pid > 0);
	for (int i = 1; i <= 3; i++) {
		sem_post(&s->asked);
		child_turn(&s->answered);
		CHECK_EQ(s->sum, i);
	}
	CHECK_EQ(s->descriptors, 0);
	/* Signals are not for it. */
	CHECK_EQ(kill(pid, SIGTERM), 0);
	sem_post(&s->asked);
	CHECK_EQ(child_turn_until(&s->answered, clock_ns() + 60000000000u), 0);
	CHECK_EQ(s->sum, 4);
	s->over = 1;
	sem_post(&s->asked);
	child_wait(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), -1);
	munmap(s, sizeof(*s));
}

TEST(a_turn_that_does_not_come)
{
	struct shared *s = begin();

	CHECK_EQ(child_turn_until(&s->answered, clock_ns() + 1000), -1);
	CHECK_EQ(errno, ETIMEDOUT);
	munmap(s, sizeof(*s));
}

/* The owner of one ends without a word to it. */
static void own_one(void *memory)
{
	struct shared *s = memory;

	s->pid = child_serve(add, s, sizeof(*s));
	sem_post(&s->asked);
	child_turn(&s->answered);
}

TEST(ends_with_its_owner)
{
	struct shared *s = begin();
	pid_t owner = child_serve(own_one, s, sizeof(*s));

	child_wait(owner);
	CHECK_EQ(s->sum, 1);
	/* A reaper may leave its PID to a zombie for a while, so what counts is that it is dead. */
	for (int i = 0; i < 6000; i++) {
		char path[64], text[128] = "", state = 'X';
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
		f = fopen(path, "r");
		if (f && fgets(text, sizeof(text), f))
			sscanf(strrchr(text, ')') + 1, " %c", &state);
		if (f)
			fclose(f);
		if (state == 'X' || state == 'Z') {
			munmap(s, sizeof(*s));
			return;
		}
		usleep(10000);
	}
	CHECK(!"it is there without its owner");
}

int main(void)
{
	RUN(takes_turns);
	RUN(a_turn_that_does_not_come);
	RUN(ends_with_its_owner);
	return TEST_END();
}
