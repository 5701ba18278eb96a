/* SPDX-License-Identifier: MIT */
/* Where PHP's interpreter jumps to what opcache's JIT has compiled, which runs on its frame. */
#ifndef EBPROF_PHP_JUMP_H
#define EBPROF_PHP_JUMP_H

#include "bpf/lang.h"
#include "elf/elf_file.h"

/*
 * The jump of the interpreter's loop, which @out has, and the rule there (struct ebp_layout).
 * @skew: of its code, address less offset. Where the code is another, as of a virtual machine of
 * calls, nothing.
 */
void php_find_jump(const struct elf_file *f, uint64_t skew, struct ebp_layout *out);

#endif
