/* SPDX-License-Identifier: MIT */
#include "input/perf_data_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/search.h"
#include "elf/image.h"

#define PATH_MOST 4095			/* bytes of a file's name */
#define KERNEL_MAX 65536		/* modules of the kernel */
#define SYMBOLS_MAX (1u << 20)		/* that came at run time */

static int same_id(const void *file, uint32_t i, const void *path)
{
	const struct perf_data_id *id = &((const struct perf_data_file *)file)->build_ids.v[i];
	const struct slice *p = path;

	return id->path.n == p->n && !memcmp(id->path.s, p->s, p->n);
}

void perf_data_tasks_init(struct perf_data_tasks *t, const struct perf_data_file *f,
			  struct room *room)
{
	*t = (struct perf_data_tasks){ .room = room, .file = f };
	for (uint32_t i = 0; i < f->build_ids.n; i++) {
		const struct slice *path = &f->build_ids.v[i].path;

		intern(&t->build_ids, hash_bytes(path->s, path->n), i, same_id, f, path);
	}
}

void perf_data_tasks_free(struct perf_data_tasks *t)
{
	for (size_t i = 0; i < t->processes.n; i++)
		mappings_unref(t->processes.v[i].mappings);
	vec_free(&t->images);
	vec_free(&t->processes);
	vec_free(&t->threads);
	vec_free(&t->kernel);
	vec_free(&t->symbols);
	interned_free(&t->image_ids);
	hashmap_free(&t->by_pid);
	hashmap_free(&t->by_tid);
	interned_free(&t->build_ids);
}

const struct perf_data_id *perf_data_build_id(const struct perf_data_tasks *t, struct slice path)
{
	uint32_t i = intern_find(&t->build_ids, hash_bytes(path.s, path.n), same_id, t->file,
				 &path);

	return i == HASHMAP_NONE ? NULL : &t->file->build_ids.v[i];
}

/* --- Processes and threads. ----------------------------------------------------- */

/* A program begins in @pid, with what @mappings says. */
static struct perf_data_process *new_process(struct perf_data_tasks *t, uint32_t pid,
					     struct mappings *mappings, uint32_t generation,
					     uint32_t comm)
{
	room_take(t->room, 2);
	hashmap_set(&t->by_pid, pid, (uint32_t)t->processes.n);
	vec_push(&t->processes,
		 (struct perf_data_process){ .mappings = mappings,
					     .generation = generation,
					     .incarnation = t->incarnations++,
					     .comm = comm });
	return &t->processes.v[t->processes.n - 1];
}

static struct perf_data_process *process_of(struct perf_data_tasks *t, uint32_t pid)
{
	uint32_t i = hashmap_get(&t->by_pid, pid);

	return i == HASHMAP_NONE ? new_process(t, pid, NULL, t->generations++, 0)
				 : &t->processes.v[i];
}

const struct perf_data_process *perf_data_process(struct perf_data_tasks *t, uint32_t pid)
{
	return process_of(t, pid);
}

/* @tid is now this, whoever it was. */
static struct perf_data_thread *set_thread(struct perf_data_tasks *t, uint32_t tid,
					   uint32_t process, uint32_t comm)
{
	uint32_t i = hashmap_put(&t->by_tid, tid, (uint32_t)t->threads.n);

	if (i == t->threads.n) {
		room_take(t->room, 1);
		vec_push(&t->threads, (struct perf_data_thread){ 0 });
	}
	t->threads.v[i] = (struct perf_data_thread){ process, comm, PROFILE_NONE };
	return &t->threads.v[i];
}

static struct perf_data_thread *thread_of(struct perf_data_tasks *t, uint32_t pid, uint32_t tid)
{
	uint32_t process = (uint32_t)(process_of(t, pid) - t->processes.v),
		 i = hashmap_get(&t->by_tid, tid);

	if (i != HASHMAP_NONE && t->threads.v[i].process == process)
		return &t->threads.v[i];
	return set_thread(t, tid, process, t->processes.v[process].comm);
}

uint32_t perf_data_thread(struct perf_data_tasks *t, uint32_t pid, uint32_t tid)
{
	struct perf_data_thread *thread = thread_of(t, pid, tid);
	struct perf_data_process *p = &t->processes.v[thread->process];
	struct profile *profile = t->room->profile;
	uint32_t process;

	if (thread->thread != PROFILE_NONE)
		return thread->thread;
	/* The idle tasks have no record of their own. */
	if (!pid && !thread->comm)
		thread->comm = profile_string(profile, "swapper");
	process = profile_process(profile, (pid_t)pid, p->incarnation,
				  p->comm ? p->comm : thread->comm);
	thread->thread = room_thread(t->room, process, (pid_t)tid, thread->comm);
	return thread->thread;
}

