/* SPDX-License-Identifier: MIT */
/*
 * The top table: functions by the samples taken in them, then processes.
 *
 * SELF% and SAMPLES count the samples whose innermost frame is the function,
 * so the column adds up to all samples; TOTAL% those with it anywhere on the
 * stack, recursion counted once. 100 % are the samples that were kept.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/formats.h"
#include "output/rollup.h"
#include "output/table.h"

#define CYAN "\033[36m"
#define DIM "\033[2m"

struct functions {
	const struct rollup_function *rows;
	uint64_t samples;		/* of the whole profile */
};

struct processes {
	const struct rollup_process *rows;
	uint64_t samples;
};

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static const char *print_percent(uint64_t part, uint64_t all, char *buf, size_t size)
{
	snprintf(buf, size, "%.2f", percent(part, all));
	return buf;
}

static const char *print_count(uint64_t count, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64, count);
	return buf;
}

/* --- Functions. ------------------------------------------------------------ */
static const char *function_self(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct functions *t = ctx;

	return print_percent(t->rows[row].self, t->samples, buf, size);
}

static const char *function_total(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct functions *t = ctx;

	return print_percent(t->rows[row].total, t->samples, buf, size);
}

static const char *function_samples(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct functions *t = ctx;

	return print_count(t->rows[row].self, buf, size);
}

static const char *function_image(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct functions *t = ctx;

	(void)buf;
	(void)size;
	return *t->rows[row].module ? t->rows[row].module : "-";
}

static const char *function_name(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct functions *t = ctx;

	(void)buf;
	(void)size;
	return t->rows[row].name;
}

static const char *function_color(const void *ctx, size_t row)
{
	static const char *const colors[] = { [FRAME_KERNEL] = CYAN, [FRAME_MARK] = DIM };
	const struct functions *t = ctx;
	size_t kind = t->rows[row].kind;

	return kind < sizeof(colors) / sizeof(colors[0]) ? colors[kind] : NULL;
}

static double function_share(const void *ctx, size_t row)
{
	const struct functions *t = ctx;

	return percent(t->rows[row].self, t->samples);
}

static const struct table_column function_columns[] = {
	{ "SELF%", 8, 1, function_self },
	{ "TOTAL%", 6, 1, function_total },
	{ "SAMPLES", 7, 1, function_samples },
	{ "IMAGE", 5, 0, function_image },
	{ "FUNCTION", 8, 0, function_name },
	{ 0 },
};

/* --- Processes. ------------------------------------------------------------ */
static const char *process_pid(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct processes *t = ctx;

	snprintf(buf, size, "%d", t->rows[row].pid);
	return buf;
}

static const char *process_comm(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct processes *t = ctx;

	(void)buf;
	(void)size;
	return t->rows[row].comm;
}

static const char *process_samples(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct processes *t = ctx;

	return print_count(t->rows[row].samples, buf, size);
}

static const char *process_percent(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct processes *t = ctx;

	return print_percent(t->rows[row].samples, t->samples, buf, size);
}

static double process_share(const void *ctx, size_t row)
{
	const struct processes *t = ctx;

	return percent(t->rows[row].samples, t->samples);
}

static const struct table_column process_columns[] = {
	{ "PID", 8, 1, process_pid },
	{ "COMM", 4, 0, process_comm },
	{ "SAMPLES", 7, 1, process_samples },
	{ "%", 6, 1, process_percent },
	{ 0 },
};

void top_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	uint64_t samples = profile_view(p).total;
	size_t nfunctions, nprocesses;
	struct rollup_function *function_rows = rollup_functions(p, &nfunctions);
	struct rollup_process *process_rows = rollup_processes(p, &nprocesses);
	struct functions functions = { function_rows, samples };
	struct processes processes = { process_rows, samples };

	table_write(&(struct table){
		.columns = function_columns, .ctx = &functions, .rows = nfunctions,
		.color = function_color, .share = function_share }, o, f);
	if (samples) {
		outfile_write(f, "\n", 1);
		table_write(&(struct table){
			.columns = process_columns, .ctx = &processes, .rows = nprocesses,
			.share = process_share }, o, f);
	} else {
		outfile_printf(f, "no samples\n");
	}
	free(function_rows);
	free(process_rows);
}
