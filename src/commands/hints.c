/* SPDX-License-Identifier: MIT */
#include "commands/hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "commands/packages.h"

#define SHARE_LEAST 0.05	/* of all frames, that lack their names for one reason */
#define MODULE_LEAST 0.02	/* of all frames, in one file of several */
#define PYTHON_LEAST 0.2	/* of all samples, in its interpreter */
#define MODULES_NAMED 3
#define SERVERS "https://debuginfod.elfutils.org/"	/* asks those of many distributions */

#define INTERPRETER "_PyEval_EvalFrameDefault"
#define PYTHON_NAME "py::"	/* how functions begin in CPython's perf maps */
#define PYTHON_TELLS 12		/* since 3.12 it can write them */

#define NODE "start it with --perf-basic-prof (or NODE_OPTIONS=--perf-basic-prof)"

/*
 * What makes code at run time, by how the name of the file begins that it is in; where the stacks
 * of a process are all cut before they reach that, by the process's name.
 */
static const struct runtime {
	const char *file, *comm, *name;
	const char *hint;	/* where PID stands for a process */
	int by_time;	/* what it says is of that time only: code that came later needs it again */
} runtimes[] = {
	{ "node", "node", "node", NODE, 0 },
	{ "libnode.so", "node", "node", NODE, 0 },
	{ "libjvm.so", "java", "the JVM",
	  "while ebprof records, run: jcmd PID Compiler.perfmap (JDK 17 or newer)", 1 },
	{ "libcoreclr.so", "dotnet", ".NET",
	  "start it with DOTNET_PerfMapEnabled=1 in its environment", 0 },
	{ "beam.smp", "beam.smp", "Erlang", "start it with: erl +JPperf true", 0 },
};
#define RUNTIMES (sizeof(runtimes) / sizeof(*runtimes))
#define NO_RUNTIME RUNTIMES

struct counts {
	const struct profile *p;
	struct profile_view v;
	double frames, samples;
	double *modules;		/* by module: frames that debug information would name */
	unsigned char *runtime;		/* by process: index of runtimes, or NO_RUNTIME */
	unsigned char *names_python;	/* by process: 1 where functions of Python have names */
	double made[RUNTIMES + 1];	/* frames of code made at run time that have no name */
	pid_t pid[RUNTIMES];		/* one of those that made it */
	/* samples in Python's interpreter, without names of its own */
	double interpreted;
	uint32_t python;		/* module that it is in */
};

static int begins(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

static const char *module_of(const struct counts *c, const struct location *l)
{
	return profile_text(c->p, c->v.modules[l->module].name);
}

static const char *name_of(const struct counts *c, uint32_t line)
{
	return profile_text(c->p, c->v.functions[c->v.lines[line].function].name);
}

static uint32_t process_of(const struct counts *c, const struct sample *s)
{
	return c->v.threads[s->thread].process;
}

/* "node" is all of a name, "libjvm.so" its beginning. */
static size_t runtime_of(const char *module)
{
	size_t i = 0;

	while (i < RUNTIMES && (strchr(runtimes[i].file, '.') ? !begins(module, runtimes[i].file) :
				strcmp(module, runtimes[i].file) != 0))
		i++;
	return i;
}

/* For those that no stack has said it of. */
static void look_at_names(struct counts *c)
{
	for (size_t i = 0; i < c->v.nprocesses; i++) {
		const char *comm = profile_text(c->p, c->v.processes[i].comm);
		size_t k = c->runtime[i] == NO_RUNTIME ? 0 : RUNTIMES;

		while (k < RUNTIMES && strcmp(comm, runtimes[k].comm))
			k++;
		if (k < RUNTIMES)
			c->runtime[i] = (unsigned char)k;
	}
}

/* Who the processes are. */
static void look_at_stack(struct counts *c, const struct sample *s)
{
	uint32_t process = process_of(c, s);

	for (uint32_t n = s->node; n; n = c->v.nodes[n].parent) {
		const struct location *l = &c->v.locations[c->v.nodes[n].location];
		size_t runtime = runtime_of(module_of(c, l));

		if (runtime != NO_RUNTIME)
			c->runtime[process] = (unsigned char)runtime;
		if (l->kind == FRAME_PYTHON)
			c->names_python[process] = 1;
		for (uint32_t i = 0; i < l->nlines; i++)
			if (begins(name_of(c, l->first_line + i), PYTHON_NAME))
				c->names_python[process] = 1;
	}
}

static void count_made(struct counts *c, uint32_t process, const char *why, double value)
{
	size_t runtime = c->runtime[process];
	int outside = !strcmp(why, "not in the perf map");

	if (runtime == NO_RUNTIME || (outside && !runtimes[runtime].by_time))
		return;
	c->made[runtime] += value;
	c->pid[runtime] = c->v.processes[process].pid;
}

static int is_interpreter(const struct counts *c, const struct location *l)
{
	return l->nlines && begins(name_of(c, l->first_line + l->nlines - 1), INTERPRETER);
}

static void count_stack(struct counts *c, const struct sample *s, double value)
{
	uint32_t process = process_of(c, s);
	int interpreted = 0;

	c->samples += value;
	for (uint32_t n = s->node; n; n = c->v.nodes[n].parent) {
		const struct location *l = &c->v.locations[c->v.nodes[n].location];
		const char *why = profile_text(c->p, l->why);

		if (!frame_is_code(l->kind))
			continue;
		c->frames += value;
		if (!strcmp(why, "made at run time") || !strcmp(why, "not in the perf map"))
			count_made(c, process, why, value);
		else if (l->kind == FRAME_USER &&
			 (!strcmp(why, "stripped") || !strcmp(why, "no symbol there")))
			c->modules[l->module] += value;
		if (!interpreted && is_interpreter(c, l)) {
			interpreted = 1;
			c->python = l->module;
		}
	}
	if (interpreted && !c->names_python[process])
		c->interpreted += value;
}

static void show_runtime(const struct counts *c, size_t i, FILE *to)
{
	const char *hint = runtimes[i].hint, *pid = strstr(hint, "PID");

	fprintf(to, "ebprof: %.0f%% of the frames are code that %s made, without names; for these ",
		100 * c->made[i] / c->frames, runtimes[i].name);
	if (pid && c->pid[i] > 0)
		fprintf(to, "%.*s%d%s\n", (int)(pid - hint), hint, c->pid[i], pid + 3);
	else
		fprintf(to, "%s\n", hint);
}

/* The minor version in "python3.12" or "libpython3.12.so.1.0"; -1 where the name has none. */
static int python_minor(const char *module)
{
	const char *version = strstr(module, "python3.");

	return version && version[8] >= '0' && version[8] <= '9' ? atoi(version + 8) : -1;
}

static void show_python(const struct counts *c, FILE *to)
{
	int minor = python_minor(profile_text(c->p, c->v.modules[c->python].name));

	fprintf(to, "ebprof: %.0f%% of the samples are in Python's interpreter; "
		"its functions have names ", 100 * c->interpreted / c->samples);
	if (minor < 0 || minor >= PYTHON_TELLS)
		fputs("where it is started with -X perf (Python 3.12 or newer)\n", to);
	else
		fprintf(to, "from Python 3.12 on, started with -X perf; this is 3.%d\n", minor);
}

static uint32_t largest(const struct counts *c)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < c->v.nmodules; i++)
		most = c->modules[i] > c->modules[most] ? i : most;
	return most;
}

