/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/caps.h"
#include "base/file.h"
#include "base/sandbox.h"
#include "collect/probe.h"

/* For `setcap`, which gives a program's file what sudo gives a person. */
#define SETCAP \
	"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog,cap_dac_read_search,cap_checkpoint_restore"

void probe_user_ns(struct feature_result *r)
{
	if (probe_initial_ns("user"))
		probe_say(r, FEATURE_OK, "the initial one");
	else
		probe_say(r, FEATURE_MISSING, "not the initial one");
}

void probe_pid_ns(struct feature_result *r)
{
	if (access("/proc/self/ns/pid", F_OK)) {
		probe_say(r, FEATURE_MISSING, "unknown: no /proc");
		probe_fix(r, "sudo mount -t proc proc /proc");
	} else if (probe_initial_ns("pid")) {
		probe_say(r, FEATURE_OK, "the initial one");
	} else {
		probe_say(r, FEATURE_MISSING, "not the initial one");
	}
}

/* How this process, such as it is, would come to hold @cap. */
static void fix_capability(struct feature_result *r, int cap)
{
	char exe[200];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (!probe_initial_ns("user"))
		probe_fix(r, "run it on the host, outside of the rootless container: sudo ebprof");
	else if (!caps_can_be_given(cap))
		probe_fix(r,
			  "what started this container or service withholds it: docker run "
			  "--privileged "
			  "(or --cap-add=%s), systemd: CapabilityBoundingSet=",
			  caps_name(cap) + strlen("CAP_"));
	else if (geteuid() == 0)
		probe_fix(r,
			  "this root shell has dropped it: start ebprof from a new one (sudo -i)");
	else
		probe_fix(r, "run it with sudo, or once: sudo setcap " SETCAP "=ep %s",
			  n > 0 ? exe : "ebprof");
}

static void say_capability(struct feature_result *r, int cap, enum feature_state without)
{
	int has = probe_has(cap);

	if (has || ((cap == CAP_BPF || cap == CAP_PERFMON || cap == CAP_CHECKPOINT_RESTORE) &&
		    probe_has(CAP_SYS_ADMIN))) {
		probe_say(r, FEATURE_OK,
			  has ? "held" : "contained in CAP_SYS_ADMIN, which is held");
		return;
	}
	probe_say(r, without, caps_has(cap) ? "held in a user namespace only" : "not held");
	fix_capability(r, cap);
}

void probe_cap_bpf(struct feature_result *r)
{
	say_capability(r, CAP_BPF, FEATURE_MISSING);
}

void probe_cap_perfmon(struct feature_result *r)
{
	say_capability(r, CAP_PERFMON, FEATURE_MISSING);
}

void probe_cap_ptrace(struct feature_result *r)
{
	say_capability(r, CAP_SYS_PTRACE, FEATURE_DEGRADED);
}

void probe_cap_read(struct feature_result *r)
{
	say_capability(r, CAP_DAC_READ_SEARCH, FEATURE_DEGRADED);
	/* CAP_DAC_OVERRIDE contains it, and is what root in a container usually keeps. */
	if (r->state != FEATURE_OK && probe_has(CAP_DAC_OVERRIDE))
		probe_say(r, FEATURE_OK, "contained in CAP_DAC_OVERRIDE, which is held");
}

void probe_cap_restore(struct feature_result *r)
{
	say_capability(r, CAP_CHECKPOINT_RESTORE, FEATURE_DEGRADED);
}

/*
 * 1 where some address of /proc/kallsyms is not hidden as 0, 0 where all are, or a negative errno.
 */
static int addresses_visible(void)
{
	/*
	 * The list starts with per-CPU symbols, which are at 0 for everybody on
	 * older x86 kernels: a few hundred lines, well within this.
	 */
	size_t size = 128 << 10;
	char *text = malloc(size);
	int visible = 0;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	n = file_read("/proc/kallsyms", text, size);
	for (char *line = text; n > 0 && line && *line && !visible; ) {
		visible = strtoull(line, NULL, 16) != 0;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	free(text);
	return n < 0 ? (int)n : visible;
}

void probe_kernel_names(struct feature_result *r)
{
	int visible = addresses_visible();
	long level = 0;

	file_read_long("/proc/sys/kernel/kptr_restrict", &level);
	if (visible > 0) {
		probe_say(r, FEATURE_OK, "addresses in /proc/kallsyms visible (kptr_restrict %ld)",
			  level);
		return;
	}
	if (visible < 0) {
		probe_say(r, FEATURE_DEGRADED, "/proc/kallsyms: %s", strerror(-visible));
		probe_fix(r, "a kernel with CONFIG_KALLSYMS=y, and /proc mounted");
		return;
	}
	if (level >= 2) {
		probe_say(r, FEATURE_DEGRADED,
			  "kptr_restrict is %ld: addresses hidden from everybody", level);
		return;
	}
	probe_say(r, FEATURE_DEGRADED,
		  "addresses in /proc/kallsyms hidden: no CAP_SYSLOG (kptr_restrict %ld)", level);
	fix_capability(r, CAP_SYSLOG);
}

void probe_lockdown(struct feature_result *r)
{
	char text[128];
	const char *mode;

	/* "none [integrity] confidentiality": the one in force is in brackets. */
	if (file_read("/sys/kernel/security/lockdown", text, sizeof(text)) > 0) {
		mode = strchr(text, '[');
		if (mode && !strncmp(mode, "[confidentiality]", 17))
			probe_say(r, FEATURE_MISSING,
				  "confidentiality: BPF may not read the kernel's memory");
		else
			probe_say(r, FEATURE_OK, "%s",
				  strstr(text, "[integrity]") ? "integrity" : "none");
		return;
	}
	/* Without the file (no securityfs), the helper that lockdown takes away tells. */
	if (!probe_has_or_admin(CAP_BPF) || !probe_has_or_admin(CAP_PERFMON))
		probe_say(r, FEATURE_SKIPPED,
			  "no such file; the test needs CAP_BPF and CAP_PERFMON");
	else if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_probe_read_kernel,
					 NULL) == 0)
		probe_say(r, FEATURE_MISSING, "BPF may not read the kernel's memory");
	else
		probe_say(r, FEATURE_OK, "none (no /sys/kernel/security/lockdown)");
}

