/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "alloc/alloc_price.h"
#include "collect/features.h"
#include "collect/load_log.h"
#include "collect/map_choice.h"
#include "collect/successor.h"
#include "collect/uprobe.h"
#include "ebprof.skel.h"
#include "sources/allocations.h"
#include "sources/probe_load.h"

#define ALLOC_RING	(16u << 20)	/* bytes for blocks and their ends, which come in bursts */
#define STACKS_RATE	100		/* stacks a second and CPU, with which caches are made */

static uint64_t rate(const void *ctx, size_t ncpus)
{
	(void)ctx;
	return STACKS_RATE * ncpus;
}

/*
 * Whether one program is on all functions, and its cookies tell which it is (Linux 5.15): each
 * program has all of the unwinder, which the kernel verifies anew.
 */
static int by_cookie(enum alloc_probe_kind kind)
{
	return kind >= PROBE_MALLOC && kind <= PROBE_FREE && features_linux(5, 15);
}

/* What is on the functions of a kind. */
struct prober {
	struct bpf_program *program;
	/* the same without frames of languages, and of who succeeds it; NULL: it takes no stacks */
	struct bpf_program *native;
	enum ebp_uprobe_successor slot;
};

#define TAKES_STACKS(name, slot) { skel->progs.name, skel->progs.name##_native, slot }

static struct prober prober_of(const struct ebprof_bpf *skel, enum alloc_probe_kind kind)
{
	const struct prober any = TAKES_STACKS(on_any_call, EBP_SUCCEEDS_ANY_CALL);
	const struct prober probers[PROBE_KINDS] = {
		[PROBE_BLOCK] = TAKES_STACKS(on_block, EBP_SUCCEEDS_BLOCK),
		[PROBE_BLOCK_END] = { .program = skel->progs.on_block_end },
		[PROBE_MALLOC] = TAKES_STACKS(on_malloc, EBP_SUCCEEDS_MALLOC),
		[PROBE_CALLOC] = TAKES_STACKS(on_calloc, EBP_SUCCEEDS_CALLOC),
		[PROBE_REALLOC] = TAKES_STACKS(on_realloc, EBP_SUCCEEDS_REALLOC),
		[PROBE_MEMALIGN] = TAKES_STACKS(on_memalign, EBP_SUCCEEDS_MEMALIGN),
		[PROBE_POSIX_MEMALIGN] = TAKES_STACKS(on_posix_memalign,
						      EBP_SUCCEEDS_POSIX_MEMALIGN),
		[PROBE_FREE] = { .program = skel->progs.on_free },
		[PROBE_RETURNED] = { .program = skel->progs.on_returned },
	};

	return by_cookie(kind) ? any : probers[kind];
}

static struct bpf_program *probe_program(const struct ebprof_bpf *skel, enum alloc_probe_kind kind,
					 int languages)
{
	struct prober p = prober_of(skel, kind);

	return languages || !p.native ? p.program : p.native;
}

static void set_multi(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, UPROBE_MULTI);
}

/* For uprobe_link(); those that succeed one another are of one kind. */
static void load_for_links(const struct ebprof_bpf *skel, int languages)
{
	bpf_program__set_autoload(probe_program(skel, PROBE_MALLOC, languages), true);
	bpf_program__set_autoload(skel->progs.on_returned, true);
	set_multi(skel->progs.on_any_call);
	set_multi(skel->progs.on_any_call_native);
	set_multi(skel->progs.on_returned);
}

static int takes_languages(const struct ebprof_bpf *skel)
{
	return skel->rodata_turn->turn.languages != 0;
}

/* @p->fd is the link then, where there is one, which keeps the event. */
static int attach_probe(const struct ebprof_bpf *skel, struct alloc_probe *p)
{
	int link, program = bpf_program__fd(probe_program(skel, p->kind, takes_languages(skel)));

	if (!by_cookie(p->kind))
		return uprobe_attach(p->fd, program);
	link = event_link(p->fd, program, p->kind);
	if (link < 0)
		return link;
	close(p->fd);
	p->fd = link;
	return 0;
}

static int configure(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	const struct alloc_probes *p = &((struct allocations *)ctx)->probes;
	int languages = o->languages != 0, err;

	skel->rodata->config.alloc.on = 1;
	skel->rodata->config.alloc.interval = p->interval;
	bpf_map__set_autocreate(skel->maps.alloc_busy, true);
	bpf_map__set_autocreate(skel->maps.uprobe_successors, true);
	for (size_t i = 0; i < p->n; i++)
		bpf_program__set_autoload(probe_program(skel, p->v[i].kind, languages), true);
	if (p->by_link)
		load_for_links(skel, languages);
	bpf_program__set_autoload(skel->progs.list_alloc_thread, p->paused);
	if (!bpf_program__autoload(skel->progs.on_returned))
		return 0;
	err = map_choice_threads(skel->maps.alloc_tasks, skel->maps.alloc_threads,
				 skel->maps.new_alloc_thread);
	if (!err)
		err = bpf_map__set_autocreate(skel->maps.live_blocks, true);
	if (!err)
		err = map_choice_hash(skel->maps.live_blocks);
	return err ? features_explain(e, err, "cannot choose maps for allocations") : 0;
}

