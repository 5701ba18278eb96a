/* SPDX-License-Identifier: MIT */
/*
 * What a stripped CRuby does not export, found by what the code of exported functions says
 * (x86-64): where a thread has its execution context, where names of symbols are, and which code
 * is the interpreter's loop.
 */
#ifndef EBPROF_RUBY_FIND_H
#define EBPROF_RUBY_FIND_H

#include "lang/code_text.h"
#include "lang/lang.h"

/* Functions that are exported; addresses, 0: it is not there. */
struct ruby_functions {
	uint64_t current_receiver, native_thread_p, id2str;
	uint64_t vm_exec;	/* to 3.1 */
};

struct ruby_context {
	uint64_t slot;		/* address; as in struct ebp_ruby */
	int64_t distance;
	uint32_t flags;
};

/* The execution context, as a thread-local variable, or as one that is specific to the thread. */
int ruby_find_context(const struct code_text *t, uint64_t current_receiver,
		      struct ruby_context *out);
int ruby_find_key(const struct code_text *t, uint64_t native_thread_p, struct ruby_context *out);

struct ruby_symbols {
	uint64_t ids;		/* address of the variable with the array of names */
	uint32_t last_operator;
};
int ruby_find_symbols(const struct code_text *t, uint64_t id2str, struct ruby_symbols *out);

/* Where it says whether the collector runs; as in struct ebp_ruby. */
struct ruby_collector {
	/* address of its variable, or of a slot with that (EBP_RUBY_VM_SLOT) */
	uint64_t vm;
	uint32_t space, flags;
	uint8_t mask, at;
};
int ruby_find_collector(const struct code_text *t, uint64_t during_gc, struct ruby_collector *out);

/*
 * The interpreter's loop, and the function that calls it: ranges in the file into @out, which are
 * sorted. 0, or -ENOENT. @vm_exec: 0, or one that has to be among those that call it.
 */
int ruby_find_interpreter(const struct code_text *t, uint64_t vm_exec, struct lang_image *out);

#endif