/* 1 where this process runs under a seccomp filter. */
static int filtered(void)
{
	long mode;

	return !file_own_status("Seccomp", &mode) && mode == 2;
}

void probe_seccomp(struct feature_result *r)
{
	struct perf_event_attr event = { .size = sizeof(event) };
	union bpf_attr attr;
	int filter = filtered(), perf, bpf = 0;

	/*
	 * Calls that can do nothing. Both end in EINVAL where they reach the
	 * kernel: perf_event_open looks at unknown flags first, before any
	 * privilege; bpf asks for its capability before it looks at the command.
	 */
	perf = syscall(SYS_perf_event_open, &event, 0, -1, -1, ~0UL) < 0 ? errno : 0;
	if (probe_has_or_admin(CAP_BPF)) {
		memset(&attr, 0, sizeof(attr));
		bpf = syscall(SYS_bpf, 0x7fffffff, &attr, sizeof(attr)) < 0 ? errno : 0;
	}
	perf = perf == EPERM || perf == EACCES || perf == ENOSYS ? perf : 0;
	bpf = bpf == EPERM || bpf == EACCES || bpf == ENOSYS ? bpf : 0;
	if (!perf && !bpf) {
		probe_say(r, FEATURE_OK,
			  filter ? "a filter that lets a profiler's calls pass" : "no filter");
		return;
	}
	probe_say(r, FEATURE_MISSING, "%s%s%s: %s%s", bpf ? "bpf(2)" : "", bpf && perf ? ", " : "",
		  perf ? "perf_event_open(2)" : "", strerror(bpf ? bpf : perf),
		  filter ? ", by a seccomp filter"
			 : ", with the capabilities at hand and no seccomp filter");
	if (!filter && (perf == ENOSYS || bpf == ENOSYS))
		probe_fix(r, "a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_PERF_EVENTS=y");
	else if (!filter)
		probe_fix(r, "a security module forbids it: see sudo dmesg, sudo ausearch -m avc");
}

void probe_sandbox(struct feature_result *r)
{
	int err = sandbox_check();

	probe_say(r, err ? FEATURE_DEGRADED : FEATURE_OK, err ? "%s" : "works", strerror(-err));
}

void probe_unprivileged_bpf(struct feature_result *r)
{
	long level;

	if (file_read_long("/proc/sys/kernel/unprivileged_bpf_disabled", &level))
		probe_say(r, FEATURE_OK, "no such sysctl");
	else if (probe_has_or_admin(CAP_BPF))
		probe_say(r, FEATURE_OK, "%ld; does not matter with CAP_BPF", level);
	else
		probe_say(r, FEATURE_SKIPPED, "%ld; sampling needs CAP_BPF whatever it says",
			  level);
}

void probe_memlock(struct feature_result *r)
{
	const rlim_t need = 64 << 20;
	struct rlimit lim;

	if (probe_release() >= 5011)
		probe_say(r, FEATURE_OK, "BPF memory is counted by cgroup");
	else if (probe_has(CAP_SYS_RESOURCE))
		probe_say(r, FEATURE_OK, "can be raised (CAP_SYS_RESOURCE)");
	else if (!getrlimit(RLIMIT_MEMLOCK, &lim) && lim.rlim_max >= need)
		probe_say(r, FEATURE_OK, "the hard limit is enough");
	else
		probe_say(r, FEATURE_MISSING,
			  "RLIMIT_MEMLOCK below 64 MiB, and no CAP_SYS_RESOURCE");
}

void probe_nofile(struct feature_result *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	/* Up to four events and links a CPU, and beside them an open file for each mapped image. */
	rlim_t least = 4 * (rlim_t)(cpus > 0 ? cpus : 1) + 64, want = least + 960;
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim)) {
		probe_say(r, FEATURE_SKIPPED, "getrlimit: %s", strerror(errno));
		return;
	}
	probe_say(r,
		  lim.rlim_max >= want || probe_has(CAP_SYS_RESOURCE) ? FEATURE_OK
		  : lim.rlim_max >= least			      ? FEATURE_DEGRADED
								      : FEATURE_MISSING,
		  "%llu, can be raised to %llu; about %llu wanted",
		  (unsigned long long)lim.rlim_cur, (unsigned long long)lim.rlim_max,
		  (unsigned long long)want);
	if (r->state != FEATURE_OK)
		probe_fix(r,
			  "sudo prlimit --pid $$ --nofile=%llu:%llu (a service: LimitNOFILE=%llu)",
			  (unsigned long long)want, (unsigned long long)want,
			  (unsigned long long)want);
}
