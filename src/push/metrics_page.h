/* SPDX-License-Identifier: MIT */
/*
 * A page that one process writes and another reads, without waiting for one another: the reader has
 * a whole one, that of now or the one before. It lies in memory that both share after a fork.
 */
#ifndef EBPROF_METRICS_PAGE_H
#define EBPROF_METRICS_PAGE_H

#include <stddef.h>

#define METRICS_PAGE_MOST (64u << 10)	/* bytes; what is longer is cut at the end of a line */

struct metrics_page;

/* Empty. NULL with errno. */
struct metrics_page *metrics_page_new(void);
void metrics_page_free(struct metrics_page *p);
void metrics_page_write(struct metrics_page *p, const char *text, size_t size);
/* Bytes written to @to. */
size_t metrics_page_read(const struct metrics_page *p, char to[METRICS_PAGE_MOST]);

#endif
