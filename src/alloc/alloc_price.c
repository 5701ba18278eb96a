/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_price.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "collect/uprobe.h"
#include "proc/maps.h"

#define SECOND 1e9
#define BATCHES 9		/* of calls; the median counts */
#define BATCH_NS 200000		/* of each, about */
#define WORK_LEAST 0.005		/* of the CPU time, as far as it is told apart from traps */
#define ROUGH 0.8
#define PAGE 4096

/* The counters: by the cookie of a place. */
enum slot { SLOT_STEPPED = 1, SLOT_END = 2, SLOT_RESIZE = 4, SLOTS = 8 };

/* Two functions of which only the first instruction counts: the kernel acts for one, and runs the other out of line. */
void alloc_price_acted(void);
void alloc_price_stepped(void);
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	"alloc_price_acted: .type alloc_price_acted, @function\n push %rbp\n pop %rbp\n ret\n"
	"alloc_price_stepped: .type alloc_price_stepped, @function\n test %rdi, %rdi\n ret\n"
	".popsection\n");
#else
__asm__(".pushsection .text\n.balign 4\n"
	"alloc_price_acted: .type alloc_price_acted, %function\n nop\n ret\n"
	"alloc_price_stepped: .type alloc_price_stepped, %function\n mov x1, x1\n ret\n"
	".popsection\n");
#endif

/* A program that adds 1 to the counter that the place's cookie says, and the counters. */
struct counter {
	int map, program;
	volatile uint64_t *slots;
};

static int load_program(int map)
{
	struct bpf_insn code[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie },
		{ .code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 0, .imm = SLOTS - 1 },
		{ .code = BPF_ALU64 | BPF_LSH | BPF_K, .dst_reg = 0, .imm = 3 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map }, { 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 1, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 1, .src_reg = 2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = UPROBE_MULTI);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ebprof_price", "Dual MIT/GPL", code, sizeof(code) / sizeof(*code), &opts);
}

static int open_counter(struct counter *c)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *slots;

	*c = (struct counter){ .map = -1, .program = -1 };
	c->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ebprof_price", sizeof(uint32_t), SLOTS * sizeof(uint64_t), 1, &opts);
	if (c->map < 0)
		return c->map;
	slots = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, c->map, 0);
	c->slots = slots == MAP_FAILED ? NULL : slots;
	c->program = c->slots ? load_program(c->map) : -ENOMEM;
	return c->program < 0 ? c->program : 0;
}

static void close_counter(struct counter *c)
{
	if (c->slots)
		munmap((void *)c->slots, PAGE);
	if (c->program >= 0)
		close(c->program);
	if (c->map >= 0)
		close(c->map);
}

/* --- Of one trap. --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ns of a call. */
static double time_of(void (*function)(void))
{
	double batches[BATCHES];

	for (size_t i = 0; i < BATCHES; i++) {
		uint64_t begin = clock_ns(), now = begin;
		unsigned int n = 0;

		for (; now - begin < BATCH_NS; n += 4, now = clock_ns())
			for (int k = 0; k < 4; k++)
				function();
		batches[i] = (double)(now - begin) / n;
	}
	qsort(batches, BATCHES, sizeof(*batches), compare);
	return batches[BATCHES / 2];
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
	struct counter counter;
	int file, err;
};

/* Not in the first thread: there are kernels that see no other. */
static void *try_traps(void *ctx)
{
	uint64_t offsets[] = { own_offset(alloc_price_acted), own_offset(alloc_price_stepped) }, cookies[] = { 0, 1 };
	struct trial *t = ctx;
	struct uprobe_places places = {
		.file = t->file, .pid = getpid(), .offsets = offsets, .cookies = cookies, .n = 2 };
	int entry = uprobe_link(t->counter.program, &places, 0), at_return;

	t->err = entry < 0 ? entry : 0;
	if (entry < 0)
		return NULL;
	t->price->trap[0] = time_of(alloc_price_acted);
	t->price->trap[1] = time_of(alloc_price_stepped);
	at_return = uprobe_link(t->counter.program, &places, 1);
	if (at_return >= 0) {
		t->price->at_return = time_of(alloc_price_acted) - t->price->trap[0];
		close(at_return);
	}
	t->err = at_return < 0 ? at_return : t->counter.slots[0] && t->counter.slots[1] ? 0 : -ENOTSUP;
	close(entry);
	return NULL;
}

