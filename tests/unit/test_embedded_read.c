/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>

#include "input/readers.h"
#include "unit/stacks.h"

static const char *const formats[] = { "html", "json", "firefox", "speedscope" };

static struct profile *made(void)
{
	struct profile *p = profile_new();
	uint32_t first = stacks_thread(p, 10, 10, "one"),
		 second = stacks_thread(p, 20, 21, "\"pprof\":\"H4sI");

	profile_set_type(p, 0, "allocations", "count");
	profile_add_type(p, "bytes", "bytes");
	profile_show(p, 1);
	stacks_add(p, first, "prog!main|libx.so!</script>|[kernel]!read", 3);
	stacks_add(p, second, "prog!main|prog!pprof|prog!\"pprof\"", 4);
	stacks_add(p, second, "@", 1);
	for (uint32_t i = 0; i < profile_view(p).nsamples; i++)
		profile_count(p, i, 1, 100 + i);
	profile_comment(p, "a remark");
	profile_account(p)->taken = profile_account(p)->kept = 8;
	return p;
}

static struct profile *read_text(const char *text, struct error *e)
{
	struct profile *p = profile_new();

	if (!embedded_read(p, text, strlen(text), &(struct input_notes){ 0 }, e))
		return p;
	profile_free(p);
	return NULL;
}

/* All of it, not only what the format shows. */
TEST(what_was_written_is_read)
{
	struct profile *p = made();

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		char *text = stacks_output(p, formats[i], NULL), *again;
		struct error e = { 0 };
		struct profile *q;

		CHECK(embedded_looks(text, strlen(text)));
		q = read_text(text, &e);
		CHECK_STR(e.text, "");
		again = q ? stacks_output(q, formats[i], NULL) : NULL;
		CHECK_STR(again, text);
		CHECK_EQ(profile_view(q).ntypes, 2);
		CHECK_EQ(profile_view(q).shown, 1);
		free(text);
		free(again);
		profile_free(q);
	}
	profile_free(p);
}

/* As a person or a tool may have formatted it anew. */
TEST(json_in_another_layout)
{
	struct profile *p = made(), *q;
	char *text = stacks_output(p, "speedscope", NULL), *at = strstr(text, "\"pprof\":\"H4"),
	     *wide;
	struct error e = { 0 };

	CHECK(at);
	CHECK(asprintf(&wide, "\n{ \"pprof\" : 3, \"x\": {\n\t\"pprof\" :\r\n \"%s",
		       at + strlen("\"pprof\":\"")) > 0);
	CHECK(embedded_looks(wide, strlen(wide)));
	q = read_text(wide, &e);
	CHECK_STR(e.text, "");
	profile_free(q);
	free(wide);
	free(text);
	profile_free(p);
}

TEST(what_is_not_ours)
{
	static const char *const texts[] = {
		"",
		"{",
		"<",
		"<html></html>",
		"{\"pprof\":",
		"{\"pprof\":\"",
		"{\"pprof\":\"H4sI",
		"{\"pprof\":1}",
		"pprof",
		"\"pprof\":\"H4sI\"",
		"{\"name\":\"\\\"pprof\\\":\\\"H4sI\\\"\"}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK(!embedded_looks(texts[i], strlen(texts[i])));
}

TEST(damaged)
{
	static const char *const texts[] = {
		"{\"pprof\":\"\"}",
		"{\"pprof\":\"H4sI\"}",
		"{\"pprof\":\"not base64\"}",
		"{\"pprof\":\"AAAA\"}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct error e = { 0 };

		CHECK(embedded_looks(texts[i], strlen(texts[i])));
		CHECK(!read_text(texts[i], &e));
		CHECK_STR(e.text, "the profile inside of it is damaged");
	}
}

int main(void)
{
	RUN(what_was_written_is_read);
	RUN(json_in_another_layout);
	RUN(what_is_not_ours);
	RUN(damaged);
	return TEST_END();
}
