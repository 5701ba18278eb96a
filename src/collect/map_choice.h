/* SPDX-License-Identifier: MIT */
/*
 * Maps as this kernel can have them, chosen before the programs are loaded. The programs choose by
 * the same types of the kernel (bpf/compat.bpf.h).
 */
#ifndef EBPROF_MAP_CHOICE_H
#define EBPROF_MAP_CHOICE_H

struct bpf_map;

/*
 * What is known of a thread lies in its storage, in @tasks; before Linux 5.11 in @threads, by TID,
 * where an entry of @none is what a new one is copied from. 0 or a negative errno.
 */
int map_choice_threads(struct bpf_map *tasks, struct bpf_map *threads, struct bpf_map *none);

/*
 * @map, a hash for programs on uprobes, takes memory for its entries when it needs it; before Linux
 * 6.1 such a program could then wait for itself, so all of it is there from the start, and for
 * fewer entries. 0 or a negative errno.
 */
int map_choice_hash(struct bpf_map *map);

#endif
