/* SPDX-License-Identifier: MIT */
#include "commands/beside.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"

#define TEXT_MAX 1024	/* bytes of what was refused */

static int failed(struct error *e)
{
	return error_set(e, STATUS_ERROR, -errno, "cannot start a process: %s", strerror(errno));
}

typedef VEC(struct keeper_job) job_vec;

static void add_file(job_vec *jobs, struct outfile *f)
{
	const struct keeper_job job = { .work = outfile_keep, .end = outfile_end, .ctx = f };

	vec_push(jobs, job);
}

static int start_keeper(struct beside *b, const struct beside_options *o, struct error *e)
{
	size_t n = o->results ? o->results->v.n : 0;
	job_vec jobs = { 0 };
	size_t first;

	for (size_t i = 0; i < n; i++)
		add_file(&jobs, sink_file(o->results->v.v[i].sink));
	if (o->last)
		add_file(&jobs, o->last);
	if (b->store)
		vec_push(&jobs, (struct keeper_job){ .work = name_store_keep, .ctx = b->store });
	first = jobs.n;
	for (size_t i = 0; o->push && i < push_places(o->push)->n; i++)
		vec_push(&jobs, (struct keeper_job){
			.work = folder_keep, .ctx = place_folder(push_places(o->push)->v[i]) });
	b->refusals = refusals_new();
	if (b->refusals)
		vec_push(&jobs, (struct keeper_job){ .begin = refusals_watch, .ctx = b->refusals });
	b->keeper = b->refusals ? keeper_new(jobs.v, jobs.n) : NULL;
	vec_free(&jobs);
	if (!b->keeper)
		return failed(e);
	for (size_t i = 0; i < n; i++)
		outfile_delegate(sink_file(o->results->v.v[i].sink), b->keeper, i);
	if (o->last)
		outfile_delegate(o->last, b->keeper, n++);
	if (b->store)
		name_store_delegate(b->store, b->keeper, n);
	for (size_t i = 0; o->push && i < push_places(o->push)->n; i++)
		folder_delegate(place_folder(push_places(o->push)->v[i]), b->keeper, first + i);
	return 0;
}

int beside_start(struct beside *b, const struct beside_options *o, struct error *e)
{
	int err;

	b->store = o->store ? name_store_new(o->user) : NULL;
	b->push = o->push;
	b->server = o->server;
	err = o->push ? push_start(o->push, e) : 0;
	if (!err)
		err = start_keeper(b, o, e);
	if (err)
		return err;
	b->remote = remote_new(process_vm_readv);
	if (b->remote && o->demangle)
		b->demangler = demangler_new();
	return b->remote && (b->demangler || !o->demangle) ? 0 : failed(e);
}

void beside_pids(const struct beside *b, pid_t pids[EBP_SELF_MAX])
{
	size_t n = 4;

	memset(pids, 0, EBP_SELF_MAX * sizeof(*pids));
	pids[0] = getpid();
	pids[1] = keeper_pid(b->keeper);
	pids[2] = remote_pid(b->remote);
	pids[3] = b->demangler ? demangler_pid(b->demangler) : 0;
	if (b->server)
		pids[n++] = b->server;
	for (size_t i = 0; b->push && i < push_places(b->push)->n; i++) {
		pid_t pid = place_pid(push_places(b->push)->v[i]);

		if (pid && n < EBP_SELF_MAX)
			pids[n++] = pid;
	}
}

/* A call that the list lacks costs what it was for, and whoever sees that should know why. */
static void show_refused(const struct refusals *r)
{
	char text[TEXT_MAX];

	refusals_text(r, text, sizeof(text));
	if (*text)
		say(SAY_WARNING, "the sandbox refused system calls: %s; what needed them is "
		    "missing, please report it", text);
}

void beside_end(struct beside *b)
{
	name_store_free(b->store);
	show_refused(b->refusals);
	keeper_free(b->keeper);
	refusals_free(b->refusals);
	remote_free(b->remote);
	demangler_free(b->demangler);
}
