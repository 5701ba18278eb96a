/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "unit/unwinder_fake.h"
#include "unwind/rows.h"
#include "unwind/shards/store.h"
#include "unwind/table/build.h"

/* The rule as the kernel finds it, by the letter of bpf/unwind.h. */
static uint16_t rule_at(const struct fake *f, const struct ebp_object *o, uint64_t offset)
{
	const uint16_t gap = EBP_RULE_SPECIAL | EBP_RULE_GAP, *dict;
	uint64_t page = (offset >> EBP_PAGE_SHIFT) - o->first_page;
	const struct ebp_block *b;
	const uint8_t *low, *rule;
	uint32_t ref, i, bucket = offset >> 8 & 255;

	if (page >= o->npages)
		return gap;
	ref = ((const uint32_t *)fake_at(f, o->dir))[page];
	if (ref == EBP_REF_GAP)
		return gap;
	b = fake_at(f, ref);
	dict = (const uint16_t *)(b + 1);
	low = (const uint8_t *)(dict + b->ndict);
	rule = low + b->nrows;
	for (i = b->first[bucket]; i < b->first[bucket + 1] && low[i] <= (offset & 255); i++)
		;
	if (!i)
		return b->before;
	if (b->flags & EBP_BLOCK_WIDE)
		return dict[((const uint16_t *)(((uintptr_t)rule + 1) & ~1ul))[i - 1]];
	return dict[rule[i - 1]];
}

/*
 * All code of this process, its libraries and the vDSO: each rule through the shards is the table's
 * own.
 */
TEST(publishes_this_process)
{
	struct fake f;
	struct unwinder_stats stats;
	uint64_t checked = 0;

	fake_begin(&f, 64u << 20);
	CHECK_EQ(unwinder_process(f.u, 1, 77, f.own.v, f.own.n), 0);
	CHECK_EQ(f.spaces[1].start, 77);
	CHECK(f.spaces[1].nrows > 2);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	for (size_t i = 0; i < f.own.n; i++) {
		const struct unwind_mapping *m = &f.own.v[i];
		const struct image *img = m->image == IMAGE_NONE ? NULL
								 : images_at(f.images, m->image);
		const struct ebp_object *o = fake_object(&f, 1, m->start);
		struct elf_file *elf = img && img->fd >= 0 ? elf_file_open(img->fd) : NULL;
		struct unwind_table t;

		if (img && img->kind == IMAGE_VDSO)
			CHECK(o && o->dir && o->npages);
		if (!elf)
			continue;
		CHECK(o && o->dir);
		CHECK_EQ(unwind_table_build(elf, NULL, &t), 0);
		for (uint64_t at = m->start; o && o->dir && at < m->end;
		     at += 1 + at % 61, checked++) {
			uint64_t offset = at - m->start + m->offset;

			if (rule_at(&f, o, offset) != unwind_table_rule(&t, offset)) {
				CHECK_EQ(rule_at(&f, o, offset), unwind_table_rule(&t, offset));
				break;
			}
		}
		unwind_table_free(&t);
		elf_file_free(elf);
	}
	CHECK(checked > 10000);
	unwinder_stats(f.u, &stats);
	CHECK(stats.tables > 2 && stats.tables == stats.built);
	CHECK(stats.rows > 1000 && stats.build_ns > 0 && stats.memory >= EBP_SHARD_BYTES);
	fake_end(&f);
}

TEST(tells_when_a_table_is_built)
{
	struct fake f;
	struct pollfd p;

	fake_begin(&f, 64u << 20);
	p = (struct pollfd){ .fd = unwinder_fd(f.u), .events = POLLIN };
	CHECK_EQ(poll(&p, 1, 0), 0);
	unwinder_process(f.u, 1, 0, f.own.v, f.own.n);
	CHECK(fake_object(&f, 1, (uintptr_t)rule_at) &&
	      !fake_object(&f, 1, (uintptr_t)rule_at)->dir);
	CHECK_EQ(poll(&p, 1, 60000), 1);
	CHECK(unwinder_collect(f.u) > 0);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	/*
	 * A builder may tell of a table a moment after it was taken; once each, so that this ends.
	 */
	while (poll(&p, 1, 0))
		unwinder_collect(f.u);
	CHECK(fake_object(&f, 1, (uintptr_t)rule_at)->dir);
	fake_end(&f);
}

