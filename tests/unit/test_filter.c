/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <stdint.h>

#include "collect/trace_format.h"
#include "probes/filter.h"

/* A record as sched:sched_process_exec and syscalls:sys_enter_write have theirs. */
static const char format[] =
	"name: made_up\nID: 12\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
	"\tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * buf;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:u8 small;\toffset:48;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n"
	"\nprint fmt: \"%s\", REC->comm\n";

static trace_field_vec fields;
static uint8_t record[EBP_RECORD];
static struct error why;

static void put(size_t at, uint64_t value, size_t size)
{
	memcpy(record + at, &value, size);
}

static void fill(void)
{
	memset(record, 0, sizeof(record));
	put(8, 104 | 13 << 16, 4);
	strcpy((char *)record + 104, "/usr/bin/true");
	put(12, (uint32_t)-5, 4);
	strcpy((char *)record + 16, "postgres");
	put(32, 4096, 8);
	put(48, 200, 1);
}

static int find(void *ctx, const char *name, struct filter_field *out)
{
	static const enum ebp_operand operands[] = { EBP_NUMBER, EBP_TEXT_ARRAY, EBP_TEXT_DYNAMIC };
	const struct trace_field *f = trace_format_find(&fields, name);

	(void)ctx;
	if (!f || f->common)
		return -ENOENT;
	if (f->kind == TRACE_OTHER)
		return -ENOTSUP;
	*out = (struct filter_field){ .offset = (uint16_t)f->offset, .size = (uint16_t)f->size,
				      .operand = operands[f->kind], .is_signed = f->is_signed };
	return 0;
}

/* As the program does it (bpf/probe_values.bpf.h). */
static int holds(const struct ebp_test *t)
{
	char text[EBP_TEXT] = "";
	uint32_t offset = t->offset, length = t->length;

	if (t->compare != EBP_LIKE)
		return probe_compare(t, t->operand == EBP_PID   ? 77
					: t->operand == EBP_CPU ? 1
								: probe_field(record, t->offset,
									      t->size,
									      t->is_signed));
	if (t->operand == EBP_COMM) {
		strcpy(text, "worker");
		return probe_like(t->text, t->pattern, text, 16);
	}
	if (t->operand == EBP_TEXT_DYNAMIC) {
		length = (uint32_t)probe_field(record, t->offset, 4, 0) >> 16;
		offset = probe_field(record, t->offset, 4, 0) & 0xffff;
	}
	memcpy(text, record + offset, EBP_TEXT);
	return probe_like(t->text, t->pattern, text, length > EBP_TEXT ? EBP_TEXT : length);
}

/* 1 or 0; -1: no filter. */
static int passes(const char *filter)
{
	filter_tests tests = { 0 };
	uint32_t at = 0;
	int err = filter_compile(filter, find, NULL, &tests, &why);

	for (size_t i = 0; !err && i <= tests.n && at < EBP_TEST_FAIL; i++) {
		CHECK(at < tests.n);
		at = holds(&tests.v[at]) ? tests.v[at].yes : tests.v[at].no;
	}
	CHECK(err || at == EBP_TEST_PASS || at == EBP_TEST_FAIL);
	vec_free(&tests);
	return err ? -1 : at == EBP_TEST_PASS;
}

TEST(fields_of_a_format)
{
	const struct trace_field *f;

	CHECK_EQ(fields.n, 9);
	f = trace_format_find(&fields, "filename");
	CHECK(f && f->kind == TRACE_DYNAMIC_TEXT && f->offset == 8);
	f = trace_format_find(&fields, "comm");
	CHECK(f && f->kind == TRACE_TEXT && f->size == 16);
	CHECK_STR(f->type, "char[16]");
	f = trace_format_find(&fields, "buf");
	CHECK(f && f->kind == TRACE_NUMBER && !f->is_signed);
	CHECK_STR(f->type, "const char *");
	f = trace_format_find(&fields, "args");
	CHECK(f && f->kind == TRACE_OTHER);
	CHECK(trace_format_find(&fields, "common_pid")->common);
	CHECK(!trace_format_find(&fields, "nothing"));
}

