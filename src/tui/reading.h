/* SPDX-License-Identifier: MIT */
/*
 * A function's lines and instructions over the rows of a browser (output/annotation.h), to be
 * read: what is hot stands out, jumps are followed.
 */
#ifndef EBPROF_READING_H
#define EBPROF_READING_H

#include "annotate/annotator.h"
#include "tui/actions.h"
#include "tui/page.h"

/*
 * The function of that name, as the browser's profile has it now; at @line of @file, or where
 * @line is 0 at its hottest row. 0, or -ENOENT: there is none, or nothing to make it with.
 */
int reading_open(struct browser *b, const char *name, const char *module, const char *file,
		 uint32_t line);
/* Whether any of what is open is lines or instructions, and not only why there are none. */
int reading_has_code(const struct browser *b);
void reading_close(struct browser *b);
/* A key while it is open. */
void reading_press(struct browser *b, const struct press_event *press);
void reading_paint(struct browser *b, struct page *page);

#endif
