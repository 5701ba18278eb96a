/* SPDX-License-Identifier: MIT */
/* perf.data files that were made by hand: what is in them, and what is wrong with them. */
#include "unit/test.h"

#include <errno.h>

#include "input/perf_data.h"
#include "input/readers.h"
#include "unit/perf_data_image.h"
#include "unit/stacks.h"

static struct profile *read_image(const struct perf_image *f, struct error *e)
{
	struct profile *p = profile_new();
	/* Of just this size, so that a sanitizer sees each byte behind it. */
	char *bytes = malloc(f->n ? f->n : 1);
	int err;

	memcpy(bytes, f->v, f->n);
	err = perf_data_read(p, bytes, f->n, &(struct input_notes){ 0 }, e);
	free(bytes);
	if (!err)
		return p;
	profile_free(p);
	return NULL;
}

static const char *why_not(const struct perf_image *f)
{
	static struct error e;
	struct profile *p = read_image(f, &e);

	if (!p)
		return e.text;
	profile_free(p);
	return "";
}

static void check_records(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	char *text = stacks_output(p, "folded", NULL);

	/* A call's address is that of its end; what is mapped nowhere has no name. */
	CHECK_STR(text, "demo;[demo+0x1100];[demo+0x1010] 10\n"
			"demo;[demo+0x1100];[demo+0x1010];[unknown];[unknown] 10\n"
			"demo;[unknown];[demo+0x1100];[unknown] 12\n");
	free(text);
	CHECK_EQ(v.nprocesses, 1);
	CHECK_EQ(v.processes[0].pid, 7);
	CHECK_EQ(v.meta->duration, 2000);
	CHECK_EQ(v.nticks, 3);
	CHECK_EQ(v.ticks[1].time, 1000);
	CHECK_EQ(v.ticks[1].cpu, 3);
	CHECK_EQ(v.locations[1].address == 0 || v.nlocations >= 5, 1);
}

TEST(through_a_pipe)
{
	struct perf_image f = { 0 };
	struct error e;
	struct profile *p;

	image_pipe(&f);
	image_records(&f);
	p = read_image(&f, &e);
	CHECK(p);
	if (!p)
		return;
	check_records(p);
	CHECK_STR(profile_meta(p)->event, "cycles");
	CHECK_EQ(profile_meta(p)->frequency, 99);
	profile_free(p);
}

TEST(compressed)
{
	struct perf_image f = { 0 }, records = { 0 };
	struct error e;
	struct profile *p;

	image_pipe(&f);
	image_records(&records);
	image_packed(&f, &records);
	p = read_image(&f, &e);
	CHECK(p);
	if (!p)
		return;
	check_records(p);
	profile_free(p);
	/* What is packed is damaged, or its records are. */
	f.v[f.record + 8] ^= 1;
	CHECK(strstr(why_not(&f), "the compressed record at byte"));
}

TEST(a_file_of_two_events)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401010 };
	struct perf_image f = { 0 }, records = { 0 };
	struct profile_view v;
	struct profile *p;
	struct error e;

	image_records(&records);
	image_sample(&records, 2, 5000, 7, chain, 2);
	image_file(&f, &records);
	p = read_image(&f, &e);
	CHECK(p);
	if (!p)
		return;
	v = profile_view(p);
	CHECK_EQ(v.ntypes, 4);
	CHECK_STR(profile_text(p, v.types[0].name), "cycles samples");
	CHECK_EQ(v.types[0].total, 3);
	CHECK_STR(profile_text(p, v.types[1].name), "cpu-clock samples");
	CHECK_EQ(v.types[1].total, 1);
	CHECK_EQ(v.types[2].total, 32);
	CHECK_EQ(v.types[3].total, 7);
	CHECK_STR(profile_text(p, v.meta->host), "host");
	profile_free(p);
}

TEST(exec_and_fork)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401010 };
	struct perf_image f = { 0 };
	struct profile *p;
	struct error e;
	char *text;

	image_pipe(&f);
	image_comm(&f, "shell", 1000);
	image_mmap2(&f, PERF_RECORD_MISC_USER, 0x401000, 0x1000, 0x1000, "/nowhere/sh", 1001);
	image_sample(&f, 1, 1002, 1, chain, 2);
	image_begin(&f, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	image_pair(&f, 7, 7);
	image_text(&f, "next");
	image_id(&f, 1003);
	image_sample(&f, 1, 1004, 1, chain, 2);
	image_mmap2(&f, PERF_RECORD_MISC_USER, 0x401000, 0x1000, 0x1000, "/nowhere/next", 1005);
	image_sample(&f, 1, 1006, 1, chain, 2);
	p = read_image(&f, &e);
	CHECK(p);
	if (!p)
		return;
	text = stacks_output(p, "folded", NULL);
	/* Before the new program maps anything nothing is known of its code. */
	CHECK_STR(text, "next;[next+0x1010] 1\nnext;[unknown] 1\nshell;[sh+0x1010] 1\n");
	CHECK_EQ(profile_view(p).nprocesses, 2);
	free(text);
	profile_free(p);
}

