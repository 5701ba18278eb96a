/* SPDX-License-Identifier: MIT */
/*
 * What the unit tests need of maps.c: lines that come in pieces.
 */
#ifndef EBPROF_MAPS_INTERNAL_H
#define EBPROF_MAPS_INTERNAL_H

#include "proc/maps.h"

/* maps_for_each_executable() over @fd, to its end. -ESRCH where it is empty. */
int maps_read(int fd, maps_fn fn, void *arg);

#endif
