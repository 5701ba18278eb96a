/* SPDX-License-Identifier: MIT */
#include "bpf/frame.h"
#include "lang/lang_merge.h"
#include "test.h"

#define EVAL	 EBP_FRAME(1, 0x500)	/* the interpreter's own code */
#define PART	 EBP_FRAME(1, 0x600)	/* what that calls, for itself */
#define AGAIN	 EBP_FRAME(1, 0x700)	/* what calls it for the run that there is */
#define NATIVE(n) EBP_FRAME(2, (n))
#define COLLECTS EBP_FRAME(1, 0x800)	/* the collector's own code */
#define BESIDE	 EBP_FRAME(1, 0x900)	/* other code of the interpreter's file */
#define JIT	 0x7f0000001000ull
#define CODE(n)	 EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, (uint64_t)(n) + 10, 3)
#define ENTRY(n) (CODE(n) | EBP_FRAME_ENTRY)
#define EMPTY                                                                      \
	(EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, EBP_CODE_NONE, EBP_PLACE_NONE) | \
	 EBP_FRAME_ENTRY)
#define CUT	 EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, EBP_CODE_NONE, EBP_PLACE_NONE)

#define LIST(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8

static enum lang_runs runs(void *ctx, uint64_t frame)
{
	(void)ctx;
	return frame == EVAL	? LANG_RUNS_CALL
	       : frame == PART	? LANG_RUNS_INNER
	       : frame == AGAIN ? LANG_RUNS_AGAIN
	       : frame == COLLECTS ? LANG_RUNS_COLLECTS
	       : frame == BESIDE ? LANG_RUNS_BESIDE
				: LANG_RUNS_NOT;
}

static void check(const struct lang_merge *m, const uint64_t *words, size_t n,
		  const uint64_t *expected, size_t nexpected)
{
	uint64_t out[32];
	size_t made = lang_merge(m, words, n, out);

	CHECK_EQ(made, nexpected);
	for (size_t i = 0; i < made && i < nexpected; i++)
		CHECK_EQ(out[i], expected[i]);
}

static const struct lang_merge whole = { .runs = runs, .complete = 1 };
static const struct lang_merge cut = { .runs = runs };
static const struct lang_merge native = { .runs = runs, .complete = 1, .keep_native = 1 };

TEST(without_a_language_nothing_changes)
{
	check(&whole, LIST(NATIVE(1), EVAL, NATIVE(2)), LIST(NATIVE(1), EVAL, NATIVE(2)));
}

#define OF(language, n, entry)                                                 \
	(EBP_FRAME_OF_CODE(EBP_LANGUAGE_##language, (uint64_t)(n) + 10, 3) | \
	 ((entry) ? EBP_FRAME_ENTRY : 0))
#define MARK EBP_FRAME_OF_CODE(EBP_LANGUAGE_RUBY, 9, EBP_PLACE_COLLECTS)

/* What a language compiled is a part of its call, which may be without another part. */
TEST(compiled_code)
{
	check(&whole, LIST(NATIVE(1), JIT, PART, EVAL, NATIVE(2), JIT, EVAL, OF(RUBY, 1, 0),
			   OF(RUBY, 2, 1), OF(RUBY, 3, 1)),
	      LIST(NATIVE(1), OF(RUBY, 1, 0), OF(RUBY, 2, 1), NATIVE(2), OF(RUBY, 3, 1)));
	check(&native, LIST(JIT, EVAL, OF(RUBY, 1, 1)), LIST(OF(RUBY, 1, 1), JIT, EVAL));
	/* It is nobody's that nothing of the language has called. */
	check(&whole, LIST(JIT, NATIVE(1), EVAL, OF(RUBY, 1, 1)),
	      LIST(JIT, NATIVE(1), OF(RUBY, 1, 1)));
}

TEST(the_collector_runs_here)
{
	check(&whole, LIST(NATIVE(1), COLLECTS, NATIVE(2), EVAL, MARK, OF(RUBY, 1, 1)),
	      LIST(NATIVE(1), COLLECTS, NATIVE(2), MARK, OF(RUBY, 1, 1)));
}

TEST(the_collector_runs_elsewhere)
{
	check(&whole, LIST(NATIVE(1), EVAL, MARK, OF(RUBY, 1, 1)),
	      LIST(NATIVE(1), OF(RUBY, 1, 1)));
	/* A finalizer that waits: its frames are nearer to the leaf. */
	check(&whole,
	      LIST(NATIVE(1), EVAL, COLLECTS, EVAL, MARK, OF(RUBY, 1, 1), OF(RUBY, 2, 1)),
	      LIST(NATIVE(1), OF(RUBY, 1, 1), COLLECTS, OF(RUBY, 2, 1)));
}

TEST(a_list_of_another_thread)
{
	check(&whole, LIST(NATIVE(1), NATIVE(2), OF(PHP, 1, 0), OF(PHP, 2, 1)),
	      LIST(NATIVE(1), NATIVE(2)));
	/* What a stripped file does not say of its loop is beside it. */
	check(&whole, LIST(NATIVE(1), BESIDE, OF(PHP, 1, 1)),
	      LIST(NATIVE(1), BESIDE, OF(PHP, 1, 1)));
	/* Where the stack is cut its calls may be missing. */
	check(&cut, LIST(NATIVE(1), OF(PHP, 1, 1)), LIST(NATIVE(1), OF(PHP, 1, 1)));
}

TEST(a_run_for_each_call)
{
	check(&whole,
	      LIST(NATIVE(1), EVAL, NATIVE(2), EVAL, NATIVE(3), CODE(1), ENTRY(2), CODE(3),
		   ENTRY(4)),
	      LIST(NATIVE(1), CODE(1), ENTRY(2), NATIVE(2), CODE(3), ENTRY(4), NATIVE(3)));
	check(&native,
	      LIST(NATIVE(1), EVAL, NATIVE(2), EVAL, CODE(1), ENTRY(2), ENTRY(4)),
	      LIST(NATIVE(1), CODE(1), ENTRY(2), EVAL, NATIVE(2), ENTRY(4), EVAL));
}

TEST(parts_of_a_call)
{
	check(&whole,
	      LIST(NATIVE(1), PART, PART, EVAL, NATIVE(2), EVAL, CODE(1), ENTRY(2), ENTRY(3)),
	      LIST(NATIVE(1), CODE(1), ENTRY(2), NATIVE(2), ENTRY(3)));
	check(&native, LIST(PART, EVAL, NATIVE(2), PART, EVAL, ENTRY(2), ENTRY(4)),
	      LIST(ENTRY(2), PART, EVAL, NATIVE(2), ENTRY(4), PART, EVAL));
	/* The innermost call runs nothing yet. */
	check(&whole, LIST(PART, EVAL, NATIVE(2), PART, EVAL, ENTRY(1)),
	      LIST(PART, EVAL, NATIVE(2), ENTRY(1)));
	/* Without its call a part is as any other code. */
	check(&cut, LIST(PART, NATIVE(1), EVAL, PART, ENTRY(1)),
	      LIST(PART, NATIVE(1), ENTRY(1), PART));
}

TEST(calls_for_one_run)
{
	check(&whole,
	      LIST(NATIVE(1), EVAL, AGAIN, EVAL, NATIVE(2), EVAL, CODE(1), ENTRY(2), ENTRY(3)),
	      LIST(NATIVE(1), CODE(1), ENTRY(2), NATIVE(2), ENTRY(3)));
	check(&native, LIST(EVAL, AGAIN, EVAL, AGAIN, AGAIN, EVAL, ENTRY(2)),
	      LIST(ENTRY(2), EVAL, AGAIN, EVAL, AGAIN, AGAIN, EVAL));
	/* It is on its way to do so. */
	check(&whole, LIST(NATIVE(1), AGAIN, EVAL, ENTRY(2)),
	      LIST(NATIVE(1), AGAIN, ENTRY(2)));
}

TEST(runs_that_are_prepared)
{
	const uint64_t of_perl = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PERL, 30, 3);

	/* sort works between two calls of what compares. */
	check(&whole,
	      LIST(NATIVE(1), EVAL, of_perl | EBP_FRAME_ENTRY, of_perl | EBP_FRAME_ENTRY),
	      LIST(NATIVE(1), of_perl | EBP_FRAME_ENTRY));
}

