/* SPDX-License-Identifier: MIT */
#include "commands/opener.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/io.h"
#include "base/xalloc.h"

#define READ_TIME 15		/* s: a browser that is started first has read the file by then */
#define RUNTIME_DIR 64

/* As a login would have it: sudo leaves it out, and browsers find their bus and display by it. */
static void find_runtime_dir(void)
{
	char dir[RUNTIME_DIR];
	struct stat s;

	snprintf(dir, sizeof(dir), "/run/user/%u", (unsigned int)getuid());
	if (!getenv("XDG_RUNTIME_DIR") && !lstat(dir, &s) && S_ISDIR(s.st_mode) &&
	    s.st_uid == getuid())
		setenv("XDG_RUNTIME_DIR", dir, 1);
}

static void run_xdg_open(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		char *const argv[] = { "xdg-open", (char *)path, NULL };
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		execvp(argv[0], argv);
		fputs("ebprof: --open needs xdg-open (apt-get install xdg-utils)\n", stderr);
		_exit(1);
	}
	if (pid > 0)
		child_wait(pid);
}

/* As the user. A folder of his own has another's name for nobody to find. */
static void show(const char *url)
{
	char folder[] = "/tmp/ebprof-open-XXXXXX";
	char *path, *text;
	int fd;

	if (!mkdtemp(folder))
		return;
	path = xasprintf("%s/open.html", folder);
	text = xasprintf("<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0; url=%s\">"
			 "<title>ebprof</title>\n", url);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && !io_write_full(fd, text, strlen(text))) {
		run_xdg_open(path);
		sleep(READ_TIME);
	}
	unlink(path);
	rmdir(folder);
}

void opener_show(const char *url, const struct user *u)
{
	pid_t pid = fork();

	if (pid > 0)
		child_wait(pid);
	if (pid)
		return;
	/* Its own child goes on alone, whatever becomes of us. */
	if (fork())
		_exit(0);
	setsid();
	user_environment(u);
	if (user_become(u))
		_exit(1);
	find_runtime_dir();
	show(url);
	_exit(0);
}
