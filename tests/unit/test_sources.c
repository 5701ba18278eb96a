/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <unistd.h>

#include "session/assembler.h"
#include "sources/allocations.h"
#include "sources/page_faults.h"
#include "sources/probes.h"
#include "sources/samples.h"
#include "sources/sources.h"
#include "sources/waits.h"

static const struct samples_options options = {
	.event = { .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE }, .frequency = 100,
};

static struct images *images;
static struct procs *procs;
static struct profile *profile;
static struct sources sources;
static struct assembler *assembler;

/* With what sources_add() got before. */
static void begin(void)
{
	images = images_new();
	procs = procs_new(images, NULL);
	profile = profile_new();
	assembler = assembler_new(profile, images, procs, NULL, &sources, 0);
	assembler_serve(assembler);
	sources_begin(&sources);
}

static void end(void)
{
	assembler_free(assembler);
	sources_free(&sources);
	sources = (struct sources){ 0 };
	profile_free(profile);
	procs_free(procs);
	images_free(images);
}

static void count(enum ebp_kind kind, uint64_t n, uint64_t ns)
{
	const struct ebp_key key = {
		.process = { .tgid = 1 << 28, .start = 1 },
		.tid = 1 << 28,
		.comm = "x",
		.kind = (uint8_t)kind,
	};

	assembler_count(assembler, &key, &(struct ebp_count){ .n = n, .ns = ns }, 1);
}

static const char *type_name(uint32_t type)
{
	return profile_text(profile, profile_view(profile).types[type].name);
}

static uint64_t total(uint32_t type)
{
	return profile_view(profile).types[type].total;
}

TEST(every_row_is_complete)
{
	size_t n = 0;

	for (const struct source_ops *const *o = source_table; *o; o++, n++) {
		CHECK((*o)->name && *(*o)->name);
		CHECK((*o)->kernel && (*o)->kernel->rate && (*o)->kernel->configure &&
		      (*o)->kernel->attach && (*o)->kernel->stop && (*o)->kernel->close);
		CHECK((*o)->check && (*o)->choose && (*o)->begin && (*o)->summary && (*o)->free);
		CHECK((*o)->count || (*o)->record);
		for (size_t i = 0; i < n; i++)
			CHECK(strcmp(source_table[i]->name, (*o)->name) != 0);
	}
	CHECK(n > 0 && n <= COLLECTOR_PARTS_MAX);
}

TEST(each_names_its_types)
{
	sources_add(&sources, page_faults_new(3));
	begin();
	CHECK_EQ(profile_view(profile).ntypes, 2);
	CHECK_STR(type_name(0), "page_faults");
	CHECK_EQ(profile_view(profile).shown, 1);
	count(EBP_PAGE_FAULT, 2, 0);
	count(EBP_ON_CPU, 1, 0);
	CHECK_EQ(total(0), 6);
	CHECK_EQ(total(1), 6 * (uint64_t)sysconf(_SC_PAGESIZE));
	CHECK_STR(profile_meta(profile)->event, "page-faults");
	end();

	sources_add(&sources, waits_new(&(struct waits_options){ .min_block = 1 }));
	begin();
	CHECK_STR(type_name(0), "waits");
	CHECK_STR(type_name(1), "off-cpu");
	CHECK_EQ(profile_view(profile).shown, 1);
	CHECK_STR(profile_meta(profile)->event, "off-cpu");
	end();
}

TEST(two_at_once_have_types_beside_each_other)
{
	sources_add(&sources, samples_new(&options));
	sources_add(&sources, waits_new(&(struct waits_options){ .min_block = 1 }));
	begin();
	CHECK_EQ(profile_view(profile).ntypes, 3);
	CHECK_STR(type_name(0), "samples");
	CHECK_STR(type_name(1), "waits");
	CHECK_STR(type_name(2), "off-cpu");
	CHECK_EQ(profile_view(profile).shown, 0);
	CHECK_STR(profile_meta(profile)->event, "cpu-clock");
	count(EBP_ON_CPU, 5, 0);
	count(EBP_BLOCKED, 2, 700);
	count(EBP_RUNNABLE, 1, 30);
	sources_finish(&sources, 0, 1);
	CHECK_EQ(total(0), 5);
	CHECK_EQ(total(1), 3);
	CHECK_EQ(total(2), 730);
	/* What stands for time is time, too. */
	CHECK_STR(type_name(3), "cpu");
	CHECK_EQ(total(3), 50000000);
	CHECK_EQ(assembler_results(assembler)[EBP_COMPLETE], 8);
	end();
}

