/* SPDX-License-Identifier: MIT */
#include "probes/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "elf/debug_file.h"
#include "elf/elf_code.h"
#include "elf/elf_lookup.h"
#include "elf/minidebug.h"
#include "probes/lines.h"
#include "probes/names.h"
#include "probes/signatures.h"
#include "probes/usdt.h"

#define UNPACKED_MAX (256u << 20)	/* bytes of .gnu_debugdata */
#define DYNSTR_MAX (64u << 20)		/* bytes of .dynstr */

struct search {
	const struct probe_spec *spec;
	struct probe_pattern name, provider;
	struct elf_code code;		/* of the file itself */
	search_take *take;
	void *ctx;
	struct search_result *result;
	struct near near;
	struct hashmap given;		/* offsets */
	int demangled;			/* names are compared as people write them */
	/* of the file itself, and of its debug file; NULL: not asked for, or it has none */
	struct signatures *signatures[2];
};

static void give(struct search *s, const struct search_place *p)
{
	if (hashmap_get(&s->given, p->offset) != HASHMAP_NONE)
		return;
	hashmap_set(&s->given, p->offset, 0);
	s->take(s->ctx, p);
}

/* The offset of @vaddr in the file; 0: it is no code of it. */
static uint64_t offset_of(const struct search *s, uint64_t vaddr)
{
	const struct elf_segment *in = elf_code_at(&s->code, vaddr);

	return in ? in->offset + (vaddr - in->vaddr) : 0;
}

static void find_signature(struct search *s, uint64_t address, char text[SIGNATURE_TEXT])
{
	*text = '\0';
	for (int i = 0; i < 2 && !*text; i++)
		if (s->signatures[i])
			signatures_find(s->signatures[i], address, text);
}

/* The part of a function that a compiler put elsewhere: code that is jumped to. */
static int is_cold_part(const char *name)
{
	static const char suffix[] = ".cold";
	const char *at = strstr(name, suffix);

	return at && (!at[sizeof(suffix) - 1] || at[sizeof(suffix) - 1] == '.');
}

/* It has no return address where a return probe would replace one; its entry is no call. */
static int is_no_function(const struct search *s, const char *name)
{
	return is_cold_part(name) &&
	       (s->spec->type == PROBE_URETPROBE || strcmp(name, s->spec->name));
}

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct search *s = ctx;
	unsigned int type = ELF64_ST_TYPE(sym->st_info);
	uint64_t offset = offset_of(s, sym->st_value + s->spec->offset);
	char signature[SIGNATURE_TEXT];
	int matches;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !*name || !offset ||
	    is_no_function(s, name))
		return;
	matches = s->demangled ? probe_name_matches_demangled(&s->name, name)
			       : probe_name_matches(&s->name, name);
	if (matches && type == STT_GNU_IFUNC) {
		s->result->ifunc = 1;
	} else if (matches && (!s->spec->offset || s->spec->offset < sym->st_size)) {
		find_signature(s, sym->st_value, signature);
		give(s, &(struct search_place){ .offset = offset, .name = name,
						.arguments = signature });
	} else if (!s->demangled) {
		near_consider(&s->near, name);
	}
}

static void take_note(void *ctx, const struct usdt_note *note)
{
	struct search *s = ctx;
	char name[2 * USDT_TEXT_MAX];

	if (!probe_name_matches(&s->name, note->name)) {
		near_consider(&s->near, note->name);
		return;
	}
	if (*s->spec->provider && !probe_name_matches(&s->provider, note->provider))
		return;
	snprintf(name, sizeof(name), "%s:%s", note->provider, note->name);
	give(s, &(struct search_place){ .offset = note->offset, .semaphore = note->semaphore,
					.name = name, .arguments = note->arguments });
}

/* The files that have symbols of one: itself, its debug file, what is packed in it. */
struct tables {
	struct elf_file *v[3];
	int debug_fd;
	uint8_t *unpacked;
};

static void tables_open(struct tables *t, struct elf_file *own)
{
	const struct debug_places places = { 0 };
	uint64_t left = UNPACKED_MAX;
	size_t size;

	*t = (struct tables){ .v = { own }, .debug_fd = -1 };
	t->debug_fd = debug_file_open(&places, own, NULL, &t->v[1]);
	if (t->debug_fd < 0)
		t->v[1] = NULL;
	t->unpacked = minidebug_unpack(own, &left, &size);
	if (t->unpacked)
		t->v[2] = elf_file_open_memory(t->unpacked, size);
}

