/* SPDX-License-Identifier: MIT */
#include "input/perf_data_frames.h"

#include <inttypes.h>
#include <stdio.h>

#include "bpf/frame.h"
#include "profile/mark.h"
#include "unwind/result.h"

/*
 * Frames that may come later; the kernel takes 640 at most (perf_event_max_stack). Any number of
 * samples may name the same ones.
 */
#define DEFERRED_MAX 1024

/* Whose code a frame is; of the last the address is a word as the unwinder has it. */
enum side { SIDE_USER, SIDE_KERNEL, SIDE_GUEST, SIDE_UNWOUND };

/* A sample that is being read. */
struct walk {
	struct perf_data_frames *f;
	const struct perf_data_process *process;
	const struct perf_data_sample *s;
	enum side side;			/* whose frames come next */
	int copied;			/* those of the user are in a copy of the stack */
	int branched;			/* ... in what the CPU kept, and were added */
};

/* --- Places. -------------------------------------------------------------------- */
static uint32_t location_at(struct perf_data_frames *f, uint32_t module, enum frame_kind kind,
			    uint64_t address, uint32_t place)
{
	uint32_t l = profile_location(f->p, module, kind, address);

	while (f->d->places.n <= l) {
		room_take(&f->d->room, 1);
		vec_push(&f->d->places, place);
	}
	return l;
}

static uint32_t find_in_file(struct perf_data_frames *f, uint32_t image, uint64_t offset)
{
	return location_at(f, f->d->tasks.images.v[image].module, FRAME_USER, offset, image);
}

/* Code that the process made at run time. */
static uint32_t find_made(const struct walk *w, uint64_t address)
{
	struct perf_data *d = w->f->d;
	uint32_t i = hashmap_put(&w->f->made, w->process->incarnation, (uint32_t)d->made.n);
	char name[64];

	if (i == d->made.n) {
		/* By this name no two are one. */
		snprintf(name, sizeof(name), "//anon of %" PRIu32 ".%" PRIu32, w->s->pid,
			 w->process->incarnation);
		room_take(&d->room, 2);
		vec_push(&d->made,
			 (struct perf_data_made){ w->s->pid, profile_module(w->f->p, PROFILE_MADE,
									    name, "") });
	}
	return location_at(w->f, d->made.v[i].module, FRAME_USER, address, PERF_DATA_MADE + i);
}

static uint32_t find_user(const struct walk *w, uint64_t address)
{
	struct perf_data_frames *f = w->f;
	const struct mapping *m = mappings_find(w->process->mappings, address, w->s->time);

	if (!m)
		return location_at(f, 0, FRAME_USER, address, PERF_DATA_NOWHERE);
	if (m->image == IMAGE_NONE)
		return find_made(w, address);
	return find_in_file(f, m->image, address - m->start + m->offset);
}

/* Where a word of the unwinder is that has an image (bpf/frame.h). */
static uint32_t find_unwound(const struct walk *w, uint64_t word)
{
	struct perf_data_frames *f = w->f;
	uint32_t image = EBP_FRAME_IMAGE_OF(word), place = IMAGE_NONE;

	if (image != EBP_IMAGE_NONE)
		place = perf_data_stacks_image(f->stacks, image);
	return place == IMAGE_NONE ? location_at(f, 0, FRAME_USER, word, PERF_DATA_NOWHERE)
				   : find_in_file(f, place,
						  word & ((1ull << EBP_OFFSET_BITS) - 1));
}

static uint32_t find_kernel(const struct walk *w, uint64_t address)
{
	return location_at(w->f, w->f->kernel_module, FRAME_KERNEL, address, PERF_DATA_IN_KERNEL);
}

static uint32_t find_guest(const struct walk *w, uint64_t address)
{
	return location_at(w->f, 0, FRAME_USER, address, PERF_DATA_NOWHERE);
}

static uint32_t find_location(const struct walk *w, const struct perf_data_frame *frame)
{
	static uint32_t (*const find[])(const struct walk *w, uint64_t address) = {
		[SIDE_USER] = find_user,
		[SIDE_KERNEL] = find_kernel,
		[SIDE_GUEST] = find_guest,
		[SIDE_UNWOUND] = find_unwound,
	};
	uint64_t generation = frame->side == SIDE_USER ? w->process->generation : 0;
	uint64_t key = hash_pair(generation * 4 + frame->side, frame->address);
	uint32_t l = hashmap_get(&w->f->locations, key);

	if (l == HASHMAP_NONE) {
		room_take(&w->f->d->room, 1);
		l = find[frame->side](w, frame->address);
		hashmap_set(&w->f->locations, key, l);
	}
	return l;
}

