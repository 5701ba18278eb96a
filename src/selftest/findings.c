/* SPDX-License-Identifier: MIT */
#include "selftest/findings.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "selftest/programs.h"

#define NS 1e9
#define NAME_SHOWN 64

static const struct {
	const char *name, *paint;
} states[] = {
	[OUTCOME_RIGHT] = { "right", "\033[32m" },
	[OUTCOME_WRONG] = { "wrong", "\033[31m" },
	[OUTCOME_SKIPPED] = { "skipped", "\033[2m" },
};

/* --- For people. --------------------------------------------------------------------- */

static void show_shares(struct outfile *out, const struct outcome *o)
{
	const double share = 100 * judge_share(&o->measured), expected = 100 * JUDGE_SHARE;

	outfile_printf(out, "shares %.1f/%.1f measured %.1f/%.1f, ", expected, 100 - expected,
		       share, 100 - share);
}

static void show_measured(struct outfile *out, const struct outcome *o)
{
	const struct measured *m = &o->measured;
	const unsigned int judged = o->program->judged;
	int there, names = judge_names(o, &there);

	if (judged & (SELFTEST_SHARES | SELFTEST_BLOCKS))
		show_shares(out, o);
	outfile_printf(out, "names %d of %d, whole stacks %.4g %%", there, names,
		       100 * judge_whole(m));
	if (judged & SELFTEST_SHARES)
		outfile_printf(out, ", CPU time %.3f s measured %.3f s",
			       (double)o->truth.busy / NS,
			       (double)(m->of[SELFTEST_ONE] + m->of[SELFTEST_TWO]) / NS);
	if (judged & SELFTEST_WAITS)
		outfile_printf(out, ", sleep %.3f s measured %.3f s",
			       SELFTEST_RESTS * SELFTEST_REST / 1e3,
			       (double)m->of[SELFTEST_REST_FUNCTION] / NS);
	if (judged & SELFTEST_BLOCKS)
		outfile_printf(out, ", %" PRIu64 " blocks measured %" PRIu64 ", %" PRIu64
				    " bytes measured %" PRIu64,
			       o->truth.blocks, m->blocks, o->truth.bytes,
			       m->of[SELFTEST_ONE] + m->of[SELFTEST_TWO]);
}

void findings_line(struct outfile *out, const struct outcome *o, int color)
{
	char name[NAME_SHOWN];

	snprintf(name, sizeof(name), "%s%s%s", o->program->name,
		 *o->truth.version && o->program->script ? " " : "",
		 o->program->script ? o->truth.version : "");
	outfile_printf(out, "%s%-7s%s  %-16s  ", color ? states[o->state].paint : "",
		       states[o->state].name, color ? "\033[0m" : "", name);
	if (*o->truth.version && o->state != OUTCOME_SKIPPED)
		show_measured(out, o);
	else
		outfile_printf(out, "%s", o->why);
	if (*o->truth.version && o->state == OUTCOME_WRONG)
		outfile_printf(out, "\n%27s%s", "", o->why);
	outfile_printf(out, "\n");
}

static size_t count(const struct outcome *all, size_t n, enum outcome_state state)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += all[i].state == state;
	return found;
}

void findings_sum(struct outfile *out, const struct outcome *all, size_t n)
{
	const size_t wrong = count(all, n, OUTCOME_WRONG);
	const size_t skipped = count(all, n, OUTCOME_SKIPPED);

	outfile_printf(out, "\n%zu right, %zu wrong, %zu skipped\n", n - wrong - skipped, wrong,
		       skipped);
	if (wrong)
		outfile_printf(out, "ebprof doctor says what this machine lacks\n");
}

/* --- For programs. ------------------------------------------------------------------- */

/* What was measured beside what is true. */
static void pair(struct json *j, const char *key, double truth, double measured)
{
	json_object(j, key);
	json_double(j, "truth", truth);
	json_double(j, "measured", measured);
	json_end(j);
}

static void show_values(struct json *j, const struct outcome *o)
{
	const struct measured *m = &o->measured;
	const unsigned int judged = o->program->judged;
	const double both = (double)(m->of[SELFTEST_ONE] + m->of[SELFTEST_TWO]);
	int there, names = judge_names(o, &there);

	json_string(j, "version", o->truth.version);
	if (judged & (SELFTEST_SHARES | SELFTEST_BLOCKS)) {
		pair(j, "share", JUDGE_SHARE, judge_share(m));
		json_double(j, "share_bound", judge_share_bound(o));
	}
	pair(j, "names", names, there);
	pair(j, "whole_stacks", 1, judge_whole(m));
	if (judged & SELFTEST_SHARES)
		pair(j, "cpu_seconds", (double)o->truth.busy / NS, both / NS);
	if (judged & SELFTEST_WAITS)
		pair(j, "sleep_seconds", SELFTEST_RESTS * SELFTEST_REST / 1e3,
		     (double)m->of[SELFTEST_REST_FUNCTION] / NS);
	if (judged & SELFTEST_BLOCKS) {
		pair(j, "blocks", (double)o->truth.blocks, (double)m->blocks);
		pair(j, "bytes", (double)o->truth.bytes, both);
	}
}

void findings_json(struct outfile *out, const struct outcome *all, size_t n)
{
	struct json j = { .f = out };

	json_object(&j, NULL);
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		json_uint(&j, states[i].name, count(all, n, (enum outcome_state)i));
	json_array(&j, "programs");
	for (size_t i = 0; i < n; i++) {
		const struct outcome *o = &all[i];

		json_object(&j, NULL);
		json_string(&j, "name", o->program->name);
		json_string(&j, "state", states[o->state].name);
		if (o->state != OUTCOME_RIGHT)
			json_string(&j, "why", o->why);
		if (*o->truth.version)
			show_values(&j, o);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	json_newline(&j);
}
