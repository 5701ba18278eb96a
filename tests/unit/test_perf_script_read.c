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

/* @lines of it are left out. */
static struct profile *read_some(const char *text, uint64_t lines, uint64_t first)
{
	struct profile *p = profile_new();
	struct input_notes notes = { 0 };
	struct error e = { 0 };

	CHECK(perf_script_looks(text, strlen(text)));
	CHECK_EQ(perf_script_read(p, text, strlen(text), &notes, &e), 0);
	CHECK_STR(e.text, "");
	CHECK_EQ(notes.lines, lines);
	CHECK_EQ(notes.first, first);
	return p;
}

static struct profile *read_text(const char *text)
{
	return read_some(text, 0, 0);
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
		{ "tree  7108 34527.112179:    2004008 cpu-clock: ", "tree", 7108, 7108,
		  34527112179000, 0, 2004008, "cpu-clock", "" },
		{ "swapper     0 [003] 12.000001:    1 cycles:ppp: ", "swapper", 0, 0, 12000001000,
		  3, 1, "cycles:ppp", "" },
		{ "a b (c) 7  8748/8750  [001] 1.000000009: cycles:u: ", "a b (c) 7", 8748, 8750,
		  1000000009, 1, 0, "cycles:u", "" },
		{ "perf  8735 [000] 5.000000: sched:sched_switch: prev_comm=perf prev_pid=8735 ==> "
		  "next_comm=x 1.000000: y",
		  "perf", 8735, 8735, 5000000000, 0, 0, "sched:sched_switch",
		  "prev_comm=perf prev_pid=8735 ==> next_comm=x 1.000000: y" },
		{ "   timeout  8731 7.000000:    1001001 cpu-clock:  ffffffff821d8a31 f+0x51 "
		  "([kernel.kallsyms])",
		  "timeout", 8731, 8731, 7000000000, 0, 1001001, "cpu-clock",
		  "ffffffff821d8a31 f+0x51 ([kernel.kallsyms])" },
		{ "x  1 [000] U 7.000000: cycles: ", "x", 1, 1, 7000000000, 0, 0, "cycles", "" },
		{ "tree  7108/7110 cpu-clock: ", "tree", 7108, 7110, 0, 0, 0, "cpu-clock", "" },
		{ "tree  7108 [002] 99 cpu-clock: ", "tree", 7108, 7108, 0, 2, 99, "cpu-clock",
		  "" },
		{ "tree 7.000000: ", "tree", 0, 0, 7000000000, 0, 0, "", "" },
		{ " 7108 7.000000: ", "", 7108, 7108, 7000000000, 0, 0, "", "" },
		{ "two words", "two words", 0, 0, 0, 0, 0, "", "" },
		{ "cpu-clock: ", "", 0, 0, 0, 0, 0, "cpu-clock", "" },
		{ " 7108 ", "", 7108, 7108, 0, 0, 0, "", "" },
		{ "   7108/7110 ", "", 7108, 7110, 0, 0, 0, "", "" },
		{ " 7108 cycles: ", "", 7108, 7108, 0, 0, 0, "cycles", "" },
		{ " 7108 [003] cycles: ", "", 7108, 7108, 0, 3, 0, "cycles", "" },
		{ "cafe 7108 cycles:  12bf main (/x)", "cafe", 7108, 7108, 0, 0, 0, "cycles",
		  "12bf main (/x)" },
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
		{ "\tffffffff821f2c2b halt+0xb ([kernel.kallsyms])", 0xffffffff821f2c2b, "halt",
		  "[kernel.kallsyms]", 0 },
		{ "\t  7ffdda4ad02000 [unknown] ([unknown])", 0x7ffdda4ad02000, "", "", 0 },
		{ "\t            1184 inlined_step+0x24 (inlined)", 0x1184, "inlined_step", "", 1 },
		{ "        12bc main (/tmp/a b (c) 7)", 0x12bc, "main", "/tmp/a b (c) 7", 0 },
		{ "\t 12 operator()(int, char const*) const+0x1 (/x)", 0x12,
		  "operator()(int, char const*) const", "/x", 0 },
		{ "\t 12 foo(int) (/tmp/x (deleted))", 0x12, "foo(int)", "/tmp/x (deleted)", 0 },
		{ "\t 12 foo(int)", 0x12, "foo(int)", "", 0 },
		{ "\t 12 main (/tmp/x+0x12)", 0x12, "main", "/tmp/x", 0 },
		{ "\t 12 (/x)", 0x12, "", "/x", 0 },
		{ "\t 12", 0x12, "", "", 0 },
		{ "\t            7108", 0x7108, "", "", 0 },
		{ "                    7108", 0x7108, "", "", 0 },
		{ "12bf main+0x1 (/x)", 0x12bf, "main", "/x", 0 },
		{ "7ffdda4ad02000 [unknown] ([unknown])", 0x7ffdda4ad02000, "", "", 0 },
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
	static const char *const remarks[] = {
		"# hostname : vm",    "  libc-start.c:74",  "  [kernel.kallsyms][ffffffff814449ae]",
		"  libc.so.6[27b25]", " insn: 48 83 ea 01",
	};
	static const char *const others[] = {
		"\t 12345678123456781 too long", "\tnot hexadecimal", "  no source:x",
	};
	struct perf_script_header h;
	struct perf_script_frame f;

