/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdlib.h>

#include "profile/copy.h"
#include "profile/profile_fold.h"

#define MORE 2		/* types in all */

/* A profile of two types. */
static struct profile *two_types(void)
{
	struct profile *p = profile_new();

	profile_set_type(p, 0, "waits", "count");
	profile_add_type(p, "time", "nanoseconds");
	return p;
}

static uint32_t node(struct profile *p, uint64_t address)
{
	return profile_node(p, 0, profile_location(p, 0, FRAME_USER, address));
}

static uint32_t process(struct profile *p, pid_t pid, const char *comm)
{
	return profile_process(p, pid, 1, profile_string(p, comm));
}

/* @n of the first type, and ten times as much of the second. */
static uint32_t add(struct profile *p, uint32_t process, pid_t tid, const char *comm,
		    uint64_t address, uint32_t labels, uint64_t n)
{
	uint32_t s = profile_sample(p, profile_thread(p, process, tid, profile_string(p, comm)),
				    node(p, address), labels);

	profile_count(p, s, 0, n);
	profile_count(p, s, 1, 10 * n);
	return s;
}

static void fold(struct profile *p, const char *ended)
{
	unsigned char flags[16] = { 0 };

	for (size_t i = 0; ended[i]; i++)
		flags[i] = ended[i] == 'x';
	profile_fold(p, flags, NULL, " (ended)");
}

/* The one process of that PID and name; PROFILE_NONE where there is none, or more than one. */
static uint32_t find(const struct profile *p, pid_t pid, const char *comm)
{
	struct profile_view v = profile_view(p);
	uint32_t found = PROFILE_NONE, n = 0;

	for (uint32_t i = 0; i < v.nprocesses; i++)
		if (v.processes[i].pid == pid &&
		    !strcmp(profile_text(p, v.processes[i].comm), comm)) {
			found = i;
			n++;
		}
	return n == 1 ? found : PROFILE_NONE;
}

/* What a process has of a type. */
static uint64_t of_process(const struct profile *p, uint32_t process, uint32_t type)
{
	struct profile_view v = profile_view(p);
	uint64_t sum = 0;

	for (size_t i = 0; i < v.nsamples; i++)
		sum += v.threads[v.samples[i].thread].process == process
			       ? profile_values(p, type)[i]
			       : 0;
	return sum;
}

/* What a name of threads, a stack and a set of labels have together: this no fold may change. */
static uint64_t sum_of(const struct profile *p, const char *comm, uint32_t node, uint32_t labels,
		       uint32_t type)
{
	struct profile_view v = profile_view(p);
	uint64_t sum = 0;

	for (size_t i = 0; i < v.nsamples; i++)
		if (v.samples[i].node == node && v.samples[i].labels == labels &&
		    !strcmp(profile_text(p, v.threads[v.samples[i].thread].comm), comm))
			sum += profile_values(p, type)[i];
	return sum;
}

