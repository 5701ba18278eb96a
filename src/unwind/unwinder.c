/* SPDX-License-Identifier: MIT */
#include "unwind/unwinder.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "unwind/rows.h"
#include "unwind/unwinder_internal.h"

#define THREADS_MAX	8

static unsigned threads_of(const struct unwinder_options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (o->threads)
		return o->threads;
	return cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (unsigned)cpus;
}

struct unwinder *unwinder_new(struct images *images, const struct unwinder_kernel *k,
			      const struct unwinder_options *o)
{
	struct unwind_builder *builder = unwind_builder_new(threads_of(o));
	struct unwinder *u;

	if (!builder)
		return NULL;
	u = xcalloc(1, sizeof(*u));
	u->images = images;
	u->kernel = *k;
	u->options = *o;
	u->builder = builder;
	u->store = unwind_store_new(o->memory, k->grow, k->ctx);
	u->limit = unwind_store_limit(u->store);
	return u;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	unwind_builder_free(u->builder);
	unwind_files_free(u);
	unwind_sections_free(u->sections);
	free(u->vdso);
	unwind_store_free(u->store);
	vec_free(&u->sets);
	vec_free(&u->unused_sets);
	vec_free(&u->processes);
	vec_free(&u->unused_processes);
	hashmap_free(&u->by_pid);
	free(u);
}

void unwinder_rest(struct unwinder *u)
{
	if (!u)
		return;
	unwind_sections_free(u->sections);
	u->sections = NULL;
}

/* --- Rows. ----------------------------------------------------------------- */

static uint32_t special_object(const struct unwinder *u, uint32_t image)
{
	const struct image *img = image < images_count(u->images) ? images_at(u->images, image)
								  : NULL;

	return img && img->kind == IMAGE_SPECIAL && !strcmp(img->path, "[uprobes]")
		       ? EBP_OBJECT_UPROBES
		       : EBP_OBJECT_NONE;
}

/* The number that frames carry; code that the kernel maps has addresses only. */
static uint32_t number_of(const struct unwinder *u, uint32_t image)
{
	if (image >= images_count(u->images) || image >= EBP_IMAGE_NONE ||
	    images_at(u->images, image)->kind == IMAGE_SPECIAL)
		return EBP_IMAGE_NONE;
	return image;
}

/* The row of @m, its file counted as used. 0 or a negative errno. */
static int make_row(struct unwinder *u, const struct unwind_mapping *m, struct ebp_mapping *row)
{
	uint32_t file = unwind_file_get(u, m->image);

	*row = (struct ebp_mapping){
		.start = m->start, .end = m->end, .image = number_of(u, m->image),
	};
	/*
	 * Of memory without a file the bias is 0, but where processes share it; equal ones let such
	 * rows join. Other code of the kernel's has no offset.
	 */
	if (file != UNWIND_NO_FILE || row->image != EBP_IMAGE_NONE || m->image == IMAGE_NONE)
		row->bias = m->start - m->offset;
	if (file == UNWIND_NO_FILE) {
		row->object = special_object(u, m->image);
		return 0;
	}
	row->object = unwind_file_object(u, file);
	if (!row->object)
		return -errno;
	u->files.v[file].users++;
	return 0;
}

void unwinder_unpin(struct unwinder *u, const struct ebp_mapping *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t file = hashmap_get(&u->by_object, rows[i].object);

		if (rows[i].object >= EBP_OBJECT_FIRST && file != HASHMAP_NONE)
			u->files.v[file].users--;
	}
}

/*
 * A return address is looked up at the byte before it, and a replaced one is
 * the very first of the kernel's page.
 */
static void reach_below(struct ebp_mapping *rows, size_t i)
{
	rows[i].start--;
	if (i && rows[i - 1].end > rows[i].start)
		rows[i - 1].end = rows[i].start;
}

long unwinder_rows(struct unwinder *u, const struct unwind_mapping *list, size_t n,
		   struct ebp_mapping **out)
{
	struct unwind_mapping *sorted;
	size_t made = 0, kept;
	int err = 0;

	n = unwind_rows_sort(list, n, &sorted);
	*out = xcalloc(n ? n : 1, sizeof(**out));
	while (made < n && !err) {
		err = make_row(u, &sorted[made], &(*out)[made]);
		if (!err && (*out)[made].object == EBP_OBJECT_UPROBES)
			reach_below(*out, made);
		made += !err;
	}
	free(sorted);
	kept = err ? 0 : unwind_rows_join(*out, made);
	unwinder_unpin(u, *out + kept, made - kept);
	if (!err)
		return (long)kept;
	free(*out);
	*out = NULL;
	return err;
}

