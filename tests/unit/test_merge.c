/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "profile/merge.h"
#include "unit/stacks.h"

static const uint32_t first[] = { 0 };

static uint32_t place(struct profile *p, const char *path, uint64_t address, const char *name,
		      uint32_t line)
{
	uint32_t module = profile_module(p, "app", path, ""), app = profile_string(p, "app");
	uint32_t location = profile_location(p, module, FRAME_USER, address);
	const struct line lines[] = {
		{ profile_function(p, profile_string(p, "inlined"), app, FRAME_USER),
		  profile_string(p, "a.h"), line },
		{ profile_function(p, profile_string(p, name), app, FRAME_USER),
		  profile_string(p, "a.c"), line },
	};

	if (!profile_view(p).locations[location].nlines)
		profile_name_location(p, location, lines, 2, "");
	return profile_node(p, 0, location);
}

/* Two builds: other addresses, lines, paths, processes and labels; the same names. */
TEST(by_names_two_builds_meet)
{
	struct profile *dst = profile_new(), *a = profile_new(), *b = profile_new();
	struct label label = { .key = profile_string(b, "state"),
			       .text = profile_string(b, "run") };
	struct profile_view v;
	uint32_t t;

	profile_add(a, stacks_thread(a, 10, 10, "app"), place(a, "/old/app", 0x10, "main", 7), 3);
	t = stacks_thread(b, 20, 21, "app");
	profile_count(b,
		      profile_sample(b, t, place(b, "/new/app", 0x30, "main", 8),
				     profile_labels(b, &label, 1)),
		      0, 4);
	profile_meta(b)->per_thread = 1;
	profile_merge(dst, a, first, COPY_NAMES);
	profile_merge(dst, b, first, COPY_NAMES);
	profile_free(a);
	profile_free(b);
	v = profile_view(dst);
	CHECK_EQ(v.nsamples, 1);
	CHECK_EQ(v.values[0], 7);
	CHECK_EQ(v.nlocations, 1);
	CHECK_EQ(v.locations[0].nlines, 2);
	CHECK_EQ(v.lines[0].line + v.lines[1].file, 0);
	CHECK_EQ(v.nprocesses, 1);
	CHECK_EQ(v.processes[0].pid, 0);
	CHECK_EQ(v.threads[0].tid, 0);
	CHECK_OUTPUT(dst, "folded", NULL, "app;main;inlined 7\n");
	profile_free(dst);
}

TEST(by_names_what_differs_stays_apart)
{
	struct profile *dst = profile_new(), *a = profile_new(), *b = profile_new();

	stacks_add(a, stacks_thread(a, 1, 0, "x"), "app!main|libc.so.6!read", 1);
	stacks_add(b, stacks_thread(b, 1, 0, "x"), "app!main|[kernel]!read", 2);
	stacks_add(b, stacks_thread(b, 1, 0, "x"), "app!main|app!@", 3);
	stacks_add(b, stacks_thread(b, 1, 0, "y"), "app!main|libc.so.6!read", 4);
	profile_merge(dst, a, first, COPY_NAMES);
	profile_merge(dst, b, first, COPY_NAMES);
	CHECK_EQ(profile_view(dst).nsamples, 4);
	CHECK_EQ(profile_view(dst).nfunctions, 3);
	CHECK_OUTPUT(dst, "folded", NULL, "x;main;[unknown] 3\nx;main;read 3\ny;main;read 4\n");
	profile_free(dst);
	profile_free(a);
	profile_free(b);
}

TEST(by_names_addresses_are_not_names)
{
	struct profile *dst = profile_new(), *a = profile_new();
	uint32_t t = stacks_thread(a, 1, 0, "x");

	stacks_add(a, t, "lib!main|lib![lib.so+0x12]", 1);
	stacks_add(a, t, "lib!main|lib![lib.so+0xabc]", 2);
	stacks_add(a, t, "lib!main|lib![lib.so+0xabc: stripped]", 4);
	stacks_add(a, t, "lib!main|lib![c+0x1+0x2]", 8);
	stacks_add(a, t, "lib!main|lib![lib.so+0xyz]", 16);
	stacks_add(a, t, "lib!main|lib!f+0x12]", 32);
	stacks_add(a, t, "[", 64);
	stacks_add(a, t, "[unknown]", 64);
	profile_merge(dst, a, first, COPY_NAMES);
	CHECK_OUTPUT(dst, "folded", NULL,
		     "x;[ 64\nx;[unknown] 64\n"
		     "x;main;[c+0x1] 8\nx;main;[lib.so+0xyz] 16\nx;main;[lib.so] 7\nx;main;f+0x12] "
		     "32\n");
	profile_free(dst);
	dst = profile_new();
	profile_merge(dst, a, first, COPY_PLACES);
	CHECK_EQ(profile_view(dst).nsamples, profile_view(a).nsamples);
	profile_free(dst);
	profile_free(a);
}

