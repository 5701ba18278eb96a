/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "profile/mark.h"
#include "profile/profile.h"

TEST(a_new_one_has_a_root)
{
	struct profile *p = profile_new();
	struct profile_view v = profile_view(p);

	CHECK_EQ(v.nnodes, 1);
	CHECK_EQ(v.nodes[0].location, PROFILE_NONE);
	CHECK_EQ(v.nsamples + v.nthreads + v.nprocesses + v.nlocations + v.nfunctions, 0);
	CHECK_EQ(v.total, 0);
	CHECK_EQ(v.account->taken, 0);
	CHECK_STR(profile_text(p, 0), "");
	CHECK_EQ(profile_string(p, ""), 0);
	profile_free(p);
	profile_free(NULL);
}

TEST(the_same_thing_twice_is_one)
{
	struct profile *p = profile_new();
	uint32_t a = profile_string(p, "a"), b = profile_string(p, "b");
	uint32_t f = profile_function(p, a, b, FRAME_USER);
	uint32_t m = profile_module(p, "libx.so", "/lib/libx.so", "00ff");
	uint32_t l = profile_location(p, m, FRAME_USER, 0x10);
	uint32_t n = profile_node(p, 0, l);
	uint32_t proc = profile_process(p, 7, 1, a);
	uint32_t t = profile_thread(p, proc, 8, a);

	CHECK_EQ(profile_function(p, a, b, FRAME_USER), f);
	CHECK_EQ(profile_module(p, "", "", ""), 0);
	CHECK_EQ(profile_module(p, "libx.so", "/lib/libx.so", "00ff"), m);
	CHECK_EQ(profile_location(p, m, FRAME_USER, 0x10), l);
	CHECK_EQ(profile_node(p, 0, l), n);
	CHECK_EQ(profile_process(p, 7, 1, a), proc);
	CHECK_EQ(profile_thread(p, proc, 8, a), t);
	CHECK_EQ(n, 1);
	/* Each part of a key matters. */
	CHECK(profile_function(p, b, b, FRAME_USER) != f);
	CHECK(profile_function(p, a, a, FRAME_USER) != f);
	CHECK(profile_function(p, a, b, FRAME_KERNEL) != f);
	CHECK(profile_module(p, "libx.so", "/other/libx.so", "00ff") != m);
	CHECK(profile_module(p, "libx.so", "/lib/libx.so", "00fe") != m);
	CHECK(profile_module(p, "liby.so", "/lib/libx.so", "00ff") != m);
	CHECK(profile_location(p, 0, FRAME_USER, 0x10) != l);
	CHECK(profile_location(p, m, FRAME_KERNEL, 0x10) != l);
	CHECK(profile_location(p, m, FRAME_USER, 0x11) != l);
	CHECK(profile_node(p, n, l) != n);
	CHECK(profile_process(p, 7, 2, a) != proc);
	CHECK(profile_process(p, 8, 1, a) != proc);
	CHECK(profile_thread(p, proc, 9, a) != t);
	CHECK(profile_thread(p, proc, 8, b) != t);
	CHECK(profile_thread(p, 1, 8, a) != t);
	profile_free(p);
}

TEST(locations_are_named_later)
{
	struct profile *p = profile_new();
	uint32_t l = profile_location(p, 0, FRAME_USER, UINT64_MAX);

	CHECK_EQ(profile_view(p).locations[l].nlines, 0);
	profile_name_location(
		p, l,
		&(struct line){ profile_function(p, profile_string(p, "f"), 0, FRAME_USER), 0, 0 },
		1, "");
	CHECK_EQ(profile_location(p, 0, FRAME_USER, UINT64_MAX), l);
	CHECK_EQ(profile_view(p).locations[l].nlines, 1);
	CHECK_EQ(profile_view(p).lines[profile_view(p).locations[l].first_line].function, 0);
	CHECK_EQ(profile_view(p).locations[l].address, UINT64_MAX);
	profile_free(p);
}

TEST(a_process_takes_its_latest_name)
{
	struct profile *p = profile_new();
	uint32_t proc = profile_process(p, 7, 1, profile_string(p, "sh"));

	CHECK_EQ(profile_process(p, 7, 1, profile_string(p, "worker")), proc);
	CHECK_STR(profile_text(p, profile_view(p).processes[proc].comm), "worker");
	profile_process(p, 7, 1, 0);
	CHECK_STR(profile_text(p, profile_view(p).processes[proc].comm), "worker");
	profile_free(p);
}

