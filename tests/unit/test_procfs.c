/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "proc/procfs_internal.h"

#define NO_PID (1 << 30)	/* above PID_MAX_LIMIT */

TEST(comm_is_raw)
{
	char before[17], comm[17];

	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, "a\n) b;\033\n");
	CHECK_EQ(procfs_comm(getpid(), comm), 0);
	CHECK_STR(comm, "a\n) b;\033\n");
	prctl(PR_SET_NAME, "");
	CHECK_EQ(procfs_comm(getpid(), comm), 0);
	CHECK_STR(comm, "");
	prctl(PR_SET_NAME, before);
	CHECK_EQ(procfs_comm(NO_PID, comm), -ESRCH);
}

TEST(stat_survives_any_comm)
{
	struct procfs_stat st;
	char before[17];

	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, "x) Z 1 2 (y");
	CHECK_EQ(procfs_stat(getpid(), &st), 0);
	CHECK_EQ(st.ppid, getppid());
	CHECK_EQ(st.state, 'R');
	CHECK_EQ(st.threads, 1);
	CHECK(st.start > 0);
	prctl(PR_SET_NAME, before);
	CHECK_EQ(procfs_stat(NO_PID, &st), -ESRCH);
}

TEST(stat_fields)
{
	struct procfs_stat st;

	CHECK_EQ(procfs_parse_stat(
			 "7 (k) S 2 0 0 0 -1 2129984 10 11 12 13 14 15 16 17 18 19 3 21 22000 23\n",
			 &st),
		 0);
	CHECK_EQ(st.ppid, 2);
	CHECK_EQ(st.flags, 2129984);
	CHECK_EQ(st.ran, 14 + 15);
	CHECK_EQ(st.threads, 3);
	CHECK_EQ(st.start, 22000);
	CHECK_EQ(procfs_parse_stat("7 (k) S 2 0 0 0 -1 2129984 10 11 12 13 14 15 16 17 18 19 3",
				   &st),
		 -EINVAL);
	CHECK_EQ(procfs_parse_stat("7 k S", &st), -EINVAL);
	CHECK_EQ(procfs_parse_stat("", &st), -EINVAL);
}

TEST(kernel_threads)
{
	char comm[17];

	CHECK_EQ(procfs_is_kthread(getpid()), 0);
	CHECK_EQ(procfs_is_kthread(NO_PID), -ESRCH);
	/* PID 2 is kthreadd, except in a PID namespace. */
	if (!procfs_comm(2, comm) && !strcmp(comm, "kthreadd"))
		CHECK_EQ(procfs_is_kthread(2), 1);
}

static void *report_tid(void *arg)
{
	pid_t tgid = 0, tid = (pid_t)syscall(SYS_gettid);

	*(int *)arg = procfs_tgid(tid, &tgid) || tid == getpid() ? -1 : tgid;
	return NULL;
}

TEST(thread_groups)
{
	pid_t tgid = 0;
	pthread_t t;
	int seen = 0;

	CHECK_EQ(procfs_tgid(getpid(), &tgid), 0);
	CHECK_EQ(tgid, getpid());
	CHECK_EQ(procfs_tgid(NO_PID, &tgid), -ESRCH);
	pthread_create(&t, NULL, report_tid, &seen);
	pthread_join(t, NULL);
	CHECK_EQ(seen, getpid());
}

/* A child that forks @depth more below itself; all wait for the pipe's end. */
static void __attribute__((noreturn)) nest(int depth, int hold, int ready)
{
	char c;

	if (depth && !fork())
		nest(depth - 1, hold, ready);
	if (write(ready, "", 1) != 1)
		_exit(1);
	if (read(hold, &c, 1) < 0)
		_exit(1);
	if (depth)
		wait(NULL);
	_exit(0);
}

