/* SPDX-License-Identifier: MIT */
#include "lang/v8_lines.h"

uint32_t v8_line(const struct lang_code *code, uint32_t place)
{
	(void)place;
	return code->first_line;
}
