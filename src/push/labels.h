/* SPDX-License-Identifier: MIT */
/*
 * Labels that the user gives to all that is pushed: KEY=VALUE, or from the environment. Keys are
 * letters, digits and "._-/"; a value is cleaned.
 */
#ifndef EBPROF_LABELS_H
#define EBPROF_LABELS_H

#include "base/error.h"
#include "base/vec.h"
#include "push/body.h"

#define LABELS_MOST 32
#define LABEL_KEY_MOST 64	/* bytes, with its end */
#define LABEL_VALUE_MOST 256

/* Strings are malloc'd. */
typedef VEC(struct push_label) label_vec;

/*
 * @given: "KEY=VALUE"; @from: "KEY=VARIABLE" or "VARIABLE". A variable that is not set gives none.
 * 0, or -EINVAL with @e filled: it is none, there are too many, or a key is there already or one of
 * ours.
 */
int labels_make(label_vec *out, const string_vec *given, const string_vec *from, struct error *e);
void labels_free(label_vec *labels);

#endif
