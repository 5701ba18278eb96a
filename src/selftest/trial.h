/* SPDX-License-Identifier: MIT */
/*
 * Records one program of ours as a user would: ebprof itself is started, with the program behind
 * `--`, and the profile that it writes is read back.
 */
#ifndef EBPROF_TRIAL_H
#define EBPROF_TRIAL_H

#include "base/error.h"
#include "selftest/judge.h"

/*
 * Fills @o for @p, as far as to its state. STATUS_OK, or with what status a recording ended that
 * could not be made.
 */
enum status trial_run(const struct selftest_program *p, struct outcome *o);

#endif