/* A file with the bytes of @from and @extra more, known by its build id. Its image. */
static uint32_t copy_image(struct fake *f, const struct image *from, const char *path, size_t extra)
{
	struct image_key key = { .path = path,
				 .build_id = from->build_id,
				 .build_id_size = from->build_id_size };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char buf[65536];
	ssize_t n;
	off_t at = 0;
	uint32_t id;

	for (; (n = pread(from->fd, buf, sizeof(buf), at)) > 0; at += n)
		CHECK_EQ(write(fd, buf, (size_t)n), n);
	CHECK_EQ(ftruncate(fd, at + (off_t)extra), 0);
	close(fd);
	id = images_get(f->images, getpid(), &key);
	unlink(path);
	CHECK(images_at(f->images, id)->fd >= 0);
	return id;
}

static const struct image *own_libc(const struct fake *f)
{
	Dl_info info;
	void *start = dladdr((void *)getpid, &info) ? info.dli_fbase : NULL;

	for (size_t i = 0; i < f->own.n; i++)
		if (f->own.v[i].image != IMAGE_NONE && start &&
		    f->own.v[i].start > (uintptr_t)start)
			return images_at(f->images, f->own.v[i].image);
	return NULL;
}

TEST(shares_the_tables_of_one_file)
{
	struct fake f;
	const struct image *libc;
	struct unwind_mapping list[3];
	struct unwinder_stats stats;
	uint32_t a, b, longer;

	fake_begin(&f, 64u << 20);
	libc = own_libc(&f);
	CHECK(libc && libc->build_id_size);
	a = copy_image(&f, libc, "/tmp/test_unwinder-a", 0);
	b = copy_image(&f, libc, "/tmp/test_unwinder-b", 0);
	longer = copy_image(&f, libc, "/tmp/test_unwinder-c", 1);
	list[0] = (struct unwind_mapping){ 0x1000, 0x2000, 0x1000, a, 0 };
	list[1] = (struct unwind_mapping){ 0x3000, 0x4000, 0x1000, b, 0 };
	list[2] = (struct unwind_mapping){ 0x5000, 0x6000, 0x1000, longer, 0 };
	CHECK(a != b && b != longer);
	CHECK_EQ(unwinder_process(f.u, 1, 0, list, 3), 0);
	CHECK_EQ(fake_rows(&f, 1)[0].object, fake_rows(&f, 1)[1].object);
	CHECK(fake_rows(&f, 1)[0].object != fake_rows(&f, 1)[2].object);
	CHECK_EQ(fake_rows(&f, 1)[1].image, b);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	unwinder_stats(f.u, &stats);
	CHECK_EQ(stats.built, 2);
	fake_end(&f);
}

