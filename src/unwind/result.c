/* SPDX-License-Identifier: MIT */
#include "unwind/result.h"

#include <stddef.h>

static const char *const names[EBP_RESULTS] = {
	[EBP_DEPTH] = "depth",
	[EBP_UNREADABLE] = "unreadable",
	[EBP_NO_PROCESS] = "no process",
	[EBP_NO_MAPPING] = "no mapping",
	[EBP_NO_TABLE] = "no table",
	[EBP_NO_CFI] = "no CFI",
	[EBP_UNSUPPORTED] = "unsupported CFI",
	[EBP_LOST_REGISTER] = "lost register",
	[EBP_BAD_CFA] = "bad CFA",
	[EBP_ZERO_RETURN] = "zero return address",
	[EBP_UPROBE] = "uprobe",
	[EBP_UNSENT] = "ring buffer full",
	[EBP_BUSY] = "preempted probe",
};

const char *unwind_result_name(enum ebp_result result)
{
	return names[result];
}
