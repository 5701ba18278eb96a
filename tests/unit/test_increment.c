/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "profile/increment.h"
#include "profile/profile_fold.h"

static uint32_t location(struct profile *p, uint64_t address)
{
	return profile_location(p, 0, FRAME_USER, address);
}

static void name(struct profile *p, uint32_t location, const char *text, enum frame_kind kind)
{
	const struct line l = { .function = profile_function(p, profile_string(p, text), 0, kind) };

	profile_name_location(p, location, &l, 1, "");
}

/* @n samples at @address, by the thread of the process @pid alone. */
static void add(struct profile *p, pid_t pid, uint64_t address, uint64_t n)
{
	uint32_t process = profile_process(p, pid, (uint32_t)pid, profile_string(p, "x"));
	uint32_t thread = profile_thread(p, process, 0, profile_string(p, "x"));

	profile_add(p, thread, profile_node(p, 0, location(p, address)), n);
}

static uint64_t taken(struct increment *i, struct profile *p)
{
	increment_take(i, p);
	return increment_total(i);
}

/* A profile that takes the place of another begins with nothing. */
TEST(another_profile_takes_its_place)
{
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *next = profile_new();
	unsigned char ran[2] = { 0 };

	add(p, 1, 0x10, 3);
	CHECK_EQ(taken(i, p), 3);
	increment_clear(i);
	CHECK(increment_has_all(i, p));
	add(p, 1, 0x10, 1);
	CHECK(!increment_has_all(i, p));
	increment_renew(i);
	add(next, 1, 0x10, 2);
	add(next, 2, 0x20, 0);
	CHECK_EQ(taken(i, next), 2);
	increment_processes(i, next, ran);
	CHECK(ran[0] && !ran[1]);
	increment_free(i);
	profile_free(p);
	profile_free(next);
}

TEST(windows_are_what_came_between)
{
	static const uint32_t groups[] = { 1, 2 };
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *part;

	profile_meta(p)->start = 1000;
	profile_meta(p)->duration = 10;
	add(p, 1, 0x10, 3);
	add(p, 2, 0x20, 4);
	CHECK_EQ(taken(i, p), 7);
	increment_clear(i);
	profile_meta(p)->duration = 25;
	add(p, 1, 0x10, 5);
	add(p, 1, 0x30, 1);
	CHECK_EQ(taken(i, p), 6);
	/* What comes while it waits for names is the next one's. */
	add(p, 1, 0x10, 2);
	part = increment_part(i, p, &(struct increment_choice){ .groups = groups, .group = 1 });
	CHECK_EQ(profile_view(part).total, 6);
	CHECK_EQ(profile_view(part).nsamples, 2);
	CHECK_EQ(profile_meta(part)->start, 1010);
	CHECK_EQ(profile_meta(part)->duration, 15);
	CHECK_EQ(profile_account(part)->taken, 6);
	CHECK_EQ(profile_account(part)->kept, 6);
	profile_free(part);
	CHECK(!increment_part(i, p, &(struct increment_choice){ .groups = groups, .group = 2 }));
	increment_clear(i);
	CHECK_EQ(taken(i, p), 2);
	increment_free(i);
	profile_free(p);
}

TEST(a_fold_changes_no_window)
{
	static const unsigned char ended[] = { 1, 0, 1 };
	struct increment *i = increment_new();
	struct profile *p = profile_new();

	add(p, 1, 0x10, 3);
	add(p, 2, 0x20, 4);
	add(p, 3, 0x10, 5);
	CHECK_EQ(taken(i, p), 12);
	increment_clear(i);
	profile_fold(p, ended, NULL, " (ended)");
	CHECK_EQ(taken(i, p), 0);
	increment_clear(i);
	add(p, 2, 0x20, 1);
	add(p, 4, 0x10, 2);
	CHECK_EQ(taken(i, p), 3);
	increment_free(i);
	profile_free(p);
}

