/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/file.h"
#include "collect/probe.h"

/* Says so and returns 0 where loading is not allowed at all: then nothing can be tried. */
static int can_try(struct feature_result *r, int perfmon)
{
	if (probe_has_or_admin(CAP_BPF) && (!perfmon || probe_has_or_admin(CAP_PERFMON)))
		return 1;
	probe_say(r, FEATURE_SKIPPED, "the test needs CAP_BPF%s",
		  perfmon ? " and CAP_PERFMON" : "");
	return 0;
}

/* `r0 = 0; exit`, the least that is a program. Its file descriptor or a negative errno. */
static int load_least(enum bpf_prog_type type)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(type, "ebprof_probe", "Dual BSD/GPL", insns, 2, NULL);
}

static int make_ringbuf(void)
{
	uint32_t bytes = (uint32_t)sysconf(_SC_PAGESIZE);

	return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ebprof_probe", 0, 0, bytes, NULL);
}

void probe_kernel(struct feature_result *r)
{
	struct utsname u;
	int fd;

	if (uname(&u)) {
		probe_say(r, FEATURE_SKIPPED, "uname: %s", strerror(errno));
		return;
	}
	if (probe_release() >= 5008) {
		probe_say(r, FEATURE_OK, "%s", u.release);
		return;
	}
	/*
	 * Distributors carry newer BPF in older kernels (4.18.0-...el8): the newest thing needed
	 * decides.
	 */
	fd = make_ringbuf();
	if (fd >= 0) {
		close(fd);
		probe_say(r, FEATURE_DEGRADED, "%s, older than 5.8, but with newer BPF", u.release);
	} else {
		probe_say(r, FEATURE_MISSING, "%s, older than 5.8", u.release);
	}
}

void probe_btf(struct feature_result *r)
{
	unsigned char head[5];
	ssize_t n = file_read("/sys/kernel/btf/vmlinux", (char *)head, sizeof(head));

	/* BTF's magic number 0xeb9f, in the byte order of the machine (linux/btf.h). */
	if (n < 0)
		probe_say(r, FEATURE_MISSING, "/sys/kernel/btf/vmlinux: %s", strerror((int)-n));
	else if (n < 4 || *(uint16_t *)(void *)head != 0xeb9f)
		probe_say(r, FEATURE_MISSING, "/sys/kernel/btf/vmlinux holds no BTF");
	else
		probe_say(r, FEATURE_OK, "/sys/kernel/btf/vmlinux");
}

/* Closes @fd where it is one, and tells what it stands for. */
static void say_tried(struct feature_result *r, int fd, enum feature_state without)
{
	if (fd < 0) {
		probe_say(r, without, "%s", strerror(-fd));
		return;
	}
	close(fd);
	probe_say(r, FEATURE_OK, "works");
}

void probe_ringbuf(struct feature_result *r)
{
	if (can_try(r, 0))
		say_tried(r, make_ringbuf(), FEATURE_MISSING);
}

void probe_program(struct feature_result *r)
{
	if (can_try(r, 1))
		say_tried(r, load_least(BPF_PROG_TYPE_PERF_EVENT), FEATURE_MISSING);
}

void probe_fork_tracepoint(struct feature_result *r)
{
	int prog, link;

	if (!can_try(r, 1))
		return;
	prog = load_least(BPF_PROG_TYPE_RAW_TRACEPOINT);
	link = prog < 0 ? prog : bpf_raw_tracepoint_open("sched_process_fork", prog);
	say_tried(r, link, FEATURE_MISSING);
	if (prog >= 0)
		close(prog);
}

void probe_batch(struct feature_result *r)
{
	uint32_t key = 1, next, keys[4], count = 4;
	uint64_t value = 1, values[4];
	int map, err = 0;

	if (!can_try(r, 0))
		return;
	map = bpf_map_create(BPF_MAP_TYPE_HASH, "ebprof_probe", sizeof(key), sizeof(value), 4,
			     NULL);
	if (map < 0) {
		probe_say(r, FEATURE_MISSING, "cannot make a map: %s", strerror(-map));
		return;
	}
	err = bpf_map_update_elem(map, &key, &value, BPF_ANY);
	if (!err)
		err = bpf_map_lookup_batch(map, NULL, &next, keys, values, &count, NULL);
	/* ENOENT is the end of the map, and a success as long as our one element came. */
	if ((!err || err == -ENOENT) && count == 1 && keys[0] == key)
		probe_say(r, FEATURE_OK, "works");
	else
		probe_say(r, FEATURE_MISSING, "%s",
			  err ? strerror(-err) : "gave another element than it had");
	close(map);
}

void probe_task_btf(struct feature_result *r)
{
	if (!can_try(r, 1))
		return;
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_get_current_task_btf,
				    NULL) == 1)
		probe_say(r, FEATURE_OK, "works");
	else
		probe_say(r, FEATURE_SKIPPED,
			  "not in this kernel; nothing needs it in this version");
}

void probe_task_storage(struct feature_result *r)
{
	if (!can_try(r, 1))
		return;
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1)
		probe_say(r, FEATURE_OK, "works");
	else
		probe_say(r, FEATURE_DEGRADED, "this kernel keeps no storage for tasks");
}
