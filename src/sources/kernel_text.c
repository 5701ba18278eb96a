/* SPDX-License-Identifier: MIT */
#include "sources/kernel_text.h"

#include <stdio.h>
#include <string.h>

void kernel_text_find(__u64 sched[2], __u64 irq[2], __u64 wake[2])
{
	const struct { const char *from, *to; __u64 *text; } wanted[] = {
		{ "__sched_text_start", "__sched_text_end", sched },
		{ "__irqentry_text_start", "__irqentry_text_end", irq },
		{ "try_to_wake_up", NULL, wake },
	};
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512], name[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '[') || sscanf(line, "%llx %*c %255s", &address, name) != 2)
			break;	/* modules follow, and BPF programs */
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
			__u64 *text = wanted[i].text;

			if (!strcmp(name, wanted[i].from))
				text[0] = address;
			else if (text[0] && !text[1] && address > text[0] &&
				 (!wanted[i].to || !strcmp(name, wanted[i].to)))
				text[1] = address;
		}
	}
	if (f)
		fclose(f);
}
