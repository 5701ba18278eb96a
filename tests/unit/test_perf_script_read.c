/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "input/perf_script_line.h"
#include "input/readers.h"
#include "unit/stacks.h"

static struct slice slice_of(const char *s)
{
	return (struct slice){ s, strlen(s) };
}

#define CHECK_SLICE(got, expected) do { \
	struct slice s_ = (got); \
	char text_[256]; \
	snprintf(text_, sizeof(text_), "%.*s", (int)s_.n, s_.n ? s_.s : ""); \
	CHECK_STR(text_, expected); \
} while (0)

static struct profile *read_text(const char *text)
{
	struct profile *p = profile_new();
	struct error e = { 0 };

	CHECK(perf_script_looks(text, strlen(text)));
	CHECK_EQ(perf_script_read(p, text, strlen(text), &e), 0);
	CHECK_STR(e.text, "");
	return p;
}

/* What -F leaves of a header. */
TEST(headers)
{
	static const struct {
		const char *line, *comm;
		uint64_t pid, tid, time;
		uint32_t cpu;
		uint64_t period;
		const char *event, *rest;
	} lines[] = {
		{ "tree  7108 34527.112179:    2004008 cpu-clock: ",
		  "tree", 7108, 7108, 34527112179000, 0, 2004008, "cpu-clock", "" },
		{ "swapper     0 [003] 12.000001:    1 cycles:ppp: ",
		  "swapper", 0, 0, 12000001000, 3, 1, "cycles:ppp", "" },
		{ "a b (c) 7  8748/8750  [001] 1.000000009: cycles:u: ",
		  "a b (c) 7", 8748, 8750, 1000000009, 1, 0, "cycles:u", "" },
		{ "perf  8735 [000] 5.000000: sched:sched_switch: prev_comm=perf prev_pid=8735 ==> next_comm=x 1.000000: y",
		  "perf", 8735, 8735, 5000000000, 0, 0, "sched:sched_switch",
		  "prev_comm=perf prev_pid=8735 ==> next_comm=x 1.000000: y" },
		{ "   timeout  8731 7.000000:    1001001 cpu-clock:  ffffffff821d8a31 f+0x51 ([kernel.kallsyms])",
		  "timeout", 8731, 8731, 7000000000, 0, 1001001, "cpu-clock", "ffffffff821d8a31 f+0x51 ([kernel.kallsyms])" },
		{ "x  1 [000] U 7.000000: cycles: ", "x", 1, 1, 7000000000, 0, 0, "cycles", "" },
		{ "tree  7108/7110 cpu-clock: ", "tree", 7108, 7110, 0, 0, 0, "cpu-clock", "" },
		{ "tree  7108 [002] 99 cpu-clock: ", "tree", 7108, 7108, 0, 2, 99, "cpu-clock", "" },
		{ "tree 7.000000: ", "tree", 0, 0, 7000000000, 0, 0, "", "" },
		{ " 7108 7.000000: ", "", 7108, 7108, 7000000000, 0, 0, "", "" },
		{ "two words", "two words", 0, 0, 0, 0, 0, "", "" },
		{ "cpu-clock: ", "", 0, 0, 0, 0, 0, "cpu-clock", "" },
		{ "x 99999999999 7.000000: e: ", "x 99999999999", 0, 0, 7000000000, 0, 0, "e", "" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct perf_script_header h;
		struct perf_script_frame f;

		CHECK_EQ(perf_script_line(slice_of(lines[i].line), &h, &f), PERF_SCRIPT_HEADER);
		CHECK_SLICE(h.comm, lines[i].comm);
		CHECK_EQ(h.pid, lines[i].pid);
		CHECK_EQ(h.tid, lines[i].tid);
		CHECK_EQ(h.time, lines[i].time);
		CHECK_EQ(h.cpu, lines[i].cpu);
		CHECK_EQ(h.period, lines[i].period);
		CHECK_SLICE(h.event, lines[i].event);
		CHECK_SLICE(h.rest, lines[i].rest);
	}
}

TEST(frames)
{
	static const struct {
		const char *line;
		uint64_t address;
		const char *symbol, *dso;
		int inlined;
	} lines[] = {
		{ "\t            16ac a2+0x2c (/usr/bin/tree)", 0x16ac, "a2", "/usr/bin/tree", 0 },
		{ "\tffffffff821f2c2b halt+0xb ([kernel.kallsyms])", 0xffffffff821f2c2b, "halt", "[kernel.kallsyms]", 0 },
		{ "\t  7ffdda4ad02000 [unknown] ([unknown])", 0x7ffdda4ad02000, "", "", 0 },
		{ "\t            1184 inlined_step+0x24 (inlined)", 0x1184, "inlined_step", "", 1 },
		{ "        12bc main (/tmp/a b (c) 7)", 0x12bc, "main", "/tmp/a b (c) 7", 0 },
		{ "\t 12 operator()(int, char const*) const+0x1 (/x)", 0x12, "operator()(int, char const*) const", "/x", 0 },
		{ "\t 12 foo(int) (/tmp/x (deleted))", 0x12, "foo(int)", "/tmp/x (deleted)", 0 },
		{ "\t 12 foo(int)", 0x12, "foo(int)", "", 0 },
		{ "\t 12 main (/tmp/x+0x12)", 0x12, "main", "/tmp/x", 0 },
		{ "\t 12 (/x)", 0x12, "", "/x", 0 },
		{ "\t 12", 0x12, "", "", 0 },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct perf_script_header h;
		struct perf_script_frame f;

		CHECK_EQ(perf_script_line(slice_of(lines[i].line), &h, &f), PERF_SCRIPT_FRAME);
		CHECK_EQ(f.address, lines[i].address);
		CHECK_SLICE(f.symbol, lines[i].symbol);
		CHECK_SLICE(f.dso, lines[i].dso);
		CHECK_EQ(f.inlined, lines[i].inlined);
	}
}

TEST(other_lines)
{
	static const char *const lines[] = {
		"# hostname : vm", "  libc-start.c:74", "  [kernel.kallsyms][ffffffff814449ae]", " insn: 48 83 ea 01",
		"\t 12345678123456781 too long", "\tnot hexadecimal",
	};
	struct perf_script_header h;
	struct perf_script_frame f;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		CHECK_EQ(perf_script_line(slice_of(lines[i]), &h, &f), PERF_SCRIPT_OTHER);
	CHECK_EQ(perf_script_line(slice_of(" \t"), &h, &f), PERF_SCRIPT_BLANK);
}

static const char two_threads[] =
	"# ========\n"
	"# event : name = cpu-clock\n"
	"#\n"
	"srv 10/10 [000] 5.000000: 1000 cpu-clock: \n"
	"\t            1010 inner+0x1 (inlined)\n"
	"\t            1010 outer+0x1 (/usr/bin/srv)\n"
	"\t            1000 main+0x1 (/usr/bin/srv)\n"
	"\n"
	"worker 10/11 [001] 5.500000: 1000 cpu-clock: \r\n"
	"\tffffffff81000010 do_read+0x1 ([kernel.kallsyms])\r\n"
	"\tffffffffc0000010 ext_read+0x1 (/lib/modules/6.1/kernel/fs/my-ext.ko.xz)\r\n"
	"\tffffffffff600010 vgettime+0x1 ([vsyscall])\r\n"
	"\t    7f0000000010 render+0x1 (/tmp/perf-10.map)\r\n"
	"\t    7f0000000020 [unknown] (/usr/lib/libx.so)\r\n"
	"\r\n"
	"srv 10/10 [000] 6.000000: PERF_RECORD_COMM: srv:10/10\n"
	"srv 10/10 [000] 6.000000: 2000 cpu-clock: \n"
	"\t            1010 inner+0x1 (inlined)\n"
	"\t            1010 outer+0x1 (/usr/bin/srv)\n"
	"\t            1000 main+0x1 (/usr/bin/srv)\n";

TEST(stacks_threads_and_ticks)
{
	struct profile *p = read_text(two_threads);
	struct profile_view v = profile_view(p);

	CHECK_OUTPUT(p, "folded", (&(struct output_options){ .annotate = 1 }),
		     "srv;main;outer;inner_[i] 2\n"
		     "worker;[unknown];render_[j];vgettime;ext_read_[k];do_read_[k] 1\n");
	CHECK_EQ(v.nprocesses, 1);
	CHECK_STR(profile_text(p, v.processes[0].comm), "srv");
	CHECK_EQ(v.threads[1].tid, 11);
	CHECK_EQ(v.nsamples, 2);
	CHECK_EQ(v.nticks, 3);
	CHECK_EQ(v.ticks[1].time, 500000000);
	CHECK_EQ(v.ticks[1].cpu, 1);
	CHECK_EQ(v.meta->duration, 1000000000);
	CHECK_EQ(v.meta->period, 0);
	CHECK_STR(v.meta->event, "cpu-clock");
	CHECK_EQ(v.account->taken, 3);
	CHECK_EQ(v.ntypes, 2);
	CHECK_STR(profile_text(p, v.types[1].unit), "nanoseconds");
	CHECK_EQ(v.types[1].total, 4000);
	profile_free(p);
}

TEST(modules_have_our_names)
{
	struct profile *p = read_text(two_threads);
	static const char *const names[] = { "", "srv", "[kernel]", "[my-ext]", "[vsyscall]", "[jit]", "libx.so" };
	struct profile_view v = profile_view(p);

	CHECK_EQ(v.nmodules, sizeof(names) / sizeof(*names));
	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		int found = 0;

		for (size_t i = 0; i < v.nmodules; i++)
			found += !strcmp(profile_text(p, v.modules[i].name), names[k]);
		CHECK_EQ(found, 1);
	}
	profile_free(p);
}

