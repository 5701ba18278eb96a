# SPDX-License-Identifier: MIT
"""
Part "runtimes": the same program in each language under every profiler of the whole system, and under perf with what the runtime writes
for it. It calls three functions from 20 calls deep, and says how much CPU time it spent in each: so much of the samples has to have
its functions, in the order in which they call each other.
"""
import dataclasses
import glob
import os
import re

import runtime_programs as programs
import test_java
import test_node
from harness import Missing, Skip, needs
from peers import Peer
from runtime_programs import DEPTH, NAMES, filled
from table import command
from versus import COLUMNS, HZ, rounds_of, table_of, throttled
from workloads import Workload


def in_order(frames, names):
    left = iter(frames)
    return all(any(re.search(rf"\b{name}\b", frame) for frame in left) for name in names)


def judge(stacks, told, hz):
    """Of the samples that there have to be: those with the program's functions, and with their callers up to its main, too."""
    spent = [float(x) for x in told]
    expected = hz * sum(spent)
    counts, callers = dict.fromkeys(NAMES, 0), 0
    for _, frames, count in stacks:
        for x in NAMES:
            own = ("prog_turn", f"prog_{x}", f"prog_{x}1")
            if in_order(frames, own):
                counts[x] += count
                callers += count * in_order(frames, ("prog_main", *["prog_deep"] * DEPTH, *own))
                break
    return {"right": 100 * sum(counts.values()) / expected, "callers": 100 * callers / expected,
            "error": 100 * max(abs(counts[x] / max(expected, sum(counts.values())) - part / sum(spent)) for x, part in zip(NAMES, spent))}


class Injected(Peer):
    """perf, whose recording gets what a runtime wrote of its code before it becomes text."""

    def script(self, out, *options):
        name = " ".join(self.tool)
        read = [w.replace("perf.data", "jit.data") for w in super().script(out, *options)]
        return ["sh", "-c", f'cd "$0" && {name} inject --jit -i perf.data -o jit.data && exec "$@"', out, *read]


def script(_, text, d):
    path = os.path.join(d, "work")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return [path]


def classes(path, text, d):
    if not os.path.exists(os.path.join(d, "Main.class")):
        test_java.compiled(os.path.dirname(path), text, d)
    return ["-cp", d, "Main"]


@dataclasses.dataclass(frozen=True)
class Runtime:
    """What runs a program; and in which ways perf is told its functions: (profiler, what it is called, flags)."""
    name: str
    find: object        # its path
    made: object        # (its path, the program, directory) -> what it is to run
    text: str
    size: int           # of a turn
    comms: str = ""     # of its threads; "": its name
    for_perf: object = lambda path: ()

    def argv(self, path, *flags, last="stay"):
        """As a workload has it: (directory) -> command."""
        def command_in(d):
            return [path, *flags, *self.made(path, filled(self.text, self.size), d), last]
        return command_in


def newest_python():
    """One that writes for perf, where there is one."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.1[2-9]"))
    return max(found, key=lambda p: int(p.rpartition(".")[2]), default=None) or needs("python3")


def of_python(path):
    minor = int((re.findall(r"python3\.(\d+)$", os.path.realpath(path)) or [0])[0])
    if minor >= 12:
        yield "perf -g", "-X perf", ("-X", "perf")
    if minor >= 13:
        yield "perf dwarf", "-X perf_jit", ("-X", "perf_jit")


def of_node(_):
    flags = ("--perf-basic-prof", "--interpreted-frames-native-stack")
    yield "perf -g", " ".join(flags), flags


def of_java(_):
    flags = ("-XX:+PreserveFramePointer", "-XX:+DumpPerfMapAtExit")
    yield "perf -g", " ".join(flags), ("-XX:+UnlockDiagnosticVMOptions", *flags)


def newest_java():
    return os.path.join(max(test_java.jdks().items())[1], "java")


def newest_node():
    return test_node.nodes()[0][0]


THREADS_OF_JAVA = "java|C[12].Comp|G1|GC|VM.|Sweeper|Common-Cl|Signal|Service|Monitor|Notif|Refer|Final|Attach"
RUNTIMES = [
    Runtime("python", newest_python, script, programs.PYTHON, 240, for_perf=of_python),
    Runtime("node", newest_node, script, programs.NODE, 10500, "node|MainThread|Delayed|libuv|V8|SignalInsp", of_node),
    Runtime("java", newest_java, classes, programs.JAVA, 12700, THREADS_OF_JAVA, of_java),
    Runtime("ruby", lambda: needs("ruby"), script, programs.RUBY, 820),
    Runtime("php", lambda: needs("php"), script, programs.PHP, 2400),
    Runtime("perl", lambda: needs("perl"), script, programs.PERL, 290),
]
RUNTIME_COLUMNS = [c for c in COLUMNS if c[0] != "exited"] + [("right", "frames right, %"), ("callers", "callers right, too, %")]


def workload_of(runtime, path):
    return Workload(runtime.name, f"{os.path.basename(os.path.realpath(path))}: three functions of known shares, called from {DEPTH} calls deep",
                    runtime.argv(path), re.compile(runtime.comms or runtime.name), stays=True, tells=True)


def ways_of(runtime, path, workload, options):
    """All profilers of the program as it is, and perf with what the runtime writes for it."""
    yield from ((peer.name, peer, workload) for peer in options.peers)
    peers = {peer.name: peer for peer in options.peers}
    for name, what, flags in runtime.for_perf(path):
        if name in peers:
            peer = peers[name]
            if name == "perf dwarf":
                peer = Injected(**{f.name: getattr(peer, f.name) for f in dataclasses.fields(peer)})
            # Some write only when they end.
            yield f"{name}, {what}", peer, dataclasses.replace(workload, argv=runtime.argv(path, *flags, last="end"), stays=False)


def runtimes(options):
    text = ""
    for runtime in RUNTIMES:
        if options.only and runtime.name not in options.only:
            continue
        try:
            path = runtime.find()
        except (Missing, Skip) as e:
            options.note(f"runtime {runtime.name}: {e}")
            continue
        workload = workload_of(runtime, path)
        base, found = rounds_of(workload, HZ, options, list(ways_of(runtime, path, workload, options)), judge)
        throttled(found, HZ, options, runtime.name)
        text += table_of(workload, base, found, RUNTIME_COLUMNS)
        options.write("runtimes.md", command("tests/bench/run runtimes") + "\n" + text)
