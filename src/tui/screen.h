/* SPDX-License-Identifier: MIT */
/*
 * The terminal, by ncurses. Only clean text and a few block characters are ever written to it.
 * However we end, the terminal is as it was before: a small process of our own (guard.h) sees to it
 * where we cannot.
 */
#ifndef EBPROF_SCREEN_H
#define EBPROF_SCREEN_H

#include "base/error.h"
#include "tui/actions.h"
#include "tui/page.h"

struct screen;

/* NULL with @e filled: this terminal is not known. One at a time. */
struct screen *screen_new(struct error *e);
/* Takes NULL. */
void screen_free(struct screen *s);
void screen_size(const struct screen *s, int *rows, int *columns);
/* Asks the terminal for its size, and draws all of the next page. */
void screen_resize(struct screen *s);
/* Out of the way of the shell, and back. */
void screen_leave(struct screen *s);
void screen_enter(struct screen *s);
void screen_draw(struct screen *s, const struct page *page);
/* 1 and the next key, or 0 where none is waiting. */
int screen_press(struct screen *s, struct press_event *press);

#endif
