/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/text.h"
#include "output/calltree.h"
#include "output/rollup.h"
#include "unit/stacks.h"

static struct profile *example(void)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 42, 0, "server"), u = stacks_thread(p, 7, 0, "sh");

	stacks_add(p, t, "server!main|server!work|libc.so.6!memcpy", 30);
	stacks_add(p, t, "server!main|server!work", 50);
	stacks_add(p, t, "server!main|libc.so.6!read|[kernel]!vfs_read", 15);
	stacks_add(p, u, "[sh+0x1234]", 5);
	return p;
}

TEST(the_table)
{
	struct profile *p = example();

	CHECK_OUTPUT(p, "top", NULL,
		"   SELF%  TOTAL%  SAMPLES  IMAGE      FUNCTION\n"
		"   50.00   80.00       50  server     work\n"
		"   30.00   30.00       30  libc.so.6  memcpy\n"
		"   15.00   15.00       15  [kernel]   vfs_read\n"
		"    5.00    5.00        5  -          [sh+0x1234]\n"
		"    0.00   95.00        0  server     main\n"
		"    0.00   15.00        0  libc.so.6  read\n"
		"\n"
		"     PID  COMM    SAMPLES       %\n"
		"      42  server       95   95.00\n"
		"       7  sh            5    5.00\n");
	profile_free(p);
}

TEST(rows_that_are_left_out_are_told)
{
	struct profile *p = example();
	struct output_options o = { .rows = 2 };
	char *text;

	stacks_add(p, stacks_thread(p, 8, 0, "sh"), "x", 100);
	stacks_add(p, stacks_thread(p, 9, 0, "sh"), "y", 50);
	CHECK_OUTPUT(p, "top", &o,
		"   SELF%  TOTAL%  SAMPLES  IMAGE   FUNCTION\n"
		"   40.00   40.00      100  -       x\n"
		"   20.00   32.00       50  server  work\n"
		"... and 6 more, with 40.00% of the samples\n"
		"\n"
		"     PID  COMM    SAMPLES       %\n"
		"       8  sh          100   40.00\n"
		"      42  server       95   38.00\n"
		"... and 2 more, with 22.00% of the samples\n");
	o.rows = 8;
	text = stacks_output(p, "top", &o);
	CHECK(text && !strstr(text, "more"));
	free(text);
	profile_free(p);
}

TEST(nothing_is_said_to_be_nothing)
{
	struct profile *p = profile_new();

	CHECK_OUTPUT(p, "top", NULL, "   SELF%  TOTAL%  SAMPLES  IMAGE  FUNCTION\nno samples\n");
	profile_free(p);
}

/* Recursion counts once a stack, both direct and over another function. */
TEST(total_counts_a_stack_once)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");
	struct rollup_function *rows;
	size_t n;

	stacks_add(p, t, "f|f|g|f", 3);
	stacks_add(p, t, "f|g", 2);
	stacks_add(p, t, "g|f|g", 1);
	stacks_add(p, t, "", 4);
	stacks_add(p, t, "f|@|@", 5);
	rows = rollup_functions(p, &n);
	CHECK_EQ(n, 4);
	CHECK_STR(rows[0].name, "[unknown]");
	CHECK_EQ(rows[0].self, 5);
	CHECK_EQ(rows[0].total, 5);
	CHECK_STR(rows[1].name, "[no stack]");
	CHECK_EQ(rows[1].self, 4);
	CHECK_STR(rows[2].name, "f");
	CHECK_EQ(rows[2].self, 3);
	CHECK_EQ(rows[2].total, 11);
	CHECK_STR(rows[3].name, "g");
	CHECK_EQ(rows[3].self, 3);
	CHECK_EQ(rows[3].total, 6);
	free(rows);
	profile_free(p);
}

/* An exec keeps the pid: by name two rows, and by the same name one. */
TEST(processes_are_pid_and_comm)
{
	struct profile *p = profile_new();
	static const char *const comms[] = { "sh", "ls", "sh", "" };
	struct rollup_process *rows;
	size_t n;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t comm = profile_string(p, comms[i]);

		stacks_add(p, profile_thread(p, profile_process(p, 5, i, comm), 0, comm), "f",
			   i + 1);
	}
	rows = rollup_processes(p, &n);
	CHECK_EQ(n, 3);
	CHECK_STR(rows[0].comm, "?");
	CHECK_EQ(rows[0].samples, 4);
	CHECK_STR(rows[1].comm, "sh");
	CHECK_EQ(rows[1].samples, 4);
	CHECK_STR(rows[2].comm, "ls");
	CHECK_EQ(rows[2].pid, 5);
	free(rows);
	profile_free(p);
}

