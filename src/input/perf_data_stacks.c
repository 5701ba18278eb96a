/* SPDX-License-Identifier: MIT */
#include "input/perf_data_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "unwind/unwinder.h"

#define TABLES_MAX	((size_t)1 << 30)	/* bytes of unwind tables */
#define BUILD_MAX	60000000000u		/* ns that are waited for them */
#define COPY_MAX	65536u			/* bytes of a stack; perf copies less */

/*
 * perf's numbers of registers (arch/ * /include/uapi/asm/perf_regs.h), by those of DWARF, which
 * struct ebp_registers has.
 */
#ifdef __aarch64__
#define ARCH "aarch64"
#define REG_FP 29
#define REG_SP 31
#define REG_PC 32
#define BELOW 0
static const uint8_t numbers[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				   22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#else
#define ARCH "x86_64"
#define REG_FP 6
#define REG_SP 7
#define REG_PC 16
/*
 * Bytes below the copy, which begins at the stack pointer. Just before a `ret` compilers still say
 * that the frame pointer is there. It was popped, so what was there is in its register.
 */
#define BELOW 128
static const uint8_t numbers[] = { 0,  3,  2,  1,  4,  5,  6,  7, 16,
				   17, 18, 19, 20, 21, 22, 23, 8 };
#endif
#define REGISTERS (sizeof(numbers) / sizeof(*numbers))

struct perf_data_stacks {
	struct perf_data_images *images;
	struct unwinder *unwinder;
	VEC(uint8_t *) shards;		/* of the tables */
	/* the mappings of one process, as they were at its @generation */
	VEC(struct unwind_mapping) mappings;
	uint32_t generation;
	VEC(uint32_t) places;		/* by image: which it is of the tasks */
	struct ebp_rescue *stack;	/* with room for BELOW + COPY_MAX */
};

static uint8_t *grow(void *ctx, uint32_t index)
{
	struct perf_data_stacks *s = ctx;
	uint8_t *shard = xcalloc(1, EBP_SHARD_BYTES + EBP_SHARD_SLACK);

	(void)index;
	vec_push(&s->shards, shard);
	return shard;
}

struct perf_data_stacks *perf_data_stacks_new(struct perf_data_images *images)
{
	struct perf_data_stacks *s = xcalloc(1, sizeof(*s));

	s->images = images;
	s->generation = UINT32_MAX;
	s->stack = xcalloc(1, sizeof(*s->stack) + BELOW + COPY_MAX);
	/* No process is published: each sample brings its mappings along. */
	s->unwinder = unwinder_new(images->images,
				   &(struct unwinder_kernel){ .grow = grow, .ctx = s },
				   &(struct unwinder_options){ .memory = TABLES_MAX });
	if (s->unwinder)
		return s;
	perf_data_stacks_free(s);
	return NULL;
}

void perf_data_stacks_free(struct perf_data_stacks *s)
{
	if (!s)
		return;
	unwinder_free(s->unwinder);
	for (size_t i = 0; i < s->shards.n; i++)
		free(s->shards.v[i]);
	vec_free(&s->shards);
	vec_free(&s->mappings);
	vec_free(&s->places);
	free(s->stack);
	free(s);
}

uint32_t perf_data_stacks_image(const struct perf_data_stacks *s, uint32_t image)
{
	return image < s->places.n ? s->places.v[image] : IMAGE_NONE;
}

/* --- The mappings. -------------------------------------------------------------- */

/* The image of a mapping, as frames have it. */
static uint32_t image_of(struct perf_data_stacks *s, uint32_t of_tasks)
{
	const struct image *image =
		of_tasks == IMAGE_NONE ? NULL : perf_data_image(s->images, of_tasks);

	if (!image)
		return IMAGE_NONE;
	while (s->places.n <= image->id)
		vec_push(&s->places, IMAGE_NONE);
	if (s->places.v[image->id] == IMAGE_NONE)
		s->places.v[image->id] = of_tasks;
	return image->id;
}

static void take_mapping(void *ctx, const struct mapping *m)
{
	struct perf_data_stacks *s = ctx;

	vec_push(&s->mappings, (struct unwind_mapping){ .start = m->start,
							.end = m->end,
							.offset = m->offset,
							.image = image_of(s, m->image) });
}

static void find_mappings(struct perf_data_stacks *s, const struct perf_data_process *process,
			  uint64_t time)
{
	if (s->generation == process->generation)
		return;
	s->generation = process->generation;
	s->mappings.n = 0;
	mappings_each(process->mappings, time, take_mapping, s);
}

/* --- A stack. ------------------------------------------------------------------- */

/* 0: something is missing without which there is no way. */
static int take_registers(const struct perf_data_sample *sample, struct ebp_registers *to)
{
	const uint64_t needed = 1ull << REG_PC | 1ull << REG_SP;
	uint64_t known = 0;
	const uint8_t *at = sample->registers;

	*to = (struct ebp_registers){ 0 };
	for (uint64_t left = sample->mask; left; left &= left - 1, at += 8)
		for (unsigned dwarf = 0; dwarf < REGISTERS; dwarf++)
			if (numbers[dwarf] == __builtin_ctzll(left)) {
				to->r[dwarf] = load64(at);
				known |= 1ull << dwarf;
			}
	return (known & needed) == needed;
}

static int is_ours(const struct perf_data_stacks *s, const struct perf_data_sample *sample)
{
	struct slice arch = s->images->tasks->file->arch;

	return sample->registers && sample->abi == PERF_SAMPLE_REGS_ABI_64 &&
	       (!arch.n || (arch.n == strlen(ARCH) && slice_begins(arch, ARCH)));
}

int perf_data_stacks_unwind(struct perf_data_stacks *s, const struct perf_data_process *process,
			    const struct perf_data_sample *sample, struct unwind_result *out)
{
	struct ebp_rescue *r = s->stack;
	size_t below = BELOW / 8;	/* none on arm64 */
	uint64_t n = sample->nstack < COPY_MAX ? sample->nstack & ~7ull : COPY_MAX;
	int err;

	if (!is_ours(s, sample) || !take_registers(sample, &r->regs))
		return -ENOTSUP;
	find_mappings(s, process, sample->time);
	r->head.n = (uint32_t)n + BELOW;
	r->sp = r->regs.r[REG_SP] - BELOW;
	for (size_t i = 0; i < below; i++)
		r->stack[i] = r->regs.r[REG_FP];
	if (n)
		memcpy((char *)r->stack + BELOW, sample->stack, n);
	do
		err = unwinder_rescue(s->unwinder, r, NULL, s->mappings.v, s->mappings.n, NULL,
				      EBP_FRAMES_MAX, out);
	while (err == -EAGAIN && unwinder_wait(s->unwinder, BUILD_MAX));
	return 0;
}
