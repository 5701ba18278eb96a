/* SPDX-License-Identifier: MIT */
/*
 * From a row of CFI to the 16-bit rule that says the same.
 */
#ifndef EBPROF_UNWIND_TABLE_RULE_H
#define EBPROF_UNWIND_TABLE_RULE_H

#include <stdint.h>

#include "bpf/unwind.h"
#include "dwarf/cfi.h"

/*
 * The rule for @row on @machine (EM_X86_64, EM_AARCH64). Where only an exotic
 * rule says it, *@exotic is filled and EBP_RULE_SPECIAL | EBP_RULE_EXOTIC is returned;
 * the caller adds the index. What no rule can say is EBP_RULE_UNSUPPORTED.
 */
uint16_t unwind_rule(uint16_t machine, const struct cfi_row *row, struct ebp_exotic *exotic);

#endif
