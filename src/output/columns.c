/* SPDX-License-Identifier: MIT */
#include "output/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "output/across.h"
#include "profile/frame_kind.h"

#define CYAN "\033[36m"
#define DIM "\033[2m"
#define FIRST_WIDTH 8		/* of the first column of a text table, at least */
#define NAME_NESTED 32		/* bytes of a name that is indented */
#define NESTED_MOST ((TABLE_CELL_MAX - NAME_NESTED - 2) / 2)	/* levels that are indented */

static uint64_t text_key(const char *text)
{
	return hash_bytes(text, strlen(text));
}

static uint64_t code_key(const struct rollup_function *f)
{
	return hash_pair(hash_pair(text_key(f->name), text_key(f->module)),
			 hash_pair(text_key(f->file), f->line + f->address));
}

struct row row_of_code(const struct rollup_function *f)
{
	return (struct row){ .key = code_key(f),
			     .name = f->name,
			     .module = f->module,
			     .file = f->file,
			     .owner = "",
			     .asker = "",
			     .kind = f->kind,
			     .line = f->line,
			     .address = f->address,
			     .self = f->self,
			     .total = f->total };
}

struct row row_of_task(const struct rollup_process *t)
{
	return (struct row){ .name = t->comm,
			     .module = "",
			     .file = "",
			     .owner = "",
			     .asker = "",
			     .pid = t->pid,
			     .tid = t->tid,
			     .self = t->samples,
			     .total = t->samples };
}

struct row row_of_tree(const struct tree_row *t)
{
	return (struct row){ .name = t->name,
			     .module = t->module,
			     .file = "",
			     .owner = "",
			     .asker = "",
			     .kind = t->kind,
			     .depth = t->depth,
			     .self = t->self,
			     .total = t->total };
}

double row_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* --- Values. ------------------------------------------------------------------- */
static uint64_t self(const struct row *r) { return r->self; }
static uint64_t total(const struct row *r) { return r->total; }
static uint64_t line(const struct row *r) { return r->line; }
static uint64_t pid(const struct row *r) { return (uint64_t)r->pid; }
static uint64_t tid(const struct row *r) { return (uint64_t)r->tid; }

static const char *name(const struct row *r, char *buf)
{
	(void)buf;
	return r->name;
}

static const char *module(const struct row *r, char *buf)
{
	(void)buf;
	return r->module;
}

/* Of code without a name, where in its module it is. */
static const char *file(const struct row *r, char *buf)
{
	if (*r->file || !r->address)
		return r->file;
	snprintf(buf, TABLE_CELL_MAX, "%.40s+0x%" PRIx64, r->module, r->address);
	return buf;
}

static const char *asker(const struct row *r, char *buf)
{
	(void)buf;
	return r->asker;
}

static const char *kind(const struct row *r, char *buf)
{
	(void)buf;
	return frame_kinds[r->kind].name;
}

/* "comm/pid", and "+3" where it is of so many others, too; "comm (ended)" has no PID. */
static const char *owner(const struct row *r, char *buf)
{
	if (!*r->owner)
		return "";
	snprintf(buf, TABLE_CELL_MAX, r->pid ? "%.40s/%d" : "%.40s", r->owner, r->pid);
	if (r->others)
		snprintf(buf + strlen(buf), TABLE_CELL_MAX - strlen(buf), "+%" PRIu32, r->others);
	return buf;
}

static const char *nested(const struct row *r, char *buf)
{
	uint32_t depth = r->depth < NESTED_MOST ? r->depth : NESTED_MOST;

	snprintf(buf, TABLE_CELL_MAX, "%*s%.*s", 2 * (int)depth, "", NAME_NESTED, r->name);
	return buf;
}

/* --- Of a diff. ------------------------------------------------------------------ */
static const char *percent(const struct diff_row *d, double share, const char *format, char *buf)
{
	if (!d)
		return "";
	snprintf(buf, TABLE_CELL_MAX, format, 100 * share);
	return buf;
}

static const char *before(const struct row *r, char *buf)
{
	return percent(r->own, r->own ? r->own->rate[DIFF_BEFORE] : 0, "%7.2f", buf);
}

