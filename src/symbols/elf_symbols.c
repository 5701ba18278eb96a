/* SPDX-License-Identifier: MIT */
#include "symbols/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "base/sort.h"
#include "base/vec.h"

/* read of one table; the largest browsers with all symbols have 2 million */
#define MAX_SYMBOLS	(4u << 20)
/* pairs of aliases of which the names are read to find the better one */
#define MAX_COMPARED	65536
#define NAME_PEEK	64		/* bytes read of a name to judge it */
#define BATCH		512		/* symbols read at once */

#define FROM_DYNSYM	0x80000000u	/* in a name: the offset is one of .dynstr */

/*
 * Names at one address in the order of their worth; the bits of a rank, the
 * strongest first. A size tells where the function ends; a global name is what
 * people know it by; and .symtab may have a better name than what is exported.
 */
enum {
	RANK_SIZED = 16,
	RANK_TYPED = 8,		/* STT_FUNC or STT_GNU_IFUNC, not a bare label */
	RANK_GLOBAL = 4,
	RANK_WEAK = 2,
	RANK_SYMTAB = 1,
};

/* A symbol as it was read. */
struct raw {
	uint64_t start, end;
	uint32_t name;
	uint32_t rank;
};

/*
 * A stretch of code with one name. Symbols may nest (a function split by
 * another one's range, or an entry point inside a loop); they are cut into
 * stretches that do not overlap, so that a look-up is one binary search.
 */
struct piece {
	uint32_t size : 31;
	uint32_t open_ended : 1;	/* no size: up to the next symbol, or its section's end */
	/* bytes from its function's start to it: 0 but behind an inner symbol */
	uint32_t back;
	uint32_t name;
};

struct strings {		/* a string table, where it lies in the file */
	uint64_t offset, size;
};

struct elf_symbols {
	struct symbol_source source;
	const struct elf_file *elf;
	struct strings symstr, dynstr;
	/* of the pieces, ascending; apart from them for the search's sake */
	uint64_t *starts;
	struct piece *pieces;
	size_t n;
};

typedef VEC(struct raw) raw_vec;

/*
 * Reads the name @name, cut to @size - 1 bytes. Bytes outside of the string
 * table end it: it need not be terminated.
 */
static int read_name(const struct elf_symbols *t, uint32_t name, char *dst, size_t size)
{
	const struct strings *s = name & FROM_DYNSYM ? &t->dynstr : &t->symstr;
	uint64_t at = name & ~FROM_DYNSYM;

	if (at >= s->size)
		return -EBADMSG;
	return elf_file_string(t->elf, s->offset + at, s->offset + s->size, dst, size);
}

/*
 * Labels in hand-written assembly are functions; local labels (.L) and the
 * mapping symbols of the ARM and RISC-V ABIs ($x, $d, $a.1) are not.
 */
static int is_label_of_function(const struct elf_symbols *t, uint32_t name)
{
	char s[4];

	return !read_name(t, name, s, sizeof(s)) && s[0] && s[0] != '$' && strncmp(s, ".L", 2) != 0;
}

/* The end of the executable section that @sym is in; 0 where it is in none. */
static uint64_t code_end(const struct elf_file *elf, const Elf64_Sym *sym)
{
	const struct elf_section *sections, *s;
	size_t n = elf_file_sections(elf, &sections);
	uint64_t end;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= n)
		return 0;
	s = &sections[sym->st_shndx];
	if (!(s->flags & SHF_EXECINSTR) || sym->st_value < s->addr ||
	    __builtin_add_overflow(s->addr, s->size, &end) || sym->st_value >= end)
		return 0;
	return end;
}

/* Adds @sym where it names code. @table: 0 or FROM_DYNSYM. */
static void take_symbol(const struct elf_symbols *t, raw_vec *all, Elf64_Sym *sym, uint32_t table)
{
	int type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	int typed = type == STT_FUNC || type == STT_GNU_IFUNC;
	uint32_t rank = table ? 0 : RANK_SYMTAB;
	uint64_t end;

	if ((!typed && type != STT_NOTYPE) || !sym->st_name || sym->st_name & FROM_DYNSYM)
		return;
	if (typed && elf_file_machine(t->elf) == EM_ARM)
		sym->st_value &= ~1ull;		/* Thumb code is marked there */
	end = code_end(t->elf, sym);
	if (!end || (!typed && !is_label_of_function(t, sym->st_name | table)))
		return;
	if (sym->st_size) {
		rank |= RANK_SIZED;
		if (sym->st_size < end - sym->st_value)
			end = sym->st_value + sym->st_size;
	}
	if (end - sym->st_value > INT32_MAX)
		end = sym->st_value + INT32_MAX;	/* so that a piece's numbers fit */
	rank |= typed ? RANK_TYPED : 0;
	rank |= bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? RANK_GLOBAL
		: bind == STB_WEAK			     ? RANK_WEAK
							     : 0;
	vec_push(all, (struct raw){ sym->st_value, end, sym->st_name | table, rank });
}

