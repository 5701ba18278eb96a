/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers; that it goes on where its owner is killed, and says so where it is killed
 * itself.
 */
#include "base/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* The sum of the bytes; and of what was summed before, which only the keeper's copy knows. */
static int sum(void *ctx, const void *bytes, size_t size)
{
	int *total = ctx;

	for (size_t i = 0; i < size; i++)
		*total += ((const uint8_t *)bytes)[i];
	return *total;
}

static int fail(void *ctx, const void *bytes, size_t size)
{
	(void)ctx;
	(void)bytes;
	return size ? -EINVAL : -EACCES;
}

static void say_bye(void *ctx)
{
	CHECK_EQ(write(*(int *)ctx, "bye", 3), 3);
}

TEST(jobs_are_done)
{
	int total = 5;
	const struct keeper_job jobs[] = { { .work = sum, .ctx = &total }, { .work = fail } };
	struct keeper *k = keeper_new(jobs, 2);
	uint8_t *many = calloc(1, 3 << 20);

	CHECK(k != NULL);
	CHECK(keeper_pid(k) > 0 && keeper_pid(k) != getpid());
	CHECK_EQ(keeper_do(k, 0, "\1\2\3", 3), 11);
	CHECK_EQ(keeper_do(k, 0, NULL, 0), 11);
	CHECK_EQ(keeper_do(k, 1, NULL, 0), -EACCES);
	CHECK_EQ(keeper_do(k, 1, "x", 1), -EINVAL);
	many[(3 << 20) - 1] = 7;
	CHECK_EQ(keeper_do(k, 0, many, 3 << 20), 18);
	CHECK_EQ(total, 5);
	free(many);
	/* There is no such job: it knows that nobody honest asks it. */
	CHECK_EQ(keeper_do(k, 2, NULL, 0), -ECHILD);
	CHECK_EQ(keeper_do(k, 0, "x", 1), -ECHILD);
	keeper_free(k);
	keeper_free(NULL);
}

TEST(a_killed_keeper_is_told)
{
	const struct keeper_job job = { .work = fail };
	struct keeper *k = keeper_new(&job, 1);

	CHECK(k != NULL);
	kill(keeper_pid(k), SIGTERM);	/* which it does not hear */
	CHECK_EQ(keeper_do(k, 0, NULL, 0), -EACCES);
	kill(keeper_pid(k), SIGKILL);
	CHECK_EQ(keeper_do(k, 0, NULL, 0), -ECHILD);
	keeper_free(k);
}

TEST(it_ends_after_a_killed_owner)
{
	int ends[2], status;
	char text[8] = "";
	pid_t owner;

	CHECK_EQ(pipe(ends), 0);
	owner = fork();
	if (!owner) {
		const struct keeper_job job = { .work = fail, .end = say_bye, .ctx = &ends[1] };

		_exit(keeper_new(&job, 1) ? raise(SIGKILL) : 1);
	}
	CHECK(waitpid(owner, &status, 0) == owner);
	CHECK(WIFSIGNALED(status));
	close(ends[1]);
	CHECK_EQ(read(ends[0], text, sizeof(text)), 3);
	CHECK_STR(text, "bye");
	/* And is gone: nobody has the other end any more. */
	CHECK_EQ(read(ends[0], text, sizeof(text)), 0);
	close(ends[0]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);	/* as ebprof does */
	RUN(jobs_are_done);
	RUN(a_killed_keeper_is_told);
	RUN(it_ends_after_a_killed_owner);
	return TEST_END();
}
