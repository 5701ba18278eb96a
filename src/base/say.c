/* SPDX-License-Identifier: MIT */
#include "base/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* systemd.exec(5): JOURNAL_STREAM has the device and the inode of what it gave a service. */
static int is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

void say(enum say_level level, const char *fmt, ...)
{
	char prefix[8] = "", *text;
	va_list args;
	int n;

	if (is_journal())
		snprintf(prefix, sizeof(prefix), "<%d>", (int)level);
	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	fprintf(stderr, "%sebprof: %s\n", prefix, text);
	free(text);
}
