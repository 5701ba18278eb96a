/* SPDX-License-Identifier: MIT */
/*
 * Which files are opened, and the two of a process joined (jit.h). What needs another user or root
 * needs root.
 */
#include "symbols/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit_image.h"
#include "symbols/jit.h"
#include "symbols/jit_file_internal.h"
#include "test.h"

static char folder[64];

/* A path in the folder. Good until the fourth call after. */
static const char *path_of(const char *name)
{
	static char paths[4][200];
	static unsigned int next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", folder, name);
	return p;
}

static void make(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

/* What jit_file_open() gives of @path for process @pid: 0 or the errno. */
static int opened(pid_t pid, const char *path)
{
	struct jit_process p;
	int fd = jit_process_open(pid, &p);

	if (fd)
		return fd;
	fd = jit_file_open(&p, path);
	jit_process_close(&p);
	if (fd < 0)
		return fd;
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	return 0;
}

TEST(status)
{
	struct jit_process p = { 0 };

	CHECK_EQ(jit_parse_status(
			 "Name:\ta\\nNSpid:\t9\nPid:\t7\nUid:\t1\t2\t3\t4\nNSpid:\t7\nNSpgid:\t8\n",
			 &p),
		 0);
	CHECK_EQ(p.nspid, 7);
	CHECK_EQ(p.uid, 4);
	CHECK_EQ(jit_parse_status("Name:\ta\nUid:\t0\t0\t0\t0\nNSpid:\t700\t31\t1\nNSpgid:\t8\n",
				  &p),
		 0);
	CHECK_EQ(p.nspid, 1);
	CHECK_EQ(jit_parse_status("Name:\ta\nPid:\t7\nPPid:\t6\nUid:\t0\t0\t0\t4294967294\n", &p),
		 0);
	CHECK_EQ(p.nspid, 7);
	CHECK_EQ(p.uid, 4294967294u);
	CHECK_EQ(jit_parse_status("Name:\ta\nPid:\t7\n", &p), -EINVAL);
	CHECK_EQ(jit_parse_status("Name:\ta\nUid:\t0\t0\t0\t0\nNSpid:\n", &p), -EINVAL);
	CHECK_EQ(jit_parse_status("Name:\ta\nUid:\t0\t0\nNSpid:\t7\n", &p), -EINVAL);
	CHECK_EQ(jit_parse_status("", &p), -EINVAL);
	CHECK_EQ(jit_process_open(getpid(), &p), 0);
	CHECK_EQ(p.nspid, getpid());
	CHECK_EQ(p.uid, geteuid());
	jit_process_close(&p);
	CHECK_EQ(jit_process_open(0x7fffffff, &p), -ESRCH);
}

TEST(only_regular_files)
{
	make(path_of("regular"), "x", 1);
	CHECK(!symlink(path_of("regular"), path_of("link")));
	CHECK(!mkfifo(path_of("fifo"), 0644));
	CHECK(!mkdir(path_of("dir"), 0755) && !symlink("dir", path_of("linked_dir")));
	make(path_of("dir/inside"), "x", 1);
	make(path_of("large"), "x", 1);
	CHECK(!truncate(path_of("large"), JIT_FILE_MAX));
	CHECK_EQ(opened(getpid(), path_of("large")), 0);
	CHECK(!truncate(path_of("large"), JIT_FILE_MAX + 1ll));
	CHECK_EQ(opened(getpid(), path_of("large")), -EFBIG);
	CHECK_EQ(opened(getpid(), path_of("regular")), 0);
	CHECK_EQ(opened(getpid(), path_of("dir/inside")), 0);
	CHECK_EQ(opened(getpid(), path_of("linked_dir/inside")), 0);
	CHECK_EQ(opened(getpid(), path_of("link")), -ELOOP);
	CHECK_EQ(opened(getpid(), path_of("fifo")), -EINVAL);
	CHECK_EQ(opened(getpid(), path_of("dir")), -EINVAL);
	CHECK_EQ(opened(getpid(), path_of("none")), -ENOENT);
	CHECK_EQ(opened(getpid(), "/dev/null"), -EINVAL);
	CHECK_EQ(opened(getpid(), "/proc/self/exe"), -ELOOP);
	CHECK(opened(getpid(), "/proc/self/root/etc/passwd") < 0);
	CHECK_EQ(opened(getpid(), "regular"), -EINVAL);
	CHECK_EQ(opened(getpid(), ""), -EINVAL);
}

TEST(owners)
{
	pid_t pid;

	if (geteuid())
		return;
	make(path_of("mine"), "x", 1);
	CHECK(!chown(path_of("mine"), 4321, 4321));
	CHECK_EQ(opened(getpid(), path_of("mine")), -EPERM);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(4321, 4321, 4321))
			_exit(1);
		pause();
		_exit(0);
	}
	for (int i = 0; i < 1000 && opened(pid, path_of("mine")); i++)
		usleep(1000);
	CHECK_EQ(opened(pid, path_of("mine")), 0);
	CHECK_EQ(opened(pid, path_of("regular")), 0);	/* root's */
	CHECK(!chown(path_of("mine"), 4322, 4322));
	CHECK_EQ(opened(pid, path_of("mine")), -EPERM);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(gone)
{
	struct jit_process p;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	CHECK_EQ(jit_process_open(pid, &p), 0);
	CHECK_EQ(jit_file_open(&p, path_of("none")), -ENOENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_EQ(jit_file_open(&p, path_of("regular")), -ESRCH);
	jit_process_close(&p);
}

static const char *at(struct symbol_source *s, uint64_t address)
{
	static char text[300];
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_function f;
	char name[100], file[100];

	if (!s || s->ops->find(s, address, &f) || s->ops->name(s, f.token, name, sizeof(name)))
		return "-";
	if (s->ops->frames(s, address, frames) != 1 ||
	    s->ops->file(s, frames[0].file, file, sizeof(file)))
		snprintf(text, sizeof(text), "%s+0x%llx", name,
			 (unsigned long long)(address - f.start));
	else
		snprintf(text, sizeof(text), "%s+0x%llx %s:%u", name,
			 (unsigned long long)(address - f.start), file, frames[0].line);
	return text;
}

/* A process in a PID namespace and a root of its own, where the folder's "root" is "/". */
static pid_t start_contained(void)
{
	pid_t pid;
	int sync[2], err = pipe(sync);
	char byte;

	if (err)
		return -1;
	/*
	 * As fork(2) does it. A process that had called unshare(2) itself could start no threads,
	 * which LSan wants to.
	 */
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chroot(path_of("root")) || chdir("/") || write(sync[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(sync[1]);
	CHECK(read(sync[0], &byte, 1) == 1);
	close(sync[0]);
	return pid;
}

TEST(contained_process_with_both_files)
{
	static struct jit_image image;
	struct symbol_source *s;
	pid_t pid;

	if (geteuid())
		return;
	CHECK(!mkdir(path_of("root"), 0755) && !mkdir(path_of("root/tmp"), 01777) &&
	      !mkdir(path_of("root/real"), 0755));
	/* Absolute in its root: outside of it there is no such thing. */
	CHECK(!symlink("/real", path_of("root/dumps")));
	pid = start_contained();
	CHECK(pid > 0);
	if (pid <= 0)
		return;
	CHECK(!jit_open(pid, NULL) && errno == ENOENT);
	CHECK(!jit_open(pid, "/dumps/jit-1.dump") && errno == ENOENT);
	make(path_of("root/tmp/perf-1.map"), "10000 40 map_one\n20000 40 map_two\n", 34);
	s = jit_open(pid, "/dumps/jit-1.dump");
	CHECK(s != NULL);
	CHECK_STR(at(s, 0x10000), "-");
	CHECK_EQ(symbol_source_refresh(s), 0);
	CHECK_STR(at(s, 0x10000), "map_one+0x0");
	/* The jitdump comes later, and is written after it was opened. */
	make(path_of("root/real/jit-1.dump"), "", 0);
	jit_look(s, "/dumps/jit-1.dump");
	CHECK_EQ(symbol_source_refresh(s), 0);
	CHECK_STR(at(s, 0x10000), "map_one+0x0");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	jit_image_begin(&image, 1);
	jit_image_debug(&image, 0x10000, 1);
	jit_image_line(&image, 0x10000, 7, "/src/a.c");
	jit_image_end(&image);
	jit_image_load(&image, 1, 0x10000, 0x20, 1, "dump_one");
	make(path_of("root/real/jit-1.dump"), image.bytes, image.size);
	CHECK_EQ(symbol_source_refresh(s), 0);
	CHECK_STR(at(s, 0x10001), "dump_one+0x1 /src/a.c:7");
	CHECK_STR(at(s, 0x10020), "map_one+0x20");
	CHECK_STR(at(s, 0x20020), "map_two+0x20");
	CHECK_STR(at(s, 0x30000), "-");
	CHECK_EQ(symbol_source_refresh(s), 0);
	CHECK_STR(at(s, 0x10001), "dump_one+0x1 /src/a.c:7");
	symbol_source_free(s);
	CHECK(!jit_open(pid, NULL) && errno == ESRCH);
}

int main(void)
{
	char command[100];

	snprintf(folder, sizeof(folder), "/tmp/ebprof_jit_%s", "XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	chmod(folder, 0755);
	RUN(status);
	RUN(only_regular_files);
	RUN(owners);
	RUN(gone);
	RUN(contained_process_with_both_files);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		return 1;
	return TEST_END();
}
