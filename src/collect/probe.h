/* SPDX-License-Identifier: MIT */
/*
 * The probes behind the rows of features.c, and the few helpers they share.
 * Only these, and the probes of sources, include this.
 */
#ifndef EBPROF_PROBE_H
#define EBPROF_PROBE_H

#include "collect/features.h"

/* --- Helpers (probe.c). ---------------------------------------------------- */
/* Sets state and detail. */
void probe_say(struct feature_result *r, enum feature_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A better fix than the row's usual one. */
void probe_fix(struct feature_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The release of the running kernel as major * 1000 + minor, 0 where it has no such form. */
int probe_release(void);
/*
 * 1 where we are in the initial namespace of that kind ("user", "pid"), and where that cannot be
 * read.
 */
int probe_initial_ns(const char *kind);
/* 1 where the kernel will grant what @cap grants: held, and not only inside a user namespace. */
int probe_has(int cap);
/* The same for CAP_BPF and CAP_PERFMON, which CAP_SYS_ADMIN contains. */
int probe_has_or_admin(int cap);

/* --- Who we are and what we may (probe_access.c). -------------------------- */
void probe_user_ns(struct feature_result *r);
void probe_pid_ns(struct feature_result *r);
void probe_cap_bpf(struct feature_result *r);
void probe_cap_perfmon(struct feature_result *r);
void probe_cap_ptrace(struct feature_result *r);
void probe_cap_read(struct feature_result *r);
void probe_cap_restore(struct feature_result *r);
void probe_kernel_names(struct feature_result *r);
void probe_lockdown(struct feature_result *r);
void probe_seccomp(struct feature_result *r);
void probe_sandbox(struct feature_result *r);
void probe_unprivileged_bpf(struct feature_result *r);
void probe_memlock(struct feature_result *r);
void probe_nofile(struct feature_result *r);

/* --- BPF (probe_bpf.c). ---------------------------------------------------- */
void probe_kernel(struct feature_result *r);
void probe_btf(struct feature_result *r);
void probe_ringbuf(struct feature_result *r);
void probe_program(struct feature_result *r);
void probe_fork_tracepoint(struct feature_result *r);
void probe_batch(struct feature_result *r);
void probe_task_btf(struct feature_result *r);
void probe_task_storage(struct feature_result *r);

/* --- perf events and the rest of the kernel (probe_kernel.c). -------------- */
void probe_paranoid(struct feature_result *r);
void probe_cpu_clock(struct feature_result *r);
void probe_hardware(struct feature_result *r);
void probe_sample_rate(struct feature_result *r);
void probe_max_stack(struct feature_result *r);
void probe_procmap_query(struct feature_result *r);
void probe_tracefs(struct feature_result *r);
void probe_cgroups(struct feature_result *r);
void probe_cpus(struct feature_result *r);

#endif
