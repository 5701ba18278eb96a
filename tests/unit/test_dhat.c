/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "unit/stacks.h"

/* What stands in the file from @from on. */
static char *body(const struct profile *p, const char *from)
{
	char *text = stacks_output(p, "dhat", NULL), *at = text ? strstr(text, from) : NULL;

	if (at)
		memmove(text, at, strlen(at) + 1);
	return text;
}

#define CHECK_BODY(p, from, expected) do { \
	char *body_ = body(p, from); \
	CHECK_STR(body_, expected); \
	free(body_); \
} while (0)

static uint32_t named(struct profile *p, uint32_t parent, uint64_t address, const char *name,
		      const char *file, uint32_t line)
{
	uint32_t module = profile_module(p, "app (1)", "/opt/app (1)", "");
	uint32_t location = profile_location(p, module, FRAME_USER, address);

	if (name && !profile_view(p).locations[location].nlines)
		profile_name_location(
			p, location,
			&(struct line){ .function = profile_function(p, profile_string(p, name),
								     profile_string(p, "app (1)"),
								     FRAME_USER),
					.file = profile_string(p, file),
					.line = line },
			1, "");
	return profile_node(p, parent, location);
}

/* Readers take what is in the last brackets for the file. */
TEST(frames_in_the_words_of_valgrind)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x"),
		 node = named(p, 0, 0xabc, "f(int) (.cold)", "/src/a (b).c", 7);
	uint32_t mark = profile_location(p, 0, FRAME_MARK, 1);

	node = named(p, named(p, named(p, node, 1, "g", "/src/g.c", 0), 2, "h", "", 0), 3, NULL,
		     NULL, 0);
	profile_name_location(
		p, mark,
		&(struct line){ .function = profile_function(p, profile_string(p, "[blocked]"), 0,
							     FRAME_MARK) },
		1, "");
	node = profile_node(p, node, mark);
	profile_add(p, t, profile_node(p, node, profile_location(p, 0, FRAME_USER, 4)), 1);
	CHECK_BODY(p, "\"pps\"",
		   "\"pps\":[{\"tb\":1,\"tbk\":1,\"fs\":[6,5,4,3,2,1]}],\"ftbl\":[\"[root]\","
		   "\"0xABC: f(int) (.cold) (/src/a_(b).c:7)\",\"0x1: g (/src/g.c)\",\"0x2: h (in "
		   "/opt/app_(1))\","
		   "\"0x3: [unknown] (in /opt/app_(1))\",\"[blocked]\",\"0x4: [unknown] (in "
		   "?\?\?)\"]}\n");
	profile_free(p);
}

/*
 * Two nodes whose frames read alike are one point, whatever threads; a stack that goes on is
 * another.
 */
TEST(equal_stacks_are_one_point)
{
	struct profile *p = profile_new();
	uint32_t one = stacks_thread(p, 1, 1, "x"), two = stacks_thread(p, 1, 2, "y"),
		 module = profile_string(p, "app");
	uint32_t f = profile_function(p, profile_string(p, "f"), module, FRAME_USER), nodes[2];
	char *text;

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t location = profile_location(
			p, profile_module(p, "app", "", i ? "beef" : ""), FRAME_USER, 5);

		profile_name_location(p, location, &(struct line){ .function = f }, 1, "");
		nodes[i] = profile_node(p, 0, location);
		profile_add(p, one, nodes[i], 1);
	}
	profile_add(p, two, nodes[0], 10);
	profile_add(p, two, profile_node(p, nodes[1], profile_view(p).nodes[nodes[0]].location),
		    100);
	profile_add(p, two, 0, 1000);
	profile_drop(p, profile_sample(p, two, 0, 0));
	profile_add(p, one, 0, 3);
	CHECK_BODY(p, "\"pid\"", "\"pid\":1,\"te\":0,\"pps\":[{\"tb\":12,\"tbk\":12,\"fs\":[1]},"
		"{\"tb\":100,\"tbk\":100,\"fs\":[1,1]},{\"tb\":3,\"tbk\":3,\"fs\":[2]}],"
		"\"ftbl\":[\"[root]\",\"0x5: f (in app)\",\"[no stack]\"]}\n");
	stacks_add(p, stacks_thread(p, 2, 2, "z"), "f", 1);
	text = body(p, "\"pid\"");
	CHECK(text && !strncmp(text, "\"pid\":0,", 8));
	free(text);
	profile_free(p);
}

