/* SPDX-License-Identifier: MIT */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbols/demangle_rust.h"

#ifndef sigev_notify_thread_id	/* missing from glibc's headers until 2.38 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define MAX_LINK_NAME	4096	/* longer names are copied */
#define MAX_CXX_REFS	12	/* back references that need no clock: at most 2^12 times the work */
#define MAX_CXX_NS	5000000	/* CPU time for one name; usual ones take 10 us */
#define MAX_D_WORK	16	/* as a power of two, at most so many times the work */
#define D_SYMBOL_WORK	4	/* of that, for the ways in which an ambiguous length is read: one for each digit */

/* One run of libiberty's demangler. */
struct cxx_run {
	sigjmp_buf leave;
	char *dst;
	size_t size, len;
};

/*
 * Takes a piece of output; leaves the demangler where it would not fit. That
 * leaks nothing: cplus_demangle_v3_callback() keeps all its state on its own
 * stack (its component and scope arrays are variable-length arrays), as its
 * header promises for the callback forms.
 */
static void take_output(const char *text, size_t n, void *opaque)
{
	struct cxx_run *run = opaque;

	if (n >= run->size - run->len)
		siglongjmp(run->leave, 1);
	memcpy(run->dst + run->len, text, n);
	run->len += n;
}

/*
 * The clock ran out. Only the thread that runs libiberty gets this signal, and
 * it does so while it computes or copies: no lock and no heap block is held.
 */
static void out_of_time(int signal, siginfo_t *info, void *context)
{
	struct cxx_run *run = info->si_value.sival_ptr;

	(void)signal;
	(void)context;
	if (info->si_code == SI_TIMER && run)
		siglongjmp(run->leave, 1);
}

/*
 * Runs libiberty on @name, against @timer if there is one. The jumps lead here
 * and nowhere else, and a signal that is on its way is delivered at the latest
 * when the call returns that stops the timer, so that none finds this frame gone.
 */
static int run_cxx(struct cxx_run *run, const char *name, const timer_t *timer)
{
	static const struct itimerspec limit = { .it_value.tv_nsec = MAX_CXX_NS }, stop;
	volatile int done = 0;

	if (!sigsetjmp(run->leave, 1)) {
		if (timer)
			timer_settime(*timer, 0, &limit, NULL);
		done = cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, take_output, run);
	} else {
		done = 0;
	}
	if (timer)
		timer_settime(*timer, 0, &stop, NULL);
	return done;
}

/*
 * Substitutions let a name of a few hundred bytes unfold to a tree of 2^100
 * nodes, and libiberty walks it, for the packs in it, without any output. So a
 * name with many of them gets a clock: of CPU time, of this thread, SIGVTALRM,
 * which nobody else here uses.
 */
static int run_cxx_timed(struct cxx_run *run, const char *name)
{
	struct sigaction act = { .sa_sigaction = out_of_time, .sa_flags = SA_SIGINFO }, old_act;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM };
	sigset_t set, old_set;
	timer_t timer;
	int done = 0;

	event.sigev_value.sival_ptr = run;
	event.sigev_notify_thread_id = gettid();
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		return 0;
	sigemptyset(&act.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, SIGVTALRM);
	if (!sigaction(SIGVTALRM, &act, &old_act)) {
		pthread_sigmask(SIG_UNBLOCK, &set, &old_set);
		done = run_cxx(run, name, &timer);
		pthread_sigmask(SIG_SETMASK, &old_set, NULL);
		sigaction(SIGVTALRM, &old_act, NULL);
	}
	timer_delete(timer);
	return done;
}

static size_t demangle_cxx(const char *name, char *dst, size_t size)
{
	struct cxx_run run = { .dst = dst, .size = size };
	size_t refs = 0;

	for (const char *p = name; *p; p++)
		refs += *p == 'S' || *p == 'T';
	if (refs > MAX_CXX_REFS ? !run_cxx_timed(&run, name) : !run_cxx(&run, name, NULL))
		return 0;
	dst[run.len] = '\0';
	return run.len;
}

