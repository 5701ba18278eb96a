/* SPDX-License-Identifier: MIT */
/* The readers behind the rows of input.c, each in the file of its name; see struct input_format. */
#ifndef EBPROF_READERS_H
#define EBPROF_READERS_H

#include "input/input.h"

int embedded_looks(const char *bytes, size_t n);
int embedded_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		  struct error *e);
int perf_data_looks(const char *bytes, size_t n);
int perf_data_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		   struct error *e);
int pprof_looks(const char *bytes, size_t n);
int pprof_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
	       struct error *e);
int folded_looks(const char *bytes, size_t n);
int folded_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		struct error *e);
int perf_script_looks(const char *bytes, size_t n);
int perf_script_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		     struct error *e);

#endif
