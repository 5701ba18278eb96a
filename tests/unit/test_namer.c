/* SPDX-License-Identifier: MIT */
#include "session/namer.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <time.h>

#include "base/caps.h"
#include "base/xalloc.h"
#include "elf_image.h"
#include "made_files.h"
#include "namer_asked.h"
#include "test.h"

#define FUNCTIONS	60
#define FILES		3
#define PLACES		(FILES * FUNCTIONS * 16)

static struct elf_image bytes;
static struct image images[FILES];

/* Files in which function N is at 0x1000 + 16 N, and its name tells both. */
static void make_images(void)
{
	static char paths[FILES][16];
	char name[64];

	for (uint32_t f = 0; f < FILES; f++) {
		elf_image_begin(&bytes);
		for (unsigned i = 0; i < FUNCTIONS; i++) {
			snprintf(name, sizeof(name), "file_%u_function_%u", f, i);
			elf_image_symbol(&bytes, 0, name, 0x401000 + 16 * i, 16, STT_FUNC,
					 STB_GLOBAL, IMAGE_TEXT);
		}
		elf_image_end(&bytes);
		snprintf(paths[f], sizeof(paths[f]), "/file%u", f);
		images[f] = (struct image){ .id = f,
					    .kind = IMAGE_FILE,
					    .path = paths[f],
					    .name = paths[f] + 1,
					    .fd = memory_file(bytes.bytes, bytes.size) };
	}
}

/* Place N, all over the files: every place of each function. */
static const struct image *place(uint32_t n, uint64_t *offset, char name[64])
{
	uint32_t mixed = n * 7919 % PLACES, f = mixed % FILES, at = mixed / FILES;

	*offset = 0x1000 + at;
	snprintf(name, 64, "file_%u_function_%u", f, at / 16);
	return &images[f];
}

static struct {
	int answers[PLACES], wrong, all;
} seen;

static struct namer *new_namer(int live)
{
	static const struct symbolizer_options usual = { 0 };

	return namer_of(&usual, QUIET, live);
}

static void ask_file(struct namer *n, uint32_t id, const struct image *image, uint64_t offset)
{
	namer_ask(n, id, &(struct namer_place){ .image = image, .address = offset });
}

static void take(void *ctx, const struct namer_answer *a)
{
	uint64_t offset;
	char name[64];

	(void)ctx;
	seen.all++;
	seen.answers[a->id]++;
	place(a->id, &offset, name);
	seen.wrong += a->n != 1 || strcmp(a->frames[0].name, name) != 0 || *a->module != '\0';
}

static void ask(struct namer *n, uint32_t from, uint32_t to)
{
	uint64_t offset;
	char name[64];

	for (uint32_t i = from; i < to; i++) {
		const struct image *image = place(i, &offset, name);

		ask_file(n, i, image, offset);
	}
}

static void check_seen(void)
{
	int once = 0;

	for (int i = 0; i < PLACES; i++)
		once += seen.answers[i] == 1;
	CHECK_EQ(once, PLACES);
	CHECK_EQ(seen.all, PLACES);
	CHECK_EQ(seen.wrong, 0);
}

TEST(each_place_is_answered_once)
{
	struct namer *n = new_namer(0);
	const uint32_t step = PLACES / 32;

	memset(&seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < PLACES; i += step) {
		ask(n, i, i + step);
		namer_go(n);
		namer_take(n, take, NULL);
	}
	namer_finish(n, take, NULL);
	check_seen();
	/* It can be asked on. */
	ask_file(n, 0, &images[0], 0x1000);
	namer_finish(n, take, NULL);
	CHECK_EQ(seen.all, PLACES + 1);
	namer_finish(n, take, NULL);
	CHECK_EQ(seen.all, PLACES + 1);
	namer_free(n);
}

/* What comes by itself. */
static void take_all(struct namer *n)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && seen.all < PLACES; i++) {
		nanosleep(&moment, NULL);
		namer_take(n, take, NULL);
	}
	check_seen();
}

