/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/vec.h"

struct profile {
	struct strtab *strings;
	VEC(struct function) functions;
	VEC(struct module) modules;
	VEC(struct location) locations;
	VEC(struct line) lines;
	VEC(struct node) nodes;
	VEC(struct process) processes;
	VEC(struct thread) threads;
	VEC(struct sample) samples;
	/* Indexes by what makes each thing itself; of a key wider than 64 bits they hold the hash. */
	struct hashmap function_ids, module_ids, location_ids, node_ids, process_ids, thread_ids, sample_ids;
	uint64_t total;
	struct profile_meta meta;
	struct profile_account account;
};

static uint64_t pack(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

struct profile *profile_new(void)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->strings = strtab_new();
	profile_module(p, "", "", "");
	vec_push(&p->nodes, (struct node){ .parent = 0, .location = PROFILE_NONE });
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strtab_free(p->strings);
	vec_free(&p->functions);
	vec_free(&p->modules);
	vec_free(&p->locations);
	vec_free(&p->lines);
	vec_free(&p->nodes);
	vec_free(&p->processes);
	vec_free(&p->threads);
	vec_free(&p->samples);
	hashmap_free(&p->function_ids);
	hashmap_free(&p->module_ids);
	hashmap_free(&p->location_ids);
	hashmap_free(&p->node_ids);
	hashmap_free(&p->process_ids);
	hashmap_free(&p->thread_ids);
	hashmap_free(&p->sample_ids);
	free(p);
}

uint32_t profile_string(struct profile *p, const char *s)
{
	return strtab_add(p->strings, s);
}

/*
 * In those below two things with one hash take neighbouring keys, so each
 * candidate is compared with the array and the next key is tried.
 */
uint32_t profile_function(struct profile *p, uint32_t name, uint32_t module, enum frame_kind kind)
{
	uint64_t key = hash_pair(pack(name, module), kind);
	uint32_t next = (uint32_t)p->functions.n, id;

	for (; (id = hashmap_put(&p->function_ids, key, next)) != next; key++) {
		const struct function *f = &p->functions.v[id];

		if (f->name == name && f->module == module && f->kind == kind)
			return id;
	}
	vec_push(&p->functions, (struct function){ .name = name, .module = module, .kind = kind });
	return next;
}

uint32_t profile_module(struct profile *p, const char *name, const char *path, const char *build_id)
{
	struct module m = { profile_string(p, name), profile_string(p, path), profile_string(p, build_id) };
	uint64_t key = hash_pair(pack(m.name, m.path), m.build_id);
	uint32_t id;

	for (; (id = hashmap_put(&p->module_ids, key, (uint32_t)p->modules.n)) != p->modules.n; key++)
		if (!memcmp(&p->modules.v[id], &m, sizeof(m)))
			return id;
	vec_push(&p->modules, m);
	return id;
}

uint32_t profile_location(struct profile *p, uint32_t module, enum frame_kind kind, uint64_t address)
{
	uint64_t key = hash_pair(pack(module, kind), address);
	uint32_t next = (uint32_t)p->locations.n, id;

	for (; (id = hashmap_put(&p->location_ids, key, next)) != next; key++) {
		const struct location *l = &p->locations.v[id];

		if (l->address == address && l->module == module && l->kind == kind)
			return id;
	}
	vec_push(&p->locations, (struct location){
		.module = module, .kind = kind, .address = address });
	return next;
}

uint32_t profile_thread(struct profile *p, uint32_t process, pid_t tid, uint32_t comm)
{
	uint64_t key = hash_pair(pack(process, (uint32_t)tid), comm);
	uint32_t next = (uint32_t)p->threads.n, id;

	for (; (id = hashmap_put(&p->thread_ids, key, next)) != next; key++) {
		const struct thread *t = &p->threads.v[id];

		if (t->process == process && t->tid == tid && t->comm == comm)
			return id;
	}
	vec_push(&p->threads, (struct thread){ .process = process, .comm = comm, .tid = tid });
	return next;
}

void profile_name_location(struct profile *p, uint32_t location, const struct line *lines, size_t n, const char *why)
{
	uint32_t reason = profile_string(p, why);

	p->locations.v[location].why = reason;
	p->locations.v[location].first_line = (uint32_t)p->lines.n;
	p->locations.v[location].nlines = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		vec_push(&p->lines, lines[i]);
}

uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location)
{
	uint32_t next = (uint32_t)p->nodes.n;
	uint32_t id = hashmap_put(&p->node_ids, pack(parent, location), next);

	if (id == next)
		vec_push(&p->nodes, (struct node){ .parent = parent, .location = location });
	return id;
}

uint32_t profile_process(struct profile *p, pid_t pid, uint32_t incarnation, uint32_t comm)
{
	uint32_t next = (uint32_t)p->processes.n;
	uint32_t id = hashmap_put(&p->process_ids, pack((uint32_t)pid, incarnation), next);

	if (id == next)
		vec_push(&p->processes, (struct process){
			.pid = pid, .comm = comm, .incarnation = incarnation });
	else if (comm)
		p->processes.v[id].comm = comm;
	return id;
}

void profile_add(struct profile *p, uint32_t thread, uint32_t node, uint64_t count)
{
	uint32_t next = (uint32_t)p->samples.n, id;

	/* Clamped here once, so that no sum over samples can overflow anywhere. */
	if (count > UINT64_MAX - p->total)
		count = UINT64_MAX - p->total;
	if (!count)
		return;
	p->total += count;
	id = hashmap_put(&p->sample_ids, pack(thread, node), next);
	if (id == next)
		vec_push(&p->samples, (struct sample){ .thread = thread, .node = node, .count = count });
	else
		p->samples.v[id].count += count;
}

struct profile_meta *profile_meta(struct profile *p)
{
	return &p->meta;
}

struct profile_account *profile_account(struct profile *p)
{
	return &p->account;
}

struct profile_view profile_view(const struct profile *p)
{
	return (struct profile_view){
		.functions = p->functions.v, .nfunctions = p->functions.n,
		.modules = p->modules.v, .nmodules = p->modules.n,
		.locations = p->locations.v, .nlocations = p->locations.n,
		.lines = p->lines.v, .nlines = p->lines.n,
		.nodes = p->nodes.v, .nnodes = p->nodes.n,
		.processes = p->processes.v, .nprocesses = p->processes.n,
		.threads = p->threads.v, .nthreads = p->threads.n,
		.samples = p->samples.v, .nsamples = p->samples.n,
		.total = p->total,
		.meta = &p->meta, .account = &p->account,
	};
}

const char *profile_text(const struct profile *p, uint32_t string)
{
	return strtab_get(p->strings, string);
}
