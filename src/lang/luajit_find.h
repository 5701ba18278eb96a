/* SPDX-License-Identifier: MIT */
/*
 * Where a LuaJIT 2.1 keeps what its frames are of (x86-64).
 *
 * Its releases have no numbers to go by, and their structures differ: so the interpreter's own code
 * says where they are, which no compiler made (src/vm_x64.dasc, vm_x86.dasc of LuaJIT) and which is
 * the same in all of them.
 */
#ifndef EBPROF_LUAJIT_FIND_H
#define EBPROF_LUAJIT_FIND_H

#include "bpf/luajit.h"
#include "lang/code_text.h"
#include "lang/lang.h"

/*
 * The interpreter, a range of the file, which is the function that enters traces; what it says goes
 * to @layout. 0, or -ENOENT: there is none, or another one than we know.
 */
int luajit_find_layout(const struct code_text *t, struct ebp_luajit *layout,
		       struct lang_range *loop);

#endif
