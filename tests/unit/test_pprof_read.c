/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/protobuf.h"
#include "base/vec.h"
#include "input/readers.h"
#include "profile/pprof.h"
#include "unit/stacks.h"

/* --- Profiles as bytes: texts by their place in this table. ------------------------- */

enum {
	EMPTY,
	SAMPLES,
	COUNT,
	SPACE,
	BYTES,
	MAIN,
	LEAF,
	PATH,
	FILE_C,
	PID,
	TID,
	THREAD,
	PROCESS,
	POOL,
	STATE,
	NAMES
};
static const char *const names[NAMES] = {
	"",    "samples", "count", "space",  "bytes",	"main",	  "leaf",  "/usr/bin/app",
	"a.c", "pid",	  "tid",   "thread", "process", "pool 1", "state",
};

static void numbers(struct protobuf *b, uint32_t field, size_t n, const uint64_t (*pairs)[2])
{
	size_t message = protobuf_open(b, field);

	for (size_t i = 0; i < n; i++)
		protobuf_uint(b, (uint32_t)pairs[i][0], pairs[i][1]);
	protobuf_close(b, message);
}
#define NUMBERS(b, field, ...)                                               \
	numbers(b, field, sizeof((const uint64_t[][2]){ __VA_ARGS__ }) / 16, \
		(const uint64_t[][2]){ __VA_ARGS__ })

static void strings(struct protobuf *b)
{
	for (size_t i = 0; i < NAMES; i++)
		protobuf_bytes(b, PPROF_STRING, names[i], strlen(names[i]));
}

static void location(struct protobuf *b, uint64_t id, uint64_t mapping, uint64_t address,
		     uint64_t function)
{
	size_t message = protobuf_open(b, PPROF_LOCATION);

	protobuf_uint(b, 1, id);
	if (mapping)
		protobuf_uint(b, 2, mapping);
	if (address)
		protobuf_uint(b, 3, address);
	if (function)
		NUMBERS(b, 4, { 1, function }, { 2, 10 });
	protobuf_close(b, message);
}

static void label(struct protobuf *b, uint64_t key, uint64_t text, uint64_t number)
{
	NUMBERS(b, PPROF_SAMPLE_LABEL, { 1, key }, { text ? 2 : 3, text ? text : number });
}

/* All that most profiles have: functions 1 main and 2 leaf at locations 1 and 2. */
static void base(struct protobuf *b)
{
	NUMBERS(b, PPROF_SAMPLE_TYPE, { 1, SAMPLES }, { 2, COUNT });
	NUMBERS(b, PPROF_MAPPING, { 1, 1 }, { 2, 0x400000 }, { 3, 0x500000 }, { 4, 0x1000 },
		{ 5, PATH });
	location(b, 1, 1, 0x400010, 1);
	location(b, 2, 1, 0x400020, 2);
	NUMBERS(b, PPROF_FUNCTION, { 1, 1 }, { 2, MAIN }, { 4, FILE_C });
	NUMBERS(b, PPROF_FUNCTION, { 1, 2 }, { 2, LEAF }, { 4, FILE_C });
	strings(b);
}

/* What a profile says folded, or the error. The bytes are freed. */
static char *folded(struct protobuf *b)
{
	static const struct output_options annotate = { .annotate = 1 };
	struct profile *p = profile_new();
	struct error e = { 0 };
	/* just as large, so that one byte beyond is seen */
	char *exact = malloc(b->n ? b->n : 1), *text;

	if (b->n)
		memcpy(exact, b->v, b->n);
	text = pprof_read(p, exact, b->n, &(struct input_notes){ 0 }, &e) ? strdup(e.text) :
		stacks_output(p, "folded", &annotate);
	free(exact);
	profile_free(p);
	protobuf_free(b);
	return text;
}

#define CHECK_FOLDED(b, expected) do { \
	char *text_ = folded(b); \
	CHECK_STR(text_, expected); \
	free(text_); \
} while (0)

