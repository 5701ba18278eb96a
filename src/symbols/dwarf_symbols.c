/* SPDX-License-Identifier: MIT */
#include "symbols/dwarf_symbols.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "base/search.h"
#include "dwarf/dwarf_functions.h"
#include "dwarf/dwarf_lines.h"
#include "dwarf/dwarf_names.h"
#include "dwarf/dwarf_split.h"

#define CACHE_BYTES	(48u << 20)	/* of units kept; the last one is, whatever it takes */
#define SPLIT_BYTES	(1u << 20)	/* that one counts more where it has a file open */
/* parts of all units, and one a byte of lists: many units may have the same list */
#define PARTS_LEAST	(1u << 20)
#define SCOPE_MAX	1024		/* bytes of a scope's name; longer ones are cut */
#define SCOPES_MAX	64		/* around a name */
/*
 * A function's token: its entry, and of a split unit which one that is. A file's: the unit, and its
 * number there.
 */
#define SPLIT_ENTRY	(1ull << 62)
#define ENTRY_BITS	40
#define NO_ENTRY	(SPLIT_ENTRY - 1)
#define SPLIT_FILE	(1u << 31)	/* a number of the split unit's own list */
/* units that may cover one address: all but the last ones are not looked at */
#define OVERLAPS	16

/* A stretch of code of a unit. */
struct part {
	uint64_t start, end;
	uint32_t unit;
};

/* What was read of a unit. */
struct loaded {
	uint32_t unit;
	uint64_t used;			/* when; the least goes first */
	size_t bytes;
	struct dwarf_functions functions;
	struct dwarf_lines lines;
	int has_lines;
	int is_split;			/* then the functions are there: */
	struct dwarf_split split;
	/* what inlined calls count their files in, unless clang made it */
	struct dwarf_lines call_files;
};

struct dwarf_symbols {
	struct symbol_source source;
	struct dwarf_debug debug, alt;
	struct dwarf_package package;	/* of split units */
	int has_package;
	pid_t target;			/* in whose root .dwo files are, too; 0: nobody's */
	VEC(struct part) parts;		/* ascending */
	VEC(struct loaded *) loaded;
	size_t bytes, most;		/* of units kept */
	uint64_t clock;
	struct dwarf_lines files;	/* of the unit whose files were asked for last */
};

static struct dwarf_symbols *self(const struct symbol_source *s)
{
	return (struct dwarf_symbols *)(uintptr_t)s;
}

/* --- Units and what is kept of them. ------------------------------------------ */

static void free_loaded(struct dwarf_symbols *d, size_t i)
{
	struct loaded *l = d->loaded.v[i];

	d->bytes -= l->bytes;
	dwarf_functions_free(&l->functions);
	dwarf_lines_free(&l->lines);
	dwarf_lines_free(&l->call_files);
	if (l->is_split)
		dwarf_split_close(&l->split);
	free(l);
	d->loaded.v[i] = d->loaded.v[--d->loaded.n];
}

static void make_room(struct dwarf_symbols *d)
{
	while (d->bytes > d->most && d->loaded.n) {
		size_t oldest = 0;

		for (size_t i = 1; i < d->loaded.n; i++)
			if (d->loaded.v[i]->used < d->loaded.v[oldest]->used)
				oldest = i;
		free_loaded(d, oldest);
	}
}

#define BYTES(vec)	((vec).cap * sizeof(*(vec).v))

static size_t bytes_of_lines(const struct dwarf_lines *l)
{
	return BYTES(l->rows) + BYTES(l->files) + BYTES(l->directories);
}

static size_t bytes_of(const struct loaded *l)
{
	const struct dwarf_functions *f = &l->functions;
	size_t bytes = sizeof(*l) + BYTES(f->nodes) + BYTES(f->pieces) + BYTES(f->scopes) +
		       bytes_of_lines(&l->lines);

	if (l->is_split)
		bytes += SPLIT_BYTES + bytes_of_lines(&l->call_files) +
			 BYTES(l->split.debug.units) + dwarf_file_bytes(&l->split.debug.file);
	return bytes;
}

static struct loaded *load(struct dwarf_symbols *d, uint32_t unit)
{
	const struct dwarf_unit *u = &d->debug.units.v[unit];
	struct loaded *l;

