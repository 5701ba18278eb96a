/* SPDX-License-Identifier: MIT */
#include "commands/no_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "proc/procfs.h"

#define NAME_SIZE 128		/* bytes of a clean comm */

/* What the targets do, where all of them do the same. */
enum doing { GONE, STOPPED, TRACED, SLEEPING, OTHER };

struct look {
	size_t n;
	pid_t id;		/* of the first one */
	enum doing doing;	/* OTHER where they do not all do the same */
};

static enum doing doing_of(pid_t id)
{
	struct procfs_stat st;

	if (procfs_stat(id, &st))
		return GONE;
	switch (st.state) {
	case 'Z':
	case 'X':
		return GONE;
	case 'T':
		return STOPPED;
	case 't':
		return TRACED;
	case 'S':
	case 'D':
	case 'I':
		return SLEEPING;
	}
	return OTHER;
}

static void look_at(struct look *l, pid_t id)
{
	enum doing doing = doing_of(id);

	if (!l->n++)
		*l = (struct look){ .n = 1, .id = id, .doing = doing };
	else if (l->doing != doing)
		l->doing = OTHER;
}

/* "process 12 (sleep)", or how many there are. */
static void name_targets(const struct look *l, const char *kind, char *text, size_t size)
{
	char comm[16 + 1], clean[NAME_SIZE];

	if (l->n > 1) {
		snprintf(text, size, "each of the %zu targets", l->n);
	} else if (procfs_comm(l->id, comm)) {
		snprintf(text, size, "%s %d", kind, l->id);
	} else {
		text_clean(clean, sizeof(clean), comm);
		snprintf(text, size, "%s %d (%s)", kind, l->id, clean);
	}
}

static int holds(const char *text, const char *part)
{
	for (; *text; text++)
		if (!strncasecmp(text, part, strlen(part)))
			return 1;
	return 0;
}

struct by_name {
	const char *name;
	struct look *look;
	char *near;
};

static void compare_name(void *ctx, pid_t pid)
{
	const struct by_name *by = ctx;
	char comm[16 + 1];

	if (procfs_comm(pid, comm))
		return;
	if (!strcmp(comm, by->name))
		look_at(by->look, pid);
	else if (!*by->near && holds(comm, by->name))
		text_clean(by->near, NAME_SIZE, comm);
}

/* Looks at all processes called @name; @near: one whose name only holds it, "" without one. */
static void find_by_name(const char *name, struct look *l, char near[NAME_SIZE])
{
	*near = '\0';
	procfs_each(compare_name, &(struct by_name){ name, l, near });
}

/* Only v2 says it of a cgroup and all below it. */
static int is_deserted(const struct cgroup *g)
{
	char path[sizeof(g->path) + 16], text[256];

	if (!g->id || *g->controller)
		return 0;
	snprintf(path, sizeof(path), "%s/cgroup.events", g->path);
	return file_read(path, text, sizeof(text)) > 0 && strstr(text, "populated 0") != NULL;
}

static int is_everything(const struct recording *r)
{
	return !r->targets.list.n && !r->o.target.command && !r->o.target.comm &&
	       !r->o.target.cgroup;
}

/* What samples are taken of, and did not come. */
static void explain_sampling(const struct recording *r, const char *who, char *text, size_t size)
{
	const struct record_options *o = &r->o;
	const struct samples_options *samples = &o->sources.samples;
	const struct event *event = sources_event(&r->sources);
	const char *scope = o->target.cpus.n ? " on the CPUs of -C" : "";

	if (!event)
		snprintf(text, size, "%s had no wait%s that --min-block and --state let through; "
			 "without --off-cpu what runs is recorded", who, scope);
	else if (!event_is_time(event))
		snprintf(text, size, "%s did not happen while %s ran%s", event->name, who, scope);
	else if (is_everything(r))
		snprintf(text, size, "no CPU was busy when a sample was due; "
			 "--include-idle samples idle CPUs, too");
	else if (samples->frequency)
		snprintf(text, size,
			 "%s hardly ran%s: at %llu Hz a sample stands for %.3g ms of a "
			 "CPU; try a larger -F, or --off-cpu, which shows where it waits",
			 who, scope, (unsigned long long)samples->frequency,
			 1e3 / (double)samples->frequency);
	else
		snprintf(text, size,
			 "%s ran for fewer than %llu of %s%s; try a smaller -c, or "
			 "--off-cpu, which shows where it waits",
			 who, (unsigned long long)samples->period, event->name, scope);
}

static void explain_targets(const struct recording *r, const struct look *l, const char *kind,
			    char *text, size_t size)
{
	const struct event *event = sources_event(&r->sources);
	char who[NAME_SIZE + 64];

	name_targets(l, kind, who, sizeof(who));
	if (l->doing == GONE)
		snprintf(text, size, "%s ended before a sample was taken", who);
	else if (l->doing == STOPPED)
		snprintf(text, size, "%s is stopped; kill -CONT %d lets %s go on", who, l->id,
			 l->n > 1 ? "that one" : "it");
	else if (l->doing == TRACED)
		snprintf(text, size, "%s is held by a debugger or another tracer", who);
	else if (l->doing == SLEEPING && event && event_is_time(event))
		snprintf(text, size, "%s slept nearly all of the time; try --off-cpu, which shows "
			 "what it waits for, or --wall", who);
	else
		explain_sampling(r, who, text, size);
}

static void explain_name(const struct recording *r, char *text, size_t size)
{
	char near[NAME_SIZE], name[NAME_SIZE];
	struct look l = { 0 };

	find_by_name(r->o.target.comm, &l, near);
	text_clean(name, sizeof(name), r->o.target.comm);
	if (l.n)
		explain_targets(r, &l, "process", text, size);
	else
		snprintf(text, size, "no process is called '%s'; %s%s%s", name,
			 *near ? "there is '" : "ps -eo comm lists them", near, *near ? "'" : "");
}

void no_samples_why(const struct recording *r, char text[NO_SAMPLES_TEXT])
{
	const struct record_options *o = &r->o;
	struct look l = { 0 };

	for (size_t i = 0; i < r->targets.list.n; i++)
		look_at(&l, r->targets.list.v[i].id);
	if (l.n)
		explain_targets(r, &l, o->target.tids.n ? "thread" : "process", text,
				NO_SAMPLES_TEXT);
	else if (o->target.comm)
		explain_name(r, text, NO_SAMPLES_TEXT);
	else if (is_deserted(&r->targets.cgroup))
		snprintf(text, NO_SAMPLES_TEXT, "there is no process in this cgroup");
	else
		explain_sampling(r,
				 o->target.command  ? "the command"
				 : o->target.cgroup ? "what is in the cgroup"
					     : "the machine",
				 text, NO_SAMPLES_TEXT);
}
