/* SPDX-License-Identifier: MIT */
#include "targets.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/procfs.h"

/* Why nothing is known of @id. */
static int tell(struct error *e, int err, const char *kind, pid_t id, const char *hint)
{
	if (err == -ESRCH)
		return error_set(e, STATUS_NO_TARGET, err, "no %s %d; see %s", kind, id, hint);
	return error_set(e, STATUS_ERROR, err, "cannot look at the %s %d: %s", kind, id, strerror(-err));
}

static int add_process(struct targets *t, pid_t pid, struct error *e)
{
	struct target x = { .id = pid };
	int err = procfs_tgid(pid, &x.tgid), kthread;

	if (err)
		return tell(e, err, "process with PID", pid, "ps -e");
	if (x.tgid != pid)
		return error_set(e, STATUS_NO_TARGET, -ESRCH, "%d is a thread of process %d; use -p %d, or -t %d for this thread",
				 pid, x.tgid, x.tgid, pid);
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

int targets_find(struct targets *t, const struct record_options *o, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < o->pids.n && !err; i++)
		err = add_process(t, o->pids.v[i], e);
	for (size_t i = 0; i < o->tids.n && !err; i++)
		err = add_thread(t, o->tids.v[i], e);
	if (!err && t->kthreads && o->user_only)
		err = error_set(e, STATUS_USAGE, -EINVAL, "-U: a kernel thread has no user stack; leave -U out");
	if (!err && o->cgroup)
		err = cgroup_find(o->cgroup, &t->cgroup, e);
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
}
