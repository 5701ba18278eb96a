/* SPDX-License-Identifier: MIT */
#include "symbols/jitdump.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/io.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbols/jit_file.h"
#include "symbols/jit_lines.h"
#include "symbols/jit_ranges.h"

#define MAGIC		0x4a695444u	/* "JiTD", and read in the other byte order: */
#define MAGIC_SWAPPED	0x4454694au
#define VERSION		1
#define HEADER_MAX	4096		/* bytes; it has 40 */
#define WINDOW		(64u << 10)	/* bytes of the file that are held at a time */
#define MAX_NAME	4096		/* bytes kept of one, with its terminator */
#define MAX_NAMES	(128u << 20)	/* bytes of all names of functions */
/* bytes; records are padded to a multiple of it, or not at all */
#define PADDING		8
#define MAX_CODES	(2u << 20)	/* functions; the largest programs have some 100 thousand */

struct file_header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct record_header {
	uint32_t id, total_size;
	uint64_t timestamp;
};

enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

struct code_load {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
	/* the name, terminated; the code */
};

struct code_move {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

/* A function, wherever its code is and was. */
struct code {
	uint32_t name;		/* in @names */
	uint32_t size;
	struct jit_lines_of lines;
};

struct jitdump {
	struct symbol_source source;
	int fd;
	uint32_t pid;
	struct jit_ranges ranges;	/* the payload: an index of @codes */
	VEC(struct code) codes;
	struct hashmap by_index;	/* code_index -> its latest in @codes */
	struct strtab *names;
	size_t names_size;
	struct jit_lines *lines;
	uint64_t parsed;		/* bytes of the file; after a record */
	int ended;			/* its records make no sense beyond here */
	/* What is held of the file, while it is read. */
	uint8_t *window;
	uint64_t window_at;
	size_t window_size;
};

/*
 * The bytes of the file from @offset on, *@n of them: @want, or fewer at the
 * file's end. Valid until the next call. NULL: a read error.
 */
static const uint8_t *bytes_at(struct jitdump *d, uint64_t offset, size_t want, size_t *n)
{
	size_t have = 0;

	if (offset >= d->window_at && offset - d->window_at < d->window_size)
		have = d->window_size - (size_t)(offset - d->window_at);
	if (have < want) {
		ssize_t got = io_pread_full(d->fd, d->window, WINDOW, offset);

		if (got < 0)
			return NULL;
		d->window_at = offset;
		d->window_size = have = (size_t)got;
	}
	*n = have < want ? have : want;
	return d->window + (offset - d->window_at);
}

static int read_header(struct jitdump *d)
{
	struct file_header h;
	ssize_t n = io_pread_full(d->fd, &h, sizeof(h), 0);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(h))
		return -EBADMSG;
	if (h.magic == MAGIC_SWAPPED || (h.magic == MAGIC && h.version != VERSION))
		return -ENOTSUP;
	if (h.magic != MAGIC || h.total_size < sizeof(h) || h.total_size > HEADER_MAX)
		return -EBADMSG;
	if (h.pid != d->pid)
		return -ESTALE;
	d->parsed = h.total_size;
	return 0;
}

/* JIT_CODE_LOAD, at @offset. */
static int take_load(struct jitdump *d, uint64_t offset, uint32_t total)
{
	size_t room = total - sizeof(struct code_load), n, length;
	struct code_load load;
	char name[MAX_NAME];
	struct code code = { 0 };
	const uint8_t *p = bytes_at(d, offset, sizeof(load) + (room < MAX_NAME ? room : MAX_NAME),
				    &n);

	if (!p)
		return -EIO;
	if (n < sizeof(load))
		return 0;
	memcpy(&load, p, sizeof(load));
	length = strnlen((const char *)p + sizeof(load), n - sizeof(load));
	if (length == room || load.pid != d->pid)
		/* a name without an end; a process that was forked writes in its parent's file */
		return 0;
	if (length >= MAX_NAME)
		length = MAX_NAME - 1;
	memcpy(name, p + sizeof(load), length);
	name[length] = '\0';
	if (!length || d->codes.n >= MAX_CODES || d->names_size > MAX_NAMES ||
	    jit_ranges_add(&d->ranges, load.code_addr, load.code_size, (uint32_t)d->codes.n))
		return 0;
	d->names_size += length + 1;
	code.name = strtab_add(d->names, name);
	code.size = (uint32_t)load.code_size;
	code.lines = jit_lines_claim(d->lines, name, load.code_addr, load.code_size);
	hashmap_set(&d->by_index, load.code_index, (uint32_t)d->codes.n);
	vec_push(&d->codes, code);
	return 0;
}

