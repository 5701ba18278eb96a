/* SPDX-License-Identifier: MIT */
/* The live view's models without a terminal: profiles and keys in, pages out. */
#include "unit/test.h"

#include "profile/copy.h"
#include "profile/merge.h"
#include "profile/profile_fold.h"
#include "profile/window.h"
#include "tui/actions.h"
#include "tui/flame.h"
#include "tui/paint.h"
#include "unit/stacks.h"

static struct profile *tree(void)
{
	struct profile *p = profile_new();
	uint32_t one = stacks_thread(p, 10, 10, "one"), two = stacks_thread(p, 20, 21, "two");

	stacks_add(p, one, "app!main|app!a", 60);
	stacks_add(p, one, "app!main|app!b|[kernel]!read", 30);
	stacks_add(p, two, "app!main|app!b", 10);
	return p;
}

/* A browser that shows all of @p; @across: a label whose values are beside one another, or NULL. */
static void open_across(struct browser *b, const struct profile *p, const char *across)
{
	const struct window_show show = { .profile = part_new(p, profile_view(p).values,
							      &(struct part_choice){ 0 }) };

	browser_init(b);
	b->target = "x";
	b->across_key = across;
	browser_show(b, &show);
}

static void open_browser(struct browser *b, const struct profile *p)
{
	open_across(b, p, NULL);
}

static void press(struct browser *b, const char *keys)
{
	for (; *keys; keys++)
		actions_press(b, &(struct press_event){ .key = (unsigned char)*keys });
}

/* A line of the page; the text is good until the next call. */
static const char *line(struct browser *b, int columns, int rows, int row)
{
	static char buf[1024];
	struct page page = { 0 };

	page_begin(&page, rows, columns);
	paint_page(b, &page);
	page_line(&page, row, buf, sizeof(buf));
	page_free(&page);
	return buf;
}

TEST(functions_as_cells)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	CHECK_STR(line(&b, 100, 10, 0), "x: samples, 100 count");
	CHECK_STR(line(&b, 100, 10, 2),
		  " SELF% TOTAL%  SAMPLES IMAGE          PROCESS            FUNCTION");
	CHECK_STR(line(&b, 100, 10, 3),
		  " 60.00  60.00       60 app            one/10             a");
	CHECK_STR(line(&b, 100, 10, 4),
		  " 30.00  30.00       30 [kernel]       one/10             read");
	CHECK_STR(line(&b, 100, 10, 5),
		  " 10.00  40.00       10 app            two/20             b");
	CHECK_STR(line(&b, 100, 10, 6),
		  "  0.00 100.00        0 app            -                  main");
	/* Columns that there is no room for are left out. */
	CHECK_STR(line(&b, 40, 10, 3), " 60.00  60.00 a");
	browser_free(&b);
	profile_free(p);
}

TEST(what_ended_has_no_pid)
{
	struct profile *p = tree();
	struct browser b;

	profile_fold(p, (const unsigned char[]){ 0, 1 }, NULL, " (ended)");
	open_browser(&b, p);
	CHECK_STR(line(&b, 100, 10, 3),
		  " 60.00  60.00       60 app            one/10             a");
	CHECK_STR(line(&b, 100, 10, 5),
		  " 10.00  40.00       10 app            two (ended)        b");
	press(&b, "2");
	CHECK_STR(line(&b, 100, 10, 4), " 10.00       10        0 two (ended)");
	browser_free(&b);
	profile_free(p);
}

TEST(sorts_by_columns)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, ">");
	CHECK_STR(browser_selected(&b)->name, "main");
	press(&b, ">>>>");
	CHECK_STR(browser_selected(&b)->name, "a");
	press(&b, "r");
	CHECK_STR(browser_selected(&b)->name, "read");
	press(&b, "<<<<<<<r");
	CHECK_STR(browser_selected(&b)->name, "a");
	browser_free(&b);
	profile_free(p);
}

