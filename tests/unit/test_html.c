/* SPDX-License-Identifier: MIT */
/*
 * The data in the flame graph page; the page itself is tested in a browser
 * (tests/e2e/test_html.py).
 */
#include "unit/test.h"

#include <zlib.h>

#include "output/calltree.h"
#include "output/html_times.h"
#include "output/packed.h"
#include "unit/stacks.h"

/* --- Packed numbers, undone by zlib. -------------------------------------------- */

static size_t base64_decode(unsigned char *out, const char *text, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int bits = 0, have = 0;
	size_t used = 0;

	for (size_t i = 0; i < n && text[i] != '='; i++) {
		const char *digit = strchr(digits, text[i]);

		CHECK(digit != NULL);
		bits = bits << 6 | (unsigned int)(digit ? digit - digits : 0);
		have += 6;
		if (have >= 8)
			out[used++] = (unsigned char)(bits >> (have -= 8));
	}
	return used;
}

/* The numbers of the column @id of a page; at most @max. Returns how many. */
static size_t column(const char *page, const char *id, uint64_t *numbers, size_t max)
{
	char tag[64];
	const char *from;
	unsigned char *raw, *flat;
	size_t len, n = 0, at = 0, room = max * 10 + 1;
	z_stream z = { 0 };

	snprintf(tag, sizeof(tag), "<script type=\"text/plain\" id=\"%s\">", id);
	from = page ? strstr(page, tag) : NULL;
	if (!from)
		return 0;
	from += strlen(tag);
	len = strcspn(from, "<");
	CHECK_EQ(len % 4, 0);
	raw = malloc(len + 1);
	flat = malloc(room);
	z.next_in = raw;
	z.avail_in = (uInt)base64_decode(raw, from, len);
	z.next_out = flat;
	z.avail_out = (uInt)room;
	CHECK_EQ(inflateInit2(&z, -15), Z_OK);
	CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
	CHECK_EQ(z.avail_in, 0);
	for (; at < room - z.avail_out && n < max; n++) {
		int shift = 0;

		numbers[n] = 0;
		do
			numbers[n] |= (uint64_t)(flat[at] & 127) << shift;
		while (shift += 7, flat[at++] & 128);
	}
	inflateEnd(&z);
	free(raw);
	free(flat);
	return n;
}

#define CHECK_COLUMN(page, id, ...) do { \
	const uint64_t want_[] = { __VA_ARGS__ }; \
	uint64_t got_[64]; \
	size_t n_ = column(page, id, got_, 64); \
	CHECK_EQ(n_, sizeof(want_) / sizeof(*want_)); \
	for (size_t i_ = 0; i_ < n_ && i_ < sizeof(want_) / sizeof(*want_); i_++) \
		CHECK_EQ(got_[i_], want_[i_]); \
} while (0)

static void pack(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct packed *w;

	(void)p;
	outfile_printf(f, "<script type=\"text/plain\" id=\"x\">");
	w = packed_open(f);
	for (uint64_t i = 0; i < (uint64_t)o->rows; i++)
		packed_put(w, i * i * 0x123456789abcdef);
	packed_close(w);
	outfile_printf(f, "</script>\n");
}

/* Lengths around base64's groups of three, and more than the buffers hold. */
TEST(packed_numbers_come_back)
{
	static const int counts[] = { 0, 1, 2, 3, 4, 5, 6, 100000 };
	uint64_t *got = malloc(100001 * sizeof(*got));

	for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
		const struct user user = { 0 };
		struct error e = { 0 };
		char path[] = "/tmp/ebprof-test-XXXXXX", *text = NULL;
		int fd = mkstemp(path);
		struct outfile *f = outfile_open(path, &user, &e);
		size_t size = 0;
		FILE *in;

		pack(NULL, &(struct output_options){ .rows = counts[k] }, f);
		CHECK_EQ(outfile_commit(f, &e), 0);
		in = fopen(path, "re");
		CHECK(in && getdelim(&text, &size, '\0', in) > 0);
		CHECK_EQ(column(text, "x", got, 100001), counts[k]);
		for (uint64_t i = 0; i < (uint64_t)counts[k]; i++)
			CHECK(got[i] == i * i * 0x123456789abcdef);
		fclose(in);
		free(text);
		close(fd);
		unlink(path);
	}
	free(got);
}

