/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "base/search.h"

#define PROGRAM_MAX	(512u << 20)	/* bytes */
#define ENTRIES_MAX	(1u << 20)	/* files, directories */
#define ROWS_MAX	(64u << 20)
#define FORMATS_MAX	16

struct sequence {
	uint64_t start;
	size_t first, n;		/* rows */
};

struct program {
	struct dwarf_lines *out;
	const uint8_t *bytes;		/* from the header on */
	uint64_t offset;		/* of it in .debug_line */
	struct cursor c;
	const uint8_t *first, *end;	/* the instructions */
	struct dwarf_encoding encoding;
	uint8_t min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256];		/* of the standard opcodes, by opcode */
	VEC(struct sequence) sequences;
	/* The state machine (6.2.2): */
	uint64_t address, op_index, file;
	uint32_t line;
};

/* --- The header (6.2.4). -------------------------------------------------------- */

/* A string where it stands, as an offset in .debug_line. */
static struct dwarf_value text_here(struct program *p)
{
	struct dwarf_value v = dwarf_form_read(&p->c, DW_FORM_string, 0, p->encoding, p->bytes);

	v.u += p->offset;
	return v;
}

/* Version 4 and before. Places begin with 1: what 0 means is put before. */
static void take_old_tables(struct program *p)
{
	struct dwarf_lines *l = p->out;

	vec_push(&l->directories, l->unit->directory);
	while (p->c.p < p->c.end && *p->c.p && l->directories.n < ENTRIES_MAX)
		vec_push(&l->directories, text_here(p));
	cursor_skip(&p->c, 1);
	vec_push(&l->files, (struct dwarf_source){ l->unit->name, 0 });
	while (p->c.p < p->c.end && *p->c.p && l->files.n < ENTRIES_MAX) {
		struct dwarf_source s = { .name = text_here(p) };

		s.directory = cursor_uleb(&p->c);
		cursor_uleb(&p->c);
		cursor_uleb(&p->c);
		vec_push(&l->files, s);
	}
}

/* One of version 5's tables, entry by entry. */
static void take_table(struct program *p, int is_files)
{
	struct { uint64_t content, form; } formats[FORMATS_MAX];
	unsigned nformats = (unsigned)cursor_fixed(&p->c, 1);
	uint64_t n;

	if (nformats > FORMATS_MAX) {
		cursor_fail(&p->c);
		return;
	}
	for (unsigned i = 0; i < nformats; i++) {
		formats[i].content = cursor_uleb(&p->c);
		formats[i].form = cursor_uleb(&p->c);
	}
	n = cursor_uleb(&p->c);
	for (uint64_t i = 0; i < n && i < ENTRIES_MAX && !p->c.bad && nformats; i++) {
		struct dwarf_source s = { 0 };
		const uint8_t *before = p->c.p;

		for (unsigned k = 0; k < nformats; k++) {
			struct dwarf_value v = dwarf_form_read(&p->c, (uint16_t)formats[k].form, 0,
							       p->encoding, p->bytes);

			if (formats[k].form == DW_FORM_string)
				v.u += p->offset;
			if (formats[k].content == DW_LNCT_path)
				s.name = v;
			else if (formats[k].content == DW_LNCT_directory_index)
				s.directory = v.u;
		}
		/* Any number of such fits into no bytes. */
		if (p->c.p == before)
			return;
		if (is_files)
			vec_push(&p->out->files, s);
		else
			vec_push(&p->out->directories, s.name);
	}
}

static int take_header(struct program *p)
{
	struct cursor *c = &p->c;
	uint64_t length, skip;

	p->encoding.version = p->out->version = (uint8_t)cursor_fixed(c, 2);
	if (p->encoding.version >= 5) {
		p->encoding.address_size = (uint8_t)cursor_fixed(c, 1);
		cursor_skip(c, 1);
	}
	length = cursor_fixed(c, p->encoding.offset_size);
	if (!dwarf_is_readable(p->encoding) || c->bad || length > (uint64_t)(c->end - c->p))
		return -EBADMSG;
	p->first = c->p + length;
	p->end = c->end;
	c->end = p->first;
	p->min_length = (uint8_t)cursor_fixed(c, 1);
	p->max_ops = p->encoding.version >= 4 ? (uint8_t)cursor_fixed(c, 1) : 1;
	cursor_skip(c, 1);
	p->line_base = (int8_t)cursor_fixed(c, 1);
	p->line_range = (uint8_t)cursor_fixed(c, 1);
	p->opcode_base = (uint8_t)cursor_fixed(c, 1);
	for (unsigned i = 1; i < p->opcode_base; i++)
		p->operands[i] = (uint8_t)cursor_fixed(c, 1);
	skip = c->bad || !p->line_range || !p->max_ops;
	if (skip)
		return -EBADMSG;
	if (p->encoding.version >= 5) {
		take_table(p, 0);
		take_table(p, 1);
	} else {
		take_old_tables(p);
	}
	return 0;
}

