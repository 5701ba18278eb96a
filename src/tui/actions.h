/* SPDX-License-Identifier: MIT */
/* What the user's keys do: a table of keys, and of what each is for. */
#ifndef EBPROF_ACTIONS_H
#define EBPROF_ACTIONS_H

#include <stdint.h>

#include "tui/browser.h"

/* Keys are characters, and these behind them. */
enum press {
	PRESS_NONE = 0x110000,
	PRESS_UP,
	PRESS_DOWN,
	PRESS_LEFT,
	PRESS_RIGHT,
	PRESS_PAGE_UP,
	PRESS_PAGE_DOWN,
	PRESS_HOME,
	PRESS_END,
	PRESS_BACKSPACE,
	PRESS_BACKTAB,
	PRESS_CLICK,
	PRESS_WHEEL_UP,
	PRESS_WHEEL_DOWN,
};
#define PRESS_CONTROL(letter) ((letter) & 0x1f)

/* A key, or a mouse button at a place of the page. */
struct press_event {
	uint32_t key;
	int row, column;
};

void actions_press(struct browser *b, const struct press_event *press);

/* The table, for the help: what the keys are called, and what they do; ends with NULLs. */
struct action_help { const char *keys, *help; };
struct action_help actions_help(size_t i);

#endif
