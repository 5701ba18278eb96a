/* SPDX-License-Identifier: MIT */
/* Stacks of this very process, as the kernel would send them. */
#include "test.h"

#include <execinfo.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unwind.h>

#include "unit/table_image.h"
#include "unit/unwinder_fake.h"

#ifdef __x86_64__

/* glibc's: what the stack pointer was when the program began. */
extern void *__libc_stack_end;

static _Alignas(struct ebp_rescue) char sent_bytes[sizeof(struct ebp_rescue) + EBP_STACK_COPY];
static struct ebp_rescue *const sent = (struct ebp_rescue *)sent_bytes;
static void *expected[64];
static int n_expected;

#define STOP 3			/* a frame among them, and what is known in it */
static struct ebp_stop stop;

static _Unwind_Reason_Code take_stop(struct _Unwind_Context *context, void *frame)
{
	if ((*(int *)frame)++ != STOP)
		return _URC_NO_REASON;
	stop = (struct ebp_stop){ .pc = _Unwind_GetIP(context),
				  .sp = _Unwind_GetCFA(context),
				  .fp = _Unwind_GetGR(context, 6),
				  .n = 5 };
	return _URC_END_OF_STACK;
}

/* What the caller's registers are here, with its stack, and what libgcc's unwinder makes of it. */
__attribute__((noinline)) static void capture(void)
{
	struct iovec to = { sent->stack, EBP_STACK_COPY }, from = { 0 };
	__u64 *r = sent->regs.r;
	ssize_t n;

	memset(sent_bytes, 0, sizeof(sent_bytes));
	asm volatile("mov %%rbx, 24(%0)\n\tmov %%rbp, 48(%0)\n\tmov %%rsp, 56(%0)\n\tmov %%r12, "
		     "96(%0)\n\t"
		     "mov %%r13, 104(%0)\n\tmov %%r14, 112(%0)\n\tmov %%r15, 120(%0)\n\t"
		     "lea 0(%%rip), %%rax\n\tmov %%rax, 128(%0)"
		     :
		     : "c"(r)
		     : "rax", "memory");
	sent->sp = r[7];
	from.iov_base = (void *)(uintptr_t)sent->sp;
	from.iov_len = EBP_STACK_COPY;
	n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	CHECK(n > 0);
	sent->head.n = (uint32_t)n & ~7u;
	n_expected = backtrace(expected, 64);
	_Unwind_Backtrace(take_stop, &(int){ 0 });
}

/* A frame whose CFA is rsp + 1 + 3 * 5, which no rule can say. */
void odd_frame(void (*fn)(void));
asm(".pushsection .text\n"
    ".globl odd_frame\n"
    ".type odd_frame, @function\n"
    "odd_frame:\n"
    ".cfi_startproc\n"
    "	sub $8, %rsp\n"
    /*
     * DW_CFA_def_cfa_expression, 6 bytes: DW_OP_breg7 1, DW_OP_lit3, DW_OP_lit5, DW_OP_mul,
     * DW_OP_plus
     */
    "	.cfi_escape 0x0f, 6, 0x77, 1, 0x33, 0x35, 0x1e, 0x22\n"
    "	call *%rdi\n"
    "	add $8, %rsp\n"
    "	.cfi_def_cfa %rsp, 8\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size odd_frame, . - odd_frame\n"
    ".popsection");

/*
 * A frame without CFI that keeps the frame pointer, as JIT code does; longer than what passes for
 * padding.
 */
void bare_frame(void (*fn)(void));
asm(".pushsection .text\n"
    ".globl bare_frame\n"
    ".type bare_frame, @function\n"
    "bare_frame:\n"
    "	push %rbp\n"
    "	mov %rsp, %rbp\n"
    "	.skip 32, 0x90\n"
    "	call *%rdi\n"
    "	pop %rbp\n"
    "	ret\n"
    ".size bare_frame, . - bare_frame\n"
    ".popsection");

__attribute__((noinline)) static void plain(void)
{
	capture();
	asm volatile("");
}

__attribute__((noinline)) static void odd(void)
{
	odd_frame(capture);
	asm volatile("");
}

__attribute__((noinline)) static void odd_over_bare(void)
{
	bare_frame(odd);
	asm volatile("");
}

/* A stack of @fn, and all tables that it needs. */
static void begin_with_tables(struct fake *f, void (*fn)(void))
{
	fake_begin(f, 64u << 20);
	fn();
	unwinder_process(f->u, 1, 0, f->own.v, f->own.n);
	CHECK_EQ(unwinder_wait(f->u, FOREVER), 1);
}