TEST(counts_add_up)
{
	struct profile *p = profile_new();
	uint32_t proc = profile_process(p, 7, 1, 0);
	uint32_t t = profile_thread(p, proc, 0, 0), u = profile_thread(p, proc, 1, 0);
	uint32_t n = profile_node(p, 0, profile_location(p, 0, FRAME_USER, 1));

	profile_add(p, t, n, 3);
	profile_add(p, t, n, 4);
	profile_add(p, u, n, 1);
	profile_add(p, t, 0, 1);
	profile_add(p, u, 0, 0);
	CHECK_EQ(profile_view(p).nsamples, 3);
	CHECK_EQ(profile_view(p).values[0], 7);
	CHECK_EQ(profile_view(p).total, 9);
	profile_free(p);
}

TEST(counts_never_overflow)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, profile_process(p, 7, 1, 0), 0, 0);
	uint32_t n = profile_node(p, 0, profile_location(p, 0, FRAME_USER, 1));

	profile_add(p, t, n, UINT64_MAX - 1);
	profile_add(p, t, 0, UINT64_MAX - 1);
	profile_add(p, t, n, UINT64_MAX);
	CHECK(profile_view(p).total == UINT64_MAX);
	CHECK(profile_view(p).values[0] == UINT64_MAX - 1);
	CHECK_EQ(profile_view(p).values[1], 1);
	profile_free(p);
}

/* A tree a thousand deep and wide, every index where it was left. */
TEST(holds_a_million_nodes)
{
	enum { SIDE = 1000 };
	struct profile *p = profile_new();
	struct profile_view v;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < SIDE; i++)
			for (uint32_t j = 0, node = 0; j < SIDE; j++) {
				uint64_t address = (uint64_t)(j ? j : SIDE + i) << 33;

				node = profile_node(p, node,
						    profile_location(p, 0, FRAME_USER, address));
				if (node != i * SIDE + j + 1)
					CHECK_EQ(node, i * SIDE + j + 1);
			}
	v = profile_view(p);
	CHECK_EQ(v.nnodes, SIDE * SIDE + 1);
	CHECK_EQ(v.nlocations, 2 * SIDE - 1);
	for (uint32_t i = 1; i < v.nnodes; i++)
		if (v.nodes[i].parent >= i)
			CHECK(v.nodes[i].parent < i);
	profile_free(p);
}

TEST(types_have_values_of_their_own)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, profile_process(p, 7, 1, 0), 7, 0), bytes, s, u;

	profile_set_type(p, 0, "alloc_objects", "count");
	bytes = profile_add_type(p, "alloc_space", "bytes");
	s = profile_sample(p, t, 0, 0);
	u = profile_sample(p, t, profile_node(p, 0, profile_location(p, 0, FRAME_USER, 1)), 0);
	profile_count(p, s, 0, 2);
	profile_count(p, s, bytes, 96);
	profile_count(p, u, bytes, UINT64_MAX);
	CHECK_EQ(profile_view(p).total, 2);
	CHECK_EQ(profile_view(p).values[s], 2);
	CHECK_EQ(profile_view(p).values[u], 0);
	profile_show(p, bytes);
	CHECK_EQ(profile_view(p).values[s], 96);
	CHECK(profile_view(p).values[u] == UINT64_MAX - 96);
	CHECK(profile_view(p).total == UINT64_MAX);
	CHECK_STR(profile_text(p, profile_view(p).types[bytes].name), "alloc_space");
	CHECK_STR(profile_text(p, profile_view(p).types[0].unit), "count");
	profile_free(p);
}

TEST(types_that_turn_out_to_be_unknown)
{
	struct profile *p = profile_new();
	uint32_t a, b, sample;

	a = profile_add_type(p, "a", "bytes");
	b = profile_add_type(p, "b", "bytes");
	profile_show(p, b);
	sample = profile_sample(p, profile_thread(p, profile_process(p, 1, 0, 0), 1, 0), 0, 0);
	profile_count(p, sample, a, 7);
	profile_count(p, sample, b, 9);
	profile_keep_types(p, 2);
	CHECK_EQ(profile_view(p).ntypes, 2);
	CHECK_EQ(profile_view(p).shown, a);
	CHECK_EQ(profile_values(p, a)[sample], 7);
	profile_keep_types(p, 2);
	CHECK_EQ(profile_view(p).total, 7);
	profile_free(p);
}

