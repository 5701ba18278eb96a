/* SPDX-License-Identifier: MIT */
#include "sources/kernel_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of "ADDRESS TYPE NAME": the name; NULL: modules follow, and BPF programs. */
static const char *name_of(char *line)
{
	char *type = strchr(line, ' '), *name = type ? strchr(type + 1, ' ') : NULL;

	if (!name || strchr(name, '['))
		return NULL;
	name[strcspn(name, "\n")] = '\0';
	return name + 1;
}

/* There are a hundred thousand lines: what is done for each of them counts. */
void kernel_text_find(__u64 sched[2], __u64 irq[2], __u64 wake[2])
{
	const struct { const char *from, *to; __u64 *text; } wanted[] = {
		{ "__sched_text_start", "__sched_text_end", sched },
		{ "__irqentry_text_start", "__irqentry_text_end", irq },
		{ "try_to_wake_up", NULL, wake },
	};
	FILE *f = fopen("/proc/kallsyms", "re");
	const char *name;
	char line[512];

	while (f && fgets(line, sizeof(line), f) && (name = name_of(line))) {
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
			__u64 *text = wanted[i].text;

			if (!strcmp(name, wanted[i].from))
				text[0] = strtoull(line, NULL, 16);
			else if (text[0] && !text[1] &&
				 (!wanted[i].to || !strcmp(name, wanted[i].to)) &&
				 strtoull(line, NULL, 16) > text[0])
				text[1] = strtoull(line, NULL, 16);
		}
	}
	if (f)
		fclose(f);
}
