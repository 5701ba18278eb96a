/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "collect/features.h"
#include "collect/pmu.h"
#include "collect/probe.h"
#include "collect/tracefs.h"
#include "collect/uprobe.h"
#include "probes/find.h"
#include "probes/names.h"
#include "sources/probes.h"
#include "sources/probes_kernel_functions.h"
#include "sources/probes_price.h"
#include "sources/probes_values.h"

/* The programs that serve what an event is there for. */
static const struct {
	enum ebp_probe_kind user, user_return, kernel, tracepoint;
} kinds[] = {
	[PROBES_HIT] = { EBP_PROBE_USER, EBP_PROBE_USER_RETURN, EBP_PROBE_KERNEL,
			 EBP_PROBE_TRACEPOINT },
	/* Of a function's calls it is the entry. */
	[PROBES_CALL] = { .user = EBP_PROBE_LATENCY_ENTRY },
	[PROBES_START] = { EBP_PROBE_START_USER, EBP_PROBE_START_USER, EBP_PROBE_START_KERNEL,
			   EBP_PROBE_START_TRACEPOINT },
	[PROBES_END] = { EBP_PROBE_END_USER, EBP_PROBE_END_RETURN, EBP_PROBE_END_KERNEL,
			 EBP_PROBE_END_TRACEPOINT },
};

static struct probes_place *add_place(struct probes *p, uint32_t event)
{
	vec_push(&p->places, (struct probes_place){ .event = event, .file = -1, .fd = -1,
						    .link = -1, .values.test = EBP_TEST_PASS });
	return &p->places.v[p->places.n - 1];
}

static int explain(struct error *e, int err, const char *what)
{
	if ((err == -EACCES || err == -EPERM) && !probe_has(CAP_SYS_ADMIN))
		return error_set(e, STATUS_DENIED, err,
				 "%s: the kernel asks for CAP_SYS_ADMIN; run it with sudo", what);
	return features_explain(e, err, what);
}

/* --- Programs. -------------------------------------------------------------------- */

static int no_place(const struct probe_spec *spec, const struct probe_found *f, int err,
		    struct error *e)
{
	const char *file = spec->file, *name = spec->name;

	if (err && err != -ENODATA)
		return error_set(e, STATUS_ERROR, err, "%s cannot be read: %s", file,
				 strerror(-err));
	if (!*name)
		return error_set(e, STATUS_USAGE, -ENOENT, "%s has no code at 0x%llx", file,
				 (unsigned long long)spec->offset);
	if (spec->line && err)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 "%s has no debug information, which says where lines are", file);
	if (spec->line)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 *f->near ? "%s has no code of %s:%u; the next line that has is %s"
					  : "%s has no code of %s:%u", file, name, spec->line,
				 f->near);
	if (f->ifunc)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 "%s of %s only chooses a function when a program starts (ifunc); "
				 "probe that one: ebprof list 'uprobe:%s:*%s*'", name, file, file,
				 name);
	if (err)
		return error_set(e, STATUS_USAGE, -ENOENT, "%s has no %s", file,
				 spec->type == PROBE_USDT ? "static probes (USDT)"
							  : "names of functions: it is stripped");
	if (*f->near)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 "%s has no %s '%s'; did you mean '%s'?", file,
				 spec->type == PROBE_USDT ? "static probe" : "function", name,
				 f->near);
	return error_set(e, STATUS_USAGE, -ENOENT,
			 "%s has no %s '%s'; ebprof list '%s:%s:*' shows all", file,
			 spec->type == PROBE_USDT ? "static probe" : "function", name,
			 probe_type_name(spec->type), file);
}

static int too_many(const char *text, size_t n, struct error *e)
{
	return error_set(e, STATUS_USAGE, -E2BIG,
			 "'%.200s' stands for %zu places, at most %d can be set; make it narrower",
			 text, n, PROBE_PLACES_MAX);
}

/* What a return probe does to the programs that it is set in. */
static int check_return(const struct probes *p, uint32_t event, const struct probe_spec *spec,
			const struct probe_found *f, const struct source_setup *setup,
			struct error *e)
{
	if (spec->type != PROBE_URETPROBE)
		return 0;
	if (f->go)
		return error_set(e, STATUS_USAGE, -EOPNOTSUPP,
				 "%s is a program of Go, which crashes where return addresses are "
				 "replaced, as uretprobe does; use uprobe", spec->file);
	if (f->throws && setup->notes)
		fprintf(setup->notes,
			"ebprof: %s: a C++ exception or a panic of Rust that leaves a function "
			"with a return probe ends the program: its runtime cannot look through "
			"the replaced return address\n", p->events.v[event].name);
	return 0;
}

/* The stack is the caller's: what was called stands on it. */
static void name_function(struct probes_place *place, const char *name)
{
	char shown[512];

	probe_name_show(name, shown, sizeof(shown));
	place->label = xstrdup(shown);
}

