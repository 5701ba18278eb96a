/* SPDX-License-Identifier: MIT */
/* Small files in a folder made for a test, as sysfs has them. */
#ifndef EBPROF_TEST_MADE_FILES_H
#define EBPROF_TEST_MADE_FILES_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct made_file {
	const char *path, *text;	/* below the folder, with the folders that it needs */
};

static inline void make_files(const char *folder, const struct made_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char path[256];
		size_t top = (size_t)snprintf(path, sizeof(path), "%s/%s", folder, files[i].path);
		FILE *f;

		if (top >= sizeof(path))
			abort();
		for (char *p = strchr(path + strlen(folder) + 1, '/'); p; p = strchr(p + 1, '/')) {
			*p = '\0';
			mkdir(path, 0755);
			*p = '/';
		}
		f = fopen(path, "we");
		if (!f)
			abort();
		fputs(files[i].text, f);
		fclose(f);
	}
}

static inline int remove_made(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* With all that is in it. */
static inline void remove_files(const char *folder)
{
	nftw(folder, remove_made, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
