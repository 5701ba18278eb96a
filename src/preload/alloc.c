/* SPDX-License-Identifier: MIT */
/*
 * What `ebprof alloc -- COMMAND` preloads: stands before the allocator, counts bytes in each
 * thread, and calls a function of nops for a block that is sampled and for the end of
 * one. Uprobes are on those two (bpf/sources/allocations.bpf.h), so only samples trap. No file, no
 * socket, no stack is looked at here.
 *
 * A block of s bytes is sampled with the probability 1 - exp(-s / interval): the
 * distance to the next sample is drawn anew, exponentially, after each. In the
 * environment EBPROF_ALLOC_INTERVAL is the interval in bytes, 0 for all blocks.
 *
 * Blocks are told by numbers, not by addresses: an address is used again by
 * another thread before we are heard of its first block's end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/block_table.h"
#include "preload/nops.h"

#define API __attribute__((visibility("default")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INTERVAL (512 * 1024)
#define ALL_BITS 16		/* of the table, where all blocks are in it */
/* bytes for who allocates before we know the allocator: dlsym() itself may */
#define ARENA 65536

void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

static void *first_malloc(size_t size);
static void first_free(void *block);

/* The allocator behind us; before it is known, who finds it. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free)(void *);
} real = { .malloc = first_malloc, .free = first_free };

static struct block_table blocks;
static uint64_t last_id;
static uint64_t interval;	/* bytes; 0: every block */
static int configured;		/* nothing is sampled before we know how */
static int resolving, resolved;
static struct {
	size_t used;
	char bytes[ARENA] __attribute__((aligned(16)));
} arena;

static __thread struct {
	int64_t left;		/* bytes until the next sample */
	uint64_t random;	/* 0: nothing drawn yet */
} here __attribute__((tls_model("initial-exec")));

/*
 * --- The two that are probed, on one of their nops: newer kernels have no trap for these. ---
 */

#ifdef __x86_64__
#define PROBED NOP5 "\n" NOP10
#else
#define PROBED "nop"
#endif

API __attribute__((noinline)) void ebprof_block(uint64_t id, size_t size);
API __attribute__((noinline)) void ebprof_free(uint64_t id);

void ebprof_block(uint64_t id, size_t size)
{
	__asm__ volatile(PROBED : : "r"(id), "r"(size) : "memory");
}

void ebprof_free(uint64_t id)
{
	__asm__ volatile(PROBED : : "r"(id) : "memory");
}

/* --- Sampling. --- */

static uint64_t draw(void)
{
	here.random ^= here.random << 13;
	here.random ^= here.random >> 7;
	here.random ^= here.random << 17;
	return here.random * 0x2545f4914f6cdd1du;
}

/*
 * -ln(@x / 2^64), without libm: @x is 1 at least. By ln m = 2 artanh((m - 1) / (m + 1)) of 1 <= m <
 * 2.
 */
static double minus_log(uint64_t x)
{
	int zeros = __builtin_clzll(x);
	double m = (double)(x << zeros) / 0x1p63, t = (m - 1) / (m + 1), power = t, sum = 0;

	for (int i = 1; i < 24; i += 2) {
		sum += power / i;
		power *= t * t;
	}
	return (zeros + 1) * 0.69314718055994530942 - 2 * sum;
}

static void draw_distance(void)
{
	if (!here.random) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		here.random = ((uint64_t)(uintptr_t)&here ^ (uint64_t)now.tv_nsec << 32 ^
			       (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16) |
			      1;
		for (int i = 0; i < 8; i++)
			draw();
	}
	here.left = interval ? (int64_t)(minus_log(draw() | 1) * (double)interval) : -1;
}

/* The countdown has passed 0, or has not begun. */
static __attribute__((noinline)) void maybe_sample(void *block, size_t size)
{
	int begun = here.random != 0, saved = errno;
	uint64_t id, stale;

	if (!configured) {
		here.left = 0;
		return;
	}
	if (!begun && interval) {
		draw_distance();
		here.left -= (int64_t)(size + !size);
		if (here.left >= 0)
			goto out;
	}
	draw_distance();
	/* It was freed in a way that we did not see. */
	stale = block_table_take(&blocks, block);
	if (stale)
		ebprof_free(stale);
	id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	if (!block_table_put(&blocks, block, id))
		ebprof_block(id, size);
out:
	errno = saved;
}

