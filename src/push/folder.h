/* SPDX-License-Identifier: MIT */
/*
 * A folder of profiles, one file for each service and window: SERVICE.20261124T100000.000Z.pb.gz,
 * by the time at which the window began (UTC). SERVICE.off-cpu, SERVICE.wall and
 * SERVICE.page-faults have what is not samples of an event. Files of such names that are older than
 * wanted, or make it larger than wanted, are removed, the oldest first; no others are. What waits
 * to be sent (spool.h) is such a folder with another suffix.
 *
 * Files are made as the invoking user, whole or not at all, readable by their owner alone.
 */
#ifndef EBPROF_FOLDER_H
#define EBPROF_FOLDER_H

#include <stdint.h>

#include "base/error.h"
#include "base/keeper.h"
#include "base/user.h"
#include "base/vec.h"
#include "push/service.h"

#define FOLDER_NAME (SERVICE_NAME + 64)
#define FOLDER_PROFILES ".pb.gz"

struct folder_options {
	uint64_t keep_for;	/* ns */
	uint64_t keep_bytes;
	const char *suffix;	/* of names, a literal */
	/*
	 * A file was written, or removed to make room, by whoever writes. NULL: nobody wants to
	 * know.
	 */
	void (*written)(void *ctx, const char *name, uint64_t size);
	void (*removed)(void *ctx, const char *name, uint64_t size);
	void *ctx;
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
/* A descriptor of it (O_PATH), the folder's. */
int folder_dir(const struct folder *f);
/* 1 where @name is that of such a file. */
int folder_has_name(const char *name, const char *suffix);
/* Bytes of such a name that are the service; when the window began, ns of CLOCK_REALTIME. */
size_t folder_name_service(const char *name, const char *suffix, uint64_t *start);

struct folder_file {
	char *name;		/* malloc'd */
	uint64_t time;		/* ns of CLOCK_REALTIME: written */
	uint64_t size;
};
typedef VEC(struct folder_file) folder_file_vec;

/* The files in @dir, the oldest first; folder_list_free() frees them. */
void folder_list(int dir, const char *suffix, folder_file_vec *files);
void folder_list_free(folder_file_vec *files);

#endif
