/* SPDX-License-Identifier: MIT */
/* Profiles that pprof.c writes and pprof_read.c reads again. */
#include "unit/test.h"

#include "base/protobuf.h"
#include "base/vec.h"
#include "input/readers.h"
#include "profile/latency.h"
#include "profile/merge.h"
#include "profile/pprof.h"
#include "unit/stacks.h"

/* The bytes of a profile as the writer makes them, not compressed. */
static struct protobuf written(const struct profile *p)
{
	char path[] = "/tmp/ebprof-test-XXXXXX", shown[32];
	int fd = mkstemp(path);
	const struct user user = { 0 };
	struct output_options none = { 0 };
	struct protobuf b = { 0 };
	struct outfile *f;
	struct error e;
	ssize_t n;

	unlink(path);
	snprintf(shown, sizeof(shown), "/dev/fd/%d", fd);
	f = outfile_open(shown, &user, &e);
	if (!f)
		return b;
	output_by_name("pprof")->write(p, &none, f);
	CHECK_EQ(outfile_commit(f, &e), 0);
	do {
		vec_reserve(&b, b.n + 4096);
		n = pread(fd, b.v + b.n, 4096, (off_t)b.n);
		b.n += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	close(fd);
	return b;
}

/* Written, read and written again: the same bytes, and what was read is returned. */
static struct profile *again(const struct profile *p)
{
	struct protobuf first = written(p), second;
	struct profile *q = profile_new();
	struct error e = { 0 };