static void widen(Elf64_Sym *to, const Elf32_Sym *from)
{
	*to = (Elf64_Sym){ .st_name = from->st_name,
			   .st_info = from->st_info,
			   .st_other = from->st_other,
			   .st_shndx = from->st_shndx,
			   .st_value = from->st_value,
			   .st_size = from->st_size };
}

/*
 * Reads one symbol table, in batches. A table cut short by the file's end gives what there is of
 * it.
 */
static int read_table(struct elf_symbols *t, const struct elf_section *s, raw_vec *all,
		      uint32_t table)
{
	struct strings *strings = table ? &t->dynstr : &t->symstr;
	size_t size = elf_file_is64(t->elf) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const struct elf_section *sections;
	size_t n_sections = elf_file_sections(t->elf, &sections);
	uint64_t n = s->size / size;
	union {
		Elf64_Sym wide[BATCH];
		Elf32_Sym narrow[BATCH];
	} batch;

	if (s->flags & SHF_COMPRESSED)
		return -ENOTSUP;
	if (s->link >= n_sections || sections[s->link].type != SHT_STRTAB)
		return -EBADMSG;
	if (sections[s->link].flags & SHF_COMPRESSED)
		return -ENOTSUP;
	*strings = (struct strings){ sections[s->link].offset, sections[s->link].size };
	if (n > MAX_SYMBOLS)
		n = MAX_SYMBOLS;
	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t part = n - i < BATCH ? (size_t)(n - i) : BATCH;
		int err = elf_file_read(t->elf, s->offset + i * size, &batch, part * size);

		if (err)
			return err;
		for (size_t j = 0; j < part; j++) {
			Elf64_Sym sym;

			if (size == sizeof(Elf64_Sym))
				sym = batch.wide[j];
			else
				widen(&sym, &batch.narrow[j]);
			take_symbol(t, all, &sym, table);
		}
	}
	return 0;
}

/* By address; at one address the better later, and of equals the longer first. */
static int compare(const void *pa, const void *pb)
{
	const struct raw *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->name < b->name ? 1 : a->name > b->name ? -1 : 0;
}

/* By compare(): most have an address of their own. */
static void sort_symbols(raw_vec *all)
{
	struct sort_key *keys = xcalloc(all->n, sizeof(*keys));
	struct raw *sorted = xreallocarray(NULL, all->n, sizeof(*sorted));
	size_t next;

	for (size_t i = 0; i < all->n; i++)
		keys[i] = (struct sort_key){ all->v[i].start, (uint32_t)i };
	keys = sort_keys(keys, all->n);
	for (size_t i = 0; i < all->n; i++)
		sorted[i] = all->v[keys[i].place];
	free(keys);
	free(all->v);
	all->v = sorted;
	all->cap = all->n;
	for (size_t i = 0; i < all->n; i = next) {
		for (next = i + 1; next < all->n && sorted[next].start == sorted[i].start;)
			next++;
		if (next - i > 1)
			qsort(sorted + i, next - i, sizeof(*sorted), compare);
	}
}

/* Less is better: leading underscores, and what compilers append to a name, are noise. */
static int noise(const char *name)
{
	int n = (int)strspn(name, "_");

	return 2 * n + (strchr(name + n, '.') ? 1 : 0);
}

/* Of two names for the same range and of the same rank, is @a the better one? */
static int better_name(const struct elf_symbols *t, uint32_t a, uint32_t b)
{
	char na[NAME_PEEK], nb[NAME_PEEK];

	if (read_name(t, b, nb, sizeof(nb)))
		return 1;
	return !read_name(t, a, na, sizeof(na)) && noise(na) < noise(nb);
}

/*
 * Settles what symbols at one address are: a symbol without a size ends at the
 * next one, and is nothing but another name where a sized one begins with it;
 * of two equals the one with the better name stays. @all is sorted.
 */
static void settle(const struct elf_symbols *t, raw_vec *all)
{
	size_t kept = 0, compared = 0, next;

	for (size_t i = 0; i < all->n; i = next) {
		int sized;

		for (next = i + 1; next < all->n && all->v[next].start == all->v[i].start;)
			next++;
		sized = all->v[next - 1].rank & RANK_SIZED;
		for (size_t j = i, first = kept; j < next; j++) {
			struct raw r = all->v[j], *last = &all->v[kept - (kept > first)];

			int keep = kept == first;

			if (!(r.rank & RANK_SIZED)) {
				if (sized)
					continue;
				if (next < all->n && all->v[next].start < r.end)
					r.end = all->v[next].start;
			} else if (!keep) {
				keep = last->rank != r.rank || last->end != r.end;
			}
			if (keep)
				all->v[kept++] = r;
			else if (last->rank != r.rank ||
				 (compared++ < MAX_COMPARED && better_name(t, r.name, last->name)))
				*last = r;
		}
	}
	all->n = kept;
}

