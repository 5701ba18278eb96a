/* SPDX-License-Identifier: MIT */
/* A live profile of several types of values: which are shown, of which time, and in which units. */
#include "unit/test.h"

#include "profile/window.h"
#include "tui/actions.h"
#include "tui/heading.h"
#include "tui/paint.h"
#include "unit/stacks.h"

#define SECOND 1000000000ull

enum { OBJECTS, SPACE, INUSE, TIME };

/* One stack, with the values of a second of a program that keeps one of three blocks. */
static struct profile *growing(void)
{
	struct profile *p = profile_new();

	profile_set_type(p, OBJECTS, "alloc_objects", "count");
	profile_add_type(p, "alloc_space", "bytes");
	profile_add_type(p, "inuse_space", "bytes");
	profile_add_type(p, "lifetime", "nanoseconds");
	profile_show(p, SPACE);
	snprintf(profile_meta(p)->event, sizeof(profile_meta(p)->event), "alloc");
	profile_meta(p)->period = 512;
	stacks_add(p, stacks_thread(p, 7, 7, "x"), "app!main|app!f", 0);
	profile_sample(p, 0, 2, 0);
	return p;
}

static void second(struct window *w, struct profile *p, uint64_t now, uint64_t objects,
		   uint64_t space, uint64_t inuse, uint64_t time)
{
	const uint64_t values[] = { profile_values(p, OBJECTS)[0] + objects,
				    profile_values(p, SPACE)[0] + space, inuse,
				    profile_values(p, TIME)[0] + time };

	profile_drop(p, 0);
	for (uint32_t i = 0; i < 4; i++)
		profile_count(p, 0, i, values[i]);
	profile_account(p)->taken = values[OBJECTS];
	profile_meta(p)->duration = now * SECOND;
	window_update(w, p);
}

/*
 * Twelve seconds: each a block of 3 KiB more that is there, but for the last, which frees the most.
 */
static struct window *watched(struct profile *p)
{
	struct window *w = window_new(3 * SECOND);

	for (uint64_t i = 1; i < 12; i++)
		second(w, p, i, 3, 9 << 10, i * 3 << 10, i * 1000000);
	second(w, p, 12, 3, 9 << 10, 5 << 10, 12000000);
	return w;
}

static struct window_show show_of(struct window *w, int since_start, uint32_t type)
{
	return window_show(w, since_start, &(struct part_choice){ .type = type + 1 });
}

/* What it is called, and the sum of it. */
static void check(struct window *w, int since_start, uint32_t type, const char *name,
		  uint64_t total, uint64_t seconds, uint64_t taken)
{
	struct window_show s = show_of(w, since_start, type);
	struct profile_view v = profile_view(s.profile);

	CHECK_STR(profile_text(s.profile, v.types[0].name), name);
	CHECK_EQ(v.total, total);
	CHECK_EQ(s.span, seconds * SECOND);
	CHECK_EQ(s.taken, taken);
	CHECK_EQ(s.type, type);
	CHECK_EQ(s.ntypes, 4);
	profile_free(s.profile);
}

TEST(each_type_has_its_window)
{
	struct profile *p = growing();
	struct window *w = watched(p);

	check(w, 0, OBJECTS, "alloc_objects", 9, 3, 9);
	check(w, 0, SPACE, "alloc_space", 27 << 10, 3, 9);
	check(w, 0, TIME, "lifetime", 33000000, 3, 9);
	check(w, 1, SPACE, "alloc_space", 108 << 10, 12, 36);
	/* What is there is there now, whatever time is looked at. */
	check(w, 0, INUSE, "inuse_space", 5 << 10, 12, 36);
	check(w, 1, INUSE, "inuse_space", 5 << 10, 12, 36);
	window_free(w);
	profile_free(p);
}

static void check_heading(struct window *w, int since_start, uint32_t type, const char *target,
			  const char *expected)
{
	struct window_show s = show_of(w, since_start, type);
	char text[300];

	heading_text(text, sizeof(text), &s, target, since_start, 1);
	CHECK_STR(text, expected);
	profile_free(s.profile);
}

