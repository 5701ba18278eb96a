/* SPDX-License-Identifier: MIT */
/*
 * Which processes and threads a perf.data file tells of, and what was mapped where: its records are
 * given in the order of time, and a question is of the moment of the last one.
 */
#ifndef EBPROF_PERF_DATA_TASKS_H
#define EBPROF_PERF_DATA_TASKS_H

#include "input/perf_data_file.h"
#include "input/room.h"
#include "proc/mappings.h"

/* A file that was mapped, or code of the kernel's in a process. */
struct perf_data_image {
	struct slice path;
	uint32_t dev_major, dev_minor;
	uint64_t inode;			/* 0: not known */
	uint8_t build_id[PERF_DATA_ID_BYTES];
	uint8_t build_id_size;		/* 0: not known */
	uint32_t module;		/* of the profile */
};

/* The kernel, or one of its modules. */
struct perf_data_kernel {
	uint64_t start, end;
	uint64_t reference;		/* where @symbol was; of the kernel itself */
	struct slice symbol;		/* "_text"; "" of a module */
	uint8_t build_id[PERF_DATA_ID_BYTES];
	uint8_t build_id_size;		/* 0: not known */
};

/* Code that came into the kernel at run time: BPF programs, trampolines (PERF_RECORD_KSYMBOL). */
struct perf_data_symbol {
	uint64_t start, end;
	struct slice name;
	uint32_t number;		/* of the record among its kind */
	uint16_t type;			/* enum perf_record_ksymbol_type */
};

struct perf_data_process {
	struct mappings *mappings;
	uint32_t generation;		/* another one when what is mapped has changed */
	uint32_t incarnation, comm;
	int shared;			/* its mappings may be another one's, too */
};

struct perf_data_thread {
	uint32_t process;
	uint32_t comm;			/* a string of the profile */
	uint32_t thread;		/* of the profile; PROFILE_NONE: none yet */
};

struct perf_data_tasks {
	struct room *room;
	const struct perf_data_file *file;
	VEC(struct perf_data_image) images;
	VEC(struct perf_data_process) processes;
	VEC(struct perf_data_thread) threads;
	VEC(struct perf_data_kernel) kernel;
	VEC(struct perf_data_symbol) symbols;
	struct hashmap by_pid, by_tid;
	struct interned image_ids, build_ids;
	uint32_t generations, incarnations;
};

void perf_data_tasks_init(struct perf_data_tasks *t, const struct perf_data_file *f,
			  struct room *room);
void perf_data_tasks_free(struct perf_data_tasks *t);

/* Takes a MMAP, MMAP2, COMM, FORK, EXIT or KSYMBOL record; what is too short is passed over. */
void perf_data_tasks_take(struct perf_data_tasks *t, const struct perf_data_record *r);

/* The profile's thread of a sample. */
uint32_t perf_data_thread(struct perf_data_tasks *t, uint32_t pid, uint32_t tid);
/* The process of a sample: an index of @processes; valid until the next record. */
const struct perf_data_process *perf_data_process(struct perf_data_tasks *t, uint32_t pid);
/* After the last record, and before it is asked for symbols. */
void perf_data_symbols_sort(struct perf_data_tasks *t);
/* What was at @address last; NULL: nothing that came at run time. */
const struct perf_data_symbol *perf_data_symbol(const struct perf_data_tasks *t,
						uint64_t address);
/* Build id of that path; NULL: the file has none. */
const struct perf_data_id *perf_data_build_id(const struct perf_data_tasks *t, struct slice path);

#endif
