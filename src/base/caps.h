/* SPDX-License-Identifier: MIT */
/*
 * Capabilities (capabilities(7)), by the system calls themselves: libcap is
 * not worth a dependency for a bit mask. They belong to a thread, so
 * caps_limit() is called before any other thread is made.
 *
 * What each use keeps, of what we had:
 *	TO_SAMPLE
 *	BPF			make and read maps, attach programs
 *	PERFMON			open events on every CPU, sampling programs
 *	SYS_PTRACE		/proc/PID/{maps,root,exe} of other users' processes
 *	DAC_READ_SEARCH		read other users' files, and tracefs
 *	SYSLOG			addresses in /proc/kallsyms
 *	CHECKPOINT_RESTORE	/proc/PID/map_files: files deleted since (5.9)
 *	SYS_ADMIN		only where the last one does not exist, or where a
 *				distributor's perf_event_paranoid above 2 asks for it
 *	IPC_LOCK		perf ring buffers beyond perf_event_mlock_kb
 *	SYS_RESOURCE		RLIMIT_MEMLOCK (before 5.11)
 *	SYS_NICE		its own priority
 *	TO_BECOME_USER
 *	SETUID, SETGID		files and the command as the invoking user
 *	TO_SIGNAL
 *	KILL			signals to the command, which may run as another user
 *	TO_WRITE
 *	DAC_OVERRIDE, FOWNER	root writes its output where root may
 *	TO_LOAD
 *	BPF, PERFMON		load sampling programs
 *	SYS_ADMIN		as above
 *	SYS_RESOURCE		the same
 *	TO_READ_MEMORY
 *	SYS_PTRACE		of other users' processes
 *	SYS_NICE		its own priority
 */
#ifndef EBPROF_CAPS_H
#define EBPROF_CAPS_H

/* 1 where this thread holds capability @cap (CAP_*) in its effective set, else 0. */
int caps_has(int cap);
/* 1 where a program that is started here can still be given @cap (the bounding set). */
int caps_can_be_given(int cap);
/* "CAP_BPF"; NULL for a number without a name. */
const char *caps_name(int cap);

enum caps_use {
	CAPS_TO_SAMPLE = 1, CAPS_TO_BECOME_USER = 2, CAPS_TO_SIGNAL = 4, CAPS_TO_WRITE = 8,
	CAPS_TO_READ_MEMORY = 16, CAPS_TO_LOAD = 32,
};

/*
 * Drops what no use in @uses (any of enum caps_use) needs from the permitted and effective sets,
 * and all of the inheritable and ambient ones. The bounding set stays: a
 * command that root starts may be anything. 0 or a negative errno.
 */
int caps_limit(unsigned int uses);

#endif
