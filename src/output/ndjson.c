/* SPDX-License-Identifier: MIT */
/*
 * The summary and the top table for scripts: a JSON object a line, the first one of
 * "type" "summary", then one a "function", then one a "process", and the "profile", as ebprof(1)
 * names their members. Rows stand in the order of the table (output/rollup.h).
 */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "output/columns.h"
#include "output/embedded.h"
#include "output/formats.h"
#include "profile/latency.h"

#define EXACT 9007199254740992.0	/* 2^53: whole numbers up to here are exact */
#define NS_DIGITS 9		/* ns as seconds with so many decimals */

static void write_reasons(struct json *j, const char *key, const char *by,
			  const struct profile_reason *r, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += r[i].count;
	json_uint(j, key, total);
	json_object(j, by);
	for (size_t i = 0; i < n; i++)
		if (r[i].count)
			json_uint(j, r[i].name, r[i].count);
	json_end(j);
}

/* What is not known is null. */
static void write_known(struct json *j, const char *key, uint64_t n, unsigned int digits)
{
	if (n)
		json_decimal(j, key, n, digits);
	else
		json_null(j, key);
}

static void write_text(struct json *j, const char *key, const struct profile *p, uint32_t string)
{
	const char *text = profile_text(p, string);

	if (*text)
		json_string(j, key, text);
	else
		json_null(j, key);
}

static void write_types(struct json *j, const struct profile *p)
{
	struct profile_view v = profile_view(p);

	json_string(j, "shown", profile_text(p, v.types[v.shown].name));
	json_array(j, "types");
	for (size_t i = 0; i < v.ntypes; i++) {
		json_object(j, NULL);
		json_string(j, "name", profile_text(p, v.types[i].name));
		json_string(j, "unit", profile_text(p, v.types[i].unit));
		json_uint(j, "total", v.types[i].total);
		json_end(j);
	}
	json_end(j);
}

/* How the recording went; nothing where the profile was read from a file. */
static void write_rows(struct json *j, const struct summary *s)
{
	if (!s->rows.n)
		return;
	json_object(j, "summary");
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct summary_row *r = &s->rows.v[i];

		if (r->key && r->value >= 0 && r->value < EXACT && r->value <= floor(r->value))
			json_uint(j, r->key, (uint64_t)r->value);
		else if (r->key)
			json_double(j, r->key, r->value);
	}
	json_end(j);
}

/* Nothing where no calls were timed. */
static void write_latencies(struct json *j, const struct profile *p)
{
	size_t n;
	const struct latency *all = profile_latencies(p, &n);

	if (!n)
		return;
	json_array(j, "latencies");
	for (size_t i = 0; i < n; i++) {
		const uint64_t *calls = all[i].calls;

		json_object(j, NULL);
		json_string(j, "name", profile_text(p, all[i].name));
		json_uint(j, "calls", latency_calls(calls));
		for (size_t k = 0; k < LATENCY_SHARES; k++)
			json_uint(j, latency_shares[k].key,
				  latency_within(calls, latency_shares[k].part));
		json_array(j, "histogram");
		for (unsigned int k = 0; k < LATENCY_BUCKETS; k++) {
			if (!calls[k])
				continue;
			json_object(j, NULL);
			json_uint(j, "from_ns", latency_least(k));
			json_uint(j, "calls", calls[k]);
			json_end(j);
		}
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void write_summary(struct json *j, const struct profile *p)
{
	struct profile_view v = profile_view(p);
	const struct profile_account *a = v.account;

	json_object(j, NULL);
	json_string(j, "type", "summary");
	json_string(j, "event", v.meta->event);
	write_known(j, "frequency", v.meta->frequency, 0);
	write_known(j, "period", v.meta->period, 0);
	write_known(j, "start", v.meta->start, NS_DIGITS);
	write_known(j, "duration", v.meta->duration, NS_DIGITS);
	write_known(j, "cpus", v.meta->cpus, 0);
	write_text(j, "host", p, v.meta->host);
	write_text(j, "command", p, v.meta->command);
	write_text(j, "title", p, v.meta->title);
	json_uint(j, "taken", a->taken);
	json_uint(j, "kept", a->kept);
	write_reasons(j, "truncated", "truncated_by", a->truncated, a->ntruncated);
	write_reasons(j, "lost", "lost_by", a->lost, a->nlost);
	write_types(j, p);
	json_uint(j, "total", v.total);
	write_latencies(j, p);
	write_rows(j, v.summary);
	json_end(j);
	json_newline(j);
}

/* An object of that type. */
static void write_row(struct json *j, const char *type, const enum row_column_id *columns,
		      const struct row *r)
{
	json_object(j, NULL);
	json_string(j, "type", type);
	row_write_json(columns, r, j);
	json_end(j);
	json_newline(j);
}

static void write_functions(struct json *j, const struct profile *p)
{
	static const enum row_column_id columns[] = {
		COLUMN_FUNCTION, COLUMN_IMAGE, COLUMN_KIND, COLUMN_SELF, COLUMN_TOTAL, COLUMNS
	};
	size_t n;
	struct rollup_function *all = rollup_functions(p, &n);

	for (size_t i = 0; i < n; i++) {
		const struct row row = row_of_code(&all[i]);

		write_row(j, "function", columns, &row);
	}
	free(all);
}

static void write_processes(struct json *j, const struct profile *p)
{
	static const enum row_column_id columns[] = {
		COLUMN_PID, COLUMN_COMM, COLUMN_TAKEN, COLUMNS
	};
	size_t n;
	struct rollup_process *all = rollup_processes(p, &n);

	for (size_t i = 0; i < n; i++) {
		const struct row row = row_of_task(&all[i]);

		write_row(j, "process", columns, &row);
	}
	free(all);
}

/*
 * By which ebprof reads the file back; the last line, so that who wants the table alone can stop
 * before it.
 */
static void write_whole(struct json *j, const struct profile *p)
{
	json_object(j, NULL);
	json_string(j, "type", "profile");
	embedded_write(j, p);
	json_end(j);
	json_newline(j);
}

void ndjson_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct json j = { .f = f };

	(void)o;
	write_summary(&j, p);
	write_functions(&j, p);
	write_processes(&j, p);
	write_whole(&j, p);
}
