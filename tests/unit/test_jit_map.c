/* SPDX-License-Identifier: MIT */
#include "proc/jit_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char path[64];

static void write_map(const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

TEST(own_map)
{
	char text[8] = "";
	int fd;

	unlink(path);
	CHECK_EQ(jit_map_open(getpid()), -ENOENT);
	write_map("1 1 a\n");
	fd = jit_map_open(getpid());
	CHECK(fd >= 0);
	CHECK_EQ(read(fd, text, sizeof(text)), 6);
	CHECK_STR(text, "1 1 a\n");
	close(fd);
	unlink(path);
}

/* A FIFO would stop us, a link may lead anywhere, and a directory is no map. */
TEST(what_is_no_map)
{
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(jit_map_open(getpid()), -EPERM);
	unlink(path);
	CHECK_EQ(symlink("/etc/passwd", path), 0);
	CHECK_EQ(jit_map_open(getpid()), -EPERM);
	unlink(path);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(jit_map_open(getpid()), -EPERM);
	rmdir(path);
}

/* Somebody else's file is not believed; root's is. */
TEST(owners)
{
	int fd;

	if (geteuid())
		return;
	write_map("1 1 a\n");
	CHECK_EQ(chown(path, 65534, 65534), 0);
	CHECK_EQ(jit_map_open(getpid()), -EPERM);
	CHECK_EQ(chown(path, 0, 0), 0);
	fd = jit_map_open(getpid());
	CHECK(fd >= 0);
	close(fd);
	unlink(path);
}

TEST(no_process)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(jit_map_open(pid), -ESRCH);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	RUN(own_map);
	RUN(what_is_no_map);
	RUN(owners);
	RUN(no_process);
	return TEST_END();
}
