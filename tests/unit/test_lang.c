/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "lang/lang_pages.h"
#include "lang/langs.h"
#include "test.h"

static int published;

static int publish(void *ctx, uint32_t number, const struct ebp_layout *layout)
{
	(void)ctx;
	(void)layout;
	published = (int)number;
	return 0;
}

/* A record of a function f in a.py, with the line table of one line. */
static struct ebp_code *record(uint64_t id, uint32_t slot)
{
	struct ebp_code *r = calloc(1, sizeof(*r) + 2);

	r->head.n = 2;
	r->id = id;
	r->slot = slot;
	r->language = EBP_LANGUAGE_PYTHON;
	r->version = 13;
	r->first_line = 7;
	r->name = (struct ebp_text){ .length = 1, .width = 1 };
	r->name_bytes[0] = 'f';
	r->file = (struct ebp_text){ .length = 4, .width = 1 };
	memcpy(r->file_bytes, "a.py", 4);
	memcpy(r->table_data, "\xd9\x00", 2);
	return r;
}

static void put_of(struct langs *l, uint64_t id, uint32_t slot, pid_t pid)
{
	struct ebp_code *r = record(id, slot);

	r->process.tgid = (uint32_t)pid;
	langs_code(l, r, sizeof(*r) + 2);
	free(r);
}

static void put(struct langs *l, uint64_t id, uint32_t slot)
{
	put_of(l, id, slot, 0);
}

/* It may be in stacks that are under way when its process ends. */
TEST(code_of_what_ended_is_forgotten)
{
	struct langs *l = langs_new(NULL, publish, NULL);

	put_of(l, 5, 0, getpid());
	put_of(l, 6, 0, 0x7fff0001);
	put_of(l, 7, 1, 0x7fff0001);
	langs_rest(l);
	CHECK(langs_find(l, 5) && langs_find(l, 6) && langs_find(l, 7));
	put_of(l, 8, 1, 0x7fff0002);
	langs_rest(l);
	CHECK(langs_find(l, 5) && !langs_find(l, 6) && !langs_find(l, 7) && langs_find(l, 8));
	/* Its place is used again. */
	for (uint64_t id = 10; id < 50; id++)
		put_of(l, id, 0, getpid());
	langs_rest(l);
	CHECK(!langs_find(l, 5) && langs_find(l, 49) && !langs_find(l, 8));
	langs_free(l);
}

TEST(a_code_by_its_id)
{
	struct langs *l = langs_new(NULL, publish, NULL);
	const struct lang_code *c;

	put(l, 5, 0);
	c = langs_find(l, 5);
	CHECK(c != NULL);
	if (c) {
		CHECK_STR(c->name, "f");
		CHECK_STR(c->file, "a.py");
		CHECK_EQ(c->first_line, 7);
		CHECK_EQ(c->ops->line(c, 0), 8);
		CHECK_EQ(c->ops->line(c, EBP_PLACE_NONE), 0);
	}
	CHECK(!langs_find(l, 6));
	langs_free(l);
}

/* The slots of the kernel's cache bound what is kept, whatever a process makes. */
TEST(what_a_slot_had_long_ago_is_forgotten)
{
	struct langs *l = langs_new(NULL, publish, NULL);

	put(l, 1000, 1);
	for (uint64_t id = 10; id < 50; id++)
		put(l, id, 0);
	CHECK(!langs_find(l, 10) && !langs_find(l, 45));
	CHECK(langs_find(l, 46) && langs_find(l, 49) && langs_find(l, 1000));
	langs_free(l);
}

TEST(characters_of_each_width)
{
	static const uint8_t two[] = { 0x61, 0, 0xac, 0x20, 0, 0xd8 };
	static const uint8_t four[] = { 0x00, 0xf6, 0x01, 0, 0xff, 0xff, 0xff, 0xff };
	char *text = lang_utf8((const uint8_t *)"a\xe9", 2, 1);

	CHECK_STR(text, "a\xc3\xa9");
	free(text);
	text = lang_utf8(two, 3, 2);
	CHECK_STR(text, "a\xe2\x82\xac\xef\xbf\xbd");
	free(text);
	text = lang_utf8(four, 2, 4);
	CHECK_STR(text, "\xf0\x9f\x98\x80\xef\xbf\xbd");
	free(text);
	text = lang_utf8(NULL, 0, 1);
	CHECK_STR(text, "");
	free(text);
}

TEST(a_record_that_is_not_whole)
{
	struct ebp_code *r = record(1, 0);
	struct lang_code c;

	CHECK_EQ(lang_code_decode(r, sizeof(*r) + 1, &c), -EBADMSG);
	CHECK_EQ(lang_code_decode(r, 8, &c), -EBADMSG);
	r->language = 99;
	CHECK_EQ(lang_code_decode(r, sizeof(*r) + 2, &c), -EBADMSG);
	r->language = EBP_LANGUAGE_NONE;
	CHECK_EQ(lang_code_decode(r, sizeof(*r) + 2, &c), -EBADMSG);
	free(r);
}

TEST(a_name_that_is_too_long_says_so)
{
	struct ebp_code *r = record(1, 0);
	struct lang_code c;

	memset(r->name_bytes, 'x', sizeof(r->name_bytes));
	r->name.length = 1u << 30;
	r->file.width = 3;
	CHECK_EQ(lang_code_decode(r, sizeof(*r) + 2, &c), 0);
	CHECK_EQ(strlen(c.name), EBP_CODE_NAME - 1 + 3);
	CHECK_STR(c.name + EBP_CODE_NAME - 1, "...");
	CHECK_STR(c.file, "");
	lang_code_free(&c);
	free(r);
}

