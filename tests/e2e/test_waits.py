# SPDX-License-Identifier: MIT
"""Where threads wait, against what they measured themselves."""
import os
import re
import subprocess
import time

from harness import (EBPROF, Fixture, Profile, check, child_of, directory, equal, finish, fixture_path, run, skip, start, state, stolen,
                     stopped, wait_burned, wait_for)

SECONDS = 37

SUMMARY = re.compile(r"^ebprof: (\d+) (?:samples|intervals) of (\S+).*: (\d+) complete, (\d+) truncated.*, (\d+) lost", re.M)


class Waits:
    """A command under ebprof: its folded stacks, whose counts are ns, and what it printed."""

    def __init__(self, *options, program, held=False):
        """@held: it is stopped while the program runs, but for the beginning."""
        before = stolen()
        with directory() as d:
            path = os.path.join(d, "out.folded")
            p = start(*options, "-o", path, "--", *program)
            if held:
                pid = child_of(p.pid, os.path.basename(program[0]))
                wait_burned(pid, 0.2)       # it has its tables
                with stopped(p.pid):
                    wait_for(lambda: state(pid) == "Z", "the end of the program")
            self.result = finish(p).ok()
            with open(path, encoding="utf-8") as f:
                self.profile = Profile.read(f.read())
        self.stolen = stolen() - before
        self.said = [line.split() for line in self.result.out.splitlines()]
        m = SUMMARY.search(self.result.err)
        check(m, "no summary in", self.result.err)
        taken, complete, truncated, lost = (int(m[i]) for i in (1, 3, 4, 5))
        equal(complete + truncated + lost, taken, "the account")
        equal(lost, 0, "lost")

    def truth(self, what):
        return {w[1]: float(w[2]) for w in self.said if w[0] == what}

    def seconds(self, where):
        return self.profile.count(where) / 1e9


def near(got, expected, what, share=0.01, seconds=0.004):
    check(abs(got - expected) <= share * expected + seconds, f"{what}: {got:.4f} s, expected {expected:.4f}")


FUNCTION = {"sleep": "wait_sleep", "mutex": "wait_mutex", "pipe": "wait_pipe", "cond": "wait_cond", "starved1": "starve",
            "starved2": "starve"}


def test_each_kind_of_wait():
    w = Waits("--off-cpu", program=(fixture_path("waits"), 2))
    for name, seconds in w.truth("wait").items():
        # Those that starve take for waiting what interrupts and the hypervisor take of their time, too.
        share, more = (0.06, w.stolen) if name.startswith("starved") else (0.01, 0)
        near(w.seconds(lambda s: s.comm == name and s.has(FUNCTION[name])), seconds, name, share, 0.004 + more)
    # Nobody else has a part in it.
    for name, function in FUNCTION.items():
        elsewhere = w.profile.where(lambda s: s.comm == name and s.any("^wait_") and not s.has(function))
        equal(len(elsewhere), 0, name)
    for name in ("sleep", "mutex", "pipe", "cond"):
        blocked = w.seconds(lambda s: s.comm == name and s.has(FUNCTION[name]) and s.frames[-1] == "[blocked]")
        check(blocked >= 0.5 * w.truth("wait")[name], name, "is blocked for", blocked)
    for name in ("starved1", "starved2"):
        mine = w.profile.where(lambda s: s.comm == name and s.has("starve"))
        check(mine.count(lambda s: s.frames[-1] == "[runnable]") >= 0.98 * mine.count(), name, mine.head())


def test_disk():
    """Writes that are waited for, and a page of a file that is not in memory."""
    with directory() as d:
        w = Waits("--off-cpu", program=(fixture_path("waits"), 2, os.path.join(d, "file")))
    for name, function in (("disk", "wait_disk"), ("fault", "wait_fault")):
        mine = w.profile.where(lambda s, name=name, function=function: s.comm == name and s.has(function))
        # What the thread itself knows is how long it was not charged for a CPU; it is for a part of the switch to it.
        waits = next(int(said[3]) for said in w.said if said[:2] == ["wait", name])
        near(mine.count() / 1e9, w.truth("wait")[name], name, 0.03, 0.02 + 15e-6 * waits)
        check(mine.count(lambda s: s.frames[-1] == "[disk wait]") > 0, mine.head())


def test_storm_of_forks():
    """Processes that live for one wait, and who waits for them."""
    w = Waits("--off-cpu", program=(fixture_path("waits"), "forks", 300))
    near(w.seconds(lambda s: s.has("wait_child")), w.truth("wait")["parent"], "parent", 0.02, 0.02)
    slept = w.seconds(lambda s: s.has("child_sleep"))
    check(300 * 0.002 <= slept <= w.truth("wait")["parent"], slept)


