/* SPDX-License-Identifier: MIT */
/* Stacks that the kernel could not finish. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "elf/vdso.h"
#include "unwind/unwinder_internal.h"

/* DWARF's numbers, and where a struct ebp_registers has the pc. */
#ifdef __aarch64__
#define REG_FP		29
#define REG_SP		31
#define REG_PC		32
#define REGS		32	/* general ones, with sp */
#else
#define REG_FP		6
#define REG_SP		7
#define REG_PC		16
#define REGS		16
#endif

/* for one stack, as unwind_sections_work(): 0.3 s at most */
#define WORK_MAX	(8u << 20)

/* bytes above what was sent in which a frame may be: rustc's have 600 KiB */
#define STACK_MAX	(8u << 20)
#define PAGE		4096u	/* the smallest there is */
/* places of code without a file that are kept for a stack; a power of two */
#define CODES		16
#define CODE_BYTES	16	/* that the step looks at, at most */

struct code {
	uint64_t address;
	size_t size;		/* 0: nothing yet */
	int err;
	char bytes[CODE_BYTES];
};

/*
 * What there is of a process's memory: a piece of its stack, the code in its files, and what it has
 * made meanwhile.
 */
struct target {
	struct unwinder *u;
	const struct ebp_rescue *sample;
	const struct unwind_above *kept;	/* what lies above; NULL: to be read now */
	const struct ebp_jump *jump;	/* NULL: none */
	const struct ebp_mapping *rows;
	size_t n;
	struct code codes[CODES];
	/*
	 * the stack above what was sent, and what was not in memory of that: 0 not looked at, 1 as
	 * it was then, -1 not
	 */
	int above, between;
	/* where to begin: the leaf, all of whose registers are known, or what the kernel came to */
	struct ebp_registers regs;
	int exact;
	/* of it, what was read last: each question takes some us, or 100 times that */
	uint64_t window;
	size_t in_window;		/* bytes, in u->later */
};

static const struct ebp_mapping *find_row(const struct target *t, uint64_t address)
{
	size_t low = upper_bound(t->rows, t->n, .start, address);

	return low && address < t->rows[low - 1].end ? &t->rows[low - 1] : NULL;
}

static int read_vdso(struct unwinder *u, uint64_t offset, void *dst, size_t size)
{
	if (!u->vdso)
		u->vdso = vdso_copy(&u->vdso_size);
	if (!u->vdso || offset > u->vdso_size || size > u->vdso_size - offset)
		return -EFAULT;
	memcpy(dst, (const char *)u->vdso + offset, size);
	return 0;
}

/* What the process of the sample has there by now. */
static int read_now(const struct target *t, uint64_t address, void *dst, size_t size)
{
	const struct unwinder_options *o = &t->u->options;

	return o->read_memory(o->ctx, (pid_t)t->sample->key.process.tgid, address, dst, size) ==
			       size
		       ? 0
		       : -EFAULT;
}

/*
 * Code made at run time, as it is by now. To ask for it takes longer than all else that a frame
 * needs, and recursion comes by the same places again.
 */
static int read_made(struct target *t, uint64_t address, void *dst, size_t size)
{
	struct code *c = &t->codes[(address >> 4 ^ address >> 9) & (CODES - 1)];

	if (!t->u->options.read_memory)
		return -EFAULT;
	if (size > sizeof(c->bytes))
		return read_now(t, address, dst, size);
	if (c->address != address || c->size != size) {
		c->address = address;
		c->size = size;
		c->err = read_now(t, address, c->bytes, size);
	}
	if (!c->err)
		memcpy(dst, c->bytes, size);
	return c->err;
}

/* For aarch64 in the vDSO, too: its return from a signal has no CFI, and is known by its code. */
static int read_code(struct target *t, uint64_t address, void *dst, size_t size)
{
	const struct ebp_mapping *row = find_row(t, address);
	const struct image *image = row && row->image < images_count(t->u->images)
					    ? images_at(t->u->images, row->image)
					    : NULL;

	if (!row || size > row->end - address)
		return -EFAULT;
	if (row->object == EBP_OBJECT_NONE)
		return read_made(t, address, dst, size);
	if (!image)
		return -EFAULT;
	if (image->kind == IMAGE_VDSO)
		return read_vdso(t->u, address - row->bias, dst, size);
	return image->fd >= 0 && pread(image->fd, dst, size, (off_t)(address - row->bias)) ==
					 (ssize_t)size
		       ? 0
		       : -EFAULT;
}

