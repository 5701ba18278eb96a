/* SPDX-License-Identifier: MIT */
/* Lines of /proc/PID/maps: whatever is accepted keeps what maps.h promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct maps_line m;

	memcpy(line, data, size);
	line[size] = '\0';
	if (!maps_parse_line(line, &m) &&
	    (m.end <= m.start || m.offset + (m.end - m.start) < m.offset || m.path < line ||
	     m.path + strlen(m.path) > line + size || m.path[0] == ' ' || (m.executable & ~1)))
		abort();
	free(line);
	return 0;
}
