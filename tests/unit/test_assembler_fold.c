/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/profile_fold.h"
#include "session/assembler.h"
#include "sources/samples.h"
#include "sources/waits.h"

#define P (1 << 28)	/* PIDs from here on are above PID_MAX_LIMIT: they are in no /proc */
#define LIVE (P + 5000)
#define MANY 900	/* processes of one sample: enough to be folded */
#define HOUR 3600000000000ull

static struct images *images;
static struct procs *procs;
static struct profile *profile;
static struct sources sources;	/* samples, and how long threads run and wait */
static struct assembler *assembler;

static void begin(void)
{
	static const struct samples_options samples = { .event = { .name = "cpu-clock" } };
	static const struct waits_options waits = { .wall = 1 };

	images = images_new();
	procs = procs_new(images, NULL);
	profile = profile_new();
	sources_add(&sources, samples_new(&samples));
	sources_add(&sources, waits_new(&waits));
	assembler = assembler_new(profile, images, procs, NULL, &sources, 0);
	assembler_serve(assembler);
	sources_begin(&sources);
}

static void end(void)
{
	assembler_free(assembler);
	sources_free(&sources);
	sources = (struct sources){ 0 };
	profile_free(profile);
	procs_free(procs);
	images_free(images);
}

static void count(pid_t pid, uint64_t time, enum ebp_result result, enum ebp_share share,
		  uint64_t n, uint64_t ns)
{
	const struct ebp_key key = {
		.process = { .tgid = (uint32_t)pid, .start = time },
		.tid = (uint32_t)pid,
		.comm = "x",
		.result = (uint16_t)result,
		.kind = share == EBP_OF_CLASS ? EBP_RUNNING : EBP_ON_CPU,
		.share = (uint8_t)share,
	};
	const struct ebp_count c = { .n = n, .ns = ns };

	assembler_count(assembler, &key, &c, time);
}

static void start(pid_t pid, uint64_t time)
{
	const struct image_key code = { .path = "/a", .inode = 1, .start = 0x1000, .end = 0x2000 };

	procs_exec(procs, time, pid, pid == LIVE ? "live" : "brief");
	procs_mmap(procs, time, pid, &code, 0);
}

/*
 * @n processes that are sampled once each, every other one with a stack that is not whole, and end.
 */
static void storm(int n, uint64_t time)
{
	for (pid_t pid = P; pid < P + n; pid++) {
		start(pid, time);
		count(pid, time, pid % 2 ? EBP_NO_CFI : EBP_COMPLETE, EBP_OWN, 1, 0);
		procs_exit(procs, time + 1, pid);
	}
	procs_forget(procs, time + 2);
}

/* What is older than @age is folded. */
static void fold(uint64_t age)
{
	uint64_t now;

	assembler_update(assembler);
	now = clock_ns();
	while (clock_ns() == now)
		continue;
	assembler_fold(assembler, age, "");
}

static uint64_t of_pid(pid_t pid, uint32_t type)
{
	struct profile_view v = profile_view(profile);
	uint64_t sum = 0;

	for (size_t i = 0; i < v.nsamples; i++)
		if (v.processes[v.threads[v.samples[i].thread].process].pid == pid)
			sum += profile_values(profile, type)[i];
	return sum;
}

/* What runs is known, and what ended is not; what became of samples stays. */
TEST(a_new_one_takes_over)
{
	struct profile *next = profile_new();
	struct assembler *a;

	begin();
	storm(MANY, 100);
	start(LIVE, 200);
	count(LIVE, 200, EBP_LOST_REGISTER, EBP_OWN, 4, 0);
	assembler_update(assembler);
	a = assembler_new(next, images, procs, NULL, &sources, 0);
	CHECK(assembler_bytes(a) < assembler_bytes(assembler));
	assembler_inherit(a, assembler, 0);
	CHECK_EQ(profile_view(next).nprocesses, 1);
	CHECK_EQ(profile_view(next).processes[0].pid, LIVE);
	CHECK_EQ(assembler_results(a)[EBP_LOST_REGISTER], 4);
	assembler_free(assembler);
	profile_free(profile);
	assembler = a;
	profile = next;
	assembler_serve(assembler);
	sources_begin(&sources);
	count(LIVE, 200, EBP_LOST_REGISTER, EBP_OWN, 3, 0);
	CHECK_EQ(profile_view(next).nprocesses, 1);
	CHECK_EQ(of_pid(LIVE, 0), 3);
	CHECK_EQ(assembler_results(a)[EBP_LOST_REGISTER], 7);
	end();
}