TEST(processes_of_one_name_become_one)
{
	struct profile *p = two_types();
	uint32_t cc = process(p, 10, "cc"), live = process(p, 20, "make"),
		 cc2 = process(p, 30, "cc"), ld = process(p, 40, "ld");
	uint32_t s[6];
	struct profile_folded f;

	s[0] = add(p, cc, 10, "cc", 1, 0, 1);
	s[1] = add(p, live, 20, "make", 1, 0, 2);
	s[2] = add(p, cc2, 30, "cc", 1, 0, 4);
	s[3] = add(p, ld, 40, "ld", 1, 0, 8);
	s[4] = add(p, cc2, 31, "cc", 1, 0, 16);
	s[5] = add(p, cc2, 30, "cc", 2, 0, 32);
	CHECK_EQ(profile_folded(p).times, 0);
	fold(p, "x.xx");
	CHECK_EQ(profile_view(p).nprocesses, 3);
	CHECK_EQ(profile_view(p).nthreads, 3);
	CHECK_EQ(profile_view(p).nsamples, 4);
	CHECK_EQ(of_process(p, find(p, 0, "cc (ended)"), 0), 1 + 4 + 16 + 32);
	CHECK_EQ(of_process(p, find(p, 0, "cc (ended)"), 1), 530);
	CHECK_EQ(of_process(p, find(p, 0, "ld (ended)"), 0), 8);
	CHECK_EQ(of_process(p, find(p, 20, "make"), 0), 2);
	CHECK_EQ(profile_view(p).total, 63);
	f = profile_folded(p);
	CHECK_EQ(f.times, 1);
	CHECK_EQ(f.nprocesses, 4);
	CHECK_EQ(f.nsamples, 6);
	CHECK_EQ(f.processes[cc], f.processes[cc2]);
	CHECK_EQ(f.processes[live], find(p, 20, "make"));
	CHECK_EQ(f.samples[s[0]], f.samples[s[2]]);
	CHECK_EQ(f.samples[s[0]], f.samples[s[4]]);
	CHECK_EQ(profile_values(p, 0)[f.samples[s[0]]], 21);
	CHECK_EQ(profile_values(p, 0)[f.samples[s[1]]], 2);
	CHECK_EQ(profile_values(p, 1)[f.samples[s[5]]], 320);
	CHECK(profile_sample_ended(p, f.samples[s[3]]));
	CHECK(!profile_sample_ended(p, f.samples[s[1]]));
	/* All that has a new index is found by it. */
	CHECK_EQ(process(p, 20, "make"), f.processes[live]);
	CHECK_EQ(add(p, f.processes[live], 20, "make", 1, 0, 1), f.samples[s[1]]);
	CHECK_EQ(profile_view(p).threads[profile_view(p).samples[f.samples[s[0]]].thread].tid, 0);
	/* And what comes again is new. */
	CHECK_EQ(process(p, 10, "cc"), 3);
	profile_free(p);
}

TEST(names_of_threads_and_labels_stay_apart)
{
	struct profile *p = two_types();
	const struct label label = { .key = profile_string(p, "state"),
				     .text = profile_string(p, "blocked") };
	uint32_t blocked = profile_labels(p, &label, 1), a = process(p, 1, "java"),
		 b = process(p, 2, "java");

	add(p, a, 1, "main", 1, 0, 1);
	add(p, a, 3, "gc", 1, 0, 2);
	add(p, b, 4, "gc", 1, 0, 4);
	add(p, b, 4, "gc", 1, blocked, 8);
	fold(p, "xx");
	CHECK_EQ(profile_view(p).nthreads, 2);
	CHECK_EQ(profile_view(p).nsamples, 3);
	CHECK_EQ(sum_of(p, "main", node(p, 1), 0, 0), 1);
	CHECK_EQ(sum_of(p, "gc", node(p, 1), 0, 0), 6);
	CHECK_EQ(sum_of(p, "gc", node(p, 1), blocked, 1), 80);
	CHECK_EQ(profile_labels(p, &label, 1), blocked);
	profile_free(p);
}

TEST(folded_again_they_join_those_of_before)
{
	struct profile *p = two_types();
	uint32_t s, first = process(p, 1, "sh"), live = process(p, 2, "sh");

	add(p, first, 1, "sh", 1, 0, 1);
	add(p, live, 2, "sh", 1, 0, 2);
	fold(p, "x.");
	s = add(p, process(p, 3, "sh"), 3, "sh", 2, 0, 4);
	/* The live one ends, too: its row comes before the one that it joins in the next round. */
	fold(p, "..x");
	CHECK_EQ(of_process(p, find(p, 0, "sh (ended)"), 0), 5);
	CHECK_EQ(profile_values(p, 0)[profile_folded(p).samples[s]], 4);
	fold(p, ".x");
	CHECK_EQ(profile_view(p).nprocesses, 1);
	CHECK_EQ(profile_view(p).nthreads, 1);
	CHECK_EQ(profile_view(p).nsamples, 2);
	CHECK_EQ(of_process(p, 0, 1), 70);
	CHECK_EQ(profile_folded(p).times, 3);
	profile_free(p);
}

