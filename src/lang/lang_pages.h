/* SPDX-License-Identifier: MIT */
/*
 * Memory of a process that does not run, by pages, of which the last ones are kept: what an
 * interpreter reads of its frames lies together, and each question costs microseconds.
 */
#ifndef EBPROF_LANG_PAGES_H
#define EBPROF_LANG_PAGES_H

#include "lang/lang.h"

#define LANG_PAGE	4096u
#define LANG_PAGES	32

struct lang_pages {
	const struct lang_reader *from;
	struct lang_page {
		uint64_t address;
		enum { PAGE_UNKNOWN, PAGE_THERE, PAGE_MISSING } state;
		uint8_t bytes[LANG_PAGE];
	} pages[LANG_PAGES];
};

/* Forgets all, to read from @from. */
void lang_pages_begin(struct lang_pages *p, const struct lang_reader *from);
/* lang_reader.read, with a struct lang_pages as @ctx; @pid is the same from begin on. */
int lang_pages_read(void *ctx, pid_t pid, uint64_t address, void *to, size_t size);

#endif
