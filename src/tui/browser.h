/* SPDX-License-Identifier: MIT */
/*
 * What a user sees of a profile and does with it: the views, what is selected in each, filters and
 * prompts. Knows no terminal: keys go in (actions.h), and a page comes out (paint.h).
 */
#ifndef EBPROF_BROWSER_H
#define EBPROF_BROWSER_H

#include <regex.h>
#include <stdint.h>

#include "annotate/annotator.h"
#include "base/hashmap.h"
#include "base/user.h"
#include "profile/window.h"
#include "tui/rows.h"

#define BROWSER_TEXT_MAX 256	/* bytes that a user may type */
#define BROWSER_STEPS 60	/* of the line of bars */

enum browser_prompt { PROMPT_NONE, PROMPT_SEARCH, PROMPT_FILTER, PROMPT_SAVE };

/* Where things are on the last page that was painted. */
struct browser_layout {
	int bars, tabs, header;		/* rows of the page; -1: not there */
	int first, rows;		/* of the page, for rows of the view */
	int status;
	int columns;
};

/* A pattern that the user gave; @text "" is none. */
struct browser_pattern {
	char text[BROWSER_TEXT_MAX];
	/* it has no character that means another one, and is found by its lower-case letters */
	int plain;
	char lower[BROWSER_TEXT_MAX];
	regex_t regex;
};

/* Of each view. */
struct browser_place {
	uint64_t key;			/* of the row that is selected */
	/* its index among those that are listed, and the first on the page */
	size_t at, top;
	int column, reverse;		/* what it is sorted by */
	struct hashmap open;		/* keys of tree rows that were opened */
	uint64_t zoom;			/* key of the flame graph's root; 0: all */
	row_vec rows;
	/* indexes of @rows by @ordered, that column; NULL: not sorted yet */
	uint32_t *order;
	int ordered;
	int made;			/* they are of the profile, and of what is chosen now */
	int seen;			/* the tree has been opened for the user */
};

struct browser {
	const char *target;		/* for the heading */
	const struct user *user;
	int live;			/* 0: a saved profile; time does not pass */
	const struct diff *diff;	/* what is shown is a comparison; else NULL */
	/* the label whose values are beside one another, NULL: none; theirs of what is shown */
	const char *across_key;
	struct across *across;
	struct window_show show;		/* its profile is the browser's */
	struct window_step steps[BROWSER_STEPS];
	size_t nsteps;
	enum view view;
	struct browser_place places[VIEWS];
	row_vec rows;			/* of the view; its place's */
	VEC(uint32_t) listed;		/* those that are listed, in this order */
	struct browser_layout layout;
	struct part_choice choice;
	enum row_tasks tasks;
	int since_start, paused;
	char *focus_name, *focus_module;	/* NULL: none was chosen */
	struct rows_mark marks[2];	/* A and B, to be compared */
	struct browser_pattern search, filter;
	enum browser_prompt prompt;
	char typed[BROWSER_TEXT_MAX];
	char message[BROWSER_TEXT_MAX];	/* until the next key */
	/* the first line of help that is shown, and of its next page, from 1; 0: none */
	int help, help_next;
	int detail;			/* all of the selected row lies over the rows */
	struct annotator *annotator;	/* borrowed; NULL: functions cannot be read */
	const struct profile *code;	/* whose functions it reads; NULL: what is shown */
	struct annotation *reading;	/* lies over the rows, too (reading.h); NULL: none */
	size_t read_at, read_top;	/* its row that is selected, and the first on the page */
	/* What the caller is to do, which clears it. */
	int quit, reload, suspend, redraw;
};

void browser_init(struct browser *b);
/* How many views have tabs, and the one that is shown first. */
static inline int browser_views(const struct browser *b)
{
	return b->diff ? VIEW_PAIR : VIEW_CHANGES;
}
static inline enum view browser_home(const struct browser *b)
{
	return b->diff ? VIEW_CHANGES : VIEW_FUNCTIONS;
}
void browser_free(struct browser *b);
/* What views are of, besides the profile. */
struct rows_choice browser_choice(const struct browser *b);
/* Takes @show's profile. */
void browser_show(struct browser *b, const struct window_show *show);
/* Shows the rows of the view, which are made where they are not there yet. */
void browser_make_rows(struct browser *b);
/* Sorts, filters and folds the rows; what was selected stays selected where it is still there. */
void browser_list(struct browser *b);
/* Whether the rows are in the order of a column. */
int browser_is_sorted(const struct browser *b);
/* What is selected, NULL where there is nothing. */
const struct row *browser_selected(const struct browser *b);
/* Selects the listed row of that index, or the nearest to it. */
void browser_select(struct browser *b, long at);
static inline struct browser_place *browser_place(struct browser *b)
{
	return &b->places[b->view];
}
/*
 * Sets or, where @text is "", removes a pattern. 0, or -EINVAL: it cannot be understood, and the
 * old one stays.
 */
int browser_pattern_set(struct browser_pattern *p, const char *text);
/* 1 where a row's name, image, file or process fits. */
int browser_pattern_matches(const struct browser_pattern *p, const struct row *r);

#endif
