/* SPDX-License-Identifier: MIT */
/*
 * Languages whose frames are not native code: one row each (lang_rows).
 *
 * A row recognises the interpreter in an image, gives the layout that the BPF
 * programs walk its frames by, and makes names and lines of what they sent. All of
 * it is read from files and memory that belong to others.
 */
#ifndef EBPROF_LANG_H
#define EBPROF_LANG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "bpf/lang.h"
#include "elf/elf_file.h"

/* What code of an interpreter is to the runs of frames. */
enum lang_runs {
	LANG_RUNS_CALL,		/* each frame of it begins one */
	/* a part of what the frame that called it is: it begins none */
	LANG_RUNS_INNER,
	/* called by what begins one it calls such code again, which goes on with that run */
	LANG_RUNS_AGAIN,
	LANG_RUNS_COLLECTS,	/* none of it, but its collector and what calls that */
	LANG_RUNS_BESIDE,	/* other code of its file */
	LANG_RUNS_NOT,		/* it is none of it */
};
/* Offsets in a file, @end exclusive. */
struct lang_range {
	uint64_t start, end;
	enum lang_runs runs;
};

/* An interpreter in a file. */
struct lang_image {
	const struct lang_ops *ops;	/* NULL: the file holds none that is known */
	struct ebp_layout layout;
	/* its own code, whose native frames the frames of the language stand for; by their start */
	VEC(struct lang_range) code;
	/* functions that wait for the lock of an interpreter (lang_ops.lock); the same */
	VEC(struct lang_range) lock;
	/* where @ops is NULL: what there is, and why its frames stay native; "" for neither */
	char why[96];
};

/* What reads memory of a process as it is by now. */
struct lang_reader {
	/* 0, or negative; NULL: there is no way to */
	int (*read)(void *ctx, pid_t pid, uint64_t address, void *to, size_t size);
	void *ctx;
	void *state;		/* what the language keeps from code to code (lang_ops.open) */
};

/* A function at a line, of those that one frame stands for. */
struct lang_frame {
	const char *name, *file;	/* as in struct lang_code */
	uint32_t first_line, line;	/* 0: not known */
};

#define LANG_FRAMES 64		/* of one place, at most */
/* glibc's struct pthread on x86-64: specific_1stblock */
#define LANG_KEYS_X86_64 0x310

/* What an id of code means (struct ebp_code). */
struct lang_code {
	const struct lang_ops *ops;
	uint64_t id;
	/* qualified by its scope where the runtime knows it; UTF-8, not clean; never NULL */
	char *name;
	char *file;		/* the same; "" where it could not be read */
	uint32_t first_line;	/* 0: not known */
	uint32_t version;	/* of the runtime, as its language has it */
	uint8_t *table;		/* the line table, or the beginning of it */
	size_t table_bytes;
	void *more;		/* the language's own */
};

/* A thread that does not run, and who takes what its frames are of. */
struct lang_walk {
	const struct ebp_layout *layout;
	uint64_t bias;			/* of the interpreter's mapping */
	uint64_t thread_pointer;
	pid_t pid;
	int await;			/* with what awaits it, where the language knows that */
	const struct lang_reader *reader;
	/* the id of the code that has @identity in its process; 0: not met before */
	uint64_t (*find)(void *ctx, uint64_t identity);
	/* gives it one: @record is what the code says of itself */
	uint64_t (*take)(void *ctx, uint64_t identity, struct ebp_code *record);
	void *ctx;
};

struct lang_ops {
	const char *name;	/* "Python" */
	const char *reads;	/* of which versions, on which machines: for `ebprof doctor` */
	uint32_t language;	/* enum ebp_language */
	/* Parts of the names of its files, one of which each has; a NULL behind them. */
	const char *files[3];
	const char *joint;	/* between a scope and a name: "::" */
	const char *lock;	/* of an interpreter, that its threads share; NULL: none */
	/*
	 * Frames of runs whose calls are not there do not run: C prepared them, and calls them
	 * again and again.
	 */
	int prepares;
	int of_process;		/* one list for all threads: whose it is say the native frames */
	int compiles;		/* its code calls what it compiles, or jumps there (unwind_x86.h) */
	const char *anonymous;	/* the name of code that has none; NULL: all has one */
	/* What of a file's path is shown as its image, a part of @file; NULL: all of it. */
	const char *(*module)(const char *file);
	/* Makes a scope what the language's own texts have; NULL: it is. */
	void (*tidy)(char *scope);
	/*
	 * Whether @f, whose file's name is @name, is an interpreter of the language: fills @out, or
	 * only its reason.
	 */
	void (*recognise)(const struct elf_file *f, const char *name, struct lang_image *out);
	/* The line of @place in @code; 0: not known. */
	uint32_t (*line)(const struct lang_code *code, uint32_t place);
	/*
	 * All of these may be NULL. Adds to @code what is not in its record, out of the memory of
	 * its process; what that left in @code->more goes with release().
	 */
	void (*complete)(struct lang_code *code, const struct ebp_code *record,
			 const struct lang_reader *r);
	void (*release)(struct lang_code *code);
	/* What is at @place, the innermost first: how many, at most @max. NULL: @code alone. */
	size_t (*frames)(const struct lang_code *code, uint32_t place, struct lang_frame *out,
			 size_t max);
	/*
	 * Of a listed language: the frames of a thread, as the BPF programs make them, to @words,
	 * which has room for EBP_WORDS_MAX. Returns how many. NULL: only these can.
	 */
	size_t (*walk)(const struct lang_walk *w, uint64_t *words);
	/* What is kept from code to code. */
	void *(*open)(void);
	void (*close)(void *state);
};

extern const struct lang_ops lang_hotspot, lang_lua, lang_luajit, lang_perl, lang_php, lang_python,
	lang_ruby, lang_v8;

/* All rows: by language, with gaps. */
extern const struct lang_ops *const lang_rows[EBP_LANGUAGES];

/* Whether the C library that @f is linked with is musl. */
int lang_needs_musl(const struct elf_file *f);

/*
 * Of what the file at @path is, by its name, a part that runs it: a bit for each enum ebp_language.
 */
uint32_t lang_hinted(const char *path);

void lang_image_free(struct lang_image *l);
/* Puts its ranges in the order of offsets, in which the functions below expect them. */
void lang_image_sort(struct lang_image *l);
/* Whether @offset of the file is in the interpreter's own code. */
enum lang_runs lang_image_runs(const struct lang_image *l, uint64_t offset);
/* What code at @offset waits for, if it waits: its lock, or NULL. */
const char *lang_image_lock(const struct lang_image *l, uint64_t offset);

/*
 * Makes @out of a record of @size bytes. 0, or -EBADMSG: it is not whole. A name that
 * could not be read is "".
 */
int lang_code_decode(const struct ebp_code *record, size_t size, struct lang_code *out);
void lang_code_free(struct lang_code *c);

/*
 * @length characters of @width bytes (1: Latin-1, 2, 4) as UTF-8, in a malloc'd string; what is no
 * character becomes U+FFFD, and a NUL ends it.
 */
char *lang_utf8(const uint8_t *bytes, size_t length, unsigned width);

#endif
