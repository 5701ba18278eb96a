/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <inttypes.h>

#include "base/text.h"
#include "output/across.h"
#include "output/callers.h"
#include "output/labelled.h"
#include "output/rollup.h"
#include "output/tree.h"
#include "output/views.h"
#include "profile/merge.h"
#include "unit/stacks.h"

/* A view as text; the caller frees it. */
struct view {
	enum { TOP, TREE, FOCUS, LABEL, ACROSS } what;
	enum views_by by;
	int by_total;
	double percent;
	const char *focus;		/* names, "|" around each; the key of a label */
};

/* 1 for each function that is in @names. */
static unsigned char *focus_on(const struct profile *p, const char *names)
{
	size_t n = profile_view(p).nfunctions + 1;
	unsigned char *focus = calloc(n, 1);
	char name[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "|%.50s|", rollup_name(p, i));
		focus[i] = strstr(names, name) != NULL;
	}
	return focus;
}

static void write_across(const struct profile *p, const struct view *v,
			 const struct output_options *o, struct outfile *f)
{
	struct across *a = across_new(p, v->focus);

	views_across(p, a, v->by, v->by_total, o, f);
	across_free(a);
}

static char *view_text(const struct profile *p, const struct view *v,
		       const struct output_options *o)
{
	char path[] = "/tmp/ebprof-test-XXXXXX", *text = NULL;
	const struct output_options none = { 0 };
	const struct user user = { 0 };
	unsigned char *focus = v->focus ? focus_on(p, v->focus) : NULL;
	struct outfile *f;
	struct error e;
	size_t size = 0;
	FILE *in;

	close(mkstemp(path));
	f = outfile_open(path, &user, &e);
	o = o ? o : &none;
	if (v->what == TOP)
		views_top(p, v->by, v->by_total, o, f);
	else if (v->what == TREE)
		views_tree(p, v->percent, o, f);
	else if (v->what == LABEL)
		views_label(p, v->focus, o, f);
	else if (v->what == ACROSS)
		write_across(p, v, o, f);
	else
		views_focus(p, focus, o, f);
	outfile_commit(f, &e);
	in = fopen(path, "re");
	if (getdelim(&text, &size, '\0', in) < 0)
		text[0] = '\0';
	fclose(in);
	unlink(path);
	free(focus);
	return text;
}

#define CHECK_VIEW(p, o, expected, ...) do { \
	char *text_ = view_text(p, &(struct view){ __VA_ARGS__ }, o); \
	CHECK_STR(text_, expected); \
	free(text_); \
} while (0)

static struct profile *example(void)
{
	struct profile *p = profile_new();
	uint32_t process = profile_process(p, 42, 1, profile_string(p, "server"));
	uint32_t t = profile_thread(p, process, 42, profile_string(p, "server"));
	uint32_t u = profile_thread(p, process, 43, profile_string(p, "worker"));

	stacks_add(p, t, "server!main|server!work|libc.so.6!memcpy", 30);
	stacks_add(p, t, "server!main|server!work", 40);
	stacks_add(p, u, "server!main|server!work", 10);
	stacks_add(p, t, "server!main|libc.so.6!read|[kernel]!vfs_read", 15);
	stacks_add(p, u, "libc.so.6!@", 3);
	stacks_add(p, u, "", 2);
	return p;
}

TEST(rows_by_module)
{
	struct profile *p = example();

	CHECK_VIEW(p, NULL,
		"   SELF%  TOTAL%  SAMPLES  IMAGE\n"
		"   50.00   95.00       50  server\n"
		"   30.00   45.00       30  libc.so.6\n"
		"   15.00   15.00       15  [kernel]\n"
		"    3.00    3.00        3  [unknown]\n"
		"    2.00    2.00        2  [no stack]\n", .what = TOP, .by = VIEWS_MODULE);
	profile_free(p);
}

TEST(rows_by_function_and_total)
{
	struct profile *p = example();

	CHECK_VIEW(p, (&(struct output_options){ .rows = 3 }),
		   "   SELF%  TOTAL%  SAMPLES  IMAGE      FUNCTION\n"
		   "    0.00   95.00        0  server     main\n"
		   "   50.00   80.00       50  server     work\n"
		   "   30.00   30.00       30  libc.so.6  memcpy\n"
		   "... and 4 more, with 20.00% of the samples\n",
		   .what = TOP, .by = VIEWS_FUNCTION, .by_total = 1);
	profile_free(p);
}