TEST(code_that_came_into_the_kernel)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffffc0000010,
					  0xffffffffc0002000, 0xffffffffc0000110 };
	struct perf_image f = { 0 };
	struct profile *p;
	struct error e;
	char *text;

	image_pipe(&f);
	image_comm(&f, "demo", 1000);
	image_ksymbol(&f, 0xffffffffc0001000, 0x100, 0, "above", 1001);
	image_ksymbol(&f, 0xffffffffc0000000, 0x100, 0, "before", 1001);
	image_ksymbol(&f, 0xffffffffc0000000, 0x100, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, "gone",
		      1002);
	image_ksymbol(&f, 0xffffffffc0000000, 0x100, 0, "program", 1003);
	image_sample(&f, 1, 2000, 10, chain, 4);
	p = read_image(&f, &e);
	CHECK(p);
	if (!p)
		return;
	text = stacks_output(p, "folded", NULL);
	/* Their ends are not in them. */
	CHECK_STR(text, "demo;[unknown];[unknown];program 10\n");
	free(text);
	profile_free(p);
}

TEST(lost_is_counted)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401010 };
	struct perf_image f = { 0 };
	struct profile *p;
	struct error e;

	image_pipe(&f);
	image_sample(&f, 1, 1002, 1, chain, 2);
	image_begin(&f, PERF_RECORD_LOST, 0);
	image_u64(&f, 1);
	image_u64(&f, 5);
	image_id(&f, 1003);
	p = read_image(&f, &e);
	CHECK(p);
	if (!p)
		return;
	CHECK_EQ(profile_account(p)->taken, 6);
	CHECK_EQ(profile_account(p)->kept, 1);
	CHECK_EQ(profile_account(p)->lost[0].count, 5);
	profile_free(p);
}

/* What was read of @f, and in @notes what is wrong with it. */
static struct profile *read_with(const struct perf_image *f, struct input_notes *notes)
{
	struct profile *p = profile_new();
	struct error e;

	*notes = (struct input_notes){ 0 };
	if (!perf_data_read(p, (const char *)f->v, f->n, notes, &e))
		return p;
	profile_free(p);
	return NULL;
}

TEST(cut_off_at_each_byte)
{
	struct perf_image files[2] = { 0 }, records = { 0 };

	image_records(&records);
	image_file(&files[0], &records);
	image_pipe(&files[1]);
	image_records(&files[1]);
	for (int i = 0; i < 2; i++)
		for (size_t n = files[i].n; n-- > 0;) {
			struct perf_image cut = files[i];
			struct input_notes notes;
			struct profile *p;

			cut.n = n;
			p = read_with(&cut, &notes);
			/* Through a pipe it may end after any record. */
			CHECK(p ? *notes.damage.text || i == 1 : *why_not(&cut));
			profile_free(p);
		}
}

TEST(what_comes_before_a_damage)
{
	struct perf_image f = { 0 };
	struct input_notes notes;
	struct profile *p;

	image_pipe(&f);
	image_records(&f);
	/* The last sample, and then half of one. */
	f.n -= 8;
	p = read_with(&f, &notes);
	CHECK(p);
	if (!p)
		return;
	CHECK_EQ(profile_view(p).types[0].total, 2);
	CHECK(strstr(notes.damage.text, "cut off: records at byte"));
	profile_free(p);
	/* A record of no size: nothing behind it can be found. */
	f.n += 8;
	memset(f.v + f.record + 6, 0, 2);
	p = read_with(&f, &notes);
	CHECK(p && *notes.damage.text);
	profile_free(p);
}

TEST(each_byte_changed)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct perf_image f = { 0 }, records = { 0 }, changed;

	image_records(&records);
	image_file(&f, &records);
	for (size_t i = 0; i < f.n; i++)
		for (size_t k = 0; k < sizeof(values); k++) {
			changed = f;
			changed.v[i] = values[k];
			why_not(&changed);
		}
	CHECK_STR(why_not(&f), "");
}

TEST(what_is_no_file_of_perf)
{
	struct perf_image f = { 0 };

	image_put(&f, "2ELIFREP", 8);
	CHECK_STR(why_not(&f), "it is from a big-endian machine; read it there: perf script");
	f.n = 0;
	image_put(&f, PERF_DATA_MAGIC, 8);
	image_u64(&f, 17);
	CHECK_STR(why_not(&f), "its form is not known (a header of 17 bytes)");
	f.n = 8;
	image_u64(&f, PERF_DATA_PIPE_HEADER);
	CHECK_STR(why_not(&f), "it does not say what was measured");
	f.n = 0;
	image_pipe(&f);
	CHECK_STR(why_not(&f), "there are no samples in it");
}

int main(void)
{
	RUN(through_a_pipe);
	RUN(compressed);
	RUN(a_file_of_two_events);
	RUN(exec_and_fork);
	RUN(code_that_came_into_the_kernel);
	RUN(lost_is_counted);
	RUN(cut_off_at_each_byte);
	RUN(what_comes_before_a_damage);
	RUN(each_byte_changed);
	RUN(what_is_no_file_of_perf);
	return TEST_END();
}