/* --- The page. ---------------------------------------------------------------------- */

TEST(nothing_is_a_page)
{
	struct profile *p = profile_new();
	char *page = stacks_output(p, "html", NULL);

	CHECK(page && strstr(page, "\"nodes\":1,"));
	CHECK(page && strstr(page, "</html>"));
	CHECK_EQ(column(page, "up", (uint64_t[1]){ 0 }, 1), 0);
	free(page);
	profile_free(p);
}

TEST(the_tree_is_in_preorder)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x"), u = stacks_thread(p, 2, 2, "y");
	char *page;

	stacks_add(p, t, "main|work|leaf", 5);
	stacks_add(p, t, "main|walk", 300);
	stacks_add(p, t, "main|walk", 1);
	stacks_add(p, u, "main", UINT32_MAX);
	page = stacks_output(p, "html", NULL);
	/* leaf, main, walk, work; then the threads x and y. */
	CHECK_COLUMN(page, "up", 0, 0, 0, 1, 0, 4, 0);
	CHECK_COLUMN(page, "label", 4, 1, 2, 3, 0, 5, 1);
	CHECK_COLUMN(page, "self0", 0, 0, 301, 0, 5, 0, UINT32_MAX);
	CHECK(page && strstr(page, "\"name\":[\"leaf\",\"main\",\"walk\",\"work\"]"));
	CHECK(page && strstr(page, "\"total\":4294967601,"));
	CHECK(page && !strstr(page, "id=\"self1\""));
	free(page);
	profile_free(p);
}

/* What vanished is there, and what is new. */
TEST(a_difference_has_two_types)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x"), after = profile_add_type(p, "after", "count");
	char *page;

	stacks_add(p, t, "main|gone", 7);
	stacks_add(p, t, "main|both", 2);
	profile_count(p, 1, after, 3);
	stacks_add(p, t, "main|new", 0);
	profile_count(p, profile_sample(p, t, (uint32_t)profile_view(p).nnodes - 1, 0), after, 4);
	page = stacks_output(p, "html", &(struct output_options){ .difference = 1, .weight = 0.5 });
	CHECK(page && strstr(page, "\"total\":9,\"each\":0},{\"name\":\"after\""));
	CHECK(page && strstr(page, "\"total\":7,\"each\":0}],\"shown\":1,\"weight\":0.5,"));
	CHECK(page && strstr(page, "\"name\":[\"both\",\"gone\",\"main\",\"new\"]"));
	CHECK_COLUMN(page, "label", 4, 2, 0, 1, 3);
	CHECK_COLUMN(page, "self1", 0, 0, 3, 0, 4);
	CHECK_COLUMN(page, "self0", 0, 0, 2, 7, 0);
	free(page);
	profile_free(p);
}

/* Also stacks that have nothing of the type that is shown at first. */
TEST(all_types_are_there)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x"), cpu = profile_add_type(p, "cpu", "nanoseconds"),
		 misses = profile_add_type(p, "cache-misses", "count");
	char *page;

	stacks_add(p, t, "main|a", 2);
	profile_count(p, 0, cpu, 20000000);
	stacks_add(p, t, "main|b", 0);
	profile_count(p, profile_sample(p, t, (uint32_t)profile_view(p).nnodes - 1, 0), misses, 70);
	/* Time that samples stand for is no choice of its own. */
	page = stacks_output(p, "html", NULL);
	CHECK(page && !strstr(page, "{\"name\":\"cpu\""));
	CHECK(page && strstr(page, "{\"name\":\"cache-misses\""));
	CHECK_COLUMN(page, "self1", 0, 0, 0, 70);
	free(page);
	profile_count(p, 1, cpu, 1);
	page = stacks_output(p, "html", NULL);
	CHECK(page && strstr(page, "\"types\":[{\"name\":\"samples\",\"unit\":\"count\","
				   "\"total\":2,\"each\":10000000},"));
	/* Of others nobody knows how much time one is. */
	CHECK(page && strstr(page, "\"total\":70,\"each\":0}],\"shown\":0,"));
	CHECK_COLUMN(page, "label", 3, 2, 0, 1);
	CHECK_COLUMN(page, "self0", 0, 0, 2, 0);
	CHECK_COLUMN(page, "self1", 0, 0, 20000000, 1);
	CHECK_COLUMN(page, "self2", 0, 0, 0, 70);
	free(page);
	profile_free(p);
}