TEST(descendants_of_ours)
{
	int hold[2], ready[2];
	pid_t *pids = NULL;
	size_t n = 0;
	char c;

	CHECK(!pipe(hold) && !pipe(ready));
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			close(hold[1]);
			nest(2, hold[0], ready[1]);
		}
	for (int i = 0; i < 6; i++)
		CHECK_EQ(read(ready[0], &c, 1), 1);
	CHECK_EQ(procfs_descendants(getpid(), &pids, &n), 0);
	CHECK_EQ(n, 6);
	for (size_t i = 0; i < n; i++)
		CHECK(pids[i] != getpid());
	close(hold[1]);
	while (wait(NULL) > 0)
		;
	/* Appends to what is there. */
	CHECK_EQ(procfs_descendants(getpid(), &pids, &n), 0);
	CHECK_EQ(n, 6);
	CHECK_EQ(procfs_descendants(NO_PID, &pids, &n), -ESRCH);
	CHECK_EQ(n, 6);
	free(pids);
	close(hold[0]);
	close(ready[0]);
	close(ready[1]);
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

/* Where the kernel lists children, no stat file is read: here there is none. */
TEST(descendants_by_lists_of_children)
{
	char dir[] = "/tmp/ebprof-test-XXXXXX";
	pid_t *pids = NULL;
	size_t n = 0;

	CHECK(mkdtemp(dir) != NULL);
	put(dir, "10/task/10/children", "11 12 ");
	put(dir, "10/task/15/children", "13 ");
	put(dir, "11/task/11/children", "");
	put(dir, "12/task/12/children", "14 10 13 ");	/* a circle, and one named twice */
	put(dir, "13/task/13/children", "");
	put(dir, "14/task/14/children", "99 x -3 ");	/* gone meanwhile; rubbish */
	CHECK_EQ(procfs_descendants_in(dir, 10, &pids, &n), 0);
	CHECK_EQ(n, 5);
	for (size_t i = 0, sum = 0; i < n; i++) {
		sum += (size_t)pids[i];
		if (i == 4)
			CHECK_EQ(sum, 11 + 12 + 13 + 14 + 99);
	}
	free(pids);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TEST(descendants_by_parents)
{
	static const char *const rest = "0 0 0 -1 0 10 11 12 13 14 15 16 17 18 19 1 21 22 23\n";
	static const int tree[][2] = { { 10, 1 }, { 11, 10 }, { 12, 11 }, { 13, 12 },
				       { 20, 1 }, { 21, 20 }, { 9, 13 } };
	char dir[] = "/tmp/ebprof-test-XXXXXX", name[32], text[256];
	pid_t *pids = NULL;
	size_t n = 0;

	CHECK(mkdtemp(dir) != NULL);
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++) {
		snprintf(name, sizeof(name), "%d/stat", tree[i][0]);
		snprintf(text, sizeof(text), "%d (x) S %d %s", tree[i][0], tree[i][1], rest);
		put(dir, name, text);
	}
	put(dir, "10/task/10/comm", "x\n");	/* and no "children" beside it */
	put(dir, "self/stat", "rubbish");
	put(dir, "22/stat", "rubbish");
	CHECK_EQ(procfs_descendants_in(dir, 10, &pids, &n), 0);
	CHECK_EQ(n, 4);
	CHECK(n == 4 && pids[0] == 11 && pids[1] == 12 && pids[2] == 13 && pids[3] == 9);
	/* Appended to what is there, whose own children are nobody's business. */
	pids[0] = 20;
	CHECK_EQ(procfs_descendants_in(dir, 10, &pids, &n), 0);
	CHECK_EQ(n, 8);
	CHECK(n == 8 && pids[0] == 20 && pids[4] == 11 && pids[7] == 9);
	free(pids);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	RUN(comm_is_raw);
	RUN(stat_survives_any_comm);
	RUN(stat_fields);
	RUN(kernel_threads);
	RUN(thread_groups);
	RUN(descendants_of_ours);
	RUN(descendants_by_lists_of_children);
	RUN(descendants_by_parents);
	return TEST_END();
}