static struct profile *profile_of(struct protobuf *b)
{
	struct profile *p = profile_new();
	struct error e = { 0 };

	CHECK(pprof_looks((const char *)b->v, b->n));
	CHECK_EQ(pprof_read(p, (const char *)b->v, b->n, &(struct input_notes){ 0 }, &e), 0);
	CHECK_STR(e.text, "");
	protobuf_free(b);
	return p;
}

/* --- What is read. ---------------------------------------------------------------- */

TEST(samples_packed_or_not_before_or_behind_their_tables)
{
	struct protobuf b = { 0 };

	NUMBERS(&b, PPROF_SAMPLE, { 1, 2 }, { 1, 1 }, { 2, 5 });
	base(&b);
	protobuf_bytes(&b, PPROF_SAMPLE, "\x0a\x02\x02\x01\x12\x01\x02", 7);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 1 }, { 2, 1 });
	CHECK_FOLDED(&b, "app;main 1\napp;main;leaf 7\n");
}

TEST(labels_name_threads_and_processes)
{
	struct protobuf b = { 0 };
	struct profile_view v;
	struct profile *p;
	size_t sample;

	base(&b);
	sample = protobuf_open(&b, PPROF_SAMPLE);
	protobuf_uint(&b, 1, 1);
	protobuf_uint(&b, 2, 3);
	label(&b, PID, 0, 42);
	label(&b, TID, 0, 0);	/* none */
	label(&b, TID, 0, 43);
	label(&b, THREAD, POOL, 0);
	label(&b, PROCESS, LEAF, 0);
	label(&b, STATE, MAIN, 0);
	label(&b, PID, 0, -1ull);
	protobuf_close(&b, sample);
	p = profile_of(&b);
	v = profile_view(p);
	CHECK_EQ(v.nthreads, 1);
	CHECK_EQ(v.threads[0].tid, 43);
	CHECK_STR(profile_text(p, v.threads[0].comm), "pool 1");
	CHECK_EQ(v.processes[0].pid, 42);
	CHECK_STR(profile_text(p, v.processes[0].comm), "leaf");
	/* A second pid, and no such number: a label like any other. */
	CHECK_EQ(v.nlabels, 2);
	CHECK_EQ(v.account->kept, 3);
	profile_free(p);
}

TEST(types_and_which_is_shown)
{
	for (int named = 0; named < 2; named++) {
		struct protobuf b = { 0 };
		struct profile *p;

		base(&b);
		NUMBERS(&b, PPROF_SAMPLE_TYPE, { 1, SPACE }, { 2, BYTES });
		NUMBERS(&b, PPROF_SAMPLE, { 1, 1 }, { 2, 2 }, { 2, 4096 });
		if (named)
			protobuf_uint(&b, PPROF_DEFAULT_TYPE, SAMPLES);
		p = profile_of(&b);
		CHECK_EQ(profile_view(p).ntypes, 2);
		CHECK_EQ(profile_view(p).total, named ? 2 : 4096);
		CHECK_STR(profile_text(p, profile_view(p).types[1].unit), "bytes");
		profile_free(p);
	}
}

TEST(time_and_period)
{
	struct protobuf b = { 0 };
	const struct profile_meta *m;
	struct profile *p;

	base(&b);
	protobuf_uint(&b, PPROF_TIME, 1234567890123);
	protobuf_uint(&b, PPROF_DURATION, -5ull);
	NUMBERS(&b, PPROF_PERIOD_TYPE, { 1, SPACE }, { 2, BYTES });
	protobuf_uint(&b, PPROF_PERIOD, 524288);
	p = profile_of(&b);
	m = profile_view(p).meta;
	CHECK_EQ(m->start, 1234567890123);
	CHECK_EQ(m->duration, 0);
	CHECK_EQ(m->period, 524288);
	CHECK_EQ(m->frequency, 0);
	CHECK_STR(m->event, "space");
	profile_free(p);
}

