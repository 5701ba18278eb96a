/* SPDX-License-Identifier: MIT */
#include "symbols/go_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "go/gopclntab.h"

/* Numbers of the compiler's tables since Go 1.16 (runtime/funcdata.h). */
#define PCDATA_INLINED		2
#define FUNCDATA_INLINED	3

#define MAX_STEPS	(4u << 20)	/* through the tables, for one address */
/* for all addresses of a file; in the largest programs one takes 200 on average */
#define MAX_STEPS_ALL	(128u << 20)
#define MAX_DEPTH	1024		/* of inlined calls; compilers stop long before */
#define MAX_CALLS	(1 << 20)	/* that are inlined into one function */
#define MAX_SAMPLED	8192		/* functions looked at to learn whether gofunc is right */
#define ENOUGH_TREES	16

struct go_symbols {
	struct symbol_source source;
	struct gopclntab *table;
	int sought;		/* @gofunc has been looked for */
	uint32_t left;		/* of MAX_STEPS_ALL */
	/* address of what offsets of funcdata are counted from; 0: not known */
	uint64_t gofunc;
};

/* The look-ups for one address share what they may cost. */
struct lookup {
	struct go_symbols *g;
	const struct gopclntab *t;
	struct go_function f;
	uint32_t steps;
};

static const struct go_symbols *self(const struct symbol_source *s)
{
	return (const struct go_symbols *)s;
}

/* The value at @pc, counted from the function's start, of the table at @table. */
static int value_at(struct lookup *l, uint32_t table, uint64_t pc, int32_t *out)
{
	struct go_values v;
	int err = gopclntab_values(l->t, table, &v);

	for (; !err && l->steps < MAX_STEPS && l->g->left; l->steps++, l->g->left--) {
		err = gopclntab_next(&v);
		if (!err && pc < v.end) {
			*out = v.value;
			return 0;
		}
	}
	return err ? err : -EBADMSG;
}

/*
 * The token of the file with number @n in the function's compilation unit; up to Go 1.15, in the
 * program.
 */
static uint64_t file_token(const struct lookup *l, int32_t n)
{
	const struct go_part *units = &l->t->units;
	uint64_t at = ((uint64_t)(uint32_t)n + l->f.unit) * sizeof(uint32_t);
	uint32_t file;

	/* Up to Go 1.15 the number of files stands where file 0 would. */
	if (n < !l->t->layout->offsets || at >= units->end - units->at ||
	    units->end - units->at - at < sizeof(file) ||
	    gopclntab_read(l->t, units->at + at, &file, sizeof(file)) || file == UINT32_MAX)
		return SOURCE_NO_FILE;
	return file;
}

/* File and line at @pc. */
static void place(struct lookup *l, uint64_t pc, struct source_frame *out)
{
	int32_t file, line;

	out->file = value_at(l, l->f.pcfile, pc, &file) ? SOURCE_NO_FILE : file_token(l, file);
	out->line = value_at(l, l->f.pcln, pc, &line) || line < 0 ? 0 : (uint32_t)line;
}

/* --- The trees of inlined calls --- */

struct call {
	uint32_t name;
	int32_t parent, file, line;	/* up to Go 1.19; @parent: -1 the function itself */
	int32_t pc;			/* of the call in its caller, from the function's start */
};

/* Where the function's tree is. */
static int tree_at(const struct gopclntab *t, const struct go_function *f, uint64_t gofunc,
		   uint64_t *out)
{
	uint64_t at = f->tables + (uint64_t)f->n_pcdata * 4;
	uint32_t offset;
	int err;

	if (f->n_funcdata <= FUNCDATA_INLINED)
		return -ENOENT;
	if (t->layout->width == 8) {	/* pointers, aligned in memory */
		at += -(t->address + at) & 7;
		err = gopclntab_read(t, at + FUNCDATA_INLINED * 8, out, sizeof(*out));
		return err ? err : *out ? 0 : -ENOENT;
	}
	err = gopclntab_read(t, at + FUNCDATA_INLINED * 4, &offset, sizeof(offset));
	if (err)
		return err;
	*out = gofunc + offset;
	return offset == UINT32_MAX ? -ENOENT : *out < gofunc ? -EBADMSG : 0;
}

/* Reads call @i of the tree at @tree (runtime/symtab.go, symtabinl.go: inlinedCall). */
static int read_call(const struct gopclntab *t, const struct go_function *f, uint64_t tree,
		     int32_t i, struct call *c)
{
	uint32_t raw[5];
	int err;

	if (i < 0 || i >= MAX_CALLS)
		return -EBADMSG;
	err = gopclntab_read_memory(t->elf, tree + (uint64_t)i * t->layout->call, raw,
				    t->layout->call);
	if (err)
		return err;
	if (t->layout->call == 20)
		*c = (struct call){ raw[3], (int16_t)raw[0], (int32_t)raw[1], (int32_t)raw[2],
				    (int32_t)raw[4] };
	else
		*c = (struct call){ raw[1], -1, -1, -1, (int32_t)raw[2] };
	/* Padding behind the runtime's number of the function. */
	if (raw[0] & (t->layout->call == 20 ? 0xff000000 : 0xffffff00))
		return -EBADMSG;
	return c->pc >= 0 && (uint64_t)c->pc < f->size && gopclntab_is_name(t, c->name) ? 0
											: -EBADMSG;
}

/*
 * Are there trees where @gofunc says? Its place in moduledata has moved between
 * versions that cannot be told apart; a wrong one must not give wrong names.
 */