/* --- Mappings. ------------------------------------------------------------------ */
static int same_image(const void *tasks, uint32_t i, const void *image)
{
	const struct perf_data_image *a = &((const struct perf_data_tasks *)tasks)->images.v[i],
				     *b = image;

	return a->path.n == b->path.n && !memcmp(a->path.s, b->path.s, a->path.n) &&
	       a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

static uint32_t add_module(struct perf_data_tasks *t, const struct perf_data_image *image)
{
	struct profile *p = t->room->profile;
	char build_id[2 * PERF_DATA_ID_BYTES + 1] = "";
	struct slice name = image->path;

	for (int i = 0; i < image->build_id_size; i++)
		sprintf(build_id + 2 * i, "%02x", image->build_id[i]);
	for (size_t i = 0; i + 1 < image->path.n; i++)
		if (image->path.s[i] == '/')
			name = (struct slice){ image->path.s + i + 1, image->path.n - i - 1 };
	return profile_module(p, profile_text(p, slice_string(p, name)),
			      profile_text(p, slice_string(p, image->path)), build_id);
}

static uint32_t image_of(struct perf_data_tasks *t, struct perf_data_image *image)
{
	const struct perf_data_id *known = perf_data_build_id(t, image->path);
	uint64_t hash;
	uint32_t i;

	if (!image->build_id_size && known) {
		image->build_id_size = known->size;
		memcpy(image->build_id, known->bytes, known->size);
	}
	hash = hash_pair(hash_bytes(image->path.s, image->path.n),
			 image->build_id_size ? hash_bytes(image->build_id, image->build_id_size)
					      : image->inode);
	i = intern(&t->image_ids, hash, (uint32_t)t->images.n, same_image, t, image);
	if (i == t->images.n) {
		room_take(t->room, 2 + image->path.n / ROOM_TEXT);
		image->module = add_module(t, image);
		vec_push(&t->images, *image);
	}
	return i;
}

/* Memory that no file is behind. */
static int is_anonymous(struct slice path)
{
	static const char *const names[] = { "//anon", "/dev/zero", "/anon_hugepage", "/SYSV",
					     "/memfd:" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_begins(path, names[i]))
			return 1;
	return !slice_begins(path, "/") && !slice_begins(path, "[vdso]") &&
	       !slice_begins(path, "[vsyscall]");
}

static void take_kernel(struct perf_data_tasks *t, const uint64_t range[3],
			const struct perf_data_image *image)
{
	static const char prefix[] = "[kernel.kallsyms]";
	struct perf_data_kernel k = { .start = range[0],
				      .end = range[0] + range[1],
				      .symbol = { "", 0 },
				      .build_id_size = image->build_id_size };

	if (slice_begins(image->path, prefix)) {
		k.symbol = (struct slice){ image->path.s + sizeof(prefix) - 1,
					   image->path.n - sizeof(prefix) + 1 };
		k.reference = range[2];
	}
	memcpy(k.build_id, image->build_id, image->build_id_size);
	if (k.end > k.start && t->kernel.n < KERNEL_MAX)
		vec_push(&t->kernel, k);
}

static void take_mapping(struct perf_data_tasks *t, const struct perf_data_record *r,
			 uint32_t pid, const uint64_t range[3], struct perf_data_image *image)
{
	const uint16_t misc = perf_data_head(r->at).misc;
	struct mapping m = { .start = range[0],
			     .offset = range[2],
			     .from = r->time,
			     .image = IMAGE_NONE };
	struct perf_data_process *p;

	if (misc & PERF_RECORD_MISC_MMAP_DATA || __builtin_add_overflow(m.start, range[1], &m.end))
		return;
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		take_kernel(t, range, image);
		return;
	}
	if (image->path.n > PATH_MOST)
		return;
	if (!is_anonymous(image->path))
		m.image = image_of(t, image);
	p = process_of(t, pid);
	/* What is shared is copied by the first change. */
	room_take(t->room, 1 + (p->shared ? mappings_count(p->mappings) : 0));
	p->shared = 0;
	mappings_add(&p->mappings, &m);
	p->generation = t->generations++;
}

static void take_mmap(struct perf_data_tasks *t, const struct perf_data_record *r,
		      struct slice body)
{
	const uint8_t *p = perf_data_at(body, 0, 32);
	struct perf_data_image image = { 0 };
	uint64_t range[3];

	if (!p)
		return;
	memcpy(range, p + 8, sizeof(range));
	image.path = perf_data_text(p + 32, body.n - 32);
	take_mapping(t, r, load32(p), range, &image);
}