/* --- The program (6.2.5). --------------------------------------------------------- */

static void reset(struct program *p)
{
	p->address = p->op_index = 0;
	p->file = p->line = 1;
}

static void advance(struct program *p, uint64_t by)
{
	/* VLIW machines alone have more than one. */
	p->address += p->min_length * ((p->op_index + by) / p->max_ops);
	p->op_index = (p->op_index + by) % p->max_ops;
}

static void push_row(struct program *p, uint32_t file)
{
	struct dwarf_row row = { p->address, file, p->line };
	struct sequence *s = &p->sequences.v[p->sequences.n - 1];
	struct dwarf_row *last = s->n ? &p->out->rows.v[p->out->rows.n - 1] : NULL;

	/* They ascend in a sequence; of one address the last is what is executed there. */
	if (s->n && row.address < last->address)
		return;
	if (s->n && row.address == last->address) {
		*last = row;
	} else if (!s->n || last->file != row.file || last->line != row.line) {
		vec_push(&p->out->rows, row);
		s->n++;
	}
}

static void begin_sequence(struct program *p)
{
	vec_push(&p->sequences, (struct sequence){ .first = p->out->rows.n });
	reset(p);
}

/* The sequence has ended. What the linker threw away lies at 0, or very high. */
static void end_sequence(struct program *p)
{
	struct sequence *s = &p->sequences.v[p->sequences.n - 1];

	push_row(p, DWARF_NO_FILE);
	s->start = s->n ? p->out->rows.v[s->first].address : 0;
	if (!s->start || s->start >= UINT64_MAX - 1) {
		p->out->rows.n = s->first;
		p->sequences.n--;
	}
	begin_sequence(p);
}

static void extended(struct program *p)
{
	uint64_t length = cursor_uleb(&p->c);
	const uint8_t *end;

	if (!length || !cursor_has(&p->c, length)) {
		cursor_fail(&p->c);
		return;
	}
	end = p->c.p + length;
	switch (cursor_fixed(&p->c, 1)) {
	case DW_LNE_end_sequence:
		end_sequence(p);
		break;
	case DW_LNE_set_address:
		p->address = length == 9 || length == 5 ? cursor_fixed(&p->c, (unsigned)length - 1)
							: 0;
		p->op_index = 0;
		break;
	default:
		break;
	}
	p->c.p = end;
}

