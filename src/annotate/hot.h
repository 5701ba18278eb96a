/* SPDX-License-Identifier: MIT */
/* The functions of a profile that are worth being read, for a page that takes them along. */
#ifndef EBPROF_ANNOTATE_HOT_H
#define EBPROF_ANNOTATE_HOT_H

#include "annotate/annotator.h"

typedef VEC(struct annotation *) annotation_vec;

/*
 * Annotations of the functions with the most samples, each of its hot lines and instructions and
 * what is near them: at most 40, and about half a megabyte of text.
 */
annotation_vec annotate_hot(struct annotator *a, const struct profile *p);
void annotate_hot_free(annotation_vec *v);

#endif
