/* SPDX-License-Identifier: MIT */
#include "collect/tracing_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

/* A function, and whether it is one that we want; or what is no function, and ends one. */
struct symbol {
	uint64_t address;
	int wanted;
};

typedef VEC(struct symbol) symbol_vec;

/* Names, of old and new kernels; with a star only their beginnings: one for each tracepoint. */
static const char *const wanted[] = {
	"__traceiter_*",
	"perf_trace_*",
	"trace_event_raw_event_*",
	"__bpf_trace_*",
	"bpf_trace_run*",
	"__do_trace_*",
	"perf_tp_event",
	"trace_call_bpf",
	/* The way of a system call that is traced. */
	"perf_syscall_enter",
	"perf_syscall_exit",
	"perf_call_bpf_enter",
	"perf_call_bpf_exit",
	"syscall_trace_enter",
	"syscall_trace_exit",
	"syscall_exit_work",
	"syscall_exit_to_user_mode_prepare",
	"trace_sys_enter",
	"trace_sys_exit",
};

/* A compiler's copy (.isra.0) is the same. */
static int is_wanted(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		size_t length = strlen(wanted[i]);
		int whole = wanted[i][length - 1] != '*';

		length -= !whole;
		if (!strncmp(name, wanted[i], length < n ? length : n) &&
		    (whole ? length == n : length < n))
			return 1;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return y->wanted - x->wanted;
}

/* "ffffffff81000000 T name\t[module]": in the order of addresses, but for modules. */
static symbol_vec read_symbols(const char *path)
{
	FILE *f = fopen(path, "re");
	symbol_vec symbols = { 0 };
	char line[1024], *name;

	while (f && fgets(line, sizeof(line), f)) {
		struct symbol s = { .address = strtoull(line, &name, 16) };

		if (!s.address || strlen(name) < 4)
			continue;
		s.wanted = (name[1] | 0x20) == 't' &&
			   is_wanted(name + 3, strcspn(name + 3, ".\t\n"));
		vec_push(&symbols, s);
	}
	if (f)
		fclose(f);
	return symbols;
}

void tracing_text_find(struct tracing_text *t, const char *kallsyms)
{
	symbol_vec s = read_symbols(kallsyms);
	VEC(struct text_range) ranges = { 0 };

	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), by_address);
	for (size_t i = 0, end; i < s.n; i = end) {
		for (end = i + 1; end < s.n && (s.v[end].address == s.v[i].address); end++)
			;
		if (s.v[i].wanted && end < s.n)
			vec_push(&ranges, (struct text_range){ s.v[i].address, s.v[end].address });
	}
	vec_free(&s);
	*t = (struct tracing_text){ ranges.v, ranges.n };
}

void tracing_text_free(struct tracing_text *t)
{
	free(t->v);
	*t = (struct tracing_text){ 0 };
}

size_t tracing_text_leaves(const struct tracing_text *t, const uint64_t *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = upper_bound(t->v, t->n, .begin, frames[i]);

		if (!at || frames[i] >= t->v[at - 1].end)
			return i;
	}
	return 0;
}
