/* SPDX-License-Identifier: MIT */
/* Code of any bytes, followed from a place that the first byte chooses to where it returns. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind.h"
#include "unwind/step/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *code;
	uint16_t rule;

	if (size < 2)
		return 0;
	/* Of just that size, so that a read past it is seen. */
	code = malloc(size - 1);
	memcpy(code, data + 1, size - 1);
	rule = unwind_code_rule(code, size - 1, data[0]);
	/* A plain one, whose return address lies above where the stack pointer was. */
	if (rule & EBP_RULE_SPECIAL || (rule && !(rule & EBP_RULE_OFFSET_MASK)))
		abort();
	free(code);
	return 0;
}