	for (size_t i = d->loaded.n; i > 0; i--)
		if (d->loaded.v[i - 1]->unit == unit) {
			d->loaded.v[i - 1]->used = ++d->clock;
			return d->loaded.v[i - 1];
		}
	make_room(d);
	l = xcalloc(1, sizeof(*l));
	l->unit = unit;
	l->used = ++d->clock;
	l->is_split = u->dwo_name.kind &&
		      !dwarf_split_open(&l->split, d->has_package ? &d->package : NULL, u,
					d->target);
	dwarf_functions_read(l->is_split ? l->split.unit : u, &l->functions);
	if (l->is_split)
		dwarf_lines_read(l->split.unit, 0, &l->call_files);
	l->has_lines = !dwarf_lines_read(u, 1, &l->lines);
	l->bytes = bytes_of(l);
	d->bytes += l->bytes;
	vec_push(&d->loaded, l);
	return l;
}

/*
 * The next unit that says to have code at @address; NULL: no more. @i counts the looks: 0 for the
 * first.
 */
static struct loaded *covering(struct dwarf_symbols *d, uint64_t address, size_t *i)
{
	size_t low = upper_bound(d->parts.v, d->parts.n, .start, address);

	while (*i < OVERLAPS && *i < low) {
		const struct part *p = &d->parts.v[low - 1 - (*i)++];

		if (address < p->end)
			return load(d, p->unit);
	}
	return NULL;
}

/* The unit and the innermost node at @address; NULL where there is none. */
static struct loaded *locate(struct dwarf_symbols *d, uint64_t address, uint32_t *node)
{
	struct loaded *l;

	for (size_t i = 0; (l = covering(d, address, &i));) {
		*node = dwarf_functions_find(&l->functions, address);
		if (*node != DWARF_NO_NODE)
			return l;
	}
	return NULL;
}

/* --- As a source. ----------------------------------------------------------------- */

/* A reference may be any number. */
static uint64_t function_token(const struct loaded *l, uint64_t entry)
{
	if (l->is_split)
		return SPLIT_ENTRY | (uint64_t)l->unit << ENTRY_BITS |
		       (entry & ((1ull << ENTRY_BITS) - 1));
	return entry & SPLIT_ENTRY ? NO_ENTRY : entry;
}

/* The split unit that @token is of; NULL where its file is not there any more. */
static struct loaded *split_of(struct dwarf_symbols *d, uint64_t token)
{
	struct loaded *l = load(d, (uint32_t)((token & ~SPLIT_ENTRY) >> ENTRY_BITS));

	return l->is_split ? l : NULL;
}

static uint64_t file_token(const struct loaded *l, uint32_t file)
{
	return (uint64_t)l->unit << 32 | file;
}

static int find(const struct symbol_source *s, uint64_t address, struct source_function *out)
{
	uint32_t node;
	struct loaded *l = locate(self(s), address, &node);
	const struct dwarf_node *n;

	if (!l)
		return -ENOENT;
	do
		n = &l->functions.nodes.v[node];
	while ((node = n->parent) != DWARF_NO_NODE);
	*out = (struct source_function){ .start = n->start, .token = function_token(l, n->entry) };
	return 0;
}

/* Puts "@scope::" before the name in @dst, unless there is no room. */
static void put_before(const char *scope, char *dst, size_t size)
{
	size_t n = strlen(scope), have = strlen(dst);

	if (!n || n + 2 + have + 1 > size)
		return;
	memmove(dst + n + 2, dst, have + 1);
	memcpy(dst, scope, n);
	memcpy(dst + n, "::", 2);
}

/* What is shown of a scope; "" where it has no name. */
static void scope_name(const struct dwarf_debug *d, const struct dwarf_unit *u,
		       const struct dwarf_functions *f, uint32_t at, const char *inner,
		       char name[SCOPE_MAX])
{
	static const char call[] = "operator()";
	const struct dwarf_scope *scope = &f->scopes.v[at];

	*name = '\0';
	if (scope->name.kind)
		dwarf_debug_text(d, u, scope->name, name, SCOPE_MAX);
	else if (scope->is_namespace)
		strcpy(name, "(anonymous namespace)");
	else if (scope->function && !strncmp(inner, call, sizeof(call) - 1))
		snprintf(name, SCOPE_MAX, "{lambda#%u}", dwarf_functions_nameless(f, at));
}

