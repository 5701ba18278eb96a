/* SPDX-License-Identifier: MIT */
#include "collect/features.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/libbpf.h>

#include "base/file.h"
#include "base/sandbox.h"
#include "collect/probe.h"
#include "collect/raw_btf.h"

#define ENOTSUPP 524	/* the kernel's own; BPF lets it out, and no user header has it */

/*
 * "since" cites the commit that brought the thing to mainline. What only
 * repeats in other words that a capability is missing comes after that
 * capability: features_explain() names the first row that is in the way.
 */
const struct feature features[] = {
	{ "user namespace", "capabilities count for nothing in bpf(2)",
	  "run it on the host, outside of the rootless container: sudo ebprof", "3.8",
	  probe_user_ns },
	{ "pid namespace", "samples carry process ids that are other processes' here, or nobody's",
	  "run it on the host, or in a container with docker run --pid=host --privileged", "",
	  probe_pid_ns },
	{ "CAP_BPF", "no sampling program can be loaded", "", "5.8 a17b53c4a4b5", probe_cap_bpf },
	{ "CAP_PERFMON", "no event can be opened, nor a sampling program loaded", "",
	  "5.8 980737282232", probe_cap_perfmon },
	{ "seccomp", "the system calls of a profiler are refused",
	  "docker run --privileged, or --security-opt seccomp=unconfined (Kubernetes: Unconfined)",
	  "", probe_seccomp },
	{ "lockdown", "sampling programs may not look at the kernel's tasks",
	  "boot without lockdown=confidentiality (lockdown=integrity is enough)",
	  "5.4 9d1f8be5cf42", probe_lockdown },
	{ "kernel", "what ebprof needs of BPF came with Linux 5.8", "a kernel of 5.8 or later",
	  "5.8", probe_kernel },
	{ "BTF", "programs cannot be fitted to this kernel",
	  "a kernel with CONFIG_DEBUG_INFO_BTF=y (those of the distributions have it)",
	  "5.4 341dfcf8d78e", probe_btf },
	{ "perf_event_paranoid", "no event can be opened",
	  "sudo sysctl kernel.perf_event_paranoid=2", "2.6.31", probe_paranoid },
	{ "unprivileged_bpf_disabled", "", "", "4.4", probe_unprivileged_bpf },
	{ "locked memory", "BPF maps cannot be made",
	  "ulimit -l unlimited (a service: LimitMEMLOCK=infinity)", "before 5.11", probe_memlock },
	{ "BPF ring buffer", "stacks cannot be sent", "a kernel of 5.8 or later",
	  "5.8 457f44363a88", probe_ringbuf },
	{ "BPF batches", "counts cannot be fetched", "a kernel of 5.6 or later", "5.6 057996380a42",
	  probe_batch },
	{ "BPF on perf events", "no sampling program can be loaded",
	  "a kernel with CONFIG_BPF_EVENTS=y", "4.9 0515e5999a46", probe_program },
	{ "BPF on tracepoints", "forks, execs and exits cannot be followed",
	  "a kernel with CONFIG_BPF_EVENTS=y", "4.17 c4f6699dfcb8", probe_fork_tracepoint },
	{ "BPF task by BTF", "", "", "5.11 3ca1032ab7ab", probe_task_btf },
	{ "BPF task storage", "what threads do is followed of 32,768 of them at a time",
	  "a kernel of 5.11 or later", "5.11 4cf1bc1f1045", probe_task_storage },
	{ "cpu-clock", "nothing to sample by", "a kernel with CONFIG_PERF_EVENTS=y", "2.6.31",
	  probe_cpu_clock },
	{ "hardware events",
	  "cpu-clock is used: no cycles, no cache misses, no code with interrupts off",
	  "-e cpu-clock, or a machine that has them (a VM whose host passes on a PMU: qemu -cpu "
	  "host,pmu=on)",
	  "2.6.31", probe_hardware },
	{ "sample rate", "a higher -F is refused",
	  "sudo sysctl kernel.perf_event_max_sample_rate=100000", "2.6.31", probe_sample_rate },
	{ "stack depth", "deeper stacks lose their root",
	  "sudo sysctl kernel.perf_event_max_stack=127", "4.8", probe_max_stack },
	{ "kernel names", "kernel functions are shown as [unknown]",
	  "sudo sysctl kernel.kptr_restrict=0", "2.6.38", probe_kernel_names },
	{ "CAP_SYS_PTRACE", "functions of other users' processes are not named", "", "2.2",
	  probe_cap_ptrace },
	{ "CAP_DAC_READ_SEARCH",
	  "programs that only their owner may read are not named; no -e group:name", "", "2.2",
	  probe_cap_read },
	{ "CAP_CHECKPOINT_RESTORE",
	  "programs that were deleted or upgraded while they run are not named", "",
	  "5.9 124ea650d307", probe_cap_restore },
	{ "PROCMAP_QUERY", "", "", "6.11 ed5d583a88a9", probe_procmap_query },
	{ "tracefs", "no -e group:name", "sudo mount -t tracefs tracefs /sys/kernel/tracing", "4.1",
	  probe_tracefs },
	{ "cgroups", "no -G", "sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup", "", probe_cgroups },
	{ "own system calls",
	  "a mistake in reading a hostile file would not be contained by a filter of system calls",
	  "a kernel with CONFIG_SECCOMP_FILTER=y", "4.17 00a02d0c502a", probe_sandbox },
	{ "open files", "a profile of many CPUs or programs runs out of file descriptors", "", "",
	  probe_nofile },
	{ "CPUs", "", "", "", probe_cpus },
	{ 0 },
};