TEST(names_come_before_the_end)
{
	struct namer *n = new_namer(0);

	memset(&seen, 0, sizeof(seen));
	ask(n, 0, PLACES);
	namer_take(n, take, NULL);
	CHECK_EQ(seen.all, 0);		/* they were not handed over */
	namer_go(n);
	take_all(n);
	namer_free(n);
}

/* Nothing is named while others wait for a CPU, until they do not any more, or sampling ends. */
TEST(names_wait_for_an_idle_cpu)
{
	const struct made_file busy = { "loadavg", "1.00 1.00 1.00 99999/99999 7" };
	const struct made_file idle = { "loadavg", "1.00 1.00 1.00 1/321 7" };
	const struct timespec a_while = { .tv_nsec = 100000000 };
	const struct symbolizer_options usual = { 0 };
	char dir[] = "/tmp/ebprof-namer-XXXXXX";

	CHECK(mkdtemp(dir) != NULL);
	for (int ends = 0; ends < 2; ends++) {
		struct namer *n;

		make_files(dir, &busy, 1);
		n = namer_of(&usual, dir, 0);
		memset(&seen, 0, sizeof(seen));
		ask(n, 0, PLACES);
		namer_go(n);
		nanosleep(&a_while, NULL);
		namer_take(n, take, NULL);
		CHECK_EQ(seen.all, 0);
		if (ends)
			namer_finish(n, take, NULL);
		else
			make_files(dir, &idle, 1);
		take_all(n);
		namer_free(n);
	}
	remove_files(dir);
}

/* Whoever closes a file has to have it forgotten before; names that were given stay. */
TEST(forgets_files)
{
	struct image image = images[0];
	unsigned char which[] = { 1, 1 };
	struct namer *n = new_namer(0);
	struct last last = { 0 };
	const char *name;

	ask_file(n, 0, &image, 0x1000);
	namer_finish(n, take_one, &last);
	name = last.frame.name;
	image.fd = -1;
	image.why = -ESTALE;
	ask_file(n, 1, &image, 0x1010);
	namer_finish(n, take_one, &last);
	CHECK_STR(last.frame.name, "file_0_function_1");
	while (!namer_forget(n, which, 2))
		continue;
	ask_file(n, 2, &image, 0x1020);
	namer_finish(n, take_one, &last);
	CHECK_EQ(last.all, 3);
	CHECK_EQ(last.answer.n, -ESTALE);
	CHECK_STR(name, "file_0_function_0");
	namer_free(n);
}

/* Until it is certain that nobody opens it any more. */
TEST(a_file_that_cannot_be_opened_is_asked_for_at_the_end)
{
	struct image missing = { .id = 0,
				 .kind = IMAGE_FILE,
				 .path = "/gone",
				 .name = "gone",
				 .fd = -1,
				 .why = -ESTALE };
	struct image late = missing;
	struct namer *n = new_namer(0);
	struct last last = { 0 };

	late.id = 1;
	ask_file(n, 9, &missing, 0x1000);
	ask_file(n, 8, &late, 0x1010);
	ask_file(n, 7, &images[2], 0x1000);
	CHECK(wait_for(n, &last, 1));
	CHECK_EQ(last.answer.id, 7);
	late.fd = images[1].fd;
	CHECK(wait_for(n, &last, 2));
	CHECK_EQ(last.answer.id, 8);
	CHECK_STR(last.frame.name, "file_1_function_1");
	namer_finish(n, take_one, &last);
	CHECK_EQ(last.all, 3);
	CHECK_EQ(last.answer.id, 9);
	CHECK_EQ(last.answer.n, -ESTALE);
	namer_free(n);
}

/* --- Code that is made at run time. ------------------------------------------------ */

/* Knows of as many functions, 16 bytes each from 0 on, as it was refreshed times. */
struct teller {
	struct symbol_source source;
	int refreshed;
	int policy;		/* of the thread, when it was refreshed last */
	/* refreshing takes until the thread has the usual priority, or this is 0 */
	int patient;
	int *freed;
};

static int teller_find(const struct symbol_source *s, uint64_t address, struct source_function *out)
{
	*out = (struct source_function){ .start = address & ~15ull, .token = address / 16 };
	return out->token < (uint64_t)((const struct teller *)s)->refreshed ? 0 : -ENOENT;
}

