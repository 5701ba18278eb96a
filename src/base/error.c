/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int error_set(struct error *e, enum status status, int err, const char *fmt, ...)
{
	char raw[sizeof(e->text)];
	va_list ap;

	if (!e)
		return err;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	e->status = status;
	text_clean(e->text, sizeof(e->text), raw);
	return err;
}
