/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/features.h"
#include "collect/uprobe.h"
#include "elf/elf_lookup.h"
#include "proc/maps.h"

#define FILES_MAX 4096		/* of one process that are looked at */

/* Of several names for one function the first counts. */
static const struct { const char *name; enum alloc_probe_kind kind; } known[] = {
	{ "malloc", PROBE_MALLOC }, { "calloc", PROBE_CALLOC }, { "realloc", PROBE_REALLOC }, { "memalign", PROBE_MEMALIGN },
	{ "aligned_alloc", PROBE_MEMALIGN }, { "posix_memalign", PROBE_POSIX_MEMALIGN }, { "valloc", PROBE_MALLOC },
	{ "pvalloc", PROBE_MALLOC }, { "_Znwm", PROBE_MALLOC }, { "_Znam", PROBE_MALLOC },
	{ "_ZnwmRKSt9nothrow_t", PROBE_MALLOC }, { "_ZnamRKSt9nothrow_t", PROBE_MALLOC },
	{ "_ZnwmSt11align_val_t", PROBE_MALLOC }, { "_ZnamSt11align_val_t", PROBE_MALLOC },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", PROBE_MALLOC }, { "_ZnamSt11align_val_tRKSt9nothrow_t", PROBE_MALLOC },
	{ "free", PROBE_FREE }, { "free_sized", PROBE_FREE }, { "free_aligned_sized", PROBE_FREE },
	{ "_ZdlPv", PROBE_FREE }, { "_ZdaPv", PROBE_FREE }, { "_ZdlPvm", PROBE_FREE }, { "_ZdaPvm", PROBE_FREE },
	{ "_ZdlPvRKSt9nothrow_t", PROBE_FREE }, { "_ZdaPvRKSt9nothrow_t", PROBE_FREE },
	{ "_ZdlPvSt11align_val_t", PROBE_FREE }, { "_ZdaPvSt11align_val_t", PROBE_FREE },
	{ "_ZdlPvmSt11align_val_t", PROBE_FREE }, { "_ZdaPvmSt11align_val_t", PROBE_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", PROBE_FREE }, { "_ZdaPvSt11align_val_tRKSt9nothrow_t", PROBE_FREE },
};

#define KNOWN (sizeof(known) / sizeof(*known))

struct search {
	struct alloc_probes *probes;
	pid_t pid;
	struct seen { uint64_t inode; uint32_t dev_major, dev_minor; } *seen;
	size_t nseen, found;
};

/* What the first instruction of a function is, as far as the kernel acts for it instead of running it (its uprobes.c). */
static int is_stepped(int file, uint64_t offset)
{
	unsigned char code[4] = { 0 };

	if (pread(file, code, sizeof(code), (off_t)offset) != sizeof(code))
		return 1;
#if defined(__x86_64__)
	if (code[0] == 0x41)	/* REX.B, of push */
		return (code[1] & 0xf8) != 0x50;
	return (code[0] & 0xf8) != 0x50 && code[0] != 0x90 && code[0] != 0xe8 && code[0] != 0xe9 && code[0] != 0xeb;
#else
	return memcmp(code, (const unsigned char[]){ 0x1f, 0x20, 0x03, 0xd5 }, sizeof(code)) != 0;	/* nop */
#endif
}

static int add(struct alloc_probes *p, enum alloc_probe_kind kind, const char *path, uint64_t offset, pid_t pid)
{
	int fd = uprobe_open(path, offset, pid, kind == PROBE_RETURNED);

	if (fd < 0)
		return fd;
	p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
	p->v[p->n++] = (struct alloc_probe){ kind, fd };
	return 0;
}

int alloc_probes_library(struct alloc_probes *p, const struct alloc_library *l, struct error *e)
{
	int err = add(p, PROBE_BLOCK_END, l->path, l->end, -1);

	if (!err)
		err = add(p, PROBE_BLOCK, l->path, l->block, -1);
	return err ? features_explain(e, err, "cannot set a uprobe") : 0;
}

static int is_alias(const struct elf_function *functions, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (functions[k].offset == functions[i].offset)
			return 1;
	return 0;
}

/* The functions of @file, which is kept. */
static void add_places(struct search *s, int file, const struct elf_function *functions)
{
	struct alloc_probes *p = s->probes;

	p->files = xreallocarray(p->files, p->nfiles + 1, sizeof(*p->files));
	p->files[p->nfiles++] = file;
	for (size_t i = 0; i < KNOWN; i++) {
		if (!functions[i].offset || functions[i].ifunc || is_alias(functions, i))
			continue;
		p->places = xreallocarray(p->places, p->nplaces + 1, sizeof(*p->places));
		p->places[p->nplaces++] = (struct alloc_place){
			.kind = known[i].kind, .file = file, .offset = functions[i].offset, .pid = s->pid,
			.stepped = is_stepped(file, functions[i].offset) };
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
			err = add(p, pass == 1 ? PROBE_RETURNED : at->kind, path, at->offset, at->pid);
		}
	return err ? features_explain(e, err, "cannot set a uprobe") : 0;
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

static void look_at(const struct maps_line *line, void *ctx)
{
	struct elf_function functions[KNOWN];
	struct search *s = ctx;
	struct elf_file *f;
	char path[96];
	int fd;

	if (!line->inode || !is_new(s, line))
		return;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)s->pid, (unsigned long long)line->start,
		 (unsigned long long)line->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	f = fd < 0 ? NULL : elf_file_open(fd);
	for (size_t i = 0; i < KNOWN; i++)
		functions[i] = (struct elf_function){ .name = known[i].name };
	if (f && !elf_lookup(f, functions, KNOWN) && functions[0].offset) {
		s->found++;
		add_places(s, fd, functions);
		fd = -1;
	}
	elf_file_free(f);
	if (fd >= 0)
		close(fd);
}

int alloc_probes_process(struct alloc_probes *p, pid_t pid, struct error *e)
{
	struct search s = { .probes = p, .pid = pid, .seen = xcalloc(FILES_MAX, sizeof(*s.seen)) };
	int err = maps_for_each_executable(pid, look_at, &s);

	free(s.seen);
	if (err)
		return error_set(e, STATUS_NO_TARGET, err, "cannot read the mappings of process %d: %s", (int)pid,
				 strerror(-err));
	if (!s.found)
		return error_set(e, STATUS_ERROR, -ENOENT, "process %d has no function malloc() that can be found: it is "
				 "stripped and static, or allocates in its own way (Go)", (int)pid);
	return 0;
}

void alloc_probes_free(struct alloc_probes *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].fd >= 0)
			close(p->v[i].fd);
	for (size_t i = 0; i < p->nfiles; i++)
		close(p->files[i]);
	if (p->timer > 0)
		close(p->timer);
	free(p->v);
	free(p->places);
	free(p->files);
	*p = (struct alloc_probes){ 0 };
}