/* A table outlives the images of its file, for the next one. */
TEST(keeps_tables_of_images_that_go)
{
	struct unwind_mapping m = { 0x1000, 0x2000, 0x1000, 0, 0 };
	unsigned char mapped[64] = { 0 }, gone[64] = { 0 };
	struct unwinder_stats stats;
	uint32_t a, b, c;
	struct fake f;

	fake_begin(&f, 64u << 20);
	a = m.image = copy_image(&f, own_libc(&f), "/tmp/test_unwinder-j", 0);
	CHECK_EQ(unwinder_process(f.u, 1, 0, &m, 1), 0);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	b = copy_image(&f, own_libc(&f), "/tmp/test_unwinder-k", 0);
	unwinder_mark_images(f.u, mapped);
	CHECK_EQ(mapped[a], 1);
	CHECK_EQ(mapped[b], 0);
	unwinder_exit(f.u, 1);
	memset(mapped, 0, sizeof(mapped));
	unwinder_mark_images(f.u, mapped);
	CHECK_EQ(mapped[a], 0);
	gone[a] = 1;
	unwinder_retire(f.u, gone);
	images_retire(f.images, gone);
	images_reuse(f.images, gone);
	/* The id is another file's now. */
	c = copy_image(&f, own_libc(&f), "/tmp/test_unwinder-l", 1);
	CHECK_EQ(c, a);
	m.image = c;
	CHECK_EQ(unwinder_process(f.u, 2, 0, &m, 1), 0);
	m.image = b;
	CHECK_EQ(unwinder_process(f.u, 1, 0, &m, 1), 0);
	CHECK(fake_object(&f, 1, 0x1000)->dir);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK(fake_object(&f, 2, 0x1000)->dir && fake_object(&f, 2, 0x1000)->dir !=
						       fake_object(&f, 1, 0x1000)->dir);
	unwinder_stats(f.u, &stats);
	CHECK_EQ(stats.built, 2);
	/* Of what cannot come again nothing is left. */
	unwinder_exit(f.u, 1);
	unwinder_exit(f.u, 2);
	memset(gone, 1, sizeof(gone));
	unwinder_retire(f.u, gone);
	unwinder_stats(f.u, &stats);
	CHECK_EQ(stats.tables, 2);
	fake_end(&f);
}