/* Offsets in files; a location that has no lines, no mapping, or no address of its own. */
TEST(addresses)
{
	struct protobuf b = { 0 };
	struct profile_view v;
	struct profile *p;

	base(&b);
	location(&b, 77, 1, 0x400100, 0);
	location(&b, UINT64_MAX, 0, 0xbeef, 0);
	location(&b, 4, 0, 0, 1);
	location(&b, 5, 0, 0, 2);
	location(&b, 6, 0, 1ull << 48, 2);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 77 }, { 1, UINT64_MAX }, { 2, 1 });
	NUMBERS(&b, PPROF_SAMPLE, { 1, 5 }, { 1, 4 }, { 2, 1 });
	p = profile_of(&b);
	v = profile_view(p);
	CHECK_EQ(v.nlocations, 7);
	CHECK_EQ(v.locations[0].address, 0x1010);
	CHECK_EQ(v.locations[2].address, 0x1100);
	CHECK_STR(profile_text(p, v.locations[2].why), "no name in the profile");
	CHECK_EQ(v.locations[3].address, 0xbeef);
	CHECK_EQ(v.locations[3].nlines, 0);
	CHECK_EQ(v.locations[5].address, 1ull << 48);
	CHECK_EQ(v.locations[6].address, (1ull << 48) + 1);
	CHECK_OUTPUT(p, "folded", NULL, "app;[unknown];[app+0x1100] 1\napp;main;leaf 1\n");
	profile_free(p);
}

/* Of what another tool left of a profile of ours: kinds are guessed by names. */
TEST(kinds_are_guessed)
{
	struct protobuf b = { 0 };

	base(&b);
	protobuf_bytes(&b, PPROF_STRING, "[kernel.kallsyms]", 17);
	protobuf_bytes(&b, PPROF_STRING, "[truncated: depth]", 18);
	protobuf_bytes(&b, PPROF_STRING, "[no stack]", 10);
	NUMBERS(&b, PPROF_MAPPING, { 1, 2 }, { 5, NAMES });
	NUMBERS(&b, PPROF_FUNCTION, { 1, 3 }, { 2, NAMES + 1 });
	NUMBERS(&b, PPROF_FUNCTION, { 1, 4 }, { 2, NAMES + 2 });
	location(&b, 3, 2, 0x5000, 2);
	location(&b, 4, 0, 0, 3);
	location(&b, 5, 0, 0, 4);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 3 }, { 1, 4 }, { 2, 1 });
	NUMBERS(&b, PPROF_SAMPLE, { 1, 5 }, { 2, 2 });
	CHECK_FOLDED(&b, "app 2\napp;[truncated: depth];leaf_[k] 1\n");
}

TEST(inlined_frames_are_lines)
{
	struct protobuf b = { 0 };
	size_t message;

	base(&b);
	message = protobuf_open(&b, PPROF_LOCATION);
	protobuf_uint(&b, 1, 3);
	NUMBERS(&b, 4, { 1, 2 });
	NUMBERS(&b, 4, { 1, 1 });
	protobuf_close(&b, message);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 3 }, { 2, 1 });
	CHECK_FOLDED(&b, "app;main;leaf_[i] 1\n");
}

/*
 * Of a location that says that 100 functions are inlined there, the function that the code lies in
 * and 64 others are left.
 */
TEST(lines_of_a_location_are_bounded)
{
	struct protobuf b = { 0 };
	struct profile_view v;
	struct profile *p;
	size_t message;

	base(&b);
	message = protobuf_open(&b, PPROF_LOCATION);
	protobuf_uint(&b, 1, 3);
	for (int i = 0; i < 100; i++)
		NUMBERS(&b, 4, { 1, 2 });
	NUMBERS(&b, 4, { 1, 1 });
	protobuf_close(&b, message);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 3 }, { 2, 1 });
	p = profile_of(&b);
	v = profile_view(p);
	CHECK_EQ(v.locations[2].nlines, 65);
	CHECK_STR(profile_text(p, v.functions[v.lines[v.nlines - 1].function].name), "main");
	CHECK_STR(profile_text(p, v.functions[v.lines[v.nlines - 65].function].name), "leaf");
	profile_free(p);
}