static int add_found(struct probes *p, uint32_t event, const struct probe_spec *spec,
		     const struct probe_found *f, int file, struct error *e)
{
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	for (size_t i = 0; i < f->places.n; i++) {
		struct probes_place *place = add_place(p, event);

		place->file = file;
		place->offset = f->places.v[i].offset;
		place->semaphore = f->places.v[i].semaphore;
		err = probes_values_user(p, place, spec->type == PROBE_USDT,
					 f->places.v[i].arguments, e);
		if (err)
			return err;
		if (p->events.v[event].kind == EBP_PROBE_LATENCY_RETURN)
			name_function(place, f->places.v[i].name);
		if (p->multi)
			continue;
		place->fd = uprobe_open_counted(path, place->offset, place->semaphore,
						p->only ? p->only : -1,
						spec->type == PROBE_URETPROBE);
		if (place->fd < 0)
			return explain(e, place->fd, "cannot set a uprobe");
	}
	return 0;
}

static int find_in_file(struct probes *p, uint32_t event, const struct probe_spec *spec, int file,
			const struct source_setup *setup, struct error *e)
{
	struct probe_found f = { 0 };
	int err = probes_find(file, spec, PROBE_PLACES_MAX, &f);

	if (!f.places.n)
		err = no_place(spec, &f, err, e);
	else if (f.matches > PROBE_PLACES_MAX)
		err = too_many(p->events.v[event].name, f.matches, e);
	else
		err = check_return(p, event, spec, &f, setup, e);
	if (!err)
		err = add_found(p, event, spec, &f, file, e);
	probe_found_free(&f);
	return err;
}

/* Of several files of one name it is enough that one has the function. */
static int find_in_files(struct probes *p, uint32_t event, const struct probe_spec *spec,
			 const struct source_setup *setup, struct error *e)
{
	size_t first = p->files.n, before = p->places.n;
	probe_file_vec files = { 0 };
	int err = probe_files_open(&files, spec->file, setup->members, setup->nmembers, e);

	for (size_t i = 0; i < files.n; i++)
		vec_push(&p->files, files.v[i]);
	vec_free(&files);
	for (size_t i = first; i < p->files.n; i++) {
		err = find_in_file(p, event, spec, p->files.v[i].fd, setup, e);
		if (err && err != -ENOENT && err != -ENOEXEC)
			return err;
	}
	return p->places.n > before ? 0 : err;
}

/* --- The kernel. --------------------------------------------------------------------- */

static int add_kernel_function(struct probes *p, uint32_t event, const struct probe_spec *spec,
			       const char *name)
{
	struct probes_place *place;
	int fd = kprobe_open(name, spec->offset, spec->type == PROBE_KRETPROBE);

	if (fd < 0)
		return fd;
	place = add_place(p, event);
	place->fd = fd;
	return 0;
}

static int find_in_kernel(struct probes *p, uint32_t event, const struct probe_spec *spec,
			  struct error *e)
{
	string_vec names = { 0 };
	size_t n;
	int err = 0;

	if (!probe_is_pattern(spec->name)) {
		err = add_kernel_function(p, event, spec, spec->name);
		if (err == -ENOENT && !kernel_has_kprobes())
			return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
					 "this kernel has no kprobes (CONFIG_KPROBE_EVENTS): only "
					 "tracepoints; ebprof list '*:*' shows them");
		if (err == -ENOENT || err == -EINVAL)
			return error_set(e, STATUS_USAGE, -ENOENT,
					 "no function '%s' of this kernel can be probed",
					 spec->name);
		return err ? explain(e, err, "cannot set a kprobe") : 0;
	}
	kernel_functions(spec->name, &names);
	n = names.n;
	for (size_t i = 0; i < n && n <= PROBE_PLACES_MAX; i++)
		if (!add_kernel_function(p, event, spec, names.v[i]))
			p->places.v[p->places.n - 1].label = xasprintf("[%s]", names.v[i]);
	for (size_t i = 0; i < n; i++)
		free((void *)names.v[i]);
	vec_free(&names);
	if (n > PROBE_PLACES_MAX)
		return too_many(p->events.v[event].name, n, e);
	return p->places.n ? 0 : error_set(e, STATUS_USAGE, -ENOENT,
					   "no function like '%s' of this kernel can be probed",
					   spec->name);
}

/* --- Events that perf knows. ---------------------------------------------------------- */

static int open_tracepoint(struct probes *p, uint32_t event, const struct event *ev,
			   const char *events, struct error *e)
{
	struct perf_event_attr attr = event_attr(ev, 0, 1, 1);
	struct probes_place *place;
	int fd = perf_event_open(&attr, -1, 0);

	if (fd < 0)
		return explain(e, fd, "cannot open a tracepoint");
	place = add_place(p, event);
	place->fd = fd;
	p->events.v[event].kind = kinds[p->events.v[event].role].tracepoint;
	if (p->events.v[event].many)
		place->label = xasprintf("[%s]", ev->name);
	return probes_values_tracepoint(p, place, events, ev->name, e);
}

struct matches {
	const char *pattern;
	string_vec names;
};