struct packages {
	char names[MODULES_NAMED][PACKAGE_NAME_MAX];
	size_t n;
	uint32_t modules[MODULES_NAMED];
	size_t nmodules;
	double frames;		/* in these modules */
};

/* The package of @module, once; or debug servers may have it, which know files of distributions. */
static void add_module(const struct counts *c, uint32_t module, const struct hints_options *o,
		       struct packages *found)
{
	const struct module *m = &c->v.modules[module];
	const char *path = profile_text(c->p, m->path), *id = profile_text(c->p, m->build_id);
	char *name = found->names[found->n];
	int err = packages_debug(o->package_lists, path, id, name);

	if (err && (err != -ESTALE || o->debuginfod))
		return;
	found->modules[found->nmodules++] = module;
	found->frames += c->modules[module];
	for (size_t i = 0; !err && i < found->n; i++)
		err = !strcmp(found->names[i], name);
	found->n += !err;
}

static void show_packages(struct counts *c, const struct hints_options *o, FILE *to)
{
	struct packages found = { .n = 0 };
	double unnamed = 0;
	uint32_t module;

	c->modules[0] = 0;	/* of no file */
	for (module = 1; module < c->v.nmodules; module++)
		unnamed += c->modules[module];
	if (unnamed < SHARE_LEAST * c->frames)
		return;
	while (found.nmodules < MODULES_NAMED && (module = largest(c)) &&
	       c->modules[module] >= MODULE_LEAST * c->frames) {
		add_module(c, module, o, &found);
		c->modules[module] = 0;
	}
	if (found.frames < SHARE_LEAST * c->frames)
		return;
	fprintf(to, "ebprof: %.0f%% of the frames are in ", 100 * found.frames / c->frames);
	for (size_t i = 0; i < found.nmodules; i++)
		fprintf(to, "%s%s", i ? ", " : "",
			profile_text(c->p, c->v.modules[found.modules[i]].name));
	fputs(", without names; for these ", to);
	for (size_t i = 0; i < found.n; i++)
		fprintf(to, "%s%s", i ? " " : "install from the debug archive: apt install ",
			found.names[i]);
	if (!o->debuginfod)
		fprintf(to, "%s--debuginfod%s", found.n ? "; or " : "use ",
			o->debuginfod_urls ? "" : " with DEBUGINFOD_URLS=" SERVERS);
	fputc('\n', to);
}

void hints_show(const struct profile *p, const struct hints_options *o, FILE *to)
{
	struct counts c = { .p = p, .v = profile_view(p) };

	c.modules = xcalloc(c.v.nmodules + 1, sizeof(*c.modules));
	c.runtime = xcalloc(c.v.nprocesses + 1, 1);
	c.names_python = xcalloc(c.v.nprocesses + 1, 1);
	memset(c.runtime, NO_RUNTIME, c.v.nprocesses);
	for (size_t i = 0; i < c.v.nsamples; i++)
		look_at_stack(&c, &c.v.samples[i]);
	look_at_names(&c);
	for (size_t i = 0; i < c.v.nsamples; i++)
		count_stack(&c, &c.v.samples[i], (double)c.v.values[i]);
	for (size_t i = 0; i < RUNTIMES; i++)
		if (c.made[i] > SHARE_LEAST * c.frames)
			show_runtime(&c, i, to);
	if (c.interpreted > PYTHON_LEAST * c.samples)
		show_python(&c, to);
	if (c.frames > 0)
		show_packages(&c, o, to);
	free(c.modules);
	free(c.runtime);
	free(c.names_python);
}
