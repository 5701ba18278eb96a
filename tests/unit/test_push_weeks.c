/* SPDX-License-Identifier: MIT */
/*
 * A week in some seconds: 2,000 windows of a profile to which processes, programs and stacks come,
 * and from which they go, on the way that push gives them: service, window, part, pprof, folder.
 */
#include "unit/test.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "input/input.h"
#include "profile/profile_fold.h"
#include "push/push.h"

/*
 * Of the sanitizer that unit tests are built with, but in other builds of them; its header is not
 * everywhere.
 */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

#define WINDOWS 2000
#define FIRST_LOOK 200		/* what there is in memory from here on, for so many windows, */
#define LOOKS 600		/* is all that there ever is: a profile's growth is among them */
#define WINDOW_NS 10000000ull
#define STARTED 1		/* processes that a window starts; they live for two */
#define PROGRAMS 40		/* names of theirs */
#define NODES_MOST 500		/* then the profile is given up for a new one */
#define NO_PID 0x7f000000	/* numbers that no process has, from there on */
#define SLACK (16u << 10)	/* bytes: 14 a window are more */

struct week {
	char path[32];
	struct push *push;
	struct profile *profile;
	uint64_t started, random;
	uint64_t counted, came, windows;	/* samples, in files, times that were in files */
	uint64_t renewed;
	size_t first, last;	/* bytes in memory, at most: among first windows, and last */
};

static uint64_t draw(struct week *w, uint64_t n)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (w->random >> 33) % n;
}

/* Of a function that is called so, and has a name. */
static uint32_t call(struct profile *p, uint32_t parent, uint64_t number)
{
	uint32_t location = profile_location(p, 0, FRAME_USER, number);
	char name[32];

	if (!profile_view(p).locations[location].nlines) {
		struct line line = { 0 };

		snprintf(name, sizeof(name), "f%llu", (unsigned long long)number);
		line.function = profile_function(p, profile_string(p, name), 0, FRAME_USER);
		profile_name_location(p, location, &line, 1, "");
	}
	return profile_node(p, parent, location);
}

/* Samples of process @number: of stacks that all have, and of one that it alone has. */
static void sample(struct week *w, uint64_t number)
{
	struct profile *p = w->profile;
	char name[16];
	uint32_t process, thread, node;

	snprintf(name, sizeof(name), "program%llu", (unsigned long long)(number % PROGRAMS));
	process = profile_process(p, NO_PID + (pid_t)(number % 100000), (uint32_t)number,
				  profile_string(p, name));
	thread = profile_thread(p, process, 0, profile_string(p, name));
	for (int i = 0; i < 4; i++) {
		uint64_t n = 1 + draw(w, 5);

		node = call(p, call(p, 0, 1 + draw(w, 10)),
			    i ? 20 + draw(w, 20) : 1000 + number);
		profile_add(p, thread, node, n);
		w->counted += n;
	}
	profile_account(p)->taken = profile_account(p)->kept = w->counted;
}

/* What the files have; each is looked at once. */
static void take_files(struct week *w)
{
	DIR *d = opendir(w->path);
	struct dirent *entry;

	while ((entry = readdir(d))) {
		struct input_notes notes = { 0 };
		struct profile *p;
		struct error e;
		char path[600];

		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", w->path, entry->d_name);
		p = input_read(path, &notes, &e);
		CHECK(p != NULL);
		w->came += p ? profile_view(p).types[0].total : 0;
		w->windows += p ? profile_meta(p)->duration : 0;
		profile_free(p);
		unlink(path);
	}
	closedir(d);
}

/* As session_renew() and session_fold() do it. */
static void forget(struct week *w, uint64_t oldest)
{
	const struct profile_view v = profile_view(w->profile);
	unsigned char *ended = calloc(v.nprocesses + 1, 1);

	for (size_t i = 0; i < v.nprocesses; i++)
		ended[i] = v.processes[i].pid && v.processes[i].incarnation < oldest;
	if (v.nnodes > NODES_MOST && push_has_all(w->push, w->profile)) {
		struct profile *old = w->profile;

		w->profile = profile_new();
		*profile_account(w->profile) = *profile_account(old);
		push_renew(w->push, old, w->profile);
		profile_free(old);
		w->renewed++;
	} else {
		profile_fold(w->profile, ended, NULL, " (ended)");
		push_fold(w->push, w->profile);
	}
	free(ended);
}

static void window(struct week *w, uint64_t i, uint64_t begin)
{
	uint64_t first = i * STARTED;

	for (uint64_t number = first < STARTED ? 0 : first - STARTED; number < first + STARTED;
	     number++)
		sample(w, number);
	push_look(w->push, w->profile);
	profile_meta(w->profile)->start = begin;
	profile_meta(w->profile)->duration = (i + 1) * WINDOW_NS;
	push_take(w->push, w->profile);
	CHECK(push_is_ready(w->push, w->profile));
	push_send(w->push, w->profile);
	take_files(w);
	CHECK_EQ(w->came, w->counted);
	forget(w, first);
}

static size_t bytes_in_use(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return mallinfo2().uordblks;
}

static void look(struct week *w, uint64_t i)
{
	size_t now = bytes_in_use();

	if (i >= FIRST_LOOK && i < FIRST_LOOK + LOOKS && now > w->first)
		w->first = now;
	if (i >= WINDOWS - LOOKS && now > w->last)
		w->last = now;
}

TEST(two_thousand_windows)
{
	string_vec to = { 0 };
	struct push_options options = { .every = WINDOW_NS,
					.places = { .keep_for = 3600000000000ull,
						    .keep_bytes = 1u << 30 } };
	struct push_setup setup = { .options = &options, .user = &(struct user){ 0 } };
	struct week w = { "/tmp/ebprof-weeks-XXXXXX", .random = 1, .profile = profile_new() };
	uint64_t begin = clock_wall_ns();
	struct error e;

	CHECK(mkdtemp(w.path) != NULL);
	vec_push(&to, w.path);
	options.to = to;
	w.push = push_new(&setup, &e);
	for (uint64_t i = 0; w.push && i < WINDOWS; i++) {
		window(&w, i, begin);
		look(&w, i);
	}
	CHECK(w.renewed > 5);
	CHECK(w.last <= w.first + SLACK);
	CHECK(push_adds_up(w.push, w.profile));
	CHECK_EQ(push_counts(w.push).windows, WINDOWS);
	CHECK_EQ(push_counts(w.push).failed, 0);
	profile_free(w.profile);
	w.profile = NULL;
	push_free(w.push);
	vec_free(&to);
	rmdir(w.path);
}

int main(void)
{
	RUN(two_thousand_windows);
	return TEST_END();
}
