/* SPDX-License-Identifier: MIT */
#include "symbols/demangler.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "symbols/demangle_cxx.h"

#define MS		1000000u
/* CPU time of one name; usual ones take 10 us, the longest of LLVM's 300 */
#define NAME_MAX_US	20000
#define USUAL		(1 * MS)	/* ns of CPU time; names that take longer */
#define HELD_MAX	(2000 * MS)	/* have so much in all */
/* ns after which it is looked at whether the process is still there */
#define LOOK		(50 * MS)
/* so often: it is there and does not answer, which it should as soon as it runs */
#define LOOKS_MAX	200
#define JUMP_STACK	(64 * 1024)
#define STACK		(8u << 20)

/* What both processes have. What is in it may be anything once a name was hostile. */
struct shared {
	sem_t asked, answered;
	int over, gave_up;
	size_t size;		/* of @text; 0: not demangled */
	char name[DEMANGLER_NAME], text[DEMANGLER_TEXT];
};

struct demangler {
	struct shared *shared;
	pthread_mutex_t lock;
	pid_t pid;
	int lost;		/* it ended, and was waited for; or it does not answer */
};

/*
 * The signal's stack; where a handler finds what it begins with without a variable of the whole
 * process.
 */
struct jump_stack {
	sigjmp_buf leave;
	char room[JUMP_STACK];
};

/* --- The process. ----------------------------------------------------------------- */

/* No lock and no memory is held: demangle_cxx() works on the stack alone. */
static void leave_name(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	struct jump_stack *s = c->uc_stack.ss_sp;

	(void)signal;
	(void)info;
	siglongjmp(s->leave, 1);
}

static size_t answer(struct shared *s, struct jump_stack *jump)
{
	static const struct itimerval limit = { .it_value.tv_usec = NAME_MAX_US }, stop;
	volatile size_t n = 0;

	if (!sigsetjmp(jump->leave, 1)) {
		setitimer(ITIMER_PROF, &limit, NULL);
		n = demangle_cxx(s->name, s->text, sizeof(s->text));
	} else {
		n = 0;
		s->gave_up = 1;
	}
	/* A signal that is on its way comes before this returns. */
	setitimer(ITIMER_PROF, &stop, NULL);
	return n;
}

/* What can go wrong here goes wrong here alone. With the priority of who waits, where we may. */
static struct jump_stack *confine(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct rlimit stack = { STACK, STACK }, none = { 0, 0 };
	struct jump_stack *jump = xcalloc(1, sizeof(*jump));
	const stack_t on = { .ss_sp = jump, .ss_size = sizeof(*jump) };
	struct sigaction act = { .sa_sigaction = leave_name, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigset_t set;

	sched_setscheduler(0, SCHED_FIFO, &first);
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_STACK, &stack);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	caps_limit(0);
	sigaltstack(&on, NULL);
	sigemptyset(&act.sa_mask);
	sigaction(SIGPROF, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sandbox_enter(&(struct sandbox_options){ .clock = 1 });
	return jump;
}

static void serve(void *shared)
{
	struct jump_stack *jump = confine();
	struct shared *s = shared;
	uint64_t held = 0;

	while (child_turn(&s->asked), !s->over) {
		uint64_t begin = clock_thread_ns(), took;

		s->gave_up |= held >= HELD_MAX;
		s->size = held < HELD_MAX ? answer(s, jump) : 0;
		took = clock_thread_ns() - begin;
		held += took > USUAL ? took : 0;
		sem_post(&s->answered);
	}
}

/* --- Its owner. ------------------------------------------------------------------- */

struct demangler *demangler_new(void)
{
	struct shared *s = child_memory(sizeof(*s));
	struct demangler *d;
	pid_t pid;

	if (!s)
		return NULL;
	sem_init(&s->asked, 1, 0);
	sem_init(&s->answered, 1, 0);
	pid = child_serve(serve, s, sizeof(*s));
	if (pid < 0)
		return NULL;
	d = xcalloc(1, sizeof(*d));
	d->shared = s;
	d->pid = pid;
	thread_lock_init(&d->lock);
	return d;
}

void demangler_free(struct demangler *d)
{
	if (!d)
		return;
	d->shared->over = 1;
	sem_post(&d->shared->asked);
	if (!d->lost)
		child_wait(d->pid);
	munmap(d->shared, sizeof(*d->shared));
	pthread_mutex_destroy(&d->lock);
	free(d);
}

pid_t demangler_pid(const struct demangler *d)
{
	return d->pid;
}

/* 0 where it has answered. Its own clock bounds a name; this bounds what ends it, or stops it. */
static int wait_for_answer(struct demangler *d)
{
	int err = -1;

	for (int i = 0; err && i < LOOKS_MAX && !waitpid(d->pid, NULL, WNOHANG); i++)
		err = child_turn_until(&d->shared->answered, clock_ns() + LOOK);
	return err ? sem_trywait(&d->shared->answered) : 0;
}

size_t demangler_ask(struct demangler *d, const char *name, char *dst, size_t size)
{
	size_t length = strnlen(name, DEMANGLER_NAME), n = 0;

	if (!d || length == DEMANGLER_NAME)
		return 0;
	pthread_mutex_lock(&d->lock);
	if (!d->lost) {
		memcpy(d->shared->name, name, length + 1);
		sem_post(&d->shared->asked);
		d->lost = wait_for_answer(d) != 0;
		n = d->lost ? 0 : d->shared->size;
	}
	n = n < size && n < DEMANGLER_TEXT ? n : 0;
	memcpy(dst, d->shared->text, n);
	pthread_mutex_unlock(&d->lock);
	dst[n] = '\0';
	return strlen(dst);
}

int demangler_gave_up(struct demangler *d)
{
	return d && (d->lost || d->shared->gave_up);
}
