/* SPDX-License-Identifier: MIT */
/*
 * The unwinder's files: from an image to its table in the shards, and back out where memory is
 * short.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "unwind/unwinder_internal.h"

#define RESERVE(limit)	((limit) / 16)	/* that no table may take, so that there is room for rows */
#define PARKED_TRIES	4
#define SETBACKS_FREE	2		/* of one file, without a delay before it is built again */
#define DELAY_SHIFT_MAX	6		/* then 2, 4, ... 64 epochs */

/*
 * Two images with one build id are one file only if size and owner agree as well: whoever copies a
 * build id into a program of theirs shall not unwind other people's stacks with it.
 */
static int same_file(const void *unwinder, uint32_t i, const void *file)
{
	const struct unwind_file *f = &((const struct unwinder *)unwinder)->files.v[i], *g = file;

	return f->size == g->size && f->owner == g->owner &&
	       f->build_id_size == g->build_id_size &&
	       !memcmp(f->build_id, g->build_id, f->build_id_size);
}

static uint32_t add_file(struct unwinder *u, const struct image *image)
{
	struct unwind_file f = { .fd = UNWIND_FD_VDSO };
	size_t unused = u->unused_files.n;
	uint32_t next = unused ? u->unused_files.v[unused - 1] : (uint32_t)u->files.n, i = next;
	struct stat st;

	if (image->kind == IMAGE_FILE) {
		if (fstat(image->fd, &st))
			return UNWIND_NO_FILE;
		f.fd = image->fd;
		f.size = (uint64_t)st.st_size;
		f.owner = st.st_uid;
		f.build_id_size = image->build_id_size;
		memcpy(f.build_id, image->build_id, sizeof(f.build_id));
	}
	if (f.build_id_size)
		i = intern(&u->by_identity, hash_bytes(f.build_id, f.build_id_size), next,
			   same_file, u, &f);
	if (i != next) {
		if (u->files.v[i].fd == UNWIND_FD_NONE)
			u->files.v[i].fd = f.fd;
	} else if (unused) {
		u->files.v[next] = f;
		u->unused_files.n--;
	} else {
		vec_push(&u->files, f);
	}
	return i;
}

/* Queues it for building, where it has no table and may. */
static void queue(struct unwinder *u, uint32_t file)
{
	struct unwind_file *f = &u->files.v[file];

	if (f->state != UNWIND_FILE_NONE || u->epoch < f->not_before)
		return;
	f->state = UNWIND_FILE_QUEUED;
	u->pending++;
	unwind_builder_add(u->builder, file, f->fd, f->size);
}

uint32_t unwind_file_get(struct unwinder *u, uint32_t image)
{
	const struct image *img;
	uint32_t *file;

	if (image >= images_count(u->images))
		return UNWIND_NO_FILE;
	img = images_at(u->images, image);
	/*
	 * One that cannot be opened may be openable at a later mapping: it is looked at anew each
	 * time.
	 */
	if (img->kind == IMAGE_SPECIAL || (img->kind == IMAGE_FILE && img->fd < 0))
		return UNWIND_NO_FILE;
	while (u->file_of_image.n <= image)
		vec_push(&u->file_of_image, UNWIND_NO_FILE);
	file = &u->file_of_image.v[image];
	if (*file == UNWIND_NO_FILE)
		*file = add_file(u, img);
	if (*file == UNWIND_NO_FILE)
		return UNWIND_NO_FILE;
	u->files.v[*file].asked = ++u->tick;
	queue(u, *file);
	return *file;
}

uint32_t unwind_file_object(struct unwinder *u, uint32_t file)
{
	struct unwind_file *f = &u->files.v[file];

	if (!f->object) {
		f->object = unwind_store_add_object(u->store);
		if (!f->object)
			return 0;
		hashmap_set(&u->by_object, f->object, file);
	}
	return f->object;
}

/*
 * How much would be free after two epochs; less than nothing where parked tables have more coming
 * to them.
 */
static int64_t room(const struct unwinder *u)
{
	int64_t left = (int64_t)(u->limit - unwind_store_used(u->store) +
				 unwind_store_leaving(u->store));

	for (size_t i = 0; i < u->parked.n; i++)
		left -= (int64_t)unwind_store_need(&u->files.v[u->parked.v[i]].parked);
	return left;
}