static const struct ebp_mapping *rows_of(const struct unwinder *u, const struct unwind_set *set)
{
	uint64_t byte = (uint64_t)set->ref << EBP_REF_SHIFT;
	uint32_t shards;

	return (const void *)(unwind_store_shards(u->store, &shards)[byte >> EBP_SHARD_SHIFT] +
			      (byte & EBP_SHARD_MASK));
}

/* Places @rows, whose files are counted already. The set, or a negative errno. */
static long add_set(struct unwinder *u, const struct ebp_mapping *rows, uint32_t n)
{
	struct unwind_set set = { .ref = unwind_store_add_rows(u->store, rows, n),
				  .n = n,
				  .users = 1 };
	uint32_t i;

	if (!set.ref)
		return -errno;
	if (!u->unused_sets.n) {
		vec_push(&u->sets, set);
		return (long)u->sets.n - 1;
	}
	i = u->unused_sets.v[--u->unused_sets.n];
	u->sets.v[i] = set;
	return i;
}

static void drop_set(struct unwinder *u, uint32_t i)
{
	struct unwind_set *set = &u->sets.v[i];

	if (--set->users)
		return;
	unwinder_unpin(u, rows_of(u, set), set->n);
	unwind_store_remove_rows(u->store, set->ref, set->n);
	vec_push(&u->unused_sets, i);
}

/* --- Processes. ------------------------------------------------------------ */

static struct unwind_process *find(struct unwinder *u, pid_t pid)
{
	uint32_t i = hashmap_get(&u->by_pid, (uint64_t)pid);

	return i == HASHMAP_NONE ? NULL : &u->processes.v[i];
}

static int publish(struct unwinder *u, pid_t pid, const struct unwind_process *p)
{
	const struct unwind_set *set = &u->sets.v[p->set];
	const struct ebp_space space = {
		.start = p->start, .rows = set->ref, .nrows = set->n, .flags = p->flags,
		.lang = p->lang, .lang_bias = p->lang_bias,
		.machine = p->machine, .machine_bias = p->machine_bias,
	};

	return u->kernel.publish(u->kernel.ctx, pid, &space);
}

/*
 * @pid is now @new, which holds a count of its set, whatever it was. 0, or a negative errno, and it
 * has no tables.
 */
static int replace(struct unwinder *u, pid_t pid, struct unwind_process new)
{
	int err = publish(u, pid, &new);
	struct unwind_process *p;
	uint32_t i;

	if (err) {
		drop_set(u, new.set);
		unwinder_exit(u, pid);
		return err;
	}
	p = find(u, pid);
	if (p) {
		drop_set(u, p->set);
		*p = new;
		return 0;
	}
	if (u->unused_processes.n) {
		i = u->unused_processes.v[--u->unused_processes.n];
		u->processes.v[i] = new;
	} else {
		i = (uint32_t)u->processes.n;
		vec_push(&u->processes, new);
	}
	hashmap_set(&u->by_pid, (uint64_t)pid, i);
	return 0;
}

/* Of each kind the runtime that is mapped first counts. */
static void find_languages(struct unwind_process *p, const struct unwind_mapping *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int machine = !!(list[i].lang & EBP_LAYOUT_MACHINE);
		uint32_t *number = machine ? &p->machine : &p->lang;

		if (!list[i].lang || *number)
			continue;
		*number = list[i].lang & ~EBP_LAYOUT_MACHINE;
		*(machine ? &p->machine_bias : &p->lang_bias) = list[i].start - list[i].offset;
	}
}

/* What is published of @pid says just this. */
static int is_same(struct unwinder *u, pid_t pid, const struct unwind_process *new,
		   const struct ebp_mapping *rows, uint32_t n)
{
	const struct unwind_process *p = find(u, pid);
	const struct unwind_set *set = p ? &u->sets.v[p->set] : NULL;

	return p && p->start == new->start && p->lang == new->lang &&
	       p->lang_bias == new->lang_bias && p->machine == new->machine &&
	       p->machine_bias == new->machine_bias && set->n == n &&
	       !memcmp(rows_of(u, set), rows, n * sizeof(*rows));
}