static int teller_name(const struct symbol_source *s, uint64_t token, char *dst, size_t size)
{
	(void)s;
	snprintf(dst, size, "made_%d", (int)token);
	return 0;
}

static int teller_refresh(struct symbol_source *s)
{
	struct teller *t = (struct teller *)s;

	do {
		t->policy = sched_getscheduler(0);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	} while (t->policy != SCHED_OTHER && t->patient);
	t->refreshed++;
	return 0;
}

static void teller_free(struct symbol_source *s)
{
	struct teller *t = (struct teller *)s;

	__atomic_add_fetch(t->freed, 1, __ATOMIC_SEQ_CST);
	free(t);
}

static const struct symbol_source_ops teller_ops = {
	.find = teller_find, .name = teller_name, .refresh = teller_refresh, .free = teller_free,
};

static struct symbol_source *new_teller(int *freed)
{
	struct teller *t = xcalloc(1, sizeof(*t));

	t->source.ops = &teller_ops;
	t->freed = freed;
	return &t->source;
}

static void ask_made(struct namer *n, uint32_t id, struct namer_runtime *r, uint64_t address)
{
	namer_ask(n, id, &(struct namer_place){ .runtime = r, .address = address });
}

/* All is read once, when all was told. */
TEST(made_code_is_named_at_the_end)
{
	struct namer *n = new_namer(0);
	struct namer_runtime *a = namer_runtime(n), *b = namer_runtime(n), *c = namer_runtime(n);
	struct last last = { 0 };
	int freed = 0;

	ask_made(n, 1, a, 0x8);
	ask_made(n, 2, b, 0x10);
	namer_go(n);
	namer_runtime_source(n, a, new_teller(&freed));
	namer_runtime_source(n, b, new_teller(&freed));
	ask_file(n, 3, &images[0], 0x1000);
	CHECK(wait_for(n, &last, 1));
	CHECK_EQ(last.answer.id, 3);
	ask_made(n, 4, c, 0x20);
	namer_finish(n, take_one, &last);
	CHECK_EQ(last.all, 4);
	CHECK_EQ(last.answer.id, 4);
	CHECK_EQ(last.answer.n, -ENODATA);
	ask_made(n, 5, b, 0x10);
	namer_finish(n, take_one, &last);
	CHECK_STR(last.frame.name, "made_1");
	CHECK_EQ(freed, 0);
	namer_free(n);
	CHECK_EQ(freed, 2);
}

/* Again and again, until it has a name. */
TEST(who_looks_sees_made_code_at_once)
{
	struct namer *n = new_namer(1);
	struct namer_runtime *r = namer_runtime(n);
	struct last last = { 0 };
	int freed = 0;

	ask_made(n, 1, r, 0x0);
	namer_go(n);
	namer_runtime_source(n, r, new_teller(&freed));
	CHECK(wait_for(n, &last, 1));
	CHECK_STR(last.frame.name, "made_0");
	ask_made(n, 2, r, 0x20);
	CHECK(wait_for(n, &last, 2));
	CHECK_STR(last.frame.name, "made_2");
	ask_made(n, 3, r, 0x1000);
	namer_finish(n, take_one, &last);
	CHECK_EQ(last.all, 3);
	CHECK_EQ(last.answer.n, -ENOENT);
	namer_free(n);
	CHECK_EQ(freed, 1);
}

