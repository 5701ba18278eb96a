/* SPDX-License-Identifier: MIT */
/*
 * How values of a sample type are shown in a table: times in milliseconds, sizes in KiB, all else
 * as it is.
 */
#ifndef EBPROF_UNITS_H
#define EBPROF_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct units {
	const char *name;	/* of a column: "SAMPLES", "MS", "KIB", "COUNT" */
	const char *word;	/* behind a number: "ms", "KiB", ""  */
	unsigned int divisor;	/* 1: whole numbers */
	int digits;		/* behind the point */
};

/* Of the type that @p shows. */
struct units units_of(const struct profile *p);
/* The same, but larger where the sum of all values would not fit into @width columns. */
struct units units_fitting(const struct profile *p, int width);
/* @value, in @buf of @size bytes. */
const char *units_print(const struct units *u, uint64_t value, char *buf, size_t size);

#endif
