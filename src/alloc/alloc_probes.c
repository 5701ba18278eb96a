/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_probes.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "alloc/alloc_price.h"
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "collect/features.h"
#include "collect/probe.h"
#include "collect/uprobe.h"
#include "elf/elf_lookup.h"
#include "proc/maps.h"

#define FILES_MAX 4096		/* of one process that are looked at */
#define OPERATORS_MAX 1024	/* of all files */

/*
 * Of several names for one function the first counts. Those of C come first: an allocator may have
 * them with a prefix.
 */
static const struct {
	const char *name;
	enum alloc_probe_kind kind;
} known[] = {
	{ "malloc", PROBE_MALLOC },
	{ "calloc", PROBE_CALLOC },
	{ "realloc", PROBE_REALLOC },
	{ "free", PROBE_FREE },
	{ "memalign", PROBE_MEMALIGN },
	{ "aligned_alloc", PROBE_MEMALIGN },
	{ "posix_memalign", PROBE_POSIX_MEMALIGN },
	{ "valloc", PROBE_MALLOC },
	{ "pvalloc", PROBE_MALLOC },
	{ "free_sized", PROBE_FREE },
	{ "free_aligned_sized", PROBE_FREE },
	{ "_Znwm", PROBE_MALLOC },
	{ "_Znam", PROBE_MALLOC },
	{ "_ZnwmRKSt9nothrow_t", PROBE_MALLOC },
	{ "_ZnamRKSt9nothrow_t", PROBE_MALLOC },
	{ "_ZnwmSt11align_val_t", PROBE_MALLOC },
	{ "_ZnamSt11align_val_t", PROBE_MALLOC },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", PROBE_MALLOC },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", PROBE_MALLOC },
	{ "_ZdlPv", PROBE_FREE },
	{ "_ZdaPv", PROBE_FREE },
	{ "_ZdlPvm", PROBE_FREE },
	{ "_ZdaPvm", PROBE_FREE },
	{ "_ZdlPvRKSt9nothrow_t", PROBE_FREE },
	{ "_ZdaPvRKSt9nothrow_t", PROBE_FREE },
	{ "_ZdlPvSt11align_val_t", PROBE_FREE },
	{ "_ZdaPvSt11align_val_t", PROBE_FREE },
	{ "_ZdlPvmSt11align_val_t", PROBE_FREE },
	{ "_ZdaPvmSt11align_val_t", PROBE_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", PROBE_FREE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", PROBE_FREE },
};

#define KNOWN (sizeof(known) / sizeof(*known))
#define KNOWN_C 11
#define USUAL 4			/* of them every allocator should have */

struct search {
	struct alloc_probes *probes;
	pid_t pid;
	const struct alloc_named *named;	/* NULL: whatever file has a malloc() */
	struct seen { uint64_t inode; uint32_t dev_major, dev_minor; } *seen;
	size_t nseen, found;
	unsigned int missing;	/* of the usual functions of @named: a bit each */
};

static int add(struct alloc_probes *p, enum alloc_probe_kind kind, const char *path,
	       uint64_t offset, pid_t pid)
{
	int fd = uprobe_open(path, offset, pid, kind == PROBE_RETURNED);

	if (fd < 0)
		return fd;
	p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
	p->v[p->n++] = (struct alloc_probe){ kind, fd };
	return 0;
}

static int explain(struct error *e, int err)
{
	if (err == -EACCES && !probe_has(CAP_SYS_ADMIN))
		return error_set(
			e, STATUS_DENIED, err,
			"cannot set a uprobe: the kernel asks for CAP_SYS_ADMIN; run it with sudo");
	return features_explain(e, err, "cannot set a uprobe");
}

int alloc_probes_library(struct alloc_probes *p, const struct alloc_library *l, struct error *e)
{
	int err = add(p, PROBE_BLOCK_END, l->path, l->end, -1);

	if (!err)
		err = add(p, PROBE_BLOCK, l->path, l->block, -1);
	return err ? explain(e, err) : 0;
}

static int is_alias(const struct elf_function *functions, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (functions[k].offset == functions[i].offset)
			return 1;
	return 0;
}