/*
 * Each setback after the first few doubles the wait: files that push each other out must not keep
 * us busy for ever.
 */
static void set_back(const struct unwinder *u, struct unwind_file *f)
{
	uint32_t shift = ++f->setbacks <= SETBACKS_FREE ? 0 : f->setbacks - SETBACKS_FREE;

	if (shift)
		f->not_before = u->epoch +
				(1u << (shift < DELAY_SHIFT_MAX ? shift : DELAY_SHIFT_MAX));
	f->state = UNWIND_FILE_NONE;
}

static void remove_object(struct unwinder *u, struct unwind_file *f)
{
	unwind_store_remove(u->store, f->object);
	hashmap_del(&u->by_object, f->object);
	f->object = 0;
}

static void evict(struct unwinder *u, struct unwind_file *f)
{
	if (f->users) {
		unwind_store_empty(u->store, f->object);
	} else {
		remove_object(u, f);
	}
	u->stats.evicted++;
	u->stats.tables--;
	u->stats.rows -= f->rows;
	f->rows = 0;
	set_back(u, f);
}

struct victim {
	uint32_t file, mapped;
	uint64_t asked;
};

static int by_order(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->mapped != y->mapped)
		return x->mapped < y->mapped ? -1 : 1;
	return x->asked < y->asked ? -1 : x->asked > y->asked;
}

int unwind_files_evict(struct unwinder *u, size_t bytes, int mapped)
{
	VEC(struct victim) victims = { 0 };
	/*
	 * To look for victims costs time for each file, so somewhat more of the unmapped ones goes
	 * at once.
	 */
	size_t soft = u->options.memory_unmapped ? u->options.memory_unmapped : u->limit;
	int64_t want = (int64_t)bytes, generous = want + (int64_t)RESERVE(soft), left = room(u);

	if (left >= want)
		return 1;
	for (uint32_t i = 0; i < u->files.n; i++) {
		const struct unwind_file *f = &u->files.v[i];

		if (f->state == UNWIND_FILE_READY && (mapped || !f->users))
			vec_push(&victims, (struct victim){ i, f->users > 0, f->asked });
	}
	if (victims.n)
		qsort(victims.v, victims.n, sizeof(*victims.v), by_order);
	for (size_t i = 0; i < victims.n; i++) {
		if (left >= (victims.v[i].mapped ? want : generous))
			break;
		evict(u, &u->files.v[victims.v[i].file]);
		left = room(u);
	}
	vec_free(&victims);
	return left >= want;
}

/*
 * Publishes @t if there is room now. 0; -EBUSY, -ENOSPC: perhaps after the next epochs; or another
 * negative errno.
 */
static int publish(struct unwinder *u, uint32_t file, const struct unwind_table *t)
{
	struct unwind_file *f = &u->files.v[file];
	size_t need = unwind_store_need(t), reserve = RESERVE(u->limit);
	int err;

	if (need + reserve > u->limit)
		return -EFBIG;
	if (!unwind_file_object(u, file))
		return -errno;
	if (u->limit - unwind_store_used(u->store) < need + reserve)
		return -ENOSPC;
	err = unwind_store_fill(u->store, f->object, t);
	if (err)
		return err;
	f->state = UNWIND_FILE_READY;
	f->rows = t->rows;
	u->stats.tables++;
	u->stats.rows += t->rows;
	return 0;
}

/* Publishes, parks, or gives up; @t is taken. 1: published. */
static int place(struct unwinder *u, uint32_t file, struct unwind_table *t)
{
	struct unwind_file *f = &u->files.v[file];
	int err = publish(u, file, t), wait = err == -EBUSY || err == -ENOSPC;

	if (wait && ++f->parked_tries <= PARKED_TRIES) {
		size_t need = unwind_store_need(t) + RESERVE(u->limit);

		if (err == -EBUSY || unwind_files_evict(u, need, 1)) {
			f->state = UNWIND_FILE_PARKED;
			f->parked = *t;
			vec_push(&u->parked, file);
			return 0;
		}
	}
	if (err) {
		u->stats.refused++;
		set_back(u, f);
	}
	f->parked_tries = 0;
	unwind_table_free(t);
	return !err;
}

