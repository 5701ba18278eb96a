/* SPDX-License-Identifier: MIT */
/* A saved profile on the terminal, until the user has seen enough. */
#ifndef EBPROF_BROWSE_H
#define EBPROF_BROWSE_H

#include "base/error.h"
#include "base/user.h"
#include "profile/profile.h"

/*
 * @name: of the file, clean text; @u gets files that are saved. 0, or a negative errno with @e
 * filled.
 */
int browse_profile(const struct profile *p, const char *name, const struct user *u,
		   struct error *e);

#endif
