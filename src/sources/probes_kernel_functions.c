/* SPDX-License-Identifier: MIT */
#include "sources/probes_kernel_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "probes/names.h"

/* Names stand beside one another where several functions have one. */
static int is_last(const string_vec *names, const char *name)
{
	return names->n && !strcmp(names->v[names->n - 1], name);
}

/* "ffffffff81000000 T name\t[module]" */
void kernel_functions(const char *pattern, string_vec *names)
{
	struct probe_pattern p;
	FILE *f = probe_pattern_open(&p, pattern) ? NULL : fopen("/proc/kallsyms", "re");
	char line[1024], *name;

	while (f && fgets(line, sizeof(line), f)) {
		strtoull(line, &name, 16);
		if (strlen(name) < 4 || (name[1] | 0x20) != 't')
			continue;
		name += 3;
		name[strcspn(name, "\t\n")] = '\0';
		if (probe_pattern_matches(&p, name) && !is_last(names, name))
			vec_push(names, xstrdup(name));
	}
	if (f)
		fclose(f);
	probe_pattern_close(&p);
}

int kernel_has_kprobes(void)
{
	return !access("/sys/bus/event_source/devices/kprobe/type", F_OK);
}