	for (size_t i = 0; i < sizeof(remarks) / sizeof(*remarks); i++)
		CHECK_EQ(perf_script_line(slice_of(remarks[i]), &h, &f), PERF_SCRIPT_REMARK);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK_EQ(perf_script_line(slice_of(others[i]), &h, &f), PERF_SCRIPT_OTHER);
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
		     "srv;main;outer;inner_[i] 3000\n"
		     "worker;[libx.so];render_[j];vgettime;ext_read_[k];do_read_[k] 1000\n");
	profile_show(p, 0);
	CHECK_OUTPUT(
		p, "folded", NULL,
		"srv;main;outer;inner 2\nworker;[libx.so];render;vgettime;ext_read;do_read 1\n");
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
	static const char *const names[] = { "",	   "srv",   "[kernel]", "[my-ext]",
					     "[vsyscall]", "[jit]", "libx.so" };
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
	struct profile *p = read_text("         timeout  8731 4.160046:    1001001 cpu-clock:  "
				      "ffffffff821d8a31 tree_lookup+0x51 ([kernel.kallsyms])\n"
				      "            tree  8733 4.161038:    1001001 cpu-clock:      "
				      "564242b272bf main+0x12f (/usr/bin/tree)\n"
				      "            tree  8733 4.162038:    1001001 cpu-clock: \n");

	CHECK_OUTPUT(p, "folded", NULL,
		     "timeout;tree_lookup 1001001\ntree 1001001\ntree;main 1001001\n");
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

	CHECK_EQ(v.ntypes, 3);
	CHECK_STR(profile_text(p, v.types[0].name), "sched:sched_switch");
	CHECK_EQ(v.types[0].total, 1);
	CHECK_STR(profile_text(p, v.types[1].name), "cycles:u samples");
	CHECK_EQ(v.types[1].total, 2);
	CHECK_STR(profile_text(p, v.types[2].name), "cycles:u");
	CHECK_STR(profile_text(p, v.types[2].unit), "events");
	CHECK_EQ(v.types[2].total, 200);
	CHECK_EQ(v.nticks, 1);		/* of the first type */
	CHECK_OUTPUT(p, "folded", NULL, "x;f 1\n");
	profile_free(p);
}

TEST(many_events_are_one_type)
{
	char text[2048] = "";
	struct profile *p;

	for (int i = 0; i < 20; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "x 1 5.%06d: probe:p%d: (12)\n\t 10 f (/x)\n\n", i, i);
	p = read_text(text);
	CHECK_EQ(profile_view(p).ntypes, 1);
	CHECK_EQ(profile_view(p).total, 20);
	profile_free(p);
}

