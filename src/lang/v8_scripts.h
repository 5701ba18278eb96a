/* SPDX-License-Identifier: MIT */
/* Where the lines of scripts end, kept from function to function. */
#ifndef EBPROF_V8_SCRIPTS_H
#define EBPROF_V8_SCRIPTS_H

#include "lang/v8_memory.h"

struct v8_scripts;

/* As lang_ops.open and .close. */
void *v8_scripts_new(void);
void v8_scripts_free(void *scripts);

/* The line of @position in a script, from 1 on; 0: not known. */
struct v8_script;
uint32_t v8_script_line(const struct v8_script *s, uint64_t position);

/*
 * The script that @c is of, in the process @process; NULL: it is of none. It is there until the
 * next one is asked for. What could not be read is not asked for again.
 */
const struct v8_script *v8_scripts_find(struct v8_scripts *scripts, struct v8_env *env,
					const struct ebp_process *process,
					const struct ebp_v8_code *c);

#endif
