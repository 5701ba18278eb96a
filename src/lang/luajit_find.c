/* SPDX-License-Identifier: MIT */
#include "lang/luajit_find.h"

#include <errno.h>
#include <string.h>

#include "base/load.h"

/* What is the same in all of 2.1: with references of 8 bytes, and of 4. */
static const struct ebp_luajit wide = {
	.wide = 1, .c_bytes = 80, .c_thread = 16, .c_pc = 24, .c_results = 8, .c_previous = 32,
	.type = 9, .global = 16, .base = 32, .stack = 56, .stack_end = 48, .c_frame = 80,
	.code = 32, .c_function = 40, .proto_bytes = 104, .ncode = 12, .constants = 32,
	.source = 64, .first_line = 72, .lines = 80, .all_bytes = 56, .text = 24,
};
static const struct ebp_luajit narrow = {
	.c_bytes = 80, .c_thread = 24, .c_pc = 28, .c_results = 16, .c_previous = 32,
	.type = 5, .global = 8, .base = 16, .stack = 36, .stack_end = 32, .c_frame = 48,
	.code = 16, .c_function = 24, .proto_bytes = 64, .ncode = 8, .constants = 16,
	.source = 40, .first_line = 44, .lines = 52, .all_bytes = 32,
};

#define ANY 0x100	/* a byte of a pattern that may be any */
#define NUMBER ANY, ANY, ANY, ANY
#define PATTERN_MAX 48

struct pattern {
	uint16_t bytes[PATTERN_MAX];
	size_t n;
};
#define PATTERN(...) { .bytes = { __VA_ARGS__ }, .n = sizeof((uint16_t[]){ __VA_ARGS__ }) / 2 }

/*
 * Where it enters a trace: mov traces(%r14), %rcx; mov (%rcx,%rax,8), %rax; mov mcode(%rax), %rax;
 * mov 16(%rsp), %rbp; mov %rdx, jit_base(%r14); ...; jmp *%rax.
 */
static const struct pattern wide_enters =
	PATTERN(0x49, 0x8b, 0x8e, NUMBER, 0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40, ANY, 0x48,
		0x8b, 0x6c, 0x24, 0x10, 0x49, 0x89, 0x96, NUMBER, 0x49, 0x89, 0xae, NUMBER, 0x48,
		0x83, 0xec, 0x10);
static const struct pattern narrow_enters =
	PATTERN(0x41, 0x8b, 0x8e, NUMBER, 0x8b, 0x04, 0x81, 0x48, 0x8b, 0x40, ANY, 0x8b, 0x6c,
		0x24, 0x18, 0x41, 0x89, 0x96, NUMBER, 0x41, 0x89, 0xae, NUMBER);
/* add $n, %r14; from the global state to the table of instructions, by which it addresses both */
static const struct pattern wide_adds = PATTERN(0x49, 0x81, 0xc6, NUMBER);
static const struct pattern narrow_adds = PATTERN(0x41, 0x81, 0xc6, NUMBER);
/* movl $-1, vmstate(%r14): it runs the interpreter */
static const struct pattern sets_state = PATTERN(0x41, 0xc7, 0x86, NUMBER, 0xff, 0xff, 0xff, 0xff);
/* string.byte: cmpl $1, length(%rbp); jb ...; movzbl text(%rbp), %ebp */
static const struct pattern takes_byte =
	PATTERN(0x83, 0x7d, ANY, 0x01, 0x0f, 0x82, NUMBER, 0x0f, 0xb6, 0x6d, ANY);
/* push %rbp; push %rbx; push %r15; push %r14; sub $40, %rsp: its frame on the C stack */
static const struct pattern makes_frame =
	PATTERN(0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28);

/* The first place in @n bytes at @p that is so; NULL: none. */
static const uint8_t *find(const uint8_t *p, size_t n, const struct pattern *wanted)
{
	for (size_t i = 0; i + wanted->n <= n; i++) {
		size_t k = 0;

		while (k < wanted->n && (wanted->bytes[k] == ANY || wanted->bytes[k] == p[i + k]))
			k++;
		if (k == wanted->n)
			return p + i;
	}
	return NULL;
}

/* What the code in @n bytes at @p says. 0, or negative: it is not what we know. */
static int read_layout(const uint8_t *p, size_t n, struct ebp_luajit *out)
{
	const uint8_t *enters = find(p, n, &wide_enters), *adds, *state, *byte;
	int is_wide = !!enters;
	uint32_t to_table;

	if (!enters)
		enters = find(p, n, &narrow_enters);
	adds = find(p, n, is_wide ? &wide_adds : &narrow_adds);
	state = find(p, n, &sets_state);
	byte = find(p, n, &takes_byte);
	if (!enters || !adds || !state || !byte || !find(p, n, &makes_frame))
		return -1;
	*out = is_wide ? wide : narrow;
	to_table = load32(adds + 3);
	out->traces = load32(enters + 3) + to_table;
	out->mcode = enters[is_wide ? 14 : 13];
	out->jit_base = load32(enters + (is_wide ? 23 : 21)) + to_table;
	out->vmstate = load32(state + 3) + to_table;
	if (!is_wide)
		out->text = byte[13];
	else if (byte[13] != out->text)
		return -1;
	/* All are in one block, the first two in its beginning. */
	return out->vmstate < out->jit_base && out->jit_base < 4096 && out->traces < 8192 &&
			       out->traces > out->jit_base && out->mcode >= 40
		       ? 0
		       : -1;
}

int luajit_find_layout(const struct code_text *t, struct ebp_luajit *layout,
		       struct lang_range *loop)
{
	const uint8_t *enters = find(t->bytes, t->n, &wide_enters);
	uint64_t start, end;
	size_t i;

	if (!enters)
		enters = find(t->bytes, t->n, &narrow_enters);
	if (!enters)
		return -ENOENT;
	i = code_text_function(t, t->address + (uint64_t)(enters - t->bytes));
	start = t->starts[i] - t->address;
	end = t->starts[i + 1] - t->address;
	if (start >= end || end > t->n || end - start > UINT32_MAX ||
	    read_layout(t->bytes + start, (size_t)(end - start), layout))
		return -ENOENT;
	*loop = (struct lang_range){ .start = start + t->offset, .end = end + t->offset };
	return 0;
}