static void take_mmap2(struct perf_data_tasks *t, const struct perf_data_record *r,
		       struct slice body)
{
	const uint8_t *p = perf_data_at(body, 0, 64);
	struct perf_data_image image = { 0 };
	uint64_t range[3];

	if (!p)
		return;
	memcpy(range, p + 8, sizeof(range));
	if (perf_data_head(r->at).misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		image.build_id_size = p[32] <= PERF_DATA_ID_BYTES ? p[32] : 0;
		memcpy(image.build_id, p + 36, image.build_id_size);
	} else {
		image.dev_major = load32(p + 32);
		image.dev_minor = load32(p + 36);
		image.inode = load64(p + 40);
	}
	image.path = perf_data_text(p + 64, body.n - 64);
	take_mapping(t, r, load32(p), range, &image);
}

/* --- Code that comes and goes in the kernel. ------------------------------------ */
static void take_symbol(struct perf_data_tasks *t, const struct perf_data_record *r,
			struct slice body)
{
	const uint8_t *p = perf_data_at(body, 0, 16);
	struct perf_data_symbol symbol = { .number = (uint32_t)t->symbols.n };

	(void)r;
	if (!p || load16(p + 14) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ||
	    t->symbols.n >= SYMBOLS_MAX || !room_take(t->room, 1))
		return;
	symbol.start = load64(p);
	symbol.type = load16(p + 12);
	symbol.name = perf_data_text(p + 16, body.n - 16);
	if (!__builtin_add_overflow(symbol.start, load32(p + 8), &symbol.end) && symbol.name.n)
		vec_push(&t->symbols, symbol);
}

static int by_start(const void *a, const void *b)
{
	const struct perf_data_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void perf_data_symbols_sort(struct perf_data_tasks *t)
{
	if (t->symbols.n)
		qsort(t->symbols.v, t->symbols.n, sizeof(*t->symbols.v), by_start);
}

const struct perf_data_symbol *perf_data_symbol(const struct perf_data_tasks *t,
						uint64_t address)
{
	size_t n = upper_bound(t->symbols.v, t->symbols.n, .start, address);

	return n && address < t->symbols.v[n - 1].end ? &t->symbols.v[n - 1] : NULL;
}

/* --- Lives. --------------------------------------------------------------------- */
static void take_comm(struct perf_data_tasks *t, const struct perf_data_record *r,
		      struct slice body)
{
	const uint8_t *p = perf_data_at(body, 0, 8);
	uint32_t pid, tid, comm;
	struct slice text;

	if (!p)
		return;
	pid = load32(p);
	tid = load32(p + 4);
	text = perf_data_text(p + 8, body.n - 8);
	room_take(t->room, 1 + text.n / ROOM_TEXT);
	comm = slice_string(t->room->profile, text);
	if (perf_data_head(r->at).misc & PERF_RECORD_MISC_COMM_EXEC)
		new_process(t, pid, NULL, t->generations++, comm);
	if (pid == tid)
		process_of(t, pid)->comm = comm;
	set_thread(t, tid, (uint32_t)(process_of(t, pid) - t->processes.v), comm);
}

static void take_fork(struct perf_data_tasks *t, const struct perf_data_record *r,
		      struct slice body)
{
	const uint8_t *p = perf_data_at(body, 0, 24);
	struct perf_data_process parent;
	struct perf_data_thread by;
	uint32_t pid, ppid;

	(void)r;
	if (!p)
		return;
	pid = load32(p);
	ppid = load32(p + 4);
	by = *thread_of(t, ppid, load32(p + 12));
	parent = *process_of(t, ppid);
	if (pid != ppid) {
		process_of(t, ppid)->shared = 1;
		new_process(t, pid, mappings_ref(parent.mappings), parent.generation, by.comm)
			->shared = 1;
	}
	set_thread(t, load32(p + 8), (uint32_t)(process_of(t, pid) - t->processes.v),
		   by.comm);
}

void perf_data_tasks_take(struct perf_data_tasks *t, const struct perf_data_record *r)
{
	static const struct {
		uint32_t type;
		void (*take)(struct perf_data_tasks *t, const struct perf_data_record *r,
			     struct slice body);
	} takers[] = {
		{ PERF_RECORD_MMAP, take_mmap },
		{ PERF_RECORD_MMAP2, take_mmap2 },
		{ PERF_RECORD_COMM, take_comm },
		{ PERF_RECORD_FORK, take_fork },
		{ PERF_RECORD_KSYMBOL, take_symbol },
	};
	const struct perf_event_header h = perf_data_head(r->at);
	const struct slice body = { (const char *)r->at + sizeof(h), h.size - sizeof(h) };

	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++)
		if (takers[i].type == h.type)
			takers[i].take(t, r, body);
}
