/* SPDX-License-Identifier: MIT */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/vec.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "which calls of this machine are the same as on others is not known"
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41	/* Linux 5.17: glibc names its heaps */
#endif
#define TCGETS2_CALL 0x802c542a	/* isatty() of glibc 2.42 */

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define THREAD (CLONE_VM | CLONE_THREAD)
#define ALL 0xffffffffu

#ifndef SECCOMP_FILTER_FLAG_TSYNC_ESRCH
#define SECCOMP_FILTER_FLAG_TSYNC_ESRCH (1UL << 4)	/* Linux 5.7: a listener for all threads */
#endif
#define NO_SUCH_CALL (SECCOMP_RET_ERRNO | ENOSYS)

enum when { ALWAYS, AS_USER, NETWORK, TERMINAL, CLOCK, SAMPLING, SERVER, NEVER };

/*
 * A call that is allowed, or (NEVER) refused uncounted, where who tries it can do without: where
 * @mask is not 0, with (argument @arg & @mask) == @value. They are ints: 32 bits count.
 */
struct rule {
	int call;
	enum when when;
	int arg;
	uint32_t mask, value;
};

static const struct rule rules[] = {
	/* Files, to be read. */
	{ SYS_openat, ALWAYS, 2, WRITES, O_RDONLY },
	{ .call = SYS_read },
	{ .call = SYS_pread64 },
	{ .call = SYS_readv },
	{ .call = SYS_lseek },
	{ .call = SYS_close },
	{ .call = SYS_fstat },
	{ .call = SYS_newfstatat },
	{ .call = SYS_statx },
	{ .call = SYS_statfs },
	{ .call = SYS_fstatfs },
	{ .call = SYS_faccessat },
	{ .call = SYS_readlinkat },
	{ .call = SYS_getdents64 },
	{ .call = SYS_getcwd },
	/* Results, into what was open before. */
	{ .call = SYS_write },
	{ .call = SYS_writev },
	{ .call = SYS_sendto },
	/* Up to F_SETLKW; not F_SETOWN, which has signals sent. */
	{ SYS_fcntl, ALWAYS, 1, ~7u, 0 },
	{ SYS_fcntl, ALWAYS, 1, ALL, F_DUPFD_CLOEXEC },
	/* Not TIOCSTI, which types into the terminal. */
	{ SYS_ioctl, SAMPLING, 1, ALL, PERF_EVENT_IOC_ENABLE },
	{ SYS_ioctl, SAMPLING, 1, ALL, PERF_EVENT_IOC_DISABLE },
	{ SYS_ioctl, SAMPLING, 1, ALL, PERF_EVENT_IOC_SET_BPF },
	{ SYS_ioctl, ALWAYS, 1, ALL, TIOCGWINSZ },
	{ SYS_ioctl, ALWAYS, 1, ALL, TCGETS },
	{ SYS_ioctl, ALWAYS, 1, ALL, TCGETS2_CALL },
	/* Waiting. */
	{ .call = SYS_ppoll },
	{ .call = SYS_pselect6 },
	{ .call = SYS_epoll_pwait },
	{ .call = SYS_epoll_ctl },
	{ .call = SYS_epoll_create1 },
	{ .call = SYS_eventfd2 },
	{ .call = SYS_futex },
	{ .call = SYS_nanosleep },
	{ .call = SYS_clock_nanosleep },
	{ .call = SYS_restart_syscall },
	{ .call = SYS_wait4 },
	{ .call = SYS_waitid },
	/* Memory, and threads; clone3() has its flags in memory and is not seen through. */
	{ SYS_mmap, ALWAYS, 2, PROT_EXEC, 0 },
	{ SYS_mprotect, ALWAYS, 2, PROT_EXEC, 0 },
	{ .call = SYS_munmap },
	{ .call = SYS_mremap },
	{ .call = SYS_madvise },
	{ .call = SYS_brk },
	{ SYS_clone, ALWAYS, 0, THREAD, THREAD },
	{ .call = SYS_clone3, NEVER },
	{ .call = SYS_set_robust_list },
	{ .call = SYS_rseq },
	{ .call = SYS_membarrier },
	{ .call = SYS_exit },
	{ .call = SYS_exit_group },
	{ .call = SYS_rt_sigaction },
	{ .call = SYS_rt_sigprocmask },
	{ .call = SYS_rt_sigreturn },
	{ .call = SYS_sigaltstack },
	{ .call = SYS_sched_yield },
	{ .call = SYS_sched_getaffinity },
	{ .call = SYS_sched_setscheduler },
	{ .call = SYS_sched_getscheduler },
	{ .call = SYS_sched_getparam },
	{ .call = SYS_sched_get_priority_min },
	{ .call = SYS_sched_get_priority_max },
	{ .call = SYS_setpriority },
	{ .call = SYS_getpriority },
	/* What we are, and what time it is. */
	{ .call = SYS_getpid },
	{ .call = SYS_gettid },
	{ .call = SYS_getppid },
	{ .call = SYS_getuid },
	{ .call = SYS_geteuid },
	{ .call = SYS_getgid },
	{ .call = SYS_getegid },
	{ .call = SYS_getgroups },
	{ .call = SYS_capget },
	{ .call = SYS_uname },
	{ .call = SYS_sysinfo },
	{ .call = SYS_getcpu },
	{ .call = SYS_getrusage },
	{ .call = SYS_getrandom },
	{ .call = SYS_clock_gettime },
	{ .call = SYS_clock_getres },
	{ .call = SYS_gettimeofday },
	{ SYS_prlimit64, ALWAYS, 0, ALL, 0 },
	{ SYS_prctl, ALWAYS, 0, ALL, PR_SET_NAME },
	{ SYS_prctl, ALWAYS, 0, ALL, PR_CAPBSET_READ },
	{ SYS_prctl, ALWAYS, 0, ALL, PR_SET_VMA },
	{ .call = SYS_setfsuid, AS_USER },
	{ .call = SYS_setfsgid, AS_USER },
	{ .call = SYS_setgroups, AS_USER },
	{ .call = SYS_accept4, SERVER },
	{ .call = SYS_recvfrom, SERVER },
	{ .call = SYS_sendmsg, SERVER },
	{ .call = SYS_setsockopt, SERVER },
	{ .call = SYS_shutdown, SERVER },
	{ SYS_setitimer, CLOCK, 0, ALL, ITIMER_PROF },
	/*
	 * Sampling: maps, iterators, what was loaded attached to CPUs that come; stacks of who
	 * sleeps.
	 */
	{ .call = SYS_perf_event_open, SAMPLING },
	{ .call = SYS_process_vm_readv, SAMPLING },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_CREATE },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_LOOKUP_ELEM },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_UPDATE_ELEM },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_DELETE_ELEM },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_GET_NEXT_KEY },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_LOOKUP_BATCH },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_LOOKUP_AND_DELETE_BATCH },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_UPDATE_BATCH },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_MAP_DELETE_BATCH },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_OBJ_GET_INFO_BY_FD },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_RAW_TRACEPOINT_OPEN },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_LINK_CREATE },
	{ SYS_bpf, SAMPLING, 0, ALL, BPF_ITER_CREATE },
	/* Whether a process is there. */
	{ SYS_kill, ALWAYS, 1, ALL, 0 },
	/* Keys; and files that are made and take the place of others. */
	{ SYS_ioctl, TERMINAL, 1, ALL, TCSETS },
	{ SYS_ioctl, TERMINAL, 1, ALL, TCSETSW },
	{ SYS_ioctl, TERMINAL, 1, ALL, TCSETSF },
	{ SYS_ioctl, TERMINAL, 1, ALL, TCFLSH },
	{ SYS_ioctl, TERMINAL, 1, ALL, TIOCGPGRP },
	{ SYS_openat, TERMINAL, 2, WRITES | O_NOFOLLOW, O_WRONLY | O_NOFOLLOW },
	{ SYS_openat, TERMINAL, 2, WRITES | O_EXCL, O_WRONLY | O_CREAT | O_EXCL },
	{ SYS_openat, TERMINAL, 2, WRITES | O_TMPFILE, O_WRONLY | O_TMPFILE },
	{ .call = SYS_linkat, TERMINAL },
	{ .call = SYS_renameat, TERMINAL },
	{ .call = SYS_unlinkat, TERMINAL },
	/* curl, what it loads, and the folder that libdebuginfod keeps files in. */
	{ .call = SYS_socket, NETWORK },
	{ .call = SYS_socketpair, NETWORK },
	{ .call = SYS_connect, NETWORK },
	{ .call = SYS_bind, NETWORK },
	{ .call = SYS_sendmsg, NETWORK },
	{ .call = SYS_sendmmsg, NETWORK },
	{ .call = SYS_recvfrom, NETWORK },
	{ .call = SYS_recvmsg, NETWORK },
	{ .call = SYS_getsockname, NETWORK },
	{ .call = SYS_getpeername, NETWORK },
	{ .call = SYS_getsockopt, NETWORK },
	{ .call = SYS_setsockopt, NETWORK },
	{ .call = SYS_shutdown, NETWORK },
	{ .call = SYS_pipe2, NETWORK },
	{ .call = SYS_dup, NETWORK },
	{ .call = SYS_mmap, NETWORK },
	{ .call = SYS_mprotect, NETWORK },
	{ .call = SYS_openat, NETWORK },
	{ .call = SYS_mkdirat, NETWORK },
	{ .call = SYS_unlinkat, NETWORK },
	{ .call = SYS_renameat, NETWORK },
	{ .call = SYS_renameat2, NETWORK },
	{ .call = SYS_utimensat, NETWORK },
	{ .call = SYS_fchmod, NETWORK },
	{ .call = SYS_ftruncate, NETWORK },
	{ .call = SYS_fsync, NETWORK },
	{ .call = SYS_flock, NETWORK },
	{ .call = SYS_umask, NETWORK },
	{ SYS_ioctl, NETWORK, 1, ALL, FIONREAD },
	{ SYS_ioctl, NETWORK, 1, ALL, FIONBIO },
