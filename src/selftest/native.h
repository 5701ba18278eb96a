/* SPDX-License-Identifier: MIT */
/*
 * The native programs of `ebprof selftest`. Their functions are exported from ebprof: by names that
 * `strip` leaves there.
 */
#ifndef EBPROF_NATIVE_H
#define EBPROF_NATIVE_H

/* What the program called @name does (programs.h). 0, or -EINVAL where there is none. */
int native_run(const char *name);

/* What two() and one() do so often. */
typedef void selftest_work(unsigned int times);

selftest_work selftest_spin, selftest_allocate;
void selftest_one(selftest_work *work, unsigned int times);
void selftest_two(selftest_work *work, unsigned int times);
void selftest_rest(void);

struct native_program;
void selftest_main(const struct native_program *p);

#endif