static int is_gofunc(const struct gopclntab *t, uint64_t gofunc)
{
	uint32_t n = t->n < MAX_SAMPLED ? t->n : MAX_SAMPLED;
	struct go_function f;
	struct call c;
	int good = 0;

	for (uint32_t i = 0; i < n && good < ENOUGH_TREES; i++) {
		uint64_t tree;

		/* From all of the program: the first packages have few calls. */
		if (gopclntab_function_read(t, (uint32_t)((uint64_t)i * t->n / n), &f) ||
		    tree_at(t, &f, gofunc, &tree))
			continue;
		if (read_call(t, &f, tree, 0, &c))
			return 0;
		good++;
	}
	return good > 0;
}

/* Looked for once, when it is needed. */
static void seek_gofunc(struct go_symbols *g)
{
	struct gopclntab *t = g->table;
	uint64_t module[GO_MODULE_WORDS];

	g->sought = 1;
	if (!t->layout->gofunc[0] || gopclntab_module(t, module))
		return;
	for (int i = 0; i < GO_GOFUNC_PLACES && t->layout->gofunc[i] && !g->gofunc; i++)
		if (is_gofunc(t, module[t->layout->gofunc[i]]))
			g->gofunc = module[t->layout->gofunc[i]];
}

/* The offset of the table that says which inlined call a program counter is in; 0: none. */
static uint32_t inlined_table(const struct lookup *l)
{
	uint32_t table;

	if (!l->t->layout->call || l->f.n_pcdata <= PCDATA_INLINED ||
	    gopclntab_read(l->t, l->f.tables + PCDATA_INLINED * 4, &table, sizeof(table)))
		return 0;
	return table;
}

/* One more frame; those that are too many push out the innermost. */
static void push(struct source_frame *out, int *n, struct source_frame frame)
{
	if (*n == SOURCE_FRAMES_MAX)
		memmove(out, out + 1, (size_t)--*n * sizeof(*out));
	out[(*n)++] = frame;
}

/*
 * The inlined calls that @pc is in, the innermost first, and in @last the place
 * of the outermost one's call. Their number, or a negative errno.
 */
static int inlined(struct lookup *l, uint64_t pc, struct source_frame *out,
		   struct source_frame *last)
{
	uint32_t table = inlined_table(l);
	uint64_t tree;
	int32_t call;
	int n = 0;

	if (!table || value_at(l, table, pc, &call) || call < 0)
		return 0;
	if (tree_at(l->t, &l->f, l->g->gofunc, &tree))
		return -ENODATA;
	for (int depth = 0; call >= 0; depth++) {
		struct call c;

		if (depth == MAX_DEPTH || read_call(l->t, &l->f, tree, call, &c))
			return -EBADMSG;
		last->function = c.name;
		push(out, &n, *last);
		if (l->t->layout->call == 20) {
			last->file = file_token(l, c.file);
			last->line = c.line > 0 ? (uint32_t)c.line : 0;
			call = c.parent;
		} else {
			place(l, (uint64_t)c.pc, last);
			if (value_at(l, table, (uint64_t)c.pc, &call))
				return -EBADMSG;
		}
	}
	return n;
}

/* --- As a source. ------------------------------------------------------------- */

static int frames(struct symbol_source *source, uint64_t address,
		  struct source_frame out[SOURCE_FRAMES_MAX])
{
	struct go_symbols *g = (struct go_symbols *)source;
	struct lookup l = { .g = g, .t = g->table };
	struct source_frame last;
	int n;

	if (gopclntab_function(g->table, address, &l.f))
		return -ENOENT;
	if (!g->sought)
		seek_gofunc(g);
	place(&l, address - l.f.start, &last);
	n = inlined(&l, address - l.f.start, out, &last);
	/* The line is that of an inlined call which we cannot name: not the function's. */
	if (n < 0) {
		n = 0;
		last = (struct source_frame){ .file = SOURCE_NO_FILE };
	}
	last.function = l.f.name;
	push(out, &n, last);
	return n;
}

static int find(const struct symbol_source *source, uint64_t address, struct source_function *out)
{
	struct go_function f;

	if (gopclntab_function(self(source)->table, address, &f))
		return -ENOENT;
	*out = (struct source_function){ .start = f.start, .token = f.name };
	return 0;
}

/* A string that has to have a character. */
static int string_at(const struct gopclntab *t, const struct go_part *part, uint64_t at, char *dst,
		     size_t size)
{
	int err = gopclntab_string(t, part, at, dst, size);

	return err ? err : dst[0] || size < 2 ? 0 : -ENODATA;
}

static int name(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	return string_at(self(source)->table, &self(source)->table->names, token, dst, size);
}

static int file(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	return string_at(self(source)->table, &self(source)->table->files, token, dst, size);
}

static void free_source(struct symbol_source *source)
{
	struct go_symbols *g = (struct go_symbols *)source;

	gopclntab_free(g->table);
	free(g);
}

static size_t bytes(const struct symbol_source *s)
{
	return sizeof(struct go_symbols) +
	       ((size_t)self(s)->table->n + 1) * sizeof(struct go_entry);
}

static const struct symbol_source_ops ops = {
	.find = find,
	.name = name,
	.frames = frames,
	.file = file,
	.free = free_source,
	.bytes = bytes,
};

struct symbol_source *go_symbols_open(const struct elf_file *elf)
{
	struct gopclntab *table = gopclntab_open(elf);
	struct go_symbols *g;

	if (!table)
		return NULL;
	g = xcalloc(1, sizeof(*g));
	g->source.ops = &ops;
	g->table = table;
	g->left = MAX_STEPS_ALL;
	return &g->source;
}
