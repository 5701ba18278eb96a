/* SPDX-License-Identifier: MIT */
/* CPython's frames of a thread that sleeps, read from outside (lang_ops.walk). */
#ifndef EBPROF_PYTHON_WALK_H
#define EBPROF_PYTHON_WALK_H

#include "lang/lang.h"

size_t python_walk(const struct lang_walk *w, uint64_t *words);

#endif
