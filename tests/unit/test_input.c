/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "input/input.h"
#include "input/mapped.h"
#include "input/slurp.h"

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* @data as a member of gzip, appended to @out. */
static size_t pack(unsigned char *out, size_t room, const void *data, size_t size)
{
	z_stream z = { .next_in = (unsigned char *)data, .avail_in = (unsigned int)size,
		       .next_out = out, .avail_out = (unsigned int)room };

	if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK ||
	    deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	deflateEnd(&z);
	return room - z.avail_out;
}

/* What slurp() makes of it: the text, or the name of its error. */
static const char *slurped(const void *data, size_t size, size_t limit, char *buf, size_t room)
{
	int fd = file_of(data, size);
	size_t n = 0;
	char *bytes = slurp(fd, limit, &n);

	close(fd);
	snprintf(buf, room, "%.*s", bytes ? (int)n : 100, bytes ? bytes : strerrorname_np(errno));
	free(bytes);
	return buf;
}

TEST(plain_and_packed)
{
	unsigned char packed[512];
	char buf[256];
	size_t n = pack(packed, sizeof(packed), "hello ", 6),
	       whole = n + pack(packed + n, sizeof(packed) - n, "world", 5);

	CHECK_STR(slurped("hello", 5, 100, buf, sizeof(buf)), "hello");
	CHECK_STR(slurped("", 0, 100, buf, sizeof(buf)), "");
	CHECK_STR(slurped("h", 1, 100, buf, sizeof(buf)), "h");
	CHECK_STR(slurped(packed, n, 100, buf, sizeof(buf)), "hello ");
	CHECK_STR(slurped(packed, whole, 100, buf, sizeof(buf)), "hello world");
	memset(packed + whole, 0, 20);
	CHECK_STR(slurped(packed, whole + 20, 100, buf, sizeof(buf)), "hello world");
	/* All that ends too early, and all that follows and is no gzip. */
	for (size_t i = 2; i < whole; i++)
		CHECK_STR(slurped(packed, i, 100, buf, sizeof(buf)), i == n ? "hello " : "EBADMSG");
	packed[whole] = 'x';
	CHECK_STR(slurped(packed, whole + 1, 100, buf, sizeof(buf)), "EBADMSG");
	packed[n - 6] ^= 1;	/* its checksum */
	CHECK_STR(slurped(packed, n, 100, buf, sizeof(buf)), "EBADMSG");
}

TEST(sizes_are_bounded)
{
	enum { SIZE = 4 << 20 };
	unsigned char *packed = malloc(1 << 16);
	char *zeros = calloc(1, SIZE), buf[64];
	size_t n = pack(packed, 1 << 16, zeros, SIZE), got;
	int fd = file_of(packed, n);
	char *bytes = slurp(fd, SIZE, &got);

	close(fd);
	CHECK(n < SIZE / 500);
	CHECK(bytes && got == SIZE && !memcmp(bytes, zeros, SIZE));
	free(bytes);
	CHECK_STR(slurped(packed, n, SIZE - 1, buf, sizeof(buf)), "EFBIG");
	CHECK_STR(slurped(packed, n, 1000, buf, sizeof(buf)), "EFBIG");
	CHECK_STR(slurped(zeros, SIZE, SIZE - 1, buf, sizeof(buf)), "EFBIG");
	CHECK_STR(slurped("hello", 5, 5, buf, sizeof(buf)), "hello");
	CHECK_STR(slurped("hello", 5, 4, buf, sizeof(buf)), "EFBIG");
	free(packed);
	free(zeros);
}

/* What becomes of a file of @size zeros of mode @mode, the last one an x. */
static int is_mapped(size_t size, mode_t mode, const char *begins)
{
	char *zeros = calloc(1, size);
	size_t n = 0;
	char *bytes;
	int fd, right;

	memcpy(zeros, begins, strlen(begins));
	zeros[size - 1] = 'x';
	fd = file_of(zeros, size);
	CHECK_EQ(fchmod(fd, mode), 0);
	bytes = mapped_open(fd, 3 << 20, &n);
	close(fd);
	right = bytes && n == size && !memcmp(bytes, zeros, size);
	CHECK(right || !bytes);
	if (bytes)
		mapped_close(bytes, n);
	free(zeros);
	return right;
}

TEST(only_what_nobody_else_changes_is_mapped)
{
	CHECK(is_mapped(2 << 20, 0600, "PERFILE2"));
	CHECK(is_mapped(3 << 20, 0644, "PERFILE2"));
	CHECK(!is_mapped(2 << 20, 0620, "PERFILE2"));
	CHECK(!is_mapped(2 << 20, 0602, "PERFILE2"));
	CHECK(!is_mapped(2 << 20, 0600, "\x1f\x8b"));
	CHECK(!is_mapped((1 << 20) - 1, 0600, "PERFILE2"));
	CHECK(!is_mapped((3 << 20) + 1, 0600, "PERFILE2"));
}