TEST(headings)
{
	struct profile *p = growing();
	struct window *w = watched(p);

	check_heading(w, 0, SPACE, "x",
		      "x, alloc every 512, alloc_space 27.0 KiB, last 3.0 s of 12.0: 9 samples, 0 "
		      "truncated, 0 lost");
	check_heading(w, 1, SPACE, "x",
		      "x, alloc every 512, alloc_space 108.0 KiB, since start, 12.0 s: 36 samples, "
		      "0 truncated, 0 lost");
	check_heading(w, 0, INUSE, "x",
		      "x, alloc every 512, inuse_space 5.0 KiB, now, after 12.0 s: 36 samples, 0 "
		      "truncated, 0 lost");
	check_heading(w, 0, OBJECTS, "x",
		      "x, alloc every 512, alloc_objects 9, last 3.0 s of 12.0: 9 samples, 0 "
		      "truncated, 0 lost");
	check_heading(w, 0, INUSE, NULL, "now, at 12 s, inuse_space 5.0 KiB: 36, trunc. 0, lost 0");
	check_heading(w, 0, TIME, NULL, "last 3 s, lifetime 33.000 ms: 9, trunc. 0, lost 0");
	strcpy(profile_meta(p)->event, "off-cpu");
	window_update(w, p);
	check_heading(w, 1, OBJECTS, "x",
		      "x, off-cpu every 512, alloc_objects 36, since start, 12.0 s: 36 intervals, "
		      "0 truncated, 0 lost");
	window_free(w);
	profile_free(p);
}

static const char *line(struct browser *b, int row)
{
	static char buf[1024];
	struct page page = { 0 };

	page_begin(&page, 20, 100);
	paint_page(b, &page);
	page_line(&page, row, buf, sizeof(buf));
	page_free(&page);
	return buf;
}

static void press(struct browser *b, struct window *w, char key)
{
	actions_press(b, &(struct press_event){ .key = (unsigned char)key });
	if (b->reload) {
		struct window_show s = window_show(w, b->since_start, &b->choice);

		b->reload = 0;
		browser_show(b, &s);
	}
}

/* A key for the next values, one for those before; all views show them in their units. */
TEST(keys_and_units)
{
	struct profile *p = growing();
	struct window *w = watched(p);
	struct window_show s = window_show(w, 0, &(struct part_choice){ 0 });
	struct browser b;

	browser_init(&b);
	b.target = "x";
	b.live = 1;
	browser_show(&b, &s);
	/* No line of bars: such samples do not say how busy CPUs are. */
	CHECK_STR(line(&b, 2), " SELF% TOTAL%      KIB IMAGE          PROCESS            FUNCTION");
	CHECK_STR(line(&b, 3), "100.00 100.00     27.0 app            x/7                f");
	press(&b, w, '2');
	CHECK_STR(line(&b, 2), "     %      KIB      PID COMM");
	CHECK_STR(line(&b, 3), "100.00     27.0        7 x");
	press(&b, w, 'v');
	CHECK_STR(line(&b, 3), "100.00      5.0        7 x");
	press(&b, w, 'v');
	CHECK_STR(line(&b, 2), "     %       MS      PID COMM");
	CHECK_STR(line(&b, 3), "100.00   33.000        7 x");
	press(&b, w, '3');
	CHECK_STR(line(&b, 2), "TOTAL%  SELF%       MS FUNCTION");
	CHECK_STR(line(&b, 3), "100.00   0.00   33.000 - x");
	press(&b, w, 'v');
	CHECK_STR(line(&b, 2), "TOTAL%  SELF%    COUNT FUNCTION");
	CHECK_STR(line(&b, 3), "100.00   0.00        9 - x");
	press(&b, w, 'V');
	press(&b, w, 'V');
	CHECK_STR(line(&b, 3), "100.00   0.00      5.0 - x");
	press(&b, w, '1');
	press(&b, w, '\r');
	CHECK_STR(line(&b, 2), " SELF% TOTAL%      KIB IMAGE          FUNCTION");
	CHECK_STR(line(&b, 4), "100.00 100.00      5.0 app            main");
	press(&b, w, '7');
	CHECK_STR(line(&b, 3), "100.00 100.00      5.0 app");
	press(&b, w, 'i');
	CHECK_STR(line(&b, 2), "inuse_space");
	CHECK_STR(line(&b, 3), "self 100.00% (5.0 KiB), total 100.00% (5.0 KiB)");
	browser_free(&b);
	window_free(w);
	profile_free(p);
}

