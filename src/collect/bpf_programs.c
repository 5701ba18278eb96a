/* SPDX-License-Identifier: MIT */
#include "collect/bpf_programs.h"

#include <bpf/libbpf.h>

#include "collect/kernel_types.h"
#include "collect/load_log.h"
#include "ebprof.skel.h"

struct ebprof_bpf *bpf_programs_open(int types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	char path[KERNEL_TYPES_PATH];
	struct ebprof_bpf *s;

	opts.btf_custom_path = kernel_types_path(types, path);
	s = ebprof_bpf__open_opts(&opts);
	if (s)
		load_log_reasons(s->obj);
	return s;
}