TEST(a_name_in_its_scope)
{
	struct ebp_code *r = record(1, 0);
	struct lang_code c;

	r->scope = (struct ebp_text){ .length = 3, .width = 1 };
	memcpy(r->scope_bytes, "pkg", 3);
	CHECK_EQ(lang_code_decode(r, sizeof(*r) + 2, &c), 0);
	CHECK_STR(c.name, "pkg.f");
	lang_code_free(&c);
	free(r);
}

TEST(ranges_of_the_interpreter)
{
	struct lang_image image = { 0 };

	CHECK_EQ(lang_image_runs(&image, 5), LANG_RUNS_NOT);
	vec_push(&image.code, (struct lang_range){ 10, 20, LANG_RUNS_CALL });
	vec_push(&image.code, (struct lang_range){ 40, 50, LANG_RUNS_INNER });
	CHECK_EQ(lang_image_runs(&image, 10), LANG_RUNS_CALL);
	CHECK_EQ(lang_image_runs(&image, 49), LANG_RUNS_INNER);
	CHECK_EQ(lang_image_runs(&image, 9), LANG_RUNS_NOT);
	CHECK_EQ(lang_image_runs(&image, 20), LANG_RUNS_NOT);
	CHECK_EQ(lang_image_runs(&image, 50), LANG_RUNS_NOT);
	lang_image_free(&image);
}

/* --- Threads that sleep. ------------------------------------------------------------ */

static unsigned questions;

/* A page of the numbers of its bytes; the second one is not there. */
static int pages(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	(void)ctx;
	(void)pid;
	questions++;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = (uint8_t)(address + i);
	return address / LANG_PAGE == 2 ? -EFAULT : 0;
}

TEST(memory_by_pages)
{
	const struct lang_reader from = { .read = pages };
	struct lang_pages *p = xcalloc(1, sizeof(*p));
	uint8_t bytes[8];

	questions = 0;
	lang_pages_begin(p, &from);
	CHECK_EQ(lang_pages_read(p, 1, 0x1005, bytes, 8), 0);
	CHECK_EQ(bytes[0], 5);
	CHECK_EQ(bytes[7], 12);
	CHECK_EQ(lang_pages_read(p, 1, 0x1ff8, bytes, 8), 0);
	CHECK_EQ(questions, 1);
	CHECK(lang_pages_read(p, 1, 0x1ff9, bytes, 8) < 0);
	CHECK(lang_pages_read(p, 1, 0x2100, bytes, 8) < 0);
	CHECK_EQ(questions, 2);
	/* Two that have one place, and one that lies in both of its pages. */
	CHECK_EQ(lang_pages_read(p, 1, 0x1000 + LANG_PAGES * LANG_PAGE, bytes, 8), 0);
	CHECK_EQ(lang_pages_read(p, 1, 0x1000, bytes, 8), 0);
	CHECK_EQ(lang_pages_read(p, 1, 0xffe, bytes, 8), 0);
	CHECK_EQ(bytes[1], 0xff);
	CHECK_EQ(bytes[2], 0);
	CHECK_EQ(questions, 5);
	lang_pages_begin(p, &from);
	CHECK_EQ(lang_pages_read(p, 1, 0x1005, bytes, 8), 0);
	CHECK_EQ(questions, 6);
	free(p);
}

TEST(no_layout_to_walk_by)
{
	struct langs *l = langs_new(NULL, publish, NULL);
	const struct langs_thread t = { .thread_pointer = 8 };
	uint64_t words[EBP_WORDS_MAX];

	CHECK_EQ(langs_walk(l, 0, &t, words), 0);
	CHECK_EQ(langs_walk(l, 1, &t, words), 0);
	langs_free(l);
}

TEST(names_that_hint_at_a_language)
{
	static const char *const may[] = {
		"/usr/bin/python3.11", "/opt/libpython3.12.so.1.0", "/usr/lib/libruby-3.1.so.3.1",
		"/usr/sbin/php-fpm8.2", "/usr/bin/perl", "/usr/lib/libluajit-5.1.so.2", "lua5.4",
		"/usr/bin/node", "/opt/jdk/lib/server/libjvm.so",
	};
	static const char *const others[] = {
		"", "/", "[vdso]", "/usr/bin/sleep", "/usr/lib/libc.so.6", "/home/python/worker",
	};

	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++)
		CHECK(lang_hinted(may[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!lang_hinted(others[i]));
	CHECK_EQ(lang_hinted("/usr/bin/python3.11"), 1u << EBP_LANGUAGE_PYTHON);
	CHECK_EQ(lang_hinted("/opt/jdk/lib/server/libjvm.so"), 1u << EBP_LANGUAGE_HOTSPOT);
}

int main(void)
{
	RUN(code_of_what_ended_is_forgotten);
	RUN(a_code_by_its_id);
	RUN(what_a_slot_had_long_ago_is_forgotten);
	RUN(characters_of_each_width);
	RUN(a_record_that_is_not_whole);
	RUN(a_name_that_is_too_long_says_so);
	RUN(a_name_in_its_scope);
	RUN(ranges_of_the_interpreter);
	RUN(memory_by_pages);
	RUN(no_layout_to_walk_by);
	RUN(names_that_hint_at_a_language);
	return TEST_END();
}
