/* SPDX-License-Identifier: MIT */
#include "collect/pmu_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xalloc.h"

int pmu_is_word(const char *s, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_.-";

	return len && s[0] != '.' && strspn(s, letters) >= len;
}

int pmu_exists(const char *devices, const char *pmu)
{
	char *path = xasprintf("%s/%s/type", devices, pmu);
	int there = !access(path, F_OK);

	free(path);
	return there;
}

size_t pmu_family(const char *pmu)
{
	size_t len = strlen(pmu), n = len;

	while (n && pmu[n - 1] >= '0' && pmu[n - 1] <= '9')
		n--;
	if (n == len)
		return 0;
	return n && pmu[n - 1] == '_' ? n - 1 : n;
}

int pmu_read(const char *devices, const char *pmu, const char *file, char buf[PMU_TEXT])
{
	char *path = xasprintf("%s/%s/%s", devices, pmu, file);
	ssize_t n = file_read(path, buf, PMU_TEXT);

	free(path);
	if (n < 0)
		return (int)n;
	if (n == PMU_TEXT - 1)
		return -EFBIG;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* A number up to 63 at *@s, which is moved behind it; -1: there is none. */
static int bit_number(const char **s)
{
	int n = 0, digits = 0;

	for (; **s >= '0' && **s <= '9' && n < 64; digits++)
		n = n * 10 + *(*s)++ - '0';
	return digits && n < 64 ? n : -1;
}

int pmu_format_parse(const char *text, struct pmu_format *f)
{
	static const char *const configs[PMU_CONFIGS] = { "config:", "config1:", "config2:",
							  "config3:" };

	*f = (struct pmu_format){ .config = -1 };
	for (int i = 0; i < PMU_CONFIGS; i++)
		if (!strncmp(text, configs[i], strlen(configs[i])))
			f->config = i;
	if (f->config < 0)
		return -EINVAL;
	text += strlen(configs[f->config]) - 1;
	do {
		int from, to;

		text++;
		from = to = bit_number(&text);
		if (*text == '-') {
			text++;
			to = bit_number(&text);
		}
		if (from < 0 || to < from)
			return -EINVAL;
		for (int bit = from; bit <= to; bit++)
			f->bits |= 1ull << bit;
	} while (*text == ',');
	return *text ? -EINVAL : 0;
}

uint64_t pmu_format_max(const struct pmu_format *f)
{
	int n = __builtin_popcountll(f->bits);

	return n < 64 ? (1ull << n) - 1 : UINT64_MAX;
}

uint64_t pmu_format_place(const struct pmu_format *f, uint64_t value)
{
	uint64_t placed = 0;

	for (int bit = 0; bit < 64; bit++) {
		if (!(f->bits >> bit & 1))
			continue;
		placed |= (value & 1) << bit;
		value >>= 1;
	}
	return placed;
}

void pmu_each(const char *devices, const char *pmu, const char *folder, pmu_name *each, void *ctx)
{
	char *path = pmu ? xasprintf("%s/%s/%s", devices, pmu, folder) : xasprintf("%s", devices);
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort);

	free(path);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (pmu_is_word(name, strlen(name)))
			each(ctx, name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}