TEST(texts_are_cleaned)
{
	struct protobuf b = { 0 };

	base(&b);
	protobuf_bytes(&b, PPROF_STRING, "a\033[31m\0b\xff\n", 10);
	NUMBERS(&b, PPROF_FUNCTION, { 1, 3 }, { 3, NAMES });
	location(&b, 3, 1, 0x400030, 3);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 3 }, { 2, 1 });
	CHECK_FOLDED(&b, "app;a\\x1b[31m\xef\xbf\xbd" "b\xef\xbf\xbd\\n 1\n");
}

TEST(comments_are_ours_or_the_users)
{
	static const char *const comments[] = {
		"ebprof: cpus=12",
		"ebprof: taken=9",
		"ebprof: truncated=3 no CFI",
		"ebprof: lost=2 ring buffer full",
		"ebprof: comment=ebprof: cpus=7",
		"a remark",
		"ebprof: cpus=many",
		"ebprof: nothing",
		"ebprof: per-thread=1",
		"ebprof: frequency=99999999999999999999",
		"ebprof: title=a=b",
	};
	struct protobuf b = { 0 };
	struct profile_view v;
	struct profile *p;

	base(&b);
	for (size_t i = 0; i < sizeof(comments) / sizeof(*comments); i++) {
		protobuf_bytes(&b, PPROF_STRING, comments[i], strlen(comments[i]));
		protobuf_uint(&b, PPROF_COMMENT, NAMES + i);
	}
	p = profile_of(&b);
	v = profile_view(p);
	CHECK_EQ(v.meta->cpus, 12);
	CHECK_EQ(v.meta->frequency, 0);
	CHECK_EQ(v.meta->per_thread, 1);
	CHECK_STR(profile_text(p, v.meta->title), "a=b");
	CHECK_EQ(v.account->taken, 9);
	CHECK_STR(v.account->truncated[0].name, "no CFI");
	CHECK_EQ(v.account->lost[0].count, 2);
	CHECK_EQ(v.ncomments, 5);
	CHECK_STR(profile_text(p, v.comments[0]), "ebprof: cpus=7");
	CHECK_STR(profile_text(p, v.comments[1]), "a remark");
	profile_free(p);
}

/* --- What is refused. -------------------------------------------------------------- */

#define REFUSED(error, ...) do { \
	struct protobuf b = { 0 }; \
	base(&b); \
	__VA_ARGS__; \
	CHECK_FOLDED(&b, "pprof profile: " error); \
} while (0)

