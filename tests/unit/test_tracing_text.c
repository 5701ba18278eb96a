/* SPDX-License-Identifier: MIT */
#include "collect/tracing_text.h"

#include <unistd.h>

#include "test.h"

static const char symbols[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T do_syscall_64\n"
	"ffffffff81000100 t perf_syscall_enter.isra.0\n"
	"ffffffff81000200 T perf_syscall_enterprise\n"
	"ffffffff81000300 T __traceiter_sched_process_fork\n"
	"ffffffff81000300 T also_called\n"
	"ffffffff81000400 D __tracepoint_ptr_sched_process_fork\n"
	"ffffffff81000500 T syscall_trace_enter\n"
	"ffffffff81000600 T kernel_clone\n"
	"ffffffff81000700 T __traceiter_\n"
	"ffffffff81000800 T perf_tp_event\n"
	"ffffffffc0000900 t ext4_work\t[ext4]\n"
	"ffffffffc0000700 t perf_trace_ext4_work\t[ext4]\n"
	"short\n"
	"ffffffffc0000800 t ext4_more\t[ext4]\n"
	"ffffffffc0000a00 t perf_trace_last";

static struct tracing_text text;

static void read_text(const char *bytes)
{
	char path[] = "/tmp/ebprof-kallsyms-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
	close(fd);
	tracing_text_find(&text, path);
	unlink(path);
}

#define LEAVES(...) tracing_text_leaves(&text, (const uint64_t[]){ __VA_ARGS__ }, \
					sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

TEST(leaves_that_carry)
{
	read_text(symbols);
	CHECK_EQ(LEAVES(0xffffffff81000100, 0xffffffff81000544, 0xffffffff81000012), 2);
	CHECK_EQ(LEAVES(0xffffffff810001ff, 0xffffffff81000012), 1);
	CHECK_EQ(LEAVES(0xffffffff81000301, 0xffffffff81000612), 1);
	CHECK_EQ(LEAVES(0xffffffff81000801, 0xffffffff81000612), 1);
	CHECK_EQ(LEAVES(0xffffffffc0000710, 0xffffffffc0000910), 1);
	/* Elsewhere than at the leaf, and names that are alike. */
	CHECK_EQ(LEAVES(0xffffffff81000612, 0xffffffff81000544, 0xffffffff81000012), 0);
	CHECK_EQ(LEAVES(0xffffffff81000200), 0);
	CHECK_EQ(LEAVES(0xffffffff81000401, 0xffffffff81000612), 0);
	CHECK_EQ(LEAVES(0xffffffff81000701, 0xffffffff81000612), 0);
	CHECK_EQ(LEAVES(0xffffffffc0000810, 0xffffffffc0000910), 0);
	/* Where it ends is not known. */
	CHECK_EQ(LEAVES(0xffffffffc0000a10, 0xffffffff81000612), 0);
	CHECK_EQ(LEAVES(0x10), 0);
	/* Something is left. */
	CHECK_EQ(LEAVES(0xffffffff81000100, 0xffffffff81000544), 0);
	CHECK_EQ(tracing_text_leaves(&text, NULL, 0), 0);
	tracing_text_free(&text);
}

TEST(nothing_is_known)
{
	read_text("");
	CHECK_EQ(LEAVES(0xffffffff81000100, 0xffffffff81000544), 0);
	tracing_text_free(&text);
	read_text("0000000000000000 T perf_syscall_enter\n0000000000000000 T kernel_clone\n");
	CHECK_EQ(LEAVES(0x0, 0x10), 0);
	tracing_text_free(&text);
	tracing_text_find(&text, "/nowhere");
	CHECK_EQ(text.n, 0);
	tracing_text_free(&text);
}

/* Of this kernel, where it shows its addresses. */
TEST(this_kernel)
{
	tracing_text_find(&text, "/proc/kallsyms");
	for (size_t i = 0; i < text.n; i++) {
		CHECK(text.v[i].begin < text.v[i].end);
		CHECK(!i || text.v[i - 1].end <= text.v[i].begin);
	}
	tracing_text_free(&text);
}

int main(void)
{
	RUN(leaves_that_carry);
	RUN(nothing_is_known);
	RUN(this_kernel);
	return TEST_END();
}