/* Whether the sample is in these bytes. */
static inline int counts_down(size_t size)
{
	here.left -= (int64_t)(size + !size);
	return UNLIKELY(here.left < 0);
}

static inline void *took(void *block, size_t size)
{
	if (block && counts_down(size))
		maybe_sample(block, size);
	return block;
}

/* Before the allocator has it back, and may give it to another thread. */
static inline void gives_back(const void *block)
{
	uint64_t id = block_table_take(&blocks, block);

	if (UNLIKELY(id))
		ebprof_free(id);
}

/* --- The allocator behind us. --- */

static void *from_arena(size_t size, size_t alignment)
{
	size_t at = (arena.used + alignment - 1) & ~(alignment - 1);

	if (at > ARENA || size > ARENA - at) {
		errno = ENOMEM;
		return NULL;
	}
	arena.used = at + size;
	block_table_watch(&blocks, arena.bytes + at);
	return arena.bytes + at;
}

static inline int is_in_arena(const void *block)
{
	return UNLIKELY((uintptr_t)block - (uintptr_t)arena.bytes < ARENA);
}

/*
 * As soon as libc knows the environment: other libraries may allocate before our own constructor
 * runs.
 */
static void configure(void)
{
	const char *text;

	if (configured || !environ)
		return;
	text = getenv("EBPROF_ALLOC_INTERVAL");
	interval = text ? strtoull(text, NULL, 10) : INTERVAL;
	if (!interval)
		blocks.bits = ALL_BITS;
	configured = 1;
}

/* Once at most, before there are threads. 0 where it is under way: dlsym() has called us. */
static __attribute__((noinline)) int resolve(void)
{
	static const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ "calloc", &real.calloc },
		{ "realloc", &real.realloc },
		{ "aligned_alloc", &real.aligned_alloc },
		{ "posix_memalign", &real.posix_memalign },
		{ "memalign", &real.memalign },
		{ "valloc", &real.valloc },
		{ "pvalloc", &real.pvalloc },
		{ "free", &real.free },
		{ "malloc", &real.malloc },
	};

	if (resolving)
		return 0;
	resolving = 1;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *found = dlsym(RTLD_NEXT, wanted[i].name);

		if (found)
			memcpy(wanted[i].to, &found, sizeof(found));
	}
	resolving = 0;
	resolved = real.malloc != first_malloc && real.free != first_free;
	configure();
	return resolved;
}

static inline int is_ready(void)
{
	return !UNLIKELY(!resolved) || resolve();
}

static void *first_malloc(size_t size)
{
	return is_ready() ? real.malloc(size) : from_arena(size, 16);
}

static void first_free(void *block)
{
	if (is_ready())
		real.free(block);
}

/* A child draws its own distances, or it would sample just what its siblings do. */
static void after_fork(void)
{
	here.random = 0;
	here.left = 0;
}

static __attribute__((constructor)) void begin(void)
{
	is_ready();
	configure();
	pthread_atfork(NULL, NULL, after_fork);
}

/* The countdown begins at 0: so what is not known yet is found out here. */
static __attribute__((noinline)) void *malloc_sampled(size_t size)
{
	void *block;

	if (!is_ready())
		return from_arena(size, 16);
	block = real.malloc(size);
	if (block)
		maybe_sample(block, size);
	return block;
}

/* A jump to the allocator: that it is asked after the count, and may fail, is no matter. */
API void *malloc(size_t size)
{
	return counts_down(size) ? malloc_sampled(size) : real.malloc(size);
}

API void *calloc(size_t n, size_t size)
{
	return is_ready() ? took(real.calloc(n, size), n * size) : from_arena(n * size, 16);
}

/* Only what has really ended is told: one that cannot grow stays. */
API void *realloc(void *block, size_t size)
{
	uint64_t id;
	void *moved;

	if (is_in_arena(block)) {
		size_t most = (size_t)(arena.bytes + ARENA - (char *)block);

		moved = malloc(size);
		return moved ? memcpy(moved, block, size < most ? size : most) : NULL;
	}
	if (!is_ready())
		return from_arena(size, 16);
	id = block_table_take(&blocks, block);
	moved = real.realloc(block, size);
	if (UNLIKELY(id) && !moved && size)
		block_table_put(&blocks, block, id);
	else if (UNLIKELY(id))
		ebprof_free(id);
	return took(moved, size);
}