static const char *after(const struct row *r, char *buf)
{
	return percent(r->own, r->own ? r->own->rate[DIFF_AFTER] : 0, "%6.2f", buf);
}

static const char *change(const struct row *r, char *buf)
{
	return percent(r->own, r->own ? diff_change(r->own) : 0, "%+7.2f", buf);
}

static const char *change_total(const struct row *r, char *buf)
{
	return percent(r->all, r->all ? diff_change(r->all) : 0, "%+7.2f", buf);
}

static const char *interval(const struct row *r, char *buf)
{
	if (!r->own || !isfinite(r->own->low))
		return "";
	snprintf(buf, TABLE_CELL_MAX, "%+.2f .. %+.2f", 100 * r->own->low, 100 * r->own->high);
	return buf;
}

static double rate(const struct diff_row *d, enum diff_side side)
{
	return d ? d->rate[side] : 0;
}

/* --- Of a label's values. -------------------------------------------------------- */
#define ACROSS(i) \
	static uint64_t across_##i(const struct row *r) { return r->across[i]; }
ACROSS(0) ACROSS(1) ACROSS(2) ACROSS(3) ACROSS(4) ACROSS(5) ACROSS(6) ACROSS(7)

/* --- What rows are sorted by. ------------------------------------------------------ */
static const char *own_name(const struct row *r) { return r->name; }
static const char *own_module(const struct row *r) { return r->module; }
static const char *own_file(const struct row *r) { return r->file; }
static const char *own_owner(const struct row *r) { return r->owner; }
static uint64_t address(const struct row *r) { return r->address; }

/* The greatest first: the bits of what is not negative are in its order. */
static uint64_t falling(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return ~bits;
}

static uint64_t by_before(const struct row *r) { return falling(rate(r->own, DIFF_BEFORE)); }
static uint64_t by_after(const struct row *r) { return falling(rate(r->own, DIFF_AFTER)); }

/* What is significant before what may be chance; no share is as large as 2. */
static double size_of(const struct diff_row *d)
{
	return d ? fabs(diff_change(d)) + (d->significant ? 2 : 0) : 0;
}

static uint64_t by_change(const struct row *r) { return falling(size_of(r->own)); }
static uint64_t by_change_total(const struct row *r) { return falling(size_of(r->all)); }

