/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/outfile.h"
#include "proc/launch.h"
#include "stat/counters.h"
#include "stat/show.h"

#define PAGES 500
#define NEAR(a, b) (fabs((a) - (b)) < 1e-9)

/* --- Several that share a counter. ---------------------------------------------------- */

TEST(scaled_to_the_whole_time)
{
	struct sums s = { 0 };
	struct counted c;

	sums_add(&s, 300, 1000, 250);
	c = sums_end(&s, 1);
	CHECK(NEAR(c.value, 1200) && NEAR(c.share, 0.25));
	/* Each by its own share: 1200, and 100 of one that counted all the time. */
	sums_add(&s, 100, 1000, 1000);
	c = sums_end(&s, 1);
	CHECK(NEAR(c.value, 1300) && NEAR(c.share, 1250.0 / 2000));
	c = sums_end(&s, 0.5);
	CHECK(NEAR(c.value, 650));
}

TEST(one_that_never_counted_is_like_the_others)
{
	struct sums s = { 0 };
	struct counted c;

	sums_add(&s, 300, 1000, 500);
	sums_add(&s, 0, 500, 0);
	c = sums_end(&s, 1);
	CHECK(NEAR(c.value, 900) && NEAR(c.share, 500.0 / 1500));
	/* What never ran has nothing to say. */
	sums_add(&s, 0, 0, 0);
	CHECK(NEAR(sums_end(&s, 1).value, 900));
}

TEST(nothing_counted)
{
	struct sums s = { 0 };
	struct counted c = sums_end(&s, 1);

	CHECK(NEAR(c.value, 0) && NEAR(c.share, 0));
	sums_add(&s, 0, 1000, 0);
	c = sums_end(&s, 1);
	CHECK(NEAR(c.value, 0) && NEAR(c.share, 0));
}

static char *table_of(double share)
{
	double value = 1200;
	const struct measure m = { .name = "branch-misses", .unit = SERIES_COUNT,
				   .sides[0] = { .v = { &value, 1, 1 }, .share = share } };
	const struct stat_result r = { .measures = &m, .n = 1, .titles = { "prog" }, .runs = 1 };
	struct outfile_bytes bytes = { 0 };
	struct outfile *f = outfile_memory(&bytes);

	stat_show_table(f, &r);
	outfile_write(f, "", 1);
	CHECK_EQ(outfile_commit(f, NULL), 0);
	return bytes.v;
}

TEST(the_table_says_the_share)
{
	char *scaled = table_of(0.251), *whole = table_of(1);

	CHECK(strstr(scaled, "1,200  (scaled: counted for 25 % of the time)\n"));
	CHECK(strstr(whole, "1,200\n"));
	free(scaled);
	free(whole);
}

/* --- Groups: events that every machine has. ------------------------------------------- */

static struct event named(const char *name)
{
	struct event ev = { 0 };

	CHECK_EQ(event_parse(name, NULL, &ev, NULL), 0);
	return ev;
}

static void touch_pages(void)
{
	size_t size = (size_t)PAGES * (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	if (p == MAP_FAILED)
		return;
	/* A huge page would be one fault. */
	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE))
		((volatile char *)p)[i] = 1;
	munmap(p, size);
}

TEST(a_group_counts_and_is_read_together)
{
	struct event events[] = { named("task-clock"), named("page-faults"), named("minor-faults"),
				  named("page-faults") };
	struct counters *c = counters_new(events, 4);
	struct error e = { 0 };

	counters_group(c, 1, 2);
	if (counters_of_process(c, getpid(), &e)) {
		printf("skipped: %s\n", e.text);
		counters_free(c);
		return;
	}
	touch_pages();
	counters_look(c);
	CHECK(NEAR(counters_read(c, 1).value, 0));
	counters_start(c);
	touch_pages();
	counters_look(c);
	/* Of one moment, while they count on. */
	CHECK(counters_read(c, 1).value >= PAGES);
	CHECK(NEAR(counters_read(c, 1).value, counters_read(c, 2).value));
	CHECK(NEAR(counters_read(c, 1).share, 1) && counters_read(c, 0).value > 0);
	counters_stop(c);
	touch_pages();
	counters_look(c);
	CHECK(counters_read(c, 3).value >= PAGES);
	CHECK(counters_read(c, 2).value >= PAGES && counters_read(c, 2).value < 2 * PAGES);
	counters_free(c);
}

/* From its exec on, with what it starts. */
TEST(a_group_counts_a_command)
{
	char *argv[] = { "sh", "-c", "/bin/true; /bin/true; exit 3", NULL };
	/* Not minor-faults: a page of a file may have to be read. */
	struct event events[] = { named("page-faults"), named("page-faults"),
				  named("page-faults") };
	struct launch child = { .go = -1, .words = -1 };
	struct counters *c = counters_new(events, 3);
	int status;

	counters_group(c, 0, 2);
	CHECK_EQ(launch_prepare(&child, argv, NULL, NULL), 0);
	if (!counters_of_command(c, child.pid, NULL)) {
		CHECK_EQ(launch_go(&child, *argv, NULL), 0);
		CHECK(waitpid(child.pid, &status, 0) == child.pid && launch_status(status) == 3);
		counters_look(c);
		CHECK(counters_read(c, 0).value > 100);
		CHECK(NEAR(counters_read(c, 0).value, counters_read(c, 1).value));
		CHECK(NEAR(counters_read(c, 0).value, counters_read(c, 2).value));
	} else {
		launch_cancel(&child);
	}
	counters_free(c);
}

/* A leader that there is not takes the others with it; the rest counts. */
TEST(a_group_without_its_leader)
{
	struct event events[] = { named("page-faults"), { .name = "none", .type = 0x7fffffff },
				  named("page-faults") };
	struct counters *c = counters_new(events, 3);

	counters_group(c, 1, 2);
	if (!counters_of_process(c, getpid(), NULL)) {
		CHECK(!counters_absent(c, 0) && counters_absent(c, 1) && counters_absent(c, 2));
		counters_start(c);
		touch_pages();
		counters_look(c);
		CHECK(counters_read(c, 0).value >= PAGES && NEAR(counters_read(c, 2).share, 0));
	}
	counters_free(c);
}

int main(void)
{
	RUN(scaled_to_the_whole_time);
	RUN(one_that_never_counted_is_like_the_others);
	RUN(nothing_counted);
	RUN(the_table_says_the_share);
	RUN(a_group_counts_and_is_read_together);
	RUN(a_group_counts_a_command);
	RUN(a_group_without_its_leader);
	return TEST_END();
}