/* Whether what was sent last, below @end bytes, is what is there now. */
static int is_unchanged(const struct target *t, uint64_t end)
{
	const struct unwinder_options *o = &t->u->options;
	const struct ebp_rescue *sample = t->sample;
	size_t size = end < UNWIND_BORDER ? end & ~7ull : UNWIND_BORDER;
	uint64_t from = end - size;
	char now[UNWIND_BORDER];

	return o->read_memory && size >= UNWIND_BORDER_LEAST && end <= sample->head.n &&
	       o->read_memory(o->ctx, (pid_t)sample->key.process.tgid, sample->sp + from, now,
			      size) == size &&
	       unwind_border_holds((const char *)sample->stack + from, now, size);
}

/*
 * What lies above the stack that was sent are frames that were there long before, and are for long
 * after; tables may have been built meanwhile. They are believed where the end of what was sent,
 * @end bytes above its beginning, has not changed, which @holds remembers. So is a page between
 * that could not be read then, if frames are in it.
 */
static int read_later(struct target *t, uint64_t end, int *holds, uint64_t address, char *dst,
		      size_t size)
{
	const struct unwinder_options *o = &t->u->options;

	if (!*holds)
		*holds = is_unchanged(t, end) ? 1 : -1;
	if (*holds < 0 || address - t->sample->sp - end >= STACK_MAX)
		return -EFAULT;
	while (size) {
		size_t some;

		if (address - t->window >= t->in_window) {
			t->window = address & ~(uint64_t)(PAGE - 1);
			t->in_window = o->read_memory(o->ctx,
						      (pid_t)t->sample->key.process.tgid, t->window,
						      t->u->later, sizeof(t->u->later));
			if (address - t->window >= t->in_window)
				return -EFAULT;
		}
		some = t->in_window - (size_t)(address - t->window);
		some = some < size ? some : size;
		memcpy(dst, t->u->later + (address - t->window), some);
		dst += some;
		address += some;
		size -= some;
	}
	return 0;
}

/* From what was kept of it. */
static int read_kept(const struct unwind_above *piece, uint64_t address, char *dst, size_t size)
{
	while (size) {
		size_t some;

		while (piece && address - piece->start >= piece->n)
			piece = piece->next;
		if (!piece)
			return -EFAULT;
		some = piece->n - (size_t)(address - piece->start);
		some = some < size ? some : size;
		memcpy(dst, piece->bytes + (address - piece->start), some);
		dst += some;
		address += some;
		size -= some;
	}
	return 0;
}

static int read_above(struct target *t, uint64_t address, void *dst, size_t size)
{
	if (t->kept)
		return read_kept(t->kept, address, dst, size);
	return read_later(t, t->sample->head.n, &t->above, address, dst, size);
}

/* Whether the page of @address, which lies in what was sent, was not there. */
static int is_hole(const struct ebp_rescue *sample, uint64_t address)
{
	uint64_t page = address / PAGE - sample->sp / PAGE;

	return page < 32 && sample->holes >> page & 1;
}

static int read_hole(struct target *t, uint64_t address, void *dst, size_t size)
{
	const struct ebp_rescue *sample = t->sample;
	uint64_t first = (uint64_t)__builtin_ctz(sample->holes) * PAGE - (sample->sp & (PAGE - 1));

	return read_later(t, first, &t->between, address, dst, size);
}

/*
 * Whether what was sent ends where the stack does: it was not cut, nor does it end where a page
 * does, behind which one may not have been in memory. The step reads ahead; to ask for what lies
 * above would be another process's turn for nothing.
 */
static int is_whole(const struct ebp_rescue *sample)
{
	return !EBP_STACK_WAS_CUT(sample->head.n) && (sample->sp + sample->head.n) % PAGE;
}