#ifdef SYS_faccessat2
	{ .call = SYS_faccessat2 },
#endif
	/* The same by names that newer machines do without. */
#ifdef __x86_64__
	{ .call = SYS_stat },
	{ .call = SYS_lstat },
	{ .call = SYS_access },
	{ .call = SYS_readlink },
	{ .call = SYS_poll },
	{ .call = SYS_epoll_wait },
	{ .call = SYS_getrlimit },
	{ .call = SYS_time },
	{ .call = SYS_mkdir, NETWORK },
	{ .call = SYS_unlink, NETWORK },
	{ .call = SYS_rename, NETWORK },
	{ .call = SYS_rmdir, NETWORK },
	{ .call = SYS_open, NETWORK },
	{ .call = SYS_pipe, NETWORK },
	{ .call = SYS_utime, NETWORK },
	{ .call = SYS_utimes, NETWORK },
	{ .call = SYS_chmod, NETWORK },
	{ .call = SYS_select, NETWORK },
#endif
};

/* What is against speculation would slow all of us; a filter does not keep secrets from us. */
#define FLAGS (SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW)

typedef VEC(struct sock_filter) program_vec;

#define FIELD(name) offsetof(struct seccomp_data, name)

static void add(program_vec *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	vec_push(p, (struct sock_filter){ code, yes, no, k });
}

