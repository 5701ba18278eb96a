/* SPDX-License-Identifier: MIT */
/* What the live view shows of a profile that grows: its last seconds, or all of it. */
#include "unit/test.h"

#include "profile/profile_fold.h"
#include "profile/window.h"
#include "unit/stacks.h"

static void tick(struct window *w, struct profile *p, uint64_t seconds)
{
	profile_meta(p)->duration = seconds * 1000000000;
	profile_account(p)->taken = profile_view(p).total;
	window_update(w, p);
}

static uint64_t shown_total(struct window *w, int since_start, double *span)
{
	struct window_show show = window_show(w, since_start, &(struct part_choice){ 0 });
	uint64_t total = profile_view(show.profile).total;

	*span = (double)show.span / 1e9;
	CHECK_EQ(show.taken, total);
	profile_free(show.profile);
	return total;
}

TEST(window_is_the_last_seconds)
{
	struct window *w = window_new(3000000000);
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x");
	double span;

	/* Each second one sample more than in the one before, and each of another stack. */
	for (uint64_t i = 1; i <= 20; i++) {
		char frames[16];

		snprintf(frames, sizeof(frames), "f%d", (int)i % 7);
		stacks_add(p, t, frames, i);
		tick(w, p, i);
	}
	CHECK_EQ(shown_total(w, 0, &span), 18 + 19 + 20);
	CHECK_EQ((int)span, 3);
	CHECK_EQ(shown_total(w, 1, &span), 210);
	CHECK_EQ((int)span, 20);
	window_free(w);
	profile_free(p);
}

/* Samples of all that is shown, or of the processes that ended. */
static uint64_t shown_ended(struct window *w, int since_start)
{
	struct window_show show = window_show(w, since_start, &(struct part_choice){ 0 });
	struct profile_view v = profile_view(show.profile);
	uint64_t sum = 0;

	for (size_t i = 0; i < v.nsamples; i++)
		sum += v.processes[v.threads[v.samples[i].thread].process].pid ? 0 : v.values[i];
	profile_free(show.profile);
	return sum;
}

/* All processes but the last @n have ended. */
static void fold_all_but(struct profile *p, size_t n)
{
	size_t all = profile_view(p).nprocesses;
	unsigned char *ended = xcalloc(all, 1);

	for (size_t i = 0; i + n < all; i++)
		ended[i] = profile_view(p).processes[i].pid != 0;
	profile_fold(p, ended, " (ended)");
	free(ended);
}

/*
 * A process each second, with a sample more than the one before: whether they are folded or not,
 * the sums are the same.
 */
TEST(window_is_the_same_after_a_fold)
{
	struct window *w = window_new(3000000000);
	struct profile *p = profile_new();
	double span;

	for (uint64_t i = 1; i <= 20; i++) {
		uint64_t all = i * (i + 1) / 2;

		/* Two samples each: what lies behind the first in the tables moves, too. */
		stacks_add(p, stacks_thread(p, (pid_t)i, (pid_t)i, "x"), "f", i - 1);
		profile_add(p, stacks_thread(p, (pid_t)i, (pid_t)i, "x"), 1, 1);
		tick(w, p, i);
		CHECK_EQ(shown_total(w, 0, &span), i < 3 ? all : 3 * i - 3);
		CHECK_EQ(shown_total(w, 1, &span), all);
		/* Now and then; once all of the window is among what ended. */
		if (i % 4 == 0)
			fold_all_but(p, i == 16 ? 0 : 3);
		if (i > 3 && i % 4 == 1 && i != 17) {
			CHECK_EQ(shown_ended(w, 0), 0);
			CHECK_EQ(shown_ended(w, 1), (i - 4) * (i - 3) / 2);
		}
		if (i == 17)
			CHECK_EQ(shown_ended(w, 0), 15 + 16);
	}
	CHECK(profile_view(p).nprocesses < 5);
	window_free(w);
	profile_free(p);
}

int main(void)
{
	RUN(window_is_the_last_seconds);
	RUN(window_is_the_same_after_a_fold);
	return TEST_END();
}