/* A stack of one frame. */
static void one_frame(struct assembler *a, uint64_t id, enum ebp_record_type type, uint64_t frame)
{
	struct ebp_stack *s = xcalloc(1, sizeof(*s) + sizeof(frame));

	s->head = (struct ebp_head){ .type = type, .n = 1 };
	s->id = id;
	s->result = EBP_COMPLETE;
	memcpy(s->frames, &frame, sizeof(frame));
	assembler_stack(a, s);
	free(s);
}

static void name_last(const char *function, const char *module, enum frame_kind kind, uint32_t line)
{
	struct line l = { .file = profile_string(profile, "main.c"), .line = line };

	l.function = profile_function(profile, profile_string(profile, function),
				      profile_string(profile, module), kind);
	profile_name_location(profile, (uint32_t)profile_view(profile).nlocations - 1, &l, 1, "");
}

/* Of location @i of @p, "" where it has no name. */
static const char *name_of(const struct profile *p, uint32_t i)
{
	struct profile_view v = profile_view(p);
	const struct location *l = &v.locations[i];

	return l->nlines ? profile_text(p, v.functions[v.lines[l->first_line].function].name) : "";
}

/* What is in a file, or built into the kernel, is named once. */
TEST(names_are_taken_over)
{
	struct profile *next = profile_new();
	struct assembler *a;

	begin();
	start(LIVE, 200);
	one_frame(assembler, 1, EBP_STACK, EBP_FRAME(0, 0x10));
	name_last("function", "a", FRAME_USER, 7);
	one_frame(assembler, 2, EBP_STACK, EBP_FRAME(0, 0x20));
	one_frame(assembler, 3, EBP_KERNEL_STACK, 0xffffffff81000000);
	name_last("schedule", "[kernel]", FRAME_KERNEL, 0);
	one_frame(assembler, 4, EBP_KERNEL_STACK, 0xffffffffc1000000);
	name_last("ext4_read", "[ext4]", FRAME_KERNEL, 0);
	a = assembler_new(next, images, procs, NULL, &sources, 0);
	one_frame(a, 4, EBP_KERNEL_STACK, 0xffffffffc1000000);
	one_frame(a, 3, EBP_KERNEL_STACK, 0xffffffff81000000);
	one_frame(a, 2, EBP_STACK, EBP_FRAME(0, 0x20));
	one_frame(a, 5, EBP_STACK, EBP_FRAME(0, 0x30));
	one_frame(a, 1, EBP_STACK, EBP_FRAME(0, 0x10));
	assembler_inherit(a, assembler, 0);
	CHECK_EQ(profile_view(next).nlocations, 5);
	/* Another module may have been loaded there since. */
	CHECK_STR(name_of(next, 0), "");
	CHECK_STR(name_of(next, 1), "schedule");
	CHECK_STR(name_of(next, 2), "");
	CHECK_STR(name_of(next, 3), "");
	CHECK_STR(name_of(next, 4), "function");
	CHECK_EQ(profile_view(next).lines[profile_view(next).locations[4].first_line].line, 7);
	assembler_free(a);
	profile_free(next);
	end();
}

/* What the kernel side tells may be wrong, such as a number whose file is no more. */
TEST(a_number_of_no_file_has_no_name)
{
	const unsigned char all = 1;

	begin();
	start(P, 200);
	procs_exit(procs, 201, P);
	procs_forget(procs, 300);
	images_retire(images, &all);
	images_reuse(images, &all);
	CHECK_EQ(images_at(images, 0)->state, IMAGE_UNUSED);
	one_frame(assembler, 1, EBP_STACK, EBP_FRAME(0, 0x10));
	one_frame(assembler, 2, EBP_STACK, EBP_FRAME(1, 0x20));
	CHECK_EQ(profile_view(profile).nlocations, 2);
	CHECK_STR(name_of(profile, 0), "[unknown]");
	CHECK_STR(name_of(profile, 1), "[unknown]");
	end();
}

TEST(what_ended_long_ago_becomes_one)
{
	begin();
	storm(MANY, 100);
	start(LIVE, 200);
	count(LIVE, 200, EBP_LOST_REGISTER, EBP_OWN, 1, 0);
	fold(HOUR);
	CHECK_EQ(profile_view(profile).nprocesses, MANY + 1);
	fold(0);
	CHECK_EQ(profile_view(profile).nprocesses, 2);
	CHECK_EQ(profile_view(profile).nsamples, 3);
	CHECK_EQ(of_pid(0, 0), MANY);
	/* Samples are still what they were: of the live one, and whole or not. */
	count(LIVE, 200, EBP_LOST_REGISTER, EBP_OWN, 10, 0);
	CHECK_EQ(profile_view(profile).nsamples, 3);
	count(LIVE, 200, EBP_COMPLETE, EBP_OWN, 100, 0);
	CHECK_EQ(of_pid(LIVE, 0), 111);
	CHECK_EQ(assembler_results(assembler)[EBP_COMPLETE], MANY / 2 + 100);
	CHECK_EQ(assembler_results(assembler)[EBP_NO_CFI], MANY / 2);
	CHECK_EQ(assembler_results(assembler)[EBP_LOST_REGISTER], 11);
	CHECK_EQ(profile_view(profile).nprocesses, 2);
	end();
}