API void *reallocarray(void *block, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, bytes);
}

API void *aligned_alloc(size_t alignment, size_t size)
{
	return is_ready() ? took(real.aligned_alloc(alignment, size), size)
			  : from_arena(size, alignment);
}

API int posix_memalign(void **block, size_t alignment, size_t size)
{
	int err = is_ready() ? real.posix_memalign(block, alignment, size) : ENOMEM;

	if (!err)
		took(*block, size);
	return err;
}

API void *memalign(size_t alignment, size_t size)
{
	return is_ready() ? took(real.memalign(alignment, size), size)
			  : from_arena(size, alignment);
}

API void *valloc(size_t size)
{
	return is_ready() ? took(real.valloc(size), size) : NULL;
}

API void *pvalloc(size_t size)
{
	return is_ready() ? took(real.pvalloc(size), size) : NULL;
}

static __attribute__((noinline)) void free_watched(void *block)
{
	if (is_in_arena(block))
		return;
	gives_back(block);
	real.free(block);
}

API void free(void *block)
{
	if (UNLIKELY(block_table_may_have(&blocks, block)))
		free_watched(block);
	else
		real.free(block);
}

API void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

API void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(block);
}

/*
 * --- C++. Some allocators have operators of their own, which do not call malloc(). ---
 *
 * Where there is nobody behind us (a program in C that loads a plugin), we are the
 * operators, by malloc() and free(), as libstdc++ is; but nobody can throw then.
 */
static void *find(void **known, const char *name)
{
	void *found = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (UNLIKELY(!found)) {
		found = dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, found ? found : (void *)known, __ATOMIC_RELAXED);
	}
	return found == (void *)known ? NULL : found;
}

/*
 * What operator new asks of malloc() is counted once, by operator new: meanwhile the countdown is
 * out of reach.
 */
static inline int64_t enter(void)
{
	int64_t left = here.left;

	here.left = INT64_MAX;
	return left;
}

static void leave(const int64_t *left)
{
	here.left = *left;
}

static void *without_operator(size_t size, size_t alignment, int throws)
{
	void *block = alignment ? aligned_alloc(alignment, size + !size) : malloc(size + !size);

	if (!block && throws)
		abort();
	return block;
}

/* By the cleanup, who throws leaves, too. */
#define OPERATOR_NEW(name, alignment, throws, params, ...) \
API void *name params; \
void *name params \
{ \
	static void *known; \
	void *(*next) params; \
	void *block; \
	void *found = find(&known, #name); \
	if (!found) \
		return without_operator(size, alignment, throws); \
	memcpy(&next, &found, sizeof(next)); \
	{ \
		int64_t left __attribute__((cleanup(leave), unused)) = enter(); \
		block = next(__VA_ARGS__); \
	} \
	return took(block, size); \
}

OPERATOR_NEW(_Znwm, 0, 1, (size_t size), size)
OPERATOR_NEW(_Znam, 0, 1, (size_t size), size)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, 0, 0, (size_t size, const void *tag), size, tag)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, 0, 0, (size_t size, const void *tag), size, tag)
OPERATOR_NEW(_ZnwmSt11align_val_t, align, 1, (size_t size, size_t align), size, align)
OPERATOR_NEW(_ZnamSt11align_val_t, align, 1, (size_t size, size_t align), size, align)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, align, 0,
	     (size_t size, size_t align, const void *tag), size, align, tag)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, align, 0,
	     (size_t size, size_t align, const void *tag), size, align, tag)

#define OPERATOR_DELETE(name, params, ...) \
API void name params; \
void name params \
{ \
	static void *known; \
	void (*next) params; \
	void *found = find(&known, #name); \
	if (!found) { \
		free(block); \
		return; \
	} \
	memcpy(&next, &found, sizeof(next)); \
	gives_back(block); \
	next(__VA_ARGS__); \
}

OPERATOR_DELETE(_ZdlPv, (void *block), block)
OPERATOR_DELETE(_ZdaPv, (void *block), block)
OPERATOR_DELETE(_ZdlPvm, (void *block, size_t size), block, size)
OPERATOR_DELETE(_ZdaPvm, (void *block, size_t size), block, size)
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), block, tag)
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), block, tag)
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align), block, align)
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align), block, align)
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), block, size,
		align)
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align), block, size,
		align)
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),
		block, align, tag)
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),
		block, align, tag)