TEST(nothing_to_fold_changes_nothing)
{
	struct profile *p = two_types();
	uint32_t a = process(p, 1, "sh");
	struct profile_folded f;

	fold(p, "");
	add(p, a, 1, "sh", 1, 0, 1);
	add(p, a, 1, "sh", 2, 0, 2);
	fold(p, ".");
	f = profile_folded(p);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ(f.samples[i], i);
		CHECK_EQ(profile_values(p, 1)[i], 10 * (i + 1));
	}
	CHECK_EQ(f.processes[0], 0);
	CHECK_STR(profile_text(p, profile_view(p).processes[0].comm), "sh");
	/* One that never had a name, and one that is called like those that ended. */
	a = process(p, 2, "");
	add(p, a, 2, "", 1, 0, 4);
	add(p, process(p, 3, "? (ended)"), 3, "", 1, 0, 8);
	fold(p, ".x.");
	CHECK_EQ(of_process(p, find(p, 0, "? (ended)"), 0), 4);
	CHECK_EQ(of_process(p, find(p, 3, "? (ended)"), 0), 8);
	profile_free(p);
}

TEST(ticks_are_of_the_same_samples)
{
	struct profile *p = two_types();
	uint32_t ended = add(p, process(p, 1, "sh"), 1, "sh", 1, 0, 1),
		 other = add(p, process(p, 2, "sh"), 2, "sh", 1, 0, 1);
	uint32_t live = add(p, process(p, 3, "top"), 3, "top", 1, 0, 1);

	for (uint32_t i = 0; i < 3; i++)
		profile_tick(p, &(struct tick){ .time = i,
						.value = 1,
						.sample = i == 0   ? ended
							  : i == 1 ? other
								   : live });
	fold(p, "xx.");
	CHECK_EQ(profile_view(p).ticks[0].sample, 0);
	CHECK_EQ(profile_view(p).ticks[1].sample, 0);
	CHECK_EQ(profile_view(p).ticks[2].sample, 1);
	profile_free(p);
}

/*
 * Thousands of processes of random names that come and go: no sum of a name, a stack and a type is
 * ever another.
 */
TEST(sums_stay_while_processes_come_and_go)
{
	enum { ROUNDS = 6, EACH = 500, NAMES = 5, PLACES = 7 };
	struct profile *p = two_types(), *copy = profile_new();
	static const char *const names[NAMES] = { "a", "b", "c", "d", "e" };
	uint64_t sums[NAMES][PLACES] = { { 0 } };

	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		unsigned char *ended;

		for (int i = 0; i < 4 * EACH; i++) {
			int name = rand() % NAMES, place = rand() % PLACES;
			uint32_t who = process(p, 1000 * (round + 1) + rand() % EACH, names[name]);

			add(p, who, rand() % 3, names[name], (uint64_t)place, 0, (uint64_t)i);
			sums[name][place] += (uint64_t)i;
		}
		ended = calloc(profile_view(p).nprocesses, 1);
		for (size_t i = 0; i < profile_view(p).nprocesses; i++)
			ended[i] = profile_view(p).processes[i].pid != 0 && rand() % 4;
		profile_follow(copy, p);
		profile_fold(p, ended, NULL, " (ended)");
		free(ended);
		CHECK(profile_view(p).nprocesses < EACH / 2 * (size_t)(round + 2));
		for (int twice = 0; twice < 2; twice++) {
			const struct profile *one = twice ? copy : p;

			for (int i = 0; i < NAMES * PLACES; i++)
				for (uint32_t type = 0; type < MORE; type++)
					CHECK_EQ(sum_of(one, names[i / PLACES],
							node(p, (uint64_t)i % PLACES), 0, type),
						 sums[i / PLACES][i % PLACES] * (type ? 10 : 1));
			profile_follow(copy, p);
		}
		CHECK_EQ(profile_view(copy).nsamples, profile_view(p).nsamples);
		CHECK_EQ(profile_view(copy).nthreads, profile_view(p).nthreads);
		CHECK_EQ(profile_view(copy).total, profile_view(p).total);
	}
	profile_free(copy);
	profile_free(p);
}

