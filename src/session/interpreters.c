/* SPDX-License-Identifier: MIT */
#include "session/interpreters.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "lang/lang.h"
#include "proc/procfs.h"

static void look_at(void *ctx, pid_t pid)
{
	struct interpreters *in = ctx;
	char path[32], program[PATH_MAX];
	struct procfs_stat st;
	uint32_t languages;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, program, sizeof(program) - 1);
	if (n <= 0)
		return;
	program[n] = '\0';
	languages = lang_hinted(program);
	if (languages && !procfs_stat(pid, &st))
		vec_push(&in->all, (struct interpreter){ pid, languages, st.ran });
}

void interpreters_find(struct interpreters *in)
{
	procfs_each(look_at, in);
}

void interpreters_free(struct interpreters *in)
{
	vec_free(&in->all);
}

uint32_t interpreters_ran(const struct interpreters *in)
{
	struct procfs_stat st;
	uint32_t languages = 0;

	for (size_t i = 0; i < in->all.n; i++)
		if (!procfs_stat(in->all.v[i].pid, &st) && st.ran != in->all.v[i].ran)
			languages |= in->all.v[i].languages;
	return languages;
}
