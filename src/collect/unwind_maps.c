/* SPDX-License-Identifier: MIT */
#include "collect/unwind_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "collect/features.h"

#define AHEAD 2			/* shards that wait for their use */
#define SHARD_MAPPED (EBP_SHARD_BYTES + EBP_SHARD_SLACK)
#define LAYOUT_BYTES (EBP_LAYOUTS_MAX * sizeof(struct ebp_layout))

/* A map of one value, which both sides have as memory: a shard, the layouts. */
struct block {
	int fd;
	size_t size;		/* bytes */
	uint8_t *memory;	/* NULL: not in use yet, so that none of ours is taken for it */
};

struct unwind_maps {
	int outer, spaces;
	struct block layouts;
	uint32_t most;		/* shards */
	struct block *shards;	/* @made of them */
	pthread_t maker;
	int running;
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t changed;
	uint32_t made, wanted;	/* shards that are visible; those that should be */
	int failed;		/* a negative errno: no more can be made */
	int stop;
};

static void block_free(struct block *b)
{
	if (b->memory)
		munmap(b->memory, b->size);
	if (b->fd >= 0)
		close(b->fd);
}

static int block_new(struct block *b, const char *name, size_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	b->memory = NULL;
	b->size = size;
	b->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), (uint32_t)size, 1,
			       &opts);
	return b->fd < 0 ? -errno : 0;
}

/* Its memory, or NULL with errno. */
static uint8_t *block_map(struct block *b)
{
	void *memory = b->memory ? b->memory
				 : mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd,
					0);

	b->memory = memory == MAP_FAILED ? NULL : memory;
	return b->memory;
}

/*
 * Makes @n shards from @first on visible. One grace period for all of them, where the kernel has
 * the batch (5.13).
 */
static int shards_show(struct unwind_maps *m, uint32_t first, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t keys[AHEAD], fds[AHEAD], count = n;

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = first + i;
		fds[i] = (uint32_t)m->shards[first + i].fd;
	}
	if (n > 1 && !bpf_map_update_batch(m->outer, keys, fds, &count, &opts))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(m->outer, &keys[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

static int make_some(struct unwind_maps *m, uint32_t first, uint32_t n)
{
	uint32_t new = 0;
	int err = 0;

	while (new < n && !err) {
		err = block_new(&m->shards[first + new], "ebprof_shard", SHARD_MAPPED);
		new += !err;
	}
	if (!err)
		err = shards_show(m, first, n);
	while (err && new > 0)
		block_free(&m->shards[first + --new]);
	return err;
}

/* The maker: up to @wanted shards, a few at a time. */
static void *make_shards(void *arg)
{
	struct unwind_maps *m = arg;
	uint32_t first, n;
	int err;

	pthread_mutex_lock(&m->lock);
	while (!m->stop && !m->failed) {
		if (m->made >= m->wanted) {
			pthread_cond_wait(&m->changed, &m->lock);
			continue;
		}
		first = m->made;
		n = m->wanted - first < AHEAD ? m->wanted - first : AHEAD;
		pthread_mutex_unlock(&m->lock);
		err = make_some(m, first, n);
		pthread_mutex_lock(&m->lock);
		m->failed = err;
		m->made += err ? 0 : n;
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* The kernel takes the inner maps' shape from an example. */
static int outer_new(uint32_t most)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = BPF_F_MMAPABLE);
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int fd, example = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ebprof_shard", sizeof(uint32_t),
					 SHARD_MAPPED, 1, &inner);

	if (example < 0)
		return -errno;
	opts.inner_map_fd = (uint32_t)example;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "shards", sizeof(uint32_t),
			    sizeof(uint32_t), most, &opts);
	if (fd < 0)
		fd = -errno;
	close(example);
	return fd;
}

static int start_maker(struct unwind_maps *m)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&m->maker, NULL, make_shards, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	m->running = !err;
	return err;
}

struct unwind_maps *unwind_maps_new(size_t memory, uint32_t spaces, struct error *e)
{
	struct unwind_maps *m = xcalloc(1, sizeof(*m));
	int err = 0;

	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	m->most = (uint32_t)((memory + EBP_SHARD_BYTES - 1) / EBP_SHARD_BYTES);
	m->most = m->most < EBP_SHARDS_MAX ? m->most : EBP_SHARDS_MAX;
	m->wanted = m->most < AHEAD ? m->most : AHEAD;
	m->shards = xcalloc(m->most, sizeof(*m->shards));
	m->spaces = m->layouts.fd = -1;
	m->outer = outer_new(m->most ? m->most : 1);
	if (m->outer < 0)
		err = m->outer;
	if (!err)
		m->spaces = bpf_map_create(BPF_MAP_TYPE_HASH, "spaces", sizeof(uint32_t),
					   sizeof(struct ebp_space), spaces, NULL);
	if (!err && m->spaces < 0)
		err = -errno;
	if (!err)
		err = block_new(&m->layouts, "ebprof_layouts", LAYOUT_BYTES);
	if (!err && m->most)
		err = start_maker(m);
	if (err) {
		features_explain(e, err, "cannot make the maps of the unwind tables");
		unwind_maps_free(m);
		return NULL;
	}
	return m;
}

void unwind_maps_free(struct unwind_maps *m)
{
	if (!m)
		return;
	if (m->running) {
		pthread_mutex_lock(&m->lock);
		m->stop = 1;
		pthread_cond_broadcast(&m->changed);
		pthread_mutex_unlock(&m->lock);
		pthread_join(m->maker, NULL);
	}
	for (uint32_t i = 0; i < m->made; i++)
		block_free(&m->shards[i]);
	free(m->shards);
	if (m->outer >= 0)
		close(m->outer);
	if (m->spaces >= 0)
		close(m->spaces);
	block_free(&m->layouts);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->changed);
	free(m);
}

int unwind_maps_shards_fd(const struct unwind_maps *m)
{
	return m->outer;
}

int unwind_maps_spaces_fd(const struct unwind_maps *m)
{
	return m->spaces;
}

int unwind_maps_layouts_fd(const struct unwind_maps *m)
{
	return m->layouts.fd;
}

uint8_t *unwind_maps_grow(struct unwind_maps *m, uint32_t index)
{
	uint32_t ahead = index + 1 + AHEAD;
	uint8_t *memory = NULL;

	if (index >= m->most) {
		errno = ENOSPC;
		return NULL;
	}
	pthread_mutex_lock(&m->lock);
	if (m->wanted < ahead)
		m->wanted = ahead < m->most ? ahead : m->most;
	pthread_cond_broadcast(&m->changed);
	while (m->made <= index && !m->failed)
		pthread_cond_wait(&m->changed, &m->lock);
	if (m->made > index)
		memory = block_map(&m->shards[index]);
	else
		errno = -m->failed;
	pthread_mutex_unlock(&m->lock);
	return memory;
}

int unwind_maps_publish(struct unwind_maps *m, pid_t pid, const struct ebp_space *space)
{
	return bpf_map_update_elem(m->spaces, &pid, space, BPF_ANY) ? -errno : 0;
}

void unwind_maps_withdraw(struct unwind_maps *m, pid_t pid)
{
	bpf_map_delete_elem(m->spaces, &pid);
}

int unwind_maps_layout(struct unwind_maps *m, uint32_t number, const struct ebp_layout *layout)
{
	uint8_t *memory = block_map(&m->layouts);

	if (!memory)
		return -errno;
	memcpy(memory + ((number & ~EBP_LAYOUT_MACHINE) - 1) * sizeof(*layout), layout,
	       sizeof(*layout));
	return 0;
}
