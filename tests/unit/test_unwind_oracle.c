/* SPDX-License-Identifier: MIT */
/*
 * The rules of our unwind tables against what elfutils (libdw) says, at random
 * addresses of the ELF files of this machine: by default of some random ones;
 * with ORACLE_PCS=N at about N addresses of all of them. ORACLE_SEED=N repeats a run.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>

#include "base/clock.h"
#include "dwarf/cfi.h"
#include "elf/elf_file.h"
#include "elf_corpus.h"
#include "test.h"
#include "unwind/table/build.h"
#include "unwind/table/throw.h"

#define SAMPLE_PCS	20000
#define SAMPLE_FILES	60
#define SECTION_MAX	(256u << 20)

/* DWARF numbers of the frame pointer, the stack pointer and the return address. */
struct machine {
	const char *name;
	uint16_t em;
	uint8_t fp, sp, ra;
};

static const struct machine machines[] = { { "x86-64", EM_X86_64, 6, 7, 16 },
					   { "aarch64", EM_AARCH64, 29, 31, 30 } };
#define MACHINES (sizeof(machines) / sizeof(*machines))

struct tally {
	unsigned long files, pcs, same, exotic, unsupported, overlap, wrong;
};

/* What libdw says of a frame. */
struct truth {
	Dwarf_Op *cfa, *fp, *ra, fp_memory[3], ra_memory[3];
	size_t ncfa, nfp, nra;
	bool signal;
	const struct machine *m;
	int ra_column;
};

static int read_truth(Dwarf_Frame *frame, struct truth *t)
{
	t->ra_column = dwarf_frame_info(frame, NULL, NULL, &t->signal);
	return t->ra_column >= 0 && !dwarf_frame_cfa(frame, &t->cfa, &t->ncfa) &&
	       !dwarf_frame_register(frame, t->m->fp, t->fp_memory, &t->fp, &t->nfp) &&
	       !dwarf_frame_register(frame, t->ra_column, t->ra_memory, &t->ra, &t->nra);
}

/* reg + offset, written in either way. */
static int is_reg(const Dwarf_Op *op, unsigned reg, int64_t offset)
{
	return op->atom == DW_OP_bregx ? op->number == reg && (int64_t)op->number2 == offset :
	       op->atom == DW_OP_breg0 + reg && (int64_t)op->number == offset;
}

/* A place in memory, at CFA + offset. */
static int is_at_cfa(const Dwarf_Op *ops, size_t n, int64_t offset)
{
	if (n < 1 || ops[0].atom != DW_OP_call_frame_cfa || (n == 1 && offset))
		return 0;
	return n == 1 ||
	       (n == 2 && ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == offset);
}

static int is_place(uint8_t kind, uint8_t reg, int32_t offset, const Dwarf_Op *ops, size_t n,
		    const Dwarf_Op *memory)
{
	switch (kind) {
	case EBP_AT_SAME:
		return !n && !ops;
	case EBP_AT_UNDEFINED:
		return !n && ops == memory;
	case EBP_AT_CFA:
		return is_at_cfa(ops, n, offset);
	case EBP_AT_REG:
		return n == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
		       is_reg(&ops[1], reg, offset);
	case EBP_IN_REG:
		return n == 1 && ops[0].atom == DW_OP_regx && ops[0].number == reg;
	case EBP_IS_CFA:
		return n >= 2 && ops[n - 1].atom == DW_OP_stack_value &&
		       is_at_cfa(ops, n - 1, offset);
	}
	return 0;
}

static int is_exotic(const struct ebp_exotic *x, const struct truth *t)
{
	if (t->ncfa < 1 || !is_reg(&t->cfa[0], x->cfa_reg, x->cfa_offset))
		return 0;
	if (x->cfa == EBP_CFA_REG ? t->ncfa != 1 : t->ncfa < 2 || t->cfa[1].atom != DW_OP_deref)
		return 0;
	if (t->ncfa == 3
		    ? t->cfa[2].atom != DW_OP_plus_uconst || (int32_t)t->cfa[2].number != x->cfa_add
		    : x->cfa_add)
		return 0;
	if (!is_place(x->fp, x->fp_reg, x->fp_offset, t->fp, t->nfp, t->fp_memory))
		return 0;
	/*
	 * Another column than the architecture's, without a rule: libdw calls it undefined, libgcc
	 * the same.
	 */
	if (t->ra_column != t->m->ra && !t->nra)
		return x->ra == EBP_IN_REG && x->ra_reg == t->ra_column;
	return is_place(x->ra, x->ra_reg, x->ra_offset, t->ra, t->nra, t->ra_memory);
}

