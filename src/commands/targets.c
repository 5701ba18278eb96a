/* SPDX-License-Identifier: MIT */
#include "commands/targets.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "collect/perf_events.h"
#include "proc/container_find.h"
#include "proc/procfs.h"

/* Why nothing is known of @id. */
static int tell(struct error *e, int err, const char *kind, pid_t id, const char *hint)
{
	if (err == -ESRCH)
		return error_set(e, STATUS_NO_TARGET, err, "no %s %d; see %s", kind, id, hint);
	return error_set(e, STATUS_ERROR, err, "cannot look at the %s %d: %s", kind, id,
			 strerror(-err));
}

/* One whose threads have all ended; its leader may be a zombie while others run. */
static int is_zombie(const struct procfs_stat *st)
{
	return st->state == 'X' || (st->state == 'Z' && st->threads <= 1);
}

static int tell_zombie(struct error *e, pid_t pid, pid_t parent)
{
	char comm[16 + 1] = "?";

	procfs_comm(parent, comm);
	return error_set(e, STATUS_NO_TARGET, -ESRCH,
			 "process %d is a zombie: it has ended, and its parent %d (%s) has not "
			 "taken its exit status yet",
			 pid, parent, comm);
}

static int add_process(struct targets *t, pid_t pid, struct error *e)
{
	struct target x = { .id = pid };
	int err = procfs_tgid(pid, &x.tgid), kthread;
	struct procfs_stat st;

	if (err)
		return tell(e, err, "process with PID", pid, "ps -e");
	if (x.tgid != pid)
		return error_set(
			e, STATUS_NO_TARGET, -ESRCH,
			"%d is a thread of process %d; use -p %d, or -t %d for this thread", pid,
			x.tgid, x.tgid, pid);
	if (!procfs_stat(pid, &st) && is_zombie(&st))
		return tell_zombie(e, pid, st.ppid);
	kthread = procfs_is_kthread(pid);
	if (kthread > 0)
		t->kthreads++;
	x.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (x.pidfd < 0 && errno == ESRCH)
		return error_set(e, STATUS_NO_TARGET, -ESRCH, "process %d has just ended", pid);
	vec_push(&t->list, x);
	return 0;
}

static int add_thread(struct targets *t, pid_t tid, struct error *e)
{
	struct target x = { .id = tid, .pidfd = -1 };
	int err = procfs_tgid(tid, &x.tgid);

	if (err)
		return tell(e, err, "thread with TID", tid, "ps -eL");
	vec_push(&t->list, x);
	return 0;
}

/* -C names CPUs of which one is online, at least. */
static int check_cpus(const int_vec *asked, struct error *e)
{
	char online[128] = "?";
	size_t n = 0;
	int *cpus;

	if (!asked->n || perf_online_cpus(asked->v, asked->n, &cpus, &n))
		return 0;
	free(cpus);
	if (n)
		return 0;
	file_read("/sys/devices/system/cpu/online", online, sizeof(online));
	online[strcspn(online, "\n")] = '\0';
	if (asked->n > 1)
		return error_set(e, STATUS_NO_TARGET, -ENODEV,
				 "-C: none of these CPUs is online; online are %s", online);
	return error_set(e, STATUS_NO_TARGET, -ENODEV, "-C: CPU %d is not online; online are %s",
			 asked->v[0], online);
}

static void add_id(struct targets *t, pid_t id)
{
	size_t i = 0;

	while (i < t->ids.n && t->ids.v[i] != id)
		i++;
	if (i == t->ids.n)
		vec_push(&t->ids, id);
}

size_t targets_find_forked(struct targets *t, const struct target_options *o)
{
	size_t before = t->ids.n, n = 0;
	pid_t *pids = NULL;

	for (size_t i = 0; i < o->pids.n && !o->no_inherit; i++)
		procfs_descendants(o->pids.v[i], &pids, &n);
	for (size_t i = 0; i < n; i++)
		add_id(t, pids[i]);
	free(pids);
	return before;
}

/* -G: a cgroup, a container's id, or what a runtime or Kubernetes calls a container or pod. */
static int find_cgroup(const char *name, struct cgroup *out, struct error *e)
{
	struct error named = { 0 };
	int err = cgroup_find(name, out, e);

	if (err != -ENOENT || *name == '/')
		return err;
	err = container_cgroup("", name, out, &named);
	/* Of pods it knows more, and of several containers. */
	if (err && (err != -ENOENT || !strncmp(name, "pod/", 4)))
		*e = named;
	return err;
}

int targets_find(struct targets *t, const struct target_options *o, struct error *e)
{
	int err = check_cpus(&o->cpus, e);

	for (size_t i = 0; i < o->pids.n && !err; i++)
		err = add_process(t, o->pids.v[i], e);
	for (size_t i = 0; i < o->tids.n && !err; i++)
		err = add_thread(t, o->tids.v[i], e);
	if (!err && o->cgroup)
		err = find_cgroup(o->cgroup, &t->cgroup, e);
	if (!err && o->cgroup)
		cgroup_processes(&t->cgroup, &t->members);
	for (size_t i = 0; i < t->list.n && !err; i++)
		vec_push(&t->ids, t->list.v[i].id);
	if (!err)
		targets_find_forked(t, o);
	return err;
}

static int has_ended(const struct target *x)
{
	struct pollfd p = { .fd = x->pidfd, .events = POLLIN };
	char path[64];

	if (x->pidfd >= 0)
		return poll(&p, 1, 0) > 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", x->tgid, x->id);
	return access(path, F_OK) && errno == ENOENT;
}

int targets_ended(const struct targets *t)
{
	for (size_t i = 0; i < t->list.n; i++)
		if (!has_ended(&t->list.v[i]))
			return 0;
	return t->list.n > 0;
}

void targets_free(struct targets *t)
{
	for (size_t i = 0; i < t->list.n; i++)
		if (t->list.v[i].pidfd >= 0)
			close(t->list.v[i].pidfd);
	vec_free(&t->list);
	vec_free(&t->ids);
	vec_free(&t->members);
}