/* They are hit in all processes that have the library; the programs look whose it is. */
static int attach(void *ctx, struct ebprof_bpf *skel, struct error *e)
{
	const struct bpf_program *call = probe_program(skel, PROBE_MALLOC, takes_languages(skel));
	const struct alloc_switches on = { &skel->bss->alloc_paused, &skel->bss->alloc_endless,
					   &skel->bss->alloc_window };
	struct allocations *a = ctx;
	int err;

	for (size_t i = 0; i < a->probes.n; i++) {
		err = attach_probe(skel, &a->probes.v[i]);
		if (err)
			return features_explain(e, err, "cannot attach to a uprobe");
	}
	if (a->probes.by_link) {
		a->links = alloc_links_new(&a->probes, bpf_program__fd(call),
					   bpf_program__fd(skel->progs.on_returned),
					   bpf_program__fd(skel->progs.list_alloc_thread), &on);
		err = a->links ? alloc_links_begin(a->links) : -errno;
		if (err)
			return features_explain(e, err, "cannot set uprobes");
	}
	__atomic_store_n(&skel->bss->alloc_on, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Which there are, of those with cookies one for all. */
static void look_for_kinds(const struct alloc_probes *p, int there[PROBE_KINDS])
{
	memset(there, 0, PROBE_KINDS * sizeof(*there));
	there[PROBE_MALLOC] = p->by_link;
	for (size_t i = 0; i < p->n; i++)
		there[by_cookie(p->v[i].kind) ? PROBE_MALLOC : p->v[i].kind] = 1;
}

static size_t successors(const void *ctx, const struct collector_options *o,
			 struct ebprof_bpf *skel, struct bpf_program *programs[LOADER_PROGRAMS])
{
	int there[PROBE_KINDS];
	size_t n = 0;

	(void)o;
	if (!successor_can_be_called())
		return 0;
	look_for_kinds(&((const struct allocations *)ctx)->probes, there);
	for (enum alloc_probe_kind kind = 0; kind < PROBE_KINDS; kind++)
		if (there[kind] && prober_of(skel, kind).native)
			programs[n++] = prober_of(skel, kind).program;
	return n;
}

static int succeed(void *ctx, struct ebprof_bpf *skel, const int *fds)
{
	int there[PROBE_KINDS], err = 0;

	look_for_kinds(&((const struct allocations *)ctx)->probes, there);
	for (enum alloc_probe_kind kind = 0; kind < PROBE_KINDS && !err; kind++)
		if (there[kind] && prober_of(skel, kind).native)
			err = successor_call(skel->maps.uprobe_successors,
					     prober_of(skel, kind).slot, *fds++);
	return err;
}

static void stop(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	struct allocations *a = ctx;

	(void)now;
	skel->bss->alloc_on = 0;
	if (a->links)
		alloc_links_end(a->links);
	alloc_probes_close(&a->probes);
}

static void close_links(void *ctx)
{
	struct allocations *a = ctx;

	alloc_links_free(a->links);
	a->links = NULL;
}

/* Those of other sources have been looked at before. */
static const struct load_use uses[] = {
	{ "on_", "allocations",
	  "sampling works without; try ebprof alloc --page-faults, or heaptrack" },
	{ 0 }
};

const struct collector_part_ops allocations_kernel = {
	.uses = uses,
	.ring_bytes = ALLOC_RING,
	.rate = rate,
	.configure = configure,
	.attach = attach,
	.successors = successors,
	.succeed = succeed,
	.stop = stop,
	.close = close_links,
};

/* The programs of the probes from @from up to @to, and of links where @by_link. */
static void try_probes(struct feature_result *r, enum alloc_probe_kind from,
		       enum alloc_probe_kind to, int by_link)
{
	struct alloc_probe probes[PROBE_KINDS];
	struct allocations allocations = {
		.probes = { .v = probes, .by_link = by_link, .paused = by_link },
	};

	for (enum alloc_probe_kind i = from; i < to; i++)
		probes[allocations.probes.n++] = (struct alloc_probe){ .kind = i, .fd = -1 };
	probe_load(r, &allocations_kernel, &allocations, 0);
}

/*
 * Those of a command, and those of alloc -p, which has links where the kernel has. Not together:
 * programs for links and others may not have a map of programs in common.
 */
static void try_programs(struct feature_result *r)
{
	struct alloc_price price;
	int by_link = !alloc_price_measure(&price);

	try_probes(r, PROBE_BLOCK, PROBE_MALLOC, 0);
	if (r->state == FEATURE_OK)
		try_probes(r, PROBE_MALLOC, by_link ? PROBE_MALLOC : PROBE_KINDS, by_link);
}

const struct feature allocations_feature = {
	"programs of allocations", "no alloc, but for alloc --page-faults",
	"heaptrack, or another kernel", "5.8", try_programs,
};