int unwind_file_built(struct unwinder *u, struct unwind_built *built)
{
	u->pending--;
	u->stats.build_ns += built->ns;
	if (built->err)
		/*
		 * A damaged file, or no program at all. Empty, but there: nobody asks for it again.
		 */
		memset(&built->table, 0, sizeof(built->table));
	else
		u->stats.built++;
	return place(u, built->id, &built->table);
}

size_t unwind_files_epoch(struct unwinder *u)
{
	size_t n = u->parked.n, reserve = RESERVE(u->limit), published = 0;
	uint32_t *parked = u->parked.v;

	/* The list is made anew as they are parked again. */
	memset(&u->parked, 0, sizeof(u->parked));
	for (size_t i = 0; i < n; i++) {
		struct unwind_table t = u->files.v[parked[i]].parked;

		published += (size_t)place(u, parked[i], &t);
	}
	free(parked);
	if (u->options.memory_unmapped && u->options.memory_unmapped < u->limit)
		unwind_files_evict(u, u->limit - u->options.memory_unmapped, 0);
	unwind_files_evict(u, 2 * reserve, 0);
	return published;
}

/* --- Files that go. --------------------------------------------------------- */

/* The descriptor of an image that is file @i, its own where that is one. */
static void set_fd(struct unwinder *u, uint32_t i, int fd)
{
	struct unwind_file *f = &u->files.v[i];

	if (f->fd == UNWIND_FD_VDSO || f->fd == UNWIND_FD_UNUSED || f->fd == fd)
		return;
	f->fd = fd;
	unwind_sections_forget(u->sections, i);
}

/* Finds for each file an image that still is it. */
static void find_images(struct unwinder *u, const unsigned char *gone)
{
	int *fds = xcalloc(u->files.n + 1, sizeof(*fds));

	for (size_t i = 0; i < u->files.n; i++)
		fds[i] = UNWIND_FD_NONE;
	for (uint32_t i = 0; i < u->file_of_image.n; i++) {
		uint32_t *file = &u->file_of_image.v[i];
		int fd = images_at(u->images, i)->fd;

		if (gone[i])
			*file = UNWIND_NO_FILE;
		if (*file != UNWIND_NO_FILE && fds[*file] != u->files.v[*file].fd)
			fds[*file] = fd;
	}
	for (uint32_t i = 0; i < u->files.n; i++)
		set_fd(u, i, fds[i]);
	free(fds);
}

/* Whether the table of a file that nothing is now may serve one that comes. */
static int is_worth_keeping(const struct unwind_file *f)
{
	return f->users || f->state == UNWIND_FILE_PARKED ||
	       (f->state == UNWIND_FILE_READY && f->build_id_size && f->rows);
}

/* Its place is for another one. */
static void drop_file(struct unwinder *u, uint32_t i)
{
	struct unwind_file *f = &u->files.v[i];

	if (f->state == UNWIND_FILE_READY)
		evict(u, f);
	if (f->object)
		remove_object(u, f);
	*f = (struct unwind_file){ .fd = UNWIND_FD_UNUSED };
	vec_push(&u->unused_files, i);
}

void unwind_files_retire(struct unwinder *u, const unsigned char *which)
{
	find_images(u, which);
	for (uint32_t i = 0; i < u->files.n; i++)
		if (u->files.v[i].fd == UNWIND_FD_NONE && !is_worth_keeping(&u->files.v[i]))
			drop_file(u, i);
	interned_free(&u->by_identity);
	for (uint32_t i = 0; i < u->files.n; i++) {
		const struct unwind_file *f = &u->files.v[i];

		if (f->build_id_size)
			intern(&u->by_identity, hash_bytes(f->build_id, f->build_id_size), i,
			       same_file, u, f);
	}
}

void unwind_files_free(struct unwinder *u)
{
	for (size_t i = 0; i < u->parked.n; i++)
		unwind_table_free(&u->files.v[u->parked.v[i]].parked);
	vec_free(&u->parked);
	vec_free(&u->files);
	vec_free(&u->unused_files);
	vec_free(&u->file_of_image);
	interned_free(&u->by_identity);
	hashmap_free(&u->by_object);
}