/* The place of a return address as frames have it. */
static uint64_t frame_at(const struct fake *f, uint64_t at)
{
	for (size_t i = 0; i < f->own.n; i++) {
		const struct unwind_mapping *m = &f->own.v[i];

		if (at >= m->start && at < m->end && m->image != IMAGE_NONE)
			return EBP_FRAME(m->image, at - m->start + m->offset);
	}
	return at;
}

/*
 * All frames but the leaf's own place, which is another instruction of the same
 * function. A sanitizer puts itself between us and backtrace().
 */
static void check_frames(const struct fake *f, const struct unwind_result *r)
{
	int more = n_expected - (int)r->n;

	CHECK_EQ(r->result, EBP_COMPLETE);
	CHECK(r->n > 4 && (more == 0 || more == 1));
	for (int i = 1; i < (int)r->n && i + more < n_expected; i++)
		CHECK_EQ(r->frames[i], frame_at(f, (uintptr_t)expected[i + more] - 1));
}

TEST(waits_for_tables_then_finishes)
{
	static struct unwind_result r;
	struct fake f;

	fake_begin(&f, 64u << 20);
	plain();
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL,
				 EBP_FRAMES_MAX, &r), -EAGAIN);
	/* Built, perhaps, but not collected. */
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL,
				 EBP_FRAMES_MAX, &r), -EAGAIN);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	check_frames(&f, &r);
	CHECK_EQ(r.fp_frames, 0);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, 2, &r), 0);
	CHECK(r.result == EBP_DEPTH && r.n == 2);
	fake_end(&f);
}

/* Sent up to where execve() put argc, as the kernel does, it is all that there is of a stack. */
TEST(asks_for_nothing_above_a_whole_stack)
{
	static struct unwind_result r;
	struct fake f;

	begin_with_tables(&f, plain);
	sent->head.n = (uint32_t)((uintptr_t)__libc_stack_end - sent->sp + 256) & ~7u;
	CHECK(sent->head.n < EBP_STACK_COPY);
	/* By chance it ends as if there were more. */
	while (EBP_STACK_WAS_CUT(sent->head.n) || (sent->sp + sent->head.n) % 4096 == 0)
		sent->head.n -= 8;
	f.questions = 0;
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	check_frames(&f, &r);
	CHECK_EQ(f.questions, 0);
	fake_end(&f);
}

/* What a page that was not in memory has here is no stack. */
TEST(reads_nothing_from_holes)
{
	static struct unwind_result r;
	struct fake f;

	begin_with_tables(&f, plain);
	sent->holes = ~1u << 16;
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	check_frames(&f, &r);
	sent->holes = ~0u;
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	CHECK(r.result == EBP_UNREADABLE && r.n == 1);
	fake_end(&f);
}

/* From where the kernel came to: nothing but that place and what is above it is looked at. */
TEST(goes_on_where_the_kernel_stopped)
{
	static struct unwind_result r;
	int skip = 0;
	struct fake f;

	fake_begin(&f, 64u << 20);
	plain();
	sent->regs = (struct ebp_registers){ 0 };
	sent->stop = stop;
	unwinder_process(f.u, 1, 0, f.own.v, f.own.n);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	CHECK_EQ(r.result, EBP_COMPLETE);
	while (skip < n_expected && (uintptr_t)expected[skip] != stop.pc)
		skip++;
	CHECK_EQ((int)r.n, n_expected - skip);
	for (int i = 0; i < (int)r.n; i++)
		CHECK_EQ(r.frames[i], frame_at(&f, (uintptr_t)expected[skip + i] - 1));
	/* Those below count. */
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, stop.n + 1, &r), 0);
	CHECK(r.result == EBP_DEPTH && r.n == 1);
	fake_end(&f);
}

TEST(applies_all_of_the_cfi)
{
	static struct unwind_result r;
	struct fake f;

	begin_with_tables(&f, odd);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	check_frames(&f, &r);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, 3, &r), 0);
	CHECK(r.result == EBP_DEPTH && r.n == 3);
	fake_end(&f);
}

