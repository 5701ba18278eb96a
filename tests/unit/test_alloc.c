/* SPDX-License-Identifier: MIT */
#include "alloc/alloc.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "alloc/alloc_library.h"
#include "elf/elf_lookup.h"
#include "unit/test.h"

/* Stacks 0 and 2 are one site, 1 is another one. */
static uint32_t site_of(void *ctx, const struct ebp_key *key, uint64_t time)
{
	(void)ctx;
	(void)time;
	return (uint32_t)(key->user_id & 1) + 2 * key->tid;
}

struct sums {
	uint64_t of[2][ALLOC_TYPES];	/* by the site: its lowest bit */
	int sites;
};

static void take(void *ctx, uint32_t site, const uint64_t values[ALLOC_TYPES])
{
	struct sums *s = ctx;

	s->sites++;
	for (int i = 0; i < ALLOC_TYPES; i++)
		s->of[site & 1][i] += values[i];
}

static struct ebp_allocation block(uint32_t pid, uint32_t exec_id, uint64_t site, uint64_t id,
				   uint64_t size, uint64_t time)
{
	return (struct ebp_allocation){
		.time = time,
		.id = id,
		.size = size,
		.key = { .user_id = site,
			 .process = { .tgid = pid, .exec_id = exec_id, .start = 5 },
			 .tid = (uint32_t)time }
	};
}

static void allocate(struct alloc *a, uint32_t pid, uint64_t site, uint64_t id, uint64_t size,
		     uint64_t time)
{
	struct ebp_allocation b = block(pid, 0, site, id, size, time);

	alloc_block(a, &b);
}

static struct ebp_allocation_end end_of(uint32_t pid, uint64_t id, uint64_t time)
{
	return (struct ebp_allocation_end){ .time = time,
					    .id = id,
					    .process = { .tgid = pid, .start = 5 } };
}

static void release(struct alloc *a, uint32_t pid, uint64_t id, uint64_t time)
{
	struct ebp_allocation_end end = end_of(pid, id, time);

	alloc_freed(a, &end);
}

static int is(const uint64_t *got, const uint64_t want[ALLOC_TYPES])
{
	for (int i = 0; i < ALLOC_TYPES; i++)
		if (got[i] != want[i]) {
			printf("%s: got %llu, expected %llu\n", alloc_types[i].name,
			       (unsigned long long)got[i], (unsigned long long)want[i]);
			return 0;
		}
	return 1;
}

TEST(all_values)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .site = site_of });
	struct sums s = { 0 };

	allocate(a, 1, 0, 1, 100, 10);
	allocate(a, 1, 1, 2, 50, 20);
	release(a, 1, 1, 30);		/* 20 ns; 50 bytes are left */
	allocate(a, 1, 1, 3, 70, 40);
	allocate(a, 1, 1, 4, 10, 50);	/* 130 bytes below the first peak */
	allocate(a, 1, 2, 5, 30, 60);	/* t-gmax: 160 */
	release(a, 1, 3, 70);		/* 30 ns */
	release(a, 1, 99, 75);		/* never sampled */
	allocate(a, 1, 0, 6, 80, 80);	/* 170: the peak */
	release(a, 1, 6, 90);
	alloc_finish(a, 100, take, &s);
	CHECK_EQ(s.sites, 2);
	CHECK_EQ(alloc_peak(a), 80);
	CHECK(is(s.of[0], (const uint64_t[]){ 3, 210, 1, 30, 2, 110, 2, 110, 20 + 40 + 10 }));
	CHECK(is(s.of[1], (const uint64_t[]){ 3, 130, 2, 60, 2, 60, 3, 130, 80 + 30 + 50 }));
	alloc_free(a);
}

