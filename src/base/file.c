/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/xalloc.h"

#define LIST_MAX 65536

ssize_t file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = io_read_full(fd, buf, size - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

int file_reopen(int path_fd)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	/* O_NONBLOCK: a lease that its owner does not give up must not stop us. */
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int file_reopen_regular(int path_fd)
{
	struct stat st;

	if (fstat(path_fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? file_reopen(path_fd) : -ENOENT;
}

int file_open_regular(const char *path)
{
	int found = open(path, O_PATH | O_CLOEXEC), fd;

	if (found < 0)
		return -errno;
	fd = file_reopen_regular(found);
	close(found);
	return fd;
}

int file_read_long(const char *path, long *value)
{
	char text[32], *end;
	ssize_t n = file_read(path, text, sizeof(text));

	if (n < 0)
		return (int)n;
	errno = 0;
	*value = strtol(text, &end, 10);
	return end == text || errno || (*end && *end != '\n') ? -EINVAL : 0;
}

int file_own_status(const char *name, long *value)
{
	char text[4096], field[64];
	ssize_t n = file_read("/proc/self/status", text, sizeof(text));
	const char *line;

	if (n < 0)
		return (int)n;
	snprintf(field, sizeof(field), "\n%s:", name);
	line = strstr(text, field);
	if (!line)
		return -ENOENT;
	*value = strtol(line + strlen(field), NULL, 10);
	return 0;
}

/* One number; advances @s. Negative where there is none. */
static int number(const char **s)
{
	int x = 0;

	if (!isdigit((unsigned char)**s))
		return -1;
	for (; isdigit((unsigned char)**s); (*s)++) {
		x = x * 10 + (**s - '0');
		if (x >= LIST_MAX)
			return -1;
	}
	return x;
}

int list_parse(const char *text, int **numbers, size_t *n)
{
	unsigned char *in = xcalloc(LIST_MAX, 1);
	size_t count = 0, used = 0;
	int err = -EINVAL;

	while (*text && *text != '\n') {
		int from = number(&text), to = from;

		if (*text == '-') {
			text++;
			to = number(&text);
		}
		if (from < 0 || to < from)
			goto out;
		for (int i = from; i <= to; i++) {
			count += !in[i];
			in[i] = 1;
		}
		if (*text == ',' && isdigit((unsigned char)text[1]))
			text++;
		else if (*text && *text != '\n')
			goto out;
	}
	*numbers = xcalloc(count, sizeof(**numbers));
	for (int i = 0; i < LIST_MAX && used < count; i++)
		if (in[i])
			(*numbers)[used++] = i;
	*n = count;
	err = 0;
out:
	free(in);
	return err;
}

int list_compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}