static void take_name(void *ctx, const struct event *ev)
{
	struct matches *m = ctx;

	if (ev->type == PERF_TYPE_TRACEPOINT && !fnmatch(m->pattern, ev->name, 0))
		vec_push(&m->names, xstrdup(ev->name));
}

/* All tracepoints that @text, a pattern, matches. */
static int open_tracepoints(struct probes *p, uint32_t event, const char *text, const char *events,
			    struct error *e)
{
	struct matches m = { .pattern = text };
	struct event ev;
	int err = 0;

	p->events.v[event].many = 1;
	event_list(events, take_name, &m);
	if (m.names.n > PROBE_PLACES_MAX)
		err = too_many(text, m.names.n, e);
	else if (!m.names.n)
		err = error_set(e, STATUS_USAGE, -ENOENT,
				"no tracepoint matches '%.200s'; ebprof list '*:*' shows all",
				text);
	for (size_t i = 0; i < m.names.n && !err; i++) {
		err = event_parse(m.names.v[i], events, &ev, e);
		if (!err)
			err = open_tracepoint(p, event, &ev, events, e);
	}
	for (size_t i = 0; i < m.names.n; i++)
		free((void *)m.names.v[i]);
	vec_free(&m.names);
	return err;
}

static int open_event(struct probes *p, uint32_t event, struct error *e)
{
	struct probes_event *to = &p->events.v[event];
	struct tracefs t;
	int err;

	tracefs_open(&t);
	if (strchr(to->text, ':') && probe_is_pattern(to->text)) {
		err = open_tracepoints(p, event, to->text, tracefs_events(&t), e);
	} else {
		err = event_parse(to->text, tracefs_events(&t), &to->counter, e);
		if (!err)
			err = pmu_refuse_samples(&to->counter, "-e ", e);
		if (!err && to->counter.type == PERF_TYPE_TRACEPOINT)
			err = open_tracepoint(p, event, &to->counter, tracefs_events(&t), e);
		else if (!err)
			add_place(p, event);
		if (!err && to->counter.type != PERF_TYPE_TRACEPOINT)
			to->kind = EBP_PROBE_COUNTER;
	}
	tracefs_close(&t);
	return err;
}

/* --- All. -------------------------------------------------------------------------------- */

static int find_event(struct probes *p, uint32_t event, const struct source_setup *setup,
		      struct error *e)
{
	struct probes_event *to = &p->events.v[event];
	struct probe_spec spec;
	int err, is_call;

	if (!probe_spec_is(to->text))
		return open_event(p, event, e);
	err = probe_spec_parse(&spec, to->text, e);
	if (err)
		return err;
	spec.signatures = to->filter || p->o->weight || p->o->by;
	is_call = event && p->events.v[event - 1].role == PROBES_CALL;
	if (is_call)
		spec.type = PROBE_URETPROBE;
	to->at_return = spec.type == PROBE_URETPROBE || spec.type == PROBE_KRETPROBE;
	if (spec.type == PROBE_KPROBE || spec.type == PROBE_KRETPROBE) {
		to->kind = kinds[to->role].kernel;
		return find_in_kernel(p, event, &spec, e);
	}
	to->kind = is_call	    ? EBP_PROBE_LATENCY_RETURN
		   : to->at_return ? kinds[to->role].user_return
				   : kinds[to->role].user;
	return find_in_files(p, event, &spec, setup, e);
}

/* Without cookies the program that is called is all that tells events apart. */
static int check_old(const struct probes *p, struct error *e)
{
	int seen[EBP_PROBE_KINDS] = { 0 };

	for (size_t i = 0; i < p->events.n && !p->cookies; i++)
		if (seen[p->events.v[i].kind]++ || p->events.v[i].many)
			return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
					 "-e %.200s: several events of one kind, and patterns of "
					 "tracepoints, need Linux 5.15; here record one at a time",
					 p->events.v[i].text);
	return 0;
}

int probes_prepare(struct source *source, const struct source_setup *setup, struct error *e)
{
	struct probes *p = (struct probes *)source;
	const struct target_options *target = setup->target;
	int err = probes_weight_parse(p, e);

	p->cookies = features_linux(5, 15);
	p->multi = features_linux(6, 6);
	/* Where nothing is inherited a probe is set in this process alone, and costs no other. */
	if (target->no_inherit && target->pids.n == 1 && (!p->multi || features_linux(6, 12)))
		p->only = target->pids.v[0];
	for (uint32_t i = 0; i < p->events.n && !err; i++) {
		size_t before = p->places.n;

		err = find_event(p, i, setup, e);
		if (!err && setup->notes && p->places.n - before > 1 &&
		    p->events.v[i].role != PROBES_CALL)
			fprintf(setup->notes, "ebprof: %s stands for %zu places\n",
				p->events.v[i].name, p->places.n - before);
	}
	if (!err)
		err = probes_values_check(p, e);
	if (!err)
		err = check_old(p, e);
	if (!err)
		probes_price(p, setup);
	return err;
}