/* --- The columns. ---------------------------------------------------------------- */
#define VALUE "SAMPLES", ROW_VALUE, 7, ROW_VALUE_WIDTH
/* The first two fit on any page. */
#define ACROSS_COLUMN(i) \
	[COLUMN_ACROSS + (i)] = { NULL, "%", ROW_ACROSS, 6, ACROSS_WIDTH, \
				  (i) < 2 ? 0 : ((i) + 3) * ACROSS_WIDTH, .place = (i), \
				  .number = across_##i }

const struct row_column row_columns[COLUMNS] = {
	[COLUMN_SELF_SHARE] = { NULL, "SELF%", ROW_SHARE, 6, 6, .number = self },
	[COLUMN_TOTAL_SHARE] = { NULL, "TOTAL%", ROW_SHARE, 6, 6, .number = total },
	[COLUMN_SHARE] = { NULL, "%", ROW_SHARE, 6, 6, .number = self },
	[COLUMN_PART] = { NULL, "OF FOCUS%", ROW_PART, 6, 9, .number = self },
	[COLUMN_CPU] = { NULL, "CPU%", ROW_CPU, 6, 7, 45, .number = self },
	[COLUMN_SELF] = { "self", VALUE, 60, .number = self },
	[COLUMN_TOTAL] = { "total", VALUE, 60, .number = total },
	[COLUMN_TAKEN] = { "total", VALUE, 0, .number = self },
	[COLUMN_IMAGE] = { "module", "IMAGE", ROW_TEXT, 5, 14, 50, .text = module, .none = "-",
			   .order = own_module },
	[COLUMN_OWNER] = { NULL, "PROCESS", ROW_TEXT, 7, 18, 90, .text = owner, .none = "-",
			   .order = own_owner, .rank = pid },
	[COLUMN_KIND] = { "kind", "KIND", ROW_TEXT, 6, 6, .text = kind },
	[COLUMN_FUNCTION] = { "name", "FUNCTION", ROW_TEXT, 8, 0, .text = name,
			     .order = own_name },
	[COLUMN_MODULE] = { "name", "IMAGE", ROW_TEXT, 5, 0, .text = name, .order = own_name },
	[COLUMN_CALLER] = { "name", "CALLER", ROW_TEXT, 8, 0, .text = name },
	[COLUMN_CALLEE] = { "name", "CALLEE", ROW_TEXT, 8, 0, .text = name },
	[COLUMN_ASKER] = { NULL, "CALLED FROM", ROW_TEXT, 11, 0, .text = asker },
	[COLUMN_LINE] = { "line", "LINE", ROW_NUMBER, 5, 6, .number = line, .none = "-" },
	[COLUMN_FILE] = { "file", "FILE", ROW_TEXT, 4, 0, .text = file, .none = "-",
			  .order = own_file, .rank = address },
	[COLUMN_PID] = { "pid", "PID", ROW_NUMBER, 7, 8, .number = pid },
	[COLUMN_TID] = { "tid", "TID", ROW_NUMBER, 7, 8, .number = tid },
	[COLUMN_COMM] = { "comm", "COMM", ROW_TEXT, 4, 0, .text = name, .order = own_name },
	[COLUMN_NESTED] = { NULL, "COMM", ROW_TEXT, 4, 0, .text = nested },
	[COLUMN_FIRST_OF_TWO] = { NULL, "A%", ROW_SHARE, 6, 6, .number = self },
	[COLUMN_SECOND_OF_TWO] = { NULL, "B%", ROW_SHARE, 6, 6, .number = total },
	[COLUMN_BEFORE] = { NULL, "BEFORE%", ROW_TEXT, 7, 7, .text = before,
			    .rank = by_before },
	[COLUMN_AFTER] = { NULL, "AFTER%", ROW_TEXT, 6, 6, .text = after, .rank = by_after },
	[COLUMN_CHANGE] = { NULL, " CHANGE", ROW_TEXT, 7, 7, .text = change,
			    .rank = by_change },
	[COLUMN_INTERVAL] = { NULL, "95% INTERVAL", ROW_TEXT, 16, 16, 90, .text = interval,
			      .rank = by_change },
	[COLUMN_CHANGE_TOTAL] = { NULL, "  TOTAL", ROW_TEXT, 7, 7, 60, .text = change_total,
				  .rank = by_change_total },
	[COLUMN_SECOND] = { "second", "SECOND", ROW_NUMBER, 6, 7, .number = line },
	[COLUMN_BUSIEST] = { "name", "MOST OF IT IN", ROW_TEXT, 8, 0, .text = name },
	[COLUMN_LABEL] = { "label", "LABEL", ROW_TEXT, 5, 0, .text = name },
	ACROSS_COLUMN(0), ACROSS_COLUMN(1), ACROSS_COLUMN(2), ACROSS_COLUMN(3),
	ACROSS_COLUMN(4), ACROSS_COLUMN(5), ACROSS_COLUMN(6), ACROSS_COLUMN(7),
};

/* --- Formats. -------------------------------------------------------------------- */
static void print_number(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX])
{
	(void)s;
	snprintf(buf, TABLE_CELL_MAX, "%" PRIu64, n);
}

static void print_value(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX])
{
	units_print(&s->units, n, buf, TABLE_CELL_MAX);
}

static void print_share(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX])
{
	snprintf(buf, TABLE_CELL_MAX, "%.2f", row_percent(n, s->samples));
}

static void print_part(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX])
{
	snprintf(buf, TABLE_CELL_MAX, "%.2f", row_percent(n, s->focus));
}

/* As htop has it: a thread that never waits has 100, a process of four such 400. */
static void print_cpu(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX])
{
	snprintf(buf, TABLE_CELL_MAX, "%.1f", (double)n * s->cpu_share);
}