TEST(source_lines_are_kept)
{
	struct profile *p = read_text(
		"isp 1/1 5.000000: cpu-clock: \n"
		"\t            1184 step\n"
		"  src/a b.c:7 (inlined)\n"
		"\t            1184 spin (/tmp/isp)\n"
		"  spin.c:21\n"
		"\t            1059 main (/tmp/isp)\n"
		"  isp[1059]\n");
	struct profile_view v = profile_view(p);

	CHECK_OUTPUT(p, "folded", NULL, "isp;main;spin;step 1\n");
	CHECK_EQ(v.nlocations, 2);
	CHECK_STR(profile_text(p, v.lines[0].file), "src/a b.c");
	CHECK_EQ(v.lines[0].line, 7);
	CHECK_EQ(v.lines[1].line, 21);
	CHECK_EQ(v.lines[2].line, 0);
	profile_free(p);
}

/* Without call chains, with nothing but stacks, with comms alone. */
TEST(less_is_read_too)
{
	struct profile *p = read_text(
		"         timeout  8731 4.160046:    1001001 cpu-clock:  ffffffff821d8a31 tree_lookup+0x51 ([kernel.kallsyms])\n"
		"            tree  8733 4.161038:    1001001 cpu-clock:      564242b272bf main+0x12f (/usr/bin/tree)\n"
		"            tree  8733 4.162038:    1001001 cpu-clock: \n");

	CHECK_OUTPUT(p, "folded", NULL, "timeout;tree_lookup 1\ntree 1\ntree;main 1\n");
	CHECK_EQ(profile_meta(p)->period, 1001001);
	profile_free(p);
	p = read_text("\n\t 12bf main\n\t 2724a start\n\n\n\t 12bf main\n\t 2724a start\n");
	CHECK_OUTPUT(p, "folded", NULL, "?;start;main 2\n");
	CHECK_EQ(profile_view(p).nticks, 0);
	profile_free(p);
	p = read_text("my prog \n\t 12bf main (/x)\n\nother \n\t 12bf main (/x)\n");
	CHECK_OUTPUT(p, "folded", NULL, "my_prog;main 1\nother;main 1\n");
	CHECK_EQ(profile_view(p).nprocesses, 2);
	profile_free(p);
}