/* JIT_CODE_MOVE: the function is known at its old place, too, for what was sampled there. */
static int take_move(struct jitdump *d, uint64_t offset, uint32_t total)
{
	struct code_move move;
	uint32_t code;
	size_t n;
	const uint8_t *p = bytes_at(d, offset, sizeof(move), &n);

	(void)total;
	if (!p)
		return -EIO;
	if (n < sizeof(move))
		return 0;
	memcpy(&move, p, sizeof(move));
	if (move.pid != d->pid)
		return 0;
	code = hashmap_get(&d->by_index, move.code_index);
	if (code != HASHMAP_NONE && d->codes.v[code].size == move.code_size)
		jit_ranges_add(&d->ranges, move.new_code_addr, move.code_size, code);
	return 0;
}

/* JIT_CODE_DEBUG_INFO: the lines of the next function that is loaded at its address. */
static int take_debug_info(struct jitdump *d, uint64_t offset, uint32_t total)
{
	uint64_t end = offset + total, at = offset + sizeof(struct record_header), fields[2];
	size_t n;
	const uint8_t *p = bytes_at(d, at, sizeof(fields), &n);

	if (!p)
		return -EIO;
	if (n < sizeof(fields))
		return 0;
	memcpy(fields, p, sizeof(fields));
	jit_lines_begin(d->lines, fields[0]);
	at += sizeof(fields);
	for (uint64_t i = 0; i < fields[1]; i++) {
		struct jit_line_entry entry;
		size_t room = end - at < sizeof(entry) + MAX_NAME ? (size_t)(end - at)
								  : sizeof(entry) + MAX_NAME,
		       length;

		p = bytes_at(d, at, room, &n);
		if (!p)
			return -EIO;
		if (n <= sizeof(entry))
			goto spoilt;
		memcpy(&entry, p, sizeof(entry));
		p += sizeof(entry);
		length = strnlen((const char *)p, n - sizeof(entry));
		if (length == n - sizeof(entry))
			goto spoilt;
		if (jit_lines_add(d->lines, &entry, (const char *)p))
			return 0;
		at += sizeof(entry) + length + 1;
	}
	/* More than padding left: the entries were not written as they were counted. */
	if (end - at < PADDING)
		return 0;
spoilt:
	jit_lines_spoil(d->lines);
	return 0;
}

/*
 * JIT_CODE_CLOSE and JIT_CODE_UNWINDING_INFO have nothing for us, and what is not known is skipped.
 */
static const struct {
	uint32_t least;		/* bytes of the record */
	int (*take)(struct jitdump *d, uint64_t offset, uint32_t total);
} records[] = {
	[CODE_LOAD] = { sizeof(struct code_load) + 1, take_load },
	[CODE_MOVE] = { sizeof(struct code_move), take_move },
	[CODE_DEBUG_INFO] = { sizeof(struct record_header) + 16, take_debug_info },
};

/* The next record: 1, 0 where there is none yet, or a negative errno. */
static int read_record(struct jitdump *d, uint64_t size)
{
	struct record_header h;
	size_t n;
	const uint8_t *p = bytes_at(d, d->parsed, sizeof(h), &n);
	int err = 0;

	if (!p)
		return -EIO;
	if (n < sizeof(h))
		return 0;
	memcpy(&h, p, sizeof(h));
	if (h.total_size < sizeof(h)) {
		d->ended = 1;	/* damaged: nobody knows where the next one begins */
		return 0;
	}
	if (h.total_size > size - d->parsed)
		return 0;	/* it is being written */
	if (h.id < sizeof(records) / sizeof(records[0]) && records[h.id].take &&
	    h.total_size >= records[h.id].least)
		err = records[h.id].take(d, d->parsed, h.total_size);
	if (err)
		return err;
	d->parsed += h.total_size;
	return 1;
}