int alloc_price_measure(struct alloc_price *p)
{
	struct trial t = { .price = p, .file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	pthread_t thread;
	int err = open_counter(&t.counter);

	if (!err)
		err = t.file < 0 ? -ENOTSUP : thread_start(&thread, try_traps, &t);
	if (!err) {
		pthread_join(thread, NULL);
		err = t.err;
	}
	if (t.file >= 0)
		close(t.file);
	close_counter(&t.counter);
	if (p->at_return < 0)
		p->at_return = 0;
	return err ? -ENOTSUP : 0;
}

/* --- Of processes. --- */

/* CPU time of all threads of the processes that have places, ns. */
static double cpu_time(const struct alloc_probes *p)
{
	pid_t last = 0;
	double sum = 0;

	for (size_t i = 0; i < p->nplaces; i++) {
		struct timespec t;
		clockid_t clock;

		if (p->places[i].pid != last && !clock_getcpuclockid(p->places[i].pid, &clock) && !clock_gettime(clock, &t))
			sum += (double)t.tv_sec * SECOND + (double)t.tv_nsec;
		last = p->places[i].pid;
	}
	return sum;
}

/* One link for those that lie in one file of one process: from @first on. Returns how many. */
static size_t link_places(const struct alloc_probes *p, size_t first, const struct counter *c, int *link)
{
	uint64_t offsets[ALLOC_PLACES_MAX], cookies[ALLOC_PLACES_MAX];
	size_t alike = alloc_places_alike(p, first);
	const struct alloc_place *at = &p->places[first];
	struct uprobe_places places = { .file = at->file, .pid = at->pid, .offsets = offsets, .cookies = cookies };

	for (; places.n < alike && places.n < ALLOC_PLACES_MAX; places.n++) {
		const struct alloc_place *next = at + places.n;

		offsets[places.n] = next->offset;
		cookies[places.n] = (next->stepped ? SLOT_STEPPED : 0) | (next->kind == PROBE_FREE ? SLOT_END : 0) |
				    (next->kind == PROBE_REALLOC ? SLOT_RESIZE : 0);
	}
	*link = uprobe_link(c->program, &places, 0);
	return places.n;
}

double alloc_price_of(const struct alloc_price *p, int stepped, int returns)
{
	return p->trap[stepped] + (returns ? p->at_return : 0);
}

/* From counts while the processes used @cpu ns. */
static void fill(const struct alloc_price *p, const uint64_t *slots, double cpu, struct alloc_load *load)
{
	double counting = 0, full[2] = { 0 }, n[2] = { 0 }, resizes = 0, work;

	for (int i = 0; i < SLOTS; i++) {
		int end = (i & SLOT_END) != 0, stepped = i & SLOT_STEPPED;

		n[end] += (double)slots[i];
		resizes += i & SLOT_RESIZE ? (double)slots[i] : 0;
		counting += (double)slots[i] * p->trap[stepped];
		full[end] += (double)slots[i] * alloc_price_of(p, stepped, !end);
	}
	/* Where the traps leave nothing, little can be told of it. */
	work = (cpu - counting > cpu * WORK_LEAST ? cpu - counting : cpu * WORK_LEAST) / SECOND;
	work = work > 0 ? work : 1;
	*load = (struct alloc_load){
		.calls = n[0] / work, .ends = n[1] / work, .resizes = resizes / work,
		.rough = counting > cpu * ROUGH,
		.call_ns = n[0] > 0 ? full[0] / n[0] : 0, .end_ns = n[1] > 0 ? full[1] / n[1] : 0,
	};
}

int alloc_price_watch(const struct alloc_price *p, const struct alloc_probes *probes, uint64_t ns, struct alloc_load *load)
{
	struct timespec pause = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	uint64_t before[SLOTS], slots[SLOTS];
	VEC(int) links = { 0 };
	struct counter c;
	int err = open_counter(&c);
	double cpu;

	for (size_t i = 0; !err && i < probes->nplaces;) {
		int link;

		i += link_places(probes, i, &c, &link);
		if (link >= 0)
			vec_push(&links, link);
		else if (link != -ESRCH)
			err = link;
	}
	if (!err) {
		memcpy(before, (const void *)c.slots, sizeof(before));
		cpu = cpu_time(probes);
		nanosleep(&pause, NULL);
		cpu = cpu_time(probes) - cpu;
		for (int i = 0; i < SLOTS; i++)
			slots[i] = c.slots[i] - before[i];
		fill(p, slots, cpu, load);
	}
	while (links.n)
		close(links.v[--links.n]);
	vec_free(&links);
	close_counter(&c);
	return err;
}

double alloc_load_cost(const struct alloc_load *load, unsigned int groups)
{
	double calls = groups & ALLOC_ALL_CALLS ? load->calls :
		       (groups & ALLOC_CALLS ? load->calls - load->resizes : 0) + (groups & ALLOC_ENDS ? load->resizes : 0);

	return (calls * (load->call_ns + 2 * ALLOC_PROGRAM_NS) +
		(groups & ALLOC_ENDS ? load->ends * (load->end_ns + ALLOC_PROGRAM_NS) : 0)) / SECOND;
}
