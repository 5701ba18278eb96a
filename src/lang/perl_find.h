/* SPDX-License-Identifier: MIT */
/* What a Perl does not export, found by its code (x86-64). */
#ifndef EBPROF_PERL_FIND_H
#define EBPROF_PERL_FIND_H

#include "lang/code_text.h"
#include "lang/lang.h"

/*
 * The function that runs an eval in a loop of its own, where C waits for errors (docatch), and
 * those that call it: ranges of the file (LANG_RUNS_AGAIN) behind those in @out. 0, or -ENOENT: it
 * is not there, or not one alone.
 */
int perl_find_again(const struct code_text *t, struct lang_image *out);

#endif
