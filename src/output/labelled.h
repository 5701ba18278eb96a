/* SPDX-License-Identifier: MIT */
/* Samples summed up by a label of theirs, such as the container that they are of. */
#ifndef EBPROF_LABELLED_H
#define EBPROF_LABELLED_H

#include "base/strtab.h"
#include "output/columns.h"
#include "profile/profile.h"

#define LABELLED_NONE "[none]"	/* the samples that have no such label */

/* 1 where a sample has a label of this key. */
int labelled_has(const struct profile *p, const char *key);
/* Which of @texts each label set has as the value of the label @key. The caller frees it. */
uint32_t *labelled_sets(const struct profile *p, const char *key, struct strtab *texts);
/* The samples of each of the @ntexts texts, for these sets. The caller frees it. */
uint64_t *labelled_sums(const struct profile *p, const uint32_t *of_set, uint32_t ntexts);
/*
 * A row for each value that the label @key has, the most samples first, then by its text, which is
 * put into @texts. The caller frees it.
 */
row_vec labelled_rows(const struct profile *p, const char *key, struct strtab *texts);

#endif
