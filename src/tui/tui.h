/* SPDX-License-Identifier: MIT */
/*
 * The terminal and a browser on it: keys, resizing, Ctrl-Z, and a picture that is brought up
 * to date when its source has more. What that costs is bounded: where it takes long, it is done
 * less often.
 */
#ifndef EBPROF_TUI_H
#define EBPROF_TUI_H

#include "base/error.h"
#include "tui/browser.h"

/* Where profiles come from. */
struct tui_source {
	/* as window_show() */
	struct window_show (*show)(void *ctx, int since_start, const struct part_choice *c);
	/* as window_steps(); NULL: none */
	size_t (*steps)(void *ctx, struct window_step *steps, size_t n);
	void (*clear)(void *ctx);	/* quiets @fd; NULL where that is -1 */
	int fd;				/* readable when there is more; -1: never */
	int stop;			/* readable when it is to end; -1: never */
	void *ctx;
};

struct tui;

/* 1 where standard input and output are a terminal that can be drawn on. */
int tui_possible(void);
/*
 * Takes the terminal, and blocks the signals that have to do with it: before other threads are
 * started. @target, for the heading, and @u, who gets files that are saved, are borrowed. NULL with
 * @e filled.
 */
struct tui *tui_new(const char *target, const struct user *u, int live, int since_start,
		    struct error *e);
/* What is shown is the profile of this comparison; before tui_run(). Borrowed. */
void tui_compare(struct tui *t, const struct diff *d);
/* The values of this label of it are beside one another (output/across.h); the same. */
void tui_across(struct tui *t, const char *key);
/*
 * Makes what is read of functions, those of @code; borrowed. NULL: they are not read; those of what
 * is shown. Before tui_run().
 */
void tui_annotate(struct tui *t, struct annotator *a, const struct profile *code);
/* Until the user wants to end, or the source says so. By one thread. */
void tui_run(struct tui *t, const struct tui_source *source);
/* Gives the terminal back as it was. Takes NULL. */
void tui_free(struct tui *t);

#endif
