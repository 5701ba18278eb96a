# SPDX-License-Identifier: MIT
"""Windows of waits, of all time and of page faults: what a program knows of itself, in files and at servers."""
import os
import re
import shutil
import signal

from harness import (Fixture, Profile, check, directory, equal, finish, fixture_path, run, start, stolen, wait_burned, wait_for,
                     wait_sampling)
from test_alloc import TYPES as HEAP_TYPES, needs_links
from test_page_faults import PLACES
from test_push import files, in_folder, raw, said, when
from test_push_servers import PATHS, Receiver, Sent
from test_waits import FUNCTION, near

ALL = re.compile(r"^ebprof: (\S+): (\d+) (\S+) in (?:all windows|the last window)$", re.M)
STATES = ("[blocked]", "[disk wait]", "[uninterruptible]", "[runnable]")  # code without a name begins with "[", too
HEAP = HEAP_TYPES[:4]
TYPES = re.compile(r"^Samples:\n(.*)$", re.M)


def by_windows(path):
    """{type: its sum} of a file, in the order in which it has them."""
    text = raw(path).split("\nLocations\n")[0]
    types = [t.replace("[dflt]", "") for t in TYPES.search(text)[1].split()]
    rows = [list(map(int, m[1].split())) for m in re.finditer(r"^((?: +\d+)+): ", text, re.M)]
    return {t: sum(row[i] for row in rows) for i, t in enumerate(types)}


class Windows:
    """What push wrote of a program, and what both said of it. The sums are checked as they are read."""

    def __init__(self, where, *options, program, every="500ms"):
        before = stolen()
        self.result = run("push", "--to", where, "--every", every, *options, "--", *program).ok()
        self.stolen = stolen() - before
        self.lines = [line.split() for line in self.result.out.splitlines()]
        self.taken, self.kept, self.count, self.lost, *_ = said(self.result)
        equal(self.taken, self.kept + self.lost, self.result.err)
        self.totals = {m[1]: int(m[2]) for m in ALL.finditer(self.result.err)}
        self.files = files(where)
        sums = {}
        for _, path in (w for found in self.files.values() for w in found):
            for name, n in by_windows(path).items():
                sums[name.split("/")[0]] = sums.get(name.split("/")[0], 0) + n
        self.sums = sums
        for name, total in self.totals.items():
            # What there is at a time adds up to nothing.
            check(name.startswith("inuse_") or sums.get(name.replace("-", "_")) == total, f"{name} of all files, and in all:", sums, total)
        for found in self.files.values():
            times = [when(path) for _, path in found]
            check(all(a + d <= b for (a, d), (b, _) in zip(times, times[1:])), "windows that overlap:", times)

    def truth(self, what):
        return {w[1]: float(w[2]) for w in self.lines if w[0] == what}

    def profile(self, service):
        return Profile.read(run("report", "-f", "folded", *(path for _, path in self.files[service])).ok().out)


def seconds(profile, where):
    return profile.count(where) / 1e9


def waited(profile, windows, name):
    """What a thread says of its waits; it may have been preempted between them, too."""
    truth = windows.truth("wait")[name]
    got = [seconds(profile, lambda s, end=end: s.comm == name and s.frames[-1] in end)
           for end in (("[blocked]",), ("[blocked]", "[runnable]"))]
    check(got[0] <= 1.01 * truth + 0.015 and got[1] >= 0.99 * truth - 0.015, f"{name}: {got} s, expected {truth}")


@in_folder
def test_waits(where):
    """Sleeps and locks of known times, which last longer than a window."""
    w = Windows(where, "--off-cpu", program=(fixture_path("waits"), 2))
    equal(sorted(w.totals), ["off-cpu", "waits"], w.result.err)
    equal(w.totals["waits"], w.kept, "intervals")
    check(w.count > 2 and set(w.files) == {"waits.off-cpu"}, "files:", list(w.files))
    p = w.profile("waits.off-cpu")
    equal(p.count(), w.totals["off-cpu"], "time of all files together")
    # By threads, for windows do not wait for names; the last one does.
    last = Profile.read(run("report", "-f", "folded", w.files["waits.off-cpu"][-1][1]).ok().out)
    for name in ("sleep", "pipe", "cond"):
        waited(p, w, name)
        mine = last.where(lambda s, name=name: s.comm == name and s.frames[-1] == "[blocked]")
        check(mine.count(lambda s, name=name: s.has(FUNCTION[name])) >= 0.9 * mine.count(), name, mine.head())
    text = raw(w.files["waits.off-cpu"][0][1])
    check(TYPES.search(text)[1] == "waits/count off_cpu/nanoseconds[dflt]" and "Period: 1\n" in text, "types:", text[:800])