/* What is shown is in the counts that it was made of, if those stand before it. */
TEST(words_for_other_profiles)
{
	struct profile *p = profile_new();
	uint32_t sample, type;

	profile_set_type(p, 0, "waits", "count");
	type = profile_add_type(p, "off-cpu", "nanoseconds");
	sample = profile_sample(p, stacks_thread(p, 1, 0, "x"), 0, 0);
	profile_count(p, sample, 0, 2);
	profile_count(p, sample, type, UINT64_MAX);
	profile_show(p, type);
	profile_meta(p)->duration = 1234567;
	CHECK_OUTPUT(
		p, "dhat", NULL,
		"{\"dhatFileVersion\":2,\"mode\":\"off-cpu\",\"verb\":\"Waited\",\"bklt\":false,"
		"\"bkacc\":false,\"bsu\":\"nanoseconds\",\"bksu\":\"waits\",\"tu\":\"µs\",\"Mtu\":"
		"\"s\",\"cmd\":\"ebprof\","
		"\"pid\":1,\"te\":1234,\"pps\":[{\"tb\":18446744073709551615,\"tbk\":2,\"fs\":[1]}]"
		","
		"\"ftbl\":[\"[root]\",\"[no stack]\"]}\n");
	profile_free(p);
	p = profile_new();
	profile_set_type(p, 0, "wall", "nanoseconds");
	stacks_add(p, stacks_thread(p, 1, 0, "x"), "f", 5);
	CHECK_BODY(
		p, "\"bsu\"",
		"\"bsu\":\"nanoseconds\",\"bksu\":\"nanoseconds\",\"tu\":\"µs\",\"Mtu\":\"s\","
		"\"cmd\":\"ebprof\",\"pid\":1,\"te\":0,\"pps\":[{\"tb\":5,\"tbk\":5,\"fs\":[1]}],"
		"\"ftbl\":[\"[root]\",\"0x0: f (in ?\?\?)\"]}\n");
	profile_free(p);
}

/* One type of nine that is not there, or of another unit: totals alone. */
TEST(lifetimes_need_all_types)
{
	static const char *const types[][2] = {
		{ "lifetime", "seconds" },    { "max_space", "bytes" },
		{ "max_objects", "count" },   { "peak_space", "bytes" },
		{ "peak_objects", "count" },  { "inuse_space", "bytes" },
		{ "inuse_objects", "count" }, { "alloc_space", "bytes" },
		{ "alloc_objects", "count" }, { "lifetime", "nanoseconds" },
	};
	struct profile *p = profile_new();
	size_t n = sizeof(types) / sizeof(*types);
	uint32_t sample;

	profile_set_type(p, 0, types[0][0], types[0][1]);
	for (size_t i = 1; i < n - 1; i++)
		profile_add_type(p, types[i][0], types[i][1]);
	sample = profile_sample(p, stacks_thread(p, 1, 0, "x"), 0, 0);
	for (uint32_t i = 0; i < n - 1; i++)
		profile_count(p, sample, i, i + 1);
	CHECK_BODY(p, "\"mode\"",
		   "\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":false,\"bkacc\":false,\"tu\":"
		   "\"µs\","
		   "\"Mtu\":\"s\",\"cmd\":\"ebprof\",\"pid\":1,\"te\":0,\"pps\":[{\"tb\":8,\"tbk\":"
		   "9,\"fs\":[1]}],"
		   "\"ftbl\":[\"[root]\",\"[no stack]\"]}\n");
	profile_free(p);
	p = profile_new();
	profile_set_type(p, 0, types[1][0], types[1][1]);
	for (size_t i = 2; i < n; i++)
		profile_add_type(p, types[i][0], types[i][1]);
	sample = profile_sample(p, stacks_thread(p, 1, 0, "x"), 0, 0);
	for (uint32_t i = 0; i < n - 1; i++)
		profile_count(p, sample, i, 1000 * (i + 2));
	profile_meta(p)->peak = 7999;
	CHECK_BODY(p, "\"bklt\"",
		   "\"bklt\":true,\"bkacc\":false,\"tu\":\"µs\",\"Mtu\":\"s\",\"tuth\":10,\"cmd\":"
		   "\"ebprof\","
		   "\"pid\":1,\"te\":0,\"tg\":7,\"pps\":[{\"tb\":8000,\"tbk\":9000,\"tl\":10,"
		   "\"mb\":2000,\"mbk\":3000,\"gb\":4000,"
		   "\"gbk\":5000,\"eb\":6000,\"ebk\":7000,\"fs\":[1]}],\"ftbl\":[\"[root]\",\"[no "
		   "stack]\"]}\n");
	profile_free(p);
}

int main(void)
{
	RUN(frames_in_the_words_of_valgrind);
	RUN(equal_stacks_are_one_point);
	RUN(words_for_other_profiles);
	RUN(lifetimes_need_all_types);
	return TEST_END();
}
