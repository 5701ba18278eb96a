/* SPDX-License-Identifier: MIT */
/*
 * The profile: plain data between whoever measured and whoever shows.
 *
 * The shape is pprof's (profile.proto): strings, functions, locations, and
 * samples that point to a stack. A stack is a node of a tree, (parent,
 * location), so a sample is one integer, and equal stacks are one node.
 * Everything is named by its index; string 0 is "", module 0 is none, label set 0 is empty,
 * and node 0 is the root, which has no location; a node comes after its parent.
 *
 * A profile measures one or more things, its *sample types* ("samples" in
 * "count", "inuse_space" in "bytes", ...); each sample has a value of each. One
 * type is *shown*: views, tables and graphs, which know one value a sample, are of it.
 *
 * The profile owns all; callers get const views. Adding the same thing twice gives
 * the same index, and indexes that go in must have come out. Texts must be clean
 * (base/text.h). Not thread safe.
 */
#ifndef EBPROF_PROFILE_H
#define EBPROF_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/summary.h"

#include "profile/frame_kind.h"
#include "profile/words.h"

struct function {
	uint32_t name;		/* string, as shown: demangled, cleaned, never empty */
	uint32_t module;	/* string: "libc.so.6", "[kernel]", "" where unknown */
	enum frame_kind kind;
};

/*
 * A file of code: two of one name are two, where their paths or build ids differ. 0 is "none
 * known".
 */
struct module {
	uint32_t name;		/* string: "libc.so.6" */
	uint32_t path;		/* string, as the target's mount namespace calls it */
	uint32_t build_id;	/* string: lowercase hex, "" where it has none */
	/* no file: memory in which a program made code, one module a process */
	uint32_t made;
};

/* The name of such a module. */
#define PROFILE_MADE "[anon]"

/*
 * From here on to twice as much addresses are made up: of what runs there functions alone are known
 * (COPY_FUNCTIONS). No machine has code there.
 */
#define LOCATION_PLACELESS (1ull << 62)

static inline int location_is_placeless(uint64_t address)
{
	return address >> 62 == LOCATION_PLACELESS >> 62;
}

struct location {
	uint32_t module;	/* module */
	enum frame_kind kind;
	/*
	 * offset in the module's file, or a raw address where there is none, or LOCATION_PLACELESS
	 * and more
	 */
	uint64_t address;
	uint32_t first_line, nlines;	/* in the view's lines; none until named */
	uint32_t why;		/* string: why its line is not a function's name; "" where it is */
};

/*
 * A function at a location. The last line is the function that the code lies in;
 * those before it were inlined into it, the innermost first.
 */
struct line {
	uint32_t function;
	uint32_t file;		/* string: path of the source, "" where unknown */
	uint32_t line;		/* in that file; 0: unknown */
};

struct node {
	uint32_t parent;	/* node */
	uint32_t location;	/* PROFILE_NONE for the root */
};

struct thread {
	uint32_t process;
	uint32_t comm;		/* string: the thread's own name, cleaned */
	pid_t tid;		/* 0: threads were not told apart */
};

struct process {
	/* 0: the idle task, or those of one name that ended (profile_fold.h) */
	pid_t pid;
	uint32_t comm;		/* string: its leader's name, cleaned */
	uint32_t incarnation;	/* tells two programs with one pid apart */
	pid_t parent;		/* pid; 0: not known. Not kept in files */
};

struct profile_type {
	uint32_t name, unit;	/* strings: "samples" in "count", "cpu" in "nanoseconds" */
	uint64_t total;		/* sum of all values; fits, so every partial sum does */
	/* What the two words mean; nobody else compares them. */
	const struct profile_type_words *words;
	enum profile_unit measured_in;
};

/* What else is known of a sample: a text, or a number in a unit ("" for none). */
struct label {
	uint32_t key, text, unit;	/* strings; @text is "" where @number counts */
	int64_t number;
};

struct label_set {
	uint32_t first, n;	/* in the view's labels */
};

struct sample {
	uint32_t thread, node;
	uint32_t labels;	/* label set */
};

/*
 * One time at which a sample was taken, or a span of time that it lasted, as a wait; there only
 * where a timeline was kept. What of a sample's values belongs to which of its ticks: worth.h.
 */
struct tick {
	uint64_t time;		/* ns since the recording began: it was then, or began then */
	uint64_t span;		/* ns that it lasted; 0: a moment */
	uint64_t value;		/* its weight among its sample's: samples; of spans their ns */
	uint32_t sample, cpu;
};

#define PROFILE_NONE UINT32_MAX

/* How many samples came to what end; taken = kept + the sum of lost (see docs/architecture.md). */
#define PROFILE_REASONS_MAX 16
struct profile_account {
	uint64_t taken, kept;
	struct profile_reason {
		const char *name;	/* lives as long as the profile */
		uint64_t count;
	} truncated[PROFILE_REASONS_MAX], lost[PROFILE_REASONS_MAX];
	size_t ntruncated, nlost;
};

