/* SPDX-License-Identifier: MIT */
/* One record of a perf.data file, decoded as its event says. */
#ifndef EBPROF_PERF_DATA_SAMPLE_H
#define EBPROF_PERF_DATA_SAMPLE_H

#include "input/perf_data_file.h"

struct perf_data_sample {
	uint32_t event;			/* of the file */
	uint64_t ip, time, period;	/* 0: not known */
	uint32_t pid, tid, cpu;
	const uint8_t *chain;		/* 8 bytes a value; NULL: none was taken */
	uint64_t nchain;
	/* The registers and the stack of the user; NULL: none were taken. */
	const uint8_t *registers, *stack;
	uint64_t abi;			/* enum perf_sample_regs_abi */
	uint64_t mask;			/* which registers, 8 bytes each */
	uint64_t nstack;		/* bytes */
	/* Calls that have not returned, as the CPU kept them, the last first; NULL: not taken. */
	const uint8_t *branches;	/* struct perf_branch_entry each */
	uint64_t nbranches;
};

/* Fills @s. 0, or -EBADMSG: the record is too short for what its event says. */
int perf_data_sample(const struct perf_data_file *f, const uint8_t *record,
		     struct perf_data_sample *s);
/* The time of any record: 0 where none is known. */
uint64_t perf_data_time(const struct perf_data_file *f, const uint8_t *record);

#endif
