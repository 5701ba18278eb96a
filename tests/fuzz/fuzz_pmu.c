/* SPDX-License-Identifier: MIT */
/*
 * Events of PMUs: three lines are what a format file has, what an event's file has, and what the
 * user says. Any bytes give an event whose bits are where the format says, or an error that can be
 * shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/pmu.h"
#include "collect/pmu_files.h"
#include "fuzz/fuzz.h"

static char devices[] = "/dev/shm/ebprof-fuzz-XXXXXX";
static const char *const folders[] = { "x", "x/format", "x/events" };
static const char *const names[] = { "x/format/event", "x/events/thing", "x/type",
				     "x/events/thing.scale" };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *path_of(const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", devices, name);
	return path;
}

static void put(const char *name, const char *text, size_t n)
{
	char path[64];
	int fd = open(path_of(name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		abort();
	close(fd);
}

static void remove_pmu(void)
{
	char path[64];

	for (size_t i = 0; i < COUNT(names); i++)
		unlink(path_of(names[i], path));
	for (size_t i = COUNT(folders); i--;)
		rmdir(path_of(folders[i], path));
	rmdir(devices);
}

static void make_pmu(void)
{
	char path[64];

	if (!mkdtemp(devices))
		abort();
	for (size_t i = 0; i < COUNT(folders); i++)
		if (mkdir(path_of(folders[i], path), 0755))
			abort();
	put("x/type", "9\n", 2);
	atexit(remove_pmu);
}

/* The line at *@text, which is moved behind it; its length in *@n. */
static const char *line(const char **text, size_t *n)
{
	const char *start = *text;

	*n = strcspn(start, "\n");
	*text = start + *n + (start[*n] == '\n');
	return start;
}

static void check(const char *text, int err, const struct event *ev, const char *rest,
		  const struct error *e)
{
	if (err) {
		require(err == -EINVAL && e->text[0] && !strpbrk(e->text, "\n\033"));
		return;
	}
	require(ev->type == 9 && !strcmp(ev->pmu, "x") && ev->name[0]);
	require(memchr(ev->name, '\0', sizeof(ev->name)) != NULL);
	require(memchr(ev->unit, '\0', sizeof(ev->unit)) != NULL);
	require(rest > text && rest <= text + strlen(text));
	require(ev->scale >= 0 && ev->period <= INT64_MAX);
}

/* Without the terms that set them whole, bits are those of the format alone. */
static void check_bits(const char *format, const struct event *ev)
{
	const uint64_t configs[PMU_CONFIGS] = { ev->config, ev->config1, ev->config2 };
	struct pmu_format f;

	if (pmu_format_parse(format, &f))
		f = (struct pmu_format){ 0 };
	for (int i = 0; i < PMU_CONFIGS; i++)
		require(!(configs[i] & ~(i == f.config ? f.bits : 0)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int made;
	struct event ev = { 0 };
	struct error e = { 0 };
	const char *at, *rest = NULL, *part;
	char *text = malloc(size + 1);
	size_t n;
	int err;

	if (!made++)
		make_pmu();
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	at = text;
	part = line(&at, &n);
	put("x/format/event", part, n);
	part = line(&at, &n);
	put("x/events/thing", part, n);
	put("x/events/thing.scale", part, n);
	err = pmu_parse(at, devices, &ev, &rest, &e);
	check(at, err, &ev, rest, &e);
	if (!err && !strstr(text + strcspn(text, "\n"), "config")) {
		text[strcspn(text, "\n")] = '\0';
		check_bits(text, &ev);
	}
	free(text);
	return 0;
}
