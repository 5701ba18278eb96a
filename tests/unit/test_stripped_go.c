/* SPDX-License-Identifier: MIT */
/*
 * A stripped Go program is unwound by its runtime's table: by the same rules as by the CFI that was
 * stripped from it.
 */
#include "unwind/table/go.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "test.h"
#include "unwind/table/build.h"

static const char *fixtures;

struct program {
	int fd;
	struct elf_file *elf;
	struct unwind_table table;
	int err;
};

static struct program load(const char *name)
{
	char *path = xasprintf("%s/%s", fixtures, name);
	struct program p = { .fd = open(path, O_RDONLY | O_CLOEXEC) };

	p.elf = p.fd < 0 ? NULL : elf_file_open(p.fd);
	p.err = p.elf ? unwind_table_build_for(62 /* EM_X86_64 */, p.elf, NULL, &p.table) : -errno;
	free(path);
	return p;
}

static void unload(struct program *p)
{
	unwind_table_free(&p->table);
	elf_file_free(p->elf);
	if (p->fd >= 0)
		close(p->fd);
}

struct tally {
	uint64_t bytes, wrong, special;
};

/*
 * All bytes of code: @wrong where the two have other rules, but for @special ones of the stripped.
 */
static struct tally compare(const struct program *full, const struct program *stripped)
{
	const struct elf_section *text = elf_file_section(full->elf, ".text");
	struct tally t = { 0 };

	for (uint64_t at = text ? text->offset : 0; text && at < text->offset + text->size; at++) {
		uint16_t a = unwind_table_rule(&full->table, at),
			 b = unwind_table_rule(&stripped->table, at);

		t.bytes++;
		t.special += a != b && b & EBP_RULE_SPECIAL;
		if (a != b && !(b & EBP_RULE_SPECIAL) && t.wrong++ < 5)
			printf("offset %llx: %x, stripped %x\n", (unsigned long long)at, a, b);
	}
	return t;
}

TEST(the_same_rules_as_by_the_information_that_was_stripped)
{
	struct program full = load("plain"), stripped = load("stripped");
	struct tally t;

	if (full.err == -ENOENT) {
		printf("no Go compiler\n");
		return;
	}
	CHECK_EQ(full.err, 0);
	CHECK_EQ(stripped.err, 0);
	if (!full.err && !stripped.err) {
		CHECK(elf_file_section(stripped.elf, ".debug_frame") == NULL);
		CHECK(elf_file_section(stripped.elf, ".symtab") == NULL);
		CHECK_EQ(stripped.table.flags & EBP_OBJECT_NO_CFI, 0);
		t = compare(&full, &stripped);
		CHECK(t.bytes > 100000);
		CHECK_EQ(t.wrong, 0);
		/*
		 * Assembly that moves its stack pointer, and frames of 16 KiB, are left by their
		 * frame pointers.
		 */
		CHECK(t.special < t.bytes / 50);
	}
	unload(&full);
	unload(&stripped);
}

static void count(void *ctx, uint64_t start, uint64_t end, uint16_t rule)
{
	uint64_t *last = ctx;

	(void)rule;
	CHECK(end > start);
	CHECK(start + 1 >= *last);
	*last = end;
}

TEST(stretches_ascend_and_other_programs_have_none)
{
	struct program go = load("stripped"), c = load("../addresses");
	uint64_t last = 0;

	if (go.elf)
		CHECK_EQ(unwind_go_table(go.elf, count, &last), 0);
	if (c.elf)
		CHECK_EQ(unwind_go_table(c.elf, count, &last), -ENODATA);
	unload(&go);
	unload(&c);
}

int main(int argc, char **argv)
{
	char *path = xasprintf("%s", argc ? argv[0] : ""),
	     *folder = xasprintf("%s/../fixtures/go_symbols", dirname(path));

	fixtures = folder;
	RUN(the_same_rules_as_by_the_information_that_was_stripped);
	RUN(stretches_ascend_and_other_programs_have_none);
	free(folder);
	free(path);
	return TEST_END();
}
