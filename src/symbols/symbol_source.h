/* SPDX-License-Identifier: MIT */
/*
 * What the symbolizer asks of anything that can name addresses: a symbol table,
 * DWARF, a perf map, a jitdump, Go's pclntab.
 *
 * A source has its own constructor, from what it needs (an ELF file, a process's
 * map file), and is used through these operations alone. An address is what the
 * source was made from speaks of: a virtual address of the ELF file for the
 * sources of an image, an address in the process for those of a process.
 *
 * Finding and naming are two steps, so that the symbolizer reads and demangles a
 * name once for all addresses in its function. Owned by who made it.
 */
#ifndef EBPROF_SYMBOL_SOURCE_H
#define EBPROF_SYMBOL_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct symbol_source;

struct source_function {
	uint64_t start;		/* its first address */
	uint64_t token;		/* means its name to this source; equal tokens, equal names */
	int open_ended; /* nothing says where it ends: it may have ended before the address */
};

/*
 * One of the calls at an address that were inlined into a function; the last one is the function
 * itself.
 */
struct source_frame {
	uint64_t function;	/* token of its name */
	uint64_t file;		/* token of the file that @line is in; SOURCE_NO_FILE: not known */
	/* of the code at the address, in an outer frame of the call; 0: not known */
	uint32_t line;
};

#define SOURCE_NO_FILE UINT64_MAX
#define SOURCE_FRAMES_MAX 64	/* more deeply inlined ones: the innermost are left out */

struct symbol_source_ops {
	/* The function that covers @address: 0, or -ENOENT. */
	int (*find)(const struct symbol_source *s, uint64_t address, struct source_function *out);
	/*
	 * Its name as the source has it (mangled; hostile), terminated, cut to
	 * @size bytes. 0, or a negative errno: the name could not be read.
	 */
	int (*name)(const struct symbol_source *s, uint64_t token, char *dst, size_t size);
	/*
	 * What @address was compiled from, innermost first: 1 to SOURCE_FRAMES_MAX
	 * frames, or -ENOENT. One alone may have a token without a name: its line is known, but no
	 * function. NULL where the source knows nothing of the kind.
	 */
	int (*frames)(struct symbol_source *s, uint64_t address,
		      struct source_frame out[SOURCE_FRAMES_MAX]);
	/* A file's name as @name does it; there where @frames is. */
	int (*file)(const struct symbol_source *s, uint64_t token, char *dst, size_t size);
	void (*free)(struct symbol_source *s);	/* never called with NULL */
	/* Bytes of memory that it takes now, about. NULL where who made it does not ask. */
	size_t (*bytes)(const struct symbol_source *s);
	/*
	 * Reads what was written since; tokens keep their meaning. 0, or a negative errno: nothing
	 * can be read (yet). NULL where nothing changes.
	 */
	int (*refresh)(struct symbol_source *s);
};

/* The first member of every source. */
struct symbol_source {
	const struct symbol_source_ops *ops;
};

static inline size_t symbol_source_bytes(const struct symbol_source *s)
{
	return s ? s->ops->bytes(s) : 0;
}

static inline int symbol_source_refresh(struct symbol_source *s)
{
	return s->ops->refresh ? s->ops->refresh(s) : 0;
}

static inline void symbol_source_free(struct symbol_source *s)
{
	if (s)
		s->ops->free(s);
}

#endif