/* With the call's number in the accumulator, before and, where it does not hold, after. */
static void allow(program_vec *p, const struct rule *r)
{
	/* Both machines are little-endian: the half that counts comes first. */
	uint32_t argument = FIELD(args) + (uint32_t)r->arg * sizeof(uint64_t);

	add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, r->mask ? 5 : 1, (uint32_t)r->call);
	if (r->mask) {
		add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, argument);
		add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, r->mask);
		add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, r->value);
	}
	add(p, BPF_RET | BPF_K, 0, 0, r->when == NEVER ? NO_SUCH_CALL : SECCOMP_RET_ALLOW);
	if (r->mask)
		add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, FIELD(nr));
}

static int is_wanted(const struct rule *r, const struct sandbox_options *o)
{
	const int wanted[] = {
		[ALWAYS] = 1,
		[NEVER] = 1,
		[AS_USER] = o->becomes_user,
		[NETWORK] = o->network,
		[TERMINAL] = o->terminal,
		[CLOCK] = o->clock,
		[SAMPLING] = !o->sends,
		[SERVER] = o->server,
	};

	return wanted[r->when];
}

/* @otherwise is the answer to all else. */
static void compile(program_vec *p, const struct sandbox_options *o, uint32_t otherwise)
{
	/* raise() and abort(); a stop; and the command. */
	const struct rule own[] = {
		{ SYS_tgkill, ALWAYS, 0, ALL, (uint32_t)getpid() },
		{ SYS_kill, ALWAYS, 0, ALL, (uint32_t)getpid() },
		{ SYS_kill, ALWAYS, 0, ALL, (uint32_t)o->command },
	};

	/* Calls by the numbers of another machine (int 0x80). */
	add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, FIELD(arch));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
	add(p, BPF_RET | BPF_K, 0, 0, NO_SUCH_CALL);
	add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, FIELD(nr));
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (is_wanted(&rules[i], o))
			allow(p, &rules[i]);
	allow(p, &own[0]);
	allow(p, &own[1]);
	if (o->command > 0)
		allow(p, &own[2]);
	if (o->refusals)
		allow(p, &(struct rule){ SYS_sendmsg, ALWAYS, 0, ALL,
					 (uint32_t)refusals_socket(o->refusals) });
	if (o->answers)
		allow(p, &(struct rule){ SYS_recvmsg, ALWAYS, 0, ALL, (uint32_t)o->answers });
	add(p, BPF_RET | BPF_K, 0, 0, otherwise);
}

