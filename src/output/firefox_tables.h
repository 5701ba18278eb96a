/* SPDX-License-Identifier: MIT */
/*
 * A thread in the Firefox Profiler's format has tables of its own: stacks that point
 * to frames, frames to functions, those to resources. Here they are made, from
 * those things of the profile that are on the thread's stacks; firefox_thread.c writes them.
 */
#ifndef EBPROF_FIREFOX_TABLES_H
#define EBPROF_FIREFOX_TABLES_H

#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/stack.h"
#include "output/threads.h"
#include "profile/profile.h"
#include "profile/worth.h"

/* Indexes of the categories in meta.categories; the first one is the default. */
enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_JIT,
	FIREFOX_SCRIPT,		/* only where there are such frames */
	FIREFOX_CATEGORIES,
};

/*
 * A function of a library where it was sampled: what its frames, and those inlined into it, lie in.
 */
struct firefox_symbol {
	uint32_t function;
	uint32_t module;
	uint64_t address;	/* the lowest that was sampled, relative to its library */
};

/* What all threads share. */
struct firefox {
	const struct profile *p;
	struct profile_view v;
	struct json json;
	struct strtab *strings;			/* the file's own: shared.stringArray */
	struct stack_source *sources;
	struct firefox_symbol *symbols;
	size_t nsymbols;
	uint32_t *symbol_of;			/* location -> symbol; PROFILE_NONE: no library */
	uint32_t *library_of;			/* module -> library; PROFILE_NONE */
	struct worth worth;			/* of ticks, in what is shown */
	struct firefox_tables *tables;
};

/* From things of the profile to rows of a thread's table; cleared in the time that filling took. */
struct firefox_rows {
	uint32_t *of;		/* thing -> row, PROFILE_NONE */
	VEC(uint32_t) used;	/* things that have one */
};

struct firefox_stack {
	uint32_t frame;		/* row */
	uint32_t prefix;	/* row, or PROFILE_NONE */
};

struct firefox_frame {
	int64_t address;
	/* 0: the function that the code lies in; what was inlined there is deeper */
	uint32_t depth;
	uint32_t category;
	uint32_t function;	/* row */
	uint32_t symbol;	/* row, or PROFILE_NONE */
	uint32_t line;		/* 0: unknown */
};

/* A sample with its time, which may be made up. */
struct firefox_moment {
	uint32_t stack;		/* row */
	uint64_t time, value;
};

#define FIREFOX_WAIT "Wait"	/* the type of markers (meta.markerSchema) */

/* A wait. */
struct firefox_marker {
	uint32_t name, place;	/* strings of the file */
	uint32_t stack;		/* row */
	uint64_t begin, end;	/* ns */
};

struct firefox_tables {
	/* the row of a node's innermost frame in stacks; node 0: that of "[no stack]" */
	struct firefox_rows nodes;
	/* the row of a location's outermost frame; the inlined ones follow */
	struct firefox_rows locations;
	struct firefox_rows functions, modules, symbols;
	VEC(struct firefox_stack) stacks;
	VEC(struct firefox_frame) frames;
	VEC(struct firefox_moment) moments;
	VEC(struct firefox_marker) markers;
	VEC(uint32_t) path;		/* nodes still to be added */
	VEC(uint32_t) resources;	/* function row -> module row, PROFILE_NONE */
};

/*
 * @location's address as the format counts it: from where its library begins; -1 where that is not
 * known.
 */
int64_t firefox_address(const struct firefox *x, const struct location *location);

/* Room for the tables of any thread of @x, one after the other. */
struct firefox_tables *firefox_tables_new(const struct firefox *x);
void firefox_tables_free(struct firefox_tables *t);
/* x->tables for the thread of @row. @ticks: its own, by time; what has none has made-up times. */
void firefox_tables_fill(struct firefox *x, const struct thread_row *row, const uint32_t *ticks,
			 size_t nticks);

/*
 * Adds that thread, whose tables were filled, to x->json (firefox_thread.c); NULL: one that never
 * ran.
 */
void firefox_thread_write(struct firefox *x, const struct thread_row *row);

#endif
