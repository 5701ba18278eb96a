/* SPDX-License-Identifier: MIT */
#include "proc/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/xalloc.h"
#include "proc/maps_internal.h"

/* Bytes; longer than a line with a path of PATH_MAX of which each byte is escaped. */
#define CHUNK	65536

/* Threads tried for a process whose leader has exited. */
#define THREADS_MAX	64

/*
 * A number of @base (10 or 16) at *@p, which is moved behind it. 0, or -EINVAL: no digit, or over
 * @max.
 */
static int number(char **p, unsigned int base, uint64_t max, uint64_t *out)
{
	const char *first = *p;
	uint64_t value = 0;

	for (;; (*p)++) {
		unsigned char c = (unsigned char)**p;
		unsigned int digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		if (value > (max - digit) / base)
			return -EINVAL;
		value = value * base + digit;
	}
	*out = value;
	return *p == first ? -EINVAL : 0;
}

static int number32(char **p, unsigned int base, uint32_t *out)
{
	uint64_t value;
	int err = number(p, base, UINT32_MAX, &value);

	if (!err)
		*out = (uint32_t)value;
	return err;
}

static int literal(char **p, char c)
{
	return *(*p)++ == c ? 0 : -EINVAL;
}

/* "r-xp": each letter or its dash. */
static int permissions(char **p, int *executable)
{
	static const char letters[4][2] = {
		{ 'r', '-' }, { 'w', '-' }, { 'x', '-' }, { 's', 'p' }
	};

	for (int i = 0; i < 4; i++, (*p)++)
		if (**p != letters[i][0] && **p != letters[i][1])
			return -EINVAL;
	*executable = (*p)[-2] == 'x';
	return 0;
}

/* Makes each \012 a newline, in place. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; )
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	*to = '\0';
}

int maps_parse_line(char *line, struct maps_line *out)
{
	char *p = line;

	line[strcspn(line, "\n")] = '\0';
	if (number(&p, 16, UINT64_MAX, &out->start) || literal(&p, '-') ||
	    number(&p, 16, UINT64_MAX, &out->end) || literal(&p, ' ') ||
	    permissions(&p, &out->executable) || literal(&p, ' ') ||
	    number(&p, 16, UINT64_MAX, &out->offset) || literal(&p, ' ') ||
	    number32(&p, 16, &out->dev_major) || literal(&p, ':') ||
	    number32(&p, 16, &out->dev_minor) || literal(&p, ' ') ||
	    number(&p, 10, UINT64_MAX, &out->inode))
		return -EINVAL;
	if (*p && *p != ' ')
		return -EINVAL;
	if (out->end <= out->start || out->offset > UINT64_MAX - (out->end - out->start))
		return -EINVAL;
	p += strspn(p, " ");
	unescape(p);
	out->path = p;
	return 0;
}

static void one_line(char *line, maps_fn fn, void *arg)
{
	struct maps_line parsed;

	if (!maps_parse_line(line, &parsed) && parsed.executable)
		fn(&parsed, arg);
}

/*
 * Hands on all whole lines of @buf, and moves the rest to its front. A line
 * that fills the whole buffer is dropped with what follows of it (*@skip).
 */
static size_t whole_lines(char *buf, size_t used, int *skip, maps_fn fn, void *arg)
{
	char *line = buf, *end;

	while ((end = memchr(line, '\n', used - (size_t)(line - buf)))) {
		*end = '\0';
		if (!*skip)
			one_line(line, fn, arg);
		*skip = 0;
		line = end + 1;
	}
	used -= (size_t)(line - buf);
	if (used == CHUNK) {
		*skip = 1;
		return 0;
	}
	memmove(buf, line, used);
	return used;
}

int maps_read(int fd, maps_fn fn, void *arg)
{
	int skip = 0, err = 0, any = 0;
	char *buf = xmalloc(CHUNK);
	size_t used = 0;

	for (;;) {
		ssize_t n = io_read(fd, buf + used, CHUNK - used);

		if (n < 0)
			err = (int)n;
		if (n <= 0)
			break;
		any = 1;
		used = whole_lines(buf, used + (size_t)n, &skip, fn, arg);
	}
	free(buf);
	return err ? err : any ? 0 : -ESRCH;
}

static int read_file(const char *path, maps_fn fn, void *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = maps_read(fd, fn, arg);
	close(fd);
	return err;
}

int maps_for_each_executable(pid_t pid, maps_fn fn, void *arg)
{
	char path[64];
	struct dirent *d;
	DIR *tasks;
	int err, tries = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	err = read_file(path, fn, arg);
	if (err != -ESRCH)
		return err;
	/*
	 * The leader's memory is gone with the leader, the other threads' is the same one and
	 * lives.
	 */
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && err == -ESRCH && tries < THREADS_MAX && (d = readdir(tasks))) {
		int tid = atoi(d->d_name);

		if (tid <= 0 || tid == (int)pid)
			continue;
		tries++;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", (int)pid, tid);
		err = read_file(path, fn, arg);
	}
	if (tasks)
		closedir(tasks);
	return err;
}