/* Adds the frame at @address. */
static void add_frame(const struct walk *w, uint64_t address)
{
	vec_push(&w->f->stack, (struct perf_data_frame){ address, w->side, 0 });
}

/* The same of an address to which a call returns, whose line is before it. */
static void add_caller(const struct walk *w, uint64_t address)
{
	add_frame(w, address - (address != 0));
}

/* --- Kinds of stacks. ----------------------------------------------------------- */

/* @n addresses, the first one a leaf, or where the other side was entered. */
static void add_addresses(const struct walk *w, const uint8_t *at, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		(i ? add_caller : add_frame)(w, load64(at + 8 * i));
}

/* What came when the thread left the kernel. */
static void add_deferred(const struct walk *w, uint64_t cookie)
{
	const size_t fixed = sizeof(struct perf_event_header) + 16;
	uint32_t i = hashmap_get(&w->f->deferred, cookie);
	const uint8_t *record;
	uint64_t n;

	if (i == HASHMAP_NONE)
		return;
	record = w->f->d->file.records.v[i].at;
	n = load64(record + fixed - 8);
	record += fixed;
	/* It says itself whose frames these are. */
	if (n && load64(record) == PERF_CONTEXT_USER)
		add_addresses(w, record + 8, n - 1);
	else
		add_addresses(w, record, n);
}

/* The calls that have not returned: from where each came; @ip: where the last one has come to. */
static void add_branches(struct walk *w, uint64_t ip)
{
	const struct perf_data_sample *s = w->s;

	w->branched = 1;
	add_frame(w, ip ? ip : load64(s->branches + 8));
	for (uint64_t i = 0; i < s->nbranches; i++)
		add_frame(w, load64(s->branches + PERF_DATA_BRANCH_BYTES * i));
}

static enum side side_behind(uint64_t context)
{
	static const struct { uint64_t context; enum side side; } known[] = {
		{ PERF_CONTEXT_KERNEL, SIDE_KERNEL },
		{ PERF_CONTEXT_HV, SIDE_GUEST },
		{ PERF_CONTEXT_GUEST, SIDE_GUEST },
		{ PERF_CONTEXT_GUEST_KERNEL, SIDE_GUEST },
		{ PERF_CONTEXT_GUEST_USER, SIDE_GUEST },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].context == context)
			return known[i].side;
	return SIDE_USER;
}

/* Part of a chain: @n addresses of one side. */
static void add_part(struct walk *w, const uint8_t *at, uint64_t n)
{
	if (w->side == SIDE_USER && w->copied)
		return;
	if (w->side != SIDE_USER || !w->s->nbranches)
		add_addresses(w, at, n);
	else if (!w->branched)
		add_branches(w, load64(at));
}

/* The parts of a chain, each behind a value that says whose it is. */
static void add_chain(struct walk *w)
{
	const struct perf_data_sample *s = w->s;
	uint64_t from = 0;

	for (uint64_t i = 0; s->chain && i < s->nchain; i++) {
		uint64_t value = load64(s->chain + 8 * i);

		if (value < PERF_DATA_CONTEXT_FIRST && i + 1 < s->nchain)
			continue;
		i += value < PERF_DATA_CONTEXT_FIRST;
		if (i > from)
			add_part(w, s->chain + 8 * from, i - from);
		if (i >= s->nchain)
			return;
		w->side = side_behind(value);
		from = i + 1;
		if (value == PERF_DATA_CONTEXT_DEFERRED) {
			if (from < s->nchain)
				add_deferred(w, load64(s->chain + 8 * from));
			return;
		}
	}
}

static void add_word(struct walk *w, uint64_t word)
{
	int of_process = EBP_FRAME_IS_OF_PROCESS(word);

	w->side = of_process ? SIDE_USER : SIDE_UNWOUND;
	add_frame(w, of_process ? word & EBP_ADDRESS_MASK : word);
}

/* 1 where the sample has a copy of the user's stack, and its frames were added. */
static int add_copy(struct walk *w)
{
	struct perf_data_frames *f = w->f;

	if (!w->s->stack)
		return 0;
	if (!f->stacks && f->images)
		f->stacks = perf_data_stacks_new(f->images);
	if (!f->stacks || perf_data_stacks_unwind(f->stacks, w->process, w->s, &f->unwound)) {
		f->left++;
		return 0;
	}
	f->results[f->unwound.result]++;
	for (uint32_t i = 0; i < f->unwound.n; i++)
		add_word(w, f->unwound.frames[i]);
	return 1;
}

/* --- Nodes. --------------------------------------------------------------------- */

static enum side side_of(uint16_t misc)
{
	unsigned int mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_KERNEL ? SIDE_KERNEL
	       : mode <= PERF_RECORD_MISC_USER ? SIDE_USER
					       : SIDE_GUEST;
}