TEST(a_site_that_changes_before_and_after_the_peak)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .site = site_of });
	struct sums s = { 0 };

	allocate(a, 1, 0, 1, 10, 1);
	allocate(a, 1, 1, 2, 10, 2);	/* the peak */
	release(a, 1, 1, 3);
	allocate(a, 1, 0, 3, 5, 4);
	release(a, 1, 2, 5);
	alloc_finish(a, 6, take, &s);
	CHECK_EQ(s.of[0][PEAK_SPACE], 10);
	CHECK_EQ(s.of[1][PEAK_SPACE], 10);
	alloc_free(a);
}

/* Equal ids and addresses in two processes; memory ends with its process, or with its program. */
TEST(processes)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .site = site_of });
	struct ebp_allocation_end gone = end_of(1, 0, 50);
	struct ebp_allocation next = block(2, 1, 1, 1, 7, 60);
	struct sums s = { 0 };

	allocate(a, 1, 0, 1, 100, 10);
	allocate(a, 2, 1, 1, 100, 10);
	release(a, 2, 1, 20);
	allocate(a, 2, 1, 2, 30, 20);
	alloc_gone(a, &gone);
	alloc_gone(a, &gone);
	alloc_block(a, &next);		/* by another program in process 2 */
	alloc_finish(a, 100, take, &s);
	CHECK_EQ(s.of[0][INUSE_SPACE], 100);
	CHECK_EQ(s.of[0][LIFETIME], 40);
	CHECK_EQ(s.of[1][INUSE_SPACE], 37);
	CHECK_EQ(s.of[1][LIFETIME], 10 + 40 + 40);
	CHECK_EQ(s.of[0][PEAK_SPACE] + s.of[1][PEAK_SPACE], 200);
	alloc_free(a);
}

TEST(young_blocks_are_no_leaks)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .min_age = 50, .site = site_of });
	struct sums s = { 0 };

	allocate(a, 1, 0, 1, 100, 10);
	allocate(a, 1, 0, 2, 1, 60);
	alloc_finish(a, 100, take, &s);
	CHECK_EQ(s.of[0][INUSE_SPACE], 100);
	CHECK_EQ(s.of[0][ALLOC_SPACE], 101);
	alloc_free(a);
}

/* A block that stands for three, and from then on no ends. */
TEST(a_part_of_the_time)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .site = site_of });
	struct sums s = { 0 };

	allocate(a, 1, 0, 1, 100, 10);
	alloc_scale(a, 3);
	allocate(a, 1, 0, 2, 10, 20);
	allocate(a, 1, 1, 3, 7, 30);
	release(a, 1, 3, 40);
	alloc_endless(a);
	allocate(a, 1, 0, 4, 1, 50);
	alloc_finish(a, 60, take, &s);
	CHECK_EQ(s.of[0][ALLOC_OBJECTS], 7);
	CHECK_EQ(s.of[0][ALLOC_SPACE], 133);
	CHECK_EQ(s.of[0][INUSE_SPACE], 130);
	CHECK_EQ(s.of[1][ALLOC_OBJECTS], 3);
	CHECK_EQ(s.of[1][INUSE_OBJECTS], 0);
	CHECK_EQ(s.of[1][LIFETIME], 30);
	alloc_free(a);
}

TEST(weights)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .interval = 1000, .site = site_of });
	struct sums s = { 0 };

	for (uint64_t i = 0; i < 1000; i++)
		allocate(a, 1, 0, i + 1, 100, i);
	allocate(a, 1, 1, 2000, 1 << 20, 5000);
	allocate(a, 1, 1, 2001, 0, 5000);
	alloc_finish(a, 6000, take, &s);
	/* 1 / (1 - exp(-0.1)) = 10.508 */
	CHECK(llabs((long long)s.of[0][ALLOC_OBJECTS] - 10508) <= 1);
	CHECK(llabs((long long)s.of[0][ALLOC_SPACE] - 1050833) <= 2);
	/* A large one stands for itself; one of no bytes for as many as one of a byte. */
	CHECK_EQ(s.of[1][ALLOC_SPACE], 1 << 20);
	CHECK(llabs((long long)s.of[1][ALLOC_OBJECTS] - 1001) <= 1);
	alloc_free(a);
}

