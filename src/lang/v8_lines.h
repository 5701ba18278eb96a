/* SPDX-License-Identifier: MIT */
#ifndef EBPROF_V8_LINES_H
#define EBPROF_V8_LINES_H

#include <stdint.h>

#include "lang/lang.h"

/* The line of @place (struct ebp_v8_code) in @code; 0: not known. */
uint32_t v8_line(const struct lang_code *code, uint32_t place);

#endif
