/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/outfile.h"

static char folder[] = "/tmp/ebprof-test-XXXXXX";
static const struct user me;
static struct error e;

static const char *in_folder(const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* The beginning of a file, "" where there is none. */
static const char *get(const char *path)
{
	static char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* Files in a folder, hidden ones too. */
static int count(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	int n = 0;

	while (d && (entry = readdir(d)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	if (d)
		closedir(d);
	return n;
}

static void check_refused(const char *path, int err, const char *text)
{
	struct outfile *f;

	memset(&e, 0, sizeof(e));
	f = outfile_open(path, &me, &e);
	CHECK(f == NULL);
	CHECK_EQ(errno, err);
	CHECK_EQ(e.status, STATUS_ERROR);
	if (!strstr(e.text, text) || strncmp(e.text, "cannot write ", 13))
		printf("%s\n", e.text);
	CHECK(strstr(e.text, text) && !strncmp(e.text, "cannot write ", 13));
	outfile_abandon(f);
}

TEST(a_new_file)
{
	struct outfile *f;
	struct stat st;
	mode_t mask = umask(027);

	f = outfile_open(in_folder("new"), &me, &e);
	CHECK(f != NULL);
	CHECK_EQ(outfile_is_stdout(f), 0);
	outfile_write(f, "hello ", 6);
	outfile_write(f, NULL, 0);
	outfile_printf(f, "%s %d\n", "world", 7);
	CHECK_EQ(access(in_folder("new"), F_OK), -1);
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK_STR(get(in_folder("new")), "hello world 7\n");
	CHECK_EQ(stat(in_folder("new"), &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0640);
	CHECK_EQ(count(folder), 1);
	umask(mask);
	unlink(in_folder("new"));
}

TEST(an_old_file)
{
	struct outfile *f;

	put(in_folder("old"), "before");
	f = outfile_open(in_folder("old"), &me, &e);
	outfile_write(f, "after", 5);
	CHECK_STR(get(in_folder("old")), "before");
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK_STR(get(in_folder("old")), "after");
	f = outfile_open(in_folder("old"), &me, &e);
	outfile_write(f, "never", 5);
	outfile_abandon(f);
	CHECK_STR(get(in_folder("old")), "after");
	CHECK_EQ(count(folder), 1);
	unlink(in_folder("old"));
	outfile_abandon(NULL);
}

/* As root, too, who may write to any file. */
TEST(a_protected_file)
{
	struct outfile *f;

	put(in_folder("old"), "before");
	CHECK(!chmod(in_folder("old"), 0444));
	check_refused(in_folder("old"), EACCES, "it is write-protected; --force replaces it");
	CHECK_STR(get(in_folder("old")), "before");
	f = outfile_open_force(in_folder("old"), &me, &e);
	outfile_write(f, "after", 5);
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK_STR(get(in_folder("old")), "after");
	CHECK_EQ(count(folder), 1);
	unlink(in_folder("old"));
}

TEST(a_name_without_a_folder)
{
	char before[512];
	struct outfile *f;

	CHECK(getcwd(before, sizeof(before)) && !chdir(folder));
	f = outfile_open("bare", &me, &e);
	/* It is written where it was opened. */
	CHECK(f && !chdir("/"));
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK_EQ(access(in_folder("bare"), F_OK), 0);
	CHECK(!chdir(before));
	unlink(in_folder("bare"));
}

/* Across every edge of the buffer. */
TEST(large_and_small_pieces)
{
	enum { N = 3000 };
	static char big[200000];
	struct outfile *f = outfile_open(in_folder("big"), &me, &e);
	long expected = 0, got = 0;
	FILE *r;
	int c;

	memset(big, 'x', sizeof(big) - 1);
	for (int i = 0; i < N; i++) {
		outfile_printf(f, "%d;%.*s\n", i, i % 97, big);
		expected += snprintf(NULL, 0, "%d;", i) + i % 97 + 1;
	}
	outfile_printf(f, "%s", big);
	outfile_write(f, big, sizeof(big));
	expected += 2 * (long)sizeof(big) - 1;
	CHECK_EQ(outfile_commit(f, &e), 0);
	r = fopen(in_folder("big"), "r");
	for (int i = 0; i < N; i++) {
		int number = -1, n = 0;

		CHECK_EQ(fscanf(r, "%d;", &number), 1);
		CHECK_EQ(number, i);
		while ((c = getc(r)) == 'x')
			n++;
		CHECK_EQ(n, i % 97);
		CHECK_EQ(c, '\n');
	}
	fseek(r, 0, SEEK_END);
	got = ftell(r);
	fclose(r);
	CHECK_EQ(got, expected);
	unlink(in_folder("big"));
}

TEST(names_that_cannot_be)
{
	char name[400], path[64];

	snprintf(name, sizeof(name), "there is no folder %s; make it first: mkdir -p",
		 in_folder("no/such"));
	check_refused(in_folder("no/such/file"), ENOENT, name);
	check_refused("", EISDIR, "file's name");
	check_refused(folder, EISDIR, "it is a folder");
	check_refused(in_folder(""), EISDIR, "file's name");
	check_refused(in_folder("."), EISDIR, "it is a folder");
	check_refused("/", EISDIR, "file's name");
	put(in_folder("file"), "x");
	check_refused(in_folder("file/y"), ENOTDIR, "is not a folder");
	memset(name, 'n', 300);
	name[300] = '\0';
	check_refused(in_folder(name), ENAMETOOLONG, "File name too long");
	check_refused("/dev/fd/876", EBADF, "not open for writing");
	snprintf(path, sizeof(path), "/dev/fd/%d", open("/dev/null", O_RDONLY));
	check_refused(path, EBADF, "not open for writing");
	close(atoi(path + 8));
	unlink(in_folder("file"));
}

TEST(links_are_not_followed)
{
	put(in_folder("target"), "precious");
	CHECK(!symlink("target", in_folder("link")) && !symlink("nowhere", in_folder("dangling")));
	check_refused(in_folder("link"), ELOOP, "symbolic link");
	check_refused(in_folder("dangling"), ELOOP, "symbolic link");
	CHECK_STR(get(in_folder("target")), "precious");
	CHECK_EQ(access(in_folder("nowhere"), F_OK), -1);
	unlink(in_folder("link"));
	unlink(in_folder("dangling"));
	unlink(in_folder("target"));
}

/* A link planted between opening and the end is replaced, not followed. */
TEST(a_link_planted_meanwhile)
{
	struct outfile *f = outfile_open(in_folder("out"), &me, &e);
	struct stat st;

	put(in_folder("target"), "precious");
	CHECK(!symlink("target", in_folder("out")));
	outfile_write(f, "data", 4);
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK_STR(get(in_folder("target")), "precious");
	CHECK_STR(get(in_folder("out")), "data");
	CHECK(!lstat(in_folder("out"), &st) && S_ISREG(st.st_mode));
	unlink(in_folder("out"));
	unlink(in_folder("target"));
}

TEST(a_folder_in_its_place_meanwhile)
{
	struct outfile *f = outfile_open(in_folder("out"), &me, &e);

	CHECK(!mkdir(in_folder("out"), 0700));
	CHECK_EQ(outfile_commit(f, &e), -EISDIR);
	CHECK(strstr(e.text, "cannot write") != NULL);
	CHECK(!rmdir(in_folder("out")));
	CHECK_EQ(count(folder), 0);
}

TEST(fifos_and_devices)
{
	struct outfile *f;
	char text[16] = "";
	int r;

	CHECK(!mkfifo(in_folder("fifo"), 0600));
	check_refused(in_folder("fifo"), ENXIO, "nothing reads from this FIFO");
	r = open(in_folder("fifo"), O_RDONLY | O_NONBLOCK);
	f = outfile_open(in_folder("fifo"), &me, &e);
	CHECK(f != NULL);
	outfile_write(f, "through", 7);
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK_EQ(read(r, text, sizeof(text)), 7);
	CHECK_STR(text, "through");
	/* The reader goes away. */
	signal(SIGPIPE, SIG_IGN);
	f = outfile_open(in_folder("fifo"), &me, &e);
	close(r);
	memset(&e, 0, sizeof(e));
	outfile_write(f, "lost", 4);
	CHECK_EQ(outfile_commit(f, &e), -EPIPE);
	CHECK_STR(e.text, "");
	unlink(in_folder("fifo"));
	f = outfile_open("/dev/null", &me, &e);
	outfile_write(f, "x", 1);
	CHECK_EQ(outfile_commit(f, &e), 0);
	f = outfile_open("/dev/full", &me, &e);
	outfile_write(f, "x", 1);
	CHECK_EQ(outfile_commit(f, &e), -ENOSPC);
	CHECK(strstr(e.text, "cannot write /dev/full: No space left on device") != NULL);
	CHECK_EQ(count(folder), 0);
}

TEST(a_full_pipe_that_does_not_block)
{
	static char data[1 << 20];
	struct outfile *f;
	char path[32];
	long got = 0;
	int p[2], status;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 251);
	CHECK(!pipe(p));
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	if (!fork()) {
		ssize_t n;

		close(p[1]);
		for (char *at = malloc(sizeof(data)); (n = read(p[0], at, 1000)) > 0; got += n)
			if (got + n > (long)sizeof(data) || memcmp(at, data + got, (size_t)n))
				_exit(2);
		_exit(got != sizeof(data));
	}
	close(p[0]);
	snprintf(path, sizeof(path), "/dev/fd/%d", p[1]);
	f = outfile_open(path, &me, &e);
	outfile_write(f, data, sizeof(data));
	CHECK_EQ(outfile_commit(f, &e), 0);
	close(p[1]);
	wait(&status);
	CHECK_EQ(status, 0);
}

/* @names stand for standard output, whatever that is. */
TEST(standard_output)
{
	static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };
	struct outfile *f[4];
	int saved, err[4];

	fflush(stdout);
	saved = dup(1);
	dup2(open(in_folder("stdout"), O_RDWR | O_CREAT, 0600), 1);
	for (int i = 0; i < 4; i++) {
		f[i] = outfile_open(names[i], &me, &e);
		err[i] = !f[i] || !outfile_is_stdout(f[i]);
		if (f[i])
			outfile_write(f[i], "x", 1), err[i] |= outfile_commit(f[i], &e);
	}
	err[0] |= fcntl(1, F_GETFD);	/* left open */
	close(1);
	f[0] = outfile_open("-", &me, &e);
	dup2(saved, 1);
	close(saved);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(err[i], 0);
	CHECK(f[0] == NULL && strstr(e.text, "not open for writing"));
	CHECK_STR(get(in_folder("stdout")), "xxxx");
	unlink(in_folder("stdout"));
}

/* Writes 1 MB more than there is room for; the old file stays, and nothing else. */
static void check_full(const char *dir, int err)
{
	static char data[1 << 20];
	struct outfile *f;
	char path[512];

	snprintf(path, sizeof(path), "%s/out", dir);
	put(path, "before");
	f = outfile_open(path, &me, &e);
	outfile_write(f, data, sizeof(data));
	outfile_write(f, "more", 4);
	CHECK_EQ(outfile_commit(f, &e), -err);
	CHECK(strstr(e.text, strerror(err)) && !strncmp(e.text, "cannot write ", 13));
	CHECK_STR(get(path), "before");
	CHECK_EQ(count(dir), 1);
	unlink(path);
}

TEST(a_full_disk)
{
	struct rlimit old, small;
	const char *disk;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &small);
	check_full(folder, EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	disk = in_folder("disk");
	CHECK(!mkdir(disk, 0700));
	if (!mount("none", disk, "tmpfs", 0, "size=128k")) {
		check_full(disk, ENOSPC);
		CHECK(!mount("none", disk, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL));
		check_refused(in_folder("disk/out"), EROFS,
			      "Read-only file system; choose another folder");
		umount(disk);
	}
	rmdir(in_folder("disk"));
}

/* Without /proc (as without O_TMPFILE) the temporary file has a name from the beginning. */
TEST(a_temporary_file_with_a_name)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct outfile *f;
		int bad = 0;

		/* Not allowed to: nothing to test. */
		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", "/proc", "tmpfs", 0, "size=4k"))
			_exit(0);
		put(in_folder("out"), "before");
		f = outfile_open(in_folder("out"), &me, &e);
		outfile_write(f, "never", 5);
		bad |= count(folder) != 2;
		outfile_abandon(f);
		bad |= (count(folder) != 1) << 1 | !!strcmp(get(in_folder("out")), "before") << 2;
		f = outfile_open(in_folder("out"), &me, &e);
		outfile_write(f, "after", 5);
		bad |= !!outfile_commit(f, &e) << 3 | (count(folder) != 1) << 4 |
		       !!strcmp(get(in_folder("out")), "after") << 5;
		unlink(in_folder("out"));
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

/* Where files are written as root on behalf of another user. */
static struct user somebody(void)
{
	struct user u;

	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "54322", 1);
	/* As sudo leaves it: root's group among our own. */
	if (geteuid() == 0)
		CHECK(!setgroups(1, &(gid_t){ 0 }));
	u = user_invoking();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return u;
}

TEST(files_belong_to_the_invoking_user)
{
	struct user u = somebody();
	struct outfile *f;
	struct stat st;

	CHECK_EQ(u.switched, geteuid() == 0);
	if (!u.switched)
		return;
	CHECK(!mkdir(in_folder("root"), 0700) && !mkdir(in_folder("open"), 0777) &&
	      !chmod(in_folder("open"), 0777) && !mkdir(in_folder("group"), 0770) &&
	      !chmod(folder, 0755) && !chmod(in_folder("group"), 0770));
	f = outfile_open(in_folder("open/out"), &u, &e);
	CHECK(f != NULL);
	outfile_write(f, "data", 4);
	CHECK_EQ(outfile_commit(f, &e), 0);
	CHECK(!stat(in_folder("open/out"), &st) && st.st_uid == 54321 && st.st_gid == 54322);
	/* Root's own folder, and one of root's group: neither is that user's. */
	CHECK(outfile_open(in_folder("root/out"), &u, &e) == NULL);
	CHECK(strstr(e.text, "Permission denied") && strstr(e.text, "54321"));
	CHECK(outfile_open(in_folder("group/out"), &u, &e) == NULL);
	/* Another's file in a folder that is open to all. */
	put(in_folder("open/roots"), "before");
	CHECK(outfile_open(in_folder("open/roots"), &u, &e) == NULL);
	CHECK(!chmod(in_folder("open"), 01777) && !chmod(in_folder("open/roots"), 0666));
	CHECK(outfile_open(in_folder("open/roots"), &u, &e) == NULL);
	CHECK_EQ(geteuid(), 0);
	put(in_folder("root/mine"), "still root");
	CHECK_EQ(count(in_folder("open")), 2);
	unlink(in_folder("open/out"));
	unlink(in_folder("open/roots"));
	unlink(in_folder("root/mine"));
	rmdir(in_folder("open"));
	rmdir(in_folder("root"));
	rmdir(in_folder("group"));
}

TEST(entering_and_leaving)
{
	struct user u = somebody();
	gid_t before[64], after[64];
	int n = getgroups(64, before);

	if (!u.switched)
		return;
	CHECK(!mkdir(in_folder("root"), 0700));
	CHECK_EQ(user_enter(&u), 0);
	CHECK(open(in_folder("root/x"), O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES);
	CHECK(open("/etc/shadow", O_RDONLY) < 0);
	user_leave(&u);
	CHECK_EQ(getgroups(64, after), n);
	CHECK(n < 0 || !memcmp(before, after, (size_t)n * sizeof(gid_t)));
	put(in_folder("root/x"), "x");
	unlink(in_folder("root/x"));
	rmdir(in_folder("root"));
}

TEST(who_called)
{
	static const char *const bad[] = {
		"",	      "0",	    "-1",
		"x",	      "1000x",	    " 1000",
		"4294967295", "4294967296", "99999999999999999999",
	};

	setenv("SUDO_GID", "1000", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("SUDO_UID", bad[i], 1);
		CHECK_EQ(user_invoking().switched, 0);
	}
	setenv("SUDO_UID", "1000", 1);
	CHECK_EQ(user_invoking().switched, geteuid() == 0);
	setenv("SUDO_GID", "no", 1);
	CHECK_EQ(user_invoking().switched, 0);
	unsetenv("SUDO_GID");
	CHECK_EQ(user_invoking().switched, 0);
	unsetenv("SUDO_UID");
	CHECK_EQ(user_enter(&me), 0);
	user_leave(&me);
	CHECK_EQ(user_become(&me), 0);
}

TEST(compresses)
{
	const char *path = in_folder("x.gz");
	struct outfile *f = outfile_open(path, &me, &e);
	char big[200000], back[200001];
	gzFile in;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * i >> 7);
	outfile_compress(f);
	outfile_printf(f, "%s\n", "head");
	outfile_write(f, big, sizeof(big));
	CHECK_EQ(outfile_commit(f, &e), 0);
	in = gzopen(path, "r");
	CHECK(in);
	CHECK_EQ(gzread(in, back, 5), 5);
	CHECK(!memcmp(back, "head\n", 5));
	CHECK_EQ(gzread(in, back, sizeof(back)), (int)sizeof(big));
	CHECK(!memcmp(back, big, sizeof(big)));
	CHECK_EQ(gzclose(in), Z_OK);
	unlink(path);
}

/* As many bytes as are allowed, and one more: what was there stays. */
TEST(a_limit)
{
	const char *path = in_folder("x");
	struct outfile *f;

	put(path, "old");
	for (int more = 1; more >= 0; more--) {
		f = outfile_open(path, &me, &e);
		CHECK_EQ(outfile_is_named(f), 1);
		outfile_limit(f, 70000);
		for (int i = 0; i < 70000 + more; i++)
			outfile_write(f, "n", 1);
		CHECK_EQ(outfile_commit(f, &e), more ? -EFBIG : 0);
		CHECK(*get(path) == (more ? 'o' : 'n'));
		CHECK_EQ(count(folder), 1);
	}
	unlink(path);
	f = outfile_open("/dev/null", &me, &e);
	CHECK_EQ(outfile_is_named(f), 0);
	outfile_abandon(f);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_new_file);
	RUN(an_old_file);
	RUN(a_protected_file);
	RUN(a_name_without_a_folder);
	RUN(large_and_small_pieces);
	RUN(names_that_cannot_be);
	RUN(links_are_not_followed);
	RUN(a_link_planted_meanwhile);
	RUN(a_folder_in_its_place_meanwhile);
	RUN(fifos_and_devices);
	RUN(a_full_pipe_that_does_not_block);
	RUN(standard_output);
	RUN(a_full_disk);
	RUN(a_temporary_file_with_a_name);
	RUN(files_belong_to_the_invoking_user);
	RUN(entering_and_leaving);
	RUN(who_called);
	RUN(compresses);
	RUN(a_limit);
	rmdir(folder);
	return TEST_END();
}
