/* SPDX-License-Identifier: MIT */
/* Where containers are listed; see container.h. */
#ifndef EBPROF_CONTAINER_FILES_H
#define EBPROF_CONTAINER_FILES_H

#include <stddef.h>

#define CONTAINERS_MOST 16384	/* entries of a folder that are looked at */
#define CONTAINER_LOGS "/var/log/containers"

/* A folder that has one for each container, named by its id, and a file of JSON in that. */
struct container_place { const char *folder, *file; };
extern const struct container_place container_places[];	/* the last one is {0} */

/* 1 where @text, of @n bytes, is the whole id of a container. */
int container_is_id(const char *text, size_t n);

#endif
