/* SPDX-License-Identifier: MIT */
/*
 * The table that Go's runtime itself needs for its tracebacks: it is there in
 * stripped programs. Functions, and tables that lead from their program counters to
 * lines, inlined calls and sizes of frames. Sources of the format: the Go distribution,
 * cmd/link/internal/ld/pcln.go (writer), runtime/symtab.go (reader), and
 * "Go 1.2 Runtime Symbol Information" (golang.org/s/go12symtab).
 */
#ifndef EBPROF_GOPCLNTAB_H
#define EBPROF_GOPCLNTAB_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define GO_GOFUNC_PLACES 4

/* What differs between the versions. Offsets in bytes; of 0 where there is no such thing. */
struct go_layout {
	uint32_t magic;
	/* number of the header word with the name table's offset; four more follow */
	uint8_t offsets;
	uint8_t text;		/* number of the header word with the text's address */
	/* of the numbers in the function table: 4: from the text's start; 8: addresses */
	uint8_t width;
	/* in a function; its pcfile, pcln and npcdata follow pcsp */
	uint8_t name, pcsp, cu, id, size;
	uint8_t call;		/* size of an inlined call */
	/* number of the word in moduledata, by minor version */
	uint8_t gofunc[GO_GOFUNC_PLACES];
};

struct go_part {		/* a table in the table, from the latter's start */
	uint64_t at, end;
};

struct go_entry {		/* of the function table */
	uint32_t start;		/* from @base */
	uint32_t at;		/* of the function, in @functions */
};

struct gopclntab {
	const struct elf_file *elf;
	const struct go_layout *layout;
	/* the table in the file and, as an ELF address, in memory */
	uint64_t offset, address, size;
	struct go_part names, units, files, values, functions;
	uint8_t quantum;	/* bytes that one step of a program counter stands for */
	uint64_t base;		/* what starts are counted from */
	struct go_entry *entries;	/* @n, and one for the end of the last */
	uint32_t n;
	/* bytes that may still be read in search of the table and of moduledata */
	uint64_t left;
};

/*
 * Of a function's flags (runtime/symtab.go, funcFlag; Go 1.17): it moves its stack pointer to where
 * no table can tell.
 */
#define GO_SPWRITE 2

struct go_function {
	uint64_t start, size;	/* of its code */
	/* behind its fixed part, in the table: offsets of pcdata, then funcdata */
	uint64_t tables;
	uint32_t name, pcsp, pcfile, pcln, n_pcdata, unit;
	uint8_t id, flags, n_funcdata;
};

/* The values of a table along the program counters of a function. */
struct go_values {
	const struct gopclntab *t;
	uint64_t at;		/* of the next bytes to be read */
	size_t n, used;
	uint8_t bytes[128];
	int begun;
	int32_t value;
	uint64_t end;		/* @value holds up to here, counted from the function's start */
};

/*
 * Go 1.2 and later, 64 bits. Borrows @elf, which must outlive the table. NULL with
 * errno: ENODATA not a Go program, EBADMSG damaged, ENOTSUP a version (or a size of
 * pointers) that is not known, or pread's.
 */
struct gopclntab *gopclntab_open(const struct elf_file *elf);
void gopclntab_free(struct gopclntab *t);

/* Reads at @at of the table. 0, or a negative errno. */
int gopclntab_read(const struct gopclntab *t, uint64_t at, void *dst, size_t size);
/* Reads the function at @address. 0, -ENOENT, or another negative errno. */
int gopclntab_function(const struct gopclntab *t, uint64_t address, struct go_function *f);
int gopclntab_function_read(const struct gopclntab *t, uint32_t index, struct go_function *f);
/* Is @name where a name begins? */
int gopclntab_is_name(const struct gopclntab *t, uint32_t name);
/* A terminated string, cut to @size bytes, at @at of @part. */
int gopclntab_string(const struct gopclntab *t, const struct go_part *part, uint64_t at, char *dst,
		     size_t size);

/* Begins the table @table of a function. 0, or -ENOENT: it has none. */
int gopclntab_values(const struct gopclntab *t, uint32_t table, struct go_values *v);
/* The next value. 0, -ENOENT: the table ends, or -EBADMSG. */
int gopclntab_next(struct go_values *v);

#define GO_MODULE_WORDS 48
/* The beginning of runtime.firstmoduledata, which points at the table. 0, or a negative errno. */
int gopclntab_module(struct gopclntab *t, uint64_t words[GO_MODULE_WORDS]);
/* Reads at an ELF address. 0, or a negative errno. */
int gopclntab_read_memory(const struct elf_file *elf, uint64_t address, void *dst, size_t size);

/*
 * Calls @take for each place where a table may begin until it gives 0, and returns that; else its
 * first error, or -ENODATA.
 */
int gopclntab_locate(struct gopclntab *t, int (*take)(struct gopclntab *t));

#endif
