/* SPDX-License-Identifier: MIT */
#include "symbols/demangle_cxx.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* below which libiberty's own limit of recursion would let a name pass */
#define CHEAP_BYTES	1024
#define CHEAP_REFS	12	/* back references: at most 2^12 times the work */
#define OPTIONS		(DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)

/* One run of libiberty's demangler. */
struct run {
	jmp_buf leave;
	char *dst;
	size_t size, len;
};

/*
 * Takes a piece of output; leaves the demangler where it would not fit. That
 * leaks nothing: cplus_demangle_v3_callback() keeps all its state on its own
 * stack (its component and scope arrays are variable-length arrays), as its
 * header promises for the callback forms.
 */
static void take_output(const char *text, size_t n, void *opaque)
{
	struct run *run = opaque;

	if (n >= run->size - run->len)
		longjmp(run->leave, 1);
	memcpy(run->dst + run->len, text, n);
	run->len += n;
}

int demangle_cxx_is_cheap(const char *name)
{
	size_t refs = 0, n = 0;

	for (; name[n]; n++)
		refs += name[n] == 'S' || name[n] == 'T';
	return n < CHEAP_BYTES && refs <= CHEAP_REFS;
}

size_t demangle_cxx(const char *name, char *dst, size_t size)
{
	struct run run = { .dst = dst, .size = size };

	if (setjmp(run.leave) || !cplus_demangle_v3_callback(name, OPTIONS, take_output, &run))
		return 0;
	dst[run.len] = '\0';
	return run.len;
}