static void print_across(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX])
{
	(void)s;
	snprintf(buf, TABLE_CELL_MAX, "%.2f", (double)n * 100 / ACROSS_WHOLE);
}

static const struct {
	void (*print)(uint64_t n, const struct row_sums *s, char buf[TABLE_CELL_MAX]);
	int falling;			/* the greatest first */
} formats[ROW_FORMATS] = {
	[ROW_NUMBER] = { print_number, 0 },
	[ROW_VALUE] = { print_value, 1 },
	[ROW_SHARE] = { print_share, 1 },
	[ROW_PART] = { print_part, 1 },
	[ROW_CPU] = { print_cpu, 1 },
	[ROW_ACROSS] = { print_across, 1 },
};

int row_has_column(const struct row_column *c, const struct row_sums *s)
{
	if (c->format == ROW_ACROSS)
		return s->across && (size_t)c->place < s->across->n;
	return c->format != ROW_CPU || s->cpu_share > 0;
}

const char *row_heading(const struct row_column *c, const struct row_sums *s)
{
	if (c->format == ROW_ACROSS)
		return s->across->values[c->place].heading;
	return c->format == ROW_VALUE ? s->units.name : c->heading;
}

const char *row_cell(const struct row_column *c, const struct row *r, const struct row_sums *s,
		     char buf[TABLE_CELL_MAX])
{
	uint64_t n = c->number ? c->number(r) : 0;

	if (c->text) {
		const char *text = c->text(r, buf);

		return *text || !c->none ? text : c->none;
	}
	if (!n && c->none)
		return c->none;
	formats[c->format].print(n, s, buf);
	return buf;
}

uint64_t row_rank(const struct row_column *c, const struct row *r)
{
	if (c->rank)
		return c->rank(r);
	if (c->text)
		return 0;
	return formats[c->format].falling ? ~c->number(r) : c->number(r);
}

void row_write_json(const enum row_column_id *columns, const struct row *r, struct json *j)
{
	char buf[TABLE_CELL_MAX];

	for (; *columns != COLUMNS; columns++) {
		const struct row_column *c = &row_columns[*columns];

		if (c->text)
			json_string(j, c->name, c->text(r, buf));
		else
			json_uint(j, c->name, c->number(r));
	}
}

/* --- A text table. ----------------------------------------------------------------- */
struct printed {
	const enum row_column_id *columns;
	const struct row *rows;
	const struct row_sums *sums;
};

static const char *cell(const void *ctx, size_t row, size_t column, char buf[TABLE_CELL_MAX])
{
	const struct printed *t = ctx;

	return row_cell(&row_columns[t->columns[column]], &t->rows[row], t->sums, buf);
}

static const char *color(const void *ctx, size_t row)
{
	enum frame_kind kind = ((const struct printed *)ctx)->rows[row].kind;

	static const char *const colors[] = {
		[FRAME_NO_CODE] = DIM, [FRAME_PROGRAM] = NULL, [FRAME_IN_KERNEL] = CYAN
	};

	return colors[frame_kinds[kind].side];
}

static double share(const void *ctx, size_t row)
{
	const struct printed *t = ctx;

	return row_percent(t->rows[row].self, t->sums->samples);
}

void rows_write(const enum row_column_id *columns, const row_vec *rows, const struct row_sums *s,
		const struct output_options *o, struct outfile *f)
{
	enum row_column_id there[COLUMNS + 1];
	struct table_column own[COLUMNS + 1] = { 0 };
	const struct printed t = { there, rows->v, s };
	size_t n = 0;

	for (size_t i = 0; columns[i] != COLUMNS; i++) {
		const struct row_column *c = &row_columns[columns[i]];

		if (!row_has_column(c, s))
			continue;
		own[n] = (struct table_column){ .name = row_heading(c, s),
						.width = !n && c->width < FIRST_WIDTH
								 ? FIRST_WIDTH
								 : c->width,
						.number = !c->text };
		there[n++] = columns[i];
	}
	table_write(&(struct table){ .columns = own,
				     .ctx = &t,
				     .rows = rows->n,
				     .cell = cell,
				     .color = color,
				     .share = share },
		    o, f);
}
