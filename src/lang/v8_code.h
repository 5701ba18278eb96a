/* SPDX-License-Identifier: MIT */
/* What a place in code of V8 is: lines, and functions that a compiler inlined. */
#ifndef EBPROF_V8_CODE_H
#define EBPROF_V8_CODE_H

#include "lang/lang.h"

/* As in struct lang_ops. */
void v8_complete(struct lang_code *code, const struct ebp_code *record,
		 const struct lang_reader *r);
void v8_release(struct lang_code *code);
uint32_t v8_line(const struct lang_code *code, uint32_t place);
size_t v8_frames(const struct lang_code *code, uint32_t place, struct lang_frame *out, size_t max);

#endif
