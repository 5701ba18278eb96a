/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <math.h>

#include "base/outfile.h"
#include "stat/results.h"
#include "stat/show.h"
#include "stat/topdown.h"
#include "unit/made_files.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEAR(a, b) (fabs((a) - (b)) < 1e-9)

static char devices[] = "/tmp/ebprof-test-XXXXXX";
static struct event events[TOPDOWN_EVENTS];

/* --- PMUs as Linux describes them (arch/x86/events/intel/core.c, drivers/perf/arm_pmuv3.c). --- */

#define FORMAT(pmu) \
	{ pmu "/type", "4\n" }, { pmu "/format/event", "config:0-7\n" }, \
	{ pmu "/format/umask", "config:8-15\n" }, { pmu "/format/any", "config:21\n" }, \
	{ pmu "/format/cmask", "config:24-31\n" }
#define METRICS(pmu) \
	{ pmu "/events/slots", "event=0x00,umask=0x4\n" }, \
	{ pmu "/events/topdown-retiring", "event=0x00,umask=0x80\n" }, \
	{ pmu "/events/topdown-bad-spec", "event=0x00,umask=0x81\n" }, \
	{ pmu "/events/topdown-fe-bound", "event=0x00,umask=0x82\n" }, \
	{ pmu "/events/topdown-be-bound", "event=0x00,umask=0x83\n" }

static const struct made_file ice_lake[] = { FORMAT("cpu"), METRICS("cpu") };

/* Cores of the other kind have events of the same names, but count no slots. */
static const struct made_file hybrid[] = {
	FORMAT("cpu_atom"), { "cpu_atom/cpus", "4-7\n" },
	{ "cpu_atom/events/topdown-retiring", "event=0xc2\n" },
	{ "cpu_atom/events/topdown-bad-spec", "event=0x73\n" },
	{ "cpu_atom/events/topdown-fe-bound", "event=0x71\n" },
	{ "cpu_atom/events/topdown-be-bound", "event=0x74\n" },
	FORMAT("cpu_core"), { "cpu_core/cpus", "0-3\n" }, METRICS("cpu_core"),
};

static const struct made_file skylake[] = {
	FORMAT("cpu"),
	{ "cpu/events/topdown-total-slots", "event=0x3c,umask=0x0,any=1\n" },
	{ "cpu/events/topdown-total-slots.scale", "2\n" },
	{ "cpu/events/topdown-slots-issued", "event=0xe,umask=0x1\n" },
	{ "cpu/events/topdown-slots-retired", "event=0xc2,umask=0x2\n" },
	{ "cpu/events/topdown-fetch-bubbles", "event=0x9c,umask=0x1\n" },
	{ "cpu/events/topdown-recovery-bubbles", "event=0xd,umask=0x3,cmask=1,any=1\n" },
	{ "cpu/events/topdown-recovery-bubbles.scale", "2\n" },
};

#define NEOVERSE(slots) \
	{ "armv8_pmuv3_0/type", "8\n" }, { "armv8_pmuv3_0/caps/slots", slots "\n" }, \
	{ "armv8_pmuv3_0/format/event", "config:0-15\n" }, \
	{ "armv8_pmuv3_0/events/cpu_cycles", "event=0x0011\n" }, \
	{ "armv8_pmuv3_0/events/stall_slot_frontend", "event=0x003e\n" }, \
	{ "armv8_pmuv3_0/events/stall_slot_backend", "event=0x003d\n" }, \
	{ "armv8_pmuv3_0/events/op_retired", "event=0x003a\n" }, \
	{ "armv8_pmuv3_0/events/op_spec", "event=0x003b\n" }

static const struct made_file neoverse[] = { NEOVERSE("0x00000005") };
/* What does not say how wide it is. */
static const struct made_file no_width[] = { NEOVERSE("0x00000000") };

static const struct made_file no_slots[] = {
	FORMAT("cpu"), { "cpu/events/topdown-retiring", "event=0x00,umask=0x80\n" },
};

#define FIND(files) find(files, COUNT(files))

static struct topdown find(const struct made_file *files, size_t n)
{
	struct topdown t;

	mkdir(devices, 0755);
	make_files(devices, files, n);
	t = topdown_find(devices, events);
	remove_files(devices);
	return t;
}

TEST(a_pmu_with_metrics_is_one_group)
{
	struct topdown t = FIND(ice_lake);

	CHECK(t.n == 5 && t.group && !t.width);
	CHECK_STR(events[0].name, "cpu/slots/");
	CHECK(events[0].config == 0x400 && events[1].config == 0x8000);
	CHECK_STR(events[4].name, "cpu/topdown-be-bound/");
	CHECK_EQ(events[4].config, 0x8300);
}