/* libgcc stops at code without CFI; the frames above are those of the function itself. */
TEST(goes_on_by_frame_pointer)
{
	static struct unwind_result r;
	uint64_t bare = (uintptr_t)bare_frame;
	struct fake f;

	fake_begin(&f, 64u << 20);
	odd_over_bare();
	unwinder_process(f.u, 1, 0, f.own.v, f.own.n);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	CHECK_EQ(r.result, EBP_COMPLETE);
	CHECK_EQ(r.fp_frames, 1);
	CHECK(r.n > 6);
	CHECK(r.frames[3] > frame_at(&f, bare) && r.frames[3] < frame_at(&f, bare) + 64);
	CHECK(r.frames[4] > frame_at(&f, (uintptr_t)odd_over_bare) &&
	      r.frames[4] < frame_at(&f, (uintptr_t)odd_over_bare) + 64);
	fake_end(&f);
}

/* A page of anonymous memory that begins with @code, of @n bytes. */
static void *map_code(const uint8_t *code, size_t n)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	memcpy(page, code, n);
	return page;
}

/*
 * CPython's trampoline, which is JIT code and has no frame pointer: f(a, b, c, function) calls
 * function(a, b, c).
 */
static const uint8_t trampoline_code[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1,
					   0x48, 0x83, 0xc4, 8, 0xc3 };
static void (*trampoline)(long, long, long, void (*)(void));

__attribute__((noinline)) static void plain_over_trampoline(void)
{
	trampoline(0, 0, 0, plain);
	asm volatile("");
}

__attribute__((noinline)) static void odd_over_trampoline(void)
{
	trampoline(0, 0, 0, odd);
	asm volatile("");
}

/* The frame @at is the trampoline's, and @caller called it. */
static void check_trampoline(const struct fake *f, const struct unwind_result *r, uint32_t at,
			     void (*caller)(void))
{
	uint64_t above = frame_at(f, (uintptr_t)caller);

	CHECK_EQ(r->result, EBP_COMPLETE);
	CHECK_EQ(r->fp_frames, 0);
	CHECK(r->n > at + 3);
	CHECK_EQ(r->frames[at], (uintptr_t)trampoline + 5);
	CHECK(r->frames[at + 1] > above && r->frames[at + 1] < above + 64);
}

TEST(goes_on_by_code_made_at_run_time)
{
	static struct unwind_result r;
	struct fake f;
	void *page = map_code(trampoline_code, sizeof(trampoline_code));

	memcpy(&trampoline, &page, sizeof(page));
	fake_begin(&f, 64u << 20);
	plain_over_trampoline();
	unwinder_process(f.u, 1, 0, f.own.v, f.own.n);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	check_trampoline(&f, &r, 2, plain_over_trampoline);
	/* Where all of the CFI is applied first, too. */
	odd_over_trampoline();
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	check_trampoline(&f, &r, 3, odd_over_trampoline);
	fake_end(&f);
	munmap(page, 4096);
}

/* As a JIT makes it that keeps no frame pointer: push rbp, which it uses, sub 16, call. */
static const uint8_t jit_code[] = { 0x55, 0x31, 0xed, 0x48, 0x83, 0xec, 16, 0xff, 0xd1,
				    0x48, 0x83, 0xc4, 16, 0x5d, 0xc3 };

/* As if the kernel had stopped in that code, which called us. */
__attribute__((noinline)) static void stop_at_caller(void)
{
	uint64_t frame = (uintptr_t)__builtin_frame_address(0);

	capture();
	sent->regs = (struct ebp_registers){ 0 };
	sent->stop = (struct ebp_stop){ .pc = (uintptr_t)__builtin_return_address(0),
					.sp = frame + 16, .n = 2 };
}

/* Its instructions lead to a function whose table is not there yet: that is waited for. */
TEST(waits_for_tables_behind_code_made_at_run_time)
{
	static struct unwind_result r;
	void (*made)(long, long, long, void (*)(void));
	struct fake f;
	void *page = map_code(jit_code, sizeof(jit_code));

	memcpy(&made, &page, sizeof(page));
	fake_begin(&f, 64u << 20);
	made(0, 0, 0, stop_at_caller);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL,
				 EBP_FRAMES_MAX, &r), -EAGAIN);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL, EBP_FRAMES_MAX, &r), 0);
	CHECK_EQ(r.result, EBP_COMPLETE);
	CHECK(r.n > 2);
	CHECK_EQ(r.frames[0], (uintptr_t)page + 8);
	fake_end(&f);
	munmap(page, 4096);
}

static struct fake *deep;
static struct unwind_result *deep_result;

/* What of a deep stack is sent, and what is known of the rest. */
struct part {
	uint32_t bytes;		/* that are sent, as many as where a stack is cut */
	uint32_t below;		/* ... below the stack pointer: each place is at the end once */
	int changed;		/* what was sent last is not what is there now */
	/* so many bytes above them were kept as a piece, and the rest as another; 0: none */
	uint32_t first;
	int rest;
};