/* The functions of @file, which is kept. */
static void add_places(struct search *s, int file, const struct elf_function *functions, size_t n)
{
	struct alloc_probes *p = s->probes;

	p->files = xreallocarray(p->files, p->nfiles + 1, sizeof(*p->files));
	p->files[p->nfiles++] = file;
	for (size_t i = 0; i < n; i++) {
		if (!functions[i].offset || functions[i].ifunc || is_alias(functions, i))
			continue;
		p->places = xreallocarray(p->places, p->nplaces + 1, sizeof(*p->places));
		p->places[p->nplaces++] = (struct alloc_place){
			.kind = known[i].kind,
			.file = file,
			.offset = functions[i].offset,
			.pid = s->pid,
			.stepped = alloc_price_is_stepped(file, functions[i].offset)
		};
	}
}

/* Ends and returns first: what begins after them is followed to its end. */
int alloc_probes_open(struct alloc_probes *p, struct error *e)
{
	char path[32];
	int err = 0;

	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < p->nplaces && !err; i++) {
			const struct alloc_place *at = &p->places[i];

			if ((at->kind == PROBE_FREE) != !pass)
				continue;
			snprintf(path, sizeof(path), "/proc/self/fd/%d", at->file);
			err = add(p, pass == 1 ? PROBE_RETURNED : at->kind, path, at->offset,
				  at->pid);
		}
	return err ? explain(e, err) : 0;
}

static int knows_operator(const struct alloc_probes *p, const struct alloc_operator *new)
{
	for (size_t i = 0; i < p->noperators; i++)
		if (p->operators[i].offset == new->offset &&
		    !strcmp(p->operators[i].path, new->path))
			return 1;
	return 0;
}

/* What gives blocks in a file without a malloc(). */
static void add_operators(struct search *s, const char *raw, const struct elf_function *functions)
{
	struct alloc_probes *p = s->probes;
	char path[PATH_MAX], *gone;

	text_clean(path, sizeof(path), raw);
	gone = strstr(path, " (deleted)");
	if (gone && !gone[10])
		*gone = '\0';
	for (size_t i = KNOWN_C; i < KNOWN; i++) {
		struct alloc_operator new = { path, functions[i].offset, functions[i].size };

		if (known[i].kind != PROBE_MALLOC || !new.offset || !new.size ||
		    knows_operator(p, &new) || p->noperators == OPERATORS_MAX)
			continue;
		new.path = xstrdup(path);
		p->operators = xreallocarray(p->operators, p->noperators + 1,
					     sizeof(*p->operators));
		p->operators[p->noperators++] = new;
	}
}

static int is_new(struct search *s, const struct maps_line *line)
{
	for (size_t i = 0; i < s->nseen; i++)
		if (s->seen[i].inode == line->inode && s->seen[i].dev_major == line->dev_major &&
		    s->seen[i].dev_minor == line->dev_minor)
			return 0;
	if (s->nseen == FILES_MAX)
		return 0;
	s->seen[s->nseen++] = (struct seen){ line->inode, line->dev_major, line->dev_minor };
	return 1;
}

/* As the process maps it, or the same file by another name. */
static int is_named(const struct search *s, const struct maps_line *line)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(s->named->path);
	struct stat st;

	if (!strncmp(line->path, s->named->path, n) &&
	    (!line->path[n] || !strcmp(line->path + n, gone)))
		return 1;
	return !stat(s->named->path, &st) && st.st_ino == line->inode &&
	       major(st.st_dev) == line->dev_major && minor(st.st_dev) == line->dev_minor;
}

/*
 * 1 where the file has an allocator; its functions are in @functions. All our capabilities are
 * still there.
 */
static int find_functions(struct search *s, int fd, struct elf_function *functions, size_t n)
{
	char names[KNOWN_C][ALLOC_PREFIX_MAX + 32];
	int found;

	for (size_t i = 0; i < n; i++) {
		if (s->named)
			snprintf(names[i], sizeof(names[i]), "%s%s", s->named->prefix,
				 known[i].name);
		functions[i] = (struct elf_function){ .name = s->named ? names[i] : known[i].name };
	}
	found = !elf_lookup_apart(fd, functions, n) &&
		(functions[0].offset || (s->named && (functions[1].offset || functions[2].offset)));
	for (size_t i = 0; i < USUAL; i++)
		s->missing |= functions[i].offset ? 0 : 1u << i;
	return found;
}