TEST(of_two_kinds_of_cores_the_one_with_slots)
{
	struct topdown t = FIND(hybrid);

	CHECK(t.n == 5 && t.group);
	CHECK_STR(events[0].name, "cpu_core/slots/");
	CHECK_STR(events[1].pmu, "cpu_core");
}

TEST(older_events_have_scales)
{
	struct topdown t = FIND(skylake);

	CHECK(t.n == 5 && !t.group);
	CHECK_EQ(events[0].config, 0x20003c);
	CHECK(NEAR(events[0].scale, 2) && NEAR(events[4].scale, 2) && events[1].scale <= 0);
}

TEST(arm_says_its_width)
{
	struct topdown t = FIND(neoverse);

	CHECK(t.n == 5 && !t.group && t.width == 5);
	CHECK(events[0].config == 0x11 && events[0].type == 8);
}

TEST(no_such_pmu)
{
	CHECK_EQ(FIND(no_width).n, 0);
	CHECK_EQ(FIND(no_slots).n, 0);
	CHECK_EQ(topdown_find("/nonexistent", events).n, 0);
}

/* --- Formulas. ------------------------------------------------------------------------ */

static int shares_are(const struct topdown *t, const double *counts, const double *expected)
{
	double got[TOPDOWN_SHARES];

	if (topdown_shares(t, counts, got))
		return 0;
	for (int i = 0; i < TOPDOWN_SHARES; i++)
		if (!NEAR(got[i], expected[i])) {
			printf("%s is %g, expected %g\n", topdown_names[i], got[i], expected[i]);
			return 0;
		}
	return 1;
}

TEST(shares_are_those_of_the_formulas)
{
	struct topdown t = FIND(ice_lake);

	CHECK(shares_are(&t, (double[]){ 1020, 400, 100, 200, 300 },
			 (double[]){ 0.4, 0.1, 0.2, 0.3 }));
	t = FIND(skylake);
	/* total, issued, retired, fetch bubbles, recovery bubbles */
	CHECK(shares_are(&t, (double[]){ 1000, 450, 400, 150, 50 },
			 (double[]){ 0.4, 0.1, 0.15, 0.35 }));
	t = FIND(neoverse);
	/* 200 cycles of 5 slots, of which 600 are used, three quarters for what retired */
	CHECK(shares_are(&t, (double[]){ 200, 100, 300, 750, 1000 },
			 (double[]){ 0.45, 0.15, 0.1, 0.3 }));
}

/* What did not count at the same time does not add up: no share is less than 0, and all are 1. */
TEST(shares_of_counts_that_do_not_fit)
{
	struct topdown t = FIND(skylake);

	CHECK(shares_are(&t, (double[]){ 1000, 300, 400, 700, 0 },
			 (double[]){ 4.0 / 11, 0, 7.0 / 11, 0 }));
	t = FIND(neoverse);
	CHECK(shares_are(&t, (double[]){ 200, 100, 300, 1100, 1000 },
			 (double[]){ 0.6, 0, 0.1, 0.3 }));
	CHECK(shares_are(&t, (double[]){ 200, 800, 800, 0, 0 }, (double[]){ 0, 0, 0.5, 0.5 }));
}

TEST(no_slots_no_shares)
{
	const double none[TOPDOWN_EVENTS] = { 0 };
	const struct topdown all[] = { FIND(ice_lake), FIND(skylake), FIND(neoverse) };
	double shares[TOPDOWN_SHARES];

	for (size_t i = 0; i < COUNT(all); i++)
		CHECK_EQ(topdown_shares(&all[i], none, shares), -ENODATA);
}

/* --- Counted. ------------------------------------------------------------------------- */

/* A PMU whose slots are page faults, which every machine counts: half of them are of each share. */
static const struct made_file faults[] = {
	{ "software/type", "1\n" }, { "software/events/slots", "config=2\n" },
	{ "software/events/topdown-retiring", "config=2\n" },
	{ "software/events/topdown-bad-spec", "config=8\n" },
	{ "software/events/topdown-fe-bound", "config=7\n" },
	{ "software/events/topdown-be-bound", "config=2\n" },
};
/* The same with a member that there is not. */
static const struct made_file broken[] = {
	{ "software/type", "1\n" }, { "software/events/slots", "config=2\n" },
	{ "software/events/topdown-retiring", "config=2\n" },
	{ "software/events/topdown-bad-spec", "config=8\n" },
	{ "software/events/topdown-fe-bound", "config=999\n" },
	{ "software/events/topdown-be-bound", "config=2\n" },
};

