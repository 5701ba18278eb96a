/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Perl in a process: its layout (lang.h). */
#ifndef EBPROF_PERL_H
#define EBPROF_PERL_H

#include "bpf/lang.h"

/* Where a threaded Perl keeps what; offsets in bytes. What none has moved is in perl_step.h. */
struct ebp_perl {
	__u64 key;		/* offset from the mapping's bias, of PL_thr_key */
	__u16 version;		/* 100 * revision + version: 536 */
	/* of the interpreter: PL_curcop, behind it PL_curstack and PL_curstackinfo */
	__u16 cop;
	/* of PERL_CONTEXT: its size, and its sub */
	__u16 context_bytes, context_cv;
	__u16 stack_type;	/* of PERL_SI */
	/* numbers of ops: nextstate, of which the next one is dbstate; require, do FILE */
	__u16 op_state, op_require;
	__u16 keys;		/* of struct pthread: its first block of keys (ebp_python) */
	/* a hash has what is rare, as a package's name, behind its array, not behind its body */
	__u16 aux_behind;
	__u16 reserved[3];
};
_Static_assert(sizeof(struct ebp_perl) == 32, "wire");

_Static_assert(sizeof(struct ebp_perl) <= 8 * EBP_LAYOUT_WORDS, "wire");

/* What a record of code has as its table's address: what a frame is that is no sub's. */
#define EBP_PERL_FILE	1	/* a file's own code: the program's, or one that was required */

#endif
