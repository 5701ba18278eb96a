/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/launch.h"

static char folder[] = "/tmp/ebprof-test-XXXXXX";
static struct error e;

static const char *in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static const char *write_file(const char *name, const char *text, mode_t mode)
{
	const char *path = in_folder(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
	      !fchmod(fd, mode));
	close(fd);
	return path;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return launch_status(status);
}

/* Runs a shell line from prepare to its end. */
static int shell(const char *line)
{
	char *argv[] = { "sh", "-c", (char *)line, NULL };
	struct launch l;

	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	CHECK_EQ(launch_go(&l, "sh", &e), 0);
	return wait_for(l.pid);
}

/* What is added to the command's environment is not in ours. */
TEST(environment)
{
	char *argv[] = { "sh", "-c", "test \"$EBPROF_A$EBPROF_B\" = 12", NULL },
	     *env[] = { "EBPROF_A=1", "EBPROF_B=2", NULL };
	struct launch l;

	CHECK_EQ(launch_prepare(&l, argv, env, &e), 0);
	CHECK_EQ(launch_go(&l, "sh", &e), 0);
	CHECK_EQ(wait_for(l.pid), 0);
	CHECK(!getenv("EBPROF_A"));
}

TEST(statuses)
{
	CHECK_EQ(shell("exit 0"), 0);
	CHECK_EQ(shell("exit 42"), 42);
	CHECK_EQ(shell("kill -TERM $$"), 128 + SIGTERM);
	CHECK_EQ(shell("kill -KILL $$"), 128 + SIGKILL);
}

TEST(waits_until_let_go)
{
	char command[300], *argv[] = { "sh", "-c", command, NULL };
	char comm[32] = "", path[64];
	struct launch l;
	ssize_t n;
	int fd;

	snprintf(command, sizeof(command), ": > %s", in_folder("began"));
	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	/* No later child of ours, nor the command, may hold these open. */
	CHECK(fcntl(l.go, F_GETFD) & FD_CLOEXEC && fcntl(l.words, F_GETFD) & FD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)l.pid);
	fd = open(path, O_RDONLY);
	n = read(fd, comm, sizeof(comm) - 1);
	close(fd);
	CHECK(n > 1 && strcmp(comm, "sh\n"));
	CHECK_EQ(access(in_folder("began"), F_OK), -1);
	CHECK_EQ(launch_go(&l, "sh", &e), 0);
	CHECK_EQ(wait_for(l.pid), 0);
	CHECK_EQ(access(in_folder("began"), F_OK), 0);
	unlink(in_folder("began"));
}

TEST(cancel)
{
	char command[300], *argv[] = { "sh", "-c", command, NULL };
	struct launch l, zero = { 0 };
	pid_t pid;

	snprintf(command, sizeof(command), ": > %s", in_folder("began"));
	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	pid = l.pid;
	launch_cancel(&l);
	CHECK_EQ(waitpid(pid, NULL, 0), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(access(in_folder("began"), F_OK), -1);
	launch_cancel(&l);
	launch_cancel(&zero);
	/* Once it runs it is not ours to end. */
	CHECK_EQ(launch_prepare(&l, (char *[]){ "sh", "-c", "exit 7", NULL }, NULL, &e), 0);
	CHECK_EQ(launch_go(&l, "sh", &e), 0);
	launch_cancel(&l);
	CHECK_EQ(wait_for(l.pid), 7);
}

/* The child ends by itself when we are gone: its end of the pair tells it. */
TEST(ends_with_us)
{
	char *argv[] = { "sh", "-c", "exit 0", NULL };
	struct launch l;

	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	/* It has told what there is to tell, and waits. */
	launch_self_contained(&l);
	close(l.go);
	close(l.words);
	CHECK_EQ(wait_for(l.pid), STATUS_NO_COMMAND);
}

static int is_self_contained(char *name)
{
	char *argv[] = { name, NULL };
	struct launch l;
	int is;

	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	is = launch_self_contained(&l);
	CHECK_EQ(launch_self_contained(&l), is);
	launch_cancel(&l);
	return is;
}

/* What starts no others, as its file tells; of anything else that is not said. */
TEST(self_contained)
{
	char name[256];

	CHECK_EQ(is_self_contained("true"), 1);
	CHECK_EQ(is_self_contained("/bin/cat"), 1);
	CHECK_EQ(is_self_contained("env"), 0);
	CHECK_EQ(is_self_contained("sh"), 0);
	CHECK_EQ(is_self_contained("perl"), 0);
	CHECK_EQ(is_self_contained("/etc/passwd"), 0);
	CHECK_EQ(is_self_contained("/etc"), 0);
	CHECK_EQ(is_self_contained("no-such-command-here"), 0);
	CHECK_EQ(is_self_contained(""), 0);
	strcpy(name, in_folder("fifo"));
	CHECK_EQ(mkfifo(name, 0700), 0);
	CHECK_EQ(is_self_contained(name), 0);
	unlink(name);
}

static void check_failure(char *name, enum status status, const char *text)
{
	char *argv[] = { name, NULL };
	struct launch l;
	pid_t pid;

	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	pid = l.pid;
	CHECK(launch_go(&l, name, &e) < 0);
	CHECK_EQ(e.status, status);
	if (!strstr(e.text, text))
		printf("%s\n", e.text);
	CHECK(strstr(e.text, text) != NULL);
	CHECK_EQ(waitpid(pid, NULL, 0), -1);
	launch_cancel(&l);
}

TEST(failures)
{
	char name[256];

	check_failure("no-such-command-here", STATUS_NO_COMMAND,
		      "cannot run 'no-such-command-here': No such file or directory");
	check_failure("/nonexistent/x", STATUS_NO_COMMAND,
		      "cannot run '/nonexistent/x': No such file or directory");
	check_failure("", STATUS_NO_COMMAND, "cannot run ''");
	check_failure("/etc", STATUS_NO_EXEC, "Permission denied");
	strcpy(name, write_file("plain", "hello", 0600));
	check_failure(name, STATUS_NO_EXEC, "Permission denied");
	strcpy(name, write_file("script", "#!/nonexistent/interpreter\n", 0700));
	check_failure(name, STATUS_NO_EXEC, "interpreter");
	check_failure("a\n\033b", STATUS_NO_COMMAND, "cannot run 'a\\n\\x1bb'");
	unlink(in_folder("plain"));
	unlink(in_folder("script"));
}

/*
 * What execvp() makes of $PATH: a folder that may not be entered does not hide that the command is
 * nowhere.
 */
TEST(failures_by_path)
{
	char *before = strdup(getenv("PATH")), path[300];

	snprintf(path, sizeof(path), "/etc/passwd:/nonexistent::%s", folder);
	setenv("PATH", path, 1);
	write_file("plain", "hello", 0600);
	check_failure("plain", STATUS_NO_EXEC, "cannot run 'plain': Permission denied");
	unlink(in_folder("plain"));
	check_failure("plain", STATUS_NO_COMMAND, "cannot run 'plain': No such file or directory");
	/* Not even root's $PATH, where the command runs as another user. */
	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "54322", 1);
	CHECK(!chmod(folder, 0));
	check_failure("plain", STATUS_NO_COMMAND, "cannot run 'plain': No such file or directory");
	CHECK(!chmod(folder, 0700));
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	setenv("PATH", before, 1);
	free(before);
}

