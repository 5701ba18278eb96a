/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>

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
	{ "broken/type", "four\n" }, { "tracepoint/type", "2\n" },
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- Tests. --------------------------------------------------------------------------- */

TEST(terms_go_where_the_format_says)
{
	static const struct {
		const char *text;
		uint64_t config, config1, config2;
	} good[] = {
		{ "cpu//", 0, 0, 0 },
		{ "cpu/cpu-cycles/", 0x3c, 0, 0 },
		{ "cpu/event=cpu-cycles/", 0x3c, 0, 0 },
		{ "cpu/event=0x3c,umask=0xff/", 0xff3c, 0, 0 },
		{ "cpu/event=0xf3c/", 0xf0000003cull, 0, 0 },
		{ "cpu/event=60,inv/", 0x80003c, 0, 0 },
		{ "cpu/mem-loads,ldlat=0x1e/", 0x1cd, 0x1e, 0 },
		{ "cpu/mem-loads/", 0x1cd, 3, 0 },
		{ "cpu/far=3/", 0, 0, 0x30 },
		{ "cpu/config=0xffffffffffffffff,config1=7,config2=010/", UINT64_MAX, 7, 8 },
		{ "cpu/domain,umask=4/", 0x401, 0, 0 },
		{ "cpu/umask=4,umask=1/", 0x100, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		CHECK_EQ(parse(good[i].text), 0);
		CHECK_STR(ev.name, good[i].text);
		CHECK_STR(ev.pmu, "cpu");
		CHECK_STR(rest, "");
		CHECK(ev.type == 4 && ev.config == good[i].config &&
		      ev.config1 == good[i].config1 && ev.config2 == good[i].config2);
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
		{ "nothing/like/", "there are broken, cpu, power" },
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
		{ "cpu/newer=1/", "not understood" },
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
		"config:-1", "config: 1", "config:1 ", "config3:0", "config9:0",
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
	CHECK_EQ(listed, 4 + 5 + 1 + 1);
	CHECK_EQ(whole, 3);
	pmu_list("/nonexistent", take_listed, NULL);
	CHECK_EQ(listed, 11);
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
	RUN(all);
	remove_files(devices);
	return TEST_END();
}
