/* SPDX-License-Identifier: MIT */
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/xalloc.h"

/*
 * Far above what linkers write (a few dozen of each), far below what could
 * hurt: the counts come from the file, and a sparse file may back any of them
 * with zeros.
 */
#define MAX_SEGMENTS	1024		/* some search them all again and again */
#define MAX_SECTIONS	131072
#define MAX_NAMES	(4u << 20)	/* bytes of .shstrtab */
#define MAX_NOTES	65536		/* bytes read of one note segment or section */
#define MAX_NOTE_PARTS	64		/* note segments or sections that are looked into */
#define STRING_PEEK	64		/* bytes read at first of a string */
#define PACKED_MOST	16		/* times that a file system may pack what is in a file */
/* of 512 bytes; one with fewer has not been written yet, or is not told of */
#define BLOCKS_LEAST	8

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "headers are copied as they are in the file");

struct elf_file {
	int fd;
	const uint8_t *mem;	/* instead of @fd where not NULL */
	uint64_t size, stored;
	int is64;
	uint16_t type, machine;
	uint64_t entry;
	struct elf_segment *segments;
	size_t n_segments;
	struct elf_section *sections;
	size_t n_sections;
	char *names;		/* .shstrtab, for elf_section.name */
};

/* What of the ELF header leads on to the tables; counts after the extensions are resolved. */
struct tables {
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
	uint16_t phentsize, shentsize;
};

int elf_file_read(const struct elf_file *f, uint64_t offset, void *dst, size_t size)
{
	ssize_t n;

	if (size > f->size || offset > f->size - size)
		return -EBADMSG;
	if (f->mem) {
		memcpy(dst, f->mem + offset, size);
		return 0;
	}
	n = io_pread_full(f->fd, dst, size, offset);
	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EBADMSG;	/* it has been truncated since */
}

int elf_file_string(const struct elf_file *f, uint64_t offset, uint64_t end, char *dst, size_t size)
{
	size_t have = 0, want = STRING_PEEK;

	if (offset >= end)
		return -EBADMSG;
	/* Most are short: read a little, then more. */
	while (have < size - 1 && have < end - offset) {
		size_t n = want < size - 1 - have ? want : size - 1 - have;
		int err;

		if (n > end - offset - have)
			n = (size_t)(end - offset - have);
		err = elf_file_read(f, offset + have, dst + have, n);
		if (err)
			return err;
		if (memchr(dst + have, '\0', n))
			return 0;
		have += n;
		want *= 4;
	}
	dst[have] = '\0';
	return 0;
}

static int read_header(struct elf_file *f, struct tables *t)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} h;
	int err = elf_file_read(f, 0, h.ident, EI_NIDENT);

	if (err)
		return err == -EBADMSG ? -ENOEXEC : err;
	if (memcmp(h.ident, ELFMAG, SELFMAG) || h.ident[EI_DATA] != ELFDATA2LSB ||
	    (h.ident[EI_CLASS] != ELFCLASS32 && h.ident[EI_CLASS] != ELFCLASS64))
		return -ENOEXEC;
	f->is64 = h.ident[EI_CLASS] == ELFCLASS64;
	err = elf_file_read(f, 0, &h, f->is64 ? sizeof(h.e64) : sizeof(h.e32));
	if (err)
		return err;
#define TAKE(e) do { \
	f->type = (e).e_type; \
	f->machine = (e).e_machine; \
	f->entry = (e).e_entry; \
	*t = (struct tables){ (e).e_phoff, (e).e_shoff, (e).e_phnum, (e).e_shnum, (e).e_shstrndx, \
			      (e).e_phentsize, (e).e_shentsize }; \
} while (0)
	if (f->is64)
		TAKE(h.e64);
	else
		TAKE(h.e32);
#undef TAKE
	return 0;
}

static int read_section(const struct elf_file *f, uint64_t offset, struct elf_section *s,
			uint32_t *name)
{
	union {
		Elf32_Shdr s32;
		Elf64_Shdr s64;
	} h;
	int err = elf_file_read(f, offset, &h, f->is64 ? sizeof(h.s64) : sizeof(h.s32));

	if (err)
		return err;
#define TAKE(e) do { \
	*name = (e).sh_name; \
	*s = (struct elf_section){ "", (e).sh_type, (e).sh_link, (e).sh_info, (e).sh_flags, \
				   (e).sh_addr, (e).sh_offset, (e).sh_size, (e).sh_entsize }; \
} while (0)
	if (f->is64)
		TAKE(h.s64);
	else
		TAKE(h.s32);
#undef TAKE
	return 0;
}

