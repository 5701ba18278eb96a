# SPDX-License-Identifier: MIT
"""
Part "program": what the BPF programs cost, how soon one process is sampled, from the end of sampling to text, and what is missing,
for each profiler by itself and without a workload that ends.
"""
import os
import statistics
import subprocess
import tempfile
import time

from harness import Fixture, cpu_seconds, wait_for
from measure import CPUS, Run, Unknown, bpf_stats, busy
from table import command, markdown, number

NAMING = 10     # seconds that perf script may take


def with_fp(frames):
    """A program that has so many frames, with frame pointers."""
    return "timed", str(frames - 3), "0"


def without_fp(frames):
    return "timed_frameless", str(frames - 3), "0"


def different(frames):
    """A chain of so many different functions, whose prologues and epilogues are hit, too, without frame pointers."""
    return "unwind_chain", str(frames - 4)


def sample_runs(peer, target, out, hz=999, least=2000):
    """What the kernel says of the program that samples @target: runs, ns."""
    if not peer.bpf:
        raise Unknown(f"{peer.name} runs no BPF program")
    with bpf_stats(), busy(*target):
        run = Run(peer, hz, None, out)
        try:
            return wait_for(lambda: run.programs() if run.programs()[0] >= least else None, f"{least} samples", 30)
        finally:
            run.interrupt()


def ns_a_sample(peer, target, out):
    runs, ns = sample_runs(peer, target, out)
    return ns / runs


def cost(target):
    return lambda peer, out: ns_a_sample(peer, target, out)


def bare_cost(frames, target):
    """ebprof's where there are no frame pointers, beside what the others take with them."""
    return lambda peer, out: ns_a_sample(peer, target(frames) if peer.name == "ebprof" else with_fp(frames), out)


def first_sample(peer, out):
    """Of a process that is busy on all CPUs."""
    with Fixture("storm", str(CPUS)) as f:
        run = Run(peer, 999, f.pid, out)
        took = run.await_sampling()
        time.sleep(0.3)     # of sampling
        run.interrupt()
        return run.first_in_data() if took is None else took


def to_text(peer, out):
    """perf's data are still to be made into stacks."""
    with Fixture("storm", str(CPUS)) as f:
        run = Run(peer, 999, f.pid, out)
        run.await_sampling()
        time.sleep(2)           # of sampling
        took = run.interrupt()
    script = peer.script(out)
    if script:
        began = time.monotonic()
        try:
            subprocess.run(script, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=NAMING, check=False)
        except subprocess.TimeoutExpired as e:
            raise Unknown(f"{peer.name} is not done after {NAMING} s") from e
        took += time.monotonic() - began
    return 1000 * took


def missing(peer, out):
    """% of 9,999 samples for each second of CPU time that are not in the output, where nearly each has a stack of its own."""
    with Fixture("storm", str(CPUS)) as f:
        run = Run(peer, 9999, f.pid, out)
        run.await_sampling()
        before = cpu_seconds(f.pid)
        time.sleep(2)
        cpu = cpu_seconds(f.pid) - before
        run.interrupt()
    if peer.script(out):
        with open(f"{out}/text", "wb") as text:
            subprocess.run(peer.script(out, "--no-inline"), stdout=text, stderr=subprocess.DEVNULL, timeout=3 * NAMING, check=False)
    with open(os.path.join(out, peer.file), encoding="utf-8", errors="replace") as text:
        kept = sum(count for _, _, count in peer.read(text))
    return max(0.0, 100 * (1 - kept / (9999 * cpu)))


MEASUREMENTS = [
    ("first sample of one busy process, ms after start", first_sample),
    ("BPF run of 15 frames, ns", cost(with_fp(15))),
    ("BPF run of 115 frames, ns", cost(with_fp(115))),
    ("30 frames; ebprof's without frame pointers, ns", bare_cost(30, without_fp)),
    ("100 frames; the same, ns", bare_cost(100, without_fp)),
    ("100 different functions; the same, ns", bare_cost(100, different)),
    ("end of sampling to text, ever new stacks, ms", to_text),
    ("samples missing at 9,999 Hz, ever new stacks, %", missing),
]


def measure(row, options):
    """Medians by profiler of one row; the profilers alternate from round to round."""
    values = {peer.name: [] for peer in options.peers}
    for _ in range(options.rounds):
        for peer in options.peers:
            with tempfile.TemporaryDirectory(prefix="ebprof-bench-") as out:
                try:
                    values[peer.name].append(row[1](peer, out))
                except (Unknown, AssertionError, OSError, subprocess.SubprocessError) as e:
                    if peer.bpf or "BPF" not in str(e):
                        options.note(f"{row[0]}: {peer.name}: {' '.join(str(e).split())[:160]}")
    return {name: statistics.median(v) for name, v in values.items() if v}


def program(options):
    lines = []
    for row in MEASUREMENTS:
        values = measure(row, options)
        others = [v for name, v in values.items() if name != "ebprof" and v > 0]
        ratio = values["ebprof"] / min(others) if others and "ebprof" in values else None
        lines.append([row[0], *(number(values.get(p.name)) for p in options.peers), number(ratio)])
        options.write("program.md", command("tests/bench/run program") + "\n"
                      + markdown(["", *(p.name for p in options.peers), "ebprof to the best other"], lines))