TEST(a_copy_follows_it)
{
	struct profile *p = two_types(), *copy = profile_new();
	uint32_t a = process(p, 1, "sh");

	add(p, a, 1, "sh", 1, 0, 1);
	add(p, process(p, 2, "sh"), 2, "sh", 1, 0, 2);
	add(p, process(p, 3, "top"), 3, "top", 1, 0, 4);
	profile_follow(copy, p);
	fold(p, "xx.");
	/* More than there was before the fold: an index says nothing of what it was. */
	for (pid_t pid = 10; pid < 15; pid++)
		add(p, process(p, pid, "new"), pid, "new", 1, 0, 8);
	profile_follow(copy, p);
	CHECK_EQ(profile_view(copy).nprocesses, 7);
	CHECK_EQ(profile_view(copy).nsamples, 7);
	CHECK_EQ(of_process(copy, find(copy, 0, "sh (ended)"), 0), 3);
	CHECK_EQ(of_process(copy, find(copy, 3, "top"), 1), 40);
	CHECK_EQ(of_process(copy, find(copy, 14, "new"), 0), 8);
	CHECK_EQ(profile_view(copy).total, 47);
	profile_free(copy);
	profile_free(p);
}

/* Threads of one that goes on become what they are told to; one that ended keeps no ids. */
TEST(threads_become_one)
{
	struct profile *p = two_types();
	uint32_t server = process(p, 10, "server"), cc = process(p, 20, "cc");
	static const uint32_t same[] = { 0, 1, 2, 1, 4, 1, 1 };
	struct profile_view v;

	add(p, server, 10, "server", 1, 0, 1);
	add(p, server, 11, "worker", 1, 0, 2);
	add(p, cc, 20, "cc", 1, 0, 4);
	add(p, server, 12, "worker", 1, 0, 8);
	add(p, server, 13, "worker", 1, 0, 16);
	add(p, server, 14, "worker", 2, 0, 32);
	add(p, server, 15, "worker", 2, 0, 64);
	profile_fold(p, (const unsigned char[]){ 0, 1 }, same, "");
	v = profile_view(p);
	CHECK_EQ(v.nthreads, 4);
	CHECK_EQ(v.threads[0].tid, 10);
	CHECK_EQ(v.threads[1].tid, 11);
	CHECK_EQ(v.threads[2].tid, 0);
	CHECK_EQ(v.threads[3].tid, 13);
	CHECK_EQ(v.nsamples, 5);
	CHECK_EQ(profile_values(p, 0)[1], 2 + 8);
	CHECK_EQ(profile_values(p, 1)[1], 20 + 80);
	CHECK_EQ(profile_values(p, 0)[4], 32 + 64);
	CHECK_EQ(profile_folded(p).samples[3], 1);
	CHECK_EQ(profile_folded(p).samples[6], 4);
	CHECK_EQ(v.total, 127);
	profile_free(p);
}

int main(void)
{
	RUN(processes_of_one_name_become_one);
	RUN(names_of_threads_and_labels_stay_apart);
	RUN(folded_again_they_join_those_of_before);
	RUN(nothing_to_fold_changes_nothing);
	RUN(ticks_are_of_the_same_samples);
	RUN(sums_stay_while_processes_come_and_go);
	RUN(a_copy_follows_it);
	RUN(threads_become_one);
	return TEST_END();
}