/* Of runs of one program all stays as it is, and what is at one place is one. */
TEST(runs_keep_their_places)
{
	struct profile *dst = profile_new(), *a = profile_new(), *b = profile_new();
	struct profile_view v;

	profile_add(a, stacks_thread(a, 10, 11, "app"), place(a, "/app", 0x10, "main", 7), 3);
	profile_add(b, stacks_thread(b, 10, 11, "app"), place(b, "/app", 0x20, "main", 8), 4);
	profile_add(b, stacks_thread(b, 10, 11, "app"), place(b, "/app", 0x10, "main", 7), 5);
	profile_merge_run(dst, a);
	profile_merge_run(dst, b);
	v = profile_view(dst);
	CHECK_EQ(v.nlocations, 2);
	CHECK_EQ(v.locations[0].address, 0x10);
	CHECK_EQ(v.lines[1].line, 7);
	CHECK_STR(profile_text(dst, v.lines[1].file), "a.c");
	CHECK_STR(profile_text(dst, v.modules[v.locations[1].module].path), "/app");
	CHECK_EQ(v.nthreads, 1);
	CHECK_EQ(v.threads[0].tid, 11);
	CHECK_EQ(v.processes[0].pid, 10);
	CHECK_EQ(v.nsamples, 2);
	CHECK_EQ(v.values[0], 8);
	profile_free(dst);
	profile_free(a);
	profile_free(b);
}

/* Made-up addresses and pids that were used again: one number, two things. */
TEST(runs_do_not_mix_what_only_shares_a_number)
{
	struct profile *dst = profile_new(), *a = profile_new(), *b = profile_new();

	stacks_add(a, stacks_thread(a, 1, 1, "one"), "f|g", 1);
	stacks_add(b, stacks_thread(b, 1, 1, "two"), "g|f", 2);
	stacks_add(b, stacks_thread(b, 1, 1, "two"), "h|@", 4);
	profile_merge_run(dst, a);
	profile_merge_run(dst, b);
	profile_merge_run(dst, a);
	CHECK_EQ(profile_view(dst).nprocesses, 2);
	CHECK_EQ(profile_view(dst).nlocations, 6);
	CHECK_OUTPUT(dst, "folded", NULL, "one;f;g 2\ntwo;g;f 2\ntwo;h;[unknown] 4\n");
	profile_free(dst);
	profile_free(a);
	profile_free(b);
}

static struct profile *described(const char *event, uint64_t frequency, uint64_t start,
				 uint64_t duration, const char *host)
{
	struct profile *p = profile_new();
	struct profile_meta *m = profile_meta(p);
	struct profile_account *a = profile_account(p);

	snprintf(m->event, sizeof(m->event), "%s", event);
	m->frequency = frequency;
	m->start = start;
	m->duration = duration;
	m->cpus = 4;
	m->host = profile_string(p, host);
	a->taken = 10;
	a->kept = 9;
	a->lost[a->nlost++] = (struct profile_reason){ "full", 1 };
	a->truncated[a->ntruncated++] = (struct profile_reason){
		profile_text(p, profile_string(p, host)), 2
	};
	profile_comment(p, host);
	stacks_add(p, stacks_thread(p, 1, 1, "x"), "f", 9);
	return p;
}