TEST(two_functions_compared)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, "=");
	CHECK_STR(line(&b, 100, 12, 11), "mark two functions with m first");
	press(&b, "m");
	CHECK_STR(line(&b, 100, 12, 3),
		  " 60.00  60.00       60 app            one/10            Aa");
	press(&b, "jjm");
	CHECK_STR(line(&b, 100, 12, 5),
		  " 10.00  40.00       10 app            two/20            Bb");
	press(&b, "=");
	CHECK_STR(line(&b, 100, 20, 2), "    A%     B% IMAGE          FUNCTION");
	CHECK_STR(line(&b, 100, 20, 3), " 60.00   0.00 app           Aa");
	CHECK_STR(line(&b, 100, 20, 4), "  0.00  40.00 app           Bb");
	CHECK_STR(line(&b, 100, 20, 6), " 60.00  10.00 -              by itself");
	CHECK_STR(line(&b, 100, 20, 7), " 60.00  40.00 -              with what it calls");
	CHECK_STR(line(&b, 100, 20, 8), "  0.00   0.00 -              with both on the stack");
	CHECK_STR(line(&b, 100, 20, 10), " 60.00  40.00 app            main");
	CHECK_STR(line(&b, 100, 20, 12), "  0.00  30.00 [kernel]       read");
	/* A third one takes B's place; what is marked again is not any more. */
	press(&b, "1Gm=");
	CHECK_STR(line(&b, 100, 20, 8), " 60.00  60.00 -              with both on the stack");
	press(&b, "1gm=");
	CHECK(!b.marks[0].name && b.marks[1].name && b.view == VIEW_FUNCTIONS);
	browser_free(&b);
	profile_free(p);
}

/* Columns of more values than the profile has are passed over. */
TEST(values_of_a_label_beside_one_another)
{
	struct profile *p = profile_new(), *run = tree(), *other = profile_new();
	struct browser b;

	stacks_add(other, stacks_thread(other, 1, 1, "x"), "app!main|app!a", 1);
	stacks_add(other, stacks_thread(other, 1, 1, "x"), "app!main|app!new", 3);
	profile_merge_labelled(p, run, "file", "old.pb.gz");
	profile_merge_labelled(p, other, "file", "new.pb.gz");
	open_across(&b, p, "file");
	CHECK_STR(line(&b, 60, 10, 2), "         old          new IMAGE          FUNCTION");
	CHECK_STR(line(&b, 60, 10, 3), "       60.00        25.00 app            a");
	press(&b, ">");
	CHECK_STR(line(&b, 60, 10, 3), "        0.00        75.00 app            new");
	press(&b, ">");
	CHECK_STR(line(&b, 60, 10, 3), "       30.00         0.00 [kernel]       read");
	press(&b, "<");
	CHECK_STR(line(&b, 60, 10, 3), "        0.00        75.00 app            new");
	press(&b, "7");
	CHECK_STR(line(&b, 60, 10, 2), "         old          new IMAGE");
	browser_free(&b);
	profile_free(p);
	profile_free(run);
	profile_free(other);
}

TEST(moves_and_stays)
{
	struct profile *p = tree();
	struct browser b;
	struct window_show show;

	open_browser(&b, p);
	press(&b, "jjjjjjjj");
	CHECK_STR(browser_selected(&b)->name, "main");
	press(&b, "kk");
	CHECK_STR(browser_selected(&b)->name, "read");
	press(&b, "gG");
	CHECK_STR(browser_selected(&b)->name, "main");
	press(&b, "k");
	/* What was selected stays so where others overtake it. */
	stacks_add(p, stacks_thread(p, 10, 10, "one"), "app!main|app!c", 50);
	show = (struct window_show){ .profile = part_new(p, profile_view(p).values,
							 &(struct part_choice){ 0 }) };
	browser_show(&b, &show);
	CHECK_STR(browser_selected(&b)->name, "b");
	CHECK_EQ(b.listed.n, 5);
	browser_free(&b);
	profile_free(p);
}