static int read_segment(const struct elf_file *f, uint64_t offset, struct elf_segment *s)
{
	union {
		Elf32_Phdr p32;
		Elf64_Phdr p64;
	} h;
	int err = elf_file_read(f, offset, &h, f->is64 ? sizeof(h.p64) : sizeof(h.p32));

	if (err)
		return err;
#define TAKE(e)                                                                         \
	(*s = (struct elf_segment){ (e).p_type, (e).p_flags, (e).p_offset, (e).p_vaddr, \
				    (e).p_filesz, (e).p_memsz })
	if (f->is64)
		TAKE(h.p64);
	else
		TAKE(h.p32);
#undef TAKE
	return 0;
}

/*
 * Is a table of @n entries of @size bytes at @offset inside of the file? No sum can overflow: n is
 * limited.
 */
static int table_fits(const struct elf_file *f, uint64_t offset, uint64_t n, uint64_t size)
{
	return offset <= f->size && n * size <= f->size - offset;
}

static int read_segments(struct elf_file *f, const struct tables *t)
{
	size_t size = f->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (!t->phnum || !t->phoff)
		return 0;
	if (t->phentsize != size || t->phnum > MAX_SEGMENTS ||
	    !table_fits(f, t->phoff, t->phnum, size))
		return -EBADMSG;
	f->segments = xcalloc(t->phnum, sizeof(*f->segments));
	for (uint32_t i = 0; i < t->phnum; i++) {
		int err = read_segment(f, t->phoff + i * size, &f->segments[i]);

		if (err)
			return err;
	}
	f->n_segments = t->phnum;
	return 0;
}

/* Names the sections; @offsets are their sh_name. Damaged names are "". */
static void name_sections(struct elf_file *f, const uint32_t *offsets, uint32_t shstrndx)
{
	size_t size;

	if (shstrndx >= f->n_sections)
		return;
	f->names = elf_file_section_data(f, &f->sections[shstrndx], MAX_NAMES, &size);
	for (size_t i = 0; f->names && i < f->n_sections; i++)
		if (offsets[i] < size)
			f->sections[i].name = f->names + offsets[i];
}

/* Damage here only means that there are no sections: programs run without them. */
static void read_sections(struct elf_file *f, const struct tables *t)
{
	size_t size = f->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint32_t *names;

	if (!t->shnum || !t->shoff || t->shentsize != size || t->shnum > MAX_SECTIONS ||
	    !table_fits(f, t->shoff, t->shnum, size))
		return;
	f->sections = xcalloc(t->shnum, sizeof(*f->sections));
	names = xcalloc(t->shnum, sizeof(*names));
	for (uint32_t i = 0; i < t->shnum; i++)
		if (read_section(f, t->shoff + i * size, &f->sections[i], &names[i]))
			goto out;
	f->n_sections = t->shnum;
	name_sections(f, names, t->shstrndx);
out:
	free(names);
}

/*
 * Counts that do not fit the header stand in section 0 (gABI, "ELF Header"):
 * e_phnum PN_XNUM -> sh_info, e_shnum 0 -> sh_size, e_shstrndx SHN_XINDEX -> sh_link.
 */
static void resolve_extensions(const struct elf_file *f, struct tables *t)
{
	struct elf_section zero;
	uint32_t name;

	if (!t->shoff || read_section(f, t->shoff, &zero, &name))
		return;
	if (t->phnum == PN_XNUM)
		t->phnum = zero.info;
	if (t->shnum == 0)
		t->shnum = zero.size <= MAX_SECTIONS ? (uint32_t)zero.size : 0;
	if (t->shstrndx == SHN_XINDEX)
		t->shstrndx = zero.link;
}

/* Reads the tables; takes @f over. */
static struct elf_file *finish_open(struct elf_file *f)
{
	struct tables t;
	int err = read_header(f, &t);

	if (err)
		goto out;
	resolve_extensions(f, &t);
	err = read_segments(f, &t);
	if (err)
		goto out;
	read_sections(f, &t);
	return f;
out:
	elf_file_free(f);
	errno = -err;
	return NULL;
}

static uint64_t stored(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, most = (uint64_t)st->st_blocks * 512 * PACKED_MOST;

	return st->st_blocks < BLOCKS_LEAST || size < most ? size : most;
}

struct elf_file *elf_file_open(int fd)
{
	struct elf_file *f;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		errno = ENOEXEC;
		return NULL;
	}
	f = xcalloc(1, sizeof(*f));
	f->fd = fd;
	f->size = (uint64_t)st.st_size;
	f->stored = stored(&st);
	return finish_open(f);
}

struct elf_file *elf_file_open_memory(const void *mem, size_t size)
{
	struct elf_file *f = xcalloc(1, sizeof(*f));

	f->fd = -1;
	f->mem = mem;
	f->size = f->stored = size;
	return finish_open(f);
}

void elf_file_free(struct elf_file *f)
{
	if (!f)
		return;
	free(f->segments);
	free(f->sections);
	free(f->names);
	free(f);
}

