/* SPDX-License-Identifier: MIT */
/*
 * V8's objects in the memory of a process as it is by now: the readers of the BPF programs,
 * compiled natively. Objects move and memory is used again, so whoever reads checks types.
 */
#ifndef EBPROF_V8_MEMORY_H
#define EBPROF_V8_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/lang.h"
#include "bpf/v8.h"
#include "lang/lang.h"

#define V8_READS_MAX	4096	/* for one code */
#define V8_TABLE_MAX	49152	/* bytes of a table */

struct v8_env {
	const struct lang_reader *reader;
	pid_t pid;
	uint32_t reads;		/* so far */
};

/* A record, with room for its table. */
union v8_record {
	struct ebp_code code;
	uint8_t bytes[sizeof(struct ebp_code) + EBP_CODE_TABLE];
};

/* A string, or the part of it that is wanted: where its characters lie. */
struct v8_characters {
	uint64_t address;
	uint64_t length;	/* characters */
	unsigned width;		/* bytes of one */
};

/* 0, or negative: it cannot be read, or too much was read already. */
int v8_memory(struct v8_env *env, void *to, size_t size, uint64_t address);
/* A word. 0 also where it cannot be read. */
uint64_t v8_memory_word(struct v8_env *env, uint64_t address);
/* The function that is the SharedFunctionInfo at the tagged @at. 0, or negative: it is none. */
int v8_memory_function(struct v8_env *env, const struct ebp_v8 *o, uint64_t at,
		       union v8_record *out);
/* Of the string at the tagged @at. 0, or negative. */
int v8_memory_string(struct v8_env *env, const struct ebp_v8 *o, uint64_t at,
		     struct v8_characters *out);

struct v8_compiled {
	uint64_t code;		/* tagged */
	uint64_t start;		/* of its instructions */
	uint32_t size;		/* bytes of them */
	uint32_t flags;
};

/* The code that has @pc. 0, or negative: it is not found. */
int v8_memory_code(struct v8_env *env, const struct ebp_v8 *o, uint64_t pc,
		   struct v8_compiled *out);
/* The bytes of the table at the tagged @at, in a malloc'd block; NULL: it is none. */
uint8_t *v8_memory_table(struct v8_env *env, const struct ebp_v8 *o, uint64_t at, size_t *n);

#endif
