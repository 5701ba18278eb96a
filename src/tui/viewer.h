/* SPDX-License-Identifier: MIT */
/*
 * The live view: a thread of usual priority that shows a profile while another one makes it,
 * as tables one below the other, or on a terminal that it has for itself.
 */
#ifndef EBPROF_VIEWER_H
#define EBPROF_VIEWER_H

#include <stdint.h>

#include "annotate/annotator.h"
#include "base/error.h"
#include "base/user.h"
#include "profile/diff.h"
#include "profile/profile.h"

struct viewer_options {
	int plain;		/* tables; else the terminal is taken */
	int color;		/* tables in colour; the terminal decides for itself otherwise */
	uint64_t refresh;	/* ns */
	uint64_t window;	/* ns */
	int since_start;	/* at first; else the window */
	uint64_t tables;	/* after so many it ends; 0: never */
	int rows, columns;	/* of a table; 0: all, as wide as they are */
	const char *target;	/* what is sampled, for the header; clean text */
	const struct user *user;	/* who gets the files that are saved */
	struct annotator *annotator;	/* of the terminal; NULL: functions cannot be read */
};

struct viewer;

/* Starts it; @o and what it points to stay the caller's. NULL with @e filled. */
struct viewer *viewer_new(const struct viewer_options *o, struct error *e);
/*
 * Shows the last of it where that is wanted, gives the terminal back, and ends the thread. Takes
 * NULL.
 */
void viewer_free(struct viewer *v);

/* For the thread that samples: never waits. As window_update(). */
int viewer_update(struct viewer *v, const struct profile *p);
/* As window_finish(). */
void viewer_finish(struct viewer *v, const struct profile *p);
/* As window_renew(). */
int viewer_renew(struct viewer *v);
/* 1 where the user wants to end; the descriptor is readable then. */
int viewer_ended(struct viewer *v);
int viewer_wake(const struct viewer *v);

/* What the terminal shows until the user has seen enough; all of it borrowed. */
struct viewer_saved {
	const struct profile *profile;
	const struct diff *diff;	/* NULL, or @profile is of this comparison */
	const char *across;	/* the label whose values are beside one another; NULL: none */
	struct annotator *annotator;	/* reads functions; NULL: they are not read */
	const struct profile *code;	/* whose functions it reads; NULL: @profile */
};

/*
 * @name: of the file, clean text; @u gets files that are saved. 0, or a negative errno with @e
 * filled. With an annotator the process is in a sandbox from then on, as top is.
 */
int viewer_browse(const struct viewer_saved *saved, const char *name, const struct user *u,
		  struct error *e);

#endif
