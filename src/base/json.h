/* SPDX-License-Identifier: MIT */
/*
 * A streaming writer of JSON (RFC 8259): commas, nesting and escapes are its
 * business, so that what comes out is well formed. Texts must be clean (base/text.h);
 * <, > and & are escaped as well, so that JSON may stand in an HTML <script>.
 *
 *	struct json j = { .f = f };
 *	json_object(&j, NULL);
 *	json_uint(&j, "total", 3);
 *	json_array(&j, "names");
 *	json_string(&j, NULL, "main");
 *	json_end(&j);
 *	json_end(&j);
 *
 * @key: the member's name in an object, NULL in an array and at the top.
 */
#ifndef EBPROF_JSON_H
#define EBPROF_JSON_H

#include <stdint.h>

#include "base/outfile.h"

#define JSON_DEPTH 32		/* objects and arrays in one another, at most */

struct json {
	struct outfile *f;
	unsigned int depth;
	char close[JSON_DEPTH];	/* what ends each of them */
	char more[JSON_DEPTH];	/* there is an element before the next one */
};

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j);
void json_string(struct json *j, const char *key, const char *text);
void json_uint(struct json *j, const char *key, uint64_t n);
void json_int(struct json *j, const char *key, int64_t n);
/* Not finite: null. */
void json_double(struct json *j, const char *key, double n);
void json_bool(struct json *j, const char *key, int b);
void json_null(struct json *j, const char *key);
/* @n / 10^@digits, exactly: 1500 with 3 is 1.500. */
void json_decimal(struct json *j, const char *key, uint64_t n, unsigned int digits);
/*
 * A string: what is written to the file that this returns, as base64. json_bytes_end() ends it, and
 * until then nothing else may be written.
 */
struct outfile *json_bytes(struct json *j, const char *key);
void json_bytes_end(struct json *j, struct outfile *bytes);
/* Ends the line between values at the top (NDJSON). */
void json_newline(struct json *j);

#endif