int unwinder_process(struct unwinder *u, pid_t pid, uint64_t start,
		     const struct unwind_mapping *list, size_t n)
{
	struct unwind_process new = { .start = start };
	struct ebp_mapping *rows = NULL;
	long count = unwinder_rows(u, list, n, &rows), set = 0;
	int err = count < 0 ? (int)count : 0;

	find_languages(&new, list, n);
	if (count > 0 && is_same(u, pid, &new, rows, (uint32_t)count)) {
		unwinder_unpin(u, rows, (size_t)count);
		free(rows);
		return 0;
	}
	if (count > 0) {
		set = add_set(u, rows, (uint32_t)count);
		if (set < 0) {
			unwinder_unpin(u, rows, (size_t)count);
			err = (int)set;
		}
	}
	new.set = (uint32_t)set;
	if (err || !count)
		unwinder_exit(u, pid);
	else
		err = replace(u, pid, new);
	if (err == -ENOSPC)
		unwind_files_evict(u, EBP_ROWS_MAX * sizeof(*rows), 1);
	free(rows);
	return err;
}

void unwinder_fork(struct unwinder *u, pid_t child, pid_t parent, uint64_t start)
{
	const struct unwind_process *p = find(u, parent);

	if (p) {
		struct unwind_process new = *p;

		new.start = start;
		u->sets.v[new.set].users++;
		replace(u, child, new);
	} else if (!find(u, child)) {
		/*
		 * What the kernel may have copied all the same is of rows that are gone, or will
		 * be.
		 */
		unwinder_exit(u, child);
	}
}

void unwinder_exit(struct unwinder *u, pid_t pid)
{
	uint32_t i = hashmap_get(&u->by_pid, (uint64_t)pid);

	/*
	 * Even of one that we do not know: the kernel copies at each fork, and we hear of it later.
	 */
	u->kernel.withdraw(u->kernel.ctx, pid);
	if (i == HASHMAP_NONE)
		return;
	drop_set(u, u->processes.v[i].set);
	hashmap_del(&u->by_pid, (uint64_t)pid);
	vec_push(&u->unused_processes, i);
}

void unwinder_set_rescue(struct unwinder *u, pid_t pid, int on)
{
	struct unwind_process *p = find(u, pid);

	if (!p || on == !(p->flags & EBP_SPACE_NO_RESCUE))
		return;
	p->flags ^= EBP_SPACE_NO_RESCUE;
	publish(u, pid, p);
}

/* --- Images that go. ------------------------------------------------------ */

void unwinder_mark_images(const struct unwinder *u, unsigned char *images)
{
	uint32_t n = images_count(u->images);

	for (size_t i = 0; i < u->sets.n; i++) {
		const struct unwind_set *set = &u->sets.v[i];

		for (uint32_t k = 0; set->users && k < set->n; k++)
			if (rows_of(u, set)[k].image < n)
				images[rows_of(u, set)[k].image] = 1;
	}
	for (size_t i = 0; i < u->file_of_image.n; i++) {
		uint32_t file = u->file_of_image.v[i];

		if (file != UNWIND_NO_FILE && u->files.v[file].state == UNWIND_FILE_QUEUED)
			images[i] = 1;
	}
}

void unwinder_retire(struct unwinder *u, const unsigned char *which)
{
	unwind_files_retire(u, which);
}

/* --- Tables. --------------------------------------------------------------- */

void unwinder_want(struct unwinder *u, uint32_t image)
{
	uint32_t file = unwind_file_get(u, image);

	if (file != UNWIND_NO_FILE && u->files.v[file].state == UNWIND_FILE_QUEUED)
		unwind_builder_want(u->builder, file);
}

int unwinder_fd(const struct unwinder *u)
{
	return unwind_builder_fd(u->builder);
}

size_t unwinder_collect(struct unwinder *u)
{
	struct unwind_built built;
	size_t n = 0;

	while (unwind_builder_take(u->builder, &built))
		n += (size_t)unwind_file_built(u, &built);
	return n;
}

int unwinder_wait(struct unwinder *u, uint64_t ns)
{
	struct pollfd p = { .fd = unwinder_fd(u), .events = POLLIN };
	uint64_t begin = clock_ns(), passed;
	struct timespec left;

	for (;;) {
		unwinder_collect(u);
		passed = clock_ns() - begin;
		if (!u->pending || passed >= ns)
			return !u->pending;
		left = clock_timespec(ns - passed);
		/* A signal is the owner's reason to stop waiting. */
		if (ppoll(&p, 1, &left, NULL) < 0)
			return 0;
	}
}

void unwinder_epoch(struct unwinder *u)
{
	u->epoch++;
	unwind_store_epoch(u->store);
	unwind_files_epoch(u);
}

void unwinder_stats(const struct unwinder *u, struct unwinder_stats *out)
{
	*out = u->stats;
	out->memory = unwind_store_size(u->store);
}
