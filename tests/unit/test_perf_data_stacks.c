/* SPDX-License-Identifier: MIT */
/* What perf.data files say of stacks besides call chains of addresses. */
#include "unit/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "input/readers.h"
#include "unit/perf_data_image.h"
#include "unit/stacks.h"

#define KERNEL 0xffffffff81000010ull

/* The folded stacks of @f; the caller frees them. NULL: it cannot be read. */
static char *folded(const struct perf_image *f, struct input_notes *notes)
{
	struct profile *p = profile_new();
	struct error e;
	char *text = NULL;

	*notes = (struct input_notes){ 0 };
	if (!perf_data_read(p, (const char *)f->v, f->n, notes, &e))
		text = stacks_output(p, "folded", NULL);
	profile_free(p);
	return text;
}

static void check_folded(const struct perf_image *f, const char *expected)
{
	struct input_notes notes;
	char *text = folded(f, &notes);

	CHECK(text);
	CHECK_STR(text ? text : "", expected);
	free(text);
}

static void begin(struct perf_image *f, uint64_t types, uint64_t branches)
{
	struct perf_event_attr attr = image_attr(PERF_TYPE_HARDWARE, 0);

	attr.sample_type |= types;
	attr.branch_sample_type = branches;
	image_pipe_of(f, &attr);
	image_comm(f, "demo", 1000);
	image_mmap2(f, PERF_RECORD_MISC_USER, 0x401000, 0x1000, 0x1000, "/nowhere/demo", 1001);
}

/* --- Calls that the CPU kept. --------------------------------------------------- */

static void put_branches(struct perf_image *f, int with_index)
{
	image_u64(f, 2);
	if (with_index)
		image_u64(f, 0);
	for (uint64_t i = 0; i < 2; i++) {
		image_u64(f, 0x401100 + 0x100 * i);	/* from there */
		image_u64(f, 0x401010 + 0x100 * i);	/* to there */
		image_u64(f, 0);
	}
	image_end(f);
}

TEST(calls_of_the_cpu)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL, PERF_CONTEXT_USER,
					  0x401018, 0x401777 };

	for (int with_index = 0; with_index < 2; with_index++) {
		struct perf_image f = { 0 };

		begin(&f, PERF_SAMPLE_BRANCH_STACK,
		      PERF_SAMPLE_BRANCH_CALL_STACK |
			      (with_index ? PERF_SAMPLE_BRANCH_HW_INDEX : 0));
		image_sample_begin(&f, KERNEL, 2000, chain, 5);
		put_branches(&f, with_index);
		/* The chain by frame pointers counts for the kernel, and for where the leaf is. */
		check_folded(&f, "demo;[demo+0x1200];[demo+0x1100];[demo+0x1018];[unknown] 1\n");
	}
}

TEST(other_branches_are_no_stack)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401018, 0x401778 };
	struct perf_image f = { 0 };

	begin(&f, PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_ANY);
	image_sample_begin(&f, 0x401018, 2000, chain, 3);
	put_branches(&f, 0);
	check_folded(&f, "demo;[demo+0x1777];[demo+0x1018] 1\n");
}

/* --- Frames that come later. ---------------------------------------------------- */

static void put_deferred(struct perf_image *f, uint64_t cookie, uint64_t n)
{
	image_begin(f, PERF_DATA_DEFERRED, PERF_RECORD_MISC_USER);
	image_u64(f, cookie);
	image_u64(f, n);
	image_u64(f, PERF_CONTEXT_USER);
	image_u64(f, 0x401018);
	image_u64(f, 0x401778);
	image_id(f, 3000);
}

TEST(frames_that_come_later)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL, PERF_DATA_CONTEXT_DEFERRED,
					  77 };
	struct perf_image f = { 0 };

	begin(&f, 0, 0);
	image_sample_begin(&f, KERNEL, 2000, chain, 4);
	image_end(&f);
	put_deferred(&f, 77, 3);
	check_folded(&f, "demo;[demo+0x1777];[demo+0x1018];[unknown] 1\n");
	/* Another cookie, or more frames than there are: none. */
	f.n = f.record;
	put_deferred(&f, 78, 3);
	check_folded(&f, "demo;[unknown] 1\n");
	f.n = f.record;
	put_deferred(&f, 77, UINT64_MAX / 4);
	check_folded(&f, "demo;[unknown] 1\n");
}

