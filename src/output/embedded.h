/* SPDX-License-Identifier: MIT */
/*
 * The whole profile inside a file that shows a part of it: a member "pprof" of a JSON object, gzip
 * in base64. Formats for people and for other tools have no field for much of a profile; with this
 * input/embedded_read has it again as it was. Readers of these formats skip members that they do
 * not know.
 */
#ifndef EBPROF_EMBEDDED_H
#define EBPROF_EMBEDDED_H

#include "base/json.h"
#include "profile/profile.h"

void embedded_write(struct json *j, const struct profile *p);

#endif