static void standard(struct program *p, uint8_t opcode)
{
	struct cursor *c = &p->c;

	switch (opcode) {
	case DW_LNS_copy:		push_row(p, (uint32_t)p->file); break;
	case DW_LNS_advance_pc:		advance(p, cursor_uleb(c)); break;
	case DW_LNS_advance_line:	p->line += (uint32_t)cursor_sleb(c); break;
	case DW_LNS_set_file:		p->file = cursor_uleb(c); break;
	case DW_LNS_const_add_pc:
		advance(p, (uint64_t)(255 - p->opcode_base) / p->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		p->address += cursor_fixed(c, 2);
		p->op_index = 0;
		break;
	default:
		for (unsigned i = 0; i < p->operands[opcode]; i++)
			cursor_uleb(c);
	}
}

static void run(struct program *p)
{
	p->c = (struct cursor){ p->first, p->end, 0 };
	begin_sequence(p);
	while (p->c.p < p->c.end && p->out->rows.n < ROWS_MAX) {
		uint8_t opcode = *p->c.p++;

		if (opcode >= p->opcode_base) {
			advance(p, (uint64_t)(opcode - p->opcode_base) / p->line_range);
			p->line += (uint32_t)(p->line_base +
					      (opcode - p->opcode_base) % p->line_range);
			push_row(p, (uint32_t)p->file);
		} else if (opcode) {
			standard(p, opcode);
		} else {
			extended(p);
		}
	}
	/* One that did not end is cut off there. */
	if (p->sequences.v[p->sequences.n - 1].n)
		end_sequence(p);
	p->sequences.n--;
}

static int by_start(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sequences come in any order: one a function, placed by the linker. */
static void sort_rows(struct program *p)
{
	struct dwarf_row *sorted;
	size_t n = 0;

	if (p->sequences.n < 2)
		return;
	qsort(p->sequences.v, p->sequences.n, sizeof(*p->sequences.v), by_start);
	sorted = xcalloc(p->out->rows.n + 1, sizeof(*sorted));
	for (size_t i = 0; i < p->sequences.n; i++) {
		const struct sequence *s = &p->sequences.v[i];

		memcpy(sorted + n, p->out->rows.v + s->first, s->n * sizeof(*sorted));
		n += s->n;
	}
	free(p->out->rows.v);
	p->out->rows.v = sorted;
	p->out->rows.n = n;
	p->out->rows.cap = p->out->rows.n + 1;
}

int dwarf_lines_read(const struct dwarf_unit *u, int rows, struct dwarf_lines *out)
{
	struct program p = { .out = out, .offset = u->lines, .encoding = u->encoding };
	uint64_t length = 0, header = 4;
	uint8_t *bytes;
	int err;

	*out = (struct dwarf_lines){ .unit = u };
	p.encoding.offset_size = 4;
	err = u->lines == DWARF_NO_OFFSET ? -ENOENT
					  : dwarf_number(u->file, DWARF_LINE, u->lines, 4, &length);
	if (!err && length == UINT32_MAX) {
		header = 12;
		p.encoding.offset_size = 8;
		err = dwarf_number(u->file, DWARF_LINE, u->lines + 4, 8, &length);
	}
	if (err || length > PROGRAM_MAX || dwarf_spend(u->file, rows ? length : 0))
		return err ? err : -EFBIG;
	bytes = dwarf_load(u->file, DWARF_LINE, u->lines, header + length);
	if (!bytes)
		return -errno;
	p.bytes = bytes;
	p.c = (struct cursor){ bytes + header, bytes + header + length, 0 };
	err = take_header(&p);
	if (!err && rows) {
		run(&p);
		sort_rows(&p);
	}
	vec_free(&p.sequences);
	free(bytes);
	return err;
}

void dwarf_lines_free(struct dwarf_lines *l)
{
	vec_free(&l->rows);
	vec_free(&l->files);
	vec_free(&l->directories);
}

int dwarf_lines_find(const struct dwarf_lines *l, uint64_t address, uint32_t *file, uint32_t *line)
{
	size_t low = upper_bound(l->rows.v, l->rows.n, .address, address);

	if (!low || l->rows.v[low - 1].file == DWARF_NO_FILE)
		return -ENOENT;
	*file = l->rows.v[low - 1].file;
	*line = l->rows.v[low - 1].line;
	return 0;
}

/* --- Names of files. ------------------------------------------------------------------ */

/* Text of the line table: strings that stand in it are in .debug_line, not in .debug_info. */
static int text(const struct dwarf_lines *l, struct dwarf_value v, int own, char *dst, size_t size)
{
	if (v.kind == DWARF_STRING_HERE && own)
		return dwarf_string(l->unit->file, DWARF_LINE, v.u, dst, size);
	return dwarf_text(l->unit, v, dst, size);
}

/* Puts @directory and a slash before what is in @dst, where that is relative. */
static void put_before(const struct dwarf_lines *l, struct dwarf_value directory, int own,
		       char *dst, size_t size)
{
	size_t have = strlen(dst), n;
	char text_of[4096];

	if (*dst == '/' || text(l, directory, own, text_of, sizeof(text_of)) || !*text_of)
		return;
	n = strlen(text_of);
	if (n + 1 + have + 1 > size)
		return;
	memmove(dst + n + 1, dst, have + 1);
	memcpy(dst, text_of, n);
	dst[n] = '/';
}

int dwarf_lines_file(const struct dwarf_lines *l, uint64_t file, char *dst, size_t size)
{
	int own = l->version >= 5 || file > 0;
	uint64_t directory;
	int err;

	if (file >= l->files.n)
		return -ENOENT;
	err = text(l, l->files.v[file].name, own, dst, size);
	directory = l->files.v[file].directory;
	if (err)
		return err;
	if (directory < l->directories.n)
		put_before(l, l->directories.v[directory], l->version >= 5 || directory > 0, dst,
			   size);
	put_before(l, l->unit->directory, 0, dst, size);
	return 0;
}
