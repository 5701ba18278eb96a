/* SPDX-License-Identifier: MIT */
#include "session/frame_word.h"

static const enum frame_kind kinds[EBP_LANGUAGES] = {
	[EBP_LANGUAGE_NONE] = FRAME_USER,
	[EBP_LANGUAGE_PYTHON] = FRAME_PYTHON,
};

static uint32_t bits(uint64_t word, int shift, uint64_t mask)
{
	return (uint32_t)(word >> shift & mask);
}

uint32_t frame_word_read(const __u64 *words, uint32_t n, struct frame_word *out)
{
	uint32_t language;
	uint64_t word;

	*out = (struct frame_word){ .kind = FRAME_USER };
	if (!n)
		return 0;
	word = words[0];
	if (!EBP_FRAME_IS_OF_PROCESS(word)) {
		out->image = EBP_FRAME_IMAGE_OF(word);
		out->where = out->image == EBP_IMAGE_NONE ? FRAME_NOWHERE : FRAME_IN_FILE;
		out->address = out->where == FRAME_IN_FILE ? word & ((1ull << EBP_OFFSET_BITS) - 1)
							   : word;
		return 1;
	}
	out->where = FRAME_IN_PROCESS;
	out->address = word & EBP_ADDRESS_MASK;
	language = bits(word, EBP_LANGUAGE_SHIFT, EBP_LANGUAGE_MASK);
	if (language == EBP_LANGUAGE_NONE)
		return 1;
	out->nmore = bits(word, EBP_MORE_SHIFT, EBP_MORE_MASK) + 1;
	out->more = words + 1;
	if (language < EBP_LANGUAGES) {
		out->language = (enum ebp_language)language;
		out->kind = kinds[language];
	}
	return out->nmore < n ? 1 + out->nmore : 0;
}
