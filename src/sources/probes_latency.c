/* SPDX-License-Identifier: MIT */
#include "sources/probes_latency.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define BAR 40			/* columns of the longest bar */
#define POWERS 64

uint64_t latency_least(unsigned int i)
{
	unsigned int power = i / EBP_LATENCY_PARTS, part = i % EBP_LATENCY_PARTS;

	if (power >= POWERS)
		return UINT64_MAX;
	if (power < EBP_LATENCY_BITS)
		return part ? 1ull << (power + 1) : power ? 1ull << power : 0;
	return (1ull << power) + ((uint64_t)part << (power - EBP_LATENCY_BITS));
}

static uint64_t sum(const uint64_t *calls, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += calls[i];
	return all;
}

uint64_t latency_within(const uint64_t calls[LATENCY_BUCKETS], double part)
{
	double wanted = part * (double)sum(calls, LATENCY_BUCKETS), so_far = 0;

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

void latency_summary(const char *name, const uint64_t calls[LATENCY_BUCKETS], struct summary *rows)
{
	static const struct { const char *key; double part; } parts[] = {
		{ "latency_p50_ns", 0.5 }, { "latency_p90_ns", 0.9 }, { "latency_p99_ns", 0.99 },
		{ "latency_max_ns", 1 },
	};
	uint64_t powers[POWERS], n = sum(calls, LATENCY_BUCKETS);
	char text[32];

	for (unsigned int i = 0; i < POWERS; i++)
		powers[i] = sum(calls + i * EBP_LATENCY_PARTS, EBP_LATENCY_PARTS);
	summary_line(rows, SUMMARY_RESULT);
	summary_row(rows, "calls", (double)n, "%llu call%s of %s", (unsigned long long)n,
		    text_s(n), name);
	if (!n)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		double ns = (double)latency_within(calls, parts[i].part);

		summary_row(rows, parts[i].key, ns, "%s%.0f%% within %s", i ? ", " : ": ",
			    100 * parts[i].part, show_time(ns, text));
	}
	add_bars(powers, rows);
}