TEST(again_and_again_nothing_grows)
{
	begin();
	start(LIVE, 50);
	count(LIVE, 50, EBP_COMPLETE, EBP_OWN, 1, 0);
	for (uint64_t i = 1; i <= 5; i++) {
		storm(MANY, 100 * i);
		CHECK_EQ(procs_count(procs), MANY + 1);
		CHECK_EQ(profile_view(profile).nprocesses, MANY + (i > 1 ? 2 : 1));
		fold(0);
		CHECK_EQ(profile_view(profile).nprocesses, 2);
		CHECK_EQ(profile_view(profile).nsamples, 3);
		CHECK_EQ(of_pid(0, 0), i * MANY);
	}
	/* Few are let be. */
	storm(10, 1000);
	fold(0);
	CHECK_EQ(profile_view(profile).nprocesses, 12);
	end();
}

/* A recording keeps some ten thousand apart, and no more. */
TEST(room_is_made_where_there_are_very_many)
{
	uint64_t looked;
	int made;

	begin();
	start(LIVE, 50);
	count(LIVE, 50, EBP_COMPLETE, EBP_OWN, 1, 0);
	storm(4000, 100);
	CHECK_EQ(assembler_make_room(assembler, 0), 0);
	CHECK_EQ(profile_view(profile).nprocesses, 4001);
	for (uint64_t i = 2; i <= 10; i++)
		storm(4000, 100 * i);
	looked = clock_ns();
	CHECK_EQ(assembler_make_room(assembler, 0), 1);
	CHECK_EQ(assembler_folded(assembler), 40000);
	CHECK_EQ(profile_view(profile).nprocesses, 2);
	CHECK_EQ(of_pid(0, 0), 40000);
	CHECK_STR(profile_text(profile, profile_view(profile).processes[1].comm), "brief");
	/* Not again within three seconds. */
	storm(40000, 2000);
	made = assembler_make_room(assembler, 0);
	CHECK(!made || clock_ns() - looked > 2900000000u);
	end();
}

/* Of a process that ended before its first sample is counted. */
static void late(pid_t pid, uint64_t time)
{
	start(pid, time);
	procs_exit(procs, time + 1, pid);
	count(pid, time, EBP_COMPLETE, EBP_OWN, 1, 0);
}

/* Once there are many, what ended before it was counted takes no room of its own. */
TEST(brief_ones_are_one_from_the_beginning)
{
	enum { APART = 2048, LATE = 2000 };

	begin();
	assembler_fold_brief(assembler);
	start(LIVE, 50);
	count(LIVE, 50, EBP_COMPLETE, EBP_OWN, 1, 0);
	for (pid_t pid = P; pid < P + APART - 1; pid++)
		late(pid, 100);
	CHECK_EQ(profile_view(profile).nprocesses, APART);
	CHECK_EQ(assembler_folded(assembler), 0);
	for (pid_t pid = P + APART; pid < P + APART + LATE; pid++)
		late(pid, 200);
	/* All of them are this one; one that still runs is itself. */
	CHECK_EQ(profile_view(profile).nprocesses, APART + 1);
	CHECK_EQ(of_pid(0, 0), LATE);
	CHECK_EQ(assembler_folded(assembler), LATE);
	start(P + APART - 1, 300);
	count(P + APART - 1, 300, EBP_COMPLETE, EBP_OWN, 1, 0);
	CHECK_EQ(of_pid(P + APART - 1, 0), 1);
	/* It is one with those that are folded afterwards, and none of them is known any more. */
	procs_forget(procs, 400);
	CHECK_EQ(assembler_make_room(assembler, 0), 1);
	CHECK_EQ(profile_view(profile).nprocesses, 3);
	CHECK_EQ(of_pid(0, 0), LATE + APART - 1);
	CHECK_EQ(assembler_folded(assembler), LATE + APART - 1);
	late(P, 500);
	CHECK_EQ(of_pid(P, 0), 1);
	end();
}

/* Who ends waits is that process; an interrupt where @pid is 0. */
static void waker(uint64_t id, pid_t pid, uint64_t time)
{
	struct ebp_waker w = { .head.type = EBP_WAKER,
			       .id = id,
			       .key = { .tid = (uint32_t)pid, .comm = "w" } };

	if (pid)
		w.key.process = (struct ebp_process){ .tgid = (uint32_t)pid, .start = time };
	CHECK(sources_record(&sources, &w.head));
}