static const char long_name[] =
	"std::_Rb_tree<std::string, std::pair<std::string const, int>, std::less<std::string> >"
	"::find(std::string const&)";

TEST(long_names_lose_their_middle)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");
	struct output_options o = { .columns = 80 };
	char stack[256];

	snprintf(stack, sizeof(stack), "a-library-with-quite-a-long-name.so.1!%s", long_name);
	stacks_add(p, t, stack, 3);
	stacks_add(p, t, "libm.so.6!sin", 1);
	CHECK_OUTPUT(p, "top", &o,
		"   SELF%  TOTAL%  SAMPLES  IMAGE                 FUNCTION\n"
		"   75.00   75.00        3  a-library...ame.so.1  std::_Rb_tree<...string const&)\n"
		"   25.00   25.00        1  libm.so.6             sin\n"
		"\n"
		"     PID  COMM  SAMPLES       %\n"
		"       1  x           4  100.00\n");
	profile_free(p);
}

#define WIDE "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97"

/* Whatever the names and the terminal, lines keep within it and end in no blank. */
TEST(no_line_is_wider_than_the_terminal)
{
	static const char *const names[] = {
		long_name, WIDE WIDE WIDE WIDE WIDE,
		"u\xcc\x88u\xcc\x88u\xcc\x88u\xcc\x88u\xcc\x88", "ends in blanks   ", " ",
	};
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, long_name);
	char stack[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(stack, sizeof(stack), "%s!%s", names[i], names[i]);
		stacks_add(p, t, stack, 1);
	}
	for (int columns = 60; columns < 200; columns++) {
		struct output_options o = { .columns = columns };
		char *text = stacks_output(p, "top", &o), *line, *save = NULL;

		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			char again[1024];

			CHECK(text_width(line) <= (size_t)columns);
			CHECK(line[strlen(line) - 1] != ' ');
			text_clean(again, sizeof(again), line);
			CHECK_STR(again, line);
		}
		free(text);
	}
	profile_free(p);
}

/* Bold headers, the kernel cyan; colour stands around the words and not the padding. */
TEST(colour_is_restrained)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");
	struct output_options o = { .color = 1 };

	stacks_add(p, t, "a!f|[kernel]!g", 3);
	stacks_add(p, t, "a!f", 1);
	CHECK_OUTPUT(p, "top", &o,
		     "   \033[1mSELF%\033[0m  \033[1mTOTAL%\033[0m  \033[1mSAMPLES\033[0m  "
		     "\033[1mIMAGE\033[0m"
		     "     \033[1mFUNCTION\033[0m\n"
		     "   75.00   75.00        3  \033[36m[kernel]\033[0m  \033[36mg\033[0m\n"
		     "   25.00  100.00        1  a         f\n"
		     "\n"
		     "     \033[1mPID\033[0m  \033[1mCOMM\033[0m  \033[1mSAMPLES\033[0m       "
		     "\033[1m%\033[0m\n"
		     "       1  x           4  100.00\n");
	profile_free(p);
}

/* --- The tree below all of it. ------------------------------------------- */
static void enter(void *ctx, const struct calltree_node *n)
{
	char *text = ctx;

	sprintf(text + strlen(text), "%u=%d/%d(", n->label, (int)n->self, (int)n->total);
}

static void leave(void *ctx, const struct calltree_node *n)
{
	(void)n;
	strcat(ctx, ")");
}

static void check_tree(const struct profile *p, const uint32_t *functions, const uint32_t *threads,
		       const char *expected)
{
	struct calltree *t = calltree_new(
		p, &(struct calltree_labels){ .functions = functions, .threads = threads });
	char text[512] = "";

	calltree_walk(t, &(struct calltree_walker){ .enter = enter, .leave = leave, .ctx = text });
	CHECK_STR(text, expected);
	CHECK_EQ(t->nodes[0].total, profile_view(p).total);
	for (size_t i = 1; i < t->n; i++)
		CHECK(t->nodes[i].parent < i);
	calltree_free(t);
}