	CHECK_EQ(pprof_read(q, (const char *)first.v, first.n, &(struct input_notes){ 0 }, &e), 0);
	second = written(q);
	CHECK_STR(e.text, "");
	CHECK(first.n && first.n == second.n && !memcmp(first.v, second.v, first.n));
	protobuf_free(&first);
	protobuf_free(&second);
	return q;
}

/* What the hand-made profiles of the other tests have not. */
TEST(comes_back_as_it_was)
{
	struct profile *p = profile_new(), *q;
	uint32_t a = profile_process(p, 5, 1, profile_string(p, "before"));
	uint32_t b = profile_process(p, 5, 9, profile_string(p, "after"));
	uint32_t t = profile_thread(p, a, 6, profile_string(p, "x")),
		 u = profile_thread(p, b, 6, profile_string(p, "x"));
	uint32_t l = profile_location(p, profile_module(p, "[kernel]", "[kernel.kallsyms]", ""),
				      FRAME_KERNEL, UINT64_MAX);
	struct label labels[2] = {
		{ .key = profile_string(p, "zz"), .text = profile_string(p, "1") },
		{ .key = profile_string(p, "aa"),
		  .number = INT64_MIN,
		  .unit = profile_string(p, "ns") },
	};
	struct profile_view v;

	stacks_add(p, t, "app!main|app!@|[kernel]!read", 3);
	stacks_add(p, u, "app!main|b||[truncated: no CFI]", 4);
	stacks_add(p, u, "", 5);
	profile_name_location(p, l, NULL, 0, "hidden");
	profile_count(p, profile_sample(p, u, profile_node(p, 0, l), profile_labels(p, labels, 2)),
		      0, 6);
	profile_sample(p, t, profile_node(p, 0, l), 0);
	profile_comment(p, "ebprof: cpus=3");
	profile_comment(p, "ebprof: latency=1 256:1 no such bucket");
	profile_account(p)->truncated[profile_account(p)->ntruncated++] = (struct profile_reason){
		"no CFI", 4
	};
	q = again(p);
	v = profile_view(q);
	CHECK_EQ(v.total, 18);
	CHECK_EQ(v.nprocesses, 2);
	CHECK_EQ(v.processes[0].incarnation, 1);
	CHECK_EQ(v.processes[1].incarnation, 9);
	CHECK_STR(profile_text(q, v.processes[1].comm), "after");
	CHECK_STR(profile_text(q, v.locations[0].why), "hidden");
	CHECK_EQ(v.locations[0].kind, FRAME_KERNEL);
	CHECK_EQ(v.locations[0].address, UINT64_MAX);
	CHECK_EQ(v.nlabels, 2);
	CHECK_EQ(v.meta->cpus, 0);
	CHECK_STR(profile_text(q, v.comments[0]), "ebprof: cpus=3");
	CHECK_EQ(v.samples[2].node, 0);
	CHECK_EQ(v.nsamples, 5);
	profile_free(q);
	profile_free(p);
}

/* By name it is the other one, or the last, that is shown. */
TEST(types_of_one_name)
{
	for (int named = 0; named < 2; named++) {
		struct profile *p = profile_new(), *q;

		profile_set_type(p, 0, "other", "count");
		profile_add_type(p, named ? "same" : "", "count");
		profile_show(p, profile_add_type(p, named ? "same" : "", "count"));
		profile_add_type(p, "same", "bytes");
		q = again(p);
		CHECK_EQ(profile_view(q).shown, 2);
		profile_free(q);
		profile_free(p);
	}
}

/* pprof's numbers are signed, and so are the sums that its readers make. */
TEST(values_beyond_63_bits_are_cut)
{
	struct profile *p = profile_new(), *q;
	uint32_t t = stacks_thread(p, 1, 1, "x");

	stacks_add(p, t, "f", (uint64_t)INT64_MAX - 5);
	stacks_add(p, t, "g", 100);
	stacks_add(p, t, "h", 100);
	q = again(p);
	CHECK_EQ(profile_view(q).total, INT64_MAX);
	CHECK_OUTPUT(q, "folded", NULL, "x;f 9223372036854775802\nx;g 5\n");
	profile_free(q);
	profile_free(p);
}

/* Times of calls are added up by name; of what is none nothing is taken. */
TEST(times_of_calls_come_back)
{
	static const char *const bad[] = {
		"", "1", "1 ", "1 5:3 ", "1 5:3", "1 x f", "2 5:3 f", "1 256:3 f", "1 5:-3 f",
		"1 5:99999999999999999999 f", "-1 f",
	};
	uint64_t calls[LATENCY_BUCKETS] = { [0] = 1, [LATENCY_BUCKETS - 1] = UINT64_MAX, [40] = 7 };
	struct profile *p = profile_new(), *q, *sum = profile_new();
	const struct latency *l;
	char text[128];
	size_t n;

	CHECK_EQ(profile_add_latency(p, "uprobe:./a b:f 2:3", calls), 0);
	CHECK_EQ(profile_add_latency(p, "g", calls), 0);
	q = again(p);
	l = profile_latencies(q, &n);
	CHECK_EQ(n, 2);
	CHECK_STR(profile_text(q, l[0].name), "uprobe:./a b:f 2:3");
	CHECK(!memcmp(l[0].calls, calls, sizeof(calls)));
	profile_merge_run(sum, p);
	profile_merge_run(sum, q);
	l = profile_latencies(sum, &n);
	CHECK_EQ(n, 2);
	CHECK_EQ(l[1].calls[40], 14);
	CHECK_EQ(l[1].calls[LATENCY_BUCKETS - 1], UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "ebprof: latency=%s", bad[i]);
		CHECK_EQ(pprof_take_comment(sum, text), 0);
	}
	profile_latencies(sum, &n);
	CHECK_EQ(n, 2);
	for (int i = 0; i < 2 * LATENCIES_MAX; i++) {
		snprintf(text, sizeof(text), "ebprof: latency=1 5:3 f%d", i);
		pprof_take_comment(sum, text);
	}
	profile_latencies(sum, &n);
	CHECK_EQ(n, LATENCIES_MAX);
	profile_free(p);
	profile_free(q);
	profile_free(sum);
}

int main(void)
{
	RUN(comes_back_as_it_was);
	RUN(types_of_one_name);
	RUN(values_beyond_63_bits_are_cut);
	RUN(times_of_calls_come_back);
	return TEST_END();
}