TEST(runs_describe_what_they_share)
{
	struct profile *dst = profile_new();
	struct profile *a = described("cycles", 99, 500, 20, "box"),
		       *b = described("cycles", 999, 400, 30, "pc");
	const struct profile_account *sum = profile_account(dst);

	profile_merge_run(dst, a);
	CHECK(!strcmp(profile_meta(dst)->event, "cycles") && profile_meta(dst)->frequency == 99);
	profile_merge_run(dst, b);
	profile_merge_run(dst, b);
	profile_free(a);
	profile_free(b);
	CHECK_STR(profile_meta(dst)->event, "cycles");
	CHECK_EQ(profile_meta(dst)->frequency, 0);
	CHECK_EQ(profile_meta(dst)->start, 400);
	CHECK_EQ(profile_meta(dst)->duration, 80);
	CHECK_EQ(profile_meta(dst)->cpus, 4);
	CHECK_EQ(profile_meta(dst)->host, 0);
	CHECK_EQ(profile_view(dst).ncomments, 3);
	CHECK_EQ(sum->taken, 30);
	CHECK_EQ(sum->kept, 27);
	CHECK_EQ(sum->nlost, 1);
	CHECK_EQ(sum->lost[0].count, 3);
	CHECK_EQ(sum->ntruncated, 2);
	CHECK_STR(sum->truncated[1].name, "pc");
	CHECK_EQ(sum->truncated[1].count, 4);
	profile_free(dst);
}

TEST(reasons_have_room_for_so_many)
{
	static const char *const names[] = {
		"a", "b", "c", "d", "e", "f", "g", "h", "i",
		"j", "k", "l", "m", "n", "o", "p", "q", "r",
	};
	struct profile *dst = profile_new();
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct profile *p = described("cycles", 99, 1, 1, names[i]);

		profile_merge_run(dst, p);
		profile_free(p);
	}
	CHECK_EQ(profile_account(dst)->ntruncated, PROFILE_REASONS_MAX);
	for (size_t i = 0; i < PROFILE_REASONS_MAX; i++)
		sum += profile_account(dst)->truncated[i].count;
	CHECK_EQ(sum, 2 * sizeof(names) / sizeof(*names));
	profile_free(dst);
}

/* Types meet by name and unit, in any order; labels tell samples apart. */
TEST(runs_keep_types_and_labels)
{
	struct profile *dst = profile_new(), *a = profile_new(), *b = profile_new(),
		       *of[] = { a, b, a };
	struct profile_view v;

	for (int i = 0; i < 2; i++) {
		struct label label = { .key = profile_string(of[i], "bytes"), .number = 8 };
		uint32_t t = stacks_thread(of[i], 1, 1, "x"),
			 node = place(of[i], "/app", 1, "f", 1), bytes = !i, plain;

		profile_set_type(of[i], 0, i ? "space" : "objects", i ? "bytes" : "count");
		profile_add_type(of[i], i ? "objects" : "space", i ? "count" : "bytes");
		if (i)
			profile_add_type(of[i], "other", "bytes");
		profile_show(of[i], bytes);
		plain = profile_sample(of[i], t, node, 0);
		profile_count(of[i], plain, !bytes, 2);
		profile_count(of[i],
			      profile_sample(of[i], t, node, profile_labels(of[i], &label, 1)),
			      bytes, 16);
	}
	for (int i = 0; i < 3; i++)
		profile_merge_run(dst, of[i]);
	v = profile_view(dst);
	CHECK_EQ(v.ntypes, 2);
	CHECK_STR(profile_text(dst, v.types[0].name), "objects");
	CHECK_EQ(v.types[0].total, 6);
	CHECK_EQ(v.types[1].total, 48);
	CHECK_EQ(v.shown, 1);
	CHECK_EQ(v.nsamples, 2);
	CHECK_EQ(v.nlabel_sets, 2);
	CHECK_STR(profile_text(dst, v.labels[0].key), "bytes");
	profile_free(dst);
	profile_free(a);
	profile_free(b);
}

int main(void)
{
	RUN(by_names_two_builds_meet);
	RUN(by_names_what_differs_stays_apart);
	RUN(by_names_addresses_are_not_names);
	RUN(runs_keep_their_places);
	RUN(runs_do_not_mix_what_only_shares_a_number);
	RUN(runs_describe_what_they_share);
	RUN(reasons_have_room_for_so_many);
	RUN(runs_keep_types_and_labels);
	return TEST_END();
}
