/* SPDX-License-Identifier: MIT */
#include "lang/v8_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "lang/v8_memory.h"
#include "lang/v8_positions.h"
#include "lang/v8_scripts.h"

#define PLACES_MAX	2048	/* of one code */
#define INLINED_MAX	512	/* calls that were inlined into it */
#define KIND_MASK	15	/* of the flags of Code */
#define POSITIONS_AHEAD	13	/* major version since which a ScopeInfo begins with positions */

#define OWN		(-1)	/* instead of a call: the code's own function */

/* A call that was inlined. */
struct inlined {
	uint32_t function;	/* that was called: of detail.functions; or there is none such */
	uint32_t line;		/* of its caller */
	int32_t caller;		/* the call that it is in itself, or OWN */
};

struct place {
	uint32_t from, line;
	int32_t inlined;	/* the call that it is in, or OWN */
};

struct v8_detail {
	uint32_t base, size;	/* of code: what its first place is, and how many there are */
	VEC(struct place) places;	/* by @from */
	VEC(struct inlined) inlined;
	VEC(struct lang_code) functions;	/* that were inlined; without a name: not known */
};

/* What a code is completed with. */
struct completing {
	struct v8_env env;
	struct v8_scripts *scripts;
	const struct ebp_process *process;
	struct ebp_v8_code c;		/* of the code */
	struct v8_detail *detail;
	VEC(struct ebp_v8_code) functions;	/* as of detail; without a script where not known */
};

static int is_number(uint64_t word)
{
	return !(word & 0xffffffff) && !(word >> 63);
}

/* Where the function begins in its script; UINT32_MAX: not known. */
static uint32_t start_of(const struct ebp_v8_code *c)
{
	const __u64 *w = c->layout.version >= POSITIONS_AHEAD ? c->scope_before : c->scope;
	int n = c->layout.version >= POSITIONS_AHEAD ? 2 : EBP_V8_SCOPE;

	/* Where it begins and ends; behind its names in older ones. */
	for (int i = 0; i + 1 < n; i++)
		if (is_number(w[i]) && is_number(w[i + 1]) && w[i] < w[i + 1])
			return (uint32_t)(w[i] >> 32);
	return UINT32_MAX;
}

/* The line of @position in the script of @c; 0: not known. */
static uint32_t line_of(struct completing *x, const struct ebp_v8_code *c, uint32_t position)
{
	return position == UINT32_MAX
		       ? 0
		       : v8_script_line(v8_scripts_find(x->scripts, &x->env, x->process, c),
					position);
}

/* What a call, or OWN, runs. */
static const struct ebp_v8_code *function_of(const struct completing *x, int32_t call)
{
	static const struct ebp_v8_code unknown;
	uint32_t i;

	if (call == OWN)
		return &x->c;
	i = (size_t)call < x->detail->inlined.n ? x->detail->inlined.v[call].function : UINT32_MAX;
	return i < x->functions.n ? &x->functions.v[i] : &unknown;
}

/* The function at the tagged @at, which may be wrapped. */
static void take_function(struct completing *x, uint64_t at)
{
	const struct ebp_v8 *o = &x->c.layout;
	struct lang_code code = { 0 };
	struct ebp_v8_code c = { 0 };
	union v8_record record;

	if ((!v8_memory_function(&x->env, o, at, &record) ||
	     !v8_memory_function(&x->env, o, v8_memory_word(&x->env, at - 1 + 8), &record)) &&
	    !lang_code_decode(&record.code, sizeof(record), &code)) {
		memcpy(&c, record.code.table_data, sizeof(c));
		code.first_line = line_of(x, &c, start_of(&c));
	}
	vec_push(&x->detail->functions, code);
	vec_push(&x->functions, c);
}

/* How many elements the array at the tagged @at has; 0 also where they are more than @most. */
static uint64_t array_length(struct v8_env *env, uint64_t at, uint64_t most)
{
	uint64_t length = at & 1 ? v8_memory_word(env, at - 1 + 8) : 0;

	return is_number(length) && length >> 32 <= most ? length >> 32 : 0;
}

#define ARRAY_FIRST	16	/* bytes of an array before its elements */

static uint64_t array_word(struct v8_env *env, uint64_t at, uint64_t i)
{
	return v8_memory_word(env, at - 1 + ARRAY_FIRST + 8 * i);
}

/* An InliningPosition (V8's codegen/source-position.h). */
struct call {
	int64_t position;
	uint32_t function, unused;
};

static void take_call(struct completing *x, const struct call *call)
{
	struct inlined in = { .function = call->function };
	struct v8_position p;

	v8_position_decode(call->position, &p);
	/* A call is in one that was before it: so they end. */
	in.caller = p.inlined < (int32_t)x->detail->inlined.n ? p.inlined : OWN;
	in.line = line_of(x, function_of(x, in.caller), p.position);
	vec_push(&x->detail->inlined, in);
}

/* The calls that were inlined, out of what the code is to be undone by. */
static void take_inlined(struct completing *x)
{
	const struct ebp_v8 *o = &x->c.layout;
	uint64_t data = v8_memory_word(&x->env, x->c.code - 1 + o->code_deopt), functions, ncalls;
	uint64_t literals, calls;
	struct call call;

	if (!(data & 1))
		return;
	functions = array_word(&x->env, data, 1) >> 32;
	literals = array_word(&x->env, data, o->deopt_literals);
	calls = array_word(&x->env, data, o->deopt_inlined);
	ncalls = array_length(&x->env, calls, INLINED_MAX * sizeof(call)) / sizeof(call);
	if (functions > INLINED_MAX || functions > array_length(&x->env, literals, UINT32_MAX))
		return;
	/* The first literals; they may be held weakly, which is a bit of theirs. */
	for (uint64_t i = 0; i < functions && ncalls; i++)
		take_function(x, array_word(&x->env, literals, i) & ~2ull);
	for (uint64_t i = 0; i < ncalls; i++) {
		if (v8_memory(&x->env, &call, sizeof(call),
			      calls - 1 + ARRAY_FIRST + i * sizeof(call)))
			return;
		take_call(x, &call);
	}
}