/* Runs a command twice, and counts page faults and what top-down needs; 0, or a negative errno. */
static int count(struct stat_results *r)
{
	char *argv[] = { "true", NULL };
	struct event all[1 + TOPDOWN_EVENTS] = { 0 };
	const struct run_ticks ticks = { 0 };
	struct loop loop = LOOP_NEW;
	struct error e = { 0 };
	int err = event_parse("page-faults", NULL, &all[0], NULL);

	memcpy(all + 1, events, sizeof(events));
	stat_results_begin(r, all, 1, 1);
	for (int i = 0; i < 2 && !err; i++) {
		struct counters *c = counters_new(all, 1 + r->topdown.n);
		struct run one = { 0 };

		counters_group(c, 1, r->topdown.n);
		err = run_command(&one, argv, 1, c, &loop, &ticks, &e);
		if (!err) {
			stat_results_add_counts(r, c, 0);
			stat_results_add_run(r, &one, 0);
			r->done++;
		}
		counters_free(c);
	}
	if (err)
		printf("skipped: %s\n", e.text);
	stat_results_end(r, 1);
	return err;
}

TEST(shares_of_each_run)
{
	static const double expected[TOPDOWN_SHARES] = { 50, 0, 0, 50 };
	struct stat_results r = { .topdown = FIND(faults) };

	if (!count(&r)) {
		CHECK_EQ(r.measures.n, r.own + 1 + TOPDOWN_SHARES);
		CHECK_STR(r.measures.v[r.own].name, "page-faults");
		for (size_t i = 0; i < TOPDOWN_SHARES; i++) {
			const struct measure *m = &r.measures.v[r.own + 1 + i];

			CHECK_STR(m->name, topdown_names[i]);
			CHECK_EQ(m->sides[0].v.n, 2);
			CHECK(NEAR(m->sides[0].v.v[1], expected[i]));
			CHECK(NEAR(m->sides[0].share, 1));
		}
	}
	stat_results_free(&r);
}

TEST(no_shares_without_all_events)
{
	struct stat_results r = { .topdown = FIND(broken) };

	if (!count(&r)) {
		CHECK_EQ(r.measures.n, r.own + 1);
		CHECK_EQ(r.measures.v[r.own].sides[0].v.n, 2);
	}
	stat_results_free(&r);
}

/* --- As shown. ------------------------------------------------------------------------ */

static double backend[] = { 32.5, 37.5 };

static char *shown(void (*show)(struct outfile *f, const struct stat_result *r))
{
	const struct measure m = { .name = topdown_names[TOPDOWN_BACKEND], .event = -1,
				   .unit = SERIES_PERCENT,
				   .sides[0] = { .v = { backend, 2, 2 }, .share = 0.5 } };
	const struct stat_result r = { .measures = &m, .n = 1, .titles = { "prog" }, .runs = 2 };
	struct outfile_bytes bytes = { 0 };
	struct outfile *f = outfile_memory(&bytes);

	show(f, &r);
	outfile_write(f, "", 1);
	CHECK_EQ(outfile_commit(f, NULL), 0);
	return bytes.v;
}

static void show_values(struct outfile *f, const struct stat_result *r)
{
	stat_show_values(f, r, ",");
}

TEST(shares_in_every_format)
{
	static const struct {
		void (*show)(struct outfile *f, const struct stat_result *r);
		const char *says;
	} formats[] = {
		{ stat_show_table, "backend bound                     35.0 %  +-        3.5 % " },
		{ stat_show_table, "(scaled: counted for 50 % of the time)\n" },
		{ stat_show_json, "\"name\":\"backend bound\",\"unit\":\"%\",\"a\":{\"mean\":35," },
		{ stat_show_json, "\"counted\":0.5," },
		{ show_values, "35.00,%,backend bound,10.10%," },
	};

	for (size_t i = 0; i < COUNT(formats); i++) {
		char *text = shown(formats[i].show);

		if (!strstr(text, formats[i].says))
			printf("%s", text);
		CHECK(strstr(text, formats[i].says));
		free(text);
	}
}

int main(void)
{
	if (!mkdtemp(devices))
		return 1;
	RUN(a_pmu_with_metrics_is_one_group);
	RUN(of_two_kinds_of_cores_the_one_with_slots);
	RUN(older_events_have_scales);
	RUN(arm_says_its_width);
	RUN(no_such_pmu);
	RUN(shares_are_those_of_the_formulas);
	RUN(shares_of_counts_that_do_not_fit);
	RUN(no_slots_no_shares);
	RUN(shares_of_each_run);
	RUN(no_shares_without_all_events);
	RUN(shares_in_every_format);
	return TEST_END();
}