static void look_at(const struct maps_line *line, void *ctx)
{
	struct elf_function functions[KNOWN];
	struct search *s = ctx;
	size_t n = s->named ? KNOWN_C : KNOWN;
	char path[96];
	int fd;

	if (!line->inode || !is_new(s, line) || (s->named && !is_named(s, line)))
		return;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)s->pid,
		 (unsigned long long)line->start, (unsigned long long)line->end);
	/* Devices can be mapped, too. */
	fd = file_open_regular(path);
	s->missing = 0;
	if (fd >= 0 && find_functions(s, fd, functions, n)) {
		s->found++;
		add_places(s, fd, functions, n);
		fd = -1;
	} else if (fd >= 0 && !s->named) {
		add_operators(s, line->path, functions);
	}
	if (fd >= 0)
		close(fd);
}

static int search(struct search *s, struct error *e)
{
	int err;

	s->seen = xcalloc(FILES_MAX, sizeof(*s->seen));
	err = maps_for_each_executable(s->pid, look_at, s);
	free(s->seen);
	if (err)
		return error_set(e, STATUS_NO_TARGET, err,
				 "cannot read the mappings of process %d: %s", (int)s->pid,
				 strerror(-err));
	return 0;
}

int alloc_probes_process(struct alloc_probes *p, pid_t pid, int other, struct error *e)
{
	struct search s = { .probes = p, .pid = pid };
	int err = search(&s, e);

	if (!err && !s.found && !other)
		return error_set(e, STATUS_ERROR, -ENOENT,
				 "process %d has no function malloc() that can be found: it is "
				 "stripped and static, or allocates in its own way (Go); "
				 "--allocator tells of one with "
				 "other names",
				 (int)pid);
	return err;
}

int alloc_probes_named(struct alloc_probes *p, pid_t pid, struct alloc_named *named,
		       struct error *e)
{
	struct search s = { .probes = p, .pid = pid, .named = named, .missing = ~0u };
	int err = search(&s, e);

	if (err)
		return err;
	if (s.missing == ~0u)
		return error_set(
			e, STATUS_ERROR, -ENOENT,
			"--allocator: process %d has not mapped %s, or that cannot be read; "
			"see /proc/%d/maps",
			(int)pid, named->path, (int)pid);
	if (!s.found)
		return error_set(e, STATUS_ERROR, -ENOENT,
				 "--allocator: %s has no function %smalloc(), %scalloc() or "
				 "%srealloc(); see nm %s",
				 named->path, named->prefix, named->prefix, named->prefix,
				 named->path);
	*named->missing = '\0';
	for (size_t i = 0; i < USUAL; i++)
		if (s.missing & 1u << i)
			snprintf(named->missing + strlen(named->missing),
				 sizeof(named->missing) - strlen(named->missing), "%s%s%s()",
				 *named->missing ? ", " : "", named->prefix, known[i].name);
	return 0;
}

int alloc_named_parse(struct alloc_named *named, const char *text, struct error *e)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!n || !colon[1] || strchr(colon, '/'))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--allocator '%s': expected the file and what its functions begin "
				 "with, like /usr/lib/libx.so:x_ for x_malloc()",
				 text);
	if (n >= sizeof(named->path) || strlen(colon + 1) >= sizeof(named->prefix))
		return error_set(e, STATUS_USAGE, -ENAMETOOLONG, "--allocator: this is too long");
	*named = (struct alloc_named){ 0 };
	memcpy(named->path, text, n);
	strcpy(named->prefix, colon + 1);
	return 0;
}

void alloc_probes_free(struct alloc_probes *p)
{
	alloc_probes_close(p);
	for (size_t i = 0; i < p->nfiles; i++)
		close(p->files[i]);
	free(p->v);
	free(p->places);
	free(p->files);
	for (size_t i = 0; i < p->noperators; i++)
		free(p->operators[i].path);
	free(p->operators);
	*p = (struct alloc_probes){ 0 };
}