TEST(numbers)
{
	static const struct { const char *filter; int passes; } all[] = {
		{ "count == 4096", 1 }, { "count==0x1000", 1 }, { "count != 4096", 0 },
		{ "count > 4095", 1 }, { "count > 4096", 0 }, { "count >= 4096", 1 },
		{ "count < 4097", 1 }, { "count < 4096", 0 }, { "count <= 4096", 1 },
		{ "count & 0x1000", 1 }, { "count & 1", 0 },
		{ "pid == -5", 1 }, { "pid < 0", 1 }, { "pid > -6", 1 }, { "pid >= 0", 0 },
		{ "small == 200", 1 }, { "small > 127", 1 },
		{ "common_pid == 77", 1 }, { "CPU == 1", 1 }, { "cpu == 2", 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		CHECK_EQ(passes(all[i].filter), all[i].passes);
		if (passes(all[i].filter) != all[i].passes)
			printf("    %s\n", all[i].filter);
	}
}

TEST(texts)
{
	CHECK_EQ(passes("comm == \"postgres\""), 1);
	CHECK_EQ(passes("comm == postgres"), 1);
	CHECK_EQ(passes("comm == 'postgre'"), 0);
	CHECK_EQ(passes("comm != postgres"), 0);
	CHECK_EQ(passes("comm ~ \"post*\""), 1);
	CHECK_EQ(passes("comm ~ \"*gres\""), 1);
	CHECK_EQ(passes("comm ~ \"*stg*\""), 1);
	CHECK_EQ(passes("comm ~ \"p?stgres\""), 1);
	CHECK_EQ(passes("comm ~ \"*x*\""), 0);
	CHECK_EQ(passes("filename == /usr/bin/true"), 1);
	CHECK_EQ(passes("filename ~ \"/usr/*/true\""), 1);
	CHECK_EQ(passes("filename ~ \"/usr/*/false\""), 0);
	CHECK_EQ(passes("COMM == worker"), 1);
}

TEST(what_joins)
{
	CHECK_EQ(passes("count > 1 && pid < 0"), 1);
	CHECK_EQ(passes("count > 1 && pid > 0"), 0);
	CHECK_EQ(passes("count < 1 || pid < 0"), 1);
	CHECK_EQ(passes("count < 1 || pid > 0"), 0);
	/* && binds more tightly. */
	CHECK_EQ(passes("count > 1 || pid > 0 && small == 1"), 1);
	CHECK_EQ(passes("(count > 1 || pid > 0) && small == 1"), 0);
	CHECK_EQ(passes("!(count > 1)"), 0);
	CHECK_EQ(passes("!(count < 1 || pid > 0) && !(small == 1)"), 1);
	CHECK_EQ(passes("!!count > 1"), 1);
	CHECK_EQ(passes("((count > 1) && ((pid < 0)))"), 1);
	CHECK_EQ(passes("count < 1 && pid > 0 || small == 200 && comm ~ \"p*\""), 1);
}

TEST(what_is_no_filter)
{
	static const char *const bad[] = {
		"", "count", "count ==", "count == x", "nothing == 1", "args == 1", "count = 1",
		"count == 1 &&", "(count == 1", "count == 1)", "comm == \"open", "comm > 1",
		"count ~ \"1\"", "count == 99999999999999999999", "count == 1 count == 2",
		"common_type == 1", "comm == \"a*\"", "&& count == 1", "!",
		"((((((((((((((((((count == 1))))))))))))))))))",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_EQ(passes(bad[i]), -1);
		CHECK(*why.text);
	}
}

TEST(too_long)
{
	char text[4096] = "count == 1";

	for (int i = 0; i < 63; i++)
		strcat(text, " || count == 2");
	CHECK_EQ(passes(text), 0);
	strcat(text, " || count == 4096");
	CHECK_EQ(passes(text), -1);
}

int main(void)
{
	trace_format_parse(format, &fields);
	fill();
	RUN(fields_of_a_format);
	RUN(numbers);
	RUN(texts);
	RUN(what_joins);
	RUN(what_is_no_filter);
	RUN(too_long);
	vec_free(&fields);
	return TEST_END();
}
