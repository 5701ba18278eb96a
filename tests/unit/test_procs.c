/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/procfs.h"
#include "proc/procs.h"

/* PIDs from here on are above PID_MAX_LIMIT: they are in no /proc */
#define P	(1 << 28)
#define MS	1000000ull
#define SECOND	1000000000ull

static struct images *images;
static struct procs *procs;

static void begin(void)
{
	images = images_new();
	procs = procs_new(images, NULL);
}

static void end(void)
{
	procs_free(procs);
	images_free(images);
}

/* An event of a file that does not exist, told apart by its name. */
static void map(uint64_t time, pid_t pid, uint64_t start, uint64_t end, uint64_t offset,
		const char *path)
{
	struct image_key k = { .path = path, .inode = 1, .start = start, .end = end };

	procs_mmap(procs, time, pid, &k, offset);
}

/* "path+offset" of what is there, "?" for nowhere. */
static const char *where(uint32_t who, uint64_t address, uint64_t time)
{
	static char text[300];
	struct proc_place place = procs_locate(procs, who, address, time);

	if (place.image == IMAGE_NONE)
		return place.offset == address ? "?" : "wrong";
	snprintf(text, sizeof(text), "%s+%llx", images_at(images, place.image)->path,
		 (unsigned long long)place.offset);
	return text;
}

static const char *comm_at(pid_t pid, uint64_t time)
{
	return procs_info(procs, procs_at(procs, pid, time)).comm;
}

TEST(fork_exec_exit)
{
	uint32_t shell, child, program;

	begin();
	procs_exec(procs, 100 * MS, P, "sh");
	map(100 * MS, P, 0x1000, 0x3000, 0x1000, "/bin/sh");
	procs_fork(procs, 200 * MS, P + 1, P);
	procs_exec(procs, 300 * MS, P + 1, "prog");
	map(300 * MS, P + 1, 0x1000, 0x2000, 0, "/bin/prog");
	procs_exit(procs, 400 * MS, P + 1);
	shell = procs_at(procs, P, 150 * MS);
	child = procs_at(procs, P + 1, 250 * MS);
	program = procs_at(procs, P + 1, 350 * MS);
	CHECK(shell != child && child != program);
	CHECK_EQ(procs_at(procs, P, 900 * MS), shell);
	CHECK_EQ(procs_at(procs, P + 1, 300 * MS - 1), child);
	CHECK_EQ(procs_at(procs, P + 1, 300 * MS), program);
	/* exit takes time, and threads may outlive the leader */
	CHECK_EQ(procs_at(procs, P + 1, 900 * MS), program);
	CHECK_STR(procs_info(procs, child).comm, "sh");
	CHECK_STR(procs_info(procs, program).comm, "prog");
	CHECK_EQ(procs_info(procs, program).pid, P + 1);
	CHECK_EQ(procs_info(procs, shell).exited, 0);
	CHECK_EQ(procs_info(procs, child).exited, 1);
	CHECK_EQ(procs_info(procs, program).exited, 1);
	CHECK_STR(where(shell, 0x1234, 150 * MS), "/bin/sh+1234");
	CHECK_STR(where(child, 0x2fff, 250 * MS), "/bin/sh+2fff");
	CHECK_STR(where(program, 0x1234, 350 * MS), "/bin/prog+234");
	CHECK_STR(where(program, 0x2fff, 350 * MS), "?");
	end();
}

TEST(times_a_little_before_the_fork)
{
	uint32_t first, second;

	begin();
	procs_fork(procs, 100 * MS, P, P + 9);
	procs_comm(procs, 100 * MS, P, "first");
	first = procs_at(procs, P, 100 * MS - 5000);
	CHECK_STR(procs_info(procs, first).comm, "first");
	CHECK_STR(comm_at(P, 50 * MS), "?");
	CHECK(procs_at(procs, P, 50 * MS) != first);
	CHECK_EQ(procs_at(procs, P, 50 * MS), procs_at(procs, P, 40 * MS));
	procs_exit(procs, 200 * MS, P);
	/* The PID again. */
	procs_fork(procs, 300 * MS, P, P + 9);
	procs_comm(procs, 300 * MS, P, "second");
	second = procs_at(procs, P, 300 * MS - 5000);
	CHECK_STR(procs_info(procs, second).comm, "second");
	CHECK_EQ(procs_at(procs, P, 250 * MS), first);
	/*
	 * Exec before anything else was told: a little earlier is still it, long before nobody
	 * knows.
	 */
	procs_exec(procs, 300 * MS, P + 5, "prog");
	CHECK_STR(comm_at(P + 5, 300 * MS - 5000), "prog");
	CHECK_STR(comm_at(P + 5, 200 * MS), "?");
	end();
}

