/* SPDX-License-Identifier: MIT */
/* Each fact is compared with what the kernel itself says in /proc/self/status. */
#include "base/caps.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define BIT(cap) (1ULL << (cap))

/* A set by its name in /proc/self/status ("CapEff"); all ones where it cannot be read. */
static unsigned long long set_of(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long set = ~0ULL;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			set = strtoull(line + strlen(name) + 1, NULL, 16);
	if (f)
		fclose(f);
	return set;
}

TEST(names_follow_the_numbers)
{
	CHECK_STR(caps_name(CAP_CHOWN), "CAP_CHOWN");
	CHECK_STR(caps_name(CAP_SYS_PTRACE), "CAP_SYS_PTRACE");
	CHECK_STR(caps_name(CAP_SYS_ADMIN), "CAP_SYS_ADMIN");
	CHECK_STR(caps_name(CAP_SYSLOG), "CAP_SYSLOG");
	CHECK_STR(caps_name(38), "CAP_PERFMON");
	CHECK_STR(caps_name(39), "CAP_BPF");
	CHECK_STR(caps_name(40), "CAP_CHECKPOINT_RESTORE");
	CHECK(caps_name(-1) == NULL);
	CHECK(caps_name(63) == NULL);
}

TEST(has_agrees_with_the_kernel)
{
	unsigned long long effective = set_of("CapEff"), bounding = set_of("CapBnd");

	for (int cap = 0; cap <= 40; cap++) {
		CHECK_EQ(caps_has(cap), (effective >> cap) & 1);
		CHECK_EQ(caps_can_be_given(cap), (bounding >> cap) & 1);
	}
	CHECK_EQ(caps_has(-1), 0);
	CHECK_EQ(caps_has(64), 0);
	CHECK_EQ(caps_can_be_given(-1), 0);
}

/* In a child: there is no way back. Its exit status says whether all checks held. */
TEST(limit_leaves_what_a_profiler_needs)
{
	pid_t pid = fork();
	int status = -1;

	CHECK(pid >= 0);
	if (!pid) {
		const unsigned long long needed = BIT(39) | BIT(38) | BIT(40) |
						  BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) |
						  BIT(CAP_SYSLOG) | BIT(CAP_KILL);
		unsigned long long permitted = set_of("CapPrm"), effective = set_of("CapEff");
		unsigned long long bounding = set_of("CapBnd"), got;

		test_ok = 1;
		CHECK_EQ(caps_limit(CAPS_TO_SAMPLE | CAPS_TO_SIGNAL), 0);
		got = set_of("CapPrm");
		CHECK_EQ(got & ~permitted, 0);
		CHECK_EQ(got & needed, permitted & needed);
		CHECK_EQ(got & (BIT(CAP_SYS_MODULE) | BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_RAWIO) |
				BIT(CAP_CHOWN) | BIT(CAP_MKNOD) | BIT(CAP_SETPCAP) |
				BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_DAC_OVERRIDE) |
				BIT(CAP_FOWNER)),
			 0);
		CHECK_EQ(set_of("CapEff"), effective & got);
		CHECK_EQ(set_of("CapInh"), 0);
		CHECK_EQ(set_of("CapAmb"), 0);
		CHECK_EQ(set_of("CapBnd"), bounding);
		CHECK_EQ(caps_has(CAP_CHOWN), 0);
		CHECK_EQ(caps_limit(CAPS_TO_SIGNAL), 0);
		CHECK_EQ(set_of("CapPrm"), permitted & BIT(CAP_KILL));
		fflush(stdout);
		_exit(!test_ok);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	RUN(names_follow_the_numbers);
	RUN(has_agrees_with_the_kernel);
	RUN(limit_leaves_what_a_profiler_needs);
	return TEST_END();
}
