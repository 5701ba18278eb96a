/* SPDX-License-Identifier: MIT */
/* What the profiles that the Firefox Profiler reads in tests/e2e do not have. */
#include "unit/test.h"

#include "unit/stacks.h"

/* A stack of one frame for each place of which a frame can be. */
static void add_places(struct profile *p, uint32_t thread)
{
	const struct {
		const char *name, *path, *function;
		enum frame_kind kind;
		uint64_t address;
	} places[] = {
		{ "demo", "/demo", "demo", FRAME_USER, 0x1000 },
		{ "[anon]", "//anon of 5.1", "[jit]", FRAME_USER, 0x7f0000001000 },
		{ "[kernel]", "[kernel.kallsyms]", "[kernel]", FRAME_KERNEL, 0xffffffff81000010 },
		{ "[kernel]", "[kernel.kallsyms]", "[kernel]", FRAME_KERNEL, 0xffff888000000010 },
		{ "", "", "", FRAME_USER, 0x2000 },
	};
	uint32_t node = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		uint32_t module = profile_module(p, places[i].name, places[i].path,
						 *places[i].name == 'd' ? "go/id" : "");
		uint32_t location = profile_location(p, module, places[i].kind, places[i].address);

		if (*places[i].function)
			profile_name_location(
				p, location,
				&(struct line){ .function = profile_function(
							p, profile_string(p, "f"),
							profile_string(p, places[i].function),
							places[i].kind) },
				1, "");
		node = profile_node(p, node, location);
	}
	profile_add(p, thread, node, 2);
}

TEST(addresses_libraries_and_categories)
{
	struct profile *p = profile_new();
	char *text;

	add_places(p, stacks_thread(p, 5, 5, "demo"));
	text = stacks_output(p, "firefox", NULL);
	CHECK(strstr(text, "\"frame\":[0,1,2,3,4],\"prefix\":[null,0,1,2,3],"));
	/*
	 * The kernel's image is counted from where it is mapped; what a number of the reader does
	 * not hold is none.
	 */
	CHECK(strstr(text, "\"address\":[4096,-1,16777232,-1,-1],"));
	CHECK(strstr(text, "\"category\":[1,3,2,2,1],"));
	CHECK(strstr(text, "\"func\":[0,1,2,2,3],\"nativeSymbol\":[0,null,1,null,null],"));
	CHECK(strstr(text, "\"resource\":[0,-1,1,-1],"));
	CHECK(strstr(text,
		     "\"breakpadId\":\"000000000000000000000000000000000\",\"codeId\":\"go/id\""));
	CHECK(strstr(text, "\"stringArray\":[\"\",\"f\",\"[unknown]\",\"demo\",\"[kernel]\"]"));
	/* Neither a rate nor a duration is known. */
	CHECK(strstr(
		text,
		"\"time\":[500.000000],\"weight\":[2],\"weightType\":\"samples\",\"length\":1"));
	CHECK(!strstr(text, "anon") && !strstr(text, "profilingEndTime") &&
	      !strstr(text, "threadCPUDelta\":["));
	free(text);
	profile_free(p);
}

TEST(a_tick_at_the_end)
{
	struct profile *p = profile_new();
	char *text;

	stacks_add(p, stacks_thread(p, 5, 5, "demo"), "f", 2);
	profile_meta(p)->duration = 1000000000;
	profile_tick(p, &(struct tick){ .time = 1000000000, .value = 1 });
	profile_tick(p, &(struct tick){ .time = 5000000, .value = 1 });
	profile_finish_ticks(p);
	text = stacks_output(p, "firefox", NULL);
	CHECK(strstr(text, "\"profilingEndTime\":1000.000001"));
	CHECK(strstr(text, "\"stack\":[0,0],\"time\":[5.000000,1000.000000],\"weight\":[1,1],"));
	free(text);
	profile_free(p);
}

TEST(time_as_a_value)
{
	struct profile *p = profile_new();
	uint32_t type = profile_add_type(p, "wait", "nanoseconds");
	char *text;

	stacks_add(p, stacks_thread(p, 5, 5, "demo"), "f", 1);
	profile_count(p, 0, type, 1234567);
	profile_show(p, type);
	/* All values of a sample are where its ticks are, whatever is shown. */
	profile_tick(p, &(struct tick){ .time = 5000000, .value = 1 });
	profile_finish_ticks(p);
	text = stacks_output(p, "firefox", NULL);
	CHECK(strstr(text,
		     "\"time\":[5.000000],\"weight\":[1.234567],\"weightType\":\"tracing-ms\","));
	free(text);
	text = stacks_output(p, "speedscope", NULL);
	CHECK(strstr(text, "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":1234567,"));
	free(text);
	profile_free(p);
}

int main(void)
{
	RUN(addresses_libraries_and_categories);
	RUN(a_tick_at_the_end);
	RUN(time_as_a_value);
	return TEST_END();
}