TEST(fork_of_an_open_pid_ends_it)
{
	uint32_t old;

	begin();
	procs_exec(procs, 100 * MS, P, "old");
	old = procs_at(procs, P, 100 * MS);
	procs_fork(procs, 500 * MS, P, P + 1);
	CHECK(procs_at(procs, P, 500 * MS) != old);
	CHECK_EQ(procs_info(procs, old).exited, 1);
	end();
}

TEST(names_are_cleaned)
{
	begin();
	procs_exec(procs, 1, P, "a\n\033[1m\xff;b");
	CHECK_STR(comm_at(P, 1), "a\\n\\x1b[1m\xef\xbf\xbd;b");
	procs_comm(procs, 2, P, "now this");
	CHECK_STR(comm_at(P, 1), "now this");
	procs_comm(procs, 3, P, "");
	CHECK_STR(comm_at(P, 1), "");
	procs_comm(procs, 4, P, "longer than sixteen bytes");
	CHECK_STR(comm_at(P, 1), "longer than sixt");
	CHECK_STR(comm_at(P + 1, 1), "?");
	CHECK_STR(comm_at(0, 1), "swapper");
	CHECK_EQ(procs_at(procs, 0, 1), procs_at(procs, 0, SECOND));
	end();
}

TEST(mappings_over_time)
{
	uint32_t id;

	begin();
	procs_exec(procs, 100, P, "x");
	map(100, P, 0x1000, 0x5000, 0, "/old.so");
	map(200, P, 0x2000, 0x3000, 0, "/new.so");
	map(300, P, 0x4000, 0x5000, 0x77, "//anon");
	id = procs_at(procs, P, 100);
	CHECK_STR(where(id, 0x2800, 150), "/old.so+1800");
	CHECK_STR(where(id, 0x2800, 200), "/new.so+800");
	CHECK_STR(where(id, 0x4800, 299), "/old.so+3800");
	CHECK_STR(where(id, 0x4800, 300), "?");
	map(400, P, 0x7fff00000000, 0x7fff00002000, 0x7fff00000, "[vdso]");
	CHECK_STR(where(id, 0x7fff00000123, 400), "[vdso]+123");
	end();
}

TEST(fork_copies)
{
	uint32_t parent, child;

	begin();
	procs_exec(procs, 100, P, "x");
	map(100, P, 0x1000, 0x2000, 0, "/a");
	procs_fork(procs, 200, P + 1, P);
	map(300, P, 0x1000, 0x2000, 0, "/b");
	map(300, P + 1, 0x5000, 0x6000, 0, "/c");
	parent = procs_at(procs, P, 300);
	child = procs_at(procs, P + 1, 300);
	CHECK_STR(where(parent, 0x1000, 400), "/b+0");
	CHECK_STR(where(child, 0x1000, 400), "/a+0");
	CHECK_STR(where(child, 0x5000, 400), "/c+0");
	CHECK_STR(where(parent, 0x5000, 400), "?");
	procs_exit(procs, 500, P);
	procs_forget(procs, 1000);
	CHECK_STR(where(child, 0x1000, 400), "/a+0");
	CHECK_STR(where(parent, 0x1000, 400), "?");
	end();
}