/* Is a register where a plain rule says, at CFA + @offset or, 0, still in itself? */
static int is_saved(int64_t offset, const Dwarf_Op *ops, size_t n)
{
	return offset ? is_at_cfa(ops, n, offset) : !n && !ops;
}

static int is_plain(uint16_t rule, const struct truth *t)
{
	int arm = t->m->em == EM_AARCH64;
	int64_t cfa = (arm ? 16 : 8) * (rule & EBP_RULE_OFFSET_MASK),
		saved = rule >> EBP_RULE_SAVED_SHIFT & 7;
	const struct {
		int64_t fp, ra;
	} places[] = {
		[EBP_SAVED_NOTHING] = { 0, 0 },	     [EBP_SAVED_PAIR_LOW] = { -cfa, 8 - cfa },
		[EBP_SAVED_PAIR_HIGH] = { -16, -8 }, [EBP_SAVED_LR_LOW] = { 0, -cfa },
		[EBP_SAVED_LR_HIGH] = { 0, -16 },    [EBP_SAVED_LR_TOP] = { 0, -8 },
		[EBP_SAVED_PAIR_32] = { -32, -24 },  [EBP_SAVED_PAIR_48] = { -48, -40 },
	};

	/* libdw takes glibc at its word: see cfi_mend(). */
	int64_t pushed = arm && is_at_cfa(t->ra, t->nra, 8) ? 16 : 0;

	return t->ra_column == t->m->ra && t->ncfa == 1 &&
	       is_reg(&t->cfa[0], rule & EBP_RULE_FP_BASE ? t->m->fp : t->m->sp, cfa - pushed) &&
	       is_saved(arm ? places[saved].ra + pushed : -8, t->ra, t->nra) &&
	       is_saved(arm ? places[saved].fp : saved ? -8 - 8 * saved : 0, t->fp, t->nfp);
}

static int is_same(const struct unwind_table *table, uint16_t rule, const struct truth *t,
		   struct tally *n)
{
	unsigned special = rule & EBP_RULE_SPECIAL ? rule & ~EBP_RULE_SPECIAL : EBP_RULE_GAP;

	if (!(rule & EBP_RULE_SPECIAL))
		return !t->signal && is_plain(rule, t);
	if (special >= EBP_RULE_EXOTIC) {
		n->exotic++;
		return special - EBP_RULE_EXOTIC < table->nexotic &&
		       is_exotic(&table->exotic[special - EBP_RULE_EXOTIC], t);
	}
	n->unsupported += special == EBP_RULE_UNSUPPORTED;
	switch (special) {
	case EBP_RULE_STOP: return !t->nra && t->ra == t->ra_memory;
	case EBP_RULE_SIGNAL: return t->signal;
	case EBP_RULE_PLT10:
		return t->ncfa == 9 && t->cfa[4].atom == DW_OP_lit10 &&
		       is_at_cfa(t->ra, t->nra, -8);
	case EBP_RULE_PLT11:
		return t->ncfa == 9 && t->cfa[4].atom == DW_OP_lit11 &&
		       is_at_cfa(t->ra, t->nra, -8);
	case EBP_RULE_UNSUPPORTED: return 1;
	}
	return 0;
}

static void compare_at(const char *path, const struct machine *m, const struct unwind_table *table,
		       Dwarf_CFI *cfi, uint64_t pc, uint64_t offset, int overlaps, struct tally *n)
{
	uint16_t rule = unwind_table_rule(table, offset);
	Dwarf_Frame *frame = NULL;
	struct truth t = { .m = m };

	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		return;
	n->pcs++;
	if (read_truth(frame, &t) && is_same(table, rule, &t, n))
		n->same++;
	else if (overlaps)
		n->overlap++;
	else if (n->wrong++ < 20)
		printf("%s: 0x%llx: rule %04x is not what libdw says\n", path,
		       (unsigned long long)pc, rule);
	free(frame);
}

static int overlaps(const struct cfi_fde *fdes, size_t n, const struct cfi_fde *f, uint64_t pc)
{
	for (size_t i = 0; i < n; i++)
		if (&fdes[i] != f && pc >= fdes[i].start && pc < fdes[i].end)
			return 1;
	return 0;
}

/* The offset of executable code at @vaddr; -1: there is none. */
static int64_t code_offset(const struct elf_file *elf, uint64_t vaddr)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(elf, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && s[i].flags & PF_X && vaddr >= s[i].vaddr &&
		    vaddr - s[i].vaddr < s[i].filesz)
			return (int64_t)(vaddr - s[i].vaddr + s[i].offset);
	return -1;
}