@in_folder
def test_all_time(where):
    """A thread's time adds up to that from its beginning to its end, and what two of them burn is theirs."""
    w = Windows(where, "--wall", "-F", 199, program=(fixture_path("waits"), 2))
    equal((list(w.totals), list(w.files)), (["wall"], ["waits.wall"]), w.result.err)
    p = w.profile("waits.wall")
    for name, expected in w.truth("thread").items():
        near(seconds(p, lambda s, name=name: s.comm == name), expected, name, seconds=0.015)
    for name in ("starved1", "starved2"):
        ran = w.truth("thread")[name] - w.truth("wait")[name]
        got = seconds(p, lambda s, name=name: s.comm == name and s.frames[-1] not in STATES)
        near(got, ran, name + " on the CPU", 0.02, 0.02 + w.stolen)
    check("wall nanoseconds" in raw(w.files["waits.wall"][0][1]), "the period's type")


BURN = """
import time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def first():
    burn(1.6)
def second():
    burn(1.7)
first()
second()
"""


@in_folder
def test_each_window_shows_its_own_time(where):
    """What a thread ran before is not what it runs now."""
    w = Windows(where, "--wall", "-F", 199, program=("python3", "-c", BURN), every="1s")
    service = next(s for s in w.files if s.startswith("python"))
    windows = [Profile.read(run("report", "-f", "folded", path).ok().out) for _, path in w.files[service]]
    part = [[seconds(p, lambda s, f=f: s.has(f)) for f in ("first", "second")] for p in windows]
    changes = sum(1 for first, second in part if first > 0.02 and second > 0.02)
    check(changes <= 1, "windows with both:", part)
    # Without what passes until Python is known.
    total = [sum(column) for column in zip(*part)]
    check(total[0] >= 0.9 and total[1] >= 1.4, "time of both:", part)