TEST(trees_follow_their_labels)
{
	static const uint32_t same[] = { 0, 0, 0, 1 }, turned[] = { 3, 2, 1, 0 },
			      threads[] = { 5, 4 };
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "t"), u = stacks_thread(p, 1, 2, "u");

	check_tree(p, NULL, NULL, "");
	stacks_add(p, t, "a|b", 1);	/* functions 0, 1 and 2; 3 is "none" */
	stacks_add(p, t, "a|c", 2);
	stacks_add(p, u, "a|b", 4);
	stacks_add(p, u, "a|@", 8);
	stacks_add(p, u, "", 16);
	check_tree(p, NULL, NULL, "0=0/15(1=5/5()2=2/2()3=8/8())");
	check_tree(p, turned, NULL, "3=0/15(0=8/8()1=2/2()2=5/5())");
	check_tree(p, same, NULL, "0=0/15(0=7/7()1=8/8())");
	check_tree(p, NULL, threads, "4=16/28(0=0/12(1=4/4()3=8/8()))5=0/3(0=0/3(1=1/1()2=2/2()))");
	profile_free(p);
	calltree_free(NULL);
}

/* One node of the profile under several threads, and as another's parent. */
TEST(trees_tell_threads_of_one_stack_apart)
{
	static const uint32_t threads[] = { 7, 8, 7 };
	struct profile *p = profile_new();
	uint32_t node;

	stacks_add(p, stacks_thread(p, 1, 1, "t"), "a|b|c", 1);
	for (uint32_t i = 1; i < 3; i++) {
		stacks_thread(p, 1, (pid_t)i + 1, "t");
		for (node = 0; node < profile_view(p).nnodes; node++)
			profile_add(p, i, node, i);
	}
	check_tree(p, NULL, NULL, "0=3/10(1=3/7(2=4/4()))");
	check_tree(p, NULL, threads, "7=2/9(0=2/7(1=2/5(2=3/3())))8=1/4(0=1/3(1=1/2(2=1/1())))");
	profile_free(p);
}

TEST(waiting_is_the_functions_own_time)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 7, 7, "x"), node;
	const char *const frames[] = { "main", "lock", "[blocked]", "waker", "[woken by y]" };
	size_t n;

	stacks_add(p, t, "main|lock", 2);
	node = 0;
	for (size_t i = 0; i < 5; i++) {
		enum frame_kind kind = *frames[i] == '[' ? FRAME_MARK : FRAME_USER;
		uint32_t location = profile_location(p, 0, kind, 1000 + i);

		profile_name_location(
			p, location,
			&(struct line){ .function = profile_function(
						p, profile_string(p, frames[i]), 0, kind) },
			1, "");
		node = profile_node(p, node, location);
	}
	profile_add(p, t, node, 5);
	node = profile_node(p, 0, profile_view(p).nodes[profile_view(p).nnodes - 3].location);
	profile_add(p, t, node, 1);	/* nothing but [blocked] */

	struct rollup_function *rows = rollup_functions(p, &n);

	CHECK_STR(rows[0].name, "lock");
	CHECK_EQ(rows[0].self, 7);
	CHECK_EQ(rows[0].total, 7);
	CHECK_STR(rows[1].name, "[blocked]");
	CHECK_EQ(rows[1].self, 1);
	CHECK_EQ(rows[1].total, 6);
	for (size_t i = 2; i < n; i++)
		CHECK_EQ(rows[i].self, 0);
	free(rows);
	profile_free(p);
}

int main(void)
{
	RUN(the_table);
	RUN(rows_that_are_left_out_are_told);
	RUN(nothing_is_said_to_be_nothing);
	RUN(total_counts_a_stack_once);
	RUN(processes_are_pid_and_comm);
	RUN(long_names_lose_their_middle);
	RUN(no_line_is_wider_than_the_terminal);
	RUN(colour_is_restrained);
	RUN(trees_follow_their_labels);
	RUN(trees_tell_threads_of_one_stack_apart);
	RUN(waiting_is_the_functions_own_time);
	return TEST_END();
}