/* The node of the mark that says why a stack is not known to its end. */
static uint32_t mark_cut(struct perf_data_frames *f, const char *cut)
{
	char text[64];
	uint32_t node;

	snprintf(text, sizeof(text), "[truncated: %s]", cut);
	node = profile_mark(f->p, 0, text);
	while (f->d->places.n < profile_view(f->p).nlocations)
		vec_push(&f->d->places, PERF_DATA_MARK);
	return node;
}

/* The node of the frames at the root that @last has, too; *@left: of @now, those without one. */
static uint32_t common_node(perf_data_stack *now, const perf_data_stack *last, size_t *left)
{
	uint32_t node = 0;
	size_t n = 0;

	while (n < now->n && n < last->n) {
		struct perf_data_frame *frame = &now->v[now->n - 1 - n];
		const struct perf_data_frame *known = &last->v[last->n - 1 - n];

		if (frame->address != known->address || frame->side != known->side)
			break;
		node = frame->node = known->node;
		n++;
	}
	*left = now->n - n;
	return node;
}

/* The node of the frames in @stack; @cut: the stack goes on, and why that is not known. */
static uint32_t add_nodes(const struct walk *w, const char *cut)
{
	struct perf_data_frames *f = w->f;
	struct perf_data_recent *last = &f->recent[w->s->tid & (PERF_DATA_RECENT - 1)];
	uint32_t node = cut ? mark_cut(f, cut) : 0;
	perf_data_stack swap;
	size_t left = f->stack.n;

	if (!cut && last->generation == w->process->generation)
		node = common_node(&f->stack, &last->stack, &left);
	while (left-- > 0 && room_take(&f->d->room, 0)) {
		node = room_node(&f->d->room, node, find_location(w, &f->stack.v[left]));
		f->stack.v[left].node = node;
	}
	if (cut)
		return node;
	swap = last->stack;
	last->stack = f->stack;
	last->generation = w->process->generation;
	f->stack = swap;
	return node;
}

/* A chain that is all of its stack is looked up once for each state of a process's mappings. */
static int is_plain(const struct perf_data_sample *s)
{
	return s->nchain && !s->stack && !s->nbranches &&
	       !(s->nchain > 1 &&
		 load64(s->chain + 8 * (s->nchain - 2)) == PERF_DATA_CONTEXT_DEFERRED);
}

uint32_t perf_data_frames_node(struct perf_data_frames *f, const struct perf_data_sample *s,
			       const uint8_t *record)
{
	struct walk w = { .f = f,
			  .process = perf_data_process(&f->d->tasks, s->pid),
			  .s = s,
			  .side = side_of(perf_data_head(record).misc),
			  .copied = s->stack != NULL };
	uint64_t key = is_plain(s) ? hash_pair(hash_bytes(s->chain, 8 * s->nchain),
					       (uint64_t)w.process->generation * 4 + w.side)
				   : 0;
	uint32_t node = is_plain(s) ? hashmap_get(&f->nodes, key) : HASHMAP_NONE;
	enum side leaf = w.side;
	const char *cut = NULL;

	if (node != HASHMAP_NONE)
		return node;
	f->stack.n = 0;
	add_chain(&w);
	w.side = SIDE_USER;
	if (add_copy(&w))
		cut = unwind_result_name(f->unwound.result);
	else if (s->nbranches && !w.branched)
		add_branches(&w, leaf == SIDE_USER ? s->ip : 0);
	w.side = leaf;
	if (!f->stack.n && s->ip)
		add_frame(&w, s->ip);
	node = add_nodes(&w, cut);
	if (is_plain(s) && room_take(&f->d->room, 1))
		hashmap_set(&f->nodes, key, node);
	return node;
}

void perf_data_frames_defer(struct perf_data_frames *f, uint32_t i)
{
	const size_t fixed = sizeof(struct perf_event_header) + 16;
	const uint8_t *record = f->d->file.records.v[i].at;
	uint64_t size = perf_data_head(record).size;

	if (size >= fixed && load64(record + fixed - 8) <= (size - fixed) / 8 &&
	    load64(record + fixed - 8) <= DEFERRED_MAX && room_take(&f->d->room, 1))
		hashmap_set(&f->deferred, load64(record + fixed - 16), i);
}

void perf_data_frames_free(struct perf_data_frames *f)
{
	perf_data_stacks_free(f->stacks);
	hashmap_free(&f->locations);
	hashmap_free(&f->nodes);
	hashmap_free(&f->deferred);
	hashmap_free(&f->made);
	vec_free(&f->stack);
	for (size_t i = 0; i < PERF_DATA_RECENT; i++)
		vec_free(&f->recent[i].stack);
}
