/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

ssize_t io_read(int fd, void *to, size_t size)
{
	ssize_t n;

	do
		n = read(fd, to, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t io_read_full(int fd, void *to, size_t size)
{
	size_t have = 0;
	ssize_t n = 1;

	while (have < size && (n = io_read(fd, (char *)to + have, size - have)) > 0)
		have += (size_t)n;
	return n < 0 ? n : (ssize_t)have;
}

int io_read_until(int fd, void *to, size_t size, uint64_t end)
{
	size_t got = 0;

	while (got < size) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_ns();
		ssize_t n;

		if (now >= end || !poll(&p, 1, (int)((end - now) / 1000000) + 1))
			return -ETIMEDOUT;
		n = io_read(fd, (char *)to + got, size - got);
		if (n <= 0)
			return n ? (int)n : -EBADMSG;
		got += (size_t)n;
	}
	return 0;
}

ssize_t io_pread_full(int fd, void *to, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, (char *)to + have, size - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

ssize_t io_write(int fd, const void *from, size_t size)
{
	ssize_t n;

	do
		n = write(fd, from, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int io_write_full(int fd, const void *from, size_t size)
{
	const char *p = from;

	while (size) {
		ssize_t n = io_write(fd, p, size);

		if (n >= 0) {
			p += n;
			size -= (size_t)n;
		} else if (n == -EAGAIN) {
			/* Somebody else who holds this pipe or terminal made it non-blocking. */
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		} else {
			return (int)n;
		}
	}
	return 0;
}