/* A wait: how its stack ends is behind the mark, as who ended it is. */
static void add_wait(struct profile *p, uint32_t thread, const char *frames, const char *waker,
		     uint64_t count)
{
	uint32_t mark, node;

	stacks_add(p, thread, frames, 1);
	node = profile_view(p).samples[profile_view(p).nsamples - 1].node;
	mark = profile_location(p, profile_module(p, "", "", ""), FRAME_MARK,
				profile_view(p).nlocations);
	profile_name_location(
		p, mark,
		&(struct line){ .function = profile_function(p, profile_string(p, "[blocked]"),
							     profile_string(p, ""), FRAME_MARK) },
		1, "");
	node = profile_node(p, node, mark);
	mark = profile_location(p, profile_module(p, "[kernel]", "", ""), FRAME_KERNEL,
				profile_view(p).nlocations);
	profile_name_location(
		p, mark,
		&(struct line){ .function = profile_function(p, profile_string(p, waker),
							     profile_string(p, "[kernel]"),
							     FRAME_KERNEL) },
		1, "");
	profile_add(p, thread, profile_node(p, node, mark), count);
}

TEST(rows_of_events_say_who_asked)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 42, 42, "server");

	stacks_add(p, t,
		   "server!main|libc.so.6!read|[kernel]!entry|[kernel]!vfs_read|[kernel]!wait", 50);
	stacks_add(p, t, "server!main|libc.so.6!write|[kernel]!entry|[kernel]!wait|[kernel]!wait",
		   20);
	stacks_add(p, t, "server!main|libc.so.6!poll|[kernel]!entry|[kernel]!wait", 10);
	stacks_add(p, t, "[kernel]!kthread|[kernel]!worker", 15);
	stacks_add(p, t, "server!main", 3);
	stacks_add(p, t, "libc.so.6!@|[kernel]!lost", 2);
	strcpy(profile_meta(p)->event, "sched:sched_switch");
	CHECK_VIEW(p, NULL,
		   "   SELF%  TOTAL%  SAMPLES  IMAGE      FUNCTION   CALLED FROM\n"
		   "   80.00   80.00       80  [kernel]   wait       read, +2 more\n"
		   "   15.00   15.00       15  [kernel]   worker\n"
		   "    3.00   83.00        3  server     main\n"
		   "    2.00    2.00        2  [kernel]   lost\n"
		   "    0.00   80.00        0  [kernel]   entry      read, +2 more\n"
		   "    0.00   50.00        0  libc.so.6  read\n"
		   "    0.00   50.00        0  [kernel]   vfs_read   read\n"
		   "    0.00   20.00        0  libc.so.6  write\n"
		   "    0.00   15.00        0  [kernel]   kthread\n"
		   "    0.00   10.00        0  libc.so.6  poll\n"
		   "    0.00    2.00        0  -          [unknown]\n",
		   .what = TOP, .by = VIEWS_FUNCTION);
	/* Time on CPUs is its functions' own, whatever the event is followed by. */
	strcpy(profile_meta(p)->event, "cycles:u");
	CHECK_VIEW(p, (&(struct output_options){ .rows = 1 }),
		"   SELF%  TOTAL%  SAMPLES  IMAGE     FUNCTION\n"
		"   80.00   80.00       80  [kernel]  wait\n"
		"... and 10 more, with 20.00% of the samples\n", .what = TOP, .by = VIEWS_FUNCTION);
	profile_free(p);
}

TEST(who_ended_a_wait_did_not_ask_for_it)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 42, 42, "server");

	profile_set_type(p, 0, "off-cpu", "nanoseconds");
	add_wait(p, t, "server!main|libc.so.6!read|[kernel]!wait", "try_to_wake_up", 3000000);
	CHECK_VIEW(p, (&(struct output_options){ .rows = 1 }),
		"   SELF%  TOTAL%       MS  IMAGE     FUNCTION  CALLED FROM\n"
		"  100.00  100.00    3.000  [kernel]  wait      read\n"
		"... and 4 more, with 0.00% of the samples\n", .what = TOP, .by = VIEWS_FUNCTION);
	profile_free(p);
}

TEST(rows_by_task)
{
	struct profile *p = example();

	/*
	 * What one reader cannot tell from another is one row: the same ids and comm in another
	 * program.
	 */
	stacks_add(p,
		   profile_thread(p, profile_process(p, 42, 2, profile_string(p, "server")), 43,
				  profile_string(p, "worker")),
		   "x", 100);
	stacks_add(p,
		   profile_thread(p, profile_process(p, 42, 2, profile_string(p, "server")), 43,
				  profile_string(p, "other")),
		   "x", 0);
	CHECK_VIEW(p, NULL,
		"     PID      TID  COMM    SAMPLES       %\n"
		"      42       43  worker      115   57.50\n"
		"      42       42  server       85   42.50\n", .what = TOP, .by = VIEWS_THREAD);
	CHECK_VIEW(p, NULL,
		"     PID  COMM    SAMPLES       %\n"
		"      42  server      200  100.00\n", .what = TOP, .by = VIEWS_PROCESS);
	profile_free(p);
}

