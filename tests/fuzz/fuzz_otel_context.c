/* SPDX-License-Identifier: MIT */
/* What a process publishes of itself: whatever it is, it becomes the name of a file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/otel_context.h"
#include "push/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[OTEL_SERVICE], name[SERVICE_NAME];

	if (otel_context_service(data, size, text)) {
		service_name(text, name);
		if (!*name || *name == '.' || strchr(name, '/'))
			abort();
	}
	return 0;
}
