/* SPDX-License-Identifier: MIT */
/* What lies above stacks that wait: pieces that stacks of a thread share, and their memory. */
#include "session/aboves.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/huge.h"
#include "base/xalloc.h"
#include "test.h"

#define BASE	0x7f0000000000ull	/* where the target's stack is, as it says */
#define SIZE	(6u * EBP_STACK_COPY)
#define MOST	4			/* blocks */

/* Shared with the process that reads. */
static struct memory {
	int calls;
	int gone;			/* the question of that number finds nothing; 0: none */
	uint64_t words[SIZE / 8];
} *memory;

/* Of addresses in the stack; up to its end. */
static ssize_t read_stack(pid_t pid, const struct iovec *local, unsigned long nlocal,
			  const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
	size_t n = 0;

	(void)pid;
	(void)nlocal;
	(void)flags;
	memory->calls++;
	if (memory->gone && memory->calls == memory->gone)
		return 0;
	for (unsigned long i = 0; i < nremote; i++) {
		uint64_t from = (uint64_t)(uintptr_t)remote[i].iov_base - BASE;

		if (from >= SIZE)
			break;
		memcpy((char *)local->iov_base + n, (char *)memory->words + from,
		       remote[i].iov_len);
		n += remote[i].iov_len;
	}
	return (ssize_t)n;
}

static struct stash stash;
static struct remote *reader;
static struct ebp_rescue *sample;

static struct aboves *begin(void)
{
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(memory != MAP_FAILED);
	for (size_t i = 0; i < SIZE / 8; i++)
		memory->words[i] = i;
	reader = remote_new(read_stack);
	stash_new(&stash, MOST);
	sample = xcalloc(1, sizeof(*sample) + EBP_STACK_COPY);
	return aboves_new(reader, &stash);
}

static void end(struct aboves *a)
{
	aboves_free(a);
	CHECK_EQ(stash.blocks.v[0].pieces, 0);
	stash_free(&stash);
	remote_free(reader);
	free(sample);
	munmap(memory, sizeof(*memory));
}

/* A stack of @tid from @offset on, as it is now; questions are counted from here on. */
static void sample_at(uint32_t tid, uint32_t offset)
{
	sample->key.tid = tid;
	sample->sp = BASE + offset;
	sample->head.n = EBP_STACK_COPY;
	memcpy(sample->stack, (char *)memory->words + offset, EBP_STACK_COPY);
	memory->calls = 0;
}

/* All that lies above the sample's stack is in @p. */
static void check_whole(const struct unwind_above *p)
{
	for (uint64_t at = sample->sp + EBP_STACK_COPY; at < BASE + SIZE; at += 8) {
		uint64_t word;

		while (p && at - p->start >= p->n)
			p = p->next;
		if (!p) {
			CHECK(p);
			return;
		}
		memcpy(&word, p->bytes + (at - p->start), 8);
		if (word != (at - BASE) / 8)
			CHECK_EQ(word, (at - BASE) / 8);
	}
}

TEST(stacks_of_a_thread_share_what_is_above)
{
	struct aboves *a = begin();
	struct unwind_above *first, *higher, *lower, *other;

	sample_at(1, 2 * EBP_STACK_COPY);
	first = aboves_take(a, sample);
	check_whole(first);
	CHECK(memory->calls >= 3 && memory->calls <= 5);
	/* All of it has been fetched already. */
	sample_at(1, 2 * EBP_STACK_COPY + 4096);
	higher = aboves_take(a, sample);
	check_whole(higher);
	CHECK_EQ(memory->calls, 0);
	CHECK(higher == first);
	/* But for some. */
	sample_at(1, 2 * EBP_STACK_COPY - 8000);
	lower = aboves_take(a, sample);
	check_whole(lower);
	CHECK_EQ(memory->calls, 1);
	/* Another thread's stack is another one. */
	sample_at(2, 2 * EBP_STACK_COPY);
	other = aboves_take(a, sample);
	check_whole(other);
	CHECK(memory->calls >= 3);
	aboves_give(a, first);
	aboves_give(a, other);
	aboves_give(a, higher);
	check_whole(lower);
	aboves_give(a, lower);
	end(a);
}

/* Words of the @n bytes below @offset that are other ones now, one of @each. */
static void change(uint32_t offset, uint32_t n, uint32_t each)
{
	for (uint32_t i = 1; i <= n / 8; i += each)
		memory->words[offset / 8 - i] ^= 1ull << 40;
}

/* The pieces that follow one another from @p on. */
static int pieces(const struct unwind_above *p)
{
	int n = 0;

	for (; p; p = p->next)
		n++;
	return n;
}

/* Where the thread had changed its stack between two pieces, a later stack is not left without. */
TEST(what_was_broken_off_goes_on)
{
	struct unwind_above *first, *second, *third;
	struct aboves *a = begin();

	sample_at(1, 0);
	/* Of the second piece nothing is what it should be. */
	memory->gone = 2;
	first = aboves_take(a, sample);
	CHECK_EQ(pieces(first), 1);
	memory->gone = 0;
	sample_at(1, 64);
	second = aboves_take(a, sample);
	check_whole(second);
	/* Those of the stack before have it now, too. */
	CHECK(second == first);
	aboves_give(a, first);
	aboves_give(a, second);
	aboves_forget(a);
	/* Where it has changed there since, all is fetched anew. */
	sample_at(1, 0);
	memory->gone = 2;
	first = aboves_take(a, sample);
	CHECK_EQ(pieces(first), 1);
	change(2 * EBP_STACK_COPY - UNWIND_BORDER, UNWIND_BORDER, 1);
	memory->gone = 0;
	sample_at(1, 64);
	third = aboves_take(a, sample);
	CHECK(third != first);
	CHECK(pieces(third) > 4);
	aboves_give(a, first);
	aboves_give(a, third);
	end(a);
}