/* The stretches while they are made. */
struct pieces {
	VEC(uint64_t) starts;
	VEC(struct piece) pieces;
	uint64_t at;		/* up to here all is made */
};

static void emit(struct pieces *p, const struct raw *r, uint64_t end)
{
	if (end <= p->at)
		return;
	vec_push(&p->starts, p->at);
	vec_push(&p->pieces, (struct piece){
		.size = (uint32_t)(end - p->at) & INT32_MAX, .open_ended = !(r->rank & RANK_SIZED),
		.back = (uint32_t)(p->at - r->start), .name = r->name });
	p->at = end;
}

/*
 * Cuts the sorted symbols into stretches: at each address the symbol that began
 * last of those that cover it. The symbols that are begun and may not have
 * ended stand on a stack, the last begun on top; one below that ends earlier is
 * dropped when it comes up.
 */
static void cut(const raw_vec *all, struct pieces *p)
{
	VEC(uint32_t) open = { 0 };

	for (size_t i = 0; i <= all->n; i++) {
		uint64_t until = i < all->n ? all->v[i].start : UINT64_MAX;

		while (open.n) {
			const struct raw *top = &all->v[open.v[open.n - 1]];

			emit(p, top, top->end < until ? top->end : until);
			if (top->end > until)
				break;
			open.n--;
		}
		if (i == all->n)
			break;
		/* A label inside of a sized function is a place in it. */
		if (open.n && !(all->v[i].rank & RANK_SIZED))
			continue;
		p->at = until;
		vec_push(&open, (uint32_t)i);
	}
	vec_free(&open);
}

static int elf_symbols_find(const struct symbol_source *source, uint64_t address,
			    struct source_function *out)
{
	const struct elf_symbols *t = (const struct elf_symbols *)source;
	size_t low = upper_bound(t->starts, t->n, , address);

	if (!low || address - t->starts[low - 1] >= t->pieces[low - 1].size)
		return -ENOENT;
	*out = (struct source_function){
		.start = t->starts[low - 1] - t->pieces[low - 1].back,
		.token = t->pieces[low - 1].name,
		.open_ended = t->pieces[low - 1].open_ended,
	};
	return 0;
}

static int elf_symbols_name(const struct symbol_source *source, uint64_t token, char *dst,
			    size_t size)
{
	return read_name((const struct elf_symbols *)source, (uint32_t)token, dst, size);
}

static void elf_symbols_free(struct symbol_source *source)
{
	struct elf_symbols *t = (struct elf_symbols *)source;

	free(t->starts);
	free(t->pieces);
	free(t);
}

static size_t elf_symbols_bytes(const struct symbol_source *source)
{
	const struct elf_symbols *t = (const struct elf_symbols *)source;

	return sizeof(*t) + t->n * (sizeof(*t->starts) + sizeof(*t->pieces));
}

static const struct symbol_source_ops ops = {
	.find = elf_symbols_find,
	.name = elf_symbols_name,
	.free = elf_symbols_free,
	.bytes = elf_symbols_bytes,
};

/* Both tables, each once; the first error is told only where nothing was found in the other. */
static int read_tables(struct elf_symbols *t, raw_vec *all)
{
	static const struct {
		uint32_t type, table;
	} tables[] = { { SHT_SYMTAB, 0 }, { SHT_DYNSYM, FROM_DYNSYM } };
	const struct elf_section *sections;
	size_t n = elf_file_sections(t->elf, &sections);
	int first = 0;

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < n; i++) {
			int err;

			if (sections[i].type != tables[k].type)
				continue;
			err = read_table(t, &sections[i], all, tables[k].table);
			first = first ? first : err;
			break;
		}
	}
	return all->n ? 0 : first ? first : -ENODATA;
}

struct symbol_source *elf_symbols_open(const struct elf_file *elf)
{
	struct elf_symbols *t = xcalloc(1, sizeof(*t));
	struct pieces p = { 0 };
	raw_vec all = { 0 };
	int err;

	t->source.ops = &ops;
	t->elf = elf;
	err = read_tables(t, &all);
	if (err)
		goto out;
	sort_symbols(&all);
	settle(t, &all);
	cut(&all, &p);
	/* Give back what doubling took too much. */
	t->n = p.pieces.n;
	t->starts = xreallocarray(p.starts.v, t->n, sizeof(*t->starts));
	t->pieces = xreallocarray(p.pieces.v, t->n, sizeof(*t->pieces));
out:
	vec_free(&all);
	if (!err)
		return &t->source;
	elf_symbols_free(&t->source);
	errno = -err;
	return NULL;
}
