/* SPDX-License-Identifier: MIT */
#include "commands/probe_list.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "collect/probe.h"
#include "probes/files.h"
#include "probes/find.h"
#include "probes/names.h"
#include "proc/maps.h"
#include "sources/probes_kernel_functions.h"
#include "symbols/demangle.h"

#define LISTED_MAX (1u << 20)	/* places of one file */
#define SHOWN_MAX 1024		/* bytes of a name */
#define ANY_FILE "*"

struct listing {
	struct probe_spec spec;
	size_t shown;
	int err;		/* why a file could not be read */
	int read;		/* one could */
	int has_names;		/* it has functions, or static probes */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct probe_place *)a)->name, ((const struct probe_place *)b)->name);
}

/* "uprobe:FILE:name", and what that means to people. */
static void show_function(const struct listing *l, const char *file, const struct probe_place *p)
{
	char clean[SHOWN_MAX], readable[PROBE_NAME_MAX], shown[SHOWN_MAX];

	text_clean(clean, sizeof(clean), p->name);
	printf("%s:%s:%s", probe_type_name(l->spec.type), file, clean);
	if (demangle(NULL, p->name, readable, sizeof(readable))) {
		text_clean(shown, sizeof(shown), readable);
		printf("  %s", shown);
	}
	putchar('\n');
}

static void show_place(const struct listing *l, const char *file, const struct probe_place *p)
{
	char clean[SHOWN_MAX], arguments[SHOWN_MAX];

	if (l->spec.type != PROBE_USDT) {
		show_function(l, file, p);
		return;
	}
	text_clean(clean, sizeof(clean), p->name);
	text_clean(arguments, sizeof(arguments), p->arguments);
	printf("usdt:%s:%s%s%s%s\n", file, clean, *arguments ? "  " : "", arguments,
	       p->semaphore ? "  (counts who looks)" : "");
}

static void list_file(struct listing *l, int fd, const char *file)
{
	struct probe_found f = { 0 };
	const char *last = "";
	int err = probes_find(fd, &l->spec, LISTED_MAX, &f);

	if (err && err != -ENODATA)
		l->err = err;
	else
		l->read = 1;
	l->has_names |= !err;
	if (f.places.n)
		qsort(f.places.v, f.places.n, sizeof(*f.places.v), by_name);
	for (size_t i = 0; i < f.places.n; i++) {
		/* A static probe may have several places. */
		if (!strcmp(last, f.places.v[i].name))
			continue;
		last = f.places.v[i].name;
		show_place(l, file, &f.places.v[i]);
		l->shown++;
	}
	probe_found_free(&f);
}

struct mapped {
	struct listing *l;
	pid_t pid;
	string_vec paths;
};

/* Each path once: that of a file which is mapped often, and in many processes. */
static void list_mapped(const struct maps_line *line, void *ctx)
{
	struct mapped *m = ctx;
	char path[96], clean[SHOWN_MAX];
	int fd;

	if (!line->inode)
		return;
	for (size_t i = 0; i < m->paths.n; i++)
		if (!strcmp(m->paths.v[i], line->path))
			return;
	vec_push(&m->paths, xstrdup(line->path));
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)m->pid,
		 (unsigned long long)line->start, (unsigned long long)line->end);
	fd = file_open_regular(path);
	if (fd < 0)
		return;
	text_clean(clean, sizeof(clean), line->path);
	list_file(m->l, fd, clean);
	close(fd);
}

static void list_all_mapped(struct listing *l, const int *pids, size_t n)
{
	struct mapped m = { .l = l };

	for (size_t i = 0; i < n; i++) {
		int err;

		m.pid = pids[i];
		err = maps_for_each_executable(pids[i], list_mapped, &m);
		l->err = err ? err : l->err;
	}
	for (size_t i = 0; i < m.paths.n; i++)
		free((void *)m.paths.v[i]);
	vec_free(&m.paths);
}

static void list_kernel(struct listing *l)
{
	string_vec names = { 0 };

	kernel_functions(l->spec.name, &names);
	for (size_t i = 0; i < names.n; i++) {
		printf("%s:%s\n", probe_type_name(l->spec.type), names.v[i]);
		free((void *)names.v[i]);
	}
	l->shown = names.n;
	vec_free(&names);
}

static int list_named(struct listing *l, const int *pids, size_t n, struct error *e)
{
	probe_file_vec files = { 0 };
	int err = probe_files_open(&files, l->spec.file, pids, n, e);
	char clean[SHOWN_MAX];

	text_clean(clean, sizeof(clean), l->spec.file);
	for (size_t i = 0; i < files.n; i++)
		list_file(l, files.v[i].fd, clean);
	probe_files_close(&files);
	return err;
}

/* Whether they can be set here. */
static void say_what_lacks(const struct listing *l)
{
	int kernel = l->spec.type == PROBE_KPROBE || l->spec.type == PROBE_KRETPROBE;

	fflush(stdout);
	if (kernel && !kernel_has_kprobes())
		fputs("ebprof: this kernel has no kprobes: none of these can be opened\n", stderr);
	else if (!kernel && access("/sys/bus/event_source/devices/uprobe/type", F_OK))
		fputs("ebprof: this kernel has no uprobes: none of these can be opened\n", stderr);
	else if (!probe_has(CAP_SYS_ADMIN))
		fputs("ebprof: only root may open these (CAP_SYS_ADMIN)\n", stderr);
}

/* "usdt:*" means all files of the processes, "usdt:*:NAME" those of a name in them. */
static int parse(struct listing *l, const char *text, size_t npids, struct error *e)
{
	char *whole = NULL;
	int err;

	if (!strcmp(text, "usdt:" ANY_FILE))
		whole = xasprintf("%s:" ANY_FILE, text);
	err = probe_spec_parse(&l->spec, whole ? whole : text, e);
	free(whole);
	if (!err && !npids && !strcmp(l->spec.file, ANY_FILE))
		err = error_set(e, STATUS_USAGE, -EINVAL,
				"'%.200s': of which files? usdt:FILE:*, or -p PID for those that a "
				"process has mapped", text);
	return err;
}

/* Of several files of one name some may be no programs: a text for the linker (libc.so). */
static int say_nothing(const struct listing *l, const char *text, struct error *e)
{
	if (l->err && !l->read)
		return error_set(e, STATUS_ERROR, l->err, "nothing like '%.200s': %s", text,
				 strerror(-l->err));
	if (l->spec.type == PROBE_USDT && l->read && !l->has_names)
		return error_set(e, STATUS_ERROR, -ENOENT,
				 "nothing like '%.200s': no static probes (USDT)", text);
	return error_set(e, STATUS_ERROR, -ENOENT, "nothing like '%.200s'", text);
}

int probe_list_print(const char *text, const int *pids, size_t n, struct error *e)
{
	struct listing l = { 0 };
	int err = parse(&l, text, n, e);

	if (err)
		return err;
	if (!*l.spec.file)
		list_kernel(&l);
	else if (!strcmp(l.spec.file, ANY_FILE))
		list_all_mapped(&l, pids, n);
	else
		err = list_named(&l, pids, n, e);
	if (err)
		return err;
	if (!l.shown)
		return say_nothing(&l, text, e);
	say_what_lacks(&l);
	return 0;
}
