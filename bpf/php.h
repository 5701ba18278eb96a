/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PHP in a process: its layout (lang.h). */
#ifndef EBPROF_PHP_H
#define EBPROF_PHP_H

#include "bpf/lang.h"

/*
 * Where PHP keeps what; offsets in bytes, those of a function below the sizes beside them. What no
 * version has moved is in php_step.h.
 */
struct ebp_php {
	/*
	 * offset from the mapping's bias, of executor_globals.current_execute_data; of a
	 * thread-safe build (ZTS), of the number of the key by which a thread has its globals
	 */
	__u64 current;
	__u16 version;		/* 100 * major + minor */
	/* of zend_op_array: */
	__u16 user_bytes;	/* that are read of it: at most 255 */
	__u16 opcodes, last, file, lines;
	/* of zend_internal_function: */
	__u16 internal_bytes;	/* at most 255 */
	__u16 handler;
	/* of zend_generator: */
	__u16 generator_data, generator_parent, generator_fake;
	/*
	 * of a thread-safe build, else 0: of struct pthread its first block of keys; of
	 * zend_executor_globals current_execute_data; and, from the mapping's bias, of where it is
	 * said where in a thread's globals the former are
	 */
	__u16 keys;
	__u64 globals;
	__u64 in_globals;
};
_Static_assert(sizeof(struct ebp_php) == 48, "wire");

_Static_assert(sizeof(struct ebp_php) <= 8 * EBP_LAYOUT_WORDS, "wire");

#endif
