/* SPDX-License-Identifier: MIT */
#include "collect/map_choice.h"

#include <linux/bpf.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include "collect/features.h"

#define THREADS		32768	/* followed at one time, by TID */
#define PREALLOCATED	(1u << 18)	/* entries, of some 80 bytes each */

int map_choice_threads(struct bpf_map *tasks, struct bpf_map *threads, struct bpf_map *none)
{
	int storage = features_enum_value("bpf_func_id", "BPF_FUNC_task_storage_get") >= 0, err;

	err = bpf_map__set_autocreate(tasks, storage);
	if (!err)
		err = bpf_map__set_autocreate(threads, !storage);
	if (!err)
		err = bpf_map__set_autocreate(none, !storage);
	return err || storage ? err : bpf_map__set_max_entries(threads, THREADS);
}

int map_choice_hash(struct bpf_map *map)
{
	int err;

	/* The allocator for BPF's own objects, which needs no locks (7c8199e24fa0). */
	if (features_has_struct("bpf_mem_alloc"))
		return 0;
	err = bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~(uint32_t)BPF_F_NO_PREALLOC);
	return err ? err : bpf_map__set_max_entries(map, PREALLOCATED);
}