/* Threads of one name in processes of one name are one, unless they were told apart. */
TEST(threads_are_merged_by_name)
{
	struct profile *p = profile_new();
	char *page;

	stacks_add(p, stacks_thread(p, 10, 10, "x"), "f", 1);
	stacks_add(p, stacks_thread(p, 11, 11, "x"), "f", 2);
	stacks_add(p, stacks_thread(p, 12, 12, "a"), "f", 4);
	page = stacks_output(p, "html", NULL);
	CHECK(page &&
	      strstr(page, "\"threads\":[{\"name\":\"a\",\"process\":\"a\",\"group\":0,\"pid\":12,"
			   "\"tid\":12},"
			   "{\"name\":\"x\",\"process\":\"x\",\"group\":1,\"pid\":0,\"tid\":0}]"));
	CHECK_COLUMN(page, "self0", 0, 4, 0, 3);
	free(page);
	profile_meta(p)->per_thread = 1;
	page = stacks_output(p, "html", NULL);
	CHECK(page &&
	      strstr(page, "{\"name\":\"x\",\"process\":\"x\",\"group\":2,\"pid\":11,\"tid\":11}"));
	CHECK_COLUMN(page, "self0", 0, 4, 0, 1, 0, 2);
	free(page);
	profile_free(p);
}

/*
 * A function is said to be where most of its samples were, lines of one number added up; inlined is
 * another frame.
 */
TEST(the_hottest_line_is_told)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x"), file = profile_string(p, "a.c"), function;
	static const struct {
		uint32_t line;
		uint64_t count;
	} places[] = { { 5, 10 }, { 7, 6 }, { 9, 1 }, { 7, 6 } };
	char *page;

	function = profile_function(p, profile_string(p, "f"), 0, FRAME_USER);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t location = profile_location(p, 0, FRAME_USER, 100 + i);
		const struct line lines[] = { { function, file, 90 },
					      { function, file, places[i].line } };

		profile_name_location(p, location, &lines[1 - (i == 2)], 1 + (i == 2), "");
		profile_add(p, t, profile_node(p, 0, location), places[i].count);
	}
	page = stacks_output(p, "html", NULL);
	CHECK(page && strstr(page, "\"inlined\":[0,1],\"file\":[1,1],\"line\":[7,90]"));
	CHECK(page && strstr(page, "\"texts\":[\"\",\"a.c\"]"));
	free(page);
	profile_free(p);
}

static void tick(struct profile *p, uint32_t sample, uint64_t time, uint64_t value)
{
	profile_tick(p, &(struct tick){ .time = time, .value = value, .sample = sample });
}

/* By thread, in tenths of milliseconds, with nodes counted from the thread's own. */
TEST(times_are_by_thread)
{
	struct profile *p = profile_new();
	uint32_t one = stacks_thread(p, 1, 1, "a"), two = stacks_thread(p, 2, 2, "b");
	char *page;

	stacks_add(p, two, "f|g", 2);
	stacks_add(p, one, "f", 1);
	stacks_add(p, two, "f|h", 1);
	page = stacks_output(p, "html", NULL);
	CHECK(page && !strstr(page, "\"times\""));
	free(page);
	tick(p, 0, 5099999, 1);
	tick(p, 2, 100000, 1);
	tick(p, 1, 7000000000, 1);
	tick(p, 0, 900000, 1);
	profile_finish_ticks(p);
	page = stacks_output(p, "html", NULL);
	CHECK(page && strstr(page, "\"times\":{\"unit\":100000,\"spanUnit\":1000,"
				    "\"each\":1,\"label\":[0,1],\"pid\":[1,2],"
				    "\"tid\":[1,2],\"count\":[1,3]}"));
	CHECK_COLUMN(page, "tick-time", 70000, 1, 8, 41);
	CHECK_COLUMN(page, "tick-node", 1, 3, 2, 2);
	CHECK(page && !strstr(page, "id=\"tick-value\"") && !strstr(page, "id=\"tick-span\""));
	free(page);
	page = stacks_output(p, "html", &(struct output_options){ .difference = 1, .weight = 1 });
	CHECK(page && !strstr(page, "\"times\""));
	free(page);
	profile_free(p);
}

