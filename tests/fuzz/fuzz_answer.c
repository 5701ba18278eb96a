/* SPDX-License-Identifier: MIT */
/* The answer of a server: whatever it is, what is said of it is short and clean. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "push/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_answer a;
	char why[512], clean[512];

	a.status = 200;
	a.grpc_status = -1;
	a.size = size < sizeof(a.body) ? size : sizeof(a.body);
	memcpy(a.body, data, a.size);
	for (int protocol = ANSWER_PLAIN; protocol <= ANSWER_GRPC_WEB; protocol++) {
		why[0] = '\0';
		answer_judge((enum answer_protocol)protocol, &a, why, sizeof(why));
		text_clean(clean, sizeof(clean), why);
		if (strcmp(clean, why))
			abort();
	}
	return 0;
}
