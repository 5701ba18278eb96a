/* SPDX-License-Identifier: MIT */
#include "collect/load_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "collect/features.h"

#define WHAT "cannot load the BPF programs"
/* BPF_LOG_STATS of include/linux/bpf_verifier.h (Linux 5.2) */
#define REASON_ALONE 4
#define LINES_MOST 65536	/* bytes of one message, which may be all that the verifier said */

static _Thread_local struct load_log *listener;

/* What all recordings have. */
static const struct load_use common[] = {
	{ "on_fork", "following processes", LOAD_BY_PERF("-g") },
	{ "on_ex", "following processes", LOAD_BY_PERF("-g") },
	{ 0 },
};

/* @to gets what lies in @from between @begin and @end, where both are there. */
static void cut_out(char *to, size_t size, const char *from, const char *begin, const char *end)
{
	const char *at = strstr(from, begin), *stop;

	if (!at)
		return;
	at += strlen(begin);
	stop = strstr(at, end);
	if (stop && (size_t)(stop - at) < size)
		snprintf(to, size, "%.*s", (int)(stop - at), at);
}

/* Keeps the last lines. */
static void keep(struct load_log *log, const char *text)
{
	size_t n = strlen(text), drop;
	const char *line;

	if (n >= sizeof(log->text)) {
		text += n - (sizeof(log->text) - 1);
		n = sizeof(log->text) - 1;
	}
	drop = log->used + n < sizeof(log->text) ? 0 : log->used + n - (sizeof(log->text) - 1);
	memmove(log->text, log->text + drop, log->used - drop);
	log->used -= drop;
	memcpy(log->text + log->used, text, n);
	log->used += n;
	log->text[log->used] = '\0';
	line = log->used + 1 == sizeof(log->text) ? strchr(log->text, '\n') : NULL;
	if (!line)
		return;
	log->used -= (size_t)(line + 1 - log->text);
	memmove(log->text, line + 1, log->used + 1);
}

/* @text: one line of libbpf's or more, with their ends. */
static void add(struct load_log *log, const char *text)
{
	const char *relocation;

	if (strstr(text, "BPF program load failed"))
		cut_out(log->program, sizeof(log->program), text, "prog '", "'");
	/* It goes on: "<byte_off> [7] struct task_struct.on_cpu (0:3 @ offset 8)" */
	relocation = strstr(text, "failed to resolve CO-RE relocation");
	if (relocation)
		cut_out(log->absent, sizeof(log->absent), relocation, "] ", " (");
	keep(log, text);
}

static int listen(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text;

	if (level == LIBBPF_DEBUG || !listener || vasprintf(&text, fmt, ap) < 0)
		return 0;
	if (strlen(text) > LINES_MOST)
		memmove(text, text + strlen(text) - LINES_MOST, LINES_MOST + 1);
	add(listener, text);
	free(text);
	return 0;
}

void load_log_reasons(struct bpf_object *object)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, object)
		bpf_program__set_log_level(p, REASON_ALONE);
}

void load_log_into(struct load_log *log)
{
	listener = log;
	libbpf_set_print(log ? listen : NULL);
}

static const struct load_use *find_use(const struct load_use *u, const char *program)
{
	while (u->begins && strncmp(program, u->begins, strlen(u->begins)))
		u++;
	return u;
}

int load_log_explain(const struct load_log *log, const struct load_use *const *uses,
		     struct error *e, int err, int trial)
{
	/* Where there is no memory it is no fault of the program's. */
	const char *program = err == -ENOMEM ? "" : log->program;
	const struct load_use *u = find_use(common, program);

	for (; !u->begins && *uses; uses++)
		u = find_use(*uses, program);

	if (!trial && !u->begins)
		return features_explain(e, err, WHAT);
	if (!trial && features_blame(e, err, WHAT))
		return err;
	if (!u->begins)
		return error_set(e, STATUS_ERROR, err, WHAT ": %s; see ebprof doctor",
				 strerror(-err));
	if (*log->absent)
		error_set(e, STATUS_DENIED, err,
			  WHAT ": %s, for %s: this kernel's %s is not as it expects; %s",
			  log->program, u->what, log->absent, u->instead);
	else
		error_set(e, STATUS_DENIED, err,
			  WHAT ": %s, for %s: this kernel refuses it (%s; -v shows "
			       "more); %s",
			  log->program, u->what, strerror(-err), u->instead);
	snprintf(e->details, sizeof(e->details), "%s", log->text);
	return err;
}
