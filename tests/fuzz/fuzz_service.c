/* SPDX-License-Identifier: MIT */
/* /proc/PID/cgroup: whatever service it names can be the name of a file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "push/folder.h"
#include "push/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), name[SERVICE_NAME], file[FOLDER_NAME + 1];

	memcpy(text, data, size);
	text[size] = '\0';
	if (service_of_cgroup(text, name)) {
		if (!*name || *name == '.' || strchr(name, '/'))
			abort();
		strcpy(file, name);
		strcat(file, ".20261124T100000.000Z.pb.gz");
		if (!folder_has_name(file, FOLDER_PROFILES))
			abort();
	}
	free(text);
	return 0;
}
