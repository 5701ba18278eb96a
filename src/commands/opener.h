/* SPDX-License-Identifier: MIT */
/* Shows a user a page in his browser. */
#ifndef EBPROF_OPENER_H
#define EBPROF_OPENER_H

#include "base/user.h"

/*
 * Starts xdg-open as @u, and goes on; before there are threads. @url is a secret: it is not on a
 * command line, which all users can read, but in a file of @u's that leads there, and is removed
 * when that was read. What goes wrong is xdg-open's to say.
 */
void opener_show(const char *url, const struct user *u);

#endif
