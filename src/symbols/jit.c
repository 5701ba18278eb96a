/* SPDX-License-Identifier: MIT */
#include "symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/xalloc.h"
#include "symbols/jit_file.h"
#include "symbols/jitdump.h"
#include "symbols/perf_map.h"

/* in a token: it is one of the perf map's; all of them have 32 bits */
#define FROM_MAP (1ull << 32)

/* One of the two files. */
struct part {
	int fd;				/* -1: not there yet, or the source's */
	int why;			/* 0, or why there is none */
	/* NULL: nothing was read yet; set by the thread that reads, alone */
	struct symbol_source *source;
};

struct jit {
	struct symbol_source source;
	pthread_mutex_t lock;		/* of all below; not held while a file is read */
	struct jit_process process;	/* closed when there is nothing left to open */
	pid_t nspid;
	struct part dump, map;
};

/* Tries again what may have come into being since. */
static void open_part(struct jit *j, struct part *part, const char *path)
{
	int fd;

	if (part->source || part->fd >= 0 || j->process.proc < 0 || !path)
		return;
	fd = jit_file_open(&j->process, path);
	part->fd = fd < 0 ? -1 : fd;
	part->why = fd < 0 ? fd : 0;
}

static void open_parts(struct jit *j, const char *jitdump)
{
	char map[JIT_PERF_MAP_PATH_MAX];

	jit_perf_map_path(j->nspid, map);
	open_part(j, &j->dump, jitdump);
	open_part(j, &j->map, map);
	if (j->map.why == -ESRCH || (j->dump.fd >= 0 && j->map.fd >= 0))
		jit_process_close(&j->process);
}

static struct symbol_source *open_dump(const struct jit *j, int fd)
{
	return jitdump_open(fd, j->nspid);
}

static struct symbol_source *open_map(const struct jit *j, int fd)
{
	(void)j;
	return perf_map_open(fd);
}

/*
 * Reads on. The file is kept where it is not whole yet: V8 writes a jitdump's header with its first
 * 2 MB.
 */
static void read_part(struct jit *j, struct part *part,
		      struct symbol_source *(*read)(const struct jit *, int fd))
{
	struct symbol_source *source = part->source;
	int fd = -1, err;

	if (source) {
		err = source->ops->refresh(source);
	} else {
		pthread_mutex_lock(&j->lock);
		err = part->fd < 0 ? -ENOENT : 0;
		if (!err)
			fd = fcntl(part->fd, F_DUPFD_CLOEXEC, 0);
		pthread_mutex_unlock(&j->lock);
		if (err)
			return;
		source = fd < 0 ? NULL : read(j, fd);
		err = source ? 0 : -errno;
	}
	pthread_mutex_lock(&j->lock);
	part->why = err;
	if (source && !part->source) {
		part->source = source;
		close(part->fd);
		part->fd = -1;
	}
	pthread_mutex_unlock(&j->lock);
}

static const struct symbol_source_ops *ops_of(const struct part *part)
{
	return part->source->ops;
}

static int jit_find(const struct symbol_source *source, uint64_t address,
		    struct source_function *out)
{
	const struct jit *j = (const struct jit *)source;
	int err = -ENOENT;

	if (j->dump.source && !ops_of(&j->dump)->find(j->dump.source, address, out))
		return 0;
	if (j->map.source)
		err = ops_of(&j->map)->find(j->map.source, address, out);
	if (!err)
		out->token |= FROM_MAP;
	return err;
}

static int jit_name(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	const struct jit *j = (const struct jit *)source;
	const struct part *part = token & FROM_MAP ? &j->map : &j->dump;

	return part->source ? ops_of(part)->name(part->source, token & ~FROM_MAP, dst, size)
			    : -EINVAL;
}

/* Only a jitdump has lines. */
static int jit_frames(struct symbol_source *source, uint64_t address,
		      struct source_frame out[SOURCE_FRAMES_MAX])
{
	struct jit *j = (struct jit *)source;

	return j->dump.source ? ops_of(&j->dump)->frames(j->dump.source, address, out) : -ENOENT;
}

static int jit_file(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	const struct jit *j = (const struct jit *)source;

	return j->dump.source ? ops_of(&j->dump)->file(j->dump.source, token, dst, size) : -EINVAL;
}

static void free_part(struct part *part)
{
	if (part->fd >= 0)
		close(part->fd);
	symbol_source_free(part->source);
}

static void jit_free(struct symbol_source *source)
{
	struct jit *j = (struct jit *)source;

	jit_process_close(&j->process);
	free_part(&j->dump);
	free_part(&j->map);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

/* Of two reasons, the one that is not just that a file is missing. */
static int telling(const struct jit *j)
{
	return j->dump.why && j->dump.why != -ENOENT ? j->dump.why
	       : j->map.why			     ? j->map.why
						     : j->dump.why;
}

static int jit_refresh(struct symbol_source *source)
{
	struct jit *j = (struct jit *)source;

	read_part(j, &j->dump, open_dump);
	read_part(j, &j->map, open_map);
	return j->dump.source || j->map.source ? 0 : telling(j);
}

static const struct symbol_source_ops ops = {
	.find = jit_find,
	.name = jit_name,
	.frames = jit_frames,
	.file = jit_file,
	.free = jit_free,
	.refresh = jit_refresh,
};

struct symbol_source *jit_open(pid_t pid, const char *jitdump)
{
	struct jit *j = xcalloc(1, sizeof(*j));
	int err;

	j->source.ops = &ops;
	thread_lock_init(&j->lock);
	j->dump = j->map = (struct part){ .fd = -1, .why = -ENOENT };
	err = jit_process_open(pid, &j->process);
	if (!err) {
		j->nspid = j->process.nspid;
		open_parts(j, jitdump);
		err = j->dump.fd < 0 && j->map.fd < 0 ? telling(j) : 0;
	}
	if (!err)
		return &j->source;
	jit_free(&j->source);
	errno = -err;
	return NULL;
}

void jit_look(struct symbol_source *source, const char *jitdump)
{
	struct jit *j = (struct jit *)source;

	pthread_mutex_lock(&j->lock);
	open_parts(j, jitdump);
	pthread_mutex_unlock(&j->lock);
}
