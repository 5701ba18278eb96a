/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "session/stacks.h"

static uint32_t location(struct profile *p, uint64_t address)
{
	return profile_location(p, 0, FRAME_USER, address);
}

/* The addresses from @node to the root, in decimal digits. */
static uint64_t path(const struct profile *p, uint32_t node)
{
	struct profile_view v = profile_view(p);
	uint64_t digits = 0;

	for (; node; node = v.nodes[node].parent)
		digits = digits * 10 + v.locations[v.nodes[node].location].address;
	return digits;
}

TEST(stacks_come_once_and_are_appended_either_way)
{
	struct profile *p = profile_new();
	struct stacks s = { 0 };
	const struct stack *stack;
	uint32_t leaf, caller, root;

	for (uint64_t i = 1; i <= 3; i++)
		stacks_push(&s, location(p, i));
	stacks_add(&s, 77);
	stacks_push(&s, location(p, 9));
	stacks_add(&s, 78);
	stacks_last_result(&s, 5);
	stack = stacks_find(&s, 77);
	leaf = stack->leaf;
	CHECK_EQ(stack->result, STACKS_NO_RESULT);
	CHECK_EQ(stacks_location(&s, leaf), location(p, 1));
	caller = stacks_caller(&s, leaf);
	CHECK_EQ(stacks_location(&s, caller), location(p, 2));
	root = stacks_caller(&s, caller);
	CHECK_EQ(stacks_location(&s, root), location(p, 3));
	CHECK_EQ(stacks_caller(&s, root), 0);
	CHECK_EQ(path(p, stacks_append(&s, p, 0, leaf)), 123);
	CHECK_EQ(path(p, stacks_append(&s, p, 0, root)), 3);
	CHECK_EQ(path(p, stacks_append_turned(&s, p, 0, 77)), 321);
	CHECK_EQ(stacks_find(&s, 78)->result, 5);
	CHECK_EQ(path(p, stacks_append_turned(&s, p, stacks_append(&s, p, 0, caller), 78)), 923);
	stacks_free(&s);
	profile_free(p);
}

TEST(stacks_of_the_same_callers_share_them)
{
	struct profile *p = profile_new();
	struct stacks s = { 0 };
	size_t nodes;

	for (uint64_t id = 1; id <= 2; id++) {
		stacks_push(&s, location(p, id));
		stacks_push(&s, location(p, 8));
		stacks_push(&s, location(p, 9));
		stacks_add(&s, id);
		nodes = s.nodes.n;
	}
	CHECK_EQ(nodes, 1 + 4);
	for (uint64_t id = 1; id <= 2; id++)
		CHECK_EQ(path(p, stacks_append(&s, p, 0, stacks_find(&s, id)->leaf)),
			 id * 100 + 89);
	stacks_free(&s);
	profile_free(p);
}

TEST(no_stack_is_known_and_appends_nothing)
{
	struct profile *p = profile_new();
	struct stacks s = { 0 };

	CHECK(stacks_know(&s, 0) && !stacks_know(&s, 1));
	CHECK(!stacks_find(&s, 0) && !stacks_find(&s, 1));
	CHECK_EQ(stacks_append_turned(&s, p, 0, 0), 0);
	CHECK_EQ(stacks_append_turned(&s, p, 0, 1), 0);
	/* A stack without frames is a stack. */
	stacks_add(&s, 1);
	CHECK(stacks_know(&s, 1));
	CHECK_EQ(stacks_append(&s, p, 0, stacks_find(&s, 1)->leaf), 0);
	stacks_free(&s);
	profile_free(p);
}

int main(void)
{
	RUN(stacks_come_once_and_are_appended_either_way);
	RUN(stacks_of_the_same_callers_share_them);
	RUN(no_stack_is_known_and_appends_nothing);
	return TEST_END();
}