/* Time of waits with a mark "[woken by ...]", which is below "[blocked]". */
static uint64_t told(void)
{
	struct profile_view v = profile_view(profile);
	uint64_t sum = 0;

	for (size_t i = 0; i < v.nsamples; i++)
		sum += v.samples[i].labels && v.nodes[v.samples[i].node].parent
			       ? profile_values(profile, 1)[i]
			       : 0;
	return sum;
}

/* Whether a wait of the live one that @id ended is told to be so. */
static int is_told(uint64_t id)
{
	const struct ebp_key key = {
		.process = { .tgid = LIVE, .start = 200 },
		.tid = LIVE,
		.kind = EBP_BLOCKED,
		.waker = id,
		.comm = "x",
	};
	uint64_t before = told();

	assembler_count(assembler, &key, &(struct ebp_count){ .n = 1, .ns = 1 }, 200);
	return told() > before;
}

TEST(wakers_go_with_their_processes)
{
	begin();
	storm(MANY, 100);
	start(LIVE, 200);
	count(LIVE, 200, EBP_COMPLETE, EBP_OWN, 1, 0);
	for (int i = 0; i < MANY; i++)
		waker(1000 + (uint64_t)i, P + i, 100);
	waker(1, LIVE, 200);
	waker(2, 0, 0);
	fold(0);
	CHECK(!is_told(1000));
	CHECK(is_told(1));
	CHECK(is_told(2));
	end();
}

/* Time on the CPU goes to the thread's samples, wherever they are by now. */
TEST(shares_go_on)
{
	begin();
	storm(MANY, 100);
	start(LIVE, 200);
	count(LIVE, 200, EBP_COMPLETE, EBP_OWN, 1, 0);
	count(LIVE, 200, EBP_COMPLETE, EBP_OF_CLASS, 0, 50);
	fold(0);
	CHECK_EQ(of_pid(LIVE, 1), 50);
	count(LIVE, 200, EBP_COMPLETE, EBP_OF_CLASS, 0, 500);
	assembler_update(assembler);
	CHECK_EQ(of_pid(LIVE, 1), 550);
	CHECK_EQ(of_pid(0, 1), 0);
	end();
}

/* One that ended, or of a process that is not there: no such number is used. */
static pid_t ended_tid(int i)
{
	return P + 100000 + i;
}

/* @n threads of our own process, which goes on, each with a sample of its own; they have ended. */
static void threads(int first, int n)
{
	for (int i = first; i < first + n; i++) {
		const struct ebp_key key = {
			.process = { .tgid = (uint32_t)getpid(), .start = 1 },
			.tid = (uint32_t)ended_tid(i),
			.comm = "worker",
			.kind = EBP_ON_CPU,
			.share = EBP_OWN,
		};

		assembler_count(assembler, &key, &(struct ebp_count){ .n = 1 }, 1);
	}
}

static void begin_threads(int per_thread)
{
	begin();
	assembler_fold_brief(assembler);
	sources.host.per_thread = per_thread;
	threads(0, 2047);
	CHECK_EQ(assembler_make_room(assembler, 0), 0);
	threads(2047, 2047);
}

TEST(threads_that_ended_are_one)
{
	begin_threads(0);
	CHECK_EQ(profile_view(profile).nthreads, 4094);
	CHECK_EQ(assembler_make_room(assembler, 0), 1);
	CHECK_EQ(profile_view(profile).nthreads, 1);
	CHECK_EQ(profile_view(profile).threads[0].tid, ended_tid(0));
	CHECK_EQ(of_pid(getpid(), 0), 4094);
	CHECK_EQ(assembler_folded_threads(assembler), 4093);
	CHECK_EQ(assembler_folded(assembler), 0);
	end();
}

TEST(threads_that_are_to_be_told_apart_are)
{
	begin_threads(1);
	CHECK_EQ(assembler_make_room(assembler, 0), 0);
	CHECK_EQ(profile_view(profile).nthreads, 4094);
	CHECK_EQ(assembler_folded_threads(assembler), 0);
	end();
}

int main(void)
{
	RUN(a_new_one_takes_over);
	RUN(names_are_taken_over);
	RUN(a_number_of_no_file_has_no_name);
	RUN(what_ended_long_ago_becomes_one);
	RUN(again_and_again_nothing_grows);
	RUN(room_is_made_where_there_are_very_many);
	RUN(brief_ones_are_one_from_the_beginning);
	RUN(wakers_go_with_their_processes);
	RUN(shares_go_on);
	RUN(threads_that_ended_are_one);
	RUN(threads_that_are_to_be_told_apart_are);
	return TEST_END();
}