/* Counts and sizes of all kinds of stacks, forged one byte at a time, and cut off at each. */
TEST(each_byte_changed)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL, PERF_CONTEXT_USER,
					  0x401018, PERF_DATA_CONTEXT_DEFERRED, 77 };
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	static struct perf_image f, changed;
	struct input_notes notes;
	size_t from;

	begin(&f, PERF_SAMPLE_BRANCH_STACK,
	      PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_HW_INDEX);
	from = f.n;
	image_sample_begin(&f, KERNEL, 2000, chain, 6);
	put_branches(&f, 1);
	put_deferred(&f, 77, 3);
	for (size_t i = from; i < f.n; i++) {
		for (size_t k = 0; k < sizeof(values); k++) {
			changed = f;
			changed.v[i] = values[k];
			free(folded(&changed, &notes));
		}
		changed = f;
		changed.n = i;
		free(folded(&changed, &notes));
	}
	check_folded(&f, "demo;[demo+0x1777];[demo+0x1018];[demo+0x1200];[demo+0x1100];"
			 "[demo+0x1018];[unknown] 1\n");
}

TEST(guests_are_not_looked_up_here)
{
	static const uint64_t chain[] = { PERF_CONTEXT_GUEST, PERF_CONTEXT_GUEST_USER, 0x401018 };
	struct perf_image f = { 0 };

	begin(&f, 0, 0);
	image_sample_begin(&f, 0x401018, 2000, chain, 3);
	image_end(&f);
	check_folded(&f, "demo;[unknown] 1\n");
}

/* --- Copies. -------------------------------------------------------------------- */

#define COPY 16384	/* bytes */

/* perf's numbers of those of the registers that getcontext() gives, the lowest first. */
#ifdef __aarch64__
#define MASK 0x1ffffffffull
static void put_registers(struct perf_image *f, const ucontext_t *c, uint64_t sp)
{
	for (int i = 0; i < 31; i++)
		image_u64(f, c->uc_mcontext.regs[i]);
	image_u64(f, sp);
	image_u64(f, c->uc_mcontext.pc);
}
#define SP(c) ((c)->uc_mcontext.sp)
#define PC(c) ((c)->uc_mcontext.pc)
#else
#define MASK (1ull << 1 | 1ull << 6 | 1ull << 7 | 1ull << 8 | 0xfull << 20)
static void put_registers(struct perf_image *f, const ucontext_t *c, uint64_t sp)
{
	const greg_t *g = c->uc_mcontext.gregs;
	const greg_t values[] = { g[REG_RBX], g[REG_RBP], (greg_t)sp,	g[REG_RIP],
				  g[REG_R12], g[REG_R13], g[REG_R14], g[REG_R15] };

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		image_u64(f, (uint64_t)values[i]);
}
#define SP(c) ((uint64_t)(c)->uc_mcontext.gregs[REG_RSP])
#define PC(c) ((uint64_t)(c)->uc_mcontext.gregs[REG_RIP])
#endif

/* What perf would say of the executable mappings of this program. */
static void put_mappings(struct perf_image *f)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4400], path[4096], mode[8];
	uint64_t start, end, offset, inode;
	unsigned int major, minor;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %4095s",
			   &start, &end, mode, &offset, &major, &minor, &inode, path) != 8 ||
		    mode[2] != 'x' || path[0] != '/')
			continue;
		image_begin(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
		image_pair(f, 7, 7);
		image_u64(f, start);
		image_u64(f, end - start);
		image_u64(f, offset);
		image_pair(f, major, minor);
		image_u64(f, inode);
		image_u64(f, 0);
		image_pair(f, 5, 2);
		image_text(f, path);
		image_id(f, 1001);
	}
	if (maps)
		fclose(maps);
}