TEST(several_events_are_types)
{
	struct profile *p = read_text(
		"x 1 5.000000: sched:sched_switch: prev_comm=x\n\t 10 f (/x)\n\n"
		"x 1 5.000001: 100 cycles:u: \n\t 20 g (/x)\n\n"
		"x 1 5.000002: 100 cycles:u: \n\t 20 g (/x)\n");
	struct profile_view v = profile_view(p);

	CHECK_EQ(v.ntypes, 2);
	CHECK_STR(profile_text(p, v.types[0].name), "sched:sched_switch");
	CHECK_EQ(v.types[0].total, 1);
	CHECK_STR(profile_text(p, v.types[1].name), "cycles:u");
	CHECK_EQ(v.types[1].total, 2);
	CHECK_EQ(v.nticks, 1);		/* of the first type */
	CHECK_OUTPUT(p, "folded", NULL, "x;f 1\n");
	profile_free(p);
}

TEST(many_events_are_one_type)
{
	char text[2048] = "";
	struct profile *p;

	for (int i = 0; i < 20; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "x 1 5.%06d: probe:p%d: (12)\n\t 10 f (/x)\n\n", i, i);
	p = read_text(text);
	CHECK_EQ(profile_view(p).ntypes, 1);
	CHECK_EQ(profile_view(p).total, 20);
	profile_free(p);
}

