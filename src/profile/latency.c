/* SPDX-License-Identifier: MIT */
#include "profile/latency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/profile_state.h"

#define BAR 40			/* columns of the longest bar */
#define POWERS 64

const struct latency_share latency_shares[LATENCY_SHARES] = {
	{ "latency_p50_ns", 0.5 },
	{ "latency_p90_ns", 0.9 },
	{ "latency_p99_ns", 0.99 },
	{ "latency_max_ns", 1 },
};

int profile_add_latency(struct profile *p, const char *name, const uint64_t calls[LATENCY_BUCKETS])
{
	uint32_t id;
	size_t i = 0;

	if (!*name || strlen(name) >= LATENCY_NAME_MAX)
		return -EINVAL;
	id = profile_string(p, name);
	while (i < p->latencies.n && p->latencies.v[i].name != id)
		i++;
	if (i == LATENCIES_MAX)
		return -EINVAL;
	if (i == p->latencies.n)
		vec_push(&p->latencies, (struct latency){ .name = id });
	for (size_t k = 0; k < LATENCY_BUCKETS; k++)
		if (__builtin_add_overflow(p->latencies.v[i].calls[k], calls[k],
					   &p->latencies.v[i].calls[k]))
			p->latencies.v[i].calls[k] = UINT64_MAX;
	return 0;
}

void profile_add_latencies(struct profile *dst, const struct profile *src)
{
	for (size_t i = 0; i < src->latencies.n; i++)
		profile_add_latency(dst, profile_text(src, src->latencies.v[i].name),
				    src->latencies.v[i].calls);
}

const struct latency *profile_latencies(const struct profile *p, size_t *n)
{
	*n = p->latencies.n;
	return p->latencies.v;
}

uint64_t latency_least(unsigned int i)
{
	unsigned int power = i / LATENCY_PARTS, part = i % LATENCY_PARTS;

	if (power >= POWERS)
		return UINT64_MAX;
	if (power < LATENCY_BITS)
		return part ? 1ull << (power + 1) : power ? 1ull << power : 0;
	return (1ull << power) + ((uint64_t)part << (power - LATENCY_BITS));
}

static uint64_t sum(const uint64_t *calls, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += calls[i];
	return all;
}

uint64_t latency_calls(const uint64_t calls[LATENCY_BUCKETS])
{
	return sum(calls, LATENCY_BUCKETS);
}

uint64_t latency_within(const uint64_t calls[LATENCY_BUCKETS], double part)
{
	double wanted = part * (double)latency_calls(calls), so_far = 0;

	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		so_far += (double)calls[i];
		if (calls[i] && so_far >= wanted)
			return latency_least(i + 1);
	}
	return 0;
}

/* "1.50 ms" */
static const char *show_time(double ns, char text[32])
{
	static const struct { double from; const char *unit; } units[] = {
		{ 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" },
	};
	size_t i = 0;

	while (i < 3 && ns < units[i].from)
		i++;
	snprintf(text, 32, "%.3g %s", ns / units[i].from, units[i].unit);
	return text;
}

/* By powers of two of ns: names of rows are not copied. */
static const char *const keys[POWERS] = {
#define KEY(n) "calls_from_2_to_the_" #n "_ns"
	KEY(0),	 KEY(1),  KEY(2),  KEY(3),  KEY(4),  KEY(5),  KEY(6),  KEY(7),
	KEY(8),	 KEY(9),  KEY(10), KEY(11), KEY(12), KEY(13), KEY(14), KEY(15),
	KEY(16), KEY(17), KEY(18), KEY(19), KEY(20), KEY(21), KEY(22), KEY(23),
	KEY(24), KEY(25), KEY(26), KEY(27), KEY(28), KEY(29), KEY(30), KEY(31),
	KEY(32), KEY(33), KEY(34), KEY(35), KEY(36), KEY(37), KEY(38), KEY(39),
	KEY(40), KEY(41), KEY(42), KEY(43), KEY(44), KEY(45), KEY(46), KEY(47),
	KEY(48), KEY(49), KEY(50), KEY(51), KEY(52), KEY(53), KEY(54), KEY(55),
	KEY(56), KEY(57), KEY(58), KEY(59), KEY(60), KEY(61), KEY(62), KEY(63),
#undef KEY
};

static void add_bars(const uint64_t powers[POWERS], struct summary *rows)
{
	unsigned int first = 0, last = POWERS - 1;
	uint64_t most = 1;

	while (first < last && !powers[first])
		first++;
	while (last > first && !powers[last])
		last--;
	for (unsigned int i = first; i <= last; i++)
		most = powers[i] > most ? powers[i] : most;
	for (unsigned int i = first; i <= last; i++) {
		char from[32], to[32], bar[BAR + 1] = "";

		memset(bar, '#', (size_t)((double)powers[i] / (double)most * BAR + 0.5));
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, keys[i], (double)powers[i], "%8s - %-8s |%-*s| %llu",
			    show_time(i ? (double)(1ull << i) : 0, from),
			    show_time(i < 63 ? (double)(2ull << i) : 1.8e19, to), BAR, bar,
			    (unsigned long long)powers[i]);
	}
}

/* "START->END"; C++'s operators of that name are functions. */
static int is_between(const char *name)
{
	const char *to = strstr(name, LATENCY_TO);

	return to && to[2] && !strchr("(*", to[2]);
}

void latency_summary(const char *name, const uint64_t calls[LATENCY_BUCKETS], struct summary *rows)
{
	uint64_t powers[POWERS], n = latency_calls(calls);
	char text[32];

	for (unsigned int i = 0; i < POWERS; i++)
		powers[i] = sum(calls + i * LATENCY_PARTS, LATENCY_PARTS);
	summary_line(rows, SUMMARY_RESULT);
	summary_row(rows, "calls", (double)n,
		    is_between(name) ? "%llu time%s of %s" : "%llu call%s of %s",
		    (unsigned long long)n, text_s(n), name);
	if (!n)
		return;
	for (size_t i = 0; i < LATENCY_SHARES; i++) {
		const struct latency_share *share = &latency_shares[i];
		double ns = (double)latency_within(calls, share->part);

		summary_row(rows, share->key, ns, "%s%.0f%% within %s", i ? ", " : ": ",
			    100 * share->part, show_time(ns, text));
	}
	add_bars(powers, rows);
}

void latency_summaries(const struct profile *p, const char *suffix, struct summary *rows)
{
	for (size_t i = 0; i < p->latencies.n; i++) {
		const struct latency *l = &p->latencies.v[i];
		char name[LATENCY_NAME_MAX + 32];

		snprintf(name, sizeof(name), "%s%s", profile_text(p, l->name), suffix);
		latency_summary(name, l->calls, rows);
	}
}