TEST(threads)
{
	struct alloc *together = alloc_new(&(struct alloc_options){ .site = site_of });
	struct alloc *apart = alloc_new(
		&(struct alloc_options){ .per_thread = 1, .site = site_of });
	struct sums s = { 0 }, t = { 0 };

	for (uint64_t i = 1; i < 4; i++) {
		allocate(together, 1, 0, i, 1, i);	/* of thread i */
		allocate(apart, 1, 0, i, 1, i);
	}
	alloc_finish(together, 9, take, &s);
	alloc_finish(apart, 9, take, &t);
	CHECK_EQ(s.sites, 1);
	CHECK_EQ(t.sites, 3);
	alloc_free(together);
	alloc_free(apart);
}

/* The same id twice is not two blocks. */
TEST(nonsense)
{
	struct alloc *a = alloc_new(&(struct alloc_options){ .site = site_of });
	struct sums s = { 0 };

	allocate(a, 1, 0, 1, 10, 1);
	allocate(a, 1, 0, 1, 10, 1);
	release(a, 1, 1, 0);		/* before it began */
	release(a, 1, 1, 5);
	release(a, 2, 1, 5);
	allocate(a, 1, 1, 2, UINT64_MAX, 1);
	alloc_finish(a, 9, take, &s);
	CHECK_EQ(alloc_untracked(a), 1);
	CHECK_EQ(s.of[0][INUSE_SPACE], 0);
	CHECK_EQ(s.of[0][LIFETIME], 0);
	CHECK_EQ(s.of[1][ALLOC_SPACE], UINT64_MAX);
	alloc_free(a);
}

#if defined(__x86_64__)
/* The library that is preloaded, as it was built with this test. */
static int open_library(void)
{
	char path[4096 + 32];
	ssize_t n = readlink("/proc/self/exe", path, 4096);

	path[n > 0 ? n : 0] = '\0';
	if (strrchr(path, '/'))
		strcpy(strrchr(path, '/'), "/../../" ALLOC_LIBRARY_NAME);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* What it has at a place. */
static void code_at(int fd, uint64_t offset, unsigned char code[10])
{
	CHECK_EQ(pread(fd, code, 10, (off_t)offset), 10);
}

/* The probes go where a call costs least, and on the very nops that kernels look for. */
TEST(the_cheaper_nop)
{
	static const unsigned char nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 },
				   nop10[] = { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	struct elf_function f[] = { { .name = "ebprof_block" }, { .name = "ebprof_free" } };
	static const struct alloc_price traps = { .trap = { 2000, 2000 } },
					five = { .trap = { 500, 2000 } },
					ten = { .trap = { 2000, 500 } };
	const struct alloc_price *const prices[] = { &traps, &five, &ten };
	int fd = open_library();
	struct elf_file *elf = elf_file_open(fd);

	CHECK_EQ(elf_lookup(elf, f, 2), 0);
	elf_file_free(elf);
	for (size_t i = 0; i < 3; i++) {
		struct alloc_library l = { .block = f[0].offset, .end = f[1].offset };
		const unsigned char *nop = i == 2 ? nop10 : nop5;
		unsigned char code[2][10];

		alloc_library_choose_nop(&l, prices[i]);
		code_at(fd, l.block, code[0]);
		code_at(fd, l.end, code[1]);
		for (int k = 0; k < 2; k++)
			CHECK_EQ(memcmp(code[k], nop, i == 2 ? sizeof(nop10) : sizeof(nop5)), 0);
	}
	close(fd);
}
#endif

int main(void)
{
#if defined(__x86_64__)
	RUN(the_cheaper_nop);
#endif
	RUN(all_values);
	RUN(a_site_that_changes_before_and_after_the_peak);
	RUN(processes);
	RUN(young_blocks_are_no_leaks);
	RUN(a_part_of_the_time);
	RUN(weights);
	RUN(threads);
	RUN(nonsense);
	return TEST_END();
}