TEST(no_other_values)
{
	struct profile *p = profile_new();
	struct browser b;
	struct window_show s;

	stacks_add(p, stacks_thread(p, 1, 1, "x"), "f", 1);
	s = (struct window_show){ .profile = part_new(p, NULL, &(struct part_choice){ 0 }),
				.ntypes = 1 };
	browser_init(&b);
	browser_show(&b, &s);
	actions_press(&b, &(struct press_event){ .key = 'v' });
	CHECK_STR(b.message, "there are no other values");
	CHECK_EQ(b.reload, 0);
	browser_free(&b);
	profile_free(p);
}

/* Bars are of samples at a rate, and of nothing else. */
TEST(bars_of_a_rate)
{
	struct profile *p = profile_new();
	struct window *w = window_new(3 * SECOND);
	struct window_step step;

	stacks_add(p, stacks_thread(p, 1, 1, "x"), "f", 50);
	profile_meta(p)->frequency = 100;
	profile_meta(p)->cpus = 1;
	profile_meta(p)->duration = SECOND;
	profile_account(p)->taken = 50;
	window_update(w, p);
	CHECK_EQ(window_steps(w, &step, 1), 1);
	CHECK_EQ((int)(100 * step.busy), 50);
	check_heading(w, 0, 0, "x",
		      "x,  100 Hz, last 1.0 s of 1.0: 50 samples, 0 truncated, 0 lost");
	profile_set_type(p, 0, "wall", "nanoseconds");
	window_update(w, p);
	window_steps(w, &step, 1);
	CHECK_EQ((int)(100 * step.busy), 0);
	window_free(w);
	profile_free(p);
}

static void check_units(const char *unit, uint64_t value, const char *name, const char *printed)
{
	struct profile *p = profile_new();
	struct units u;
	char buf[64];

	profile_set_type(p, 0, "values", unit);
	stacks_add(p, stacks_thread(p, 1, 1, "x"), "f", value);
	u = units_fitting(p, 8);
	CHECK_STR(u.name, name);
	CHECK_STR(units_print(&u, value, buf, sizeof(buf)), printed);
	/* Tables that are wide enough keep one unit. */
	u = units_of(p);
	CHECK_STR(u.name, !strcmp(unit, "bytes") ? "KIB" : !strcmp(unit, "count") ? "COUNT" : "MS");
	profile_free(p);
}

TEST(units_fit)
{
	check_units("count", 12345678901, "COUNT", "12345678901");
	check_units("nanoseconds", 9999999499, "MS", "9999.999");
	check_units("nanoseconds", 10000000000, "S", "10.000");
	check_units("nanoseconds", 99999 * SECOND, "S", "99999");
	check_units("microseconds", 9999999, "MS", "9999.999");
	check_units("microseconds", 10000000, "S", "10.000");
	check_units("bytes", 1023999900, "KIB", "999999.9");
	check_units("bytes", 1ull << 30, "MIB", "1024.0");
	check_units("bytes", 1ull << 40, "GIB", "1024.0");
}

int main(void)
{
	RUN(each_type_has_its_window);
	RUN(headings);
	RUN(keys_and_units);
	RUN(no_other_values);
	RUN(bars_of_a_rate);
	RUN(units_fit);
	return TEST_END();
}