static int read_target(void *ctx, uint64_t address, void *dst, size_t size)
{
	struct target *t = ctx;
	uint64_t from = address - t->sample->sp, n = t->sample->head.n;

	if (from >= n)
		return find_row(t, address) ? read_code(t, address, dst, size)
					    : read_above(t, address, dst, size);
	if (size > n - from) {
		if (is_whole(t->sample) ||
		    read_above(t, t->sample->sp + n, (char *)dst + (n - from), size - (n - from)))
			return -EFAULT;
		size = n - from;
	}
	if (is_hole(t->sample, address) || is_hole(t->sample, address + size - 1))
		return read_hole(t, address, dst, size);
	memcpy(dst, (const char *)t->sample->stack + from, size);
	return 0;
}

/* As cfi_read. */
static int read_value(void *ctx, uint64_t address, int size, uint64_t *value)
{
	*value = 0;	/* little endian: the rest of it stays zero */
	return read_target(ctx, address, value, (size_t)size);
}

static void find_beginning(struct target *t)
{
	const struct ebp_stop *stop = &t->sample->stop;

	t->exact = !stop->n;
	if (t->exact) {
		t->regs = t->sample->regs;
		return;
	}
	t->regs.r[REG_PC] = stop->pc;
	t->regs.r[REG_SP] = stop->sp;
	t->regs.r[REG_FP] = stop->fp;
}

/* The table's step from @regs on, which are @exact, and @by_code, as for unwind_stack(). */
static void step(struct target *t, const struct ebp_registers *regs, int exact, int by_code,
		 uint32_t max, struct unwind_result *out)
{
	struct unwind_memory m = { .rows = t->rows,
				   .nrows = (uint32_t)t->n,
				   .read = read_target,
				   .by_code = by_code,
				   .made = !t->exact,
				   .ctx = t };

	if (t->jump)
		m.jump = *t->jump;
	m.shards = unwind_store_shards(t->u->store, &m.nshards);
	unwind_stack(&m, regs, exact, max, out);
}

/*
 * The rest of a stack from a frame without CFI on (JIT code, say), which the step
 * leaves by its code, or by frame pointer. 1: to the end of the stack.
 */
static int finish_by_step(struct target *t, const struct cfi_registers *now, uint64_t pc, int exact,
			  uint32_t max, struct unwind_result *out)
{
	struct ebp_registers regs = { 0 };
	struct unwind_result rest;

	for (unsigned r = 0; r < REGS; r++)
		if (now->known >> r & 1)
			regs.r[r] = now->r[r];
	regs.r[REG_PC] = pc;
	step(t, &regs, exact, 0, max - out->n, &rest);
	if (rest.result != EBP_COMPLETE && rest.result != EBP_DEPTH)
		return 0;
	memcpy(out->frames + out->n, rest.frames, rest.n * sizeof(*rest.frames));
	out->n += rest.n;
	out->fp_frames += rest.fp_frames;
	out->result = rest.result;
	return 1;
}

/* The CFI of @at, in whichever file is mapped there. */
static int row_at(struct target *t, uint64_t at, struct cfi_row *row,
		  const struct cfi_section **section, uint64_t *frame)
{
	const struct ebp_mapping *m = find_row(t, at);
	uint32_t file = m ? hashmap_get(&t->u->by_object, m->object) : HASHMAP_NONE;

	if (file == HASHMAP_NONE || m->object < EBP_OBJECT_FIRST)
		return -ENOENT;
	*frame = m->image == EBP_IMAGE_NONE ? at : EBP_FRAME(m->image, at - m->bias);
	return unwind_sections_row(t->u->sections, file, t->u->files.v[file].fd, at - m->bias, row,
				   section);
}

/* The registers at the beginning, as far as they are known. */
static void known_registers(const struct target *t, struct cfi_registers *regs)
{
	memcpy(regs->r, t->regs.r, (REG_PC + 1) * sizeof(*regs->r));
	regs->known = t->exact ? (1ull << (REG_PC + 1)) - 1
			       : 1ull << REG_PC | 1ull << REG_SP | 1ull << REG_FP;
}

/*
 * The whole stack by CFI, with all registers. 1 with @out filled, or 0: it did not lead to the end.
 */
