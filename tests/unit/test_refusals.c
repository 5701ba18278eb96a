/* SPDX-License-Identifier: MIT */
/* Calls that the sandbox refuses, counted by another process, as a recording has it. */
#include "base/refusals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/keeper.h"
#include "base/sandbox.h"
#include "test.h"

#define THREADS	4
#define EACH	50

static int refused(long call)
{
	return syscall(call, -1, 0, 0, 0, 0, 0) == -1 && errno == ENOSYS;
}

/* Runs @checks in a child that has entered, and a keeper that counts; it may use CHECK. */
static void inside(void (*checks)(struct refusals *r, struct keeper *k))
{
	int status = -1, err;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		struct refusals *r = refusals_new();
		const struct keeper_job job = { .begin = refusals_watch, .ctx = r };
		struct keeper *k = keeper_new(&job, 1);
		char text[64];

		test_ok = 1;
		CHECK(r && k);
		err = sandbox_enter(&(struct sandbox_options){ .refusals = r });
		if (err == -EINVAL || err == -ENOSYS)
			_exit(0);	/* no filters in this kernel: nothing to be seen */
		CHECK_EQ(err, 0);
		CHECK_EQ(refusals_socket(r), -1);
		refusals_text(r, text, sizeof(text));
		CHECK_STR(text, "");
		checks(r, k);
		fflush(stdout);
		_exit(!test_ok);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

static void count_some(struct refusals *r, struct keeper *k)
{
	char text[128], little[12];

	(void)k;
	for (int i = 0; i < 3; i++)
		CHECK(refused(SYS_timer_create));
	CHECK(refused(SYS_execve));
	/* Tried by the C library, which has another way. */
	CHECK(refused(SYS_clone3));
	CHECK_EQ(getppid() > 0, 1);
	CHECK(refused(4000));
	refusals_text(r, text, sizeof(text));
	CHECK_STR(text, "timer_create (3 times), execve (once), call 4000 (once)");
	refusals_text(r, little, sizeof(little));
	CHECK_STR(little, "timer_creat");
}

TEST(calls_are_counted_by_name)
{
	inside(count_some);
}

/* With all signals blocked, as the C library has them while a thread begins: it is no matter. */
static void *try_often(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < EACH; i++)
		*(int *)arg += refused(SYS_userfaultfd);
	return NULL;
}

static void count_threads(struct refusals *r, struct keeper *k)
{
	pthread_t threads[THREADS];
	int got[THREADS] = { 0 };
	char text[64];

	(void)k;
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, try_often, &got[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(got[i], EACH);
	}
	refusals_text(r, text, sizeof(text));
	CHECK_STR(text, "userfaultfd (200 times)");
}

TEST(threads_are_counted)
{
	inside(count_threads);
}

/* The kernel answers where nobody counts any more. */
static void lose_the_keeper(struct refusals *r, struct keeper *k)
{
	char text[64];

	CHECK(refused(SYS_userfaultfd));
	keeper_free(k);
	CHECK(refused(SYS_userfaultfd));
	CHECK(refused(SYS_timer_create));
	refusals_text(r, text, sizeof(text));
	CHECK_STR(text, "userfaultfd (once)");
	refusals_free(r);
}

TEST(who_counts_may_be_gone)
{
	inside(lose_the_keeper);
}

static void count_many(struct refusals *r, struct keeper *k)
{
	char text[1024];

	(void)k;
	for (int i = 0; i < 20; i++)
		CHECK(refused(4000 + i));
	refusals_text(r, text, sizeof(text));
	CHECK(strstr(text, "call 4014 (once), others (5 times)") != NULL);
}

TEST(many_different_ones)
{
	inside(count_many);
}

TEST(without)
{
	char text[8] = "x";

	refusals_text(NULL, text, sizeof(text));
	CHECK_STR(text, "");
	refusals_free(NULL);
}

int main(void)
{
	RUN(calls_are_counted_by_name);
	RUN(threads_are_counted);
	RUN(who_counts_may_be_gone);
	RUN(many_different_ones);
	RUN(without);
	return TEST_END();
}