size_t elf_file_segments(const struct elf_file *f, const struct elf_segment **out)
{
	*out = f->segments;
	return f->n_segments;
}

size_t elf_file_sections(const struct elf_file *f, const struct elf_section **out)
{
	*out = f->sections;
	return f->n_sections;
}

const struct elf_section *elf_file_section(const struct elf_file *f, const char *name)
{
	for (size_t i = 0; i < f->n_sections; i++)
		if (!strcmp(f->sections[i].name, name))
			return &f->sections[i];
	return NULL;
}

uint64_t elf_file_stored(const struct elf_file *f)
{
	return f->stored;
}

int elf_file_is64(const struct elf_file *f)
{
	return f->is64;
}

uint16_t elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

uint16_t elf_file_type(const struct elf_file *f)
{
	return f->type;
}

uint64_t elf_file_entry(const struct elf_file *f)
{
	return f->entry;
}

void *elf_file_section_data(const struct elf_file *f, const struct elf_section *s, size_t limit,
			    size_t *size)
{
	char *data = NULL;
	int err;

	err = -EBADMSG;
	if (s->type == SHT_NOBITS)
		goto out;
	err = -ENOTSUP;
	if (s->flags & SHF_COMPRESSED)
		goto out;
	err = -EFBIG;
	if (s->size > limit || s->size >= SIZE_MAX)
		goto out;
	err = -EBADMSG;
	if (s->size > f->size || s->offset > f->size - s->size)
		goto out;
	err = -ENOMEM;
	data = malloc((size_t)s->size + 1);
	if (!data)
		goto out;
	err = elf_file_read(f, s->offset, data, (size_t)s->size);
	if (err)
		goto out;
	data[s->size] = '\0';
	*size = (size_t)s->size;
	return data;
out:
	free(data);
	errno = -err;
	return NULL;
}

/*
 * Walks the notes at @p for the build id. Names and descriptors are padded to
 * four bytes; where a segment of 8-byte alignment holds other notes (GNU
 * properties), their sizes are multiples of 8, so that the walk stays in step.
 */
size_t elf_notes_build_id(const void *notes, size_t size, uint8_t id[ELF_BUILD_ID_MAX])
{
	const uint8_t *p = notes;

	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;		/* the same in both classes */
		uint64_t name, desc;

		memcpy(&h, p, sizeof(h));
		name = ((uint64_t)h.n_namesz + 3) & ~3ull;
		desc = ((uint64_t)h.n_descsz + 3) & ~3ull;
		p += sizeof(h);
		size -= sizeof(h);
		if (name > size || h.n_descsz > size - name)
			return 0;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p, "GNU", 4) &&
		    h.n_descsz >= 1 && h.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(id, p + name, h.n_descsz);
			return h.n_descsz;
		}
		if (desc > size - name)
			return 0;
		p += name + desc;
		size -= (size_t)(name + desc);
	}
	return 0;
}

static size_t build_id_at(const struct elf_file *f, uint64_t offset, uint64_t size,
			  uint8_t id[ELF_BUILD_ID_MAX])
{
	size_t n = size < MAX_NOTES ? (size_t)size : MAX_NOTES, found = 0;
	uint8_t *notes = xmalloc(n + 1);

	if (!elf_file_read(f, offset, notes, n))
		found = elf_notes_build_id(notes, n, id);
	free(notes);
	return found;
}

size_t elf_file_build_id(const struct elf_file *f, uint8_t id[ELF_BUILD_ID_MAX])
{
	size_t n = 0, parts = 0;

	for (size_t i = 0; i < f->n_segments && parts < MAX_NOTE_PARTS && !n; i++)
		if (f->segments[i].type == PT_NOTE && ++parts)
			n = build_id_at(f, f->segments[i].offset, f->segments[i].filesz, id);
	parts = 0;
	for (size_t i = 0; i < f->n_sections && parts < MAX_NOTE_PARTS && !n; i++)
		if (f->sections[i].type == SHT_NOTE && !(f->sections[i].flags & SHF_COMPRESSED) &&
		    ++parts)
			n = build_id_at(f, f->sections[i].offset, f->sections[i].size, id);
	return n;
}

int elf_file_vaddr(const struct elf_file *f, uint64_t offset, uint64_t *vaddr)
{
	int err = -ENOENT;

	for (size_t i = 0; i < f->n_segments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t at;

		if (s->type != PT_LOAD || offset < s->offset || offset - s->offset >= s->filesz ||
		    __builtin_add_overflow(s->vaddr, offset - s->offset, &at))
			continue;
		if (err || (s->flags & PF_X))
			*vaddr = at;
		err = 0;
		if (s->flags & PF_X)
			break;
	}
	return err;
}