/*
 * Two places in one line are one row, one line in two functions is two; and recursion counts once.
 */
TEST(rows_by_line)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "x"), file = profile_string(p, "/src/a.c");
	uint32_t f = profile_function(p, profile_string(p, "f"), profile_string(p, "app"),
				      FRAME_USER);
	uint32_t g = profile_function(p, profile_string(p, "g"), profile_string(p, "app"),
				      FRAME_USER);
	const struct line lines[] = {
		{ f, file, 10 }, { g, file, 10 }, { f, file, 11 }, { g, 0, 0 }
	};
	uint32_t at[5], node;

	for (uint32_t i = 0; i < 5; i++) {
		at[i] = profile_location(p, 0, FRAME_USER, 100 + i);
		profile_name_location(p, at[i], &lines[i % 4], 1, "");
	}
	node = profile_node(p, profile_node(p, 0, at[0]), at[4]);	/* f:10 calls f:10 */
	profile_add(p, t, node, 4);
	profile_add(p, t, profile_node(p, node, at[1]), 3);
	profile_add(p, t, profile_node(p, node, at[2]), 2);
	profile_add(p, t, profile_node(p, node, at[3]), 1);
	stacks_add(p, t, "@", 10);
	CHECK_VIEW(p, NULL,
		"   SELF%  TOTAL%  SAMPLES  FUNCTION    LINE  FILE\n"
		"   50.00   50.00       10  [unknown]      -  -\n"
		"   20.00   50.00        4  f             10  /src/a.c\n"
		"   15.00   15.00        3  g             10  /src/a.c\n"
		"   10.00   10.00        2  f             11  /src/a.c\n"
		"    5.00    5.00        1  g              -  -\n", .what = TOP, .by = VIEWS_LINE);
	profile_free(p);
}

TEST(the_tree)
{
	struct profile *p = example();

	CHECK_VIEW(p, NULL,
		"  TOTAL%   SELF%  SAMPLES  FUNCTION\n"
		"   85.00    0.00       85  server\n"
		"   85.00    0.00       85    main\n"
		"   70.00   40.00       70      work\n"
		"   30.00   30.00       30        memcpy\n"
		"   15.00    0.00       15      read\n"
		"   15.00   15.00       15        vfs_read\n"
		"   15.00    2.00       15  worker\n"
		"   10.00    0.00       10    main\n"
		"   10.00   10.00       10      work\n"
		"    3.00    3.00        3    [unknown]\n", .what = TREE);
	CHECK_VIEW(p, NULL,
		"  TOTAL%   SELF%  SAMPLES  FUNCTION\n"
		"   85.00    0.00       85  server\n"
		"   85.00    0.00       85    main\n"
		"   70.00   40.00       70      work\n"
		"   30.00   30.00       30        memcpy\n"
		"   15.00    0.00       15      read\n"
		"   15.00   15.00       15        vfs_read\n"
		"   15.00    2.00       15  worker\n", .what = TREE, .percent = 15);
	CHECK_VIEW(p, (&(struct output_options){ .rows = 1 }),
		"  TOTAL%   SELF%  SAMPLES  FUNCTION\n"
		"   85.00    0.00       85  server\n"
		"... and 6 more, with 87.00% of the samples\n", .what = TREE, .percent = 15);
	profile_free(p);
}

/*
 * Neither lines nor the file grow with the square of the depth, and a terminal keeps room for
 * names.
 */
TEST(deep_trees_stay_narrow)
{
	enum { DEPTH = 20000 };
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x"), node = 0,
		 l = profile_location(p, 0, FRAME_USER, 1);
	char *text, *line, *save = NULL;
	size_t n = 0;

	profile_name_location(
		p, l,
		&(struct line){ profile_function(p, profile_string(p, "deep"), 0, FRAME_USER), 0,
				0 },
		1, "");
	for (int i = 0; i < DEPTH; i++)
		node = profile_node(p, node, l);
	profile_add(p, t, node, 9);
	for (int columns = 0; columns <= 80; columns += 40) {
		text = view_text(p, &(struct view){ .what = TREE },
				 &(struct output_options){ .columns = columns });
		n = 0;
		for (line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save), n++)
			CHECK(text_width(line) <= (columns ? (size_t)columns : 130) &&
			      (!n || n == 1 || strstr(line, "deep")));
		CHECK_EQ(n, DEPTH + 2);
		free(text);
	}
	profile_free(p);
}