/* seccomp(2) with the filter: 0 or, with a listener, its descriptor; or a negative errno. */
static int set_filter(const struct sandbox_options *o, uint32_t otherwise, unsigned long flags)
{
	program_vec p = { 0 };
	struct sock_fprog program;
	long got;

	compile(&p, o, otherwise);
	program = (struct sock_fprog){ .len = (unsigned short)p.n, .filter = p.v };
	got = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (got < 0)
		got = -errno;
	vec_free(&p);
	return (int)got;
}

/*
 * A fact of the process, as the filter is; to ask the kernel would be one of the calls that are
 * refused.
 */
static atomic_int entered;

int sandbox_is_entered(void)
{
	return atomic_load(&entered);
}

int sandbox_enter(const struct sandbox_options *o)
{
	int err = sandbox_check(), listener = -1;

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (err)
		return err;
	/*
	 * There is one listener for a process and what started it, and a container's manager may
	 * have it.
	 */
	if (o->refusals)
		listener = set_filter(o, SECCOMP_RET_USER_NOTIF,
				      FLAGS | SECCOMP_FILTER_FLAG_NEW_LISTENER |
					      SECCOMP_FILTER_FLAG_TSYNC_ESRCH);
	if (listener >= 0) {
		atomic_store(&entered, 1);
		refusals_hand_over(o->refusals, listener);
		return 0;
	}
	err = set_filter(o, NO_SUCH_CALL, FLAGS);
	if (!err)
		atomic_store(&entered, 1);
	/* Above 0: a thread that has a filter of its own. */
	return err > 0 ? -EBUSY : err;
}

int sandbox_check(void)
{
	/* Looks at the program last. */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, FLAGS, NULL) < 0 && errno != EFAULT
		       ? -errno
		       : 0;
}
