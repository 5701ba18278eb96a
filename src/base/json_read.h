/* SPDX-License-Identifier: MIT */
/*
 * Finds strings in JSON (RFC 8259) that others wrote: bounded depth, no memory of its own. What is
 * no string is skipped; what is no JSON ends the walk.
 */
#ifndef EBPROF_JSON_READ_H
#define EBPROF_JSON_READ_H

#include <stddef.h>

#define JSON_READ_DEPTH 16	/* objects and arrays in one another, at most */

/* The keys that lead to a string: from the outermost on; "" for an element of an array. */
struct json_path {
	const char *keys[JSON_READ_DEPTH];
	unsigned int n;
};

/* @text is a string, decoded, with "?" for what is not ASCII; NULL at the end of an object. */
typedef void json_see(void *ctx, const struct json_path *path, const char *text);

/* @text has a NUL at [@n], and is changed. 0, or -EINVAL where it is no JSON or too deep. */
int json_read_strings(char *text, size_t n, json_see *see, void *ctx);
/* 1 where the last keys of @path are these, from the outermost on, with dots between them. */
int json_path_is(const struct json_path *path, const char *const *keys, unsigned int n);

#endif