TEST(what_makes_no_sense_is_an_error)
{
	REFUSED("a location is not in its table", NUMBERS(&b, PPROF_SAMPLE, { 1, 3 }, { 2, 1 }));
	REFUSED("a location is not in its table", NUMBERS(&b, PPROF_SAMPLE, { 1, 0 }, { 2, 1 }));
	REFUSED("a function is not in its table", location(&b, 3, 0, 0, UINT64_MAX));
	REFUSED("a mapping is not in its table", location(&b, 3, 9, 0, 1));
	REFUSED("a text is not in its table", NUMBERS(&b, PPROF_FUNCTION, { 1, 3 }, { 2, NAMES }));
	REFUSED("a text is not in its table",
		NUMBERS(&b, PPROF_FUNCTION, { 1, 3 }, { 2, UINT64_MAX }));
	REFUSED("two things have one id", NUMBERS(&b, PPROF_FUNCTION, { 1, 1 }, { 2, MAIN }));
	REFUSED("two things have one id", location(&b, 2, 0, 0, 1));
	REFUSED("an id is 0", NUMBERS(&b, PPROF_MAPPING, { 5, PATH }));
	REFUSED("a sample has not one value of each type", NUMBERS(&b, PPROF_SAMPLE, { 1, 1 }));
	REFUSED("a sample has not one value of each type",
		NUMBERS(&b, PPROF_SAMPLE, { 1, 1 }, { 2, 1 }, { 2, 1 }));
	REFUSED("negative values, as of a difference, which cannot be shown",
		NUMBERS(&b, PPROF_SAMPLE, { 1, 1 }, { 2, -1ull }));
	REFUSED("a sample is damaged", protobuf_bytes(&b, PPROF_SAMPLE, "\x0a\x05", 2));
	REFUSED("a message in it is damaged", protobuf_bytes(&b, PPROF_FUNCTION, "\x08", 1));
	REFUSED("it is cut off, or damaged", protobuf_varint(&b, 0x0a));
	REFUSED("too many types of values",
		for (int i = 0; i < 100; i++)
			NUMBERS(&b, PPROF_SAMPLE_TYPE, { 1, SPACE }));
}

/* A profile of ours, with a sample of three and this timeline (profile/timeline.h). */
static void add_timeline(struct protobuf *b, const char *bytes, size_t n)
{
	size_t sample = protobuf_open(b, PPROF_SAMPLE);

	protobuf_uint(b, 1, 1);
	protobuf_uint(b, 2, 3);
	protobuf_bytes(b, PPROF_SAMPLE_TIMELINE, bytes, n);
	protobuf_close(b, sample);
	protobuf_bytes(b, PPROF_STRING, "ebprof: kept=3", 14);
	protobuf_uint(b, PPROF_COMMENT, NAMES);
}
#define TIMELINE(bytes) add_timeline(&b, bytes, sizeof(bytes) - 1)

TEST(a_timeline_is_read)
{
	struct protobuf b = { 0 };
	struct profile *p;

	base(&b);
	/* Units of 5 ns; of CPU 2 a moment, of CPU 1 two at once, of CPU 0 a span. */
	TIMELINE("\x05\x00" "\x06\x01\x02" "\x02\x40" "\x04\x01\x03" "\x04\x40\x02"
		 "\x02\x01\x03" "\x12\x40\x06");
	p = profile_of(&b);
	CHECK_EQ(profile_view(p).nticks, 3);
	CHECK_EQ(profile_view(p).ticks[0].time, 5);
	CHECK_EQ(profile_view(p).ticks[0].cpu, 2);
	CHECK_EQ(profile_view(p).ticks[1].time, 10);
	CHECK_EQ(profile_view(p).ticks[1].value, 2);
	CHECK_EQ(profile_view(p).ticks[2].time, 15);
	CHECK_EQ(profile_view(p).ticks[2].span, 30);
	profile_free(p);
	REFUSED("its timeline is damaged", TIMELINE(""));
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x06\x01\x03" "\x02\x40"));
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x06\x02\x02" "\x02\x40"));
	/* No such sample: one not among the last ones, the second of one, one that is negative. */
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x06\x01\x02" "\x02\x00"));
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x06\x01\x02" "\x02\x42"));
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x06\x01\x02" "\x02\x41"));
	/* Before the beginning; a span that began before it; a CPU that there is not. */
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x06\x01\x02" "\x03\x40"));
	REFUSED("its timeline is damaged", TIMELINE("\x05\x00" "\x02\x01\x03" "\x02\x40\x02"));
	REFUSED("its timeline is damaged",
		TIMELINE("\x05\x00" "\xff\xff\x7f\x01\x02" "\x02\x40"));
}

