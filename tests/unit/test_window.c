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
	profile_fold(p, ended, NULL, " (ended)");
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

/* The next profile of a session: it knows what was taken, and processes that run. */
static struct profile *renewed(struct profile *old)
{
	struct profile *next = profile_new();

	stacks_thread(next, 1, 1, "server");
	*profile_account(next) = *profile_account(old);
	profile_free(old);
	return next;
}

/* Samples of the process of this number and name. */
static uint64_t of_process(const struct profile *p, pid_t pid, const char *comm)
{
	struct profile_view v = profile_view(p);
	uint64_t sum = 0;

	for (size_t i = 0; i < v.nsamples; i++) {
		const struct process *x = &v.processes[v.threads[v.samples[i].thread].process];

		if (x->pid == pid && !strcmp(profile_text(p, x->comm), comm))
			sum += v.values[i];
	}
	return sum;
}

/*
 * Each second a server has a sample, a new process two, all at other addresses than before. The
 * sums are the same, whether the profile is renewed or not, but of what came before the last window
 * only functions are known, and who ended by name.
 */
TEST(window_is_the_same_after_a_renewal)
{
	struct window *w = window_new(3000000000);
	struct profile *p = profile_new();
	struct window_show show;
	unsigned renewals = 0;
	double span;

	for (uint64_t i = 1; i <= 40; i++) {
		stacks_add(p, stacks_thread(p, 1, 1, "server"), "main|[kernel]!read", 1);
		stacks_add(p, stacks_thread(p, 100 + (pid_t)i, 100 + (pid_t)i, "x"), "main|f", 2);
		profile_account(p)->taken = 3 * i;
		profile_meta(p)->duration = i * 1000000000;
		CHECK(window_update(w, p));
		if (i % 2 == 0 && window_renew(w)) {
			renewals++;
			p = renewed(p);
		}
		CHECK_EQ(shown_total(w, 0, &span), i < 3 ? 3 * i : 9);
		CHECK_EQ((int)span, i < 3 ? (int)i : 3);
		CHECK_EQ(shown_total(w, 1, &span), 3 * i);
	}
	/* Not where the last one is still in the window. */
	CHECK_EQ(renewals, 10);
	show = window_show(w, 1, &(struct part_choice){ 0 });
	CHECK_EQ(of_process(show.profile, 1, "server"), 40);
	/* The last renewals were after 34 s and 38 s; 35 s and 39 s were updates since. */
	CHECK_EQ(of_process(show.profile, 0, "x" PROFILE_ENDED), 2 * 34);
	/*
	 * Three functions, and the places of four seconds, two for each stack; those of the last
	 * two are the first of them again (unit/stacks.h).
	 */
	CHECK_EQ(profile_view(show.profile).nlocations, 3 + 4 * 4);
	profile_free(show.profile);
	window_free(w);
	profile_free(p);
}

int main(void)
{
	RUN(window_is_the_same_after_a_renewal);
	RUN(window_is_the_last_seconds);
	RUN(window_is_the_same_after_a_fold);
	return TEST_END();
}
