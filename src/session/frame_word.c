/* SPDX-License-Identifier: MIT */
#include "session/frame_word.h"

static const enum frame_kind kinds[EBP_LANGUAGES] = {
	[EBP_LANGUAGE_NONE] = FRAME_USER,
	[EBP_LANGUAGE_PYTHON] = FRAME_PYTHON,
	[EBP_LANGUAGE_RUBY] = FRAME_RUBY,
	[EBP_LANGUAGE_PHP] = FRAME_PHP,
	[EBP_LANGUAGE_PERL] = FRAME_PERL,
	[EBP_LANGUAGE_LUA] = FRAME_LUA,
	[EBP_LANGUAGE_V8] = FRAME_JAVASCRIPT,
	[EBP_LANGUAGE_HOTSPOT] = FRAME_JAVA,
	[EBP_LANGUAGE_LUAJIT] = FRAME_LUA,
};

static void read_image(uint64_t word, struct frame_word *out)
{
	out->image = EBP_FRAME_IMAGE_OF(word);
	out->where = out->image == EBP_IMAGE_NONE ? FRAME_NOWHERE : FRAME_IN_FILE;
	out->address = out->where == FRAME_IN_FILE ? word & ((1ull << EBP_OFFSET_BITS) - 1) : word;
}

static void read_code(uint64_t word, struct frame_word *out)
{
	uint32_t language = EBP_FRAME_LANGUAGE_OF(word);

	out->where = FRAME_IN_CODE;
	out->code = EBP_FRAME_CODE_OF(word);
	out->place = (uint32_t)word & EBP_PLACE_NONE;
	out->language = (enum ebp_language)language;
	out->kind = language == EBP_LANGUAGE_LUAJIT && word & EBP_FRAME_TRACE ? FRAME_LUA_TRACE
									      : kinds[language];
}

void frame_word_read(uint64_t word, struct frame_word *out)
{
	*out = (struct frame_word){ .kind = FRAME_USER };
	if (!EBP_FRAME_IS_OF_PROCESS(word)) {
		read_image(word, out);
	} else if (EBP_FRAME_IS_OF_CODE(word)) {
		read_code(word, out);
	} else {
		out->where = FRAME_IN_PROCESS;
		out->address = word & EBP_ADDRESS_MASK;
	}
}