TEST(a_derived_type_is_the_first_times_a_factor)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, profile_process(p, 7, 1, 0), 7, 0), cpu;
	uint32_t n = profile_node(p, 0, profile_location(p, 0, FRAME_USER, 1));

	profile_add(p, t, n, 3);
	profile_add(p, t, 0, 1ull << 60);
	cpu = profile_derive(p, 0, "cpu", "nanoseconds", 100);
	CHECK_EQ(profile_values(p, cpu)[0], 300);
	CHECK(profile_values(p, cpu)[1] == UINT64_MAX - 300);
	/* What is counted later has both. */
	profile_count(p, profile_sample(p, t, n, 0), cpu, 0);
	CHECK_EQ(profile_view(p).values[0], 3);
	profile_free(p);
}

TEST(labels_are_sets)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, profile_process(p, 7, 1, 0), 7, 0),
		 k = profile_string(p, "k"), a = profile_string(p, "a");
	const struct label one[] = { { .key = k, .text = a },
				     { .key = a, .number = 5, .unit = k } };
	const struct label turned[] = { one[1], one[0] };
	uint32_t set = profile_labels(p, one, 2);
	struct label padded[2];

	CHECK_EQ(profile_labels(p, NULL, 0), 0);
	CHECK_EQ(profile_labels(p, turned, 2), set);
	/* A compiler may leave anything between two fields. */
	memset(padded, 0xff, sizeof(padded));
	for (int i = 0; i < 2; i++) {
		padded[i].key = one[i].key;
		padded[i].text = one[i].text;
		padded[i].unit = one[i].unit;
		padded[i].number = one[i].number;
	}
	CHECK_EQ(profile_labels(p, padded, 2), set);
	CHECK(profile_labels(p, one, 1) != set);
	CHECK(profile_labels(p, &one[1], 1) != set);
	CHECK_EQ(profile_view(p).label_sets[set].n, 2);
	CHECK_EQ(profile_view(p).nlabels, 4);
	CHECK(profile_sample(p, t, 0, set) != profile_sample(p, t, 0, 0));
	CHECK_EQ(profile_sample(p, t, 0, set), profile_sample(p, t, 0, set));
	CHECK_EQ(profile_view(p).samples[profile_sample(p, t, 0, set)].labels, set);
	profile_free(p);
}

TEST(ticks_are_sorted_by_time)
{
	struct profile *p = profile_new();

	profile_finish_ticks(p);
	profile_tick(p, &(struct tick){ .time = 9, .value = 1 });
	profile_tick(p, &(struct tick){ .time = 4, .cpu = 1, .value = 2 });
	profile_tick(p, &(struct tick){ .time = 4, .value = 3 });
	profile_finish_ticks(p);
	CHECK_EQ(profile_view(p).nticks, 3);
	CHECK_EQ(profile_view(p).ticks[0].value, 3);
	CHECK_EQ(profile_view(p).ticks[1].value, 2);
	CHECK_EQ(profile_view(p).ticks[2].value, 1);
	profile_free(p);
}

/* What is rounded off is not lost, and ticks add up to the value of their sample. */
TEST(scaled_values)
{
	struct profile *p = profile_new();
	uint32_t type = profile_add_type(p, "other", "count");
	uint32_t process = profile_process(p, 1, 1, 0), t = profile_thread(p, process, 1, 0);

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t sample = profile_sample(p, t, profile_mark(p, 0, i % 2 ? "a" : "b"), 0);

		profile_count(p, sample, 0, 1);
		profile_count(p, sample, type, 3);
	}
	profile_scale(p, type, 1.25);
	CHECK_EQ(profile_view(p).types[type].total, 375);
	CHECK_EQ(profile_view(p).types[0].total, 100);
	profile_scale(p, 0, 1.1);
	CHECK(profile_view(p).types[0].total >= 109 && profile_view(p).types[0].total <= 110);
	profile_free(p);
}

int main(void)
{
	RUN(a_new_one_has_a_root);
	RUN(the_same_thing_twice_is_one);
	RUN(locations_are_named_later);
	RUN(a_process_takes_its_latest_name);
	RUN(counts_add_up);
	RUN(counts_never_overflow);
	RUN(holds_a_million_nodes);
	RUN(types_have_values_of_their_own);
	RUN(types_that_turn_out_to_be_unknown);
	RUN(a_derived_type_is_the_first_times_a_factor);
	RUN(labels_are_sets);
	RUN(ticks_are_sorted_by_time);
	RUN(scaled_values);
	return TEST_END();
}