/* Callers and callees add up, through recursion and several functions in focus. */
TEST(callers_and_callees)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");
	unsigned char *focus;
	struct callers *c;

	stacks_add(p, t, "main|f", 1);
	stacks_add(p, t, "main|f|g", 2);
	stacks_add(p, t, "main|f|f|f", 4);
	stacks_add(p, t, "h|f|g|f|k", 8);
	stacks_add(p, t, "f|h", 16);
	stacks_add(p, t, "main|h", 32);
	stacks_add(p, t, "f2|f|@", 64);
	focus = focus_on(p, "|f|");
	c = callers_new(p, focus);
	CHECK_EQ(c->total, 95);
	CHECK_EQ(c->self, 5);
	CHECK_EQ(c->ncallers, 4);
	CHECK_STR(c->callers[0].name, "f2");
	CHECK_EQ(c->callers[0].self, 64);
	CHECK_STR(c->callers[1].name, CALLERS_NONE);
	CHECK_EQ(c->callers[1].self, 16);
	CHECK_STR(c->callers[2].name, "h");
	CHECK_EQ(c->callers[2].self, 8);
	CHECK_STR(c->callers[3].name, "main");
	CHECK_EQ(c->callers[3].self, 7);
	CHECK_EQ(c->ncallees, 4);
	CHECK_STR(c->callees[0].name, "[unknown]");
	CHECK_EQ(c->callees[0].self, 64);
	CHECK_STR(c->callees[1].name, "h");
	CHECK_STR(c->callees[2].name, "k");
	CHECK_STR(c->callees[3].name, "g");
	CHECK_EQ(c->callees[3].self, 2);
	callers_free(c);
	free(focus);
	focus = focus_on(p, "|f|f2|g|");
	c = callers_new(p, focus);
	CHECK_EQ(c->total, 95);
	CHECK_EQ(c->self, 7);
	CHECK_STR(c->callers[0].name, CALLERS_NONE);
	CHECK_EQ(c->callers[0].self, 80);
	callers_free(c);
	free(focus);
	profile_free(p);
}

TEST(the_focus)
{
	struct profile *p = example();

	CHECK_VIEW(p, NULL,
		   "   SELF%  TOTAL%  SAMPLES  IMAGE   FUNCTION\n"
		   "   50.00   80.00       50  server  work\n"
		   "in focus: 80.00% of the samples, 50.00% their own\n"
		   "\n"
		   "       %  OF FOCUS%  SAMPLES  IMAGE   CALLER\n"
		   "   80.00     100.00       80  server  main\n"
		   "\n"
		   "       %  OF FOCUS%  SAMPLES  IMAGE      CALLEE\n"
		   "   30.00      37.50       30  libc.so.6  memcpy\n",
		   .what = FOCUS, .focus = "|work|");
	profile_free(p);
}

/* Of nothing there are headers, and nothing is divided by it. */
TEST(nothing_is_shown_as_nothing)
{
	struct profile *p = profile_new();

	for (int by = 0; by < VIEWS_BY; by++) {
		char *text = view_text(p, &(struct view){ .what = TOP, .by = (enum views_by)by },
				       NULL);

		CHECK(text && strchr(text, '\n') == text + strlen(text) - 1);
		free(text);
		CHECK(views_name((enum views_by)by) && *views_name((enum views_by)by));
	}
	CHECK(!views_name(VIEWS_BY));
	CHECK_VIEW(p, NULL, "  TOTAL%   SELF%  SAMPLES  FUNCTION\n", .what = TREE);
	CHECK_VIEW(p, NULL,
		"   SELF%  TOTAL%  SAMPLES  IMAGE  FUNCTION\n"
		"in focus: 0.00% of the samples, 0.00% their own\n"
		"\n"
		"       %  OF FOCUS%  SAMPLES  IMAGE  CALLER\n"
		"\n"
		"       %  OF FOCUS%  SAMPLES  IMAGE  CALLEE\n", .what = FOCUS, .focus = "|f|");
	profile_free(p);
}