struct copying {
	struct perf_image f;
	uint64_t abi, bytes;
	const uint64_t *chain;
	size_t nchain;
};

/* A sample of this very place, with a copy of the stack. */
static __attribute__((noinline)) void copied_leaf(struct copying *c)
{
	static char copy[COPY];
	struct iovec to = { copy, 0 }, from;
	ssize_t used;
	uint64_t sp;
	ucontext_t here;

	getcontext(&here);
	sp = SP(&here);
	image_sample_begin(&c->f, PC(&here), 2000, c->chain, c->nchain);
	image_u64(&c->f, c->abi);
	if (c->abi)
		put_registers(&c->f, &here, sp);
	image_u64(&c->f, COPY);
	/* Through the kernel: a sanitizer minds who reads others' frames. */
	from.iov_base = (void *)sp;
	from.iov_len = to.iov_len = c->bytes;
	/* Up to the end of the stack, where that comes first. */
	used = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	image_put(&c->f, copy, COPY);
	image_u64(&c->f, used > 0 ? (uint64_t)used & ~7ull : 0);
	image_end(&c->f);
}

static __attribute__((noinline)) void copied_middle(struct copying *c)
{
	copied_leaf(c);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void copied_outer(struct copying *c)
{
	copied_middle(c);
	__asm__ volatile("" ::: "memory");
}

static char *copied(uint64_t abi, uint64_t bytes, const uint64_t *chain, size_t n,
		    struct input_notes *notes)
{
	struct copying *c = calloc(1, sizeof(*c));
	struct perf_event_attr attr = image_attr(PERF_TYPE_HARDWARE, 0);
	char *text;

	c->abi = abi;
	c->bytes = bytes;
	c->chain = chain;
	c->nchain = n;
	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = MASK;
	attr.sample_stack_user = COPY;
	image_pipe_of(&c->f, &attr);
	image_comm(&c->f, "demo", 1000);
	put_mappings(&c->f);
	copied_outer(c);
	text = folded(&c->f, notes);
	free(c);
	return text ? text : strdup("");
}

#define SELF "copied_outer;copied_middle;copied_leaf"

/* Of a small stack: main() is where it ends, in this program. */
TEST(a_copy)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL, PERF_CONTEXT_USER, 1 };
	struct input_notes notes;
	char *text = copied(PERF_SAMPLE_REGS_ABI_64, COPY, NULL, 0, &notes);

	CHECK(strstr(text, ";main;") && strstr(text, SELF " 1\n"));
	CHECK(!strstr(text, "truncated"));
	CHECK_EQ(notes.copied, 1);
	CHECK_EQ(notes.copies_cut + notes.copies_left, 0);
	free(text);
	/* The kernel's frames are the chain's; those of the user are not. */
	text = copied(PERF_SAMPLE_REGS_ABI_64, COPY, chain, 4, &notes);
	CHECK(strstr(text, ";main;") && strstr(text, SELF ";[unknown] 1\n"));
	free(text);
}

TEST(a_copy_that_is_too_short)
{
	struct input_notes notes;
	char *text = copied(PERF_SAMPLE_REGS_ABI_64, 0, NULL, 0, &notes);

	CHECK(strstr(text, "demo;[truncated: unreadable];copied_leaf 1\n"));
	CHECK_EQ(notes.copies_cut, 1);
	free(text);
}

TEST(a_copy_of_another_kind)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x10 };
	struct input_notes notes;
	char *text = copied(PERF_SAMPLE_REGS_ABI_32, COPY, chain, 2, &notes);

	CHECK_STR(strrchr(text, ';') ? strrchr(text, ';') : text, ";[unknown] 1\n");
	CHECK_EQ(notes.copies_left, 1);
	free(text);
}

int main(void)
{
	RUN(calls_of_the_cpu);
	RUN(other_branches_are_no_stack);
	RUN(frames_that_come_later);
	RUN(each_byte_changed);
	RUN(guests_are_not_looked_up_here);
	RUN(a_copy);
	RUN(a_copy_that_is_too_short);
	RUN(a_copy_of_another_kind);
	return TEST_END();
}
