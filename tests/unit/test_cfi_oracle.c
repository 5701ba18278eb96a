/* SPDX-License-Identifier: MIT */
/*
 * Our rows of CFI against those of elfutils (libdw), at random addresses of the
 * ELF files of this machine: by default of some random ones; with ORACLE_PCS=N
 * at about N addresses of all of them. ORACLE_SEED=N repeats a run. Arguments
 * are files to compare instead.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dwarf/cfi.h"
#include "elf/elf_file.h"
#include "elf_corpus.h"
#include "test.h"

#define SAMPLE_PCS	20000
#define SAMPLE_FILES	60
#define SECTION_MAX	(256u << 20)

struct tally {
	unsigned long files, pcs, same;
	unsigned long overlap;	/* two FDEs for one address: libdw took the other one */
	unsigned long refused;	/* libdw does not take what the FDE says */
	unsigned long wrong, found, not_found;
};

/* One section of one file, as we and as libdw see it. */
struct subject {
	const char *path;
	const struct cfi_section *section;
	struct cfi_fde *fdes;
	size_t n;
	uint8_t *hdr;		/* .eh_frame_hdr, or NULL */
	size_t hdr_size;
	uint64_t hdr_vaddr;
	Dwarf_CFI *cfi;
	struct tally *tally;
};

/* Are @ops what the bytes of the expression say? */
static int same_expression(const struct cfi_value *v, const Dwarf_Op *ops, size_t nops)
{
	for (size_t i = 0; i < nops; i++) {
		if (ops[i].offset >= v->size || v->expression[ops[i].offset] != ops[i].atom)
			return 0;
		if (ops[i].atom >= DW_OP_breg0 && ops[i].atom <= DW_OP_breg31 && v->size == 2 &&
		    (int64_t)ops[i].number != (v->expression[1] ^ 0x40) - 0x40)
			return 0;
	}
	return nops > 0;
}

static int same_cfa(const struct cfi_value *v, const Dwarf_Op *ops, size_t nops)
{
	switch (v->kind) {
	case CFI_UNDEFINED:
		return nops == 0;
	case CFI_REGISTER:
		return nops == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == v->reg &&
		       (int64_t)ops[0].number2 == v->offset;
	default:
		return v->kind == CFI_VAL_EXPRESSION && same_expression(v, ops, nops);
	}
}

/*
 * What libdw says of a register has the CFA first, and DW_OP_stack_value last where it is no place
 * in memory.
 */
static int same_rule(const struct cfi_value *v, int touched, const Dwarf_Op *ops, size_t nops,
		     const Dwarf_Op *memory)
{
	int undefined = !nops && ops == memory, same = !nops && !ops, is_value;
	int64_t offset = 0;

	/* libdw then asks the ABI: the stack pointer is the CFA, and scratch registers are lost */
	if (!touched)
		return undefined || same ||
		       (nops == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
			ops[1].atom == DW_OP_stack_value);
	if (v->kind == CFI_SAME || v->kind == CFI_UNDEFINED)
		return v->kind == CFI_SAME ? same : undefined;
	if (!nops || v->kind == CFI_REGISTER)
		return nops == 1 && ops[0].atom == DW_OP_regx && ops[0].number == v->reg &&
		       !v->offset;
	is_value = ops[nops - 1].atom == DW_OP_stack_value;
	if (ops[0].atom != DW_OP_call_frame_cfa ||
	    is_value != (v->kind == CFI_VAL_OFFSET || v->kind == CFI_VAL_EXPRESSION))
		return 0;
	nops -= (size_t)is_value + 1;
	if (v->kind == CFI_EXPRESSION || v->kind == CFI_VAL_EXPRESSION)
		return same_expression(v, ops + 1, nops);
	if (nops == 1 && ops[1].atom == DW_OP_plus_uconst)
		offset = (int64_t)ops[1].number;
	return nops <= 1 && offset == v->offset;
}

static const char *compare_row(const struct subject *s, const struct cfi_row *row, uint64_t pc,
			       Dwarf_Frame *frame)
{
	static char text[64];
	Dwarf_Op memory[3], *ops;
	Dwarf_Addr start, end;
	size_t nops;
	bool signal;

	if (dwarf_frame_info(frame, &start, &end, &signal) != row->ra || signal != row->signal)
		return "the return address's column, or the signal frame";
	/* After DW_CFA_restore_state libdw tells the start of the row that was remembered. */
	if (row->start < start || row->start > pc || pc >= end)
		return "the row's start";
	if (dwarf_frame_cfa(frame, &ops, &nops) || !same_cfa(&row->cfa, ops, nops))
		return "the CFA";
	for (unsigned r = 0; r < (s->section->machine == EM_X86_64 ? 17u : 32u); r++) {
		snprintf(text, sizeof(text), "register %u", r);
		if (dwarf_frame_register(frame, (int)r, memory, &ops, &nops) ||
		    !same_rule(&row->reg[r], row->touched >> r & 1, ops, nops, memory))
			return text;
	}
	return NULL;
}

static int is_in_another(const struct subject *s, const struct cfi_fde *fde, uint64_t pc)
{
	for (size_t i = 0; i < s->n; i++)
		if (&s->fdes[i] != fde && pc >= s->fdes[i].start && pc < s->fdes[i].end)
			return 1;
	return 0;
}

