/* SPDX-License-Identifier: MIT */
#include "lang/v8_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static int v8_read(struct v8_env *env, void *dst, uint32_t size, uint64_t address)
{
	return v8_memory(env, dst, size, address);
}

#define V8_OPAQUE(x) (void)(x)

#include "bpf/v8_describe.h"

static int v8_text_hop(struct v8_env *env, struct v8_state *s, const struct ebp_v8 *o,
		       struct v8_text *t, uint8_t *dst, uint32_t mask)
{
	return v8_text_step(env, s, o, t, dst, mask);
}

int v8_memory(struct v8_env *env, void *to, size_t size, uint64_t address)
{
	if (!env->reader->read || env->reads++ >= V8_READS_MAX)
		return -1;
	return env->reader->read(env->reader->ctx, env->pid, address, to, size);
}

uint64_t v8_memory_word(struct v8_env *env, uint64_t address)
{
	uint64_t word;

	return v8_memory(env, &word, sizeof(word), address) ? 0 : word;
}

int v8_memory_function(struct v8_env *env, const struct ebp_v8 *o, uint64_t at,
		       union v8_record *out)
{
	struct v8_state s = { .shared_at = at, .kind = EBP_V8_UNPLACED };

	memset(out, 0, sizeof(*out));
	out->code.language = EBP_LANGUAGE_V8;
	if (v8_object(env, s.shared, at) || v8_type_of(env, &s, s.shared[0]) != o->shared_type)
		return -1;
	v8_describe(env, &s, o, &out->code);
	return 0;
}

int v8_memory_string(struct v8_env *env, const struct ebp_v8 *o, uint64_t at,
		     struct v8_characters *out)
{
	struct v8_state s = { 0 };
	uint64_t skip = 0, length = UINT64_MAX;

	for (int i = 0; i < V8_HOPS; i++) {
		uint32_t type = v8_string(env, &s, o, at), shape = type & V8_STRING_SHAPE;
		uint64_t mine = s.object[1] >> 32, inside = at - 1 + V8_CHARACTERS;

		if (type == V8_NO_TYPE)
			return -1;
		length = mine < length ? mine : length;
		at = s.object[2];
		if (shape == V8_STRING_SLICED)
			skip += s.object[3] >> 32;
		if (shape != V8_STRING_IN_ITSELF && shape != V8_STRING_EXTERNAL)
			continue;
		out->width = type & V8_STRING_BYTES ? 1 : 2;
		out->length = length;
		out->address = (shape == V8_STRING_EXTERNAL ? s.object[3] : inside) +
			       skip * out->width;
		return 0;
	}
	return -1;
}

#define ALIGNMENT	64		/* bytes, of where instructions begin; 32 in old ones */
#define PIECE		16384		/* bytes of code that are searched at once */
#define CODE_MAX	(256u << 10)	/* ... in all */

/* Whether the Code at the tagged @at has its instructions at @start, and @pc among them. */
static int is_code(struct v8_env *env, const struct ebp_v8 *o, uint64_t at, uint64_t start,
		   uint64_t pc, struct v8_compiled *out)
{
	struct v8_state s = { 0 };

	if (v8_object(env, s.code, at) || v8_type_of(env, &s, s.code[0]) != o->code_type)
		return 0;
	*out = (struct v8_compiled){
		.code = at,
		.start = o->flags & EBP_V8_CODE_INSIDE ? at - 1 + o->code_start
						       : v8_word(s.code, o->code_start),
		.size = v8_half(s.code, o->code_size),
		.flags = v8_half(s.code, o->code_flags),
	};
	return out->start == start && pc - start < out->size;
}

/* The code that begins last in @n @bytes, which begin at @from, and has @pc. */
static int search_code(struct v8_env *env, const struct ebp_v8 *o, const uint8_t *bytes, size_t n,
		       uint64_t from, uint64_t pc, struct v8_compiled *out)
{
	uint64_t head = o->flags & EBP_V8_CODE_INSIDE ? o->code_start : o->stream_start;
	uint64_t words[2];

	for (size_t at = n & ~(size_t)(ALIGNMENT / 2 - 1); at >= ALIGNMENT / 2;) {
		uint64_t start = from + (at -= ALIGNMENT / 2);

		if (start > pc || at < head)
			continue;
		/* A map, and of what holds the instructions only the Code. */
		memcpy(words, bytes + at - head, sizeof(words));
		if ((words[0] & 3) != 1 || (words[1] & 3) != 1)
			continue;
		if (is_code(env, o, o->flags & EBP_V8_CODE_INSIDE ? (start - head) | 1 : words[1],
			    start, pc, out))
			return 0;
	}
	return -1;
}

int v8_memory_code(struct v8_env *env, const struct ebp_v8 *o, uint64_t pc,
		   struct v8_compiled *out)
{
	uint8_t bytes[PIECE];
	uint64_t head = o->flags & EBP_V8_CODE_INSIDE ? o->code_start : o->stream_start;
	uint64_t page = pc & ~(uint64_t)(ALIGNMENT - 1);

	if (!head || head > PIECE / 2 || page < CODE_MAX)
		return -1;
	/* Backwards; what comes before instructions is in the same piece. */
	for (uint64_t end = page + ALIGNMENT; end > page - CODE_MAX; end -= PIECE - 512) {
		if (v8_memory(env, bytes, sizeof(bytes), end - PIECE))
			return -1;
		if (!search_code(env, o, bytes, sizeof(bytes), end - PIECE, pc, out))
			return 0;
	}
	return -1;
}

uint8_t *v8_memory_table(struct v8_env *env, const struct ebp_v8 *o, uint64_t at, size_t *n)
{
	struct v8_state s = { 0 };
	uint32_t type;
	uint8_t *bytes;

	if (!(at & 1) || v8_read(env, s.object, 16, at - 1))
		return NULL;
	type = v8_type_of(env, &s, s.object[0]);
	*n = s.object[1] >> 32;
	if ((type != o->bytes_type && type != o->bytes_trusted_type) || *n > V8_TABLE_MAX)
		return NULL;
	bytes = xmalloc(*n + 1);
	if (!v8_memory(env, bytes, *n, at - 1 + 16))
		return bytes;
	free(bytes);
	return NULL;
}
