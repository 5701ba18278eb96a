/* SPDX-License-Identifier: MIT */
/*
 * The demo's workload, an imaginary order service for a few seconds: parsing
 * takes most of the time, pricing less, and writing the log is system calls.
 *
 *	demo SECONDS
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static NOINLINE uint64_t hash_field(const char *field, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t round = 0; round < 40; round++)
		for (size_t i = 0; i < n; i++)
			h = (h ^ (unsigned char)field[i]) * 0x100000001b3u;
	return h;
}

static NOINLINE uint64_t parse_order(const char *line)
{
	uint64_t sum = 0;

	while (*line) {
		size_t n = strcspn(line, ",");

		sum += hash_field(line, n);
		line += n + (line[n] == ',');
	}
	return sum;
}

static NOINLINE double price_order(uint64_t order)
{
	double price = (double)(order % 1000);

	for (int i = 0; i < 900; i++)
		price = price * 0.999 + (double)(i % 7);
	return price;
}

static NOINLINE void write_log(int fd, const char *line)
{
	for (int i = 0; i < 12; i++)
		if (write(fd, line, strlen(line)) < 0)
			abort();
}

static NOINLINE void serve_order(int log)
{
	static const char line[] = "4711,alice@example.org,2026-11-21,3 x green tea,berlin,express";
	uint64_t order = parse_order(line);

	sink += order + (uint64_t)price_order(order);
	write_log(log, line);
}

int main(int argc, char **argv)
{
	int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);

	if (log < 0)
		return 1;
	while (time(NULL) < end)
		serve_order(log);
	return 0;
}
