/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the task that is walked, by pieces that are kept for as long as the walk lasts.
 *
 * To read user memory costs a call of a helper, which takes the same for 8 bytes as for 1024 (82 ns
 * and 92, where speculation is mitigated): so what a step reads brings what is around it. Frames
 * are often one behind the other, and so are functions of one file.
 *
 * A piece never crosses a page, so either all of it can be read, or nothing of it.
 */
#ifndef EBPROF_NEAR_BPF_H
#define EBPROF_NEAR_BPF_H

#include "bpf/compat.bpf.h"

#define NEAR_SHIFT	10
#define NEAR_PIECE	(1u << NEAR_SHIFT)
#define NEAR_PIECES	16u
#define NEAR_BYTES	(NEAR_PIECES << NEAR_SHIFT)
#define NEAR_ROOM	256	/* that is copied at most */
#define NEAR_NOT	(~0u)

struct near_memory {
	__u64 walk;
	struct {
		__u64 number;	/* its address >> NEAR_SHIFT */
		__u64 walk;	/* in which it was read; 0: in none */
	} pieces[NEAR_PIECES];
	__u8 bytes[NEAR_BYTES + NEAR_ROOM];
};

/* What was read so far says nothing about what is there now. */
static __always_inline void near_forget(struct near_memory *n)
{
	n->walk++;
}

/* Where in the bytes of @n those at @address are, which it brings; NEAR_NOT: nowhere. */
static __always_inline __u32 near_find(struct near_memory *n, __u64 address, __u32 size)
{
	__u64 number = address >> NEAR_SHIFT;
	__u32 i = (number ^ number >> 4) & (NEAR_PIECES - 1);
	__u32 from = address & (NEAR_PIECE - 1), at = i << NEAR_SHIFT;

	if (size > NEAR_ROOM || from + size > NEAR_PIECE)
		return NEAR_NOT;
	if (n->pieces[i].number != number || n->pieces[i].walk != n->walk) {
		n->pieces[i].walk = 0;
		if (bpf_probe_read_user(n->bytes + at, NEAR_PIECE, (void *)(number << NEAR_SHIFT)))
			return NEAR_NOT;
		n->pieces[i].number = number;
		n->pieces[i].walk = n->walk;
	}
	return at | from;
}

/* The same in those of this CPU's walk (lang.bpf.h). */
__noinline __u32 near_bring(__u64 address, __u32 size);

/*
 * @size bytes from @address, at most @room, a constant, which may be written. 0, or negative.
 * @n: of this CPU's walk, which the caller has, for each look-up more makes loading slower: the
 * verifier writes it out, and moves what is behind it.
 */
static __always_inline int near_read(struct near_memory *n, void *dst, const __u32 room, __u32 size,
				     __u64 address)
{
	__u32 at = near_bring(address, size);
	const __u8 *src;

	if (at >= NEAR_BYTES)
		return bpf_probe_read_user(dst, size, (void *)address);
	/* So that the mask is not taken away: what is put aside may lose its bound. */
	barrier_var(at);
	src = n->bytes + (at & (NEAR_BYTES - 1));
#pragma unroll
	for (__u32 i = 0; i < room / 8; i++)
		((__u64 *)dst)[i] = ((const __u64 *)src)[i];
	if (room & 4)
		*(__u32 *)(dst + (room & ~7u)) = *(const __u32 *)(src + (room & ~7u));
	if (room & 1)
		*(__u8 *)(dst + (room & ~7u)) = *src;
	return 0;
}

/* The same into @what, an array or a variable. */
#define NEAR_READ(n, what, size, address) \
	near_read((void *)(n), &(what), sizeof(what), (size), (address))

#endif
