/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "output/difference.h"
#include "unit/stacks.h"

struct difference {
	struct diff *diff;
	int all;
	struct output_options options;
};

static void write_it(void *ctx, struct outfile *f)
{
	const struct difference *x = ctx;

	difference_write(x->diff, x->all, &x->options, f);
}

#define CHECK_DIFFERENCE(x, expected) do { \
	char *text_ = stacks_written(write_it, x); \
	CHECK_STR(text_, expected); \
	free(text_); \
} while (0)

static struct profile *make(uint64_t parse, uint64_t hash, uint64_t print, uint64_t log, uint64_t cache, int bytes)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x");

	if (bytes)
		profile_set_type(p, 0, "space", "bytes");
	stacks_add(p, t, "demo!main|demo!parse", parse);
	stacks_add(p, t, "demo!main|demo!parse|demo!hash", hash);
	stacks_add(p, t, "demo!main|demo!print|[kernel]!vfs_write", print);
	stacks_add(p, t, "demo!main|demo!log", log);
	stacks_add(p, t, "demo!main|demo!cache", cache);
	return p;
}

/* Compares each of @before with each of @after, @n of both. */
static struct diff *compare(enum diff_normalize normalize, size_t n, struct profile *const *before, struct profile *const *after)
{
	struct diff *d = diff_new(normalize, (const size_t[]){ n, n });

	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(diff_add(d, DIFF_BEFORE, before[i], NULL), 0);
		CHECK_EQ(diff_add(d, DIFF_AFTER, after[i], NULL), 0);
		profile_free(before[i]);
		profile_free(after[i]);
	}
	diff_compare(d);
	return d;
}

TEST(tables_tell_what_changed)
{
	struct profile *before = make(400, 300, 200, 100, 0, 0), *after = make(800, 800, 390, 0, 10, 0);
	struct difference x = { .diff = compare(DIFF_SAMPLES, 1, &before, &after) };

	CHECK_DIFFERENCE(&x,
		"Self: the function itself, % of the samples\n"
		" BEFORE%  AFTER%   CHANGE      95% INTERVAL  RELATIVE  IMAGE  FUNCTION\n"
		"   30.00   40.00   +10.00   +6.38 .. +13.52    +33.3%  demo   hash\n"
		"   10.00    0.00   -10.00   -12.02 .. -8.28      gone  demo   log\n"
		"    0.00    0.50    +0.50    +0.04 .. +0.92       new  demo   cache\n"
		"3 of 5 functions changed; of the others the largest change, -0.50, is within chance\n"
		"\n"
		"Total: the function and what it calls, % of the samples\n");
	x.all = 1;
	x.options.color = 1;
	CHECK_DIFFERENCE(&x, "");
	diff_free(x.diff);
}

int main(void)
{
	RUN(tables_tell_what_changed);
	return TEST_END();
}