TEST(searches_and_filters)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, "/MAI");
	CHECK_STR(line(&b, 100, 10, 9), "/MAI");
	press(&b, "\r");
	CHECK_STR(browser_selected(&b)->name, "main");
	press(&b, "f^[ab]$\r");
	CHECK_EQ(b.listed.n, 2);
	press(&b, "f\x15(\r");
	CHECK_STR(b.message, "this is not a regular expression");
	CHECK_EQ(b.listed.n, 2);
	press(&b, "\x1b");
	CHECK_EQ(b.listed.n, 4);
	/* What is typed has an end, and characters are taken back whole. */
	press(&b, "/a");
	actions_press(&b, &(struct press_event){ .key = 0x4e2d });
	CHECK_STR(b.typed, "a\xe4\xb8\xad");
	actions_press(&b, &(struct press_event){ .key = PRESS_BACKSPACE });
	CHECK_STR(b.typed, "a");
	for (int i = 0; i < 1000; i++)
		press(&b, "x");
	CHECK_EQ(strlen(b.typed), BROWSER_TEXT_MAX - 1);
	browser_free(&b);
	profile_free(p);
}

TEST(tree_opens_and_closes)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, "3");
	/* At first it is open along its hottest path. */
	CHECK_EQ(b.listed.n, 5);
	CHECK_STR(line(&b, 100, 10, 3), " 90.00   0.00       90 - one");
	CHECK_STR(line(&b, 100, 10, 4), " 90.00   0.00       90   - main");
	CHECK_STR(line(&b, 100, 10, 5), " 60.00  60.00       60       a");
	press(&b, "h");
	CHECK_EQ(b.listed.n, 2);
	CHECK_STR(line(&b, 100, 10, 3), " 90.00   0.00       90 + one");
	/* What the user closed stays closed. */
	press(&b, "13");
	CHECK_EQ(b.listed.n, 2);
	press(&b, "l");
	CHECK_STR(line(&b, 100, 10, 3), " 90.00   0.00       90 - one");
	press(&b, "hH");
	CHECK_STR(browser_selected(&b)->name, "a");
	CHECK_STR(line(&b, 100, 10, 5), " 60.00  60.00       60       a");
	press(&b, "h");
	CHECK_STR(browser_selected(&b)->name, "main");
	/* The filter keeps the way to what fits. */
	press(&b, "fread\r");
	CHECK_EQ(b.listed.n, 4);
	CHECK_STR(b.rows.v[b.listed.v[3]].name, "read");
	browser_free(&b);
	profile_free(p);
}

TEST(callers_of_the_selected)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, "/^b$\r\r");
	CHECK_STR(line(&b, 100, 14, 3), "callers:");
	CHECK_STR(line(&b, 100, 14, 4), " 40.00  40.00       40 app            main");
	CHECK_STR(line(&b, 100, 14, 6), " 10.00  40.00       40 app            b");
	CHECK_STR(line(&b, 100, 14, 8), " 30.00  30.00       30 [kernel]       read");
	press(&b, "L");
	CHECK_EQ(b.rows.v[0].heading, 1);
	browser_free(&b);
	profile_free(p);
}

/* Where no function was chosen yet, the busiest is. */
TEST(callers_of_the_first)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, "24");
	CHECK_STR(line(&b, 100, 14, 6), " 60.00  60.00       60 app            a");
	press(&b, "1j5");
	CHECK_STR(b.focus_name, "a");
	browser_free(&b);
	profile_free(p);
}

/* The same of its lines: the first of the page, by its column and filter. */
TEST(lines_of_the_first)
{
	struct profile *p = profile_new();
	uint32_t thread = stacks_thread(p, 10, 10, "one"), module = profile_string(p, "app");
	const struct {
		const char *name;
		uint32_t line;
		uint64_t n;
	} all[] = { { "a", 7, 20 }, { "a", 9, 40 }, { "b", 3, 30 } };
	struct browser b;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		uint32_t location = profile_location(p, profile_module(p, "app", "", ""),
						     FRAME_USER, i);
		const struct line at = { profile_function(p, profile_string(p, all[i].name),
							  module, FRAME_USER),
					 profile_string(p, "app.c"), all[i].line };

		profile_name_location(p, location, &at, 1, "");
		profile_add(p, thread, profile_node(p, 0, location), all[i].n);
	}
	open_browser(&b, p);
	press(&b, "5");
	CHECK_STR(b.focus_name, "a");
	CHECK_EQ(b.listed.n, 2);
	CHECK_EQ(b.rows.v[b.listed.v[0]].line, 9);
	CHECK_EQ(b.rows.v[b.listed.v[1]].line, 7);
	/* From a view of other things, too. */
	browser_free(&b);
	open_browser(&b, p);
	press(&b, "\\^b$\r25");
	CHECK_STR(b.focus_name, "b");
	CHECK_EQ(b.listed.n, 1);
	CHECK_EQ(b.rows.v[b.listed.v[0]].line, 3);
	browser_free(&b);
	profile_free(p);
}

