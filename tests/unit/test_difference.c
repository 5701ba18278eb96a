/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "output/output.h"
#include "profile/diff.h"
#include "unit/stacks.h"

struct difference {
	struct diff *diff;
	int all;
	struct output_options options;
};

static void write_it(void *ctx, struct outfile *f)
{
	struct difference *x = ctx;

	x->options.diff = x->diff;
	x->options.all = x->all;
	output_find(&output_differences, "table")
		->write(diff_profile(x->diff), &x->options, f);
}

#define CHECK_DIFFERENCE(x, expected) do { \
	char *text_ = stacks_written(write_it, x); \
	CHECK_STR(text_, expected); \
	free(text_); \
} while (0)

static struct profile *make(uint64_t parse, uint64_t hash, uint64_t print, uint64_t log,
			    uint64_t cache, int bytes)
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
static struct diff *compare(enum diff_normalize normalize, size_t n, struct profile *const *before,
			    struct profile *const *after)
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
	struct profile *before = make(400, 300, 200, 100, 0, 0),
		       *after = make(800, 800, 390, 0, 10, 0);
	struct difference x = { .diff = compare(DIFF_SAMPLES, 1, &before, &after) };

	CHECK_DIFFERENCE(&x,
			 "Self: the function itself, % of the samples\n"
			 " BEFORE%   AFTER%   CHANGE      95% INTERVAL  RELATIVE  IMAGE  FUNCTION\n"
			 "   30.00    40.00   +10.00   +6.39 .. +13.51    +33.3%  demo   hash\n"
			 "   10.00     0.00   -10.00   -12.02 .. -8.28      gone  demo   log\n"
			 "    0.00     0.50    +0.50    +0.05 .. +0.92       new  demo   cache\n"
			 "3 of 5 functions changed; of the others the largest change, -0.50, is "
			 "within chance\n"
			 "\n"
			 "Total: the function and what it calls, % of the samples\n"
			 " BEFORE%   AFTER%   CHANGE      95% INTERVAL  RELATIVE  IMAGE  FUNCTION\n"
			 "   70.00    80.00   +10.00   +6.70 .. +13.37    +14.3%  demo   parse\n"
			 "   30.00    40.00   +10.00   +6.39 .. +13.51    +33.3%  demo   hash\n"
			 "   10.00     0.00   -10.00   -12.02 .. -8.28      gone  demo   log\n"
			 "    0.00     0.50    +0.50    +0.05 .. +0.92       new  demo   cache\n"
			 "4 of 7 functions changed; of the others the largest change, -0.50, is "
			 "within chance\n");
	diff_free(x.diff);
}

/* Red is slower, green faster, grey nothing. */
TEST(the_rest_is_shown_on_demand)
{
	struct profile *before = make(400, 300, 0, 100, 0, 0), *after = make(400, 300, 0, 0, 0, 0);
	struct difference x = { .diff = compare(DIFF_NONE, 1, &before, &after),
				.all = 1,
				.options.color = 1 };

	CHECK_DIFFERENCE(&x,
			 "Self: the function itself, % of the samples before\n"
			 " \033[1mBEFORE%\033[0m   \033[1mAFTER%\033[0m   \033[1mCHANGE\033[0m     "
			 " \033[1m95% INTERVAL\033[0m"
			 "  \033[1mRELATIVE\033[0m  \033[1mIMAGE\033[0m  \033[1mFUNCTION\033[0m\n"
			 "   12.50     0.00   -12.50  -15.20 .. -10.23      gone  "
			 "\033[32mdemo\033[0m   \033[32mlog\033[0m\n"
			 "   50.00    50.00    +0.00    -6.95 .. +6.95     +0.0%  "
			 "\033[2mdemo\033[0m   \033[2mparse\033[0m\n"
			 "   37.50    37.50    +0.00    -6.02 .. +6.02     +0.0%  "
			 "\033[2mdemo\033[0m   \033[2mhash\033[0m\n"
			 "1 of 3 functions changed; of the others the largest change, +0.00, is "
			 "within chance\n"
			 "\n"
			 "Total: the function and what it calls, % of the samples before\n"
			 " \033[1mBEFORE%\033[0m   \033[1mAFTER%\033[0m   \033[1mCHANGE\033[0m     "
			 " \033[1m95% INTERVAL\033[0m"
			 "  \033[1mRELATIVE\033[0m  \033[1mIMAGE\033[0m  \033[1mFUNCTION\033[0m\n"
			 "  100.00    87.50   -12.50   -22.01 .. -3.01    -12.5%  "
			 "\033[32mdemo\033[0m   \033[32mmain\033[0m\n"
			 "   12.50     0.00   -12.50  -15.20 .. -10.23      gone  "
			 "\033[32mdemo\033[0m   \033[32mlog\033[0m\n"
			 "   87.50    87.50    +0.00    -9.18 .. +9.18     +0.0%  "
			 "\033[2mdemo\033[0m   \033[2mparse\033[0m\n"
			 "   37.50    37.50    +0.00    -6.02 .. +6.02     +0.0%  "
			 "\033[2mdemo\033[0m   \033[2mhash\033[0m\n"
			 "2 of 4 functions changed; of the others the largest change, +0.00, is "
			 "within chance\n");
	diff_free(x.diff);
}