/*
 * The scopes of entry @scoped of the unit, before the name. A lambda's is a class without a name,
 * in a function, whose name may be the linker's: symbols/demangle.h knows what to do with
 * "_ZN3foo3barEv::{lambda#1}::operator()".
 */
static void put_scopes(struct dwarf_debug *d, const struct dwarf_unit *u,
		       const struct dwarf_functions *f, uint64_t scoped, char *dst, size_t size)
{
	uint32_t at = dwarf_functions_scope(f, scoped);

	for (int i = 0; i < SCOPES_MAX && at != DWARF_NO_NODE; i++) {
		uint64_t function = f->scopes.v[at].function;
		char name[SCOPE_MAX];

		scope_name(d, u, f, at, dst, name);
		put_before(name, dst, size);
		at = f->scopes.v[at].parent;
		if (!function)
			continue;
		if (!dwarf_name(d, function, name, sizeof(name), &scoped))
			put_before(name, dst, size);
		if (!scoped || dwarf_unit_at(&d->units, scoped) != u)
			return;
		at = dwarf_functions_scope(f, scoped);
	}
}

static int name(const struct symbol_source *s, uint64_t token, char *dst, size_t size)
{
	struct dwarf_symbols *d = self(s);
	const struct dwarf_unit *u = NULL;
	struct loaded *l = NULL;
	struct dwarf_debug *debug = &d->debug;
	uint64_t scoped;
	int err;

	if (token & SPLIT_ENTRY && !(token & DWARF_ALT)) {
		l = split_of(d, token);
		if (!l)
			return -ENOENT;
		token &= (1ull << ENTRY_BITS) - 1;
		debug = &l->split.debug;
	}
	err = dwarf_name(debug, token, dst, size, &scoped);
	/* gcc gives what is not seen outside of its file no linkage name. */
	if (!err && scoped)
		u = dwarf_unit_at(&debug->units, scoped);
	if (u && !l)
		l = load(d, (uint32_t)(u - d->debug.units.v));
	if (u)
		put_scopes(debug, u, &l->functions, scoped, dst, size);
	return err;
}

/* The line of @address, and its file as a token; 0 where none is told. */
static int line_of(const struct loaded *l, uint64_t address, uint64_t *token, uint32_t *line)
{
	uint32_t file;

	if (!l->has_lines || dwarf_lines_find(&l->lines, address, &file, line))
		return 0;
	*token = file_token(l, file);
	return 1;
}

/* Where no function is described, as clang's -g1 and assemblers leave it: the line alone. */
static int nameless(struct dwarf_symbols *d, uint64_t address, struct source_frame *out)
{
	struct loaded *l;

	out->function = NO_ENTRY;
	for (size_t i = 0; (l = covering(d, address, &i));)
		if (line_of(l, address, &out->file, &out->line))
			return 1;
	return -ENOENT;
}

static int frames(struct symbol_source *s, uint64_t address,
		  struct source_frame out[SOURCE_FRAMES_MAX])
{
	uint32_t node, line = 0;
	struct loaded *l = locate(self(s), address, &node);
	uint64_t token = SOURCE_NO_FILE;
	int n = 0;

	if (!l)
		return nameless(self(s), address, out);
	line_of(l, address, &token, &line);
	while (node != DWARF_NO_NODE) {
		const struct dwarf_node *at = &l->functions.nodes.v[node];

		if (n == SOURCE_FRAMES_MAX) {
			/* The innermost goes: the function itself is the last one. */
			memmove(out, out + 1, (size_t)--n * sizeof(*out));
		}
		out[n++] = (struct source_frame){ .function = function_token(l, at->entry),
						  .file = token,
						  .line = line };
		token = at->call_file == DWARF_NO_FILE ? SOURCE_NO_FILE :
			file_token(l, at->call_file | (l->call_files.files.n ? SPLIT_FILE : 0));
		line = at->call_line;
		node = at->parent;
	}
	return n;
}

static int file(const struct symbol_source *s, uint64_t token, char *dst, size_t size)
{
	struct dwarf_symbols *d = self(s);
	uint32_t unit = (uint32_t)(token >> 32), number = (uint32_t)token;
	const struct dwarf_unit *u;

	if (unit >= d->debug.units.n)
		return -ENOENT;
	if (number & SPLIT_FILE)
		return dwarf_lines_file(&load(d, unit)->call_files, number & ~SPLIT_FILE, dst,
					size);
	u = &d->debug.units.v[unit];
	for (size_t i = d->loaded.n; i > 0; i--)
		if (d->loaded.v[i - 1]->unit == unit)
			return dwarf_lines_file(&d->loaded.v[i - 1]->lines, number, dst, size);
	if (d->files.unit != u) {
		dwarf_lines_free(&d->files);
		dwarf_lines_read(u, 0, &d->files);
	}
	return dwarf_lines_file(&d->files, number, dst, size);
}

