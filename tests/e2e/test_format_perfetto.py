# SPDX-License-Identifier: MIT
"""Perfetto's traces, as its own messages read them (protoc --decode): each sample with its thread, its time and its stack."""
import os
import re
import subprocess
from collections import Counter

from harness import TOP, check, directory, equal, fixture_path, needs, run

MESSAGES = os.path.join(TOP, "tests", "readers")


def decoded(path):
    """The packets, as (field, value) and (field, [..]) pairs."""
    with open(path, "rb") as f:
        p = subprocess.run([needs("protoc"), f"-I{MESSAGES}", "--decode=Trace", "perfetto.proto"], stdin=f, capture_output=True,
                           check=False, timeout=60)
    check(not p.returncode, p.stderr.decode())
    text = p.stdout.decode()
    check(not re.search(r"^ *\d+[: ]", text, re.M), "fields that the messages do not have:", text[:2000])
    top = []
    stack = [top]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
        elif line.endswith("{"):
            inner = []
            stack[-1].append((line[:-2], inner))
            stack.append(inner)
        else:
            name, _, value = line.partition(": ")
            stack[-1].append((name, value.strip('"')))
    return [dict_of(packet) for _, packet in top]


def dict_of(fields):
    out = {}
    for name, value in fields:
        out.setdefault(name, []).append(dict_of(value) if isinstance(value, list) else value)
    return out


def one(message, name):
    return message[name][0]


class Trace:
    """What trace_processor makes of it: samples as (pid, tid, time, stack), names by id."""

    def __init__(self, path):
        self.packets = decoded(path)
        self.samples, self.threads, self.files = [], {}, set()
        self.waits = []         # (begin, end, name, stack), by the order of their ends
        self.began = 0          # CLOCK_REALTIME ns of time 0
        names, frames, stacks, events, tracks, slices = {}, {}, {}, {}, {}, {}
        for packet in self.packets:
            for tree in packet.get("process_tree", []):
                for t in tree.get("threads", []):
                    self.threads[int(one(t, "tid"))] = one(t, "name")
            for clocks in packet.get("clock_snapshot", []):
                self.began = next(int(one(c, "timestamp")) for c in clocks["clocks"] if one(c, "clock_id") == "1")
            for track in packet.get("track_descriptor", []):
                check(one(track, "uuid") not in tracks, "a track twice")
                tracks[one(track, "uuid")] = int(one(one(track, "thread"), "tid"))
            for data in packet.get("interned_data", []):
                events.update((one(n, "iid"), one(n, "name")) for n in data.get("event_names", []))
                names.update((one(n, "iid"), one(n, "str")) for n in data.get("function_names", []))
                self.files.update(one(n, "str") for n in data.get("mapping_paths", []))
                for f in data.get("frames", []):
                    check(one(f, "iid") not in frames, "a frame twice")
                    frames[one(f, "iid")] = names[one(f, "function_name_id")]
                for s in data.get("callstacks", []):
                    stacks[one(s, "iid")] = [frames[f] for f in s["frame_ids"]]
            for e in packet.get("track_event", []):
                check(tracks[one(e, "track_uuid")] in self.threads, "a track of no thread")
                open_ = slices.setdefault(one(e, "track_uuid"), [])
                time = int(one(packet, "timestamp"))
                if one(e, "type") == "TYPE_SLICE_BEGIN":
                    check(not open_, "a wait in a wait")
                    open_.append((time, events[one(e, "name_iid")],
                                  tuple(stacks[one(e, "callstack_iid")]) if "callstack_iid" in e else ()))
                else:
                    begin, name, stack = open_.pop()
                    check(begin <= time, "an end before its beginning")
                    self.waits.append((begin, time, name, stack))
            for s in packet.get("perf_sample", []):
                equal(packet["trusted_packet_sequence_id"], ["1"], "sequence")
                self.samples.append((int(one(s, "pid")), int(one(s, "tid")), int(one(packet, "timestamp")),
                                     tuple(stacks[one(s, "callstack_iid")]) if "callstack_iid" in s else ()))
        check(not any(slices.values()), "waits without an end")


def test_hand_made():
    with directory() as d:
        for name in ("one", "timeline", "hostile", "empty", "deep", "full"):
            path, folded = os.path.join(d, name), os.path.join(d, "x.folded")
            for form, to in (("perfetto", path), ("folded", folded)):
                subprocess.run([fixture_path("profiles"), name, form, to], check=True, timeout=30)
            trace = Trace(path)
            with open(folded, encoding="utf-8") as f:
                total = sum(int(line.rpartition(" ")[2]) for line in f)
            if name not in ("timeline",):
                equal(len(trace.samples), total, f"{name}: samples")


def test_waits():
    """Slices of each thread's track, called after what waits, with their stacks."""
    with directory() as d:
        path = os.path.join(d, "x")
        subprocess.run([fixture_path("profiles"), "waits", "perfetto", path], check=True, timeout=30)
        trace = Trace(path)
        naps = [(s * 10**9 + b, s * 10**9 + e, state + ": hrtimer_nanosleep", ("main", "hrtimer_nanosleep", f"[{state}]"))
                for s in range(3) for b, e, state in ((100_000_000, 350_000_000, "blocked"), (350_000_000, 352_000_000, "runnable"))]
        lock = (0, 2_500_000_000, "blocked: futex_wait", ("main", "take", "futex_wait", "[blocked]"))
        equal(sorted(trace.waits), sorted([lock, *naps]), "waits")
        equal(trace.samples, [], "samples")


def test_recorded_with_times():
    with directory() as d:
        saved, path = os.path.join(d, "x.pb.gz"), os.path.join(d, "x.pftrace")
        run("--timeline", "-F", 999, "-o", saved, "--", fixture_path("tree"), "--seconds", "1").ok()
        check("ui.perfetto.dev" in run("convert", saved, "-o", path).ok().err, "how to open it")
        trace = Trace(path)
        times = [s[2] for s in trace.samples]
        equal(times, sorted(times), "the order of time")
        check(0.8e9 < times[-1] - times[0] < 5e9, "seconds", times[0], times[-1])
        leaves = Counter(s[3][-1] for s in trace.samples if s[3])
        equal([n for n, _ in leaves.most_common(3)], ["a2", "b2", "c2"], "the busiest functions")
        check(all(trace.threads[tid] for _, tid, _, _ in trace.samples), trace.threads)
        check(any(f.endswith("/tree") for f in trace.files), trace.files)
