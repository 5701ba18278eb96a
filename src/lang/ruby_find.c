/* SPDX-License-Identifier: MIT */
#include "lang/ruby_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "bpf/ruby.h"

#define PEEK		48		/* bytes of a short function */
#define PEEK_LONG	176
#define OPERATORS_MAX	1024
/* jumps of the loop, from one instruction of Ruby to the next; 114 to 123 and 7 to 15 were seen */
#define JUMPS_LEAST	60
#define JUMPS_TIMES	3		/* as many as any other function's */
#define CALLERS_MAX	4
#define PREFIXES_MAX	4		/* of an instruction; the linker fills calls up by them */
#define COMPILED_BYTES	12		/* what a call of compiled code gets its arguments by */
#define CONTEXT_CFP	16		/* of an execution context: its control frame */

static int by_start(const void *a, const void *b)
{
	const struct lang_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Behind what begins a function that calls another. */
static const uint8_t *skip_begin(const uint8_t *p)
{
	p += memcmp(p, "\xf3\x0f\x1e\xfa", 4) ? 0 : 4;		/* endbr64 */
	return p + (memcmp(p, "\x48\x83\xec\x08", 4) ? 0 : 4);	/* sub $8, %rsp */
}

/* --- The execution context. ---------------------------------------------------- */

/* Behind a call of __tls_get_addr: mov DISTANCE(%rax), %rax. NULL: it is another one. */
static const uint8_t *read_load(const uint8_t *p, int64_t *distance)
{
	if (p[0] != 0x48 || p[1] != 0x8b)
		return NULL;
	if (p[2] == 0x00) {
		*distance = 0;
		return p + 3;
	}
	if (p[2] == 0x40) {
		*distance = (int8_t)p[3];
		return p + 4;
	}
	*distance = (int32_t)load32(p + 3);
	return p[2] == 0x80 ? p + 7 : NULL;
}

/* Behind a call at @p, directly or through the table of the linker; NULL: it is none. */
static const uint8_t *skip_call(const uint8_t *p)
{
	for (int i = 0; i < PREFIXES_MAX && (*p == 0x66 || *p == 0x48); i++)
		p++;
	return *p == 0xe8 ? p + 5 : *p == 0xff && p[1] == 0x15 ? p + 6 : NULL;
}

int ruby_find_context(const struct code_text *t, uint64_t current_receiver,
		      struct ruby_context *out)
{
	const uint8_t *p = code_text_at(t, current_receiver, PEEK);

	if (!p)
		return -ENOENT;
	p = skip_begin(p);
	*out = (struct ruby_context){ 0 };
	if (!memcmp(p, "\x64\x48\x8b\x04\x25", 5)) {	/* mov %fs:DISTANCE, %rax */
		out->distance = (int32_t)load32(p + 5);
		out->flags = EBP_RUBY_STATIC;
		p += 9;
	} else {
		p += *p == 0x66;
		if (memcmp(p, "\x48\x8d\x3d", 3))	/* lea SLOT(%rip), %rdi */
			return -ENOENT;
		out->slot = code_text_relative(t, p + 3);
		p = skip_call(p + 7);
		p = p ? read_load(p, &out->distance) : NULL;
	}
	/* test %rax, %rax */
	return p && !memcmp(p, "\x48\x85\xc0", 3) ? 0 : -ENOENT;
}

int ruby_find_key(const struct code_text *t, uint64_t native_thread_p, struct ruby_context *out)
{
	const uint8_t *p = code_text_at(t, native_thread_p, PEEK);

	p = p ? skip_begin(p) : NULL;
	/* mov KEY(%rip), %edi; call */
	if (!p || p[0] != 0x8b || p[1] != 0x3d || p[6] != 0xe8)
		return -ENOENT;
	*out = (struct ruby_context){ .slot = code_text_relative(t, p + 2), .flags = EBP_RUBY_KEY };
	return 0;
}

/* --- Symbols. ------------------------------------------------------------------ */

/* In @p: mov IDS(%rip), %rdi near shr $9, %esi. The address; 0: it is not there. */
static uint64_t find_ids(const struct code_text *t, const uint8_t *p)
{
	uint64_t ids = 0;
	int shifts = 0;

	for (int i = 0; p && i < PEEK_LONG - 8; i++) {
		shifts |= !memcmp(p + i, "\xc1\xee\x09", 3);
		if (!ids && !memcmp(p + i, "\x48\x8b\x3d", 3))
			ids = code_text_relative(t, p + i + 3);
	}
	return shifts ? ids : 0;
}

static int is_start(const struct code_text *t, uint64_t address)
{
	return address - t->address < t->n && t->starts[code_text_function(t, address)] == address;
}

int ruby_find_symbols(const struct code_text *t, uint64_t id2str, struct ruby_symbols *out)
{
	const uint8_t *p = code_text_at(t, id2str, PEEK_LONG);

	*out = (struct ruby_symbols){ 0 };
	for (int i = 0; p && i < PEEK - 8; i++) {
		/* cmp $LAST, %rdi, or, by newer compilers, %rax */
		if (!out->last_operator && !memcmp(p + i, "\x48\x81\xff", 3))
			out->last_operator = load32(p + i + 3);
		if (!out->last_operator && !memcmp(p + i, "\x48\x3d", 2))
			out->last_operator = load32(p + i + 2);
		if (!out->ids && p[i] == 0xe9 && is_start(t, code_text_relative(t, p + i + 1)))
			out->ids = find_ids(t, code_text_at(t, code_text_relative(t, p + i + 1),
							    PEEK_LONG));
	}
	return out->ids && out->last_operator && out->last_operator < OPERATORS_MAX ? 0 : -ENOENT;
}

/* --- The collector. ------------------------------------------------------------ */

/*
 * mov SLOT(%rip), %rax or lea VM(%rip), %rax; mov (%rax), %rax; perhaps test %rax, %rax and a jump;
 * mov SPACE(%rax), %rax; movzbl AT(%rax), %eax; shr $BIT, %al; and $1, %eax.
 */
int ruby_find_collector(const struct code_text *t, uint64_t during_gc, struct ruby_collector *out)
{
	const uint8_t *p = code_text_at(t, during_gc, PEEK);

	p = p ? skip_begin(p) : NULL;
	*out = (struct ruby_collector){ 0 };
	if (!p || p[0] != 0x48 || (p[1] != 0x8b && p[1] != 0x8d) || p[2] != 0x05 ||
	    memcmp(p + 7, "\x48\x8b\x00", 3))
		return -ENOENT;
	out->flags = p[1] == 0x8b ? EBP_RUBY_VM_SLOT : 0;
	out->vm = code_text_relative(t, p + 3);
	p += 10;
	p += memcmp(p, "\x48\x85\xc0\x74", 4) ? 0 : 5;
	if (memcmp(p, "\x48\x8b\x80", 3) || memcmp(p + 7, "\x0f\xb6\x40", 3) ||
	    memcmp(p + 11, "\xc0\xe8", 2) || p[13] > 7 || memcmp(p + 14, "\x83\xe0\x01", 3))
		return -ENOENT;
	out->space = load32(p + 3);
	out->at = p[10];
	out->mask = (uint8_t)(1u << p[13]);
	return 0;
}

/* --- The interpreter. ---------------------------------------------------------- */

/*
 * Whether the two bytes at @p, of which there is one before, look like a jump to where memory says:
 * jmp *OFFSET(%register). Not behind 0xff, which ends a negative number, nor where 0x66 or 0x67
 * begins another instruction behind one (with %r14 and %r15 it does not).
 */
static int is_jump(const uint8_t *p)
{
	return p[0] == 0xff && (p[1] & 0x38) == 0x20 && p[1] >> 6 < 2 && (p[1] & 0xc7) != 0x05 &&
	       p[-1] != 0xff && (p[-1] == 0x41 || (p[1] != 0x66 && p[1] != 0x67));
}

static size_t count_jumps(const struct code_text *t, size_t i)
{
	size_t n = t->starts[i + 1] - t->starts[i], jumps = 0;
	const uint8_t *p = code_text_at(t, t->starts[i], n);

	for (size_t k = 1; p && k + 1 < n; k++)
		jumps += is_jump(p + k);
	return jumps;
}

/*
 * The function with far more such jumps than any other: each instruction of Ruby ends with one.
 * Switches jump to where a register says. Its place, or nstarts.
 */
static size_t find_loop(const struct code_text *t)
{
	size_t best = t->nstarts, most = 0, second = 0;

	for (size_t i = 0; i < t->nstarts; i++) {
		size_t jumps = count_jumps(t, i);

		if (jumps > most) {
			second = most;
			most = jumps;
			best = i;
		} else if (jumps > second) {
			second = jumps;
		}
	}
	return most >= JUMPS_LEAST && most > JUMPS_TIMES * second ? best : t->nstarts;
}

/* Whether code from @from to @to calls @target; @where: behind the first such place. */
static int calls(const struct code_text *t, uint64_t from, uint64_t to, uint64_t target,
		 uint64_t *where)
{
	for (uint64_t at = from; at + 5 <= to; at++) {
		const uint8_t *p = code_text_at(t, at, 5);

		if (p && *p == 0xe8 && code_text_relative(t, p + 1) == target) {
			*where = at + 5;
			return 1;
		}
	}
	return 0;
}

/* Those that call function @loop, at most CALLERS_MAX + 1. */
static size_t find_callers(const struct code_text *t, size_t loop, size_t *callers)
{
	uint64_t at = t->starts[0], end = t->address + t->n;
	size_t n = 0;

	while (n <= CALLERS_MAX && calls(t, at, end, t->starts[loop], &at)) {
		callers[n] = code_text_function(t, at - 1);
		at = t->starts[callers[n] + 1];
		n++;
	}
	return n;
}

/* Whether another one of them calls caller @i: it is a part of what that is. */
static int is_inner(const struct code_text *t, const size_t *callers, size_t n, size_t i)
{
	uint64_t where;

	for (size_t k = 0; k < n; k++)
		if (k != i && calls(t, t->starts[callers[k]], t->starts[callers[k] + 1],
				    t->starts[callers[i]], &where))
			return 1;
	return 0;
}

static void put_range(const struct code_text *t, size_t i, int inner, struct lang_image *out)
{
	uint64_t to_offset = t->offset - t->address;

	vec_push(&out->code, (struct lang_range){ .start = t->starts[i] + to_offset,
						  .end = t->starts[i + 1] + to_offset,
						  .runs = inner ? LANG_RUNS_INNER
								: LANG_RUNS_CALL });
}

/*
 * Whether function @i calls code of YJIT: mov CFP(CONTEXT), %rsi; mov CONTEXT, %rdi; call by a
 * register.
 */
static int calls_compiled(const struct code_text *t, size_t i)
{
	size_t n = t->starts[i + 1] - t->starts[i];
	const uint8_t *p = code_text_at(t, t->starts[i], n);

	for (size_t k = COMPILED_BYTES; p && k + 2 <= n; k++) {
		const uint8_t *q = p + k - COMPILED_BYTES;

		if (p[k] != 0xff || (p[k + 1] & 0xf8) != 0xd0)
			continue;
		for (; q + 4 < p + k; q++)
			if (!memcmp(q, "\x8b\x74\x24\x10", 4) ||
			    (q[0] == 0x8b && (q[1] & 0xf8) == 0x70 && q[2] == CONTEXT_CFP))
				return 1;
	}
	return 0;
}

/* The functions that the loop has for calls, from which compiled code is called, too (3.1). */
static void put_helpers(const struct code_text *t, size_t loop, struct lang_image *out)
{
	for (uint64_t at = t->starts[loop]; at + 5 <= t->starts[loop + 1]; at++) {
		const uint8_t *p = code_text_at(t, at, 5);
		uint64_t to = p && *p == 0xe8 ? code_text_relative(t, p + 1) : 0;
		size_t i, k = 0;

		if (!to || !is_start(t, to))
			continue;
		i = code_text_function(t, to);
		to = to - t->address + t->offset;
		while (k < out->code.n && out->code.v[k].start != to)
			k++;
		if (k == out->code.n && calls_compiled(t, i))
			put_range(t, i, 1, out);
	}
}

int ruby_find_interpreter(const struct code_text *t, uint64_t vm_exec, struct lang_image *out)
{
	size_t loop = find_loop(t), callers[CALLERS_MAX + 1], n, outer = 0;
	int known = !vm_exec;

	if (loop == t->nstarts)
		return -ENOENT;
	n = find_callers(t, loop, callers);
	if (!n || n > CALLERS_MAX)
		return -ENOENT;
	put_range(t, loop, 1, out);
	for (size_t i = 0; i < n; i++) {
		int inner = is_inner(t, callers, n, i);

		outer += !inner;
		known |= t->starts[callers[i]] == vm_exec;
		put_range(t, callers[i], inner, out);
	}
	if (!known || outer != 1) {
		vec_free(&out->code);
		return -ENOENT;
	}
	put_helpers(t, loop, out);
	qsort(out->code.v, out->code.n, sizeof(out->code.v[0]), by_start);
	return 0;
}