TEST(a_mapped_file_that_becomes_shorter)
{
	char *zeros = calloc(1, 2 << 20), said[128] = "";
	int fd = file_of(zeros, 2 << 20), ends[2], status;
	size_t n;

	CHECK_EQ(fchmod(fd, 0600), 0);
	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	if (!fork()) {
		const volatile char *bytes = mapped_open(fd, 2 << 20, &n);

		dup2(ends[1], STDERR_FILENO);
		_exit(ftruncate(fd, 4096) || bytes[n - 1] ? 2 : 3);
	}
	close(ends[1]);
	CHECK(wait(&status) > 0 && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 1);
	CHECK(read(ends[0], said, sizeof(said) - 1) > 0);
	CHECK_STR(said, "ebprof: the file became shorter while it was read\n");
	close(ends[0]);
	close(fd);
	free(zeros);
}

/* A pipe gives what its writer has written so far. */
TEST(pipes_may_trickle)
{
	unsigned char packed[128];
	size_t n = pack(packed, sizeof(packed), "hello", 5), got;
	int ends[2];
	char *bytes;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	if (!fork()) {
		for (size_t i = 0; i < n; i++) {
			if (write(ends[1], packed + i, 1) != 1)
				_exit(1);
			/* most likely it is read alone; the result is the same anyway */
			usleep(1000);
		}
		_exit(0);
	}
	close(ends[1]);
	bytes = slurp(ends[0], 100, &got);
	CHECK(bytes && got == 5 && !memcmp(bytes, "hello", 5));
	free(bytes);
	close(ends[0]);
	wait(NULL);
}

/* The profile in a file of these bytes; NULL with @e. */
static struct profile *read_bytes(const void *data, size_t size, struct error *e)
{
	char path[64];
	int fd = file_of(data, size);
	struct profile *p;

	*e = (struct error){ 0 };
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p = input_read(path, &(struct input_notes){ 0 }, e);
	close(fd);
	return p;
}

/* The error, without "cannot read FILE: ". */
static const char *why_not(const void *data, size_t size, struct error *e)
{
	struct profile *p = read_bytes(data, size, e);

	CHECK(!p);
	CHECK_EQ(e->status, STATUS_ERROR);
	profile_free(p);
	return strstr(e->text, ": ") ? strstr(e->text, ": ") + 2 : e->text;
}

TEST(formats_are_found)
{
	static const char perf[] = "x 1 5.000000: e: \n\t 10 f (/x)\n", folded[] = "x;f 7\n";
	unsigned char packed[256];
	struct error e;
	struct profile *p = read_bytes(perf, strlen(perf), &e);

	CHECK(p && profile_view(p).total == 1);
	profile_free(p);
	p = read_bytes(folded, strlen(folded), &e);
	CHECK(p && profile_view(p).total == 7);
	profile_free(p);
	p = read_bytes(packed, pack(packed, sizeof(packed), folded, strlen(folded)), &e);
	CHECK(p && profile_view(p).total == 7);
	profile_free(p);
}

TEST(errors_are_clear)
{
	static const unsigned char cut[] = { 0x1f, 0x8b, 8, 0 };
	struct error e = { 0 };

	CHECK_STR(why_not("", 0, &e), "it is empty");
	CHECK_STR(why_not(cut, sizeof(cut), &e), "damaged gzip");
	CHECK_STR(why_not("\x7f" "ELF", 4, &e),
		  "its format is unknown; ebprof reads its own html and json files, perf.data, "
		  "pprof, perf script's text and folded stacks");
	CHECK_STR(why_not("x;f 1\nx;f\n", 10, &e),
		  "line 2 is no folded stack: frames, a blank and a count are expected");
	CHECK_STR(why_not("PERFILE2........", 16, &e),
		  "damaged, or cut off: its header at byte 0 would end behind it");
	CHECK(!input_read("/nonexistent/x", &(struct input_notes){ 0 }, &e));
	CHECK_STR(e.text, "cannot read /nonexistent/x: No such file or directory");
	CHECK(!input_read("/tmp", &(struct input_notes){ 0 }, &e));
	CHECK_STR(e.text, "cannot read /tmp: it is a folder");
	CHECK(!input_read("/dev/zero", &(struct input_notes){ 0 }, &e));
	CHECK_STR(e.text, "cannot read /dev/zero: it is not a file");
}

int main(void)
{
	RUN(plain_and_packed);
	RUN(sizes_are_bounded);
	RUN(only_what_nobody_else_changes_is_mapped);
	RUN(a_mapped_file_that_becomes_shorter);
	RUN(pipes_may_trickle);
	RUN(formats_are_found);
	RUN(errors_are_clear);
	return TEST_END();
}
