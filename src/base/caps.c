/* SPDX-License-Identifier: MIT */
#include "base/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

/* Capabilities that came with 5.8 and 5.9: the headers we are built with may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* By number: linux/capability.h. */
static const char *const names[] = {
	"CAP_CHOWN",
	"CAP_DAC_OVERRIDE",
	"CAP_DAC_READ_SEARCH",
	"CAP_FOWNER",
	"CAP_FSETID",
	"CAP_KILL",
	"CAP_SETGID",
	"CAP_SETUID",
	"CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST",
	"CAP_NET_ADMIN",
	"CAP_NET_RAW",
	"CAP_IPC_LOCK",
	"CAP_IPC_OWNER",
	"CAP_SYS_MODULE",
	"CAP_SYS_RAWIO",
	"CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE",
	"CAP_SYS_PACCT",
	"CAP_SYS_ADMIN",
	"CAP_SYS_BOOT",
	"CAP_SYS_NICE",
	"CAP_SYS_RESOURCE",
	"CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
	"CAP_MKNOD",
	"CAP_LEASE",
	"CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL",
	"CAP_SETFCAP",
	"CAP_MAC_OVERRIDE",
	"CAP_MAC_ADMIN",
	"CAP_SYSLOG",
	"CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ",
	"CAP_PERFMON",
	"CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
};

/* caps.h says what each is for; CAP_SYS_ADMIN is decided by needs_admin(). */
static const struct {
	int cap;
	unsigned int uses;
} kept[] = {
	{ CAP_BPF, CAPS_TO_SAMPLE | CAPS_TO_LOAD },
	{ CAP_PERFMON, CAPS_TO_SAMPLE | CAPS_TO_LOAD },
	{ CAP_SYS_PTRACE, CAPS_TO_SAMPLE | CAPS_TO_READ_MEMORY },
	{ CAP_DAC_READ_SEARCH, CAPS_TO_SAMPLE },
	{ CAP_SYSLOG, CAPS_TO_SAMPLE },
	{ CAP_CHECKPOINT_RESTORE, CAPS_TO_SAMPLE },
	{ CAP_IPC_LOCK, CAPS_TO_SAMPLE },
	{ CAP_SYS_RESOURCE, CAPS_TO_SAMPLE | CAPS_TO_LOAD },
	{ CAP_SYS_NICE, CAPS_TO_SAMPLE | CAPS_TO_READ_MEMORY },
	{ CAP_SETUID, CAPS_TO_BECOME_USER },
	{ CAP_SETGID, CAPS_TO_BECOME_USER },
	{ CAP_KILL, CAPS_TO_SIGNAL },
	{ CAP_DAC_OVERRIDE, CAPS_TO_WRITE },
	{ CAP_FOWNER, CAPS_TO_WRITE },
};

/* Version 3 of the interface takes two 32-bit words of each set. */
struct sets {
	struct __user_cap_data_struct word[2];
};

static int sets_get(struct sets *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, s->word) ? -errno : 0;
}

static int sets_put(const struct sets *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, s->word) ? -errno : 0;
}

int caps_has(int cap)
{
	struct sets s;

	if (cap < 0 || cap > 63 || sets_get(&s))
		return 0;
	return s.word[cap / 32].effective >> cap % 32 & 1;
}

int caps_can_be_given(int cap)
{
	return prctl(PR_CAPBSET_READ, (unsigned long)cap, 0, 0, 0) == 1;
}

const char *caps_name(int cap)
{
	return cap >= 0 && (size_t)cap < sizeof(names) / sizeof(names[0]) ? names[cap] : NULL;
}

/*
 * Ubuntu's kernels, and Debian's at times, carry a patch by which
 * perf_event_open(2) takes CAP_SYS_ADMIN, and not CAP_PERFMON, where
 * kernel.perf_event_paranoid is above 2, the highest level that mainline knows.
 * An unreadable file means that as well: dropping it would be a guess.
 */
static int needs_admin(void)
{
	long level;

	if (prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) < 0)
		return 1;
	return file_read_long("/proc/sys/kernel/perf_event_paranoid", &level) || level > 2;
}

int caps_limit(unsigned int uses)
{
	uint64_t keep = 0;
	struct sets s;
	int err;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		keep |= kept[i].uses & uses ? 1ULL << kept[i].cap : 0;
	if (uses & (CAPS_TO_SAMPLE | CAPS_TO_LOAD) && needs_admin())
		keep |= 1ULL << CAP_SYS_ADMIN;
	err = sets_get(&s);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		s.word[i].permitted &= (uint32_t)(keep >> 32 * i);
		s.word[i].effective &= s.word[i].permitted;
		s.word[i].inheritable = 0;
	}
	/* Ambient ones fall with the inheritable: the kernel keeps them a subset. */
	return sets_put(&s);
}
