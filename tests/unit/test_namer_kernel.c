/* SPDX-License-Identifier: MIT */
#include "session/namer.h"

#include <stdlib.h>
#include <unistd.h>

#include "namer_asked.h"
#include "test.h"

static char kallsyms[] = "/tmp/ebprof-namer-XXXXXX";

static void write_kallsyms(const char *module)
{
	FILE *f = fopen(kallsyms, "w");

	CHECK(f != NULL);
	if (!f)
		return;
	fprintf(f, "ffffffff81000000 T _stext\nffffffff81000100 T built_in\n"
		   "ffffffffc0000000 t in_module\t[%s]\n", module);
	fclose(f);
}

static void ask_kernel(struct namer *n, uint32_t id, uint64_t address)
{
	namer_ask(n, id, &(struct namer_place){ .address = address });
}

static void check_kernel(int live, const char *module)
{
	const struct symbolizer_options symbols = {
		.kernel = { .kallsyms = kallsyms, .notes = "/nowhere" },
	};
	struct namer *n = namer_of(&symbols, QUIET, live);
	struct last last = { 0 };

	write_kallsyms("then");
	ask_kernel(n, 1, 0xffffffffc0000010);
	ask_kernel(n, 2, 0xffffffff81000110);
	CHECK(wait_for(n, &last, live ? 2 : 1));
	if (!live) {
		CHECK_EQ(last.answer.id, 2);
		CHECK_STR(last.frame.name, "built_in");
		CHECK_STR(last.answer.module, "[kernel]");
	}
	write_kallsyms("now");
	namer_stopped(n);
	if (!live) {
		CHECK(wait_for(n, &last, 2));
		CHECK_EQ(last.answer.id, 1);
		CHECK_STR(last.answer.module, module);
	}
	/* As it is now, whenever it is asked for. */
	ask_kernel(n, 3, 0xffffffffc0000020);
	namer_finish(n, take_one, &last);
	CHECK_EQ(last.all, 3);
	CHECK_EQ(last.answer.id, 3);
	CHECK_STR(last.frame.name, "in_module");
	CHECK_STR(last.answer.module, module);
	CHECK(!namer_kernel_hidden(n));
	namer_free(n);
}

TEST(what_is_loaded_into_the_kernel_counts_as_it_is_at_the_end)
{
	check_kernel(0, "[now]");
}

TEST(who_looks_sees_it_as_it_was)
{
	check_kernel(1, "[then]");
}

TEST(a_kernel_that_is_first_asked_for_at_the_end_is_read_once)
{
	const struct symbolizer_options symbols = {
		.kernel = { .kallsyms = kallsyms, .notes = "/nowhere" },
	};
	struct namer *n = namer_of(&symbols, QUIET, 0);
	struct last last = { 0 };

	write_kallsyms("once");
	namer_stopped(n);
	ask_kernel(n, 1, 0xffffffffc0000010);
	CHECK(wait_for(n, &last, 1));
	CHECK_STR(last.answer.module, "[once]");
	namer_free(n);
}

int main(void)
{
	close(mkstemp(kallsyms));
	RUN(what_is_loaded_into_the_kernel_counts_as_it_is_at_the_end);
	RUN(who_looks_sees_it_as_it_was);
	RUN(a_kernel_that_is_first_asked_for_at_the_end_is_read_once);
	unlink(kallsyms);
	return TEST_END();
}
