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
            "error": 100 * max(abs(counts[x] / expected - part / sum(spent)) for x, part in zip(NAMES, spent))}


class Injected(Peer):
    """perf, whose recording gets what a runtime wrote of its code before it becomes text."""

    def script(self, out, *options):
        name = " ".join(self.tool)
        read = [w.replace("perf.data", "jit.data") for w in super().script(out, *options)]
        return ["sh", "-c", f'cd "$0" && {name} inject --jit -i perf.data -o jit.data && exec "$@"', out, *read]


@dataclasses.dataclass(frozen=True)
class Runtime:
    """What runs a program; and in which ways perf is told its functions: (profiler, what it is called, flags, whether it has to end)."""
    name: str
    find: object        # its path
    suffix: str
    text: str
    size: int           # of a turn
    comms: str = ""     # of its threads; "": its name
    for_perf: object = lambda path: ()

    def argv(self, path, *flags, last="stay"):
        """As a workload has it: (directory) -> command."""
        def command_in(d):
            script = os.path.join(d, f"{'Main' if self.name == 'java' else 'work'}{self.suffix}")
            if not os.path.exists(script):
                with open(script, "w", encoding="ascii") as f:
                    f.write(filled(self.text, self.size))
            return [path, *flags, script, last]
        return command_in


def newest_python():
    """One that writes for perf, where there is one."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.1[2-9]"))
    return max(found, key=lambda p: int(p.rpartition(".")[2]), default=None) or needs("python3")


def of_python(path):
    minor = int((re.findall(r"python3\.(\d+)$", os.path.realpath(path)) or [0])[0])
    if minor >= 12:
        yield "perf -g", "-X perf", ("-X", "perf"), False
    if minor >= 13:
        yield "perf dwarf", "-X perf_jit", ("-X", "perf_jit"), False


def of_node(_):
    flags = ("--perf-basic-prof", "--interpreted-frames-native-stack")
    yield "perf -g", " ".join(flags), flags, False


def of_java(_):
    flags = ("-XX:+PreserveFramePointer", "-XX:+DumpPerfMapAtExit")
    yield "perf -g", " ".join(flags), ("-XX:+UnlockDiagnosticVMOptions", *flags), True


def newest_java():
    return os.path.join(max(test_java.jdks().items())[1], "java")


def newest_node():
    return test_node.nodes()[0][0]


THREADS_OF_JAVA = "java|C[12] Comp|G1|GC|VM |Sweeper|Common-Cl|Signal|Service|Monitor|Notif|Refer|Final|Attach"
RUNTIMES = [
    Runtime("python", newest_python, ".py", programs.PYTHON, 16000, for_perf=of_python),
    Runtime("node", newest_node, ".js", programs.NODE, 700000, "node|MainThread|Delayed|libuv|V8|SignalInsp", of_node),
    Runtime("java", newest_java, ".java", programs.JAVA, 850000, THREADS_OF_JAVA, of_java),
    Runtime("ruby", lambda: needs("ruby"), ".rb", programs.RUBY, 55000),
    Runtime("php", lambda: needs("php"), ".php", programs.PHP, 160000),
    Runtime("perl", lambda: needs("perl"), ".pl", programs.PERL, 19000),
]
RUNTIME_COLUMNS = [c for c in COLUMNS if c[0] != "exited"] + [("right", "frames right, %"), ("callers", "callers right, too, %")]


def workload_of(runtime, path):
    return Workload(runtime.name, f"{os.path.basename(os.path.realpath(path))}: three functions of known shares, called from {DEPTH} calls deep",
                    runtime.argv(path), re.compile(runtime.comms or runtime.name), stays=True, tells=True)


def ways_of(runtime, path, workload, options):
    """All profilers of the program as it is, and perf with what the runtime writes for it."""
    yield from ((peer.name, peer, workload) for peer in options.peers)
    peers = {peer.name: peer for peer in options.peers}
    for name, what, flags, ends in runtime.for_perf(path):
        if name in peers:
            peer = peers[name]
            if name == "perf dwarf":
                peer = Injected(**{f.name: getattr(peer, f.name) for f in dataclasses.fields(peer)})
            yield f"{name}, {what}", peer, dataclasses.replace(workload, argv=runtime.argv(path, *flags, last="end" if ends else "stay"),
                                                               stays=not ends)


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
