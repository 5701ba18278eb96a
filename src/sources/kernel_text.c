/* SPDX-License-Identifier: MIT */
#include "sources/kernel_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

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
static void *find(void *arg)
{
	struct kernel_text *k = arg;
	const struct { const char *from, *to; __u64 *text; } wanted[] = {
		{ "__sched_text_start", "__sched_text_end", k->found.sched },
		{ "__irqentry_text_start", "__irqentry_text_end", k->found.irq },
		{ "try_to_wake_up", NULL, k->found.wake },
	};
	const char *name;
	char line[512];

	while (fgets(line, sizeof(line), k->file) && (name = name_of(line))) {
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
	return NULL;
}

void kernel_text_begin(struct kernel_text *k)
{
	k->file = fopen("/proc/kallsyms", "re");
	k->threaded = k->file && !thread_start(&k->thread, find, k);
	if (k->file && !k->threaded)
		find(k);
}

void kernel_text_end(struct kernel_text *k)
{
	if (!k->file)
		return;
	if (k->threaded)
		pthread_join(k->thread, NULL);
	fclose(k->file);
	k->file = NULL;
}