TEST(names_are_waited_for)
{
	struct increment *i = increment_new();
	struct profile *p = profile_new();

	add(p, 1, 0x10, 3);
	increment_take(i, p);
	CHECK(!increment_is_named(i, p));
	/* Of what came later nobody asks. */
	add(p, 1, 0x20, 3);
	name(p, location(p, 0x10), "f", FRAME_USER);
	CHECK(increment_is_named(i, p));
	increment_free(i);
	profile_free(p);
}

TEST(what_has_no_name_in_time_gets_its_address)
{
	static const uint32_t groups[] = { 1 };
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *part;
	uint32_t file = profile_module(p, "libx.so", "/lib/libx.so", "");
	uint32_t made = profile_module(p, PROFILE_MADE, "", "");
	uint32_t thread, at[3];
	struct profile_view v;

	add(p, 1, 0x10, 1);
	thread = profile_view(p).samples[0].thread;
	at[0] = profile_location(p, file, FRAME_USER, 0x1234);
	at[1] = profile_location(p, made, FRAME_JIT, 0x7f00);
	at[2] = profile_location(p, file, FRAME_USER, 0x20);
	name(p, at[2], "known", FRAME_USER);
	for (size_t k = 0; k < 3; k++)
		profile_add(p, thread, profile_node(p, 0, at[k]), 1);
	increment_take(i, p);
	part = increment_part(i, p, &(struct increment_choice){ .groups = groups, .group = 1 });
	v = profile_view(part);
	CHECK_EQ(v.nlocations, 4);
	for (size_t k = 0; k < v.nlocations; k++)
		CHECK_EQ(v.locations[k].nlines, 1);
	CHECK_STR(profile_text(part, v.functions[v.lines[v.locations[1].first_line].function].name),
		  "[libx.so+0x1234]");
	CHECK_STR(profile_text(part, v.functions[v.lines[v.locations[2].first_line].function].name),
		  "[unknown]");
	CHECK_STR(profile_text(part, v.functions[v.lines[v.locations[3].first_line].function].name),
		  "known");
	profile_free(part);
	increment_free(i);
	profile_free(p);
}

TEST(truncated_stacks_keep_their_reason)
{
	static const uint32_t groups[] = { 1 };
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *part;
	uint32_t mark = profile_location(p, 0, FRAME_MARK, 1), outer, thread;

	name(p, mark, "[truncated: no CFI]", FRAME_MARK);
	add(p, 1, 0x10, 3);
	name(p, location(p, 0x10), "f", FRAME_USER);
	thread = profile_view(p).samples[0].thread;
	outer = profile_node(p, 0, mark);
	profile_add(p, thread, profile_node(p, outer, location(p, 0x10)), 4);
	profile_add(p, thread, outer, 1);
	increment_take(i, p);
	part = increment_part(i, p, &(struct increment_choice){ .groups = groups, .group = 1 });
	CHECK_EQ(profile_account(part)->ntruncated, 1);
	CHECK_STR(profile_account(part)->truncated[0].name, "no CFI");
	CHECK_EQ(profile_account(part)->truncated[0].count, 5);
	CHECK_EQ(profile_account(part)->kept, 8);
	profile_free(part);
	increment_free(i);
	profile_free(p);
}

/* At any time those so far add up to what there is; what comes meanwhile is the next one's. */
TEST(so_far_is_the_sum_of_the_parts)
{
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *part, *all;
	uint64_t sum = 0;

	for (uint64_t k = 1; k <= 3; k++) {
		profile_meta(p)->duration = 10 * k;
		add(p, 1, 0x10, k);
		add(p, 2, 0x10 * k, 1);
		increment_take(i, p);
		add(p, 1, 0x10, 5);
		part = increment_part(i, p, &(struct increment_choice){ 0 });
		all = increment_so_far(i, p, &(struct increment_choice){ 0 });
		sum += profile_view(part).total;
		CHECK_EQ(profile_view(all).total, sum);
		CHECK_EQ(profile_view(all).total + 5, profile_view(p).total);
		CHECK_EQ(profile_meta(all)->duration, 10 * k);
		profile_free(part);
		profile_free(all);
		increment_clear(i);
	}
	increment_take(i, p);
	increment_clear(i);
	increment_take(i, p);
	CHECK(!increment_part(i, p, &(struct increment_choice){ 0 }));
	profile_free(p);
	increment_free(i);
}