TEST(forgetting)
{
	uint32_t asked, later;

	begin();
	procs_exec(procs, 100, P, "asked");
	map(100, P, 0x1000, 0x2000, 0, "/a");
	asked = procs_at(procs, P, 100);
	procs_exit(procs, 200, P);
	procs_forget(procs, 200);	/* "before": not yet */
	CHECK_STR(where(asked, 0x1000, 150), "/a+0");
	procs_forget(procs, 201);
	CHECK_STR(where(asked, 0x1000, 150), "?");
	CHECK_STR(procs_info(procs, asked).comm, "asked");
	CHECK_EQ(procs_info(procs, asked).exited, 1);
	CHECK_EQ(procs_info(procs, asked).pid, P);
	/* The PID again: no mix-up with what is forgotten. */
	procs_fork(procs, 300, P, P + 1);
	procs_exec(procs, 301, P, "later");
	later = procs_at(procs, P, 302);
	CHECK(later != asked);
	CHECK_STR(procs_info(procs, later).comm, "later");
	CHECK_STR(procs_info(procs, asked).comm, "asked");
	/* In the middle of a chain. */
	procs_exec(procs, 400, P, "third");
	procs_forget(procs, 350);
	CHECK_STR(comm_at(P, 500), "third");
	CHECK_EQ(procs_at(procs, P, 350), later);
	procs_forget(procs, 401);
	CHECK(procs_at(procs, P, 350) != later);
	CHECK_STR(comm_at(P, 500), "third");
	end();
}

static size_t memory_in_use(void)
{
	return mallinfo2().uordblks;
}

/*
 * What malloc counts; under a sanitizer's own allocator it counts nothing, and the test shows only
 * that all goes well.
 */
static void storm(int n, uint64_t *now, int ask_each)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = P + 1 + i % 30000;

		*now += 1000;
		procs_fork(procs, *now, pid, P);
		procs_exec(procs, *now + 100, pid, "child");
		map(*now + 100, pid, 0x1000, 0x2000, 0, "/bin/child");
		map(*now + 100, pid, 0x9000, 0xa000, 0, "/lib/libc");
		if (ask_each && i % ask_each == 0)
			procs_at(procs, pid, *now + 150);
		procs_exit(procs, *now + 500, pid);
		if (i % 100 == 0)
			procs_forget(procs, *now - 50000);
	}
	procs_forget(procs, *now + SECOND);
}

TEST(storm_of_processes)
{
	uint64_t now = SECOND;
	size_t before, after;

	begin();
	procs_exec(procs, now, P, "sh");
	storm(1000, &now, 0);
	before = memory_in_use();
	storm(100000, &now, 0);
	after = memory_in_use();
	CHECK(after <= before + 10000);
	if (after > before + 10000)
		printf("%zu bytes more\n", after - before);
	before = after;
	storm(100000, &now, 10);
	after = memory_in_use();
	CHECK(after <= before + 10000 * 64 * 2);
	CHECK_STR(procs_info(procs, 9999).comm, "child");
	end();
}

TEST(lost_exits)
{
	uint32_t id;

	begin();
	procs_exec(procs, 100, P, "gone");
	id = procs_at(procs, P, 100);
	procs_forget(procs, 1000);
	CHECK_EQ(procs_info(procs, id).exited, 0);
	procs_events_lost(procs);
	procs_forget(procs, 2000);
	CHECK_EQ(procs_info(procs, id).exited, 1);
	procs_forget(procs, 3000);
	CHECK_STR(procs_info(procs, id).comm, "gone");
	end();
}

/* --- Real processes. ---------------------------------------------------------- */

struct child {
	pid_t pid;
	int ready, hold;
};

/* In the child: says that a step is done, and waits for the next. */
static void pause_child(int ready, int hold)
{
	char byte;

	if (write(ready, "", 1) != 1 || read(hold, &byte, 1) != 1)
		_exit(1);
}

/* A child that runs @body, which may pause, and then waits for its end. */
static struct child start(void (*body)(int ready, int hold))
{
	int ready[2], hold[2];
	struct child c;
	char byte;

	CHECK(!pipe(ready) && !pipe(hold));
	c = (struct child){ .pid = fork(), .ready = ready[0], .hold = hold[1] };
	if (!c.pid) {
		close(hold[1]);
		if (body)
			body(ready[1], hold[0]);
		pause_child(ready[1], hold[0]);
		_exit(0);
	}
	close(ready[1]);
	close(hold[0]);
	CHECK_EQ(read(c.ready, &byte, 1), 1);
	return c;
}

