/* SPDX-License-Identifier: MIT */
#include "elf/elf_code.h"

#include <elf.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/xalloc.h"

/* Behind those that begin no later: files have them in this order. */
static void insert(struct elf_code *c, const struct elf_segment *s)
{
	size_t at = c->n++;

	for (; at && c->v[at - 1].vaddr > s->vaddr; at--)
		c->v[at] = c->v[at - 1];
	c->v[at] = *s;
}

/* Takes from each what those before it have. */
static void part(struct elf_code *c)
{
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct elf_segment s = c->v[i];
		uint64_t shared = end > s.vaddr ? end - s.vaddr : 0;

		if (shared >= s.filesz)
			continue;
		s.vaddr += shared;
		s.offset += shared;
		s.filesz -= shared;
		if (__builtin_add_overflow(s.vaddr, s.filesz, &end))
			end = UINT64_MAX;
		c->v[kept++] = s;
	}
	c->n = kept;
}

void elf_code_collect(const struct elf_file *f, struct elf_code *out)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	*out = (struct elf_code){ .v = xcalloc(n ? n : 1, sizeof(*out->v)) };
	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && s[i].flags & PF_X)
			insert(out, &s[i]);
	part(out);
}

void elf_code_free(struct elf_code *c)
{
	free(c->v);
	*c = (struct elf_code){ 0 };
}

const struct elf_segment *elf_code_at(const struct elf_code *c, uint64_t vaddr)
{
	size_t low = upper_bound(c->v, c->n, .vaddr, vaddr);
	const struct elf_segment *s = low ? &c->v[low - 1] : NULL;

	return s && vaddr - s->vaddr < s->filesz ? s : NULL;
}