TEST(killed_before_it_began)
{
	char *argv[] = { "sh", NULL };
	struct launch l;
	siginfo_t info;

	CHECK_EQ(launch_prepare(&l, argv, NULL, &e), 0);
	kill(l.pid, SIGKILL);
	CHECK_EQ(waitid(P_PID, (id_t)l.pid, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(launch_go(&l, "sh", &e), -ESRCH);
	CHECK(strstr(e.text, "killed") != NULL);
	launch_cancel(&l);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(what_the_command_inherits)
{
	sigset_t blocked, before, after;

	signal(SIGUSR1, SIG_IGN);
	signal(SIGTERM, on_signal);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_SETMASK, &blocked, &before);
	/*
	 * Signals 1 to 31: 32 and 33 are libc's own, which nobody can reset, and make leaves them
	 * ignored.
	 */
	CHECK_EQ(shell("grep -Eq '^SigBlk:[[:space:]]*0+$' /proc/self/status && "
		       "grep -Eq '^SigIgn:[[:space:]]*[0-9a-f]{8}[08]0{7}$' /proc/self/status"), 0);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGUSR2) && sigismember(&after, SIGINT) &&
	      !sigismember(&after, SIGTERM));
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	setenv("EBPROF_TEST", "kept", 1);
	CHECK_EQ(shell("test \"$EBPROF_TEST\" = kept"), 0);
}

TEST(runs_as_the_user_who_called_sudo)
{
	struct launch l;

	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "54322", 1);
	if (geteuid() == 0) {
		CHECK_EQ(shell("test \"$(id -u)\" = 54321 && test \"$(id -ru)\" = 54321 && test "
			       "\"$(id -G)\" = 54322 && "
			       "grep -Eq '^CapEff:[[:space:]]*0+$' /proc/self/status && "
			       "grep -Eq '^CapPrm:[[:space:]]*0+$' /proc/self/status"),
			 0);
		/* It cannot be executed by that user, only by root. */
		CHECK_EQ(launch_prepare(&l,
					(char *[]){ (char *)write_file("mine", "#!/bin/sh\n", 0700),
						    NULL },
					NULL, &e),
			 0);
		CHECK(launch_go(&l, "mine", &e) == -EACCES);
		CHECK_EQ(e.status, STATUS_NO_EXEC);
		unlink(in_folder("mine"));
	} else {
		CHECK_EQ(shell("test \"$(id -u)\" != 54321"), 0);
	}
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);	/* as ebprof does */
	if (!mkdtemp(folder))
		return 1;
	RUN(environment);
	RUN(statuses);
	RUN(waits_until_let_go);
	RUN(cancel);
	RUN(ends_with_us);
	RUN(self_contained);
	RUN(failures);
	RUN(failures_by_path);
	RUN(killed_before_it_began);
	RUN(what_the_command_inherits);
	RUN(runs_as_the_user_who_called_sudo);
	rmdir(folder);
	return TEST_END();
}
