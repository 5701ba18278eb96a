/* SPDX-License-Identifier: MIT */
/* A kernel for the unwinder: shards and spaces in plain memory; and this process's own mappings. */
#ifndef EBPROF_TESTS_UNWINDER_FAKE_H
#define EBPROF_TESTS_UNWINDER_FAKE_H

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "unwind/unwinder.h"

#define FAKE_SHARDS	16
#define FAKE_PIDS	300

struct fake {
	struct images *images;
	struct unwinder *u;
	uint8_t *shards[FAKE_SHARDS];
	uint32_t n;
	struct ebp_space spaces[FAKE_PIDS];	/* nrows 0: none */
	int publishes, refuse;			/* @refuse: errno of the next publishing */
	VEC(struct unwind_mapping) own;		/* executable ones of this process */
	int silent;				/* no memory is read */
	int questions;				/* for memory */
};

static inline uint8_t *fake_grow(void *ctx, uint32_t index)
{
	struct fake *f = ctx;

	if (index >= FAKE_SHARDS) {
		errno = ENOMEM;
		return NULL;
	}
	f->shards[index] = xcalloc(1, EBP_SHARD_BYTES + EBP_SHARD_SLACK);
	f->n = index + 1;
	return f->shards[index];
}

static inline int fake_publish(void *ctx, pid_t pid, const struct ebp_space *space)
{
	struct fake *f = ctx;
	int err = f->refuse;

	f->refuse = 0;
	if (err)
		return -err;
	f->publishes++;
	f->spaces[pid] = *space;
	return 0;
}

static inline void fake_withdraw(void *ctx, pid_t pid)
{
	struct fake *f = ctx;

	memset(&f->spaces[pid], 0, sizeof(f->spaces[pid]));
}

static inline void fake_take(const struct maps_line *line, void *arg)
{
	struct fake *f = arg;
	struct image_key key = { .path = line->path,
				 .dev_major = line->dev_major,
				 .dev_minor = line->dev_minor,
				 .inode = line->inode,
				 .start = line->start,
				 .end = line->end };

	vec_push(&f->own, (struct unwind_mapping){ line->start, line->end, line->offset,
						   images_get(f->images, getpid(), &key), 0 });
}

/* Of this process; @pid is whatever the sample has. */
static inline size_t fake_memory(void *ctx, pid_t pid, uint64_t address, void *dst, size_t size)
{
	struct fake *f = ctx;
	size_t n = 0;

	(void)pid;
	f->questions++;
	while (n < size && !f->silent) {
		size_t page = 4096 - ((address + n) & 4095);
		size_t some = page < size - n ? page : size - n;
		struct iovec to = { (char *)dst + n, some };
		struct iovec from = { (void *)(uintptr_t)(address + n), some };

		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)some)
			break;
		n += some;
	}
	return n;
}

static inline void fake_begin(struct fake *f, size_t memory)
{
	struct unwinder_kernel k = { fake_grow, fake_publish, fake_withdraw, f };

	memset(f, 0, sizeof(*f));
	f->images = images_new();
	f->u = unwinder_new(
		f->images, &k,
		&(struct unwinder_options){
			.memory = memory, .threads = 2, .read_memory = fake_memory, .ctx = f });
	maps_for_each_executable(getpid(), fake_take, f);
}

static inline void fake_end(struct fake *f)
{
	unwinder_free(f->u);
	images_free(f->images);
	for (uint32_t i = 0; i < f->n; i++)
		free(f->shards[i]);
	vec_free(&f->own);
}

static inline void *fake_at(const struct fake *f, uint32_t ref)
{
	uint64_t byte = (uint64_t)ref << EBP_REF_SHIFT;

	return f->shards[byte >> EBP_SHARD_SHIFT] + (byte & EBP_SHARD_MASK);
}

static inline const struct ebp_mapping *fake_rows(const struct fake *f, pid_t pid)
{
	return fake_at(f, f->spaces[pid].rows);
}

/* The object of the process's row at @address, or NULL. */
static inline const struct ebp_object *fake_object(const struct fake *f, pid_t pid,
						   uint64_t address)
{
	for (uint32_t i = 0; i < f->spaces[pid].nrows; i++) {
		const struct ebp_mapping *m = &fake_rows(f, pid)[i];

		if (address >= m->start && address < m->end && m->object >= EBP_OBJECT_FIRST)
			return fake_at(f, m->object);
	}
	return NULL;
}

#define FOREVER	60000000000u	/* ns: far more than anything here takes */

#endif