static int unwind_whole(struct target *t, uint32_t max, struct unwind_result *out)
{
	uint64_t at = t->regs.r[REG_PC] - !t->exact, sp, frame = 0;
	const struct cfi_section *section;
	struct cfi_registers regs = { 0 };
	struct cfi_row row;
	uint64_t begin;
	int exact = t->exact, err;

	if (!t->u->sections)
		t->u->sections = unwind_sections_new();
	begin = unwind_sections_work(t->u->sections);
	known_registers(t, &regs);
	out->n = out->fp_frames = out->by_fp = 0;
	for (;;) {
		if (row_at(t, at, &row, &section, &frame))
			return out->n && finish_by_step(t, &regs, at + !exact, exact, max, out);
		/*
		 * As the step has it: the trampoline that a signal's handler returns to was not
		 * called.
		 */
		out->frames[out->n++] = frame + (row.signal && !exact);
		out->result = EBP_COMPLETE;
		sp = regs.r[REG_SP];
		err = cfi_apply(section, &row, &regs, read_value, t);
		if (err)
			return err == 1;
		out->result = EBP_DEPTH;
		if (out->n == max)
			return 1;
		/* A leaf of aarch64 may have no frame; a signal may have come on another stack. */
		if (!row.signal && (regs.r[REG_SP] < sp || (regs.r[REG_SP] == sp && out->n > 1)))
			return 0;
		if (!regs.r[row.ra])
			return 0;
		/* A signal interrupted that very instruction; else it is the one behind a call. */
		exact = row.signal;
		at = regs.r[row.ra] - !exact;
		if (unwind_sections_work(t->u->sections) - begin > WORK_MAX)
			return 0;
	}
}

static uint32_t last_image(const struct unwind_result *r)
{
	return EBP_FRAME_IMAGE_OF(r->frames[r->n - 1]);
}

/* Whether the table that @r ended for the lack of is on its way. */
static int is_pending(const struct unwinder *u, const struct unwind_result *r)
{
	uint32_t image, file;

	if (r->result != EBP_NO_TABLE || !r->n || EBP_FRAME_IS_OF_PROCESS(r->frames[r->n - 1]))
		return 0;
	image = last_image(r);
	file = image < u->file_of_image.n ? u->file_of_image.v[image] : UNWIND_NO_FILE;
	return file != UNWIND_NO_FILE && u->files.v[file].state == UNWIND_FILE_QUEUED;
}

int unwinder_rescue(struct unwinder *u, const struct ebp_rescue *sample,
		    const struct unwind_above *above, const struct unwind_mapping *list, size_t n,
		    const struct ebp_jump *jump, uint32_t max, struct unwind_result *out)
{
	struct target t = { .u = u, .sample = sample, .kept = above, .jump = jump };
	struct unwind_result whole;
	struct ebp_mapping *rows;
	long count = unwinder_rows(u, list, n, &rows);
	int err = 0;

	max = max > sample->stop.n ? max - sample->stop.n : 1;
	max = max > EBP_FRAMES_MAX ? EBP_FRAMES_MAX : max;
	find_beginning(&t);
	if (count < 0) {
		*out = (struct unwind_result){ .result = EBP_NO_TABLE, .n = 1 };
		out->frames[0] = EBP_FRAME_WILD(t.regs.r[REG_PC] - !t.exact);
		return 0;
	}
	t.rows = rows;
	t.n = (size_t)count;
	step(&t, &t.regs, t.exact, 0, max, out);
	/*
	 * Frame pointers led nowhere. What the code says is a guess, too, unless it leads to the
	 * root, as far as there are tables.
	 */
	if (out->result == EBP_NO_CFI || (out->result == EBP_NO_MAPPING && out->by_fp)) {
		step(&t, &t.regs, t.exact, 1, max, &whole);
		if (whole.result == EBP_COMPLETE || whole.result == EBP_DEPTH ||
		    is_pending(u, &whole))
			*out = whole;
	}
	/* As the kernel has it: there is nothing above that frame. */
	if (sample->newborn && out->n == 1 &&
	    (out->result == EBP_ZERO_RETURN || out->result == EBP_UNREADABLE))
		out->result = EBP_COMPLETE;
	if (is_pending(u, out)) {
		unwinder_want(u, last_image(out));
		err = -EAGAIN;
	} else if ((out->result == EBP_UNSUPPORTED || out->result == EBP_LOST_REGISTER ||
		    out->result == EBP_NO_TABLE) &&
		   unwind_whole(&t, max, &whole)) {
		*out = whole;
	}
	unwinder_unpin(u, rows, t.n);
	free(rows);
	return err;
}
