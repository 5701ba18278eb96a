/* SPDX-License-Identifier: MIT */
/*
 * A source file by the name that debug information has for it: the first line is the end of that
 * name, the rest what is in the file. Each line can be shown, and only that file is read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "annotate/source_text.h"
#include "fuzz/fuzz.h"

static char folder[] = "/dev/shm/ebprof-fuzz-XXXXXX";
static char path[sizeof(folder) + 8];

static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
}

static void make_folder(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/file", folder);
	atexit(remove_folder);
}

static void put(const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}

static void check(const struct source_text *s, size_t bytes)
{
	char line[1024];

	require(s->lines.n <= bytes);
	for (size_t i = 0; i <= s->lines.n + 1; i++) {
		source_text_line(s, i, line, sizeof(line));
		require(memchr(line, '\0', sizeof(line)) && !strpbrk(line, "\t\n\r\033"));
		require((i && i <= s->lines.n) || !*line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int made;
	const char *const dirs[] = { folder };
	const struct source_places places = { .dirs = dirs, .n_dirs = 1 };
	struct source_text s;
	char *rest, *name = fuzz_text(data, size, &rest), *whole;
	size_t n;

	if (!name)
		return 0;
	if (!made++)
		make_folder();
	n = size - (size_t)(rest - name);
	put(rest, n);
	if (asprintf(&whole, "file://%s/no/%s", folder, name) < 0)
		abort();
	/* Only what leads out of the folder could be another file; "./file" is this one. */
	if (!strstr(name, "..") && !strstr(name, "./") && !strchr(name, '%')) {
		if (!source_text_read(&s, whole, &places))
			require(!strncmp(s.from, path, strlen(path)));
		source_text_free(&s);
	}
	require(!source_text_read(&s, path, &places));
	check(&s, n);
	source_text_free(&s);
	free(whole);
	free(name);
	return 0;
}