/*
 * Each process below the one that started it, with what its children took; rings and lost parents
 * stay at the left.
 */
TEST(process_tree)
{
	struct profile *p = profile_new();
	const struct {
		pid_t pid, parent;
		const char *name;
		uint64_t n;
	} all[] = {
		{ 10, 1, "make", 10 },	{ 11, 10, "sh", 0 },  { 12, 10, "cc1", 50 },
		{ 13, 10, "cc", 5 },	{ 14, 13, "as", 25 }, { 20, 21, "ring", 6 },
		{ 21, 20, "other", 4 },
	};
	struct browser b;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		stacks_add(p, stacks_thread(p, all[i].pid, all[i].pid, all[i].name), "app!main",
			   all[i].n);
		profile_set_parent(p, (uint32_t)i, all[i].parent);
	}
	open_browser(&b, p);
	press(&b, "T");
	CHECK_STR(line(&b, 100, 14, 2), "TOTAL%  SELF%  SAMPLES      PID COMM");
	CHECK_STR(line(&b, 100, 14, 3), " 90.00  10.00       90       10 make");
	CHECK_STR(line(&b, 100, 14, 4), " 50.00  50.00       50       12   cc1");
	CHECK_STR(line(&b, 100, 14, 5), " 30.00   5.00       30       13   cc");
	CHECK_STR(line(&b, 100, 14, 6), " 25.00  25.00       25       14     as");
	CHECK_EQ(b.listed.n, 6);
	press(&b, "T");
	CHECK_STR(line(&b, 100, 14, 3), " 50.00       50       12 cc1");
	browser_free(&b);
	profile_free(p);
}

/* As htop counts: of one CPU. 60 samples at 100 Hz are 600 ms. */
TEST(cpu_share_of_processes)
{
	struct profile *p = tree();
	struct browser b;

	profile_meta(p)->frequency = 100;
	profile_meta(p)->duration = 500000000;
	open_browser(&b, p);
	press(&b, "2");
	CHECK_STR(line(&b, 100, 10, 2), "     %    CPU%  SAMPLES      PID COMM");
	CHECK_STR(line(&b, 100, 10, 3), " 90.00   180.0       90       10 one");
	browser_free(&b);
	profile_free(p);
}

TEST(threads_and_processes)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p);
	press(&b, "2");
	CHECK_STR(line(&b, 100, 10, 3), " 90.00       90       10 one");
	press(&b, "t");
	CHECK_STR(line(&b, 100, 10, 4), " 10.00       10       20       21 two");
	browser_free(&b);
	profile_free(p);
}

/*
 * Boxes of one depth lie side by side, below who called them; what is zoomed into is as wide as
 * all.
 */
TEST(flame_boxes_have_their_shares)
{
	struct profile *p = tree();
	flame_box_vec boxes;
	struct browser b;

	open_browser(&b, p);
	press(&b, "6");
	line(&b, 100, 20, 0);
	boxes = flame_boxes(&b, 100);
	CHECK_EQ(boxes.n, 8);
	CHECK_EQ(boxes.v[0].width, 90);
	CHECK_EQ(boxes.v[2].width, 60);
	CHECK_EQ(boxes.v[3].x, 60);
	CHECK_EQ(boxes.v[3].width, 30);
	CHECK_EQ(boxes.v[5].x, 90);
	vec_free(&boxes);
	press(&b, "jjl");
	CHECK_STR(browser_selected(&b)->name, "b");
	press(&b, "\r");
	boxes = flame_boxes(&b, 100);
	CHECK_EQ(boxes.n, 4);
	CHECK_EQ(boxes.v[3].x, 0);
	CHECK_EQ(boxes.v[3].width, 100);
	vec_free(&boxes);
	browser_free(&b);
	profile_free(p);
}