/* What no table can be built for gets an empty one, once. */
TEST(does_not_retry_a_damaged_file)
{
	static const char bytes[] = "\177ELF\2\1\1 and then nothing that makes sense";
	const char *path = "/tmp/test_unwinder-d";
	struct fake f;
	struct unwind_mapping m = { .start = 0x1000, .end = 0x2000 };
	struct unwinder_stats stats;
	const struct ebp_object *o;
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fake_begin(&f, 64u << 20);
	CHECK_EQ(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	CHECK_EQ(fstat(fd, &st), 0);
	m.image = images_get(f.images, getpid(),
			     &(struct image_key){ .path = path,
						  .inode = st.st_ino,
						  .dev_major = (uint32_t)(st.st_dev >> 8 & 0xfff),
						  .dev_minor = (uint32_t)(st.st_dev & 0xff) });
	close(fd);
	unlink(path);
	CHECK(images_at(f.images, m.image)->fd >= 0);
	for (int i = 1; i < 3; i++) {
		CHECK_EQ(unwinder_process(f.u, i, 0, &m, 1), 0);
		unwinder_want(f.u, m.image);
		CHECK_EQ(unwinder_wait(f.u, i == 1 ? FOREVER : 0), 1);
	}
	o = fake_object(&f, 2, 0x1000);
	CHECK(o && o->dir && !o->npages && !o->flags);
	unwinder_stats(f.u, &stats);
	CHECK_EQ(stats.built, 0);
	CHECK_EQ(stats.tables, 1);
	fake_end(&f);
}

TEST(knows_special_mappings)
{
	struct fake f;
	struct unwind_mapping list[5];
	const struct ebp_mapping *rows;
	uint32_t gone;

	fake_begin(&f, 64u << 20);
	gone = images_get(f.images, getpid(),
			  &(struct image_key){ .path = "/no/such/file", .inode = 1 });
	list[0] = (struct unwind_mapping){
		0x1000, 0x2000, 0,
		images_get(f.images, getpid(), &(struct image_key){ .path = "[uprobes]" }), 0
	};
	list[1] = (struct unwind_mapping){ 0x2000, 0x3000, 0x9000, gone, 0 };
	list[2] = (struct unwind_mapping){ 0x3000, 0x4000, 0x3000, IMAGE_NONE, 0 };
	list[3] = (struct unwind_mapping){
		0x4000, 0x5000, 0,
		images_get(f.images, getpid(), &(struct image_key){ .path = "[vsyscall]" }), 0
	};
	/* That which processes share, 0x1000 bytes from its beginning. */
	list[4] = (struct unwind_mapping){ 0x5000, 0x6000, 0x1000, IMAGE_NONE, 0 };
	CHECK_EQ(unwinder_process(f.u, 1, 0, list, 5), 0);
	rows = fake_rows(&f, 1);
	CHECK_EQ(f.spaces[1].nrows, 4);
	CHECK_EQ(rows[2].bias, 0);
	CHECK_EQ(rows[3].bias, 0x4000);
	CHECK(rows[0].object == EBP_OBJECT_UPROBES && rows[0].image == EBP_IMAGE_NONE);
	CHECK(rows[1].object == EBP_OBJECT_NONE && rows[1].image == gone);
	CHECK_EQ(0x2000 - rows[1].bias, 0x9000);
	CHECK(rows[2].object == EBP_OBJECT_NONE && rows[2].image == EBP_IMAGE_NONE &&
	      rows[2].end == 0x5000);
	CHECK_EQ(unwinder_wait(f.u, 0), 1);
	fake_end(&f);
}

TEST(publishes_changes_only)
{
	struct fake f;

	fake_begin(&f, 64u << 20);
	CHECK_EQ(unwinder_process(f.u, 1, 5, f.own.v, f.own.n), 0);
	CHECK_EQ(unwinder_process(f.u, 1, 5, f.own.v, f.own.n), 0);
	CHECK_EQ(f.publishes, 1);
	unwinder_set_rescue(f.u, 1, 1);
	unwinder_set_rescue(f.u, 1, 0);
	CHECK_EQ(f.spaces[1].flags, EBP_SPACE_NO_RESCUE);
	unwinder_set_rescue(f.u, 1, 0);
	unwinder_set_rescue(f.u, 2, 0);
	CHECK_EQ(f.publishes, 2);
	unwinder_set_rescue(f.u, 1, 1);
	CHECK_EQ(f.spaces[1].flags, 0);
	CHECK_EQ(f.publishes, 3);
	unwinder_set_rescue(f.u, 1, 0);
	CHECK_EQ(unwinder_process(f.u, 1, 5, f.own.v, f.own.n - 1), 0);
	CHECK_EQ(f.spaces[1].flags, 0);
	CHECK_EQ(unwinder_process(f.u, 1, 6, f.own.v, f.own.n - 1), 0);
	CHECK_EQ(f.publishes, 6);
	/* Nothing executable is left; and what the kernel does not take. */
	CHECK_EQ(unwinder_process(f.u, 1, 6, NULL, 0), 0);
	CHECK_EQ(f.spaces[1].nrows, 0);
	f.refuse = E2BIG;
	CHECK_EQ(unwinder_process(f.u, 1, 6, f.own.v, f.own.n), -E2BIG);
	CHECK_EQ(f.spaces[1].nrows, 0);
	/*
	 * A child of nobody that we know has what the kernel copied taken away; one that we know
	 * keeps it.
	 */
	f.spaces[3].nrows = 9;
	unwinder_fork(f.u, 3, 2, 0);
	CHECK_EQ(f.spaces[3].nrows, 0);
	CHECK_EQ(unwinder_process(f.u, 3, 6, f.own.v, f.own.n), 0);
	unwinder_fork(f.u, 3, 2, 0);
	CHECK(f.spaces[3].nrows > 0);
	fake_end(&f);
}

#define PIDS 12

/* What a process of the model has, and what readers of older rows may still look at. */
struct model {
	struct unwind_mapping list[8];
	size_t n;
};

struct old {
	uint32_t ref;
	struct ebp_mapping rows[8];
	uint32_t n;
	uint64_t until;
};

typedef VEC(struct old) old_vec;

static void note_old(const struct fake *f, pid_t pid, uint64_t until, old_vec *v)
{
	struct old o = { .ref = f->spaces[pid].rows, .n = f->spaces[pid].nrows, .until = until };

	if (!o.n)
		return;
	memcpy(o.rows, fake_rows(f, pid), o.n * sizeof(*o.rows));
	vec_push(v, o);
}

static void random_list(const struct fake *f, struct model *m)
{
	uint64_t at = 0x1000;

	m->n = 1 + (size_t)rand() % 8;
	for (size_t i = 0; i < m->n; i++, at += 0x3000)
		m->list[i] = (struct unwind_mapping){
			at, at + 0x1000 + 0x1000 * ((uint64_t)rand() % 2), 0x1000 * (i + 1),
			f->own.v[(size_t)rand() % f->own.n].image, 0
		};
}

static void check_model(const struct fake *f, const struct model *models)
{
	for (pid_t p = 0; p < PIDS; p++) {
		const struct model *m = &models[p];

		CHECK_EQ(f->spaces[p].nrows, m->n);
		for (size_t i = 0; i < m->n && f->spaces[p].nrows == m->n; i++) {
			const struct ebp_mapping *r = &fake_rows(f, p)[i];

			CHECK(r->start == m->list[i].start && r->end == m->list[i].end);
			if (m->list[i].image != IMAGE_NONE && r->image != EBP_IMAGE_NONE)
				CHECK(r->image == m->list[i].image &&
				      r->start - r->bias == m->list[i].offset);
		}
	}
}

/*
 * Forks, execs and exits at random against the model; no rows change before two epochs after they
 * were replaced.
 */
TEST(follows_processes)
{
	struct model models[PIDS] = { 0 };
	old_vec old = { 0 };
	struct unwinder_stats stats;
	uint64_t epoch = 0;
	struct fake f;

	srand(4);
	fake_begin(&f, EBP_SHARD_BYTES);
	for (int round = 0; round < 20000; round++) {
		pid_t p = rand() % PIDS, child = rand() % PIDS;
		size_t kept = 0;

		switch (rand() % 5) {
		case 0:
		case 1:
			note_old(&f, p, epoch + 2, &old);
			random_list(&f, &models[p]);
			CHECK_EQ(unwinder_process(f.u, p, 0, models[p].list, models[p].n), 0);
			break;
		case 2:
			if (child == p || !models[p].n)
				break;
			note_old(&f, child, epoch + 2, &old);
			unwinder_fork(f.u, child, p, 0);
			models[child] = models[p];
			break;
		case 3:
			note_old(&f, p, epoch + 2, &old);
			unwinder_exit(f.u, p);
			models[p].n = 0;
			break;
		case 4:
			unwinder_collect(f.u);
			unwinder_epoch(f.u);
			epoch++;
			break;
		}
		check_model(&f, models);
		for (size_t i = 0; i < old.n; i++) {
			struct old o = old.v[i];

			if (o.until <= epoch)
				continue;
			old.v[kept++] = o;
			if (memcmp(fake_at(&f, o.ref), o.rows, o.n * sizeof(*o.rows)))
				CHECK(!"rows have changed under a reader");
		}
		old.n = kept;
	}
	unwinder_stats(f.u, &stats);
	CHECK_EQ(stats.memory, EBP_SHARD_BYTES);
	CHECK_EQ(stats.refused, 0);
	vec_free(&old);
	fake_end(&f);
}

#define FILL_ROWS	250
#define FILL_BYTES	(FILL_ROWS * sizeof(struct ebp_mapping))

/*
 * Processes from @pid on, until there is no room for more: pieces of a file that is not there. The
 * first without room.
 */
static pid_t fill_up(struct fake *f, pid_t pid)
{
	struct unwind_mapping list[FILL_ROWS];
	uint32_t gone = images_get(f->images, getpid(),
				   &(struct image_key){ .path = "/no/such/file", .inode = 1 });
	int err = 0;

	for (uint64_t i = 0; i < FILL_ROWS; i++)
		list[i] = (struct unwind_mapping){ i << 13, (i << 13) + 4096, 0, gone, 0 };
	for (; pid < FAKE_PIDS; pid++) {
		err = unwinder_process(f->u, pid, 0, list, FILL_ROWS);
		if (err)
			break;
	}
	CHECK_EQ(err, -ENOSPC);
	CHECK_EQ(f->spaces[pid].nrows, 0);
	return pid;
}

static void pass_epochs(struct fake *f)
{
	for (int i = 0; i < 2; i++)
		unwinder_epoch(f->u);
}

#define TABLES 5

/*
 * Five tables of about one size, in the order in which they shall go: the first is asked for last,
 * but not mapped.
 */
TEST(evicts_what_is_least_asked_for)
{
	const struct ebp_object *objects[TABLES];
	struct unwind_mapping m = { .start = 0x1000, .end = 0x2000, .offset = 0x1000 };
	struct unwinder_stats stats = { 0 };
	uint32_t images[TABLES];
	char path[32];
	struct fake f;
	pid_t pid = 10;

	fake_begin(&f, 1);
	for (int i = TABLES - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), "/tmp/test_unwinder-e%d", i);
		m.image = images[i] = copy_image(&f, own_libc(&f), path, (size_t)i);
		CHECK_EQ(unwinder_process(f.u, 1 + i, 0, &m, 1), 0);
		CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
		objects[i] = fake_object(&f, 1 + i, 0x1000);
	}
	unwinder_exit(f.u, 1);
	for (int i = 1; i <= TABLES; i++)
		unwinder_want(f.u, images[i % TABLES]);
	for (int round = 0; round < 3 && stats.evicted < 2; round++) {
		pid = fill_up(&f, pid);
		unwinder_stats(f.u, &stats);
		for (unsigned i = 0; i < TABLES; i++)
			CHECK_EQ(objects[i]->dir != 0, i >= stats.evicted);
		/* What was the first one's may be another's from now on. */
		pass_epochs(&f);
	}
	CHECK(stats.evicted >= 2 && stats.evicted < TABLES);
	CHECK_EQ(stats.tables, TABLES - stats.evicted);
	/* The object stays while rows name it, so that they need not change. */
	CHECK(fake_object(&f, 2, 0x1000) == objects[1]);
	/* Room again, and what samples wait for comes back. */
	for (pid_t p = 10; p < pid; p++)
		unwinder_exit(f.u, p);
	pass_epochs(&f);
	unwinder_want(f.u, images[1]);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK(objects[1]->dir);
	fake_end(&f);
}

