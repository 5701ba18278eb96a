/* SPDX-License-Identifier: MIT */
/*
 * Why programs could not be loaded: libbpf says which one it was, what of the kernel's types it did
 * not find, and what the kernel's verifier said of it. Its last words are kept.
 */
#ifndef EBPROF_LOAD_LOG_H
#define EBPROF_LOAD_LOG_H

#include <stddef.h>

#include "base/error.h"

#define LOAD_LOG 2048	/* bytes that are kept, the last ones */

struct load_log {
	char program[64];	/* that could not be loaded; "" where it was something else */
	char absent[96];	/* which of the kernel's types is not there; "": not known */
	char text[LOAD_LOG];	/* whole lines */
	size_t used;
};

/* What a program is for, by how its name begins; the last row of several is {0}. */
struct load_use {
	const char *begins, *what, *instead;
};

/* What else there is: what perf records with @options. */
#define LOAD_BY_PERF(options) \
	"try perf record " options ", then perf script | ebprof convert -"

struct bpf_object;

/*
 * Before the programs are loaded: the kernel is to say why it refuses one. Where nothing is asked
 * for, libbpf has a refused program verified again, with a line for each instruction: seconds, of
 * which the last lines are kept.
 */
void load_log_reasons(struct bpf_object *object);

/* From now on @log is written, by this thread; NULL: libbpf is not listened to any more. */
void load_log_into(struct load_log *log);

/*
 * Loading failed with @err, a negative errno: fills @e with the row of doctor that stands in the
 * way, else with the program, what it lacks, what works without it, and what else there is.
 * @uses: those of the parts of this recording, up to NULL. @trial: doctor asks, so none of its rows
 * is looked at. Returns @err.
 */
int load_log_explain(const struct load_log *log, const struct load_use *const *uses,
		     struct error *e, int err, int trial);

#endif