/* What was measured and how; filled by whoever made the profile. */
struct profile_meta {
	char event[128];	/* "cycles", "cpu-clock", ... as perf names it */
	uint64_t frequency;	/* Hz, or 0 where @period counts */
	uint64_t period;	/* events a sample, or 0 */
	uint64_t start;		/* of sampling: ns of CLOCK_REALTIME; 0: not known */
	uint64_t duration;	/* ns of sampling; 0: not known */
	uint64_t peak;		/* t-gmax: ns since @start; 0: not known */
	uint32_t cpus;		/* that were sampled; 0: not known */
	int per_thread;
	/* Strings, "" where not known. */
	uint32_t host;		/* "name, Linux 6.1.0 x86_64" */
	uint32_t command;	/* the command line that made it */
	uint32_t title;		/* the user's own */
};

struct profile;

struct profile *profile_new(void);
void profile_free(struct profile *p);

uint32_t profile_string(struct profile *p, const char *s);
/* A program's function in the module of code made at run time is FRAME_JIT (frame_kind_in()). */
uint32_t profile_function(struct profile *p, uint32_t name, uint32_t module, enum frame_kind kind);
uint32_t profile_module(struct profile *p, const char *name, const char *path,
			const char *build_id);
uint32_t profile_location(struct profile *p, uint32_t module, enum frame_kind kind,
			  uint64_t address);
/* Once a location; @why: "", or why @lines only stand for a name. */
void profile_name_location(struct profile *p, uint32_t location, const struct line *lines, size_t n,
			   const char *why);
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location);
/* A process is (pid, incarnation); a @comm that is not "" replaces what was known. */
uint32_t profile_process(struct profile *p, pid_t pid, uint32_t incarnation, uint32_t comm);
void profile_set_parent(struct profile *p, uint32_t process, pid_t parent);
/* All three make a thread: one that renamed itself was two, and its samples stay apart. */
uint32_t profile_thread(struct profile *p, uint32_t process, pid_t tid, uint32_t comm);
/*
 * A new profile has one, the first: "samples" in "count", until it is renamed by this. All before
 * the first sample.
 */
void profile_set_type(struct profile *p, uint32_t type, const char *name, const char *unit);
uint32_t profile_add_type(struct profile *p, const char *name, const char *unit);
/* Only the first @n are left; where another one was shown, the last of them is. */
void profile_keep_types(struct profile *p, uint32_t n);
/* Which type is shown; the first, until this is called. */
void profile_show(struct profile *p, uint32_t type);
/* @labels in any order; equal sets are one. */
uint32_t profile_labels(struct profile *p, const struct label *labels, size_t n);
/* The set @labels, and @more. */
uint32_t profile_labels_and(struct profile *p, uint32_t labels, const struct label *more);

/* The sample of (thread, node, label set); its values begin with 0. */
uint32_t profile_sample(struct profile *p, uint32_t thread, uint32_t node, uint32_t labels);
/* Adds @value of @type, up to a total of UINT64_MAX over all samples. */
void profile_count(struct profile *p, uint32_t sample, uint32_t type, uint64_t value);
/* Puts @value of @type in the place of what it has, up to the same total. */
void profile_set(struct profile *p, uint32_t sample, uint32_t type, uint64_t value);
/* All values of @type, times @factor; what is rounded off of one is with the next. */
void profile_scale(struct profile *p, uint32_t type, double factor);
/* Takes all values of @sample away. */
void profile_drop(struct profile *p, uint32_t sample);
/* Both, with the first type and no labels; nothing where @count is 0. */
void profile_add(struct profile *p, uint32_t thread, uint32_t node, uint64_t count);
/* A type whose values are those of @from, times @factor, as far as they fit. Returns it. */
uint32_t profile_derive(struct profile *p, uint32_t from, const char *name, const char *unit,
			uint64_t factor);
/* In any order; profile_finish_ticks() sorts them by time. */
void profile_tick(struct profile *p, const struct tick *t);
void profile_finish_ticks(struct profile *p);
/* A remark that travels with the profile (pprof's comments). */
void profile_comment(struct profile *p, const char *text);

/* Bytes of memory that it takes, about. */
size_t profile_bytes(const struct profile *p);
struct profile_meta *profile_meta(struct profile *p);
struct profile_account *profile_account(struct profile *p);
/* How the recording went; empty in a profile that was read. Not kept in files. */
struct summary *profile_summary(struct profile *p);

/* A const view of everything, valid until the next change. */
struct profile_view {
	const struct function *functions;	size_t nfunctions;
	const struct module *modules;		size_t nmodules;
	const struct location *locations;	size_t nlocations;
	const struct line *lines;		size_t nlines;
	const struct node *nodes;		size_t nnodes;
	const struct process *processes;	size_t nprocesses;
	const struct thread *threads;		size_t nthreads;
	const struct sample *samples;		size_t nsamples;
	const struct label_set *label_sets;	size_t nlabel_sets;
	const struct label *labels;		size_t nlabels;
	const struct tick *ticks;		size_t nticks;		/* by time */
	const uint32_t *comments;		size_t ncomments;	/* strings */
	const struct profile_type *types;	size_t ntypes;
	uint32_t shown;				/* type */
	const uint64_t *values;			/* of the type that is shown, by sample */
	uint64_t total;				/* its total */
	const struct profile_meta *meta;
	const struct profile_account *account;
	const struct summary *summary;
};
struct profile_view profile_view(const struct profile *p);
/* The values of any type, by sample; valid until the next change. */
const uint64_t *profile_values(const struct profile *p, uint32_t type);
const char *profile_text(const struct profile *p, uint32_t string);

#endif
