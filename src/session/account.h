/* SPDX-License-Identifier: MIT */
/*
 * What became of the samples: the account of a profile that is being recorded.
 */
#ifndef EBPROF_ACCOUNT_H
#define EBPROF_ACCOUNT_H

#include "collect/collector.h"
#include "profile/profile.h"
#include "session/assembler.h"

/* Fills in all samples until now, as far as they were fetched. */
void account_fill(struct profile *p, const struct collector *c, const struct assembler *a);
/* At the end, after account_fill(): what is known of samples that were not fetched. */
void account_complete(struct profile *p, const struct collector *c);

#endif