/* All of them: each counts its own kinds, in its own types. */
TEST(any_may_run_together)
{
	static const struct waits_options waits = { .off_cpu = 1, .min_block = 1 };
	static const struct allocations_options allocations = { .on = 1 };
	const struct {
		enum ebp_kind kind;
		const char *type;
		uint64_t n;
	} counted[] = {
		{ EBP_PAGE_FAULT, "page_faults", 3 },
		{ EBP_ON_CPU, "samples", 5 },
		{ EBP_BLOCKED, "waits", 7 },
	};

	sources_add(&sources, page_faults_new(1));
	sources_add(&sources, samples_new(&options));
	sources_add(&sources, waits_new(&waits));
	sources_add(&sources, allocations_new(&allocations));
	begin();
	CHECK_EQ(profile_view(profile).ntypes, 2 + 1 + 2 + ALLOC_TYPES);
	CHECK_STR(type_name(5), "alloc_objects");
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		count(counted[i].kind, counted[i].n, 10);
	sources_finish(&sources, 0, 1);
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		for (uint32_t t = 0; t < profile_view(profile).ntypes; t++)
			if (!strcmp(type_name(t), counted[i].type))
				CHECK_EQ(total(t), counted[i].n);
	CHECK_STR(type_name(5 + ALLOC_TYPES), "cpu");
	CHECK_EQ(total(5 + ALLOC_TYPES), 50000000);
	end();
}

static void hit(uint32_t event, uint32_t place, uint64_t n, uint64_t worth)
{
	const struct ebp_key key = {
		.process = { .tgid = 1 << 28, .start = 1 },
		.tid = 1 << 28,
		.comm = "x",
		.kind = EBP_PROBED,
		.class = EBP_PROBE_PLACE(event, place),
	};

	assembler_count(assembler, &key, &(struct ebp_count){ .n = n, .ns = worth }, 1);
}

TEST(probes_count_by_their_places)
{
	static const char *texts[] = { "uprobe:x:f", "group:name*" };
	struct probes_options o = { .period = 2 };
	struct probes *p;

	o.events.v = texts;
	o.events.n = 2;
	sources_add(&sources, probes_new(&o));
	p = (struct probes *)sources.v[0];
	p->events.v[1].weighted = 1;
	strcpy(p->field, "count");
	strcpy(p->unit, "bytes");
	for (uint32_t event = 0; event < 2; event++)
		vec_push(&p->places, (struct probes_place){ .event = event, .fd = -1, .link = -1 });
	begin();
	CHECK_EQ(profile_view(profile).ntypes, 3);
	CHECK_STR(type_name(0), "uprobe:x:f");
	CHECK_STR(type_name(1), "group:name*");
	CHECK_STR(type_name(2), "group:name*.count");
	hit(0, 0, 5, 0);
	hit(1, 1, 7, 100);
	hit(1, 2, 9, 9);
	CHECK_EQ(total(0), 10);
	CHECK_EQ(total(1), 14);
	CHECK_EQ(total(2), 200);
	CHECK_STR(profile_meta(profile)->event, "uprobe:x:f");
	end();
}

TEST(calls_run_and_wait)
{
	static const char *texts[] = { "uprobe:x:f" };
	struct probes_options o = { .period = 1 };
	struct probes *p;

	o.latency.v = texts;
	o.latency.n = 1;
	sources_add(&sources, probes_new(&o));
	p = (struct probes *)sources.v[0];
	for (uint32_t event = 0; event < 2; event++)
		vec_push(&p->places, (struct probes_place){ .event = event, .fd = -1, .link = -1 });
	begin();
	CHECK_EQ(profile_view(profile).ntypes, 4);
	CHECK_STR(type_name(1), "uprobe:x:f.time");
	CHECK_EQ(profile_view(profile).shown, 1);
	hit(1, 1, 3, 50);
	CHECK_EQ(total(0), 3);
	CHECK_EQ(total(1), 50);
	CHECK_EQ(total(2), 50);
	CHECK_EQ(total(3), 0);
	end();
}

TEST(parts_are_in_order)
{
	struct collector_part parts[COLLECTOR_PARTS_MAX];

	sources_add(&sources, samples_new(&options));
	sources_add(&sources, waits_new(&(struct waits_options){ .wall = 1 }));
	CHECK_EQ(sources_parts(&sources, parts), 2);
	CHECK(parts[0].ops == samples_ops.kernel && parts[0].ctx == sources.v[0]);
	CHECK(parts[1].ops == waits_ops.kernel && parts[1].ctx == sources.v[1]);
	CHECK(!sources_are_whole(&sources) && !sources_keep_samples(&sources));
	CHECK_EQ(sources_until(&sources, 7), 7);
	sources_free(&sources);
	sources = (struct sources){ 0 };
}

int main(void)
{
	RUN(every_row_is_complete);
	RUN(each_names_its_types);
	RUN(two_at_once_have_types_beside_each_other);
	RUN(any_may_run_together);
	RUN(probes_count_by_their_places);
	RUN(calls_run_and_wait);
	RUN(parts_are_in_order);
	return TEST_END();
}