static void step(struct child *c)
{
	char byte;

	CHECK_EQ(write(c->hold, "", 1), 1);
	CHECK_EQ(read(c->ready, &byte, 1), 1);
}

static void stop(struct child *c)
{
	close(c->hold);
	close(c->ready);
	waitpid(c->pid, NULL, 0);
}

/* What /proc/self/exe is called. */
static const char *own_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	return path;
}

/* Our code is at the same place in us and in what we forked. */
static int is_our_code(uint32_t who, uint64_t time)
{
	struct proc_place place = procs_locate(procs, who, (uintptr_t)storm, time);

	return place.image != IMAGE_NONE &&
	       !strcmp(images_at(images, place.image)->path, own_path()) &&
	       images_at(images, place.image)->fd >= 0;
}

static void rename_self(int ready, int hold)
{
	(void)ready, (void)hold;
	prctl(PR_SET_NAME, "renamed");
}

TEST(a_process_older_than_we_are)
{
	struct child c = start(rename_self);
	uint32_t id;

	begin();
	id = procs_at(procs, c.pid, clock_ns());
	CHECK_STR(procs_info(procs, id).comm, "renamed");
	CHECK_EQ(procs_info(procs, id).exited, 0);
	stop(&c);
	/* Its mappings were read when it was asked for. */
	CHECK(is_our_code(id, clock_ns()));
	procs_exit(procs, clock_ns(), c.pid);
	CHECK_EQ(procs_info(procs, id).exited, 1);
	end();
}

TEST(another_process_has_that_pid_now)
{
	struct child c = start(rename_self);
	uint64_t long_ago = clock_ns() - 5 * SECOND;
	uint32_t id;

	begin();
	/* A sample from before it was started: what had that PID then is gone. */
	CHECK_STR(comm_at(c.pid, long_ago), "?");
	CHECK(!is_our_code(procs_at(procs, c.pid, long_ago), long_ago));
	end();
	begin();
	procs_exec(procs, long_ago, c.pid, "old");
	id = procs_at(procs, c.pid, long_ago);
	CHECK(!is_our_code(id, long_ago));	/* its maps are not read */
	procs_events_lost(procs);
	CHECK_STR(comm_at(c.pid, clock_ns()), "renamed");
	CHECK_STR(procs_info(procs, id).comm, "old");
	CHECK_EQ(procs_info(procs, id).exited, 1);
	CHECK(is_our_code(procs_at(procs, c.pid, clock_ns()), clock_ns()));
	stop(&c);
	end();
}

/* When @pid was forked, as the kernel knows it, to a tick. */
static uint64_t forked_at(pid_t pid)
{
	struct procfs_stat st = { 0 };

	CHECK(!procfs_stat(pid, &st));
	return st.start * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)) - clock_slept_ns();
}

TEST(asked_before_its_fork_is_told)
{
	struct child c = start(NULL);
	uint64_t forked = forked_at(c.pid);
	uint32_t id;

	begin();
	id = procs_at(procs, c.pid, clock_ns());
	procs_fork(procs, forked + 1000, c.pid, getpid());
	CHECK_EQ(procs_at(procs, c.pid, clock_ns()), id);
	CHECK_EQ(procs_info(procs, id).exited, 0);
	stop(&c);
	end();
}

TEST(a_child_that_is_gone_has_its_parents_mappings)
{
	uint64_t now = clock_ns();
	uint32_t child, grandchild;

	begin();
	/*
	 * Our own fork, and a fork of that; neither can be read any more, nothing was told of us.
	 */
	procs_fork(procs, now, P, getpid());
	procs_fork(procs, now + 10, P + 1, P);
	procs_exit(procs, now + 20, P);
	procs_exit(procs, now + 30, P + 1);
	grandchild = procs_at(procs, P + 1, now + 15);
	child = procs_at(procs, P, now + 15);
	CHECK(is_our_code(grandchild, now + 15));
	CHECK(is_our_code(child, now + 15));
	CHECK_STR(procs_info(procs, grandchild).comm, "test_procs");
	end();
}

