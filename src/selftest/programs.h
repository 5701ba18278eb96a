/* SPDX-License-Identifier: MIT */
/*
 * The programs that `ebprof selftest` records: one row each, of native code and of each runtime.
 *
 * All of them do the same: main() calls rest(), which sleeps, a known number of times; then two()
 * and one() in turn, of which the first has spin() work twice as long, until a known CPU time is
 * used. At their end they say on standard error what they did, in one line:
 *
 *	selftest VERSION A B
 *
 * of runtimes and native code A is the CPU time that all of that took, B the time that all of
 * rest() took, both in ns; of the program that allocates, A is the number of its blocks and B that
 * of their bytes.
 */
#ifndef EBPROF_PROGRAMS_H
#define EBPROF_PROGRAMS_H

#include <stdint.h>

#define SELFTEST_BUSY 800000000	/* ns of CPU time */
#define SELFTEST_RESTS 10	/* how often they rest */
#define SELFTEST_REST 20	/* ms of each */
#define SELFTEST_WORD "selftest"	/* with which the line begins */

/* What a recording of one shows. */
enum {
	SELFTEST_SHARES = 1,	/* CPU time of two() and one() */
	SELFTEST_WAITS = 2,	/* of rest() */
	SELFTEST_BLOCKS = 4,	/* memory that two() and one() allocate */
};

/* The functions. */
enum selftest_function {
	SELFTEST_MAIN, SELFTEST_ONE, SELFTEST_TWO, SELFTEST_SPIN, SELFTEST_REST_FUNCTION,
	SELFTEST_FUNCTIONS
};
extern const char *const known_functions[SELFTEST_FUNCTIONS];

struct selftest_program {
	const char *name;
	unsigned int judged;
	const char *how[4];	/* the command of ebprof that records it, with options */
	const char *scope;	/* before the names of its functions */
	const char *option;	/* of the runtime, for @script; NULL: native_run() of that name */
	const char *script;
	int as_file;		/* @script is no word of the command, but a file that it names */
	int preloads;		/* into the program, which cannot be static then */
};

/* Ends with a row whose name is NULL. */
extern const struct selftest_program known_programs[];

#endif
