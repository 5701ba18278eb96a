/* SPDX-License-Identifier: MIT */
/* What is known of containers, each looked for once. */
#ifndef EBPROF_CONTAINERS_H
#define EBPROF_CONTAINERS_H

#include <stdint.h>

#include "proc/container.h"

#define CONTAINERS_KEPT 256	/* the last ones that were looked for */

struct containers;

struct containers *containers_new(void);
void containers_free(struct containers *c);
/* The number of a container, from 1 on; it is looked for where it is not known. */
uint32_t containers_number(struct containers *c, const char id[CONTAINER_ID]);
/* The container of @number, of which more than the id need not be known; NULL: no longer. */
const struct container *containers_at(const struct containers *c, uint32_t number);

#endif
