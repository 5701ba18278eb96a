/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All BPF programs, as one object: a source's programs are in its own file, which includes what it
 * stands on. Objects that the linker joins would have their own copies of the unwinder, which a
 * pointer cannot be handed to before Linux 5.12, and of each map.
 */
#include "bpf/processes.bpf.h"
#include "bpf/sources/allocations.bpf.h"
#include "bpf/sources/allocations_any.bpf.h"
#include "bpf/sources/latency.bpf.h"
#include "bpf/sources/page_faults.bpf.h"
#include "bpf/sources/probes.bpf.h"
#include "bpf/sources/samples.bpf.h"
#include "bpf/sources/waits.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