TEST(no_kernel_no_user)
{
	struct profile *p = tree();
	struct profile *user = part_new(p, profile_view(p).values,
					&(struct part_choice){ .no_kernel = 1 });
	struct profile *kernel = part_new(p, profile_view(p).values,
					  &(struct part_choice){ .no_user = 1 });

	CHECK_EQ(profile_view(user).total, 100);
	CHECK_EQ(profile_view(user).nfunctions, 3);
	CHECK_EQ(profile_view(kernel).total, 30);
	CHECK_EQ(profile_view(kernel).nfunctions, 1);
	profile_free(user);
	profile_free(kernel);
	profile_free(p);
}

/* Names come after samples, and a copy has them all the same. */
TEST(follows_names)
{
	struct profile *p = profile_new(), *copy = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x");
	struct line late = { 0 };

	stacks_add(p, t, "m!f|@", 3);
	profile_follow(copy, p);
	CHECK_EQ(profile_view(copy).locations[1].nlines, 0);
	late.function = profile_function(p, profile_string(p, "late"), 0, FRAME_USER);
	profile_name_location(p, 1, &late, 1, "");
	stacks_add(p, t, "m!g", 4);
	profile_follow(copy, p);
	CHECK_EQ(profile_view(copy).total, 7);
	CHECK_EQ(profile_view(copy).nnodes, profile_view(p).nnodes);
	CHECK_STR(profile_text(copy, profile_view(copy).functions[profile_view(copy).lines[
		profile_view(copy).locations[1].first_line].function].name), "late");
	profile_free(copy);
	profile_free(p);
}

/* Every key in every view on every size: nothing is off the page, whatever is pressed. */
TEST(any_key_anywhere)
{
	struct profile *p = tree(), *none = profile_new();
	static const int sizes[][2] = { { 1, 1 }, { 2, 10 }, { 10, 40 }, { 100, 300 } };
	struct browser b;

	for (int i = 0; i < 2; i++) {
		open_browser(&b, i ? none : p);
		for (int view = '1'; view <= '7'; view++)
			for (uint32_t key = 1; key < 128; key++) {
				const struct press_event click = { .key = PRESS_CLICK,
								   .row = (int)key % 30,
								   .column = (int)key };
				struct page page = { 0 };

				b.prompt = PROMPT_NONE;
				b.help = b.detail = 0;
				actions_press(&b, &(struct press_event){ .key = (uint32_t)view });
				if (key != 's')
					actions_press(&b, &(struct press_event){ .key = key });
				actions_press(&b, &click);
				page_begin(&page, sizes[key % 4][0], sizes[key % 4][1]);
				paint_page(&b, &page);
				for (size_t k = 0; k < page.texts.n; k++)
					CHECK(page.texts.v[k].row < page.rows &&
					      page.texts.v[k].column < page.columns);
				page_free(&page);
			}
		browser_free(&b);
	}
	profile_free(p);
	profile_free(none);
}

int main(void)
{
	RUN(functions_as_cells);
	RUN(what_ended_has_no_pid);
	RUN(sorts_by_columns);
	RUN(two_functions_compared);
	RUN(values_of_a_label_beside_one_another);
	RUN(moves_and_stays);
	RUN(searches_and_filters);
	RUN(tree_opens_and_closes);
	RUN(callers_of_the_selected);
	RUN(callers_of_the_first);
	RUN(lines_of_the_first);
	RUN(cpu_share_of_processes);
	RUN(process_tree);
	RUN(threads_and_processes);
	RUN(flame_boxes_have_their_shares);
	RUN(no_kernel_no_user);
	RUN(follows_names);
	RUN(any_key_anywhere);
	return TEST_END();
}
