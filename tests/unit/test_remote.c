/* SPDX-License-Identifier: MIT */
/* Memory of other processes, and processes that answer late or never. */
#include "proc/remote.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define NEVER	1000	/* and above: PIDs that do not answer */
#define LATE	2	/* one that takes its time */
#define LATE_US	60000
#define LATE_MAX 17	/* answers of it until there was a second of them */

static int *calls;	/* of answers(), in the process that reads */

/* Only asked for by number: none of these processes is there. */
static ssize_t answers(pid_t pid, const struct iovec *local, unsigned long nlocal,
		       const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
	(void)nlocal;
	(void)remote;
	(void)nremote;
	(void)flags;
	__atomic_fetch_add(calls, 1, __ATOMIC_SEQ_CST);
	while (pid >= NEVER)
		pause();
	if (pid == LATE)
		usleep(LATE_US);
	memcpy(local->iov_base, "answer", 6);
	return 6;
}

TEST(pages_until_one_cannot_be_read)
{
	size_t size = 3 * 4096;
	char *memory = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct remote *r = remote_new(process_vm_readv);
	static char bytes[2 * REMOTE_BYTES];
	uint64_t at = (uintptr_t)memory + 100;

	CHECK(memory != MAP_FAILED);
	for (size_t i = 0; i < size; i++)
		memory[i] = (char)(i * 7 / 5);
	CHECK_EQ(mprotect(memory + size, 4096, PROT_NONE), 0);
	CHECK_EQ(remote_pages(r, getpid(), at, bytes, 5000), 5000);
	CHECK_EQ(memcmp(bytes, memory + 100, 5000), 0);
	CHECK_EQ(remote_pages(r, getpid(), at, bytes, sizeof(bytes)), size - 100);
	CHECK_EQ(memcmp(bytes, memory + 100, size - 100), 0);
	CHECK_EQ(remote_pages(r, getpid(), (uintptr_t)memory + size, bytes, 8), 0);
	/* All that one answer has room for. */
	CHECK_EQ(remote_pages(r, getpid(), (uintptr_t)bytes + 1, bytes, REMOTE_BYTES + 1),
		 REMOTE_BYTES);
	CHECK_EQ(remote_pages(NULL, getpid(), at, bytes, 8), 0);
	remote_free(r);
	munmap(memory, size + 4096);
}

static size_t ask(struct remote *r, pid_t pid)
{
	const struct iovec place = { NULL, 6 };
	char text[6] = "";
	size_t n = remote_read(r, pid, &place, 1, text);

	CHECK_EQ(n && memcmp(text, "answer", n), 0);
	return n;
}

TEST(places_until_one_cannot_be_read)
{
	static const char first[] = "one", second[] = "two";
	const struct iovec places[] = {
		{ (void *)first, 3 }, { (void *)second, 3 }, { (void *)16, 3 }, { (void *)first, 3 }
	};
	struct remote *r = remote_new(process_vm_readv);
	char text[12] = "";

	CHECK(r && remote_pid(r) > 0);
	CHECK_EQ(remote_read(r, getpid(), places, 4, text), 6);
	CHECK_STR(text, "onetwo");
	CHECK_EQ(remote_read(r, getpid(), places + 2, 2, text), 0);
	remote_free(r);
	CHECK_EQ(remote_read(NULL, getpid(), places, 1, text), 0);
	remote_free(NULL);
}

TEST(who_does_not_answer_is_asked_once)
{
	struct remote *r = remote_new(answers);
	pid_t pid = remote_pid(r);

	*calls = 0;
	CHECK_EQ(ask(r, 1), 6);
	CHECK_EQ(ask(r, NEVER), 0);
	CHECK_EQ(*calls, 2);
	CHECK_EQ(ask(r, NEVER), 0);
	CHECK_EQ(*calls, 2);
	/* Others are, by a thread that is free. */
	CHECK_EQ(ask(r, 1), 6);
	CHECK_EQ(ask(r, 3), 6);
	CHECK_EQ(*calls, 4);
	remote_free(r);
	kill(pid, SIGKILL);
}

TEST(nobody_is_asked_after_many_that_did_not_answer)
{
	struct remote *r = remote_new(answers);
	pid_t pid = remote_pid(r);

	*calls = 0;
	for (int i = 0; i < 50; i++)
		CHECK_EQ(ask(r, NEVER + i), 0);
	CHECK(*calls <= 10);
	CHECK_EQ(ask(r, 1), 0);
	remote_free(r);
	kill(pid, SIGKILL);
}

TEST(nobody_is_asked_after_many_that_were_late)
{
	struct remote *r = remote_new(answers);
	pid_t pid = remote_pid(r);

	*calls = 0;
	for (int i = 0; i < 2 * LATE_MAX; i++)
		ask(r, LATE);
	CHECK(*calls > 0 && *calls <= LATE_MAX);
	CHECK_EQ(ask(r, 1), 0);
	remote_free(r);
	kill(pid, SIGKILL);
}

int main(void)
{
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	RUN(places_until_one_cannot_be_read);
	RUN(pages_until_one_cannot_be_read);
	RUN(who_does_not_answer_is_asked_once);
	RUN(nobody_is_asked_after_many_that_did_not_answer);
	RUN(nobody_is_asked_after_many_that_were_late);
	return TEST_END();
}