/* One address with two names, as of two programs whose file is unknown. */
TEST(one_address_may_have_two_names)
{
	struct profile *p = read_text("x 1 5.000000: e: \n\t 10 f ([unknown])\n\nx 1 5.000001: e: "
				      "\n\t 10 g ([unknown])\n");

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

/* As stackcollapse-perf.pl adds them up: a period of 0, or none, counts 1. */
TEST(periods_are_weights)
{
	struct profile *p = read_text(
		"x 1 5.000000: 70 cycles: \n\t 10 f (/x)\n\n"
		"x 1 5.000001: 5 cycles: \n\t 10 f (/x)\n\n"
		"x 1 5.000002: cycles: \n\t 20 g (/x)\n\n"
		"x 1 5.000003: 0 cycles: \n\t 30 h (/x)\n");
	struct profile_view v = profile_view(p);

	CHECK_OUTPUT(p, "folded", NULL, "x;f 75\nx;g 1\nx;h 1\n");
	CHECK_EQ(v.shown, 1);
	CHECK_STR(profile_text(p, v.types[1].name), "cycles");
	CHECK_EQ(v.types[0].total, 4);
	CHECK_EQ(v.meta->period, 0);
	profile_free(p);
	/* Where all are 1 the samples are the weights. */
	p = read_text("x 1 5.000000: 1 cycles: \n\t 10 f (/x)\n\nx 1 5.000001: 1 cycles: \n\t 10 f "
		      "(/x)\n");
	CHECK_EQ(profile_view(p).ntypes, 1);
	profile_free(p);
	p = read_text("x 1 5.000000: 250 task-clock:u: \n\t 10 f (/x)\n");
	CHECK_STR(profile_text(p, profile_view(p).types[1].unit), "nanoseconds");
	profile_free(p);
}

/*
 * The headers of -F tid, pid, event and so on; frames without indentation, and far below their
 * header.
 */
TEST(variants_of_headers_and_frames)
{
	struct profile *p = read_text(
		" 7108 \n\t            12bf main (/x)\n\n 7110 \n\t            12bf main (/x)\n\n");

	CHECK_EQ(profile_view(p).nprocesses, 2);
	CHECK_EQ(profile_view(p).threads[1].tid, 7110);
	profile_free(p);
	p = read_text(" 7108/7110 cycles: \n\t            12bf main (/x)\n\n");
	CHECK_EQ(profile_view(p).threads[0].tid, 7110);
	CHECK_OUTPUT(p, "folded", NULL, "?;main 1\n");
	profile_free(p);
	p = read_text(
		"java 7108 cycles:\nffffffff81000010 do_read ([kernel.kallsyms])\n12bf A::b(int, "
		"char) (/x.so)\n"
		"10 [unknown] ([unknown])\n\njava 7108 cycles:\n12bf A::b(int, char) (/x.so)\n");
	CHECK_OUTPUT(p, "folded", NULL,
		     "java;A::b(int, char) 1\njava;[unknown];A::b(int, char);do_read 1\n");
	profile_free(p);
	p = read_text("x 1 5.000000: 9 e:\n\n\t 10 f (/x)\n\t 20 main (/x)\n\n\nx 1 5.000001: 9 "
		      "e:\n\n\t 10 f (/x)\n");
	CHECK_OUTPUT(p, "folded", NULL, "x;f 9\nx;main;f 9\n");
	profile_free(p);
}

TEST(one_line_stacks)
{
	struct profile *p = read_text(
		"    x 12 5.000000:  3 cycles:u:  ffffffff9b201293 [unknown] ([unknown])\n"
		"    x 12 5.000001:  4 cycles:u:      7fa68b1f2d84 start+0x4 (/usr/lib/ld.so)\n"
		"    y 13 cycles:u:      7fa68b1f2d84 start+0x4 (/usr/lib/ld.so)\n");

	CHECK_OUTPUT(p, "folded", NULL, "x;[unknown] 3\nx;start 4\ny;start 1\n");
	profile_free(p);
}

TEST(java_names_with_what_was_inlined)
{
	struct profile *p = read_text("java 1 5.000000: e: \n\t 10 La;::x->Lb;::y->Lc;::z "
				      "(/tmp/perf-1.map)\n\t 20 T::operator->() (/x.so)\n"
				      "\t 30 ->->a-> (/tmp/perf-1.map)\n");

	CHECK_OUTPUT(p, "folded", (&(struct output_options){ .annotate = 1 }),
		     "java;->->a->_[j];T::operator->();La:::x_[j];Lb:::y_[i];Lc:::z_[i] 1\n");
	profile_free(p);
}

TEST(kernels_by_file_and_modules_without_one)
{
	struct profile *p = read_text(
		"x 1 5.000000: e: \n\t 3d6b4c vfs_read (/lib/modules/6.1/build/vmlinux)\n\t 7d8 "
		"track ([nf_conntrack])\n"
		"\t 968f6e sys_call (/usr/lib/debug/boot/vmlinux-6.1.0)\n\t 20 now ([vdso])\n\t 10 "
		"main (/tmp/vmlinuxed)\n");

	CHECK_OUTPUT(p, "folded", (&(struct output_options){ .annotate = 1 }),
		     "x;main;now;sys_call_[k];track_[k];vfs_read_[k] 1\n");
	profile_free(p);
}

TEST(what_is_not_understood_is_counted)
{
	struct profile *p = read_some(
		"# remark\n"
		"Processed 12 events and lost 1 chunks!\n"
		"x 1 5.000000: PERF_RECORD_COMM: x:1/1\n"
		"x 1 5.000000: 2 e: \n"
		"\t 10 f (/x)\n"
		"  x.c:12\n"
		"\tnot a frame\n"
		"\t 20 main (/x)\n"
		"  x[20]\n"
		"\n"
		"some words\n", 3, 2);

	CHECK_OUTPUT(p, "folded", NULL, "x;main;f 2\n");
	profile_free(p);
}

/* perf script --header prints one line a CPU, and more. */
TEST(a_long_header_is_skipped)
{
	char text[16384] = "";

	for (int i = 0; i < 300; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "# cpu %d: something\n",
			 i);
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 "x 1 5.000000: e: \n\t 10 f (/x)\n");
	profile_free(read_text(text));
}

TEST(nothing_is_an_error)
{
	static const char text[] = "x 1 5.000000: PERF_RECORD_COMM: x:1/1\nProcessed 12 events\n";
	struct profile *p = profile_new();
	struct error e = { 0 };

	CHECK(perf_script_read(p, text, strlen(text), &(struct input_notes){ 0 }, &e) < 0);
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
	RUN(periods_are_weights);
	RUN(variants_of_headers_and_frames);
	RUN(one_line_stacks);
	RUN(java_names_with_what_was_inlined);
	RUN(kernels_by_file_and_modules_without_one);
	RUN(what_is_not_understood_is_counted);
	RUN(a_long_header_is_skipped);
	RUN(nothing_is_an_error);
	return TEST_END();
}
