/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/error.h"
#include "base/vec.h"
#include "collect/features.h"
#include "commands/commands.h"
#include "lang/lang.h"
#include "sinks/sink.h"
#include "sources/sources.h"

/* A row and what became of it. */
struct row {
	const struct feature *feature;
	struct feature_result result;
};

static int is_well(const struct feature_result *r)
{
	return r->state == FEATURE_OK || r->state == FEATURE_SKIPPED;
}

/* Its line alone. */
static void show(struct outfile *out, const struct feature *f, const struct feature_result *r,
		 int color)
{
	static const char *const paint[] = { "\033[32m", "\033[33m", "\033[31m", "\033[2m" };

	outfile_printf(out, "%s%-8s%s  %-25s  %s\n", color ? paint[r->state] : "",
		       feature_state_name(r->state), color ? "\033[0m" : "", f->name, r->detail);
}

/* What is well first, then what is not, the worst last, where the reader's eyes are. */
static void show_all(struct outfile *out, const struct row *rows, size_t n, int color)
{
	static const enum feature_state order[] = {
		FEATURE_OK, FEATURE_SKIPPED, FEATURE_DEGRADED, FEATURE_MISSING
	};
	VEC(size_t) shown = { 0 };

	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		for (size_t i = 0; i < n; i++) {
			const struct feature *f = rows[i].feature;
			const struct feature_result *r = &rows[i].result;
			size_t same = 0;

			if (r->state != order[k])
				continue;
			if (is_well(r)) {
				show(out, f, r, color);
				continue;
			}
			/* One command often mends several things: it is said once. */
			while (same < shown.n && strcmp(rows[shown.v[same]].result.fix, r->fix))
				same++;
			outfile_printf(out, "\n");
			show(out, f, r, color);
			outfile_printf(out, "          without it: %s\n          fix: %s%s\n",
				       f->costs, same < shown.n ? "as for " : "",
				       same < shown.n ? rows[shown.v[same]].feature->name : r->fix);
			vec_push(&shown, i);
		}
	vec_free(&shown);
	outfile_printf(out, "\n");
}

/* Of which languages functions are frames of their own, because no kernel decides it. */
static void show_languages(struct outfile *out)
{
	for (size_t i = 0; i < EBP_LANGUAGES; i++)
		if (lang_rows[i])
			outfile_printf(out, "%-8s  %-25s  %s\n", "reads", lang_rows[i]->name,
				       lang_rows[i]->reads);
	outfile_printf(out, "\n");
}

/* The closing line. Returns the exit status. */
static int conclude(struct outfile *out, const struct row *rows, size_t n)
{
	size_t degraded = 0, missing = 0;

	for (size_t i = 0; i < n; i++) {
		degraded += rows[i].result.state == FEATURE_DEGRADED;
		if (rows[i].result.state == FEATURE_MISSING)
			outfile_printf(out, "%s%s",
				       missing++ ? ", " : "cannot profile: ",
				       rows[i].feature->name);
	}
	if (degraded && !missing)
		outfile_printf(out, "ready, degraded: %zu", degraded);
	else if (!missing)
		outfile_printf(out, "ready");
	outfile_printf(out, missing ? "\n" : "; to see how right it is: ebprof selftest\n");
	return missing ? STATUS_DENIED : STATUS_OK;
}

static int doctor(struct error *e)
{
	VEC(struct row) all = { 0 };
	struct sink *s = sink_open_stdout(e);
	int status, err;

	if (!s)
		return command_failed(e);
	/* what it would say of a failing probe, the probe's own line says */
	libbpf_set_print(NULL);
	for (const struct feature *f = features; f->name; f++)
		vec_push(&all, (struct row){ .feature = f });
	for (size_t i = 0; source_table[i]; i++)
		if (source_table[i]->feature)
			vec_push(&all, (struct row){ .feature = source_table[i]->feature });
	for (size_t i = 0; i < all.n; i++)
		feature_probe(all.v[i].feature, &all.v[i].result);
	show_languages(sink_file(s));
	show_all(sink_file(s), all.v, all.n, sink_wants_color());
	status = conclude(sink_file(s), all.v, all.n);
	vec_free(&all);
	err = sink_commit(s, e);
	return err && err != -EPIPE ? command_failed(e) : status;
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, NULL, argc, argv, &rest, &e);

	return err < 0 ? command_failed(&e) : err ? STATUS_OK : doctor(&e);
}

static void more(FILE *to)
{
	fputs("\nExit status: 0 profiling is possible, 3 it is not.\n", to);
}

static const struct cli_option rows[] = { CLI_END };

const struct cli_command command_doctor = {
	.name = "doctor",
	.summary = "what this kernel and this user can do, and how to fix it",
	.usage = "doctor",
	.about = "Checks what this kernel and this user can do for a profiler: a line for each "
		 "feature that is\n"
		 "needed or useful. What is missing comes last, with what that means and the "
		 "fix.\n",
	.rows = rows,
	.more = more,
	.run = run,
};