static void tables_close(struct tables *t)
{
	for (int i = 1; i < 3; i++)
		if (t->v[i])
			elf_file_free(t->v[i]);
	if (t->debug_fd >= 0)
		close(t->debug_fd);
	free(t->unpacked);
}

/* By names as the linker knows them, and where none matches as people write them. */
static int search_functions(struct search *s, struct elf_file *f)
{
	struct tables t;
	int err = -ENODATA;

	tables_open(&t, f);
	for (int i = 0; i < 2 && s->spec->signatures; i++)
		s->signatures[i] = t.v[i] ? signatures_open(t.v[i]) : NULL;
	for (s->demangled = 0; s->demangled < 2; s->demangled++) {
		for (int i = 0; i < 3; i++) {
			int this = t.v[i] ? elf_lookup_each(t.v[i], take_symbol, s) : -ENODATA;

			err = err && this ? err : 0;
		}
		if (s->given.n || s->result->ifunc)
			break;
	}
	for (int i = 0; i < 2; i++)
		signatures_close(s->signatures[i]);
	tables_close(&t);
	return err;
}

static int search_address(struct search *s)
{
	uint64_t offset = offset_of(s, s->spec->offset);

	if (offset)
		give(s, &(struct search_place){ .offset = offset, .name = "", .arguments = "" });
	return 0;
}

static void take_address(void *ctx, uint64_t address)
{
	struct search *s = ctx;
	uint64_t offset = offset_of(s, address);
	char name[PROBE_TEXT_MAX + 16];

	snprintf(name, sizeof(name), "%s:%u", s->spec->name, s->spec->line);
	if (offset)
		give(s, &(struct search_place){ .offset = offset, .name = name, .arguments = "" });
}

static int search_line(struct search *s, struct elf_file *f)
{
	struct tables t;
	uint32_t next = 0;
	int err = -ENODATA;

	tables_open(&t, f);
	for (int i = 0; i < 2 && err == -ENODATA; i++)
		if (t.v[i])
			err = probe_lines_each(t.v[i], s->spec->name, s->spec->line, take_address,
					       s, &next);
	tables_close(&t);
	if (next && !s->given.n)
		snprintf(s->near.best, sizeof(s->near.best), "%u", next);
	return err == -ENOENT ? 0 : err;
}

/* 0 or a negative errno. */
static int search_any(struct search *s, struct elf_file *f)
{
	if (s->spec->type == PROBE_USDT)
		return usdt_each(f, take_note, s);
	if (s->spec->line)
		return search_line(s, f);
	return *s->spec->name ? search_functions(s, f) : search_address(s);
}

/* Exceptions may pass through: it has places where they stop, throws them, or is C++ at least. */
static int may_throw(const struct elf_file *f)
{
	static const char *const names[] = { "__cxa_throw", "libstdc++.so", "libc++.so" };
	const struct elf_section *section = elf_file_section(f, ".dynstr");
	size_t size = 0;
	char *text;
	int found = elf_file_section(f, ".gcc_except_table") != NULL;

	text = section ? elf_file_section_data(f, section, DYNSTR_MAX, &size) : NULL;
	for (size_t i = 0; text && i < sizeof(names) / sizeof(*names); i++)
		found |= memmem(text, size, names[i], strlen(names[i])) != NULL;
	free(text);
	return found;
}

int search_file(int fd, const struct probe_spec *spec, search_take *take, void *ctx,
		struct search_result *r)
{
	struct elf_file *f = elf_file_open(fd);
	struct search s = { .spec = spec, .take = take, .ctx = ctx, .result = r,
			    .near = NEAR(spec->name) };
	int err;

	memset(r, 0, sizeof(*r));
	if (!f)
		return -errno;
	r->go = elf_file_section(f, ".gopclntab") || elf_file_section(f, ".go.buildinfo");
	r->throws = may_throw(f);
	elf_code_collect(f, &s.code);
	err = probe_pattern_open(&s.name, spec->name);
	if (!err) {
		probe_pattern_open(&s.provider, spec->provider);
		err = search_any(&s, f);
		probe_pattern_close(&s.name);
	}
	memcpy(r->near, s.near.best, sizeof(r->near));
	elf_code_free(&s.code);
	hashmap_free(&s.given);
	elf_file_free(f);
	return err;
}
