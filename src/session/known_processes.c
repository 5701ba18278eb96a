/* SPDX-License-Identifier: MIT */
#include "session/known_processes.h"

#include <string.h>

#include "base/vec.h"

void known_processes_free(struct known_processes *k)
{
	vec_free(k);
	interned_free(&k->ids);
}

static int same_process(const void *known, uint32_t i, const void *key)
{
	const struct known_processes *k = known;

	return !memcmp(&k->v[i].key, key, sizeof(struct ebp_process));
}

struct known_process *known_processes_find(const struct known_processes *k,
					   const struct ebp_process *key)
{
	uint32_t i = intern_find(&k->ids, hash_bytes(key, sizeof(*key)), same_process, k, key);

	return i == HASHMAP_NONE ? NULL : &k->v[i];
}

struct known_process *known_processes_add(struct known_processes *k, const struct known_process *p)
{
	intern_add(&k->ids, hash_bytes(&p->key, sizeof(p->key)), (uint32_t)k->n);
	vec_push(k, *p);
	return &k->v[k->n - 1];
}

struct known_process *known_processes_at(struct known_processes *k, struct procs *procs,
					 const struct ebp_process *key, uint64_t time)
{
	struct known_process *known = known_processes_find(k, key);

	if (known)
		return known;
	return known_processes_add(k, &(struct known_process){
		.key = *key,
		.incarnation = procs_at(procs, (pid_t)key->tgid, time),
		.process = PROFILE_NONE });
}
