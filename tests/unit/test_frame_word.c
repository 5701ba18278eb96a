/* SPDX-License-Identifier: MIT */
#include "session/frame_word.h"

#include "unit/test.h"

TEST(reads_code_in_files_and_in_processes)
{
	const __u64 words[] = { EBP_FRAME(7, 0x1234), 0x00ffffffffffffff };
	struct frame_word f;

	CHECK_EQ(frame_word_read(words, 2, &f), 1);
	CHECK_EQ(f.where, FRAME_IN_FILE);
	CHECK_EQ(f.image, 7);
	CHECK_EQ(f.address, 0x1234);
	CHECK_EQ(f.kind, FRAME_USER);
	CHECK_EQ(frame_word_read(words + 1, 1, &f), 1);
	CHECK_EQ(f.where, FRAME_IN_PROCESS);
	CHECK_EQ(f.address, 0x00ffffffffffffff);
	CHECK_EQ(f.language, EBP_LANGUAGE_NONE);
	CHECK_EQ(frame_word_read(words, 0, &f), 0);
}

/* A wild pointer must not read as another process's file, nor as a frame of an interpreter. */
TEST(keeps_wild_addresses_apart)
{
	static const __u64 wild[] = { 1ull << 56, 0x4141414141414141, 1ull << 63,
				      0xffffffffff600123, ~0ull };
	struct frame_word f;

	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		__u64 word = EBP_FRAME_WILD(wild[i]);

		CHECK_EQ(frame_word_read(&word, 1, &f), 1);
		CHECK_EQ(f.where, FRAME_NOWHERE);
		CHECK_EQ(f.address << 24, wild[i] << 24);
	}
	CHECK_EQ(EBP_FRAME_WILD(0xffffffffff600123), 0xffffffffff600123);
	CHECK_EQ(EBP_FRAME_WILD(0x7fff12345678ull), 0x7fff12345678);
}

TEST(reads_frames_of_interpreters)
{
	const __u64 words[] = { EBP_FRAME_LANGUAGE(EBP_LANGUAGE_PYTHON, 2, 0x7fff12345678),
				EBP_FRAME_MORE(~0ull), EBP_FRAME(1, 2),
				EBP_FRAME_LANGUAGE(EBP_LANGUAGE_PYTHON, EBP_FRAME_WORDS_MAX, 5ull),
				1, 2, 3, 4 };
	struct frame_word f;

	CHECK_EQ(frame_word_read(words, 8, &f), 2);
	CHECK_EQ(f.where, FRAME_IN_PROCESS);
	CHECK_EQ(f.kind, FRAME_PYTHON);
	CHECK_EQ(f.language, EBP_LANGUAGE_PYTHON);
	CHECK_EQ(f.address, 0x7fff12345678);
	CHECK_EQ(f.nmore, 1);
	CHECK_EQ(f.more[0], ~0ull >> 1);
	CHECK_EQ(frame_word_read(words + 3, 5, &f), EBP_FRAME_WORDS_MAX);
	CHECK_EQ(f.nmore, 4);
	CHECK_EQ(f.more[3], 4);
	/* A stack that is one process's by any of its words. */
	CHECK(EBP_FRAME_IS_OF_PROCESS(words[0]) && EBP_FRAME_IS_OF_PROCESS(words[1]));
}

TEST(leaves_out_a_frame_that_is_cut)
{
	const __u64 words[] = { EBP_FRAME_LANGUAGE(EBP_LANGUAGE_PYTHON, 3, 1ull), 1, 2 };
	struct frame_word f;

	CHECK_EQ(frame_word_read(words, 1, &f), 0);
	CHECK_EQ(frame_word_read(words, 2, &f), 0);
	CHECK_EQ(frame_word_read(words, 3, &f), 3);
}

TEST(bears_an_unknown_language)
{
	const __u64 words[] = { EBP_FRAME_LANGUAGE(EBP_LANGUAGE_MASK, 2, 9ull), 1 };
	struct frame_word f;

	CHECK_EQ(frame_word_read(words, 2, &f), 2);
	CHECK_EQ(f.language, EBP_LANGUAGE_NONE);
	CHECK_EQ(f.kind, FRAME_USER);
	CHECK_EQ(f.address, 9);
}

int main(void)
{
	RUN(reads_code_in_files_and_in_processes);
	RUN(keeps_wild_addresses_apart);
	RUN(reads_frames_of_interpreters);
	RUN(leaves_out_a_frame_that_is_cut);
	RUN(bears_an_unknown_language);
	return TEST_END();
}
