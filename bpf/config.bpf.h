/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The configuration as the programs see it, with what holds unless it is set. */
#ifndef EBPROF_CONFIG_BPF_H
#define EBPROF_CONFIG_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/config.h"

const volatile struct ebp_config config = {
	.seed = 1,
	.frames = 127,
	.user_frames = EBP_FRAMES_MAX,
	.seen_stacks = 1,
	.seen_processes = 1,
	.user = 1,
	.kernel = 1,
	.rescue = 1,
	.filter = { .cgroup_subsys = -1, .inherit = 1 },
	.samples.period = 1,
	.waits = { .overhead = 1ull << 32, .states = 0xff },
};

const volatile struct ebp_turn turn SEC(".rodata.turn") = { .languages = EBP_LANGUAGES_ALL };

/*
 * Whether these programs take the frames of the language. A constant: code of the others is neither
 * looked at by the verifier, since Linux 6.8, nor kept.
 */
#define TAKES(LANGUAGE) (turn.languages & 1u << EBP_LANGUAGE_##LANGUAGE)

#endif