/* While its frames are there. */
__attribute__((noinline)) static void rescue_part(const struct part *p)
{
	struct unwind_above high, low;
	uint32_t split = p->bytes + p->first;

	capture();
	memmove((char *)sent->stack + p->below, sent->stack, EBP_STACK_COPY - p->below);
	sent->sp -= p->below;
	sent->head.n = sent->head.n + p->below < EBP_STACK_COPY ? sent->head.n + p->below
								: EBP_STACK_COPY;
	CHECK(split < sent->head.n);
	high = (struct unwind_above){ .start = sent->sp + split - 100,
				      .n = 100 + sent->head.n - split,
				      .bytes = (char *)sent->stack + split - 100 };
	low = (struct unwind_above){ .start = sent->sp + p->bytes - 200,
				     .n = 200 + p->first,
				     .next = p->rest ? &high : NULL,
				     .bytes = (char *)sent->stack + p->bytes - 200 };
	sent->head.n = p->bytes;
	/* Of rescue_below()'s variables, and nothing by which it is unwound. */
	for (uint32_t i = 1; p->changed && i <= UNWIND_BORDER / 8; i++)
		sent->stack[p->bytes / 8 - i] += !sent->stack[p->bytes / 8 - i];
	CHECK_EQ(unwinder_rescue(deep->u, sent, p->first ? &low : NULL, deep->own.v, deep->own.n,
				 NULL, EBP_FRAMES_MAX, deep_result),
		 0);
	asm volatile("");
}

/* Frames of which the sent bytes are a part; what is above those changes no more. */
__attribute__((noinline)) static void rescue_below(int n, const struct part *p)
{
	volatile char room[700] = { 0 };

	room[n] = (char)n;
	if (n)
		rescue_below(n - 1, p);
	else
		rescue_part(p);
	room[n]++;
}

static void begin_deep(struct fake *f, struct unwind_result *r)
{
	begin_with_tables(f, plain);
	deep = f;
	deep_result = r;
}

/* What was not sent is read as it is by now, if the last of what was is still the same. */
TEST(goes_on_above_what_was_sent)
{
	static struct unwind_result r;
	struct fake f;

	begin_deep(&f, &r);
	for (uint32_t below = 0; below < 1024; below += 8) {
		rescue_below(40, &(struct part){ .bytes = EBP_STACK_SHORT, .below = below });
		check_frames(&f, &r);
	}
	rescue_below(40, &(struct part){ .bytes = EBP_STACK_SHORT, .changed = 1 });
	CHECK(r.result == EBP_UNREADABLE && r.n < (uint32_t)n_expected);
	f.silent = 1;
	rescue_below(40, &(struct part){ .bytes = EBP_STACK_SHORT });
	CHECK(r.result == EBP_UNREADABLE && r.n < (uint32_t)n_expected);
	fake_end(&f);
}

/* What was kept of what lies above, and nothing else: the process has gone on. */
TEST(goes_on_in_pieces_that_were_kept)
{
	static struct unwind_result r;
	struct fake f;

	begin_deep(&f, &r);
	for (uint32_t below = 0; below < 1024; below += 8) {
		rescue_below(40, &(struct part){ .bytes = EBP_STACK_SHORT,
						 .below = below,
						 .first = 3000,
						 .rest = 1 });
		check_frames(&f, &r);
	}
	rescue_below(40, &(struct part){ .bytes = EBP_STACK_SHORT, .first = 3000 });
	CHECK(r.result == EBP_UNREADABLE && r.n < (uint32_t)n_expected);
	fake_end(&f);
}

/*
 * A stack that ends before its root, a wild one, none at all: an end with a reason, and no frame
 * that is not there.
 */
TEST(survives_bad_stacks)
{
	static struct unwind_result r;
	struct ebp_rescue *copy;
	struct fake f;

	fake_begin(&f, 64u << 20);
	odd();
	f.silent = 1;
	unwinder_process(f.u, 1, 0, f.own.v, f.own.n);
	CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
	srand(5);
	for (int round = 0; round < 400; round++) {
		uint32_t n = (uint32_t)rand() % 600 & ~7u;

		/* Of just that size, so that a read past it is seen. */
		copy = xmalloc(sizeof(*copy) + n);
		memcpy(copy, sent, sizeof(*copy) + n);
		copy->head.n = n;
		for (int i = 0; i < round % 4 && n; i++)
			copy->stack[(uint32_t)rand() % (n / 8)] = rand() % 2
									  ? (uint64_t)rand() << 20
									  : sent->sp;
		if (round % 7 == 0)
			copy->regs.r[rand() % 17] = (uint64_t)rand() << 33;
		if (round % 11 == 0)
			copy->sp = UINT64_MAX - 100;
		CHECK_EQ(unwinder_rescue(f.u, copy, NULL, f.own.v, f.own.n, NULL,
					 EBP_FRAMES_MAX, &r), 0);
		CHECK(r.result != EBP_COMPLETE && r.result < EBP_RESULTS && r.n <= EBP_FRAMES_MAX);
		free(copy);
	}
	fake_end(&f);
}