/* In a call that libgcc goes to a handler by: its CFI is left for good reason. */
static int is_thrown(const struct elf_file *elf, const struct machine *m, uint64_t offset)
{
	struct unwind_throw calls[UNWIND_THROWS];
	size_t n = m->em == EM_AARCH64 ? unwind_throws(elf, calls) : 0;

	while (n && offset - calls[n - 1].offset >= UNWIND_THROW_BYTES)
		n--;
	return n > 0;
}

static void compare_table(const char *path, const struct machine *m, const struct elf_file *elf,
			  Dwarf_CFI *cfi, unsigned long pcs, struct tally *n)
{
	const struct elf_section *es = elf_file_section(elf, ".eh_frame");
	struct cfi_section cs = { .machine = m->em, .vaddr = es ? es->addr : 0 };
	void *data = es ? elf_file_section_data(elf, es, SECTION_MAX, &cs.size) : NULL;
	struct unwind_table table;
	struct cfi_fde *fdes = NULL;
	size_t nfdes = 0;

	cs.data = data;
	if (!data || unwind_table_build_for(m->em, elf, NULL, &table)) {
		free(data);
		return;
	}
	cfi_fdes(&cs, &fdes, &nfdes);
	for (unsigned long i = 0; nfdes && i < pcs; i++) {
		const struct cfi_fde *f = &fdes[next_random() % nfdes];
		uint64_t pc = f->start + next_random() % (f->end - f->start);
		int64_t offset = code_offset(elf, pc);

		if (offset >= 0 && !is_thrown(elf, m, (uint64_t)offset))
			compare_at(path, m, &table, cfi, pc, (uint64_t)offset,
				   overlaps(fdes, nfdes, f, pc), n);
	}
	n->files++;
	unwind_table_free(&table);
	free(fdes);
	free(data);
}

static void compare_file(const char *path, const struct machine *m, unsigned long pcs,
			 struct tally *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	Elf *theirs = elf && elf ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	Dwarf_CFI *cfi = theirs ? dwarf_getcfi_elf(theirs) : NULL;

	if (cfi)
		compare_table(path, m, elf, cfi, pcs, n);
	dwarf_cfi_end(cfi);
	elf_end(theirs);
	elf_file_free(elf);
	if (fd >= 0)
		close(fd);
}

/* e_machine. */
static uint16_t machine_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr h = { 0 };

	if (fd >= 0) {
		if (pread(fd, &h, sizeof(h), 0) != sizeof(h))
			h.e_machine = EM_NONE;
		close(fd);
	}
	return h.e_machine;
}

static unsigned long files_of(uint16_t em, unsigned long limit)
{
	unsigned long n = 0;

	for (size_t i = 0; i < paths.n && n < limit; i++)
		n += machine_of(paths.v[i]) == em;
	return n;
}

static void compare_machine(const struct machine *m, const char *asked)
{
	unsigned long pcs = asked ? strtoul(asked, NULL, 10) : SAMPLE_PCS;
	unsigned long files = files_of(m->em, asked ? ULONG_MAX : SAMPLE_FILES), seen = 0;
	struct tally n = { 0 };

	if (!files) {
		printf("%s: there are no files of it here\n", m->name);
		return;
	}
	for (size_t i = 0; i < paths.n && seen < files; i++) {
		if (machine_of(paths.v[i]) != m->em)
			continue;
		compare_file(paths.v[i], m, n.pcs < pcs ? (pcs - n.pcs) / (files - seen) + 1 : 1,
			     &n);
		seen++;
	}
	printf("%s: %lu pcs in %lu files: %lu same (%lu exotic, %lu unsupported), %lu in "
	       "overlapping FDEs, %lu wrong\n",
	       m->name, n.pcs, n.files, n.same, n.exotic, n.unsupported, n.overlap, n.wrong);
	CHECK(n.pcs > pcs / 2);
	CHECK_EQ(n.wrong, 0);
	CHECK(n.unsupported <= n.pcs / 100);
	CHECK(n.overlap <= n.pcs / 20);
}

TEST(rules_are_libdws)
{
	collect_all();
	keep_comparable(SIZE_MAX);
	for (size_t i = 0; i < MACHINES; i++)
		compare_machine(&machines[i], getenv("ORACLE_PCS"));
	for (size_t i = 0; i < paths.n; i++)
		free(paths.v[i]);
	vec_free(&paths);
}

int main(void)
{
	const char *seed = getenv("ORACLE_SEED");

	elf_version(EV_CURRENT);
	random_state = seed ? strtoull(seed, NULL, 10) : clock_ns();
	printf("ORACLE_SEED=%llu\n", (unsigned long long)random_state);
	random_state |= 1;
	RUN(rules_are_libdws);
	return TEST_END();
}
