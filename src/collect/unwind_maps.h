/* SPDX-License-Identifier: MIT */
/*
 * The BPF maps of the unwind tables, made before the programs that use them are
 * loaded, so that tables can be built meanwhile.
 *
 * A shard becomes visible to the kernel by an update of a map of maps, which
 * takes a grace period (some 10 ms): a thread makes shards ahead of need.
 * All functions are for one thread, the owner's.
 */
#ifndef EBPROF_UNWIND_MAPS_H
#define EBPROF_UNWIND_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/lang.h"
#include "bpf/unwind.h"

struct unwind_maps;

/*
 * For @memory bytes of tables (rounded up to whole shards; 0: none will be) and @spaces processes.
 * NULL with @e filled.
 */
struct unwind_maps *unwind_maps_new(size_t memory, uint32_t spaces, struct error *e);
void unwind_maps_free(struct unwind_maps *m);

/* Descriptors for the maps `shards` and `spaces` of bpf/unwind.bpf.h; borrowed. */
int unwind_maps_shards_fd(const struct unwind_maps *m);
int unwind_maps_spaces_fd(const struct unwind_maps *m);
/* The same for `layouts` of bpf/lang.bpf.h. */
int unwind_maps_layouts_fd(const struct unwind_maps *m);

/*
 * Waits for shard @index, counted from 0 without gaps. Its memory, zeroed, as long as @m lives;
 * NULL with errno.
 */
uint8_t *unwind_maps_grow(struct unwind_maps *m, uint32_t index);
/* 0 or a negative errno. */
int unwind_maps_publish(struct unwind_maps *m, pid_t pid, const struct ebp_space *space);
void unwind_maps_withdraw(struct unwind_maps *m, pid_t pid);
/* Interpreter @number, from 1 on, is laid out like this. 0 or a negative errno. */
int unwind_maps_layout(struct unwind_maps *m, uint32_t number, const struct ebp_layout *layout);

#endif