/* Two files that take turns in memory for one of them are built ever more rarely. */
TEST(does_not_thrash)
{
	struct unwind_mapping m = { .start = 0x1000, .end = 0x2000, .offset = 0x1000 };
	struct unwinder_stats stats;
	struct unwind_table t;
	struct elf_file *elf;
	uint32_t images[2];
	pid_t pid;
	size_t want;
	struct fake f;

	fake_begin(&f, 1);
	images[0] = copy_image(&f, own_libc(&f), "/tmp/test_unwinder-h", 0);
	images[1] = copy_image(&f, own_libc(&f), "/tmp/test_unwinder-i", 1);
	elf = elf_file_open(images_at(f.images, images[0])->fd);
	CHECK_EQ(unwind_table_build(elf, NULL, &t), 0);
	/* A sixteenth is kept for rows. */
	want = EBP_SHARD_BYTES / 16 + unwind_store_need(&t) * 5 / 4;
	unwind_table_free(&t);
	elf_file_free(elf);
	pid = fill_up(&f, 10);
	for (size_t freed = 0; freed < want; freed += FILL_BYTES)
		unwinder_exit(f.u, --pid);
	pass_epochs(&f);
	for (int i = 0; i < 2; i++) {
		m.image = images[i];
		CHECK_EQ(unwinder_process(f.u, 1 + i, 0, &m, 1), 0);
	}
	for (int round = 0; round < 400; round++) {
		unwinder_want(f.u, images[round % 2]);
		CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
		unwinder_epoch(f.u);
	}
	unwinder_stats(f.u, &stats);
	CHECK(stats.evicted > 4);
	CHECK(stats.built < 60);
	fake_end(&f);
}

int main(void)
{
	RUN(publishes_this_process);
	RUN(tells_when_a_table_is_built);
	RUN(shares_the_tables_of_one_file);
	RUN(keeps_tables_of_images_that_go);
	RUN(does_not_retry_a_damaged_file);
	RUN(knows_special_mappings);
	RUN(publishes_changes_only);
	RUN(follows_processes);
	RUN(evicts_what_is_least_asked_for);
	RUN(does_not_thrash);
	return TEST_END();
}
