/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "collect/features.h"
#include "collect/load_log.h"
#include "collect/map_choice.h"
#include "ebprof.skel.h"
#include "sources/probe_load.h"
#include "sources/waits.h"

/* arguments of sched_switch before the state, with what every tracepoint has first */
#define SWITCH_STATE	4
/* waits a second that differ in stack or thread, with which maps are made */
#define WAITS_RATE	40000

static uint64_t rate(const void *ctx, size_t ncpus)
{
	(void)ctx;
	(void)ncpus;
	return WAITS_RATE;
}

static struct bpf_program *on_switch(struct ebprof_bpf *skel, int languages)
{
	return languages ? skel->progs.on_switch : skel->progs.on_switch_native;
}

static struct bpf_program *on_waking(struct ebprof_bpf *skel, int languages)
{
	return languages ? skel->progs.on_waking : skel->progs.on_waking_native;
}

static int configure(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	const struct waits_options *w = ((struct waits *)ctx)->o;
	struct ebp_waits_config *config = &skel->rodata->config.waits;
	struct bpf_program *const programs[] = {
		on_waking(skel, o->languages != 0), on_switch(skel, o->languages != 0),
		skel->progs.on_new_task, skel->progs.begin_task, skel->progs.end_task,
	};
	int err;

	if (features_old_rt())
		return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
				 "no waits can be measured on PREEMPT_RT before Linux 6.4: "
				 "that kernel would stand still");
	kernel_text_begin(&((struct waits *)ctx)->text);
	config->wall = w->wall;
	config->wakers = w->wakers;
	config->min_block = w->min_block;
	config->states = (uint8_t)w->states;
	config->overhead = (uint64_t)(w->max_overhead / 100 * 4294967296.0);
	config->switch_state = features_func_args("btf_trace_sched_switch") > SWITCH_STATE;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		bpf_program__set_autoload(programs[i], true);
	bpf_map__set_autocreate(skel->maps.off_budgets, true);
	bpf_map__set_autocreate(skel->maps.key_scratch, true);
	err = map_choice_threads(skel->maps.off_tasks, skel->maps.off_threads,
				 skel->maps.new_off_thread);
	return err ? features_explain(e, err, "cannot choose maps for waits") : 0;
}

/* Runs @program, an iterator, for each thread that there is. 0 or a negative errno. */
static int for_each_task(const struct bpf_program *program)
{
	struct bpf_link *link;
	char buf[64];
	int fd, err;

	link = bpf_program__attach_iter(program, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 || read(fd, buf, sizeof(buf)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

static int attach(void *ctx, struct ebprof_bpf *skel, struct error *e)
{
	int languages = skel->rodata_turn->turn.languages != 0;
	struct bpf_program *const watchers[] = {
		on_waking(skel, languages), on_switch(skel, languages), skel->progs.on_new_task,
	};
	struct waits *w = ctx;
	int err;

	kernel_text_end(&w->text);
	skel->bss->kernel_text = w->text.found;
	err = for_each_task(skel->progs.begin_task);
	if (err)
		return features_explain(e, err, "cannot look at the threads that wait");
	for (size_t i = 0; i < sizeof(watchers) / sizeof(*watchers); i++) {
		struct bpf_link *link = bpf_program__attach(watchers[i]);

		if (!link)
			return features_explain(e, -errno, "cannot follow switches of threads");
		vec_push(&w->links, link);
	}
	return 0;
}

static void began(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	(void)ctx;
	skel->bss->off_began = now;
}

static void close_successors(struct waits_successors *s)
{
	while (s->n)
		close(s->fds[--s->n]);
}

static void close_links(void *ctx)
{
	struct waits *w = ctx;

	kernel_text_end(&w->text);
	close_successors(&w->next);
	close_successors(&w->successors);
	for (size_t i = 0; i < w->links.n; i++)
		bpf_link__destroy(w->links.v[i]);
	vec_free(&w->links);
}

/* In the order in which they are attached. */
static size_t successors(const void *ctx, const struct collector_options *o,
			 struct ebprof_bpf *skel, struct bpf_program *programs[LOADER_PROGRAMS])
{
	(void)ctx;
	(void)o;
	programs[0] = on_waking(skel, 1);
	programs[1] = on_switch(skel, 1);
	return WAITS_SUCCEEDED;
}

static int succeed(void *ctx, struct ebprof_bpf *skel, const int *fds)
{
	struct waits *w = ctx;

	(void)skel;
	for (size_t i = 0; i < WAITS_SUCCEEDED; i++) {
		int fd = bpf_raw_tracepoint_open(NULL, fds[i]);

		if (fd < 0) {
			fd = -errno;
			close_successors(&w->next);
			return fd;
		}
		w->next.fds[w->next.n++] = fd;
	}
	return 0;
}

static void settle(void *ctx, struct ebprof_bpf *skel, int succeeded)
{
	struct waits *w = ctx;

	(void)skel;
	if (!succeeded) {
		close_successors(&w->next);
		return;
	}
	close_successors(&w->successors);
	w->successors = w->next;
	w->next.n = 0;
	for (size_t i = 0; i < WAITS_SUCCEEDED; i++) {
		bpf_link__destroy(w->links.v[i]);
		w->links.v[i] = NULL;
	}
}

static void stop(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	skel->bss->off_ended = now;
	close_links(ctx);
	for_each_task(skel->progs.end_task);
}

#define INSTEAD \
	"sampling works without (no --off-cpu, --wakers, --wall); try perf sched record"

static const struct load_use uses[] = {
	{ "on_switch", "waits", INSTEAD },
	{ "on_waking", "waits", INSTEAD },
	{ "on_new_task", "waits", INSTEAD },
	{ "begin_task", "waits", INSTEAD },
	{ "end_task", "waits", INSTEAD },
	{ 0 }
};

const struct collector_part_ops waits_kernel = {
	.uses = uses,
	.rate = rate,
	.configure = configure,
	.attach = attach,
	.successors = successors,
	.succeed = succeed,
	.settle = settle,
	.began = began,
	.stop = stop,
	.close = close_links,
};

static void try_programs(struct feature_result *r)
{
	const struct waits_options all = { .wall = 1, .wakers = 1, .states = 0xff,
					   .max_overhead = 1 };
	struct waits waits = { .o = &all };

	probe_load(r, &waits_kernel, &waits, 0);
}

const struct feature waits_feature = {
	"programs of waits", "no --off-cpu, no --wakers, no --wall",
	"sampling works; for waits perf sched record, or another kernel", "5.8", try_programs,
};