TEST(what_ended_is_named_and_forgotten)
{
	struct namer *n = new_namer(0);
	struct namer_runtime *r = namer_runtime(n), *silent = namer_runtime(n);
	struct last last = { 0 };
	int freed = 0;

	namer_runtime_source(n, r, new_teller(&freed));
	ask_made(n, 1, r, 0x0);
	namer_go(n);
	namer_runtime_end(n, r);
	namer_runtime_end(n, silent);
	CHECK(wait_for(n, &last, 1));
	CHECK_STR(last.frame.name, "made_0");
	for (int i = 0; i < 20000 && !__atomic_load_n(&freed, __ATOMIC_SEQ_CST); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	CHECK_EQ(__atomic_load_n(&freed, __ATOMIC_SEQ_CST), 1);
	ask_made(n, 2, r, 0x0);
	CHECK(wait_for(n, &last, 2));
	CHECK_EQ(last.answer.n, -ENODATA);
	namer_free(n);
	CHECK_EQ(freed, 1);
}

TEST(it_can_be_freed_at_any_time)
{
	struct namer *n = new_namer(0);

	namer_free(n);
	n = new_namer(0);
	ask(n, 0, PLACES);
	namer_free(n);
	n = new_namer(0);
	ask(n, 0, PLACES);
	namer_go(n);
	namer_free(n);
	namer_free(NULL);
}

/*
 * The live view ends without waiting for names, and keeps those that it has: nobody may be adding
 * to them.
 */
TEST(names_are_kept_while_some_are_to_come)
{
	char dir[] = "/tmp/ebprof-namer-XXXXXX";
	const struct user user = { 0 };
	struct symbolizer_options o = { .worth_keeping = 0 };
	struct image self = { .kind = IMAGE_FILE, .path = "/self", .name = "self",
			      .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	const struct timespec moment = { .tv_nsec = 20000000 };
	char command[64];

	CHECK(self.fd >= 0 && mkdtemp(dir) && !setenv("XDG_CACHE_HOME", dir, 1));
	o.store = name_store_new(&user);
	for (int i = 0; i < 5; i++) {
		struct namer *n = namer_of(&o, QUIET, 0);

		for (uint32_t k = 0; k < 100000; k++)
			ask_file(n, k, &self, 0x1000 + 8 * k);
		namer_go(n);
		nanosleep(&moment, NULL);
		namer_save(n);
		namer_free(n);
	}
	name_store_free((struct name_store *)o.store);
	close(self.fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(!system(command));
}

/*
 * The policy at which place @id is named. It is handed over once, when there is no pause any more:
 * a second time might find that it has waited for too long.
 */
static int policy_of(struct namer *n, struct namer_runtime *r, const struct teller *t, uint32_t id)
{
	const struct timespec moment = { .tv_nsec = 1000000 }, pause = { .tv_nsec = 700000000 };
	struct last last = { 0 };

	ask_made(n, id, r, 0x0);
	nanosleep(&pause, NULL);
	namer_go(n);
	for (int i = 0; i < 60000 && !last.all; i++) {
		nanosleep(&moment, NULL);
		namer_take(n, take_one, &last);
	}
	return last.all ? t->policy : -1;
}

/* It takes no CPU that somebody else wants, but for names that were waited for too long. */
TEST(priority)
{
	const int low = caps_has(CAP_SYS_NICE) ? SCHED_IDLE : SCHED_OTHER;
	struct namer *n = new_namer(1);
	struct namer_runtime *r = namer_runtime(n);
	int freed = 0;
	struct teller *t = (struct teller *)new_teller(&freed);
	struct last last = { 0 };

	namer_runtime_source(n, r, &t->source);
	CHECK_EQ(policy_of(n, r, t, 1), low);
	t->patient = 1;
	ask_made(n, 1, r, 0x0);
	CHECK(wait_for(n, &last, 1));
	CHECK_EQ(t->policy, SCHED_OTHER);
	t->patient = 0;
	CHECK_EQ(policy_of(n, r, t, 1), low);
	ask_made(n, 2, r, 0x0);
	namer_finish(n, take_one, &last);
	CHECK_EQ(t->policy, SCHED_OTHER);
	namer_free(n);
}

int main(void)
{
	make_images();
	RUN(each_place_is_answered_once);
	RUN(names_come_before_the_end);
	RUN(names_wait_for_an_idle_cpu);
	RUN(forgets_files);
	RUN(a_file_that_cannot_be_opened_is_asked_for_at_the_end);
	RUN(made_code_is_named_at_the_end);
	RUN(who_looks_sees_made_code_at_once);
	RUN(what_ended_is_named_and_forgotten);
	RUN(priority);
	RUN(it_can_be_freed_at_any_time);
	RUN(names_are_kept_while_some_are_to_come);
	for (int i = 0; i < FILES; i++)
		close(images[i].fd);
	return TEST_END();
}