static void close_debug(struct dwarf_debug *d)
{
	dwarf_file_close(&d->file);
	vec_free(&d->units);
}

static void free_source(struct symbol_source *s)
{
	struct dwarf_symbols *d = self(s);

	while (d->loaded.n)
		free_loaded(d, d->loaded.n - 1);
	vec_free(&d->loaded);
	vec_free(&d->parts);
	dwarf_lines_free(&d->files);
	close_debug(&d->debug);
	close_debug(&d->alt);
	if (d->has_package)
		dwarf_package_close(&d->package);
	free(d);
}

static size_t bytes_of_debug(const struct dwarf_debug *d)
{
	return BYTES(d->units) + dwarf_file_bytes(&d->file);
}

static size_t bytes(const struct symbol_source *s)
{
	const struct dwarf_symbols *d = self(s);

	return sizeof(*d) + d->bytes + BYTES(d->parts) + bytes_of_lines(&d->files) +
	       bytes_of_debug(&d->debug) + bytes_of_debug(&d->alt) +
	       (d->has_package ? dwarf_file_bytes(&d->package.file) : 0);
}

static const struct symbol_source_ops ops = {
	.find = find,
	.name = name,
	.frames = frames,
	.file = file,
	.free = free_source,
	.bytes = bytes,
};

/* --- Opening. ------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1)
	       : x->unit < y->unit  ? -1
				    : x->unit > y->unit;
}

static void index_units(struct dwarf_symbols *d)
{
	const struct dwarf_file *f = &d->debug.file;
	uint64_t most = PARTS_LEAST + dwarf_stored(f, DWARF_RANGES) +
			dwarf_stored(f, DWARF_RNGLISTS);
	dwarf_ranges ranges = { 0 };

	for (size_t i = 0; i < d->debug.units.n; i++) {
		const struct dwarf_unit *u = &d->debug.units.v[i];

		if (u->type != DW_UT_compile && u->type != DW_UT_skeleton)
			continue;
		ranges.n = 0;
		dwarf_entry_ranges(u, u->low, u->high, u->range_list, &ranges);
		for (size_t k = 0; k < ranges.n && d->parts.n < most; k++)
			vec_push(&d->parts,
				 (struct part){ ranges.v[k].start, ranges.v[k].end, (uint32_t)i });
	}
	vec_free(&ranges);
	if (d->parts.n > 1)
		qsort(d->parts.v, d->parts.n, sizeof(*d->parts.v), by_start);
}

struct symbol_source *dwarf_symbols_open(const struct elf_file *elf, const struct elf_file *alt,
					 const struct elf_file *package, pid_t target)
{
	struct dwarf_symbols *d = xcalloc(1, sizeof(*d));

	d->source.ops = &ops;
	d->target = target;
	d->most = CACHE_BYTES;
	if (!dwarf_file_open(&d->debug.file, elf, 0)) {
		dwarf_units_read(&d->debug.file, NULL, &d->debug.units);
		index_units(d);
	}
	if (!d->parts.n) {
		free_source(&d->source);
		errno = ENODATA;
		return NULL;
	}
	if (alt && !dwarf_file_open(&d->alt.file, alt, 0)) {
		dwarf_units_read(&d->alt.file, NULL, &d->alt.units);
		d->debug.alt = &d->alt;
	}
	d->has_package = package && !dwarf_package_open(&d->package, package);
	return &d->source;
}

void dwarf_symbols_keep(struct symbol_source *source, size_t most)
{
	struct dwarf_symbols *d = (struct dwarf_symbols *)source;

	d->most = most < CACHE_BYTES ? most : CACHE_BYTES;
}

int dwarf_symbols_split(const struct symbol_source *source)
{
	const struct dwarf_symbols *d = self(source);

	for (size_t i = 0; i < d->debug.units.n; i++)
		if (d->debug.units.v[i].dwo_name.kind)
			return 1;
	return 0;
}
