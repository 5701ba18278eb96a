/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>

#include "collect/features.h"
#include "collect/load_log.h"
#include "ebprof.skel.h"
#include "sources/page_faults.h"

static uint64_t rate(const void *ctx, size_t ncpus)
{
	return event_part_rate(&((const struct page_faults *)ctx)->part, ncpus);
}

static int configure(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	struct page_faults *f = ctx;

	(void)o;
	if (features_old_rt())
		return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
				 "no page faults can be followed on PREEMPT_RT before Linux 6.4: "
				 "that kernel once stood still; try ebprof alloc -p PID");
	f->part.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE;
	event_part_configure(&f->part, skel->progs.on_page_fault);
	return 0;
}

static int open_event(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		      struct error *e)
{
	(void)skel;
	return event_part_open(&((struct page_faults *)ctx)->part, o, e);
}

static int attach(void *ctx, struct ebprof_bpf *skel, struct error *e)
{
	(void)skel;
	return event_part_attach(&((struct page_faults *)ctx)->part, e);
}

static void refresh_cpus(void *ctx)
{
	event_part_refresh_cpus(&((struct page_faults *)ctx)->part);
}

static size_t cpus(const void *ctx)
{
	return event_part_cpus(&((const struct page_faults *)ctx)->part);
}

static void stop(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	(void)skel;
	(void)now;
	event_part_stop(&((struct page_faults *)ctx)->part);
}

static void close_event(void *ctx)
{
	event_part_close(&((struct page_faults *)ctx)->part);
}

static const struct load_use uses[] = {
	{ "on_page_fault", "page faults", LOAD_BY_PERF("-g -e page-faults") },
	{ 0 }
};

const struct collector_part_ops page_faults_kernel = {
	.uses = uses,
	.rate = rate,
	.configure = configure,
	.open = open_event,
	.attach = attach,
	.refresh_cpus = refresh_cpus,
	.cpus = cpus,
	.stop = stop,
	.close = close_event,
};
