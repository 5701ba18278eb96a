/* SPDX-License-Identifier: MIT */
/*
 * A folder of profiles, one file for each service and window: SERVICE.20261124T100000.000Z.pb.gz,
 * by the time at which the window began (UTC). Files of such names that are older than wanted, or
 * make it larger than wanted, are removed, the oldest first; no others are.
 *
 * Files are made as the invoking user, whole or not at all, readable by their owner alone.
 */
#ifndef EBPROF_FOLDER_H
#define EBPROF_FOLDER_H

#include <stdint.h>

#include "base/error.h"
#include "base/keeper.h"
#include "base/user.h"
#include "push/service.h"

#define FOLDER_NAME (SERVICE_NAME + 32)

struct folder_options {
	uint64_t keep_for;	/* ns */
	uint64_t keep_bytes;
};

struct folder;

/* It exists, and may be written to. NULL with @e filled. */
struct folder *folder_open(const char *path, const struct user *u, const struct folder_options *o,
			   struct error *e);
void folder_free(struct folder *f);
/* From now on @k does it: its job number @job is folder_keep(). */
void folder_delegate(struct folder *f, struct keeper *k, size_t job);
int folder_keep(void *folder, const void *bytes, size_t size);
/* @start: ns of CLOCK_REALTIME. 0 or a negative errno. */
int folder_write(struct folder *f, const char *service, uint64_t start, const void *bytes,
		 size_t size);
const char *folder_path(const struct folder *f);
/* 1 where @name is that of such a file. */
int folder_has_name(const char *name);

#endif