/* Frames that are still there have variables. */
TEST(some_words_may_have_changed)
{
	struct aboves *a = begin();
	struct unwind_above *p;

	sample_at(1, EBP_STACK_COPY);
	change(2 * EBP_STACK_COPY, UNWIND_BORDER, 20);
	p = aboves_take(a, sample);
	CHECK(pieces(p) > 3);
	aboves_give(a, p);
	aboves_forget(a);
	sample_at(1, EBP_STACK_COPY);
	change(2 * EBP_STACK_COPY, UNWIND_BORDER, 10);
	p = aboves_take(a, sample);
	CHECK(p && !p->n && !p->next);
	aboves_give(a, p);
	end(a);
}

/* Only what is still there is believed. */
TEST(nothing_where_the_stack_has_changed)
{
	struct aboves *a = begin();
	struct unwind_above *p;

	sample_at(1, EBP_STACK_COPY);
	change(2 * EBP_STACK_COPY, UNWIND_BORDER, 1);
	p = aboves_take(a, sample);
	CHECK(p && !p->n && !p->next);
	CHECK_EQ(memory->calls, 1);
	aboves_give(a, p);
	/* Nor is what was fetched before, if the end of this stack is another one. */
	change(2 * EBP_STACK_COPY, UNWIND_BORDER, 1);
	sample_at(1, EBP_STACK_COPY);
	aboves_give(a, aboves_take(a, sample));
	for (uint32_t i = 1; i <= UNWIND_BORDER / 8; i++)
		sample->stack[EBP_STACK_COPY / 8 - i]++;
	p = aboves_take(a, sample);
	CHECK(p && !p->n && !p->next);
	aboves_give(a, p);
	/* A stack that ended within what was sent, or with it. */
	sample_at(1, 0);
	sample->head.n = EBP_STACK_COPY - 8;
	CHECK(!aboves_take(a, sample));
	sample_at(2, SIZE - EBP_STACK_COPY);
	p = aboves_take(a, sample);
	CHECK(p && !p->n);
	aboves_give(a, p);
	end(a);
}

/* More threads than are remembered, and more than there is memory for. */
TEST(many_threads)
{
	struct unwind_above *taken[40];
	struct aboves *a = begin();
	size_t whole = 0;

	for (uint32_t i = 0; i < 40; i++) {
		sample_at(i + 1, 0);
		taken[i] = aboves_take(a, sample);
		CHECK(taken[i]);
		whole += taken[i]->n > 0;
	}
	/* Five pieces each; 31 of a block. */
	CHECK(whole >= 20 && whole < 40);
	CHECK_EQ(stash.blocks.n, MOST);
	for (uint32_t i = 0; i < 40; i++)
		aboves_give(a, taken[i]);
	aboves_forget(a);
	for (size_t i = 0; i < stash.blocks.n; i++)
		CHECK_EQ(stash.blocks.v[i].pieces, 0);
	stash_shrink(&stash);
	CHECK_EQ(stash.blocks.n, 1);
	end(a);
}

TEST(stash_uses_blocks_again)
{
	char *pieces[6];

	stash_new(&stash, 2);
	CHECK(!stash_take(&stash, HUGE_BYTES + 1));
	for (int i = 0; i < 6; i++) {
		pieces[i] = stash_take(&stash, HUGE_BYTES / 3 - 8);
		CHECK(pieces[i]);
		memset(pieces[i], i, HUGE_BYTES / 3 - 8);
	}
	CHECK_EQ(stash.blocks.n, 2);
	CHECK(!stash_take(&stash, HUGE_BYTES / 3));
	/* A block is free when all of it is. */
	stash_give(&stash, pieces[0]);
	stash_give(&stash, pieces[2]);
	CHECK(!stash_take(&stash, HUGE_BYTES / 3));
	CHECK(pieces[1][0] == 1 && pieces[1][HUGE_BYTES / 3 - 9] == 1);
	stash_give(&stash, pieces[1]);
	pieces[0] = stash_take(&stash, HUGE_BYTES);
	CHECK(pieces[0]);
	memset(pieces[0], 7, HUGE_BYTES);
	CHECK(pieces[3][0] == 3 && pieces[5][HUGE_BYTES / 3 - 9] == 5);
	for (int i = 3; i < 6; i++)
		stash_give(&stash, pieces[i]);
	stash_give(&stash, pieces[0]);
	stash_shrink(&stash);
	CHECK_EQ(stash.blocks.n, 1);
	stash_free(&stash);
}

int main(void)
{
	RUN(stacks_of_a_thread_share_what_is_above);
	RUN(what_was_broken_off_goes_on);
	RUN(some_words_may_have_changed);
	RUN(nothing_where_the_stack_has_changed);
	RUN(many_threads);
	RUN(stash_uses_blocks_again);
	return TEST_END();
}