/* One address with two names, as of two programs whose file is unknown. */
TEST(one_address_may_have_two_names)
{
	struct profile *p = read_text("x 1 5.000000: e: \n\t 10 f ([unknown])\n\nx 1 5.000001: e: \n\t 10 g ([unknown])\n");

	CHECK_OUTPUT(p, "folded", NULL, "x;f 1\nx;g 1\n");
	profile_free(p);
}

/* As we write it ourselves. */
TEST(marks_are_understood)
{
	struct profile *p = read_text(
		"x 1 5.000000: e: \n\t 10 f (/x)\n\t 0 [truncated: no CFI] ([unknown])\n\n"
		"x 1 5.000001: e: \n\t 0 [no stack] ([unknown])\n\n"
		"x 1 5.000002: e: \n\t 10 f (/x)\n\n");
	const struct profile_account *a = profile_account(p);

	CHECK_OUTPUT(p, "folded", NULL, "x 1\nx;[truncated: no CFI];f 1\nx;f 1\n");
	CHECK_EQ(profile_view(p).functions[profile_view(p).nfunctions - 1].kind, FRAME_MARK);
	CHECK_EQ(a->ntruncated, 1);
	CHECK_STR(a->truncated[0].name, "no CFI");
	CHECK_EQ(a->truncated[0].count, 1);
	CHECK_EQ(a->kept, 3);
	profile_free(p);
}

TEST(nothing_is_an_error)
{
	static const char text[] = "x 1 5.000000: PERF_RECORD_COMM: x:1/1\nProcessed 12 events\n";
	struct profile *p = profile_new();
	struct error e = { 0 };

	CHECK(perf_script_read(p, text, strlen(text), &e) < 0);
	CHECK_STR(e.text, "no samples in this text of perf script");
	CHECK(!perf_script_looks("x;a 1\nb;c 2\n", 12));
	CHECK(!perf_script_looks("     10 demo     3996\n", 22));
	profile_free(p);
}

int main(void)
{
	RUN(headers);
	RUN(frames);
	RUN(other_lines);
	RUN(stacks_threads_and_ticks);
	RUN(modules_have_our_names);
	RUN(source_lines_are_kept);
	RUN(less_is_read_too);
	RUN(several_events_are_types);
	RUN(many_events_are_one_type);
	RUN(one_address_may_have_two_names);
	RUN(marks_are_understood);
	RUN(nothing_is_an_error);
	return TEST_END();
}
