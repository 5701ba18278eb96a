/* SPDX-License-Identifier: MIT */
/* Functions that are read in the browser: profiles and keys in, pages out. */
#include "unit/test.h"

#include "tui/paint.h"
#include "tui/reading.h"
#include "unit/stacks.h"

static struct profile *tree(void)
{
	struct profile *p = profile_new();
	uint32_t one = stacks_thread(p, 10, 10, "one");

	stacks_add(p, one, "app!main|app!a", 60);
	stacks_add(p, one, "app!main|app!b|[kernel]!read", 30);
	stacks_add(p, one, "app!main|app!b", 10);
	return p;
}

static void open_browser(struct browser *b, const struct profile *p, struct annotator *annotator)
{
	const struct window_show show = { .profile = part_new(p, profile_view(p).values,
							      &(struct part_choice){ 0 }) };

	browser_init(b);
	b->target = "x";
	b->annotator = annotator;
	browser_show(b, &show);
}

static void press(struct browser *b, const char *keys)
{
	for (; *keys; keys++)
		actions_press(b, &(struct press_event){ .key = (unsigned char)*keys });
}

/* A line of a page of 14; the text is good until the next call. */
static const char *line(struct browser *b, int row)
{
	static char buf[1024];
	struct page page = { 0 };

	page_begin(&page, 14, 100);
	paint_page(b, &page);
	page_line(&page, row, buf, sizeof(buf));
	page_free(&page);
	return buf;
}

/* Enter and a read it, Escape is back where it was; callers are at c. */
TEST(function_is_read)
{
	struct profile *p = tree();
	struct annotator *annotator = annotator_new(&(struct annotator_options){ 0 });
	struct browser b;

	open_browser(&b, p, annotator);
	press(&b, "/^b$\r\r");
	CHECK_STR(line(&b, 0), "b of app: self 10.00%, total 40.00%");
	CHECK_STR(line(&b, 1), "no lines are known: there is no debug information");
	CHECK_STR(line(&b, 2),
		  "instructions are not shown: the profile has no build id of the file");
	press(&b, "n");
	CHECK_STR(line(&b, 13), "no other row was sampled");
	press(&b, "\r");
	CHECK_STR(line(&b, 13), "this jumps to no row that is shown");
	press(&b, "\033");
	CHECK_STR(line(&b, 3), " 60.00  60.00       60 app            one/10             a");
	CHECK_STR(browser_selected(&b)->name, "b");
	press(&b, "2");
	press(&b, "1a");
	CHECK(b.reading != NULL);
	press(&b, "q1c");
	CHECK(!b.reading && !b.quit);
	CHECK_STR(line(&b, 3), "callers:");
	browser_free(&b);
	annotator_free(annotator);
	profile_free(p);
}

/* Enter goes to callers. */
TEST(nothing_to_read_with)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p, NULL);
	press(&b, "a");
	CHECK(!b.reading);
	CHECK_STR(line(&b, 13), "code cannot be read here");
	press(&b, "\r");
	CHECK_STR(line(&b, 3), "callers:");
	browser_free(&b);
	profile_free(p);
}

/* A function of three instructions: the last one jumps to the first, which is hot. */
static struct annotation *loop(void)
{
	struct annotation *a = xcalloc(1, sizeof(*a));

	a->name = xstrdup("f");
	a->module = xstrdup("x");
	a->all = a->total = a->self = 10;
	annotation_add(a, ANNOTATION_CODE, "f in x");
	annotation_add(a, ANNOTATION_INSTRUCTION, "imul")->self = 9;
	annotation_add(a, ANNOTATION_INSTRUCTION, "add")->self = 1;
	annotation_add(a, ANNOTATION_INSTRUCTION, "jne")->target = 1;
	return a;
}

TEST(jumps_are_followed)
{
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p, NULL);
	b.reading = loop();
	b.read_at = b.read_top = 0;
	CHECK_STR(line(&b, 2), "  90.00                0  imul");
	press(&b, "G\r");
	CHECK_EQ(b.read_at, 1);
	press(&b, "n");
	CHECK_EQ(b.read_at, 2);
	press(&b, "N");
	CHECK_EQ(b.read_at, 1);
	press(&b, "gH");
	CHECK_EQ(b.read_at, 1);
	press(&b, "jjjjkkk");
	CHECK_EQ(b.read_at, 0);
	browser_free(&b);
	profile_free(p);
}

TEST(any_key_on_any_page)
{
	static const int sizes[][2] = { { 1, 1 }, { 2, 10 }, { 10, 40 }, { 100, 300 } };
	struct annotator *annotator = annotator_new(&(struct annotator_options){ 0 });
	struct profile *p = tree();
	struct browser b;

	open_browser(&b, p, annotator);
	for (uint32_t key = 1; key <= PRESS_WHEEL_DOWN; key = key == 127 ? PRESS_NONE : key + 1) {
		const struct press_event event = {
			.key = key, .row = (int)key % 20, .column = 3
		};
		struct page page = { 0 };

		b.prompt = PROMPT_NONE;
		b.help = b.detail = 0;
		reading_close(&b);
		b.reading = loop();
		b.read_at = key % 4;
		b.read_top = 0;
		actions_press(&b, &event);
		page_begin(&page, sizes[key % 4][0], sizes[key % 4][1]);
		paint_page(&b, &page);
		for (size_t k = 0; k < page.texts.n; k++)
			CHECK(page.texts.v[k].row < page.rows);
		page_free(&page);
	}
	browser_free(&b);
	annotator_free(annotator);
	profile_free(p);
}

int main(void)
{
	RUN(function_is_read);
	RUN(nothing_to_read_with);
	RUN(jumps_are_followed);
	RUN(any_key_on_any_page);
	return TEST_END();
}
