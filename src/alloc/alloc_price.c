/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_price.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alloc/alloc_counter.h"
#include "base/clock.h"
#include "base/thread.h"
#include "collect/uprobe.h"
#include "preload/nops.h"
#include "proc/maps.h"

/*
 * Batches of calls in which our thread never left its CPU, of which the fastest quarter counts. On
 * a busy machine it leaves it in most of them, for some ms: a trap, too, may have to wait, as while
 * somebody sets probes on a file that all processes have mapped.
 */
#define BATCH_CALLS 4
#define BATCHES_MOST 256
#define BATCHES_LEAST 16
#define BATCHES_NS 2000000	/* no more after that */
#define LIMIT_NS 50000000	/* nor fewer after that */

/* From arch/x86/entry/syscalls/syscall_64.tbl: what probes without a trap call. */
#define SYSCALL_UPROBE 336

/*
 * Functions of which only the first instruction counts: the kernel acts for one, and runs the
 * other out of line; and the nops that src/preload/alloc.c has.
 */
void alloc_price_acted(void);
void alloc_price_stepped(void);
#if defined(__x86_64__)
void alloc_price_nop5(void);
void alloc_price_nop10(void);
__asm__(".pushsection .text\n"
	"alloc_price_acted: .type alloc_price_acted, @function\n push %rbp\n pop %rbp\n ret\n"
	"alloc_price_stepped: .type alloc_price_stepped, @function\n test %rdi, %rdi\n ret\n"
	"alloc_price_nop5: .type alloc_price_nop5, @function\n " NOP5 "\n ret\n"
	"alloc_price_nop10: .type alloc_price_nop10, @function\n " NOP10 "\n ret\n"
	".popsection\n");
#else
__asm__(".pushsection .text\n.balign 4\n"
	"alloc_price_acted: .type alloc_price_acted, %function\n nop\n ret\n"
	"alloc_price_stepped: .type alloc_price_stepped, %function\n mov x1, x1\n ret\n"
	".popsection\n");
#endif

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How often our thread has left its CPU. */
static long switches(void)
{
	struct rusage r;

	return getrusage(RUSAGE_THREAD, &r) ? 0 : r.ru_nvcsw + r.ru_nivcsw;
}

/* Of a call, ns. */
static double time_of(void (*function)(void))
{
	uint64_t first = clock_ns(), passed = 0;
	double batches[BATCHES_MOST];
	size_t n = 0;

	while (n < BATCHES_MOST && passed < (n < BATCHES_LEAST ? LIMIT_NS : BATCHES_NS)) {
		long before = switches();
		uint64_t begin = clock_ns();

		for (int k = 0; k < BATCH_CALLS; k++)
			function();
		batches[n] = (double)(clock_ns() - begin) / BATCH_CALLS;
		n += !n || switches() == before;
		passed = clock_ns() - first;
	}
	qsort(batches, n, sizeof(*batches), compare);
	return batches[n / 4];
}

struct own_code {
	uintptr_t address;
	uint64_t offset;	/* in our file; 0: not found */
};

static void find_code(const struct maps_line *line, void *ctx)
{
	struct own_code *c = ctx;

	if (line->inode && c->address >= line->start && c->address < line->end)
		c->offset = line->offset + (c->address - line->start);
}

static uint64_t own_offset(void (*function)(void))
{
	struct own_code c = { .address = (uintptr_t)function };

	return maps_for_each_executable(getpid(), find_code, &c) ? 0 : c.offset;
}

struct trial {
	struct alloc_price *price;
	struct alloc_counter counter;
	int file, err;
};

/* A probe on the entry of each of two functions, and what calls of them take: a link, or -errno. */
static int try_entries(struct trial *t, void (*first)(void), void (*second)(void))
{
	uint64_t offsets[] = { own_offset(first), own_offset(second) };
	uint64_t cookies[] = { 0, SLOT_STEPPED };
	struct uprobe_places places = {
		.file = t->file, .pid = getpid(), .offsets = offsets, .cookies = cookies, .n = 2 };
	int entry = uprobe_link(t->counter.program, &places, 0);

	if (entry < 0)
		return entry;
	t->price->trap[0] = time_of(first);
	t->price->trap[1] = time_of(second);
	return entry;
}

