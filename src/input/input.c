/* SPDX-License-Identifier: MIT */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/mapped.h"
#include "input/readers.h"
#include "input/slurp.h"

#define SIZE_LIMIT ((size_t)1 << 30)	/* bytes, unpacked */

/* Tried in this order: a line of perf script may end in a number, as folded stacks do. */
const struct input_format input_formats[] = {
	{ "its own html and json files", embedded_looks, embedded_read },
	{ "perf.data", perf_data_looks, perf_data_read },
	{ "pprof", pprof_looks, pprof_read },
	{ "perf script's text", perf_script_looks, perf_script_read },
	{ "folded stacks", folded_looks, folded_read },
	{ 0 },
};

static int refuse(struct error *e, const char *path, int err, const char *why)
{
	return error_set(e, STATUS_ERROR, err, "cannot read %.200s: %s", path, why);
}

static int open_input(const char *path, struct error *e)
{
	int from_stdin = !strcmp(path, "-"), fd, err;
	struct stat st;

	fd = from_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return refuse(e, path, err, strerror(-err));
	}
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
	    (from_stdin && !S_ISDIR(st.st_mode)))
		return fd;
	close(fd);
	return S_ISDIR(st.st_mode) ? refuse(e, path, -EISDIR, "it is a folder")
				   : refuse(e, path, -EINVAL, "it is not a file");
}

static const char *reason(int err)
{
	return err == -EBADMSG ? "damaged gzip"
	       : err == -EFBIG ? "it is larger than 1 GiB, unpacked"
			       : strerror(-err);
}

static const struct input_format *find_format(const char *bytes, size_t n)
{
	for (const struct input_format *f = input_formats; f->name; f++)
		if (f->looks(bytes, n))
			return f;
	return NULL;
}

/* A trace is packets of field 1; pprof has types of values there, which begin with 08 or 10. */
static int looks_like_perfetto(const unsigned char *bytes, size_t n)
{
	return n > 2 && bytes[0] == 0x0a && bytes[1] &&
	       (bytes[1] & 0x80 || (bytes[2] != 0x08 && bytes[2] != 0x10));
}

/* What the file is, if it is of a format that is written and not read; else NULL. */
static const char *only_written(const char *bytes, size_t n)
{
	static const struct { const char *begin, *what; } known[] = {
		{ "# callgrind format\n", "a callgrind file" },
		{ "{\"dhatFileVersion\":", "a DHAT file" },
		{ "   SELF%  TOTAL%  ", "a table" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (n >= strlen(known[i].begin) &&
		    !memcmp(bytes, known[i].begin, strlen(known[i].begin)))
			return known[i].what;
	return looks_like_perfetto((const unsigned char *)bytes, n) ? "a Perfetto trace" : NULL;
}

static int unknown(struct error *e, const char *path, size_t n)
{
	char text[256] = "its format is unknown; ebprof reads ";

	if (!n)
		return refuse(e, path, -ENODATA, "it is empty");
	for (const struct input_format *f = input_formats; f->name; f++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			 f == input_formats ? "" : f[1].name ? ", " : " and ", f->name);
	return refuse(e, path, -EINVAL, text);
}

static int read_profile(struct profile *p, const char *path, const char *bytes, size_t n,
			struct input_notes *notes, struct error *e)
{
	const char *what = only_written(bytes, n);
	const struct input_format *format = n ? find_format(bytes, n) : NULL;
	struct error inner = { .status = STATUS_ERROR };
	int err;

	if (what)
		return error_set(e, STATUS_ERROR, -EINVAL,
				 "cannot read %.200s: it is %s, which ebprof writes and does not "
				 "read; what can be read again is pprof, html, json, firefox, "
				 "speedscope and folded", path, what);
	if (!format)
		return unknown(e, path, n);
	err = format->read(p, bytes, n, notes, &inner);
	return err ? refuse(e, path, err, inner.text) : 0;
}

struct profile *input_read_fd(int fd, const char *name, struct input_notes *notes, struct error *e)
{
	struct profile *p;
	size_t n;
	char *mapped = mapped_open(fd, SIZE_LIMIT, &n);
	char *bytes = mapped ? mapped : slurp(fd, SIZE_LIMIT, &n);
	int err = -errno;

	close(fd);
	if (!bytes) {
		refuse(e, name, err, reason(err));
		errno = -err;
		return NULL;
	}
	*notes = (struct input_notes){ 0 };
	p = profile_new();
	err = read_profile(p, name, bytes, n, notes, e);
	if (mapped)
		mapped_close(mapped, n);
	else
		free(bytes);
	if (!err)
		return p;
	profile_free(p);
	errno = -err;
	return NULL;
}

struct profile *input_read(const char *path, struct input_notes *notes, struct error *e)
{
	int fd = open_input(path, e);

	if (fd >= 0)
		return input_read_fd(fd, path, notes, e);
	errno = -fd;
	return NULL;
}
