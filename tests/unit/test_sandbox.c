/* SPDX-License-Identifier: MIT */
/* What the filter refuses and what it lets pass, each tried by a child that has entered it. */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define CALL(...) (syscall(__VA_ARGS__) == -1 ? errno : 0)
#define REFUSED(...) CHECK_EQ(CALL(__VA_ARGS__), ENOSYS)
#define PASSES(...) CHECK(CALL(__VA_ARGS__) != ENOSYS)

static const struct sandbox_options plain;

/* Runs @checks in a child that has entered; it may use CHECK. */
static void inside(const struct sandbox_options *o, void (*checks)(void))
{
	int status = -1, err;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		test_ok = 1;
		err = sandbox_enter(o);
		if (err == -EINVAL || err == -ENOSYS)
			_exit(0);	/* no filters in this kernel: nothing to be seen */
		CHECK_EQ(err, 0);
		checks();
		fflush(stdout);
		_exit(!test_ok);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

static void try_programs(void)
{
	char *const argv[] = { "true", NULL };
	char byte;
	struct iovec v = { &byte, 1 };

	REFUSED(SYS_execve, "/bin/true", argv, NULL);
	REFUSED(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0);
	REFUSED(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	REFUSED(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	REFUSED(SYS_unshare, CLONE_NEWNS);
	REFUSED(SYS_recvmsg, 0, 0, 0);
	REFUSED(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0);
	REFUSED(SYS_process_vm_writev, getppid(), &v, 1, &v, 1, 0);
	REFUSED(SYS_kill, getppid(), SIGURG);
	REFUSED(SYS_tgkill, getppid(), getppid(), SIGURG);
	PASSES(SYS_kill, getppid(), 0);
	PASSES(SYS_tgkill, getpid(), gettid(), 0);
}

TEST(no_program_is_started_nor_touched)
{
	inside(&plain, try_programs);
}

static void try_files(void)
{
	struct open_how how = { .flags = O_WRONLY };
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	close(fd);
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	CHECK(fd < 0 && errno == ENOSYS);
	REFUSED(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
	REFUSED(SYS_openat, AT_FDCWD, "/tmp/ebprof-new", O_RDONLY | O_CREAT, 0600);
	REFUSED(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_TRUNC, 0);
	REFUSED(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600);
	REFUSED(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof(how));
	REFUSED(SYS_renameat2, AT_FDCWD, "/nowhere", AT_FDCWD, "/nowhere2", 0);
	REFUSED(SYS_linkat, AT_FDCWD, "/nowhere", AT_FDCWD, "/nowhere2", 0);
	REFUSED(SYS_symlinkat, "/nowhere", AT_FDCWD, "/nowhere2");
	REFUSED(SYS_unlinkat, AT_FDCWD, "/nowhere", 0);
	REFUSED(SYS_mkdirat, AT_FDCWD, "/nowhere/x", 0700);
	REFUSED(SYS_fchmodat, AT_FDCWD, "/nowhere", 04755);
	REFUSED(SYS_fchownat, AT_FDCWD, "/nowhere", 0, 0, 0);
	REFUSED(SYS_truncate, "/nowhere", 0);
	REFUSED(SYS_mount, "none", "/nowhere", "tmpfs", 0, 0);
	REFUSED(SYS_setxattr, "/nowhere", "user.x", "", 0, 0);
#ifdef __x86_64__
	REFUSED(SYS_open, "/dev/null", O_RDONLY);
	REFUSED(SYS_creat, "/nowhere/x", 0600);
	REFUSED(SYS_chmod, "/nowhere", 0);
	REFUSED(SYS_chown, "/nowhere", 0, 0);
	/* The same call by its number among those of x32. */
	REFUSED(0x40000000 | SYS_execve, 0, 0, 0);
#endif
}

TEST(nothing_is_written)
{
	inside(&plain, try_files);
}

static void try_kernel(void)
{
	union bpf_attr attr = { 0 };

	for (int cmd = 0; cmd < 64; cmd++) {
		const int passes = cmd <= BPF_MAP_GET_NEXT_KEY || cmd == BPF_OBJ_GET_INFO_BY_FD ||
				   cmd == BPF_RAW_TRACEPOINT_OPEN ||
				   (cmd >= BPF_MAP_LOOKUP_BATCH && cmd <= BPF_LINK_CREATE) ||
				   cmd == BPF_ITER_CREATE;

		CHECK_EQ(CALL(SYS_bpf, cmd, &attr, sizeof(attr)) != ENOSYS, passes);
	}
	REFUSED(SYS_init_module, 0, 0, "");
	REFUSED(SYS_finit_module, -1, "", 0);
	REFUSED(SYS_kexec_load, 0, 0, 0, 0);
	REFUSED(SYS_keyctl, 0, 0, 0, 0, 0);
	REFUSED(SYS_add_key, 0, 0, 0, 0, 0);
	REFUSED(SYS_reboot, 0, 0, 0, 0);
	REFUSED(SYS_setns, -1, 0);
	REFUSED(SYS_chroot, "/nowhere");
	REFUSED(SYS_pivot_root, "/nowhere", "/nowhere");
	REFUSED(SYS_userfaultfd, 0);
	REFUSED(SYS_io_setup, 1, 0);
	REFUSED(SYS_seccomp, 1, 0, 0);
	REFUSED(SYS_ioctl, 0, TIOCSTI, "x");
	REFUSED(SYS_fcntl, 0, F_SETOWN, 1);
	REFUSED(SYS_prlimit64, getppid(), 0, 0, 0);
	REFUSED(SYS_setitimer, ITIMER_PROF, 0, 0);
	PASSES(SYS_perf_event_open, 0, 0, -1, -1, ~0ul);
}

TEST(the_kernel_is_left_as_it_is)
{
	inside(&plain, try_kernel);
}

static void try_identities(void)
{
	REFUSED(SYS_setuid, 0);
	REFUSED(SYS_setresuid, 0, 0, 0);
	REFUSED(SYS_setfsuid, 0);
	REFUSED(SYS_setgroups, 0, 0);
	REFUSED(SYS_capset, 0, 0);
	REFUSED(SYS_socket, AF_INET, SOCK_STREAM, 0);
	REFUSED(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	REFUSED(SYS_connect, -1, 0, 0);
	CHECK_EQ(CALL(SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC), ENOSYS);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0) == MAP_FAILED &&
	      errno == ENOSYS);
}

TEST(nobody_else_and_no_network)
{
	inside(&plain, try_identities);
}

static void *say_one(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static void try_own(void)
{
	pthread_t thread;
	int said = 0;

	CHECK_EQ(pthread_create(&thread, NULL, say_one, &said), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(said, 1);
	free(malloc(10 << 20));
	CHECK_EQ(isatty(-1), 0);
	CHECK_EQ(errno, EBADF);
}

TEST(what_we_do_goes_on)
{
	inside(&plain, try_own);
}

static void try_given(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	close(fd);
	PASSES(SYS_setfsuid, geteuid());
	PASSES(SYS_kill, 0x7ffffff0, SIGTERM);
	REFUSED(SYS_kill, 0x7ffffff1, SIGTERM);
	REFUSED(SYS_execve, 0, 0, 0);
	REFUSED(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0);
}

TEST(what_was_asked_for_is_given)
{
	const struct sandbox_options o = { .command = 0x7ffffff0, .becomes_user = 1, .network = 1 };

	inside(&o, try_given);
}

#define ANSWERS 1000	/* no descriptor of ours */

static void try_answers(void)
{
	char control[64], byte;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
			    .msg_control = control, .msg_controllen = sizeof(control) };

	CHECK_EQ(CALL(SYS_recvmsg, ANSWERS, &m, 0), EBADF);
	REFUSED(SYS_recvmsg, ANSWERS + 1, &m, 0);
	REFUSED(SYS_sendmsg, ANSWERS, &m, 0);
	REFUSED(SYS_bpf, BPF_PROG_LOAD, 0, 0);
}

TEST(one_socket_answers)
{
	inside(&(struct sandbox_options){ .answers = ANSWERS }, try_answers);
}

static void try_clock(void)
{
	const struct itimerval never = { 0 };

	CHECK_EQ(CALL(SYS_setitimer, ITIMER_PROF, &never, NULL), 0);
	REFUSED(SYS_setitimer, ITIMER_REAL, &never, NULL);
	REFUSED(SYS_execve, 0, 0, 0);
}

TEST(who_demangles_has_a_clock)
{
	const struct sandbox_options o = { .clock = 1 };

	inside(&o, try_clock);
}

static void try_terminal(void)
{
	char *const argv[] = { "true", NULL };
	int fd = openat(AT_FDCWD, "/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	close(fd);
	PASSES(SYS_openat, AT_FDCWD, "/nowhere/x", O_WRONLY | O_CREAT | O_EXCL, 0600);
	PASSES(SYS_openat, AT_FDCWD, "/nowhere/x", O_WRONLY | O_NOFOLLOW, 0);
	PASSES(SYS_renameat, AT_FDCWD, "/nowhere", AT_FDCWD, "/nowhere2");
	PASSES(SYS_ioctl, -1, TCSETSW, NULL);
	PASSES(SYS_kill, getpid(), 0);
	REFUSED(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
	REFUSED(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_NOFOLLOW, 0);
	REFUSED(SYS_fchmodat, AT_FDCWD, "/nowhere", 04755);
	REFUSED(SYS_execve, "/bin/true", argv, NULL);
	REFUSED(SYS_ioctl, 0, TIOCSTI, "x");
}

/* Who looks at it has it save. */
TEST(a_terminal_may_save)
{
	const struct sandbox_options o = { .terminal = 1 };

	inside(&o, try_terminal);
}

static void *wait_and_try(void *arg)
{
	char byte;

	CHECK_EQ(read(*(int *)arg, &byte, 1), 1);
	REFUSED(SYS_execve, 0, 0, 0);
	return NULL;
}

/* A thread that is there already is under the filter, too. */
TEST(threads_are_in_it)
{
	int status = -1, ends[2];
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		pthread_t thread;

		test_ok = 1;
		CHECK(!pipe2(ends, O_CLOEXEC) &&
		      !pthread_create(&thread, NULL, wait_and_try, &ends[0]));
		if (sandbox_enter(&plain))
			_exit(0);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		pthread_join(thread, NULL);
		fflush(stdout);
		_exit(!test_ok);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	RUN(no_program_is_started_nor_touched);
	RUN(nothing_is_written);
	RUN(the_kernel_is_left_as_it_is);
	RUN(nobody_else_and_no_network);
	RUN(what_we_do_goes_on);
	RUN(what_was_asked_for_is_given);
	RUN(one_socket_answers);
	RUN(who_demangles_has_a_clock);
	RUN(a_terminal_may_save);
	RUN(threads_are_in_it);
	return TEST_END();
}
