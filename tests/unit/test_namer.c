/* SPDX-License-Identifier: MIT */
#include "session/namer.h"

#include <errno.h>
#include <time.h>

#include "elf_image.h"
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

		namer_ask(n, i, image, offset);
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
	struct namer *n = namer_new(&(struct symbolizer_options){ 0 });
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
	namer_ask(n, 0, &images[0], 0x1000);
	namer_finish(n, take, NULL);
	CHECK_EQ(seen.all, PLACES + 1);
	namer_finish(n, take, NULL);
	CHECK_EQ(seen.all, PLACES + 1);
	namer_free(n);
}

TEST(names_come_before_the_end)
{
	struct namer *n = namer_new(&(struct symbolizer_options){ 0 });
	const struct timespec moment = { .tv_nsec = 1000000 };

	memset(&seen, 0, sizeof(seen));
	ask(n, 0, PLACES);
	namer_take(n, take, NULL);
	CHECK_EQ(seen.all, 0);		/* they were not handed over */
	namer_go(n);
	for (int i = 0; i < 20000 && seen.all < PLACES; i++) {
		nanosleep(&moment, NULL);
		namer_take(n, take, NULL);
	}
	check_seen();
	namer_free(n);
}

static void take_one(void *ctx, const struct namer_answer *a)
{
	struct namer_answer *out = ctx;

	*out = *a;
}

TEST(why_there_is_no_name)
{
	struct image missing = { .id = 0,
				 .kind = IMAGE_FILE,
				 .path = "/gone",
				 .name = "gone",
				 .fd = -1,
				 .why = -ESTALE };
	struct namer *n = namer_new(&(struct symbolizer_options){ 0 });
	struct namer_answer a = { 0 };

	namer_ask(n, 9, &missing, 0x1000);
	namer_finish(n, take_one, &a);
	CHECK_EQ(a.id, 9);
	CHECK_EQ(a.n, -ESTALE);
	namer_free(n);
}

TEST(the_kernel_is_read_again)
{
	struct namer *n = namer_new(&(struct symbolizer_options){ 0 });
	struct namer_answer a = { .reread = 1 };

	namer_ask(n, 1, NULL, 0x1000);
	namer_finish(n, take_one, &a);
	CHECK_EQ(a.id, 1);
	CHECK(a.n < 0);
	CHECK_EQ(a.reread, 0);
	CHECK_EQ(namer_kernel_hidden(n), a.n == -EPERM);
	namer_reread_kernel(n);
	namer_ask(n, 2, NULL, 0x1000);
	namer_finish(n, take_one, &a);
	CHECK_EQ(a.id, 2);
	CHECK_EQ(a.reread, 1);
	namer_free(n);
}

TEST(it_can_be_freed_at_any_time)
{
	struct namer *n = namer_new(&(struct symbolizer_options){ 0 });

	namer_free(n);
	n = namer_new(&(struct symbolizer_options){ 0 });
	ask(n, 0, PLACES);
	namer_free(n);
	n = namer_new(&(struct symbolizer_options){ 0 });
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
		struct namer *n = namer_new(&o);

		for (uint32_t k = 0; k < 100000; k++)
			namer_ask(n, k, &self, 0x1000 + 8 * k);
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

int main(void)
{
	make_images();
	RUN(each_place_is_answered_once);
	RUN(names_come_before_the_end);
	RUN(why_there_is_no_name);
	RUN(the_kernel_is_read_again);
	RUN(it_can_be_freed_at_any_time);
	RUN(names_are_kept_while_some_are_to_come);
	for (int i = 0; i < FILES; i++)
		close(images[i].fd);
	return TEST_END();
}
