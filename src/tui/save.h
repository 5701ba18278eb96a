/* SPDX-License-Identifier: MIT */
/* A profile to a file, in the format that its name says, and a line that says how that went. */
#ifndef EBPROF_SAVE_H
#define EBPROF_SAVE_H

#include <stddef.h>

#include "base/user.h"
#include "profile/profile.h"

void save_profile(const struct profile *p, const char *path, const struct user *u, char *told,
		  size_t size);

#endif