/* Cuts "@VERSION" or "@@VERSION" off, and takes ".llvm.HASH" out. */
static void strip(char *name)
{
	char *p = strchr(name + 1, '@'), *end;

	if (p)
		*p = '\0';
	p = strstr(name + 1, ".llvm.");
	if (!p)
		return;
	end = p + strlen(".llvm.");
	end += strspn(end, "0123456789ABCDEF");
	if (end[-1] != '.' && (*end == '.' || !*end))
		memmove(p, end, strlen(end) + 1);
}

/* Where a Rust name ends and a clone's suffix begins; 0 where it is not a Rust name. */
static size_t rust_end(const char *name)
{
	size_t end = 0;

	if (!strncmp(name, "_R", 2))
		return strcspn(name, ".");
	if (strncmp(name, "_ZN", 3) != 0)
		return 0;
	/* A legacy name has dots of its own, but always ends with its hash. */
	for (const char *p = name; (p = strstr(p, "17h")); p++)
		if (strnlen(p, 21) >= 20 && p[19] == 'E' && (p[20] == '.' || !p[20]))
			end = (size_t)(p + 20 - name);
	return end;
}

/* Appends " [clone .cold]" for each part of @suffix: ".name" with the ".number"s that follow. */
static size_t append_clones(char *dst, size_t size, size_t len, const char *suffix)
{
	while (*suffix == '.') {
		size_t n = 1 + strcspn(suffix + 1, ".");
		int written;

		while (suffix[n] == '.' && suffix[n + 1] >= '0' && suffix[n + 1] <= '9')
			n += 1 + strcspn(suffix + n + 1, ".");
		written = snprintf(dst + len, size - len, " [clone %.*s]", (int)n, suffix);
		if (written < 0 || (size_t)written >= size - len)
			return 0;
		len += (size_t)written;
		suffix += n;
	}
	return len;
}

static size_t demangle_rust(const char *name, size_t end, char *dst, size_t size)
{
	size_t len = name[1] == 'R' ? demangle_rust_v0(name, end, dst, size) :
				      demangle_rust_legacy(name, end, dst, size);

	return len ? append_clones(dst, size, len, name + end) : 0;
}

/*
 * libiberty's decoder of D takes memory as it goes, so that no clock could end it. What multiplies its work
 * is counted beforehand: types that refer back, and symbols behind a length, which it tries at each digit.
 */
static size_t demangle_d(char *name, char *dst, size_t size)
{
	char *suffix = name + strcspn(name, "."), first = *suffix, *text;
	size_t work = 0, n = 0;

	for (const char *p = name; *p; p++)
		work += *p == 'Q' ? 1 : *p == 'S' && p[1] >= '0' && p[1] <= '9' ? D_SYMBOL_WORK : 0;
	if (work > MAX_D_WORK)
		return 0;
	*suffix = '\0';
	text = dlang_demangle(name, 0);
	*suffix = first;
	if (text && strlen(text) < size) {
		n = strlen(text);
		memcpy(dst, text, n + 1);
	}
	free(text);
	return n ? append_clones(dst, size, n, suffix) : 0;
}

int demangle(const char *raw, char *dst, size_t size)
{
	char name[MAX_LINK_NAME];
	size_t n = strnlen(raw, MAX_LINK_NAME), end;

	if (n > 1 && n < MAX_LINK_NAME) {
		memcpy(name, raw, n + 1);
		strip(name);
		end = rust_end(name);
		if (end && demangle_rust(name, end, dst, size))
			return 1;
		if (!strncmp(name, "_Z", 2) && demangle_cxx(name, dst, size))
			return 1;
		if (!strncmp(name, "_D", 2) && demangle_d(name, dst, size))
			return 1;
		raw = name;
	}
	n = strnlen(raw, size - 1);
	memcpy(dst, raw, n);
	dst[n] = '\0';
	return 0;
}
