/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "unit/test.h"

#define MANY (1u << 20)		/* bytes; more than a pipe takes at once */

static char bytes[MANY], got[MANY];

static void *write_in_pieces(void *arg)
{
	int to = *(const int *)arg;

	for (size_t at = 0; at < MANY; at += 4096)
		if (write(to, bytes + at, 4096) != 4096)
			break;
	close(to);
	return NULL;
}

TEST(reads_up_to_the_end)
{
	pthread_t writer;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pthread_create(&writer, NULL, write_in_pieces, &ends[1]), 0);
	CHECK_EQ(io_read_full(ends[0], got, MANY - 1), MANY - 1);
	CHECK(!memcmp(got, bytes, MANY - 1));
	CHECK_EQ(io_read_full(ends[0], got, MANY), 1);
	CHECK_EQ(io_read(ends[0], got, MANY), 0);
	pthread_join(writer, NULL);
	close(ends[0]);
}

static void *read_late(void *arg)
{
	return (void *)(intptr_t)io_read_full(*(const int *)arg, got, MANY);
}

TEST(writes_where_the_other_end_is_full_and_not_blocking)
{
	void *read_in_all = NULL;
	pthread_t reader;
	int ends[2];

	memset(got, 0, sizeof(got));
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	/* Full before anybody reads. */
	while (write(ends[1], "", 1) == 1)
		;
	CHECK_EQ(errno, EAGAIN);
	while (read(ends[0], got, 4096) == 4096 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
		;
	CHECK_EQ(fcntl(ends[0], F_SETFL, 0), 0);
	CHECK_EQ(pthread_create(&reader, NULL, read_late, &ends[0]), 0);
	CHECK_EQ(io_write_full(ends[1], bytes, MANY), 0);
	pthread_join(reader, &read_in_all);
	CHECK_EQ((intptr_t)read_in_all, MANY);
	CHECK(!memcmp(got, bytes, MANY));
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(io_write_full(ends[1], bytes, MANY), -EPIPE);
	close(ends[1]);
}

TEST(reads_at_a_place)
{
	char path[] = "/tmp/ebprof-test-io.XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !unlink(path));
	CHECK_EQ(io_write_full(fd, bytes, 100), 0);
	CHECK_EQ(io_pread_full(fd, got, 100, 0), 100);
	CHECK_EQ(io_pread_full(fd, got, 100, 90), 10);
	CHECK(!memcmp(got, bytes + 90, 10));
	CHECK_EQ(io_pread_full(fd, got, 100, 100), 0);
	CHECK_EQ(io_pread_full(fd, got, 1, UINT64_MAX), -EINVAL);
	close(fd);
	CHECK_EQ(io_pread_full(fd, got, 1, 0), -EBADF);
	CHECK_EQ(io_read(fd, got, 1), -EBADF);
	CHECK_EQ(io_read_full(fd, got, 1), -EBADF);
	CHECK_EQ(io_write_full(fd, got, 1), -EBADF);
}

int main(void)
{
	for (size_t i = 0; i < MANY; i++)
		bytes[i] = (char)(i * 7 >> 3);
	RUN(reads_up_to_the_end);
	RUN(writes_where_the_other_end_is_full_and_not_blocking);
	RUN(reads_at_a_place);
	return TEST_END();
}
