/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <unistd.h>

#include "collect/perf_events.h"
#include "collect/pmu.h"
#include "collect/pmu_files.h"
#include "unit/made_files.h"

static char devices[] = "/tmp/ebprof-test-XXXXXX";
static struct event ev;
static struct error why;
static const char *rest;

static int parse(const char *text)
{
	ev = (struct event){ 0 };
	why = (struct error){ 0 };
	return pmu_parse(text, devices, &ev, &rest, &why);
}

/* --- PMUs in a folder made for it, as the kernel describes them. ---------------------- */

static const struct made_file files[] = {
	{ "cpu/type", "4\n" }, { "cpu/cpus", "0-1,3\n" },
	{ "cpu/format/event", "config:0-7,32-35\n" }, { "cpu/format/umask", "config:8-15\n" },
	{ "cpu/format/inv", "config:23\n" }, { "cpu/format/ldlat", "config1:0-15\n" },
	{ "cpu/format/far", "config2:4-5\n" }, { "cpu/format/newer", "config3:0-1\n" },
	{ "cpu/events/cpu-cycles", "event=0x3c\n" },
	{ "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ "cpu/events/domain", "event=0x1,umask=?\n" },
	{ "cpu/events/itself", "itself\n" },
	{ "power/type", "12\n" }, { "power/cpumask", "0\n" },
	{ "power/format/event", "config:0-7\n" }, { "power/events/energy-pkg", "event=0x02\n" },
	{ "power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
	{ "power/events/energy-pkg.unit", "Joules\n" },
	{ "uncore_imc_0/type", "20\n" }, { "uncore_imc_0/cpumask", "0\n" },
	{ "uncore_imc_0/format/event", "config:0-7\n" },
	{ "uncore_imc_0/events/cas_count_read", "event=0x04\n" },
	{ "uncore_imc_0/events/cas_count_read.unit", "MiB\n" },
	{ "uncore_imc_2/type", "22\n" }, { "uncore_imc_2/cpumask", "8\n" },
	{ "uncore_imc_2/format/event", "config:8-15\n" },
	{ "uncore_imc_2/events/cas_count_read", "event=0x04\n" },
	{ "uncore_imc_10/type", "30\n" }, { "uncore_imc_10/format/event", "config:0-7\n" },
	{ "uncore_imc_free_running_0/type", "31\n" },
	{ "cores0/type", "40\n" }, { "cores0/format/event", "config3:4-11\n" },
	{ "cores1/type", "41\n" }, { "cores1/format/event", "config3:4-11\n" },
	{ "alone_7/type", "50\n" }, { "alone_7/events/tick", "config=1\n" },
	{ "broken/type", "four\n" }, { "tracepoint/type", "2\n" },
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- Tests. --------------------------------------------------------------------------- */

TEST(terms_go_where_the_format_says)
{
	static const struct {
		const char *text;
		uint64_t config, config1, config2, config3;
	} good[] = {
		{ "cpu//", 0, 0, 0, 0 },
		{ "cpu/cpu-cycles/", 0x3c, 0, 0, 0 },
		{ "cpu/event=cpu-cycles/", 0x3c, 0, 0, 0 },
		{ "cpu/event=0x3c,umask=0xff/", 0xff3c, 0, 0, 0 },
		{ "cpu/event=0xf3c/", 0xf0000003cull, 0, 0, 0 },
		{ "cpu/event=60,inv/", 0x80003c, 0, 0, 0 },
		{ "cpu/mem-loads,ldlat=0x1e/", 0x1cd, 0x1e, 0, 0 },
		{ "cpu/mem-loads/", 0x1cd, 3, 0, 0 },
		{ "cpu/far=3/", 0, 0, 0x30, 0 },
		{ "cpu/config=0xffffffffffffffff,config1=7,config2=010/", UINT64_MAX, 7, 8, 0 },
		{ "cpu/domain,umask=4/", 0x401, 0, 0, 0 },
		{ "cpu/umask=4,umask=1/", 0x100, 0, 0, 0 },
		{ "cpu/newer=2,far=1/", 0, 0, 0x10, 2 },
		{ "cpu/config3=0xffffffffffffffff/", 0, 0, 0, UINT64_MAX },
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		CHECK_EQ(parse(good[i].text), 0);
		CHECK_STR(ev.name, good[i].text);
		CHECK_STR(ev.pmu, "cpu");
		CHECK_STR(rest, "");
		CHECK(ev.type == 4 && ev.config == good[i].config &&
		      ev.config1 == good[i].config1 && ev.config2 == good[i].config2 &&
		      ev.config3 == good[i].config3);
		CHECK_STR(ev.family, "");
		CHECK(!ev.uncore && !ev.period && !*ev.unit);
	}
}

TEST(what_else_is_said)
{
	CHECK_EQ(parse("cpu/cpu-cycles,period=100003,name=busy/:u"), 0);
	CHECK(ev.period == 100003);
	CHECK_STR(ev.name, "busy");
	CHECK_STR(rest, ":u");
	CHECK_EQ(parse("power/energy-pkg/"), 0);
	CHECK(ev.uncore && ev.type == 12 && ev.scale > 2.32e-10 && ev.scale < 2.33e-10);
	CHECK_STR(ev.unit, "Joules");
	CHECK_EQ(pmu_refuse_uncore(&ev, "-e ", &why), -EINVAL);
	CHECK(strstr(why.text, "ebprof stat -a"));
	CHECK(!parse("cpu/cpu-cycles/") && !pmu_refuse_uncore(&ev, "-e ", &why));
}

TEST(refusals_say_what_there_is)
{
	static const struct { const char *text, *says; } wrong[] = {
		{ "cqu/cpu-cycles/", "did you mean 'cpu'?" },
		{ "nothing/like/", "there are alone_7, broken, cores0, cores1, cpu, power" },
		{ "cpu/cpu-cylces/", "did you mean 'cpu-cycles'?" },
		{ "cpu/xyz/", "there are cpu-cycles, domain, itself, mem-loads, event=, far=, " },
		{ "power/xyz=1/", "there are energy-pkg, event=, config=, period=, name=" },
		{ "power/energy-pkg.unit/", "has no 'energy-pkg.unit'" },
		{ "cpu/event=0x1000/", "the largest value is 0xfff" },
		{ "cpu/inv=2/", "the largest value is 0x1" },
		{ "cpu/event=1x/", "expected a number" },
		{ "cpu/event=-1/", "expected a number" },
		{ "cpu/event=0x10000000000000000/", "expected a number" },
		{ "cpu/config=/", "expected a number" },
		{ "cpu/period=0/", "expected a number" },
		{ "cpu/name=/", "a name has letters" },
		{ "cpu/name=a b/", "a name has letters" },
		{ "cpu/domain/", "needs umask=VALUE" },
		{ "cpu/umask=?/", "expected a number" },
		{ "cpu/itself/", "has no 'itself'" },
		{ "cpu/newer=4/", "the largest value is 0x3" },
		{ "cpu/config4=1/", "has no 'config4'" },
		{ "uncore_imc/cas_count_raed/", "did you mean 'cas_count_read'?" },
		{ "uncore_im/cas_count_read/", "no PMU 'uncore_im'" },
		{ "cpu/../", "malformed term" },
		{ "cpu/a b/", "malformed term" },
		{ "cpu/,/", "malformed term" },
		{ "cpu/cpu-cycles", "has no end" },
		{ "/cpu-cycles/", "malformed event" },
		{ "../cpu-cycles/", "malformed event" },
		{ "broken/event=1/", "cannot read its type" },
		{ "tracepoint/config=3/", "GROUP:NAME" },
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		if (parse(wrong[i].text) != -EINVAL || !strstr(why.text, wrong[i].says))
			printf("%s: %s\n", wrong[i].text, why.text);
		CHECK_EQ(parse(wrong[i].text), -EINVAL);
		CHECK(strstr(why.text, wrong[i].says));
	}
}

TEST(formats)
{
	static const char *const wrong[] = {
		"", "config", "config:", "config:64", "config:7-3", "config:1,", "config:1-",
		"config:-1", "config: 1", "config:1 ", "config4:0", "config9:0",
		"config:99999999999",
	};
	struct pmu_format f;

	for (size_t i = 0; i < COUNT(wrong); i++)
		CHECK_EQ(pmu_format_parse(wrong[i], &f), -EINVAL);
	CHECK_EQ(pmu_format_parse("config:0-63", &f), 0);
	CHECK(pmu_format_max(&f) == UINT64_MAX && pmu_format_place(&f, UINT64_MAX) == UINT64_MAX);
	CHECK_EQ(pmu_format_parse("config2:63", &f), 0);
	CHECK(f.config == 2 && pmu_format_max(&f) == 1 && pmu_format_place(&f, 1) == 1ull << 63);
}

TEST(cpus)
{
	int *v;
	size_t n;

	CHECK_EQ(parse("cpu/cpu-cycles/"), 0);
	pmu_cpus(&ev, devices, &v, &n);
	CHECK(n == 3 && v && v[2] == 3);
	free(v);
	CHECK_EQ(parse("power/energy-pkg/"), 0);
	pmu_cpus(&ev, devices, &v, &n);
	CHECK(n == 1 && v && v[0] == 0);
	free(v);
	ev = (struct event){ .name = "cycles" };
	pmu_cpus(&ev, devices, &v, &n);
	CHECK(!v && !n);
}

/* Several PMUs that differ by a number are named by what is before it; each has its own format. */
TEST(families)
{
	struct event *each;

	CHECK_EQ(parse("uncore_imc/cas_count_read/"), 0);
	CHECK_STR(ev.name, "uncore_imc/cas_count_read/");
	CHECK_STR(ev.family, "uncore_imc");
	CHECK_STR(ev.pmu, "uncore_imc_0");
	CHECK(ev.uncore && ev.type == 20);
	CHECK_EQ(pmu_refuse_samples(&ev, "-e ", &why), -EINVAL);
	CHECK(strstr(why.text, "PMU uncore_imc counts for all CPUs of a socket"));
	/* The third one does not have it. */
	CHECK_EQ(pmu_events(&ev, devices, &each), 2);
	CHECK(each[0].type == 20 && each[0].config == 4 && each[1].type == 22);
	CHECK(each[1].config == 0x400 && each[1].uncore);
	CHECK_STR(each[1].pmu, "uncore_imc_2");
	CHECK_STR(each[1].name, "uncore_imc/cas_count_read/");
	CHECK_STR(each[1].unit, "");
	free(each);
	CHECK_EQ(parse("uncore_imc/event=3,name=reads/"), 0);
	CHECK_EQ(pmu_events(&ev, devices, &each), 3);
	CHECK(each[1].config == 0x300 && each[2].type == 30);
	CHECK_STR(each[2].name, "reads");
	free(each);
	CHECK_EQ(parse("uncore_imc_2/cas_count_read/"), 0);
	CHECK_STR(ev.family, "");
	CHECK_EQ(pmu_events(&ev, devices, &each), 1);
	CHECK(each[0].type == 22 && each[0].config == 0x400);
	free(each);
	CHECK_EQ(parse("cores/event=0x21/"), 0);
	ev.exclude_kernel = 1;
	CHECK_EQ(pmu_events(&ev, devices, &each), 2);
	CHECK(each[0].type == 40 && each[1].type == 41 && each[1].config3 == 0x210);
	CHECK(each[1].exclude_kernel);
	free(each);
	CHECK_EQ(pmu_refuse_uncore(&ev, "-e ", &why), 0);
	CHECK_EQ(pmu_refuse_samples(&ev, "-e ", &why), -EINVAL);
	CHECK(strstr(why.text, "counts on all that are named cores"));
	CHECK_EQ(pmu_family("uncore_imc_10"), strlen("uncore_imc"));
	CHECK_EQ(pmu_family("cpu"), 0);
	CHECK_EQ(pmu_family("17"), 0);
}

/* Behind the structure, as it may be here: the kernel takes it, or says that it has no such. */
TEST(config3_is_handed_over)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1 };
	int fd = perf_event_open_wide(&attr, 1, 0, -1, -1);

	CHECK(fd >= 0 || fd == -EOPNOTSUPP || fd == -EACCES || fd == -EPERM || fd == -ENOSYS);
	CHECK_EQ(attr.size, sizeof(attr));
	if (fd >= 0)
		close(fd);
}

static size_t listed, whole;

static void take_listed(void *ctx, const char *name, const char *what, const struct event *e)
{
	(void)ctx;
	listed++;
	whole += e != NULL;
	if (e)
		CHECK_STR(e->name, name);
	CHECK(!strncmp(what, "PMU ", 4));
	CHECK(!strchr(name, '.'));
}

TEST(all)
{
	pmu_list(devices, take_listed, NULL);
	/* cpu, power; those of uncore_imc, and its event; cores, alone_7 */
	CHECK_EQ(listed, (4 + 6) + (1 + 1) + (2 + 3 + 1) + 2 + 1);
	CHECK_EQ(whole, 3 + 3 + 1);
	pmu_list("/nonexistent", take_listed, NULL);
	CHECK_EQ(listed, 21);
}

int main(void)
{
	if (!mkdtemp(devices))
		return 1;
	make_files(devices, files, COUNT(files));
	RUN(terms_go_where_the_format_says);
	RUN(what_else_is_said);
	RUN(refusals_say_what_there_is);
	RUN(formats);
	RUN(cpus);
	RUN(families);
	RUN(config3_is_handed_over);
	RUN(all);
	remove_files(devices);
	return TEST_END();
}