def test_a_hundred_thousand_stacks():
    """None is lost: each that was taken is there, and the time is that of all."""
    w = Waits("--off-cpu", "--max-overhead", "100", program=(fixture_path("waits"), "distinct", 100000))
    m = re.search(r"left the CPU (\d+) times, stacks were taken (\d+) times", w.result.err)
    ways = {tuple(s.frames[:s.frames.index("leaf")]) for s in w.profile if "leaf" in s.frames}
    # Where timers are set slowly, many of the short sleeps are over before the thread left the CPU.
    check(int(m[2]) > 25000 and len(ways) >= 0.99 * int(m[2]), len(ways), m[0])
    total = w.seconds(lambda s: True)
    check(w.truth("away")["all"] * 0.97 <= total <= w.truth("wait")["all"] + 0.5, total, w.said)


def test_thread_that_moves_to_another_cpu():
    """A CPU where nothing has waited yet has all of its budget."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip("one CPU")
    with directory() as d:
        os.sched_setaffinity(0, cpus[:1])
        try:
            r = run("--off-cpu", "--max-overhead", "none", "-o", os.path.join(d, "out"), "--", fixture_path("waits"), "moves",
                    "5000", str(cpus[1]))
        finally:
            os.sched_setaffinity(0, cpus)
    if r.code == 1:
        skip("no real-time priority")
    m = re.search(r"left the CPU (\d+) times, stacks were taken (\d+) times", r.ok().err)
    check(int(m[1]) > 5000 and int(m[2]) >= 0.9 * int(m[1]), m[0])


def test_budget_of_many_places():
    """The places where a thread waits do not drive each other out of what is known of it."""
    with directory() as d:
        r = run("--off-cpu", "-o", os.path.join(d, "out"), "--", fixture_path("waits"), "places", "10000")
    if r.code == 1:
        skip("no real-time priority")
    m = re.search(r"left the CPU (\d+) times, stacks were taken (\d+) times", r.ok().err)
    # Where timers are set slowly, many of the 40,000 short sleeps are over before the thread left the CPU.
    check(int(m[1]) >= 20000 and 4 <= int(m[2]) <= 0.25 * int(m[1]), m[0])


def test_full_ring():
    """Stacks that cannot be sent leave their time where it belongs: in their thread."""
    w = Waits("--off-cpu", "--max-overhead", "100", "--buffer", "4", program=(fixture_path("waits"), "distinct", 80000),
              held=True)
    total = w.seconds(lambda s: s.comm == "waits")
    check(re.search(r"[1-9]\d* truncated \(.*ring buffer full", w.result.err), w.result.err)
    check(w.profile.count(lambda s: s.comm == "waits" and s.cut) > 0, w.profile.head())
    check(w.truth("away")["all"] * 0.97 <= total <= w.truth("wait")["all"] + 0.5, total, w.said)


def test_uninterruptible():
    """A parent of vfork() waits for its child in a state that nothing interrupts."""
    program = ("python3", "-c", "import os,subprocess,sys\n"
               "pid = os.posix_spawn('/bin/true', ['true'], {})\nos.waitpid(pid, 0)\n"
               "for i in range(20): os.posix_spawn('/bin/true', ['true'], {})\n")
    w = Waits("--off-cpu", program=program)
    check(w.seconds(lambda s: s.frames[-1] == "[uninterruptible]" and s.any("spawn")) > 0, w.profile.head())
    equal(w.seconds(lambda s: s.frames[-1] == "[disk wait]" and s.any("vfork")), 0, w.profile.head())


def test_wall_adds_up():
    w = Waits("--wall", program=(fixture_path("waits"), 2))
    for name, seconds in w.truth("thread").items():
        # From clone() on, and until the thread is gone: a little more than it can measure itself.
        near(w.seconds(lambda s: s.comm == name), seconds, name, seconds=0.015)
    for name in ("starved1", "starved2"):
        ran = w.truth("thread")[name] - w.truth("wait")[name]
        # It may have been on a CPU that the hypervisor had taken.
        near(w.seconds(lambda s: s.comm == name and not s.frames[-1].startswith("[")), ran, name + " on the CPU", 0.02,
             0.02 + w.stolen)


def test_time_is_divided_by_what_was_sampled():
    """With a budget for a few stacks only: the total is exact, the parts are near."""
    w = Waits("--off-cpu", "--max-overhead", "0.02", program=(fixture_path("waits"), "paths", 8000))
    m = re.search(r"left the CPU (\d+) times, stacks were taken (\d+) times", w.result.err)
    switches, taken = int(m[1]), int(m[2])
    check(switches >= 7800 and taken < switches / 2, f"{taken} of {switches}")
    truth = w.truth("wait")
    total = sum(truth.values())
    got = {way: w.seconds(lambda s: s.has(way)) for way in truth}
    # Between what the scheduler did not charge for, and what went by in the functions as a whole.
    least = w.truth("away")["both"] * 0.97
    check(least <= sum(got.values()) <= total, f"{sum(got.values()):.4f} s, expected {least:.4f} to {total:.4f}")
    # The share of time of two ways by some hundred stacks: four standard errors are 10 % where it was 400.
    share, expected = got["way_long"] / sum(got.values()), truth["way_long"] / total
    check(abs(share - expected) < max(0.1, 2 / taken**0.5), f"{share:.3f} of the time, expected {expected:.3f}; {taken} stacks")


def test_wakers():
    w = Waits("--off-cpu", "--wakers", program=(fixture_path("waits"), 1))
    for name, function in (("pipe", "wait_pipe"), ("cond", "wait_cond")):
        all_ = w.profile.where(lambda s: s.comm == name and s.has(function) and "[blocked]" in s.frames)
        right = all_.where(lambda s: s.has("wake_others", "run") and s.frames[-1] == "[woken by wake_others]")
        check(right.count() >= 0.9 * all_.count() > 0, name, all_.head())
    mutex = w.profile.where(lambda s: s.comm == "mutex" and s.has("wait_mutex") and "[blocked]" in s.frames)
    right = mutex.where(lambda s: s.has("hold_mutex", "run") and s.frames[-1] == "[woken by holder]")
    check(right.count() >= 0.8 * mutex.count() > 0, mutex.head())
    sleep = w.profile.where(lambda s: s.comm == "sleep" and s.has("wait_sleep") and "[blocked]" in s.frames)
    check(sleep.count(lambda s: s.frames[-1] == "[woken by an interrupt]") >= 0.9 * sleep.count() > 0, sleep.head())


def test_those_that_never_wake():
    """A thousand threads that slept before, and sleep on: their time and their stacks are known all the same."""
    with Fixture("waits", "sleepers", "1000", "100") as f, directory() as d:
        path = os.path.join(d, "out.folded")
        r = run("--off-cpu", "-p", f.pid, "-d", 1, "-o", path).ok()
        with open(path, encoding="utf-8") as out:
            profile = Profile.read(out.read())
    duration = float(re.search(r"in ([\d.]+) s:", r.err)[1])
    slept = profile.count(lambda s: s.has("sleeper") and s.frames[-1] == "[blocked]") / 1e9
    check(slept >= 0.99 * 1000 * duration * 0.95, slept, profile.head())
    check(slept <= 1000 * (duration + 0.2), slept)
    equal(profile.count(lambda s: s.cut and s.has("sleeper")), 0, "truncated")


def test_exits_while_blocked():
    """Killed in their sleep: the time until then counts."""
    with Fixture("waits", "sleepers", "20", "100") as f, directory() as d:
        path = os.path.join(d, "out.folded")
        proc = subprocess.Popen([EBPROF, "--off-cpu", "-p", str(f.pid), "-d", "20", "-o", path],
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        wait_for(lambda: _maps_tasks(proc.pid), "ebprof to begin", 20)
        started = time.monotonic()
        time.sleep(0.5)
        f.proc.kill()
        proc.communicate(timeout=30)
        lasted = time.monotonic() - started
        with open(path, encoding="utf-8") as out:
            profile = Profile.read(out.read())
    slept = profile.count(lambda s: s.has("sleeper") and s.any(r"^\[blocked\]$")) / 1e9
    check(20 * 0.45 <= slept <= 20 * (lasted + 0.5), slept, lasted, profile.head())


def _maps_tasks(pid):
    """The programs are attached: a raw tracepoint's link is among the descriptors."""
    try:
        return sum("bpf_link" in os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")) >= 3
    except OSError:
        return False


def test_states_and_least():
    w = Waits("--off-cpu", "--state", "runnable", program=(fixture_path("waits"), 1))
    equal({s.frames[-1] for s in w.profile}, {"[runnable]"}, "states")
    w = Waits("--off-cpu", "--min-block", "10ms", program=(fixture_path("waits"), 1))
    check(re.search(r"\d+ waits below --min-block, [\d.]+ ms together, left out", w.result.err), w.result.err)
    # Each is 20 ms and more; how long a sleeper that has woken waits for a CPU may be less than 10.
    slept, times = next((float(line[2]), int(line[3])) for line in w.said if line[:2] == ["wait", "sleep"])
    got = w.seconds(lambda s: s.comm == "sleep" and s.has("wait_sleep"))
    check(0.02 * times <= got <= 1.01 * slept + 0.004, f"sleep: {got:.4f} s of {slept:.4f}, {times} times")


def test_hide_idle():
    with Fixture("waits", "sleepers", "50", "100") as f:
        r = run("--wall", "--hide-idle", "-p", f.pid, "-d", 1)
    check(re.search(r"5[01] idle threads hidden", r.err), r.err)
    equal(r.out, "", "what is left")


def test_beside_samples():
    w = Waits("-e", "cpu-clock", "-F", 499, "--off-cpu", program=(fixture_path("waits"), 1))
    # Samples are shown: those that wait have none.
    check(w.profile.count(lambda s: s.has("starve")) > 20, w.profile.head())
    equal(w.profile.count(lambda s: s.frames and s.frames[-1] == "[blocked]"), 0, "waits among samples")


def test_bad_options():
    run("--off-cpu", "--wall", "-d", 1).fails(2, "exclude each other")
    run("--wakers", "-d", 1).fails(2, "go with --off-cpu or --wall")
    run("--off-cpu", "--state", "sleeping", "-d", 1).fails(2, "known states are blocked, disk, uninterruptible and runnable")
    run("--off-cpu", "--max-overhead", "0", "-d", 1).fails(2, "percentage")
    run("--wall", "-e", "cycles", "-d", 1).fails((2, 3), "cycles")
