/* SPDX-License-Identifier: MIT */
/*
 * One error, as the user will read it: what failed, why, and what to try.
 *
 * Modules never print and never exit. A fallible function returns 0 or a
 * negative errno; where the errno alone does not tell a user enough, it also
 * takes a `struct error *` and fills it with error_set(). The command prints
 * it once and exits with its status.
 */
#ifndef EBPROF_ERROR_H
#define EBPROF_ERROR_H

/* Exit statuses; documented in ebprof(1), EXIT STATUS. */
enum status {
	STATUS_OK = 0,
	STATUS_ERROR = 1,	/* something failed at run time */
	STATUS_USAGE = 2,	/* the command line makes no sense */
	STATUS_DENIED = 3,	/* not permitted, or not supported by this kernel */
	STATUS_NO_TARGET = 4,	/* no such process, thread, cgroup */
	STATUS_NO_SAMPLES = 5,	/* all went well, nothing was sampled */
	STATUS_LOST = 6,	/* --strict, and samples were lost */
	STATUS_SLOWER = 7,	/* diff --fail-above, and a function became slower by more */
	STATUS_NO_EXEC = 126,	/* the command exists but cannot be executed */
	STATUS_NO_COMMAND = 127,/* the command was not found */
};

struct error {
	enum status status;
	char text[512];		/* one line, no final newline */
	/* lines, with their ends, as another program wrote them: not cleaned; "" mostly */
	char details[2048];
};

/*
 * Fills @e (NULL is allowed: then only the code is passed on) and returns
 * @err, a negative errno, so that a caller can write
 * `return error_set(e, STATUS_USAGE, -EINVAL, "...")`. Control characters in
 * the result are escaped: what is quoted may come from a hostile process.
 */
int error_set(struct error *e, enum status status, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
