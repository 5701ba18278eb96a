/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int error_set(struct error *e, enum status status, int err, const char *fmt, ...)
{
	/*
	 * So much longer that a character cut here is past the cut below: no U+FFFD of our own
	 * making.
	 */
	char raw[sizeof(e->text) + 3];
	va_list ap;

	if (!e)
		return err;
	va_start(ap, fmt);
	if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
		raw[0] = '\0';
	va_end(ap);
	e->status = status;
	e->details[0] = '\0';
	text_clean(e->text, sizeof(e->text), raw);
	return err;
}
