/* SPDX-License-Identifier: MIT */
#include "session/frame_word.h"

#include "lang/lang.h"
#include "profile/frame_kind.h"
#include "unit/test.h"

TEST(reads_code_in_files_and_in_processes)
{
	struct frame_word f;

	frame_word_read(EBP_FRAME(7, 0x1234), &f);
	CHECK_EQ(f.where, FRAME_IN_FILE);
	CHECK_EQ(f.image, 7);
	CHECK_EQ(f.address, 0x1234);
	CHECK_EQ(f.kind, FRAME_USER);
	frame_word_read(0x00ffffffffffffff, &f);
	CHECK_EQ(f.where, FRAME_IN_PROCESS);
	CHECK_EQ(f.address, 0x00ffffffffffffff);
	CHECK_EQ(f.language, EBP_LANGUAGE_NONE);
}

/* A wild pointer must not read as another process's file, nor as a frame of an interpreter. */
TEST(keeps_wild_addresses_apart)
{
	static const __u64 wild[] = { 1ull << 56, 0x4141414141414141, 1ull << 63,
				      0xffffffffff600123, ~0ull };
	struct frame_word f;

	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		frame_word_read(EBP_FRAME_WILD(wild[i]), &f);
		CHECK_EQ(f.where, FRAME_NOWHERE);
		CHECK_EQ(f.address << 24, wild[i] << 24);
	}
	CHECK_EQ(EBP_FRAME_WILD(0xffffffffff600123), 0xffffffffff600123);
	CHECK_EQ(EBP_FRAME_WILD(0x7fff12345678ull), 0x7fff12345678);
}

TEST(reads_frames_of_interpreters)
{
	uint64_t word = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, 0x1234567890, 77);
	struct frame_word f;

	frame_word_read(word | EBP_FRAME_ENTRY, &f);
	CHECK_EQ(f.where, FRAME_IN_CODE);
	CHECK_EQ(f.kind, FRAME_PYTHON);
	CHECK_EQ(f.language, EBP_LANGUAGE_PYTHON);
	CHECK_EQ(f.code, 0x1234567890);
	CHECK_EQ(f.place, 77);
	CHECK(EBP_FRAME_IS_OF_CODE(word) && EBP_FRAME_IS_OF_PROCESS(word));
	CHECK(!EBP_FRAME_IS_OF_CODE(EBP_FRAME(1, 2)) && !EBP_FRAME_IS_OF_CODE(0x7fff12345678ull));
}

TEST(each_language_has_frames_of_its_own_kind)
{
	struct frame_word f;

	for (__u64 i = 0; i < EBP_LANGUAGES; i++) {
		/* What LuaJIT runs is Lua. */
		__u64 of = i == EBP_LANGUAGE_LUAJIT ? EBP_LANGUAGE_LUA : i;

		if (!lang_rows[i])
			continue;
		frame_word_read(EBP_FRAME_OF_CODE(i, 9, EBP_PLACE_NONE), &f);
		CHECK_STR(frame_kinds[f.kind].text, lang_rows[of]->name);
	}
}

TEST(traces_are_marked)
{
	uint64_t word = EBP_FRAME_OF_CODE(EBP_LANGUAGE_LUAJIT, 9, 7);
	struct frame_word f;

	frame_word_read(word, &f);
	CHECK_EQ(f.kind, FRAME_LUA);
	frame_word_read(word | EBP_FRAME_TRACE, &f);
	CHECK_EQ(f.kind, FRAME_LUA_TRACE);
	CHECK_EQ(f.code, 9);
	CHECK_EQ(f.place, 7);
}

TEST(bears_an_unknown_language)
{
	struct frame_word f;

	frame_word_read(EBP_FRAME_OF_CODE(EBP_LANGUAGE_MASK, 9, EBP_PLACE_NONE), &f);
	CHECK_EQ(f.where, FRAME_IN_CODE);
	CHECK_EQ(f.language, EBP_LANGUAGE_MASK);
	CHECK_EQ(f.kind, FRAME_USER);
	CHECK_EQ(f.code, 9);
	CHECK_EQ(f.place, EBP_PLACE_NONE);
}

int main(void)
{
	RUN(reads_code_in_files_and_in_processes);
	RUN(keeps_wild_addresses_apart);
	RUN(reads_frames_of_interpreters);
	RUN(each_language_has_frames_of_its_own_kind);
	RUN(traces_are_marked);
	RUN(bears_an_unknown_language);
	return TEST_END();
}