TEST(exit_of_a_process_that_nobody_asked_for)
{
	struct child c = start(rename_self);
	siginfo_t info;

	begin();
	close(c.hold);
	waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT);
	procs_exit(procs, clock_ns(), c.pid);
	waitpid(c.pid, NULL, 0);
	CHECK_STR(comm_at(c.pid, clock_ns()), "renamed");
	close(c.ready);
	end();
}

static void *pause_thread(void *arg)
{
	char byte;

	prctl(PR_SET_NAME, "second");
	/* The leader's exit is over when it is a zombie. */
	for (;;) {
		char stat[512];
		int fd = open("/proc/self/stat", O_RDONLY);
		ssize_t n = read(fd, stat, sizeof(stat) - 1);

		close(fd);
		stat[n < 0 ? 0 : n] = '\0';
		if (strstr(stat, ") Z "))
			break;
	}
	if (write(((int *)arg)[0], "", 1) == 1)
		_exit((int)read(((int *)arg)[1], &byte, 1));
	_exit(1);
}

TEST(threads_that_outlive_their_leader)
{
	static int fds[2];	/* the leader's stack ends with it */
	int ready[2], hold[2];
	uint32_t id;
	char byte;
	pid_t pid;

	CHECK(!pipe(ready) && !pipe(hold));
	fds[0] = ready[1];
	fds[1] = hold[0];
	pid = fork();
	if (!pid) {
		pthread_t t;

		close(hold[1]);
		pthread_create(&t, NULL, pause_thread, fds);
		pthread_exit(NULL);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	begin();
	id = procs_at(procs, pid, clock_ns());
	CHECK(is_our_code(id, clock_ns()));
	procs_exit(procs, clock_ns(), pid);
	procs_forget(procs, clock_ns() + 1);
	CHECK(is_our_code(id, clock_ns()));	/* kept: it runs on */
	close(hold[1]);
	waitpid(pid, NULL, 0);
	procs_forget(procs, clock_ns() + 1);
	CHECK(!is_our_code(id, clock_ns()));
	end();
	close(ready[0]);
	close(ready[1]);
	close(hold[0]);
}

static char lib[] = "/tmp/ebprof-test-XXXXXX";
static char *lib_at;

/* Makes the page at @lib_at the file's, executable, without anybody telling us. */
static void map_later(int ready, int hold)
{
	int fd = open(lib, O_RDONLY);

	pause_child(ready, hold);
	if (mmap(lib_at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		_exit(1);
}

TEST(a_mapping_that_no_event_told_of)
{
	int fd = mkstemp(lib);
	char expected[64];
	struct child c;
	uint32_t id;

	CHECK(fd >= 0 && write(fd, "\177ELF", 4) == 4 && !ftruncate(fd, 4096));
	lib_at = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c = start(map_later);
	begin();
	id = procs_at(procs, c.pid, clock_ns());
	step(&c);
	snprintf(expected, sizeof(expected), "%s+5", lib);
	CHECK_STR(where(id, (uintptr_t)lib_at + 5, clock_ns()), expected);
	/* A wild address is looked for once, then not again at once. */
	CHECK_STR(where(id, 5, clock_ns()), "?");
	stop(&c);
	end();
	unlink(lib);
	close(fd);
}

int main(void)
{
	prctl(PR_SET_NAME, "test_procs");
	RUN(fork_exec_exit);
	RUN(times_a_little_before_the_fork);
	RUN(fork_of_an_open_pid_ends_it);
	RUN(names_are_cleaned);
	RUN(mappings_over_time);
	RUN(fork_copies);
	RUN(forgetting);
	RUN(storm_of_processes);
	RUN(lost_exits);
	RUN(a_process_older_than_we_are);
	RUN(another_process_has_that_pid_now);
	RUN(asked_before_its_fork_is_told);
	RUN(a_child_that_is_gone_has_its_parents_mappings);
	RUN(exit_of_a_process_that_nobody_asked_for);
	RUN(threads_that_outlive_their_leader);
	RUN(a_mapping_that_no_event_told_of);
	return TEST_END();
}