/*
 * A file, made at the mkstemp(3) template @path, with one function, mapped at *@code. Its frames
 * have 16 bytes, by an expression that no rule can say, and before it @n bytes that do nothing.
 */
static int map_slow(char *path, size_t n, void **code)
{
	static const uint8_t odd[] = { 0x0f, 6, 0x77, 1, 0x33, 0x35, 0x1e, 0x22 };
	static uint8_t cfi[40000];
	static struct table_image image;
	struct bytes head = { .n = 0 };
	size_t cie = add_cie(&head, 0, 16, BYTES(X86_INITIAL)),
	       fde = add_fde(&head, cie, CODE, 0x1000, NO_BYTES);
	uint32_t length = (uint32_t)(head.n - fde - 4 + n + sizeof(odd));
	int fd = mkstemp(path);

	memset(cfi, 0, sizeof(cfi));
	memcpy(cfi, head.b, head.n);
	memcpy(cfi + fde, &length, sizeof(length));
	memcpy(cfi + head.n + n, odd, sizeof(odd));
	image_begin(&image, EM_X86_64);
	image_section(&image, ".eh_frame", VADDR, cfi, head.n + n + sizeof(odd));
	elf_file_free(image_end(&image));
	CHECK_EQ(write(fd, image.b, image.n), image.n);
	*code = mmap(NULL, IMAGE_CODE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, IMAGE_CODE);
	CHECK(*code != MAP_FAILED);
	return fd;
}

/*
 * A deep stack of a function whose rows take long is cut, as it was: real ones have some hundred
 * bytes.
 */
TEST(work_for_one_stack_is_limited)
{
	static const size_t sizes[] = { 4000, 30000 };
	static struct unwind_result r;

	for (int slow = 0; slow < 2; slow++) {
		char path[] = "/tmp/ebprof-slow-XXXXXX";
		struct fake f;
		void *code;
		int fd = map_slow(path, sizes[slow], &code);

		fake_begin(&f, 64u << 20);
		CHECK_EQ(unlink(path), 0);
		memset(sent_bytes, 0, sizeof(sent_bytes));
		sent->regs.r[16] = (uintptr_t)code + 0x10;
		sent->regs.r[7] = sent->sp = 0x7000;
		sent->head.n = EBP_STACK_COPY;
		for (size_t i = 1; i < EBP_STACK_COPY / 8; i += 2)
			sent->stack[i] = (uintptr_t)code + 0x11;
		unwinder_process(f.u, 1, 0, f.own.v, f.own.n);
		CHECK_EQ(unwinder_wait(f.u, FOREVER), 1);
		CHECK_EQ(unwinder_rescue(f.u, sent, NULL, f.own.v, f.own.n, NULL,
					 EBP_FRAMES_MAX, &r), 0);
		CHECK_EQ(r.result, slow ? EBP_UNSUPPORTED : EBP_DEPTH);
		CHECK_EQ(r.n, slow ? 1 : EBP_FRAMES_MAX);
		fake_end(&f);
		munmap(code, IMAGE_CODE_SIZE);
		close(fd);
	}
}

#endif

int main(void)
{
#ifdef __x86_64__
	RUN(waits_for_tables_then_finishes);
	RUN(asks_for_nothing_above_a_whole_stack);
	RUN(reads_nothing_from_holes);
	RUN(goes_on_where_the_kernel_stopped);
	RUN(applies_all_of_the_cfi);
	RUN(goes_on_by_frame_pointer);
	RUN(goes_on_by_code_made_at_run_time);
	RUN(waits_for_tables_behind_code_made_at_run_time);
	RUN(goes_on_above_what_was_sent);
	RUN(goes_on_in_pieces_that_were_kept);
	RUN(survives_bad_stacks);
	RUN(work_for_one_stack_is_limited);
#endif
	return TEST_END();
}