void feature_probe(const struct feature *f, struct feature_result *r)
{
	memset(r, 0, sizeof(*r));
	f->probe(r);
	if (r->state == FEATURE_OK || r->state == FEATURE_SKIPPED)
		r->fix[0] = '\0';
	else if (!r->fix[0])
		probe_fix(r, "%s", f->fix);
}

const char *feature_state_name(enum feature_state state)
{
	static const char *const names[] = { "ok", "degraded", "missing", "skipped" };

	return names[state];
}

int feature_require(const char *name, struct error *e)
{
	const struct feature *f = features;
	struct feature_result r;

	while (strcmp(f->name, name))
		f++;
	feature_probe(f, &r);
	if (r.state != FEATURE_MISSING)
		return 0;
	return error_set(e, STATUS_DENIED, -EOPNOTSUPP, "%s: %s; %s", f->name, r.detail, r.fix);
}

static int means_denied(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENOSYS || err == -EOPNOTSUPP ||
	       err == -ENOTSUPP || err == -ENODEV;
}

/* Whether @err is the very one that a recording gets for what row @f only calls degraded. */
static int is_due_to(int err, const struct feature *f)
{
	return f->probe == probe_hardware &&
	       (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV);
}

int features_blame(struct error *e, int err, const char *what)
{
	struct feature_result r;

	/* Probes could open nothing either, and would blame what they find shut. */
	if (err == -EMFILE) {
		error_set(e, STATUS_DENIED, err, "%s: %s; "
			  "sudo prlimit --pid $$ --nofile=65536:65536", what, strerror(EMFILE));
		return 1;
	}
	/* The same in our own sandbox. */
	for (const struct feature *f = features; f->name && !sandbox_is_entered(); f++) {
		feature_probe(f, &r);
		if (r.state == FEATURE_MISSING ||
		    (r.state == FEATURE_DEGRADED && is_due_to(err, f))) {
			error_set(e, STATUS_DENIED, err, "%s: %s: %s; %s", what, f->name, r.detail,
				  r.fix);
			return 1;
		}
	}
	return 0;
}

int features_explain(struct error *e, int err, const char *what)
{
	if (features_blame(e, err, what))
		return err;
	return error_set(e, means_denied(err) ? STATUS_DENIED : STATUS_ERROR, err,
			 "%s: %s; see ebprof doctor", what,
			 strerror(err == -ENOTSUPP ? EOPNOTSUPP : -err));
}

int features_func_args(const char *name)
{
	struct raw_btf r;
	const struct btf_type *t;
	int err = raw_btf_open(&r, KERNEL_TYPES);

	t = err ? NULL : raw_btf_find(&r, name, BTF_KIND_TYPEDEF);
	t = t ? raw_btf_type(&r, t->type) : NULL;
	t = t && btf_is_ptr(t) ? raw_btf_type(&r, t->type) : NULL;
	if (!err)
		err = t && btf_is_func_proto(t) ? btf_vlen(t) : -ENOENT;
	raw_btf_close(&r);
	return err;
}

int features_enum_value(const char *enumeration, const char *enumerator)
{
	struct raw_btf r;
	const struct btf_type *t;
	int value = raw_btf_open(&r, KERNEL_TYPES);

	t = value ? NULL : raw_btf_find(&r, enumeration, BTF_KIND_ENUM);
	if (!value)
		value = -ENOENT;
	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(raw_btf_name(&r, btf_enum(t)[i].name_off), enumerator))
			value = btf_enum(t)[i].val;
	raw_btf_close(&r);
	return value;
}

int features_cgroup_subsys(const char *controller)
{
	char enumerator[64];

	/* blkio kept its old name in the file system only. */
	snprintf(enumerator, sizeof(enumerator), "%s_cgrp_id",
		 strcmp(controller, "blkio") ? controller : "io");
	return features_enum_value("cgroup_subsys_id", enumerator);
}

int features_has_struct(const char *name)
{
	struct raw_btf r;
	int has = !raw_btf_open(&r, KERNEL_TYPES) && raw_btf_find(&r, name, BTF_KIND_STRUCT);

	raw_btf_close(&r);
	return has;
}

int features_linux(unsigned int major, unsigned int minor)
{
	unsigned int own_major, own_minor;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &own_major, &own_minor) != 2)
		return 0;
	return own_major > major || (own_major == major && own_minor >= minor);
}

int features_old_rt(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.version, "PREEMPT_RT") && !features_linux(6, 4);
}

uint32_t features_frames(uint32_t wanted)
{
	long most;

	if (file_read_long("/proc/sys/kernel/perf_event_max_stack", &most) || most < 1)
		most = 127;
	return wanted < (unsigned long)most ? wanted : (uint32_t)most;
}