static void compare_search(const struct subject *s, const struct cfi_fde *fde, uint64_t pc)
{
	struct cfi_fde found;
	int err = cfi_find(s->section, s->hdr, s->hdr_size, s->hdr_vaddr, pc, &found);

	if (!err && (found.offset == fde->offset ||
		     (pc >= found.start && pc < found.end && is_in_another(s, fde, pc))))
		s->tally->found++;
	else if (s->tally->not_found++ < 10)
		printf("%s: 0x%llx: cfi_find() gave %d\n", s->path, (unsigned long long)pc, err);
}

static void compare_at(const struct subject *s, const struct cfi_fde *fde, uint64_t pc)
{
	struct cfi_row row;
	Dwarf_Frame *frame = NULL;
	const char *what = NULL;
	int err = cfi_row_at(s->section, fde, pc, &row);

	s->tally->pcs++;
	if (dwarf_cfi_addrframe(s->cfi, pc, &frame)) {
		s->tally->refused++;
		return;
	}
	what = err ? "damaged" : compare_row(s, &row, pc, frame);
	free(frame);
	if (!what)
		s->tally->same++;
	else if (is_in_another(s, fde, pc))
		s->tally->overlap++;
	else if (s->tally->wrong++ < 20)
		printf("%s: 0x%llx (FDE at 0x%zx): libdw differs in %s\n", s->path,
		       (unsigned long long)pc, fde->offset, what);
	if (s->hdr)
		compare_search(s, fde, pc);
}

static void compare_section(struct subject *s, unsigned long pcs)
{
	long passed = cfi_fdes(s->section, &s->fdes, &s->n);

	if (passed)
		printf("%s: %ld entries passed over\n", s->path, passed);
	for (unsigned long i = 0; s->n && i < pcs; i++) {
		const struct cfi_fde *fde = &s->fdes[next_random() % s->n];

		compare_at(s, fde, fde->start + next_random() % (fde->end - fde->start));
	}
	free(s->fdes);
}

/* 1 where the file has CFI that both could read. */
static int compare_file(const char *path, unsigned long pcs, struct tally *t)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), compared = 0;
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	Elf *theirs = elf ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	Dwarf *dwarf = theirs ? dwarf_begin_elf(theirs, DWARF_C_READ, NULL) : NULL;

	for (int debug = 0; theirs && debug < 2; debug++) {
		const struct elf_section *es = elf_file_section(elf, debug ? ".debug_frame"
									   : ".eh_frame");
		const struct elf_section *hdr = elf_file_section(elf, ".eh_frame_hdr");
		struct cfi_section cs = { .debug_frame = (uint8_t)debug,
					  .machine = elf_file_machine(elf) };
		Dwarf_CFI *cfi = debug ? (dwarf ? dwarf_getcfi(dwarf) : NULL)
				       : dwarf_getcfi_elf(theirs);
		struct subject s = { .path = path, .section = &cs, .cfi = cfi, .tally = t };
		void *data = es ? elf_file_section_data(elf, es, SECTION_MAX, &cs.size) : NULL;

		cs.data = data;
		cs.vaddr = es ? es->addr : 0;
		if (!debug && hdr) {
			s.hdr = elf_file_section_data(elf, hdr, SECTION_MAX, &s.hdr_size);
			s.hdr_vaddr = hdr->addr;
		}
		if (data && cfi) {
			compare_section(&s, pcs);
			compared = 1;
		}
		free(s.hdr);
		free(data);
		if (!debug)
			dwarf_cfi_end(cfi);
	}
	dwarf_end(dwarf);
	elf_end(theirs);
	elf_file_free(elf);
	if (fd >= 0)
		close(fd);
	t->files += (unsigned long)compared;
	return compared;
}

static void report(const struct tally *t)
{
	printf("%lu pcs in %lu files: %lu same, %lu in overlapping FDEs, %lu not taken by libdw, "
	       "%lu wrong; "
	       "found in the table: %lu, not: %lu\n",
	       t->pcs, t->files, t->same, t->overlap, t->refused, t->wrong, t->found, t->not_found);
	CHECK(t->pcs > 0);
	CHECK_EQ(t->wrong, 0);
	CHECK_EQ(t->not_found, 0);
	CHECK(t->same + t->overlap >= t->pcs - t->pcs / 100);
	CHECK(t->same >= t->pcs - t->pcs / 20);
}

TEST(what_is_installed)
{
	const char *asked = getenv("ORACLE_PCS");
	unsigned long pcs = asked ? strtoul(asked, NULL, 10) : SAMPLE_PCS;
	struct tally t = { 0 };

	collect_all();
	keep_comparable(asked ? SIZE_MAX : SAMPLE_FILES);
	/* What a file without CFI leaves goes to those behind it. */
	for (size_t i = 0; i < paths.n && t.pcs < pcs; i++)
		compare_file(paths.v[i], (pcs - t.pcs) / (paths.n - i) + 1, &t);
	report(&t);
	for (size_t i = 0; i < paths.n; i++)
		free(paths.v[i]);
	vec_free(&paths);
}

static char **files;

TEST(what_was_asked_for)
{
	struct tally t = { 0 };

	for (; *files; files++)
		CHECK_EQ(compare_file(*files, SAMPLE_PCS, &t), 1);
	report(&t);
}

int main(int argc, char **argv)
{
	const char *seed = getenv("ORACLE_SEED");

	elf_version(EV_CURRENT);
	random_state = seed ? strtoull(seed, NULL, 10) : clock_ns();
	printf("ORACLE_SEED=%llu\n", (unsigned long long)random_state);
	random_state |= 1;
	files = argv + 1;
	if (argc > 1)
		RUN(what_was_asked_for);
	else
		RUN(what_is_installed);
	return TEST_END();
}
