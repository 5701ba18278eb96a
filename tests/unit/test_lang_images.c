/* SPDX-License-Identifier: MIT */
/*
 * The steps over frames of Ruby, PHP, Perl and Lua in images of processes (tests/unit/images): of
 * versions that are not on this machine, and on a machine of another kind.
 */
#include <glob.h>

#include "test.h"
#include "unit/lang_image.h"

#define IMAGES "tests/unit/images/*.image"

static const char *path;

TEST(replays)
{
	static struct image m, expected;

	CHECK(!image_load(path, &m));
	expected = m;
	CHECK(expected.nframes >= 4);
	image_walk(&m);
	CHECK_EQ(m.nframes, expected.nframes);
	for (size_t i = 0; i < m.nframes && i < expected.nframes; i++) {
		CHECK_STR(m.frames[i].name, expected.frames[i].name);
		CHECK_EQ(m.frames[i].line, expected.frames[i].line);
	}
	if (!test_ok)
		printf("in %s\n", path);
	image_free(&m);
}

/* Each piece taken away: what is read then may end, but is never another. */
TEST(without_a_piece)
{
	static struct image m, expected;

	CHECK(!image_load(path, &m));
	expected = m;
	for (size_t i = 0; i < m.pieces.n; i++) {
		size_t n = m.pieces.v[i].n;

		m.pieces.v[i].n = 0;
		image_walk(&m);
		m.pieces.v[i].n = n;
		CHECK(m.nframes <= IMAGE_FRAMES);
	}
	image_walk(&m);
	CHECK_EQ(m.nframes, expected.nframes);
	image_free(&m);
}

int main(void)
{
	glob_t found = { 0 };

	if (glob(IMAGES, 0, NULL, &found)) {
		printf("no " IMAGES "\n");
		return 1;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		path = found.gl_pathv[i];
		RUN(replays);
		RUN(without_a_piece);
	}
	globfree(&found);
	return TEST_END();
}
