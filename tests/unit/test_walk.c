/* SPDX-License-Identifier: MIT */
/*
 * What is found below a directory with links that lead in, around and out; and that the kernel's
 * openat2(2) agrees.
 */
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char folder[64];
static int root;

/* The inode that @path leads to, or a negative errno. */
static long long found(int from, int start, const char *path, enum walk_links links)
{
	int fd = walk_open(from, start, path, links);
	struct stat st;

	if (fd < 0)
		return fd;
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fstat(fd, &st), 0);
	close(fd);
	return (long long)st.st_ino;
}

static long long inode(const char *name)
{
	struct stat st;

	CHECK_EQ(fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return (long long)st.st_ino;
}

static void make(void)
{
	static const char *const links[][2] = {
		{ "file", "link" },	     { "dir", "to_dir" },
		{ "/dir/file", "absolute" }, { "../../../dir/file", "up" },
		{ "loop", "loop" },	     { "/proc/self/exe", "magic" },
		{ "none", "dangling" },
	};

	snprintf(folder, sizeof(folder), "/tmp/ebprof-walk-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(root >= 0 && !mkdirat(root, "dir", 0755) && !mkdirat(root, "dir/deep", 0755));
	close(openat(root, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	close(openat(root, "dir/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		CHECK_EQ(symlinkat(links[i][0], root, links[i][1]), 0);
}

TEST(plain_paths)
{
	char name[300], path[5000];

	CHECK_EQ(found(root, root, "/dir//./file", WALK_NO_LINKS), inode("dir/file"));
	CHECK_EQ(found(root, root, "dir/deep/", WALK_NO_LINKS), inode("dir/deep"));
	CHECK_EQ(found(root, root, "/", WALK_NO_LINKS), inode("."));
	CHECK_EQ(found(root, root, "dir/none", WALK_NO_LINKS), -ENOENT);
	CHECK_EQ(found(root, root, "file/x", WALK_NO_LINKS), -ENOTDIR);
	CHECK_EQ(found(-1, -1, "x", WALK_NO_LINKS), -EBADF);
	memset(name, 'x', 299);
	name[299] = '\0';
	CHECK_EQ(found(root, root, name, WALK_NO_LINKS), -ENAMETOOLONG);
	memset(path, '/', 4999);
	path[4999] = '\0';
	CHECK_EQ(found(root, root, path, WALK_NO_LINKS), -ENAMETOOLONG);
}

TEST(nothing_leads_out)
{
	CHECK_EQ(found(root, root, "../../etc/passwd", WALK_LINKS), -ENOENT);
	CHECK_EQ(found(root, root, "dir/deep/../../../../dir/file", WALK_LINKS), inode("dir/file"));
	CHECK_EQ(found(root, root, "absolute", WALK_LINKS), inode("dir/file"));
	CHECK_EQ(found(root, root, "up", WALK_LINKS), inode("dir/file"));
	/* To where it says in here, and there is no such file. */
	CHECK_EQ(found(root, root, "magic", WALK_LINKS), -ENOENT);
}

TEST(links)
{
	CHECK_EQ(found(root, root, "to_dir/file", WALK_NO_LINKS), -ELOOP);
	CHECK_EQ(found(root, root, "link", WALK_NO_LINKS), -ELOOP);
	CHECK_EQ(found(root, root, "to_dir/file", WALK_INNER_LINKS), inode("dir/file"));
	CHECK_EQ(found(root, root, "link", WALK_INNER_LINKS), inode("link"));
	CHECK_EQ(found(root, root, "link", WALK_LINKS), inode("file"));
	CHECK_EQ(found(root, root, "link/x", WALK_INNER_LINKS), -ENOTDIR);
	CHECK_EQ(found(root, root, "loop", WALK_LINKS), -ELOOP);
	CHECK_EQ(found(root, root, "dangling", WALK_LINKS), -ENOENT);
}

TEST(our_own_root)
{
	int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
	    dir = openat(root, "dir", O_PATH | O_DIRECTORY | O_CLOEXEC);

	CHECK_EQ(found(ours, dir, "../file", WALK_LINKS), inode("file"));
	CHECK_EQ(found(ours, dir, "deep/../../file", WALK_LINKS), inode("file"));
	/* No link of /proc's, which needs no path at all. */
	CHECK_EQ(found(ours, root, "magic", WALK_LINKS), -ELOOP);
	CHECK_EQ(found(ours, ours, "proc/self/exe", WALK_LINKS), -ELOOP);
	close(ours);
	close(dir);
}

TEST(deep_trees_end)
{
	char path[400] = "";

	for (int i = 0; i < 70; i++) {
		strcat(path, "d/");
		CHECK_EQ(mkdirat(root, path, 0755), 0);
	}
	CHECK_EQ(found(root, root, path, WALK_LINKS), -ENAMETOOLONG);
	path[2 * 64] = '\0';
	CHECK(found(root, root, path, WALK_LINKS) > 0);
	for (int i = 70; i > 0; i--) {
		memset(path, 0, sizeof(path));
		for (int k = 0; k < i; k++)
			strcat(path, "d/");
		CHECK_EQ(unlinkat(root, path, AT_REMOVEDIR), 0);
	}
}

TEST(the_kernel_agrees)
{
	static const char *const paths[] = {
		"file", "/file",	  "link",	    "to_dir/file",	"absolute",
		"up",	"loop",		  "dangling",	    "dir/deep/../file", "..",
		"../x", "to_dir/../file", "to_dir/deep/..", "none/x",		"",
		"dir/",
	};
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		long fd = syscall(SYS_openat2, root, paths[i], &how, sizeof(how));
		struct stat st;

		if (fd < 0 && (errno == ENOSYS || errno == EPERM))
			return;
		if (fd < 0 && !*paths[i])
			continue;	/* the kernel has no empty path */
		CHECK_EQ(found(root, root, paths[i], WALK_LINKS),
			 fd < 0 ? -errno : fstat((int)fd, &st) ? -1 : (long long)st.st_ino);
		if (fd >= 0)
			close((int)fd);
	}
}

/*
 * An automounter at folder/auto whose daemon we are: "there" is mounted, "idle" is not. The
 * descriptor by which it asks.
 */
static int begin_automount(void)
{
	char path[128], options[128];
	int ask[2];

	CHECK_EQ(pipe2(ask, O_CLOEXEC), 0);
	snprintf(path, sizeof(path), "%s/auto", folder);
	snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", ask[1],
		 (int)getpgrp());
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir(path, 0755) || mount("auto", path, "autofs", 0, options))
		return -1;
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);	/* as it is mounted here */
	CHECK_EQ(mkdirat(root, "auto/idle", 0755), 0);
	CHECK_EQ(mkdirat(root, "auto/there", 0755), 0);
	strcat(path, "/there");
	CHECK_EQ(mount("none", path, "tmpfs", 0, NULL), 0);
	CHECK_EQ(mkdirat(root, "auto/there/dir", 0755), 0);
	return ask[0];
}

/*
 * 0 or why not, for somebody who is not the daemon; -EBUSY: the daemon, which would keep him
 * waiting, is asked for a mount.
 */
static int walk_of_another(int asked, const char *path)
{
	struct pollfd fds[2] = { { .fd = asked, .events = POLLIN }, { .events = POLLIN } };
	int answer[2], err = -EBUSY;
	pid_t pid;

	CHECK_EQ(pipe2(answer, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		err = walk_open(root, root, path, WALK_LINKS);
		err = err > 0 ? 0 : err;
		_exit(write(answer[1], &err, sizeof(err)) != sizeof(err));
	}
	fds[1].fd = answer[0];
	CHECK(poll(fds, 2, -1) > 0);
	if (!(fds[0].revents & POLLIN))
		CHECK_EQ(read(answer[0], &err, sizeof(err)), sizeof(err));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(answer[0]);
	close(answer[1]);
	return err;
}

static void look_at_automounts(void)
{
	int asked = begin_automount();

	if (asked < 0)
		return;
	CHECK_EQ(walk_of_another(asked, "auto/there/dir"), 0);
	CHECK_EQ(walk_of_another(asked, "auto/idle"), 0);
	CHECK_EQ(walk_of_another(asked, "auto/idle/file"), -ENOENT);
	CHECK_EQ(walk_of_another(asked, "auto/other"), -ENOENT);
	CHECK_EQ(walk_of_another(asked, "auto/other/file"), -ENOENT);
	close(asked);
}

/* In mounts of our own, where we may make any. */
TEST(nothing_is_mounted)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		look_at_automounts();
		fflush(stdout);
		_exit(!test_ok);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void clean(void)
{
	char command[100];

	close(root);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
}

int main(void)
{
	make();
	RUN(plain_paths);
	RUN(nothing_leads_out);
	RUN(links);
	RUN(our_own_root);
	RUN(deep_trees_end);
	RUN(the_kernel_agrees);
	RUN(nothing_is_mounted);
	clean();
	return TEST_END();
}
