/* SPDX-License-Identifier: MIT */
/* What each reader takes of the room, which is small here. */
#include "unit/test.h"

#include <errno.h>

#include "input/room.h"
#undef ROOM_MAX
#define ROOM_MAX 1000
#include "input/room.c"

#include "base/protobuf.h"
#include "base/vec.h"
#include "input/readers.h"
#include "profile/pprof.h"

typedef int reader(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		   struct error *e);

/* What @read returns for @n lines of @format, which takes a number or does not. */
static int read_lines(reader *read, const char *format, int n)
{
	struct profile *p = profile_new();
	struct error e = { 0 };
	VEC(char) text = { 0 };
	int err;

	for (int i = 0; i < n; i++) {
		vec_reserve(&text, text.n + 64);
		text.n += (size_t)snprintf(text.v + text.n, 64, format, i);
	}
	err = read(p, text.v, text.n, &(struct input_notes){ 0 }, &e);
	CHECK_EQ(err != 0, strstr(e.text, "too many different frames") != NULL);
	vec_free(&text);
	profile_free(p);
	return err;
}

TEST(threads_and_samples)
{
	CHECK_EQ(read_lines(folded_read, "x%d 1\n", 200), 0);
	CHECK_EQ(read_lines(folded_read, "x%d 1\n", 300), -E2BIG);
	CHECK_EQ(read_lines(perf_script_read, "x %d cycles:\n\t1 f (a)\n\n", 200), 0);
	CHECK_EQ(read_lines(perf_script_read, "x %d cycles:\n\t1 f (a)\n\n", 400), -E2BIG);
}

TEST(frames)
{
	CHECK_EQ(read_lines(folded_read, "x;f%d 1\n", 150), 0);
	CHECK_EQ(read_lines(folded_read, "x;f%d 1\n", 300), -E2BIG);
	CHECK_EQ(read_lines(folded_read, "a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;%d 1\n",
			    20),
		 0);
}

TEST(ticks)
{
	CHECK_EQ(read_lines(perf_script_read, "x 1/1 5.%06d: cycles:\n\t1 f (a)\n\n", 900), 0);
	CHECK_EQ(read_lines(perf_script_read, "x 1/1 5.%06d: cycles:\n\t1 f (a)\n\n", 1100),
		 -E2BIG);
}

/* However long the text is. */
TEST(what_is_there_already_takes_nothing)
{
	CHECK_EQ(read_lines(folded_read, "x;f;g 1\n", 5000), 0);
	CHECK_EQ(read_lines(perf_script_read, "x 1 cycles:\n\t1 f (a)\n\n", 5000), 0);
}

static void message(struct protobuf *b, uint32_t field, uint32_t first, uint64_t a, uint32_t second,
		    uint64_t c)
{
	size_t at = protobuf_open(b, field);

	protobuf_uint(b, first, a);
	protobuf_uint(b, second, c);
	protobuf_close(b, at);
}

/* A stack of @depth times a location of @lines. */
static int read_pprof(int depth, int lines)
{
	struct profile *p = profile_new();
	struct protobuf b = { 0 };
	struct error e = { 0 };
	size_t at;
	int err;

	message(&b, PPROF_SAMPLE_TYPE, 1, 1, 2, 1);
	message(&b, PPROF_FUNCTION, 1, 1, 2, 1);
	at = protobuf_open(&b, PPROF_LOCATION);
	protobuf_uint(&b, 1, 1);
	for (int i = 0; i < lines; i++)
		message(&b, PPROF_LOCATION_LINE, PPROF_LINE_FUNCTION, 1, PPROF_LINE_LINE, 1);
	protobuf_close(&b, at);
	at = protobuf_open(&b, PPROF_SAMPLE);
	for (int i = 0; i < depth; i++)
		protobuf_uint(&b, PPROF_SAMPLE_LOCATION, 1);
	protobuf_uint(&b, PPROF_SAMPLE_VALUE, 1);
	protobuf_close(&b, at);
	protobuf_bytes(&b, PPROF_STRING, "", 0);
	protobuf_bytes(&b, PPROF_STRING, "f", 1);
	err = pprof_read(p, (const char *)b.v, b.n, &(struct input_notes){ 0 }, &e);
	CHECK_STR(e.text, err ? "pprof profile: too large" : "");
	protobuf_free(&b);
	profile_free(p);
	return err;
}

TEST(a_node_is_all_frames_of_its_location)
{
	CHECK_EQ(read_pprof(900, 1), 0);
	CHECK_EQ(read_pprof(1100, 1), -EFBIG);
	CHECK_EQ(read_pprof(40, 20), 0);
	CHECK_EQ(read_pprof(60, 20), -EFBIG);
}

int main(void)
{
	RUN(threads_and_samples);
	RUN(frames);
	RUN(ticks);
	RUN(what_is_there_already_takes_nothing);
	RUN(a_node_is_all_frames_of_its_location);
	return TEST_END();
}