TEST(a_call_that_runs_nothing_yet)
{
	/* Told by the interpreter, */
	check(&whole, LIST(EVAL, NATIVE(2), EVAL, EMPTY, ENTRY(1)), LIST(NATIVE(2), ENTRY(1)));
	/* or before it knows: the innermost stays native. */
	check(&whole, LIST(EVAL, NATIVE(2), EVAL, ENTRY(1)), LIST(EVAL, NATIVE(2), ENTRY(1)));
}

TEST(a_call_that_is_not_seen)
{
	check(&whole, LIST(NATIVE(1), EVAL, NATIVE(2), ENTRY(1), ENTRY(2)),
	      LIST(NATIVE(1), ENTRY(1), ENTRY(2), NATIVE(2)));
}

TEST(a_cut_native_stack)
{
	/* Counted from the leaf; what is left over is outermost. */
	check(&cut, LIST(NATIVE(1), EVAL, NATIVE(2), ENTRY(1), ENTRY(2)),
	      LIST(NATIVE(1), ENTRY(1), NATIVE(2), ENTRY(2)));
}

TEST(a_cut_walk)
{
	check(&whole, LIST(EVAL, NATIVE(1), EVAL, NATIVE(2), ENTRY(1), CUT),
	      LIST(ENTRY(1), NATIVE(1), NATIVE(2)));
	check(&whole, LIST(EVAL, NATIVE(1), EVAL, NATIVE(2), EVAL, ENTRY(1), CUT),
	      LIST(ENTRY(1), NATIVE(1), NATIVE(2), EVAL));
}

TEST(frames_without_native_ones)
{
	check(&whole, LIST(ENTRY(1), ENTRY(2)), LIST(ENTRY(1), ENTRY(2)));
	check(&whole, LIST(NATIVE(1), ENTRY(1), CODE(2)), LIST(NATIVE(1), ENTRY(1), CODE(2)));
}

TEST(a_perf_trampoline_is_no_frame_of_its_own)
{
	check(&whole, LIST(EVAL, JIT, NATIVE(1), EVAL, JIT, NATIVE(2), ENTRY(1), ENTRY(2)),
	      LIST(ENTRY(1), NATIVE(1), ENTRY(2), NATIVE(2)));
	/* Other code without a file is. */
	check(&whole, LIST(JIT, EVAL, NATIVE(1), JIT, ENTRY(1)),
	      LIST(JIT, ENTRY(1), NATIVE(1), JIT));
}

int main(void)
{
	RUN(without_a_language_nothing_changes);
	RUN(compiled_code);
	RUN(the_collector_runs_here);
	RUN(the_collector_runs_elsewhere);
	RUN(a_list_of_another_thread);
	RUN(a_run_for_each_call);
	RUN(parts_of_a_call);
	RUN(calls_for_one_run);
	RUN(runs_that_are_prepared);
	RUN(a_call_that_runs_nothing_yet);
	RUN(a_call_that_is_not_seen);
	RUN(a_cut_native_stack);
	RUN(a_cut_walk);
	RUN(frames_without_native_ones);
	RUN(a_perf_trampoline_is_no_frame_of_its_own);
	return TEST_END();
}