/* A number has its unit; what has no such label stands in a row of its own. */
TEST(by_labels)
{
	struct profile *p = profile_new();
	uint32_t thread = profile_thread(p, profile_process(p, 1, 1, 0), 1, 0), sets[4];
	const struct label pod = { .key = profile_string(p, "pod"),
				   .text = profile_string(p, "shop/web") };
	const struct label size = { .key = profile_string(p, "size"), .number = -3,
				    .unit = profile_string(p, "bytes") };

	sets[0] = 0;
	sets[1] = profile_labels(p, &pod, 1);
	sets[2] = profile_labels_and(p, sets[1], &size);
	sets[3] = profile_labels_and(p, 0, &size);
	CHECK(sets[2] != sets[1] && sets[2] == profile_labels_and(p, sets[3], &pod));
	for (uint32_t i = 0; i < 4; i++)
		profile_count(p, profile_sample(p, thread, 0, sets[i]), 0, 1 + i);
	CHECK_VIEW(p, NULL, " SAMPLES       %  LABEL\n       5   50.00  [none]\n"
		   "       5   50.00  shop/web\n", .what = LABEL, .focus = "pod");
	CHECK_VIEW(p, NULL, " SAMPLES       %  LABEL\n       7   70.00  -3 bytes\n"
		   "       3   30.00  [none]\n", .what = LABEL, .focus = "size");
	CHECK(labelled_has(p, "pod") && !labelled_has(p, "po"));
	profile_free(p);
}

/* Runs that are called so, together. */
static struct profile *labelled(const char *const *names, size_t n)
{
	struct profile *all = profile_new();

	for (size_t i = 0; i < n; i++) {
		struct profile *p = profile_new();
		uint32_t thread = stacks_thread(p, 1, 1, "app");

		stacks_add(p, thread, "app!main|app!parse", 10 * (1 + i));
		stacks_add(p, thread, "app!main", 30);
		profile_merge_labelled(all, p, "file", names[i]);
		profile_free(p);
	}
	return all;
}

/* A column for each file, as they were given; shares are of that file's samples. */
TEST(files_beside_one_another)
{
	static const char *const files[] = { "runs/before.pb.gz", "runs/after.pb.gz" },
				*const folders[] = { "a/x.folded", "a-long-folder/x.folded" },
				*const kinds[] = { "b.pb.gz", "a.folded", ".c" };
	const struct output_options one = { .rows = 1 };
	struct profile *p = labelled(files, 2);

	CHECK_VIEW(p, NULL,
		"  before   after  IMAGE  FUNCTION\n"
		"   75.00   60.00  app    main\n"
		"   25.00   40.00  app    parse\n", .what = ACROSS, .focus = "file");
	CHECK_VIEW(p, &one,
		"  before   after  IMAGE  FUNCTION\n"
		"  100.00  100.00  app    main\n"
		"... and 1 more, with 33.33% of the samples\n", .what = ACROSS, .focus = "file",
		.by_total = 1);
	CHECK_VIEW(p, NULL, "  before   after  IMAGE\n"
		"  100.00  100.00  app\n", .what = ACROSS, .focus = "file",
		.by = VIEWS_MODULE);
	profile_free(p);
	p = labelled(folders, 2);
	CHECK_VIEW(p, &one,
		"     a/x  a-lon...er/x  IMAGE  FUNCTION\n"
		"   75.00         60.00  app    main\n"
		"... and 1 more, with 33.33% of the samples\n", .what = ACROSS, .focus = "file");
	profile_free(p);
	p = labelled(kinds, 3);
	CHECK_VIEW(p, &one,
		" b.pb.gz  a.folded      .c  IMAGE  FUNCTION\n"
		"   75.00     60.00   50.00  app    main\n"
		"... and 1 more, with 40.00% of the samples\n", .what = ACROSS, .focus = "file");
	profile_free(p);
}

/* What has no room for columns of its own is counted; labels of others are by their samples. */
TEST(more_values_than_columns)
{
	static const char *const names[] = { "1", "2", "3", "4", "5", "6", "7", "8", "9" };
	struct profile *p = labelled(names, 9);
	struct across *a = across_new(p, "file");

	CHECK(a->n == ACROSS_MOST && a->others == 1);
	CHECK_STR(a->values[7].heading, "8");
	across_free(a);
	a = across_new(p, "pod");
	CHECK(a->n == 1 && !a->others);
	CHECK_STR(a->values[0].heading, "[none]");
	across_free(a);
	across_fill(NULL, rollup_functions, 0, NULL);
	across_free(NULL);
	profile_free(p);
}

int main(void)
{
	RUN(by_labels);
	RUN(files_beside_one_another);
	RUN(more_values_than_columns);
	RUN(rows_by_module);
	RUN(rows_by_function_and_total);
	RUN(rows_of_events_say_who_asked);
	RUN(who_ended_a_wait_did_not_ask_for_it);
	RUN(rows_by_task);
	RUN(rows_by_line);
	RUN(the_tree);
	RUN(deep_trees_stay_narrow);
	RUN(callers_and_callees);
	RUN(the_focus);
	RUN(nothing_is_shown_as_nothing);
	return TEST_END();
}