/* 0 where both were seen. */
static int saw_both(const struct trial *t)
{
	uint64_t calls[ALLOC_SLOTS];

	alloc_counter_get(&t->counter, gettid(), calls);
	return calls[0] && calls[SLOT_STEPPED] ? 0 : -ENOTSUP;
}

/* Not in the first thread: there are kernels that see no other. */
static void *try_traps(void *ctx)
{
	struct trial *t = ctx;
	uint64_t offset = own_offset(alloc_price_acted), cookie = 0;
	struct uprobe_places places = {
		.file = t->file, .pid = getpid(), .offsets = &offset, .cookies = &cookie, .n = 1 };
	int entry = try_entries(t, alloc_price_acted, alloc_price_stepped), at_return;

	t->err = entry < 0 ? entry : 0;
	if (entry < 0)
		return NULL;
	at_return = uprobe_link(t->counter.program, &places, 1);
	if (at_return >= 0) {
		t->price->at_return = time_of(alloc_price_acted) - t->price->trap[0];
		close(at_return);
	}
	t->err = at_return < 0 ? at_return : saw_both(t);
	close(entry);
	return NULL;
}

static int run_in_thread(void *(*function)(void *), struct trial *t)
{
	pthread_t thread;
	int err = thread_start(&thread, function, t);

	if (err)
		return err;
	pthread_join(thread, NULL);
	return t->err;
}

/* In a thread of its own. 0 or a negative errno. */
static int run_trial(void *(*function)(void *), struct trial *t)
{
	int err = alloc_counter_open(&t->counter, COUNTER_FUNCTION);

	t->file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (!err)
		err = t->file < 0 ? -errno : run_in_thread(function, t);
	if (t->file >= 0)
		close(t->file);
	alloc_counter_close(&t->counter);
	return err;
}

int alloc_price_measure(struct alloc_price *p)
{
	struct trial t = { .price = p };
	int err = run_trial(try_traps, &t);

	if (p->at_return < 0)
		p->at_return = 0;
	return err ? -ENOTSUP : 0;
}

#if defined(__x86_64__)
/*
 * The longer one first, which Linux 6.18 refuses as a probe's place: had it set the other by then,
 * it would wait 100 ms for the end of that.
 */
static void *try_nops(void *ctx)
{
	struct trial *t = ctx;
	int entry = try_entries(t, alloc_price_nop10, alloc_price_nop5);
	double longer = t->price->trap[0];

	t->price->trap[0] = t->price->trap[1];
	t->price->trap[1] = longer;
	t->err = entry < 0 ? entry : saw_both(t);
	if (entry >= 0)
		close(entry);
	return NULL;
}

int alloc_price_of_nops(struct alloc_price *p)
{
	struct trial t = { .price = p };

	if (syscall(SYSCALL_UPROBE) < 0 && errno == ENOSYS)
		return -ENOTSUP;
	return run_trial(try_nops, &t) ? -ENOTSUP : 0;
}
#else
int alloc_price_of_nops(struct alloc_price *p)
{
	(void)p;
	return -ENOTSUP;
}
#endif

int alloc_price_is_stepped(int file, uint64_t offset)
{
	unsigned char code[4] = { 0 };

	if (pread(file, code, sizeof(code), (off_t)offset) != sizeof(code))
		return 1;
#if defined(__x86_64__)
	if (code[0] == 0x41)	/* REX.B, of push */
		return (code[1] & 0xf8) != 0x50;
	return (code[0] & 0xf8) != 0x50 && code[0] != 0x90 && code[0] != 0xe8 && code[0] != 0xe9 &&
	       code[0] != 0xeb;
#else
	/* nop */
	return memcmp(code, (const unsigned char[]){ 0x1f, 0x20, 0x03, 0xd5 }, sizeof(code)) != 0;
#endif
}