/* Of bytes a single pair tells nothing of chance; three of each do. */
TEST(what_is_not_counted_needs_several_files)
{
	struct profile *before[] = { make(500, 500, 0, 0, 0, 1), make(510, 490, 0, 0, 0, 1),
				     make(490, 510, 0, 0, 0, 1) };
	struct profile *after[] = { make(300, 700, 0, 0, 0, 1), make(310, 690, 0, 0, 0, 1),
				    make(290, 710, 0, 0, 0, 1) };
	struct profile *one = make(500, 500, 0, 0, 0, 1), *other = make(300, 700, 0, 0, 0, 1);
	struct difference x = { .diff = compare(DIFF_SAMPLES, 1, &one, &other) };

	CHECK_DIFFERENCE(&x,
		"Self: the function itself, % of bytes\n"
		"0 of 2 functions changed; of the others the largest change, +20.00, "
		"may be chance: that takes several files of each\n"
		"\n"
		"Total: the function and what it calls, % of bytes\n"
		"0 of 3 functions changed; of the others the largest change, +20.00, "
		"may be chance: that takes several files of each\n");
	diff_free(x.diff);
	/*
	 * Their standard deviation is 1 %, of the difference's error sqrt(2 / 3), and t of 4
	 * degrees is 2.776.
	 */
	x.diff = compare(DIFF_SAMPLES, 3, before, after);
	CHECK_DIFFERENCE(&x,
			 "Self: the function itself, % of bytes\n"
			 " BEFORE%   AFTER%   CHANGE      95% INTERVAL  RELATIVE  IMAGE  FUNCTION\n"
			 "   50.00    70.00   +20.00  +17.73 .. +22.27    +40.0%  demo   hash\n"
			 "   50.00    30.00   -20.00  -22.27 .. -17.73    -40.0%  demo   parse\n"
			 "2 of 2 functions changed\n"
			 "\n"
			 "Total: the function and what it calls, % of bytes\n"
			 " BEFORE%   AFTER%   CHANGE      95% INTERVAL  RELATIVE  IMAGE  FUNCTION\n"
			 "   50.00    70.00   +20.00  +17.73 .. +22.27    +40.0%  demo   hash\n"
			 "1 of 3 functions changed; of the others the largest change, +0.00, is "
			 "within chance\n");
	diff_free(x.diff);
}

/* As difffolded.pl -n writes it: what was before scaled to as many samples as there are after. */
TEST(folded_stacks_have_two_counts)
{
	struct profile *before = make(400, 300, 200, 100, 0, 0),
		       *after = make(800, 800, 390, 0, 10, 0);
	struct diff *d = compare(DIFF_SAMPLES, 1, &before, &after);
	struct output_options o = { .difference = 1, .weight = diff_weight(d) };

	CHECK_OUTPUT(diff_profile(d), "folded", &o,
		     "x;main;cache 0 10\nx;main;log 200 0\nx;main;parse 800 800\nx;main;parse;hash "
		     "600 800\n"
		     "x;main;print;vfs_write 400 390\n");
	o.weight = 0.001;
	CHECK_OUTPUT(diff_profile(d), "folded", &o,
		     "x;main;cache 0 10\nx;main;parse 0 800\nx;main;parse;hash 0 "
		     "800\nx;main;print;vfs_write 0 390\n");
	o.weight = 1e300;
	free(stacks_output(diff_profile(d), "folded", &o));
	diff_free(d);
}

int main(void)
{
	RUN(tables_tell_what_changed);
	RUN(the_rest_is_shown_on_demand);
	RUN(what_is_not_counted_needs_several_files);
	RUN(folded_stacks_have_two_counts);
	return TEST_END();
}