/* What has the number of one of our fields in another's profile means something else. */
TEST(fields_of_ours_are_not_heeded_in_others)
{
	struct protobuf b = { 0 };

	base(&b);
	NUMBERS(&b, PPROF_FUNCTION, { 1, 3 }, { 2, MAIN }, { PPROF_FUNCTION_KIND, FRAME_KERNEL },
		{ PPROF_FUNCTION_MODULE, 99 });
	location(&b, 3, 1, 0x400030, 3);
	NUMBERS(&b, PPROF_SAMPLE, { 1, 3 }, { 2, 3 }, { PPROF_SAMPLE_TIMELINE, 5 });
	CHECK_FOLDED(&b, "app;main 3\n");
}

TEST(deep_stacks)
{
	enum { MOST = 1 << 20 };

	for (int more = 0; more < 2; more++) {
		struct protobuf b = { 0 };
		size_t sample, stack;
		char *text;

		base(&b);
		sample = protobuf_open(&b, PPROF_SAMPLE);
		stack = protobuf_open(&b, 1);
		for (int i = 0; i < MOST + more; i++)
			protobuf_varint(&b, 1);
		protobuf_close(&b, stack);
		protobuf_uint(&b, 2, 1);
		protobuf_close(&b, sample);
		text = folded(&b);
		CHECK(more ? !strcmp(text, "pprof profile: a stack is too deep")
			   : !strncmp(text, "app;main;main;", 14));
		CHECK_EQ(strlen(text), more ? 34 : 3 + 5 * MOST + 3);
		free(text);
	}
}

/* A valid profile that ends anywhere: read as far as it is whole, or one error. */
TEST(cut_anywhere)
{
	struct protobuf whole = { 0 }, part = { 0 };

	base(&whole);
	NUMBERS(&whole, PPROF_SAMPLE, { 1, 2 }, { 1, 1 }, { 2, 5 });
	for (size_t n = 0; n < whole.n; n++) {
		char *text;

		protobuf_raw(&part, whole.v, n);
		text = folded(&part);
		CHECK(!*text || !strncmp(text, "pprof profile: ", 15));
		free(text);
	}
	protobuf_free(&whole);
}

TEST(looks_like_one)
{
	struct protobuf b = { 0 };

	base(&b);
	CHECK(pprof_looks((const char *)b.v, b.n));
	CHECK(pprof_looks((const char *)b.v, b.n - 1));		/* cut: its reader says so */
	protobuf_free(&b);
	CHECK(pprof_looks("\x32\x00", 2));
#define TEXT_LOOKS(text) pprof_looks(text, sizeof(text) - 1)
	CHECK(!TEXT_LOOKS("x\n"));
	CHECK(!TEXT_LOOKS(""));
	CHECK(!TEXT_LOOKS("comm;main;leaf 12\n"));
	CHECK(!TEXT_LOOKS("2 3\n2 3\n"));
	CHECK(!TEXT_LOOKS("python;main 1\n"));
	CHECK(!TEXT_LOOKS("\n\nprogram 1/2 [000] 1.5: cpu-clock:\n"));
	CHECK(!TEXT_LOOKS("{\"a\": 1}"));
	CHECK(!TEXT_LOOKS("\x1f\x8b\x08\x00"));
}

int main(void)
{
	RUN(samples_packed_or_not_before_or_behind_their_tables);
	RUN(labels_name_threads_and_processes);
	RUN(types_and_which_is_shown);
	RUN(time_and_period);
	RUN(addresses);
	RUN(kinds_are_guessed);
	RUN(inlined_frames_are_lines);
	RUN(lines_of_a_location_are_bounded);
	RUN(texts_are_cleaned);
	RUN(comments_are_ours_or_the_users);
	RUN(what_makes_no_sense_is_an_error);
	RUN(a_timeline_is_read);
	RUN(fields_of_ours_are_not_heeded_in_others);
	RUN(deep_stacks);
	RUN(cut_anywhere);
	RUN(looks_like_one);
	return TEST_END();
}