int jitdump_refresh(struct symbol_source *source)
{
	struct jitdump *d = (struct jitdump *)source;
	off_t size = lseek(d->fd, 0, SEEK_END);
	uint64_t before = d->parsed;
	int got = 0;

	if (size < 0)
		return -errno;
	if (size > (off_t)JIT_FILE_MAX)
		size = (off_t)JIT_FILE_MAX;
	if (d->ended || (uint64_t)size <= d->parsed)
		return 0;
	d->window = xmalloc(WINDOW);
	d->window_size = 0;
	while (!d->ended && d->parsed < (uint64_t)size &&
	       (got = read_record(d, (uint64_t)size)) > 0)
		;
	free(d->window);
	d->window = NULL;
	if (d->parsed != before)
		jit_ranges_cut(&d->ranges);
	return got < 0 ? got : 0;
}

static int jitdump_find(const struct symbol_source *source, uint64_t address,
			struct source_function *out)
{
	const struct jitdump *d = (const struct jitdump *)source;
	const struct jit_range *r = jit_ranges_find(&d->ranges, address);

	if (!r)
		return -ENOENT;
	*out = (struct source_function){ .start = r->start, .token = d->codes.v[r->payload].name };
	return 0;
}

static int copy(const char *name, char *dst, size_t size)
{
	size_t n = strnlen(name, size - 1);

	memcpy(dst, name, n);
	dst[n] = '\0';
	return 0;
}

static int jitdump_name(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	const struct jitdump *d = (const struct jitdump *)source;

	return token < strtab_count(d->names)
		       ? copy(strtab_get(d->names, (uint32_t)token), dst, size)
		       : -EINVAL;
}

static int jitdump_frames(struct symbol_source *source, uint64_t address,
			  struct source_frame out[SOURCE_FRAMES_MAX])
{
	const struct jitdump *d = (const struct jitdump *)source;
	const struct jit_range *r = jit_ranges_find(&d->ranges, address);
	const struct code *code;
	uint32_t file, line;

	if (!r)
		return -ENOENT;
	code = &d->codes.v[r->payload];
	if (jit_lines_find(d->lines, &code->lines, (uint32_t)(address - r->start), &file, &line))
		return -ENOENT;
	out[0] = (struct source_frame){ code->name, file ? file : SOURCE_NO_FILE, line };
	return 1;
}

static int jitdump_file(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	const char *name = jit_lines_file(((const struct jitdump *)source)->lines, token);

	return name ? copy(name, dst, size) : -EINVAL;
}

static void jitdump_free(struct symbol_source *source)
{
	struct jitdump *d = (struct jitdump *)source;

	close(d->fd);
	jit_ranges_free(&d->ranges);
	vec_free(&d->codes);
	hashmap_free(&d->by_index);
	strtab_free(d->names);
	jit_lines_free(d->lines);
	free(d);
}

static const struct symbol_source_ops ops = {
	.find = jitdump_find,
	.name = jitdump_name,
	.frames = jitdump_frames,
	.file = jitdump_file,
	.free = jitdump_free,
	.refresh = jitdump_refresh,
};

struct symbol_source *jitdump_open(int fd, pid_t nspid)
{
	struct jitdump *d = xcalloc(1, sizeof(*d));
	int err;

	d->source.ops = &ops;
	d->fd = fd;
	d->pid = (uint32_t)nspid;
	d->names = strtab_new();
	d->lines = jit_lines_new();
	err = read_header(d);
	if (!err)
		err = jitdump_refresh(&d->source);
	if (!err)
		return &d->source;
	jitdump_free(&d->source);
	errno = -err;
	return NULL;
}