/* As where waits are counted and timed, beside samples. */
TEST(each_type_has_its_own)
{
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *part;
	uint32_t waits = profile_add_type(p, "waits", "count");
	uint32_t time = profile_add_type(p, "off-cpu", "nanoseconds");

	snprintf(profile_meta(p)->event, sizeof(profile_meta(p)->event), "cpu-clock");
	profile_meta(p)->frequency = 19;
	add(p, 1, 0x10, 3);
	add(p, 1, 0x20, 0);
	profile_count(p, profile_sample(p, 0, profile_node(p, 0, location(p, 0x20)), 0), waits, 2);
	profile_count(p, 1, time, 500);
	CHECK_EQ(taken(i, p), 505);
	/* Without a choice the type that is shown, */
	part = increment_part(i, p, &(struct increment_choice){ 0 });
	CHECK_EQ(profile_view(part).total, 3);
	CHECK_EQ(profile_view(part).ntypes, 1);
	CHECK_EQ(profile_meta(part)->frequency, 19);
	profile_free(part);
	/* else both of the waits, which have no rate; how many there were is their number. */
	part = increment_part(i, p, &(struct increment_choice){ .type = waits, .ntypes = 2 });
	CHECK_EQ(profile_view(part).total, 500);
	CHECK_EQ(profile_view(part).types[0].total, 2);
	CHECK_EQ(profile_view(part).nsamples, 1);
	CHECK_EQ(profile_account(part)->kept, 2);
	CHECK_STR(profile_text(part, profile_view(part).types[1].name), "off-cpu");
	CHECK_STR(profile_meta(part)->event, "off-cpu");
	CHECK_EQ(profile_meta(part)->frequency, 0);
	profile_free(part);
	increment_clear(i);
	/* What has more of one type alone is new, too. */
	CHECK(increment_has_all(i, p));
	profile_count(p, 1, time, 7);
	CHECK(!increment_has_all(i, p));
	CHECK_EQ(taken(i, p), 7);
	CHECK(!increment_part(i, p, &(struct increment_choice){ 0 }));
	profile_free(p);
	increment_free(i);
}

/* What there is becomes less, and is there where nothing came; a type may end. */
TEST(levels_are_what_there_is)
{
	const struct increment_choice all = { .ntypes = 2 };
	struct increment *i = increment_new();
	struct profile *p = profile_new(), *part;

	profile_set_type(p, 0, "alloc_space", "bytes");
	profile_add_type(p, "inuse_space", "bytes");
	add(p, 1, 0x10, 300);
	add(p, 1, 0x20, 50);
	profile_set(p, 0, 1, 200);
	CHECK_EQ(taken(i, p), 350 + 200);
	increment_clear(i);
	add(p, 1, 0x20, 7);
	profile_set(p, 0, 1, 120);
	CHECK_EQ(taken(i, p), 7 + 120);
	part = increment_part(i, p, &all);
	CHECK_EQ(profile_view(part).nsamples, 2);
	CHECK_EQ(profile_view(part).types[0].total, 7);
	CHECK_EQ(profile_view(part).types[1].total, 120);
	/* Bytes are no number of samples. */
	CHECK_EQ(profile_account(part)->kept, 1);
	profile_free(part);
	increment_clear(i);
	profile_keep_types(p, 1);
	add(p, 1, 0x20, 9);
	CHECK_EQ(taken(i, p), 9);
	increment_free(i);
	profile_free(p);
}

int main(void)
{
	RUN(another_profile_takes_its_place);
	RUN(windows_are_what_came_between);
	RUN(a_fold_changes_no_window);
	RUN(names_are_waited_for);
	RUN(what_has_no_name_in_time_gets_its_address);
	RUN(truncated_stacks_keep_their_reason);
	RUN(so_far_is_the_sum_of_the_parts);
	RUN(each_type_has_its_own);
	RUN(levels_are_what_there_is);
	return TEST_END();
}