/* Lines of the positions in the record. */
static void take_places(struct completing *x, const uint8_t *table, size_t size)
{
	struct v8_position *p = xreallocarray(NULL, PLACES_MAX, sizeof(*p));
	size_t n = v8_positions_decode(table, size, p, PLACES_MAX);

	for (size_t i = 0; i < n; i++) {
		int32_t call = p[i].inlined < (int32_t)x->detail->inlined.n ? p[i].inlined : OWN;
		struct place place = { p[i].place, 0, call };

		place.line = line_of(x, function_of(x, call), p[i].position);
		vec_push(&x->detail->places, place);
	}
	free(p);
}

static int is_copy(const struct ebp_v8_code *c)
{
	return c->layout.baseline_kind && c->kind == EBP_V8_COMPILED &&
	       (c->code_flags & KIND_MASK) == c->layout.baseline_kind;
}

/* Code that the function does not have: it was replaced, or entered in the middle of a loop. */
static void find_code(struct completing *x)
{
	struct v8_compiled found;

	x->detail->size = 0;
	if (!x->c.pc || v8_memory_code(&x->env, &x->c.layout, x->c.pc, &found))
		return;
	x->c.code = found.code;
	x->c.code_flags = found.flags;
	x->c.kind = EBP_V8_COMPILED;
	x->detail->base = (uint32_t)found.start & EBP_PLACE_NONE;
	x->detail->size = found.size;
}

static uint64_t table_of(struct completing *x)
{
	const struct ebp_v8 *o = &x->c.layout;

	return v8_memory_word(&x->env, x->c.code - 1 + (x->c.kind == EBP_V8_INTERPRETED
								? o->bytecode_table
								: o->code_table));
}

void v8_complete(struct lang_code *code, const struct ebp_code *record, const struct lang_reader *r)
{
	struct completing x = {
		.env = { r, (pid_t)record->process.tgid, 0 },
		.scripts = r->state,
		.process = &record->process,
	};
	uint8_t *table;
	size_t n;

	if (code->table_bytes < sizeof(x.c))
		return;
	memcpy(&x.c, code->table, sizeof(x.c));
	code->more = x.detail = xcalloc(1, sizeof(*x.detail));
	code->first_line = line_of(&x, &x.c, start_of(&x.c));
	x.detail->size = EBP_PLACE_NONE;
	if (x.c.kind == EBP_V8_UNPLACED)
		find_code(&x);
	/* Code that is a copy of bytecode has other positions, which are not those of lines. */
	if (is_copy(&x.c)) {
		x.detail->size = 0;
	} else {
		if (x.c.kind == EBP_V8_COMPILED)
			take_inlined(&x);
		/* All of it, where the kernel had no room or did not look. */
		table = x.c.code ? v8_memory_table(&x.env, &x.c.layout, table_of(&x), &n) : NULL;
		if (table)
			take_places(&x, table, n);
		else
			take_places(&x, code->table + sizeof(x.c),
				    code->table_bytes - sizeof(x.c));
		free(table);
	}
	vec_free(&x.functions);
}

void v8_release(struct lang_code *code)
{
	struct v8_detail *d = code->more;

	for (size_t i = 0; d && i < d->functions.n; i++)
		lang_code_free(&d->functions.v[i]);
	if (d) {
		vec_free(&d->places);
		vec_free(&d->inlined);
		vec_free(&d->functions);
	}
	free(d);
	code->more = NULL;
}

/* The last entry that is not behind @place; NULL: there is none. */
static const struct place *place_of(const struct v8_detail *d, uint32_t place)
{
	size_t i;

	if (!d || place == EBP_PLACE_NONE)
		return NULL;
	place = (place - d->base) & EBP_PLACE_NONE;
	i = place < d->size ? upper_bound(d->places.v, d->places.n, .from, place) : 0;
	return i ? &d->places.v[i - 1] : NULL;
}

/* @line in what a call, or OWN, runs. */
static struct lang_frame frame_of(const struct lang_code *code, int32_t call, uint32_t line)
{
	const struct v8_detail *d = code->more;
	uint32_t i = call == OWN ? 0 : d->inlined.v[call].function;

	if (call != OWN)
		code = i < d->functions.n && d->functions.v[i].name ? &d->functions.v[i] : NULL;
	if (!code)
		return (struct lang_frame){ "", "", 0, line };
	/* V8 keeps lines only of some functions: then it is where the function begins. */
	return (struct lang_frame){ code->name, code->file, code->first_line,
				    line ? line : code->first_line };
}

size_t v8_frames(const struct lang_code *code, uint32_t place, struct lang_frame *out, size_t max)
{
	const struct v8_detail *d = code->more;
	const struct place *p = place_of(d, place);
	int32_t call = p ? p->inlined : OWN;
	uint32_t line = p ? p->line : 0;
	size_t n = 0;

	for (; n + 1 < max && call != OWN; n++) {
		out[n] = frame_of(code, call, line);
		line = d->inlined.v[call].line;
		call = d->inlined.v[call].caller;
	}
	out[n] = frame_of(code, OWN, line);
	return n + 1;
}

uint32_t v8_line(const struct lang_code *code, uint32_t place)
{
	struct lang_frame frames[LANG_FRAMES];
	size_t n = v8_frames(code, place, frames, LANG_FRAMES);

	return frames[n - 1].line;
}
