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
#include "sinks/sink.h"

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
static void show_all(struct outfile *out, const struct feature_result *results, size_t n, int color)
{
	static const enum feature_state order[] = {
		FEATURE_OK, FEATURE_SKIPPED, FEATURE_DEGRADED, FEATURE_MISSING
	};
	VEC(size_t) shown = { 0 };

	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		for (size_t i = 0; i < n; i++) {
			size_t same = 0;

			if (results[i].state != order[k])
				continue;
			if (is_well(&results[i])) {
				show(out, &features[i], &results[i], color);
				continue;
			}
			/* One command often mends several things: it is said once. */
			while (same < shown.n && strcmp(results[shown.v[same]].fix, results[i].fix))
				same++;
			outfile_printf(out, "\n");
			show(out, &features[i], &results[i], color);
			outfile_printf(out, "          without it: %s\n          fix: %s%s\n",
				       features[i].costs, same < shown.n ? "as for " : "",
				       same < shown.n ? features[shown.v[same]].name
						      : results[i].fix);
			vec_push(&shown, i);
		}
	vec_free(&shown);
	outfile_printf(out, "\n");
}

/* The closing line. Returns the exit status. */
static int conclude(struct outfile *out, const struct feature_result *results, size_t n)
{
	size_t degraded = 0, missing = 0;

	for (size_t i = 0; i < n; i++) {
		degraded += results[i].state == FEATURE_DEGRADED;
		if (results[i].state == FEATURE_MISSING)
			outfile_printf(out, "%s%s",
				       missing++ ? ", " : "cannot profile: ", features[i].name);
	}
	if (missing)
		outfile_printf(out, "\n");
	else if (degraded)
		outfile_printf(out, "ready, degraded: %zu\n", degraded);
	else
		outfile_printf(out, "ready\n");
	return missing ? STATUS_DENIED : STATUS_OK;
}

static int doctor(struct error *e)
{
	VEC(struct feature_result) results = {0};
	struct sink *s = sink_open_stdout(e);
	int status, err;

	if (!s)
		return command_failed(e);
	/* what it would say of a failing probe, the probe's own line says */
	libbpf_set_print(NULL);
	for (size_t i = 0; features[i].name; i++) {
		struct feature_result r;

		feature_probe(&features[i], &r);
		vec_push(&results, r);
	}
	show_all(sink_file(s), results.v, results.n, sink_wants_color());
	status = conclude(sink_file(s), results.v, results.n);
	vec_free(&results);
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