TEST(times_have_values)
{
	struct profile *p = profile_new();
	char *page;

	stacks_add(p, stacks_thread(p, 1, 1, "a"), "f", 5000);
	tick(p, 0, 200000, 4000);
	tick(p, 0, UINT64_MAX, 1000);
	profile_finish_ticks(p);
	page = stacks_output(p, "html", NULL);
	CHECK_COLUMN(page, "tick-time", 2, UINT32_MAX - 2);
	CHECK_COLUMN(page, "tick-value", 4000, 1000);
	free(page);
	profile_free(p);
}

/* Threads of one name are one box, and a lane each. */
TEST(waits_have_lengths_by_thread)
{
	struct profile *p = profile_new();
	uint32_t one = stacks_thread(p, 1, 1, "a"), two = stacks_thread(p, 1, 2, "a");
	char *page;

	stacks_add(p, two, "f", 2);
	stacks_add(p, one, "f", 1);
	profile_tick(p, &(struct tick){ .time = 300000, .span = 2500999, .value = 1 });
	tick(p, 0, 200000, 1);
	profile_tick(p, &(struct tick){ .time = 0, .span = 1000, .value = 1, .sample = 1 });
	profile_finish_ticks(p);
	page = stacks_output(p, "html", NULL);
	CHECK(page && strstr(page, "\"label\":[0,0],\"pid\":[1,1],\"tid\":[1,2],\"count\":[1,2]}"));
	CHECK_COLUMN(page, "tick-time", 0, 2, 1);
	CHECK_COLUMN(page, "tick-span", 1, 0, 2500);
	free(page);
	profile_free(p);
}

/* Of more than a page holds every second one, of each thread the first. */
TEST(too_many_times_are_thinned)
{
	struct profile *p = profile_new();
	uint32_t one = stacks_thread(p, 1, 1, "a"), two = stacks_thread(p, 2, 2, "b");
	char *page;

	stacks_add(p, one, "f", 3);
	stacks_add(p, two, "f", HTML_TIMES_MOST - 2);
	for (uint64_t i = 0; i < HTML_TIMES_MOST + 1; i++)
		tick(p, i < 3 ? 0 : 1, i, 1);
	profile_finish_ticks(p);
	page = stacks_output(p, "html", NULL);
	CHECK(page && strstr(page, "\"each\":2,"));
	free(page);
	profile_free(p);
}

/* No text of a profile ends an element, or begins one. */
TEST(names_cannot_leave_their_element)
{
	struct profile *p = profile_new();
	char *plain = stacks_output(p, "html", NULL), *page;

	stacks_add(p, stacks_thread(p, 1, 1, "</script><!--"), "<script>alert(1)</script>", 1);
	profile_meta(p)->title = profile_string(p, "</title><img onerror=x>");
	page = stacks_output(p, "html", NULL);
	for (const char *a = plain, *b = page; a && b; ) {
		a = strchr(a, '<');
		b = strchr(b, '<');
		CHECK(!a == !b && (!a || !strncmp(a, b, 8)));
		a = a ? a + 1 : NULL;
		b = b ? b + 1 : NULL;
	}
	CHECK(page && strstr(page, "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e"));
	free(plain);
	free(page);
	profile_free(p);
}

int main(void)
{
	RUN(packed_numbers_come_back);
	RUN(nothing_is_a_page);
	RUN(the_tree_is_in_preorder);
	RUN(a_difference_has_two_types);
	RUN(all_types_are_there);
	RUN(threads_are_merged_by_name);
	RUN(the_hottest_line_is_told);
	RUN(times_are_by_thread);
	RUN(times_have_values);
	RUN(waits_have_lengths_by_thread);
	RUN(too_many_times_are_thinned);
	RUN(names_cannot_leave_their_element);
	return TEST_END();
}