@in_folder
def test_samples_and_waits_together(where):
    """Each has a file of its own, and all that it had without the other."""
    w = Windows(where, "-e", "cpu-clock", "--off-cpu", "-F", 199, program=(fixture_path("waits"), 2))
    equal(sorted(w.files), ["waits", "waits.off-cpu"], "files")
    equal(w.sums["samples"] + w.totals["waits"], w.kept, "samples and intervals")
    equal(w.sums["cpu"], w.sums["samples"] * (10**9 // 199), "the time of samples")
    waited(w.profile("waits.off-cpu"), w, "sleep")
    starved = w.profile("waits").count(lambda s: s.comm.startswith("starved"))
    check(starved > 0.5 * w.sums["samples"], "what they burn:", w.profile("waits").head())
    equal(re.search(r"^PeriodType: (.*)\nPeriod: (.*)$", raw(w.files["waits"][0][1]), re.M).groups(), ("cpu nanoseconds", str(10**9 // 199)), "period")


@in_folder
def test_page_faults(where):
    """Each one where that is asked for; else one of 100."""
    with Fixture("page_faults") as f:
        # One window, the last one, waits for all names.
        proc = start("push", "--page-faults", "-c", 1, "--every", "1h", "--keep-for", "2h", "--to", where, "-p", f.pid)
        wait_sampling(proc)
        f.go()
        f.wait("done")
        proc.send_signal(signal.SIGTERM)
        r = finish(proc).ok()
        truth = {w[1]: (int(w[2]), int(w[3])) for w in f.lines if w[0] == "place"}
    equal(said(r)[3], 0, "lost")
    got = files(where)
    equal(list(got), ["page_faults.page-faults"], "files")
    paths = [path for _, path in got["page_faults.page-faults"]]
    p = Profile.read(run("report", "-f", "folded", *paths).ok().out)
    for name in PLACES:
        equal(p.count(lambda s, name=name: s.has(name)), truth[name][1], "bytes of " + name)
    totals = {m[1]: int(m[2]) for m in ALL.finditer(r.err)}
    sums = [by_windows(path) for path in paths]
    equal({"page_faults": sum(s["page_faults/count"] for s in sums), "fault_space": sum(s["fault_space/bytes"] for s in sums)}, totals, "sums")
    equal(totals["page_faults"], said(r)[0], "faults, and samples of them")
    with directory() as few:
        w = Windows(few, "--page-faults", program=("python3", "-c", "for _ in range(9): b'x' * 50_000_000"), every="100ms")
        text = [raw(path) for found in w.files.values() for _, path in found]
        check(w.count > 1 and w.totals["page_faults"] == 100 * w.kept, "faults:", w.result.err)
        check(text and all("Period: 100\n" in t for t in text), "the period:", text[:1])


@in_folder
def test_allocations(where):
    """Each window has what was allocated in it, and what is in use at its end, of a command and of what runs already."""
    with Fixture("alloc_sites", "3", "wait") as f, Receiver() as server:
        proc = start("push", "--alloc", "--alloc-interval", "all", "--max-overhead", 100, "--every", "300ms", "-p", f.pid, "--to", where,
                     "--spool", where + "/spool", *sum((["--to", server.url(k)] for k in PATHS), []))
        wait_sampling(proc)
        f.go()
        f.wait("done")
        truth = {w[1]: dict(zip(HEAP, map(int, w[2:]))) for w in f.lines if w[0] == "site"}
        begun = len(os.listdir(where))
        wait_for(lambda: len(os.listdir(where)) > begun + 1, "a window after all of it")
        proc.send_signal(signal.SIGTERM)
        r = finish(proc).ok()
        said_ = list(server.said)
    shutil.rmtree(where + "/spool")
    equal((said(r)[3], list(files(where))), (0, ["alloc_sites.alloc"]), "lost, and files")
    paths = [path for _, path in files(where)["alloc_sites.alloc"]]
    windows = [by_windows(path) for path in paths]
    totals = {m[1]: int(m[2]) for m in ALL.finditer(r.err)}
    for name in HEAP:
        got = [w[f"{name}/{'bytes' if 'space' in name else 'count'}"] for w in windows]
        # All that it allocates; what is in use does not add up, and is there in windows in which nothing was allocated.
        expected = sum(t[name] for t in truth.values())
        equal(totals[name], sum(got) if "alloc" in name else got[-1], name)
        check(expected <= totals[name] <= 1.02 * expected + 1e5, name, totals[name], expected)
    equal([windows[-1]["alloc_space/bytes"], len(windows[-1])], [0, 4], "the last window")
    text = raw(paths[-1])
    check("PeriodType: space bytes" in text, text[:300])
    for site in truth:
        check(site in text or not truth[site]["inuse_space"], site, "in use")
    for kind, path in PATHS.items():
        series = [s for request in said_ if request["path"] == path for s in request["series"]]
        check(not any("refused" in request for request in said_), kind, said_)
        if kind == "otlp":
            got = {n: [s["total"] for s in series if s["type"] == n + "/" + u] for n, u in (("alloc_space", "bytes"), ("inuse_space", "bytes"))}
            equal((sum(got["alloc_space"]), got["inuse_space"][-1]), (totals["alloc_space"], totals["inuse_space"]), kind)
            equal({tuple(s["period"]) for s in series}, {("memory", "bytes", 1)}, kind)
        else:
            equal(sum(s["totals"][s["types"].index("alloc_space/bytes")] for s in series), totals["alloc_space"], kind)
            equal({s["labels"]["__name__"] for s in series}, {"memory"}, kind)


@in_folder
def test_allocations_of_what_it_starts(where):
    w = Windows(where, "--alloc", "--alloc-interval", 16384, program=(fixture_path("alloc_sites"), 9), every="100ms")
    truth = sum(int(line[3]) for line in w.lines if line[0] == "site")
    check(abs(w.totals["alloc_space"] / truth - 1) < 0.25, w.totals, truth)
    equal((w.sums["alloc_space"], w.totals["inuse_space"]), (w.totals["alloc_space"], 0), "sums, and what is in use of what ended")


@in_folder
def test_allocations_at_a_price(where):
    """10 % unless more is asked for: then the probes are there for a part of the time."""
    needs_links()
    with Fixture("alloc_rate", "1000", "1") as f:
        f.go()
        wait_burned(f.pid, 0.1)
        proc = start("push", "--alloc", "--every", "500ms", "-p", f.pid, "--to", where)
        wait_for(lambda: len(os.listdir(where)) > 2, "windows")
        proc.send_signal(signal.SIGTERM)
        r = finish(proc).ok()
    totals = {m[1]: int(m[2]) for m in ALL.finditer(r.err)}
    sums = [by_windows(path)["alloc_space/bytes"] for _, path in files(where)["alloc_rate.alloc"]]
    equal((sum(sums), sum(s > 0 for s in sums) > 1), (totals["alloc_space"], True), sums)
    check("--max-overhead 10% bounds that" in r.err or "follows them for a part of the time" in r.err, r.err)


def test_servers_get_types_that_they_know():
    with directory() as spool, Receiver() as server:
        r = run("push", "--every", "1s", "-F", 199, "-e", "cpu-clock", "--off-cpu", *sum((["--to", server.url(k)] for k in PATHS), []),
                "--spool", spool, "--", fixture_path("waits"), 1).ok()
        sent, series = Sent(r), {k: [] for k in PATHS}
        for name, path in PATHS.items():
            equal(sent.servers[server.url(name)]["samples"], sent.kept, "samples that went to " + name)
            for request in (s for s in server.said if s["path"] == path):
                check("refused" not in request, "refused:", request)
                series[name] += request["series"]
    totals = {m[1].replace("-", "_") + "/" + m[3]: int(m[2]) for m in ALL.finditer(r.err)}
    samples = sent.kept - totals["waits/count"]
    by_type = {}
    for s in series["otlp"]:
        by_type[s["type"]] = by_type.get(s["type"], 0) + s["total"]
        equal(s["period"], {"samples/count": ["cpu", "nanoseconds", 10**9 // 199], "waits/count": ["off-cpu", "count", 1],
                            "off_cpu/nanoseconds": None}[s["type"]], "the period of " + s["type"])
    equal(by_type, {"samples/count": samples, **totals}, "what otlp got")
    for kind in ("pyroscope", "parca"):
        by_name = {}
        for s in series[kind]:
            sums = by_name.setdefault(s["labels"]["__name__"], {})
            for name, n in zip(s["types"], s["totals"]):
                sums[name] = sums.get(name, 0) + n
        equal(by_name, {"process_cpu": {"samples/count": samples, "cpu/nanoseconds": samples * (10**9 // 199)}, "off_cpu": totals}, kind)


def test_all_time_at_servers():
    with directory() as spool, Receiver() as server:
        r = run("push", "--every", "1s", "--wall", *sum((["--to", server.url(k)] for k in PATHS), []), "--spool", spool, "--",
                fixture_path("waits"), 1).ok()
        total = int(ALL.search(r.err)[2])
        for name, path in PATHS.items():
            series = [s for said_ in server.said if said_["path"] == path for s in said_["series"]]
            equal((sum(s["total"] for s in series), {s["type"] for s in series}), (total, {"wall/nanoseconds"}), name)
            equal({tuple(s["period"]) for s in series}, {("wall", "nanoseconds", 10**9 // 19)}, "period of " + name)
            if name != "otlp":
                equal({s["labels"]["__name__"] for s in series}, {"wall"}, "name")


@in_folder
def test_a_bound_of_stacks_of_waits(where):
    """--max-overhead bounds these, too, and their time is measured all the same."""
    w = Windows(where, "--off-cpu", "--max-overhead", "0.02", program=(fixture_path("waits"), "paths", 8000), every="1m")
    truth, p = w.truth("wait"), w.profile("waits.off-cpu")
    check(w.kept >= 7800, "intervals:", w.result.err)
    got = sum(seconds(p, lambda s, way=way: s.has(way)) for way in truth)
    check(w.truth("away")["both"] * 0.97 <= got <= sum(truth.values()), f"{got:.4f} s of {truth}")


@in_folder
def test_options_of_a_file(where):
    config = os.path.join(where, "conf")
    out = os.path.join(where, "out")
    os.mkdir(out)
    with open(config, "w", encoding="ascii") as f:
        f.write(f"to = dir:{out}\noff-cpu\nevent = cpu-clock\nmin-block = 1ms\n")
    r = run("push", "--config", config, "--", "sleep", "0.3").ok()
    check("off-cpu: " in r.err and "sleep.off-cpu" in files(out), r.err, list(files(out)))


def test_usage():
    run("push", "--to", "/tmp", "--off-cpu", "--wall").fails(2, "exclude each other")
    run("push", "--to", "/tmp", "--wakers").fails(2, "go with --off-cpu or --wall")
    run("push", "--to", "/tmp", "--page-faults", "-F", 9).fails(2, "leave out -e, -F")
    run("push", "--to", "/tmp", "--alloc").fails(2, "probes in all of them would slow all of them down")
    run("push", "--to", "/tmp", "--alloc", "-G", "x").fails(2, "a command that it starts, or some processes")
    run("push", "--to", "/tmp", "--alloc", "--page-faults", "-p", 1).fails(2, "exclude each other")
    run("push", "--to", "/tmp", "--alloc-interval", 9).fails(2, "go with ebprof alloc, top --alloc or push")
    run("push", "--to", "/tmp", "--page-faults", "--max-overhead", 1).fails(2, "--max-overhead")
    run("push", "--to", "/tmp", "-e", "page-faults", "-c", 9, "--max-overhead", 1).fails(2, "leave out -c")
