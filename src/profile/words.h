/* SPDX-License-Identifier: MIT */
/*
 * What the words of a profile mean: the names of its sample types, their units, and the events.
 *
 * Words are all that a saved profile keeps of this, and other tools write the same ones (pprof's
 * heap profiles, perf's events). So the meaning is looked up here and nowhere else, and a profile
 * that is read back behaves as it did while it was recorded. A new way of measuring has a row for
 * each of its types, and one for its event where that differs from plain samples.
 */
#ifndef EBPROF_PROFILE_WORDS_H
#define EBPROF_PROFILE_WORDS_H

enum profile_unit {
	PROFILE_OTHER_UNIT,	/* none, or one that nothing is known of */
	PROFILE_COUNT,
	PROFILE_NANOSECONDS,
	PROFILE_MICROSECONDS,
	PROFILE_MILLISECONDS,
	PROFILE_SECONDS,
	PROFILE_BYTES,
	PROFILE_UNITS,
};

/* How values come about. */
enum profile_measure {
	PROFILE_RATE,		/* things that happen: a value only grows */
	PROFILE_TIME,		/* how long they took: it only grows, too */
	PROFILE_LEVEL,		/* what there is now: it also becomes less */
};

/* What outputs look for by more than how to print it. */
enum profile_role {
	PROFILE_PLAIN,
	PROFILE_SAMPLES,	/* each stands for a period of the event, or of time at a rate */
	PROFILE_CPU_TIME,	/* what samples at a rate stand for */
	/* Blocks of memory, their number or bytes: */
	PROFILE_BLOCKS,		/* all that there ever were */
	PROFILE_BLOCKS_NOW,	/* not freed */
	PROFILE_BLOCKS_PEAK,	/* when all places together had most */
	PROFILE_BLOCKS_MAX,	/* when this place had most */
	PROFILE_BLOCKS_LIFETIME,
};

struct profile_type_words {
	const char *name;	/* of the type; "" in what stands for all others */
	enum profile_role role;
	enum profile_measure measure;
	/* The kernel did what a program asked it for: the asking function is worth a column. */
	int asked;
	const char *verb;	/* what happened to those it counts: "Waited" */
	/* The event of the way of measuring that has this type; NULL: samples of whatever event. */
	const char *event;
};

struct profile_event_words {
	const char *name;	/* of the event, without modifiers where @clock */
	int clock;		/* counts nanoseconds */
	int asked;		/* as above, of samples of it */
	/* what is taken: one, and several */
	const char *one, *many;
	/* What a period is of, and its unit; NULL: the event, "count". */
	const char *period, *period_unit;
	const char *series;	/* how servers call its profiles; NULL: by the event */
};

/* Never NULL; the values live forever. */
const struct profile_type_words *profile_type_words(const char *name);
const struct profile_event_words *profile_event_words(const char *event);
enum profile_unit profile_unit_of(const char *word);

#endif
