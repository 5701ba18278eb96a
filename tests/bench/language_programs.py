# SPDX-License-Identifier: MIT
"""
What programs of Python, JavaScript and Java cost that are sampled, by the CPU time that they say they took: with their frames,
with native stacks alone (a copy of the runtime that is not known), and by perf with what the runtime writes for it.
"""
import dataclasses
import glob
import os
import re
import shutil
import statistics
import subprocess
import tempfile

import peers
import stacks
from harness import EBPROF, directory

HZ = 999
VERSION_NOBODY_KNOWS = 99

PYTHON = """
def key(x): return -x
def rows(n): return sorted(range(n), key=key)
def tree(n): return 1 if n < 2 else tree(n - 1) + tree(n - 2)
class Row:
    def __init__(self, i): self.i = i
    def cells(self): return {str(k): k for k in range(self.i % 40)}
def build(n): return sum(len(Row(i).cells()) for i in range(n))
def main():
    for _ in range(40):
        rows(20000)
        tree(20)
        build(4000)
main()
import sys, time
print(time.process_time(), file=open(sys.argv[1], 'w'))
"""
NODE = """
function rows(n) { return Array.from({ length: n }, (_, i) => i * 7919 % n).sort((a, b) => b - a); }
function tree(n) { return n < 2 ? 1 : tree(n - 1) + tree(n - 2); }
class Row {
    constructor(i) { this.i = i; }
    cells() { const made = {}; for (let k = 0; k < this.i % 40; k++) made['k' + k] = k; return Object.keys(made); }
}
function build(n) { let sum = 0; for (let i = 0; i < n; i++) sum += new Row(i).cells().length; return sum; }
function main() { for (let i = 0; i < 60; i++) { rows(20000); tree(22); build(6000); JSON.parse(JSON.stringify(rows(3000))); } }
main();
const used = process.cpuUsage();
require('fs').writeFileSync(process.argv[2], String((used.user + used.system) / 1e6));
"""
JAVA = """
import java.util.*;
import java.util.stream.*;
public class Main {
    static long tree(int n) { return n < 2 ? 1 : tree(n - 1) + tree(n - 2); }
    static List<Integer> rows(int n) { return IntStream.range(0, n).map(i -> i * 7919 % n).boxed().sorted(Comparator.reverseOrder()).toList(); }
    record Row(int i) {
        Map<String, Integer> cells() { Map<String, Integer> made = new HashMap<>(); for (int k = 0; k < i % 40; k++) made.put("k" + k, k); return made; }
    }
    static long build(int n) { long sum = 0; for (int i = 0; i < n; i++) sum += new Row(i).cells().size(); return sum; }
    public static void main(String[] args) throws Exception {
        long sum = 0;
        for (int i = 0; i < 60; i++)
            sum += rows(20000).size() + tree(26) + build(6000);
        var used = ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean());
        java.nio.file.Files.writeString(java.nio.file.Path.of(args[0]), String.valueOf(used.getProcessCpuTime() / 1e9));
    }
}
"""


@dataclasses.dataclass(frozen=True)
class Program:
    """Commands, without where it writes its CPU time: as it is, one that is not known, and one that writes for perf."""
    what: str
    comm: str           # what its threads' names begin with
    perf: str           # what makes it write
    plain: tuple
    unknown: tuple
    perfed: tuple
    root: str           # a frame that each whole stack of its own code has; behind perf's marks of that
    inner: str          # frames that tell such stacks


def patched(path, to, find, replace):
    with open(path, "rb") as f:
        image = f.read()
    with open(to, "wb") as f:
        f.write(image.replace(find, replace))
    os.chmod(to, 0o755)
    return to


def nobody_knows(library, d):
    """A copy of Python's @library that says to be of another version: what it runs stays native."""
    def said(*argv):
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"^([0-9a-f]+) \S Py_Version$", said("nm", "-D", library), re.M)[1], 16)
    loads = re.findall(r"LOAD\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x\S+ 0x([0-9a-f]+)", said("readelf", "-lW", library))
    offset = next(address - int(v, 16) + int(o, 16) for o, v, n in loads if 0 <= address - int(v, 16) < int(n, 16))
    copy = os.path.join(d, os.path.basename(library))
    shutil.copy(library, copy)
    with open(copy, "r+b") as f:
        f.seek(offset + 2)
        f.write(bytes([VERSION_NOBODY_KNOWS]))
    return copy


def written(d, name, text):
    path = os.path.join(d, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


def python(d):
    paths = glob.glob(os.path.expanduser("~/.pyenv/versions/3.12.*/bin/python3.12"))
    if not paths:
        return None
    path, script = os.path.realpath(paths[0]), written(d, "work.py", PYTHON)
    library = os.path.realpath(glob.glob(os.path.join(os.path.dirname(path), "..", "lib", "libpython3.12.so.*"))[0])
    return Program("Python 3.12", "python", "-X perf", (path, script), ("env", f"LD_PRELOAD={nobody_knows(library, d)}", path, script),
                   (path, "-X", "perf", script), r"^(py::)?<module>", r"^(main$|<module>$|py::)")


def node(d):
    from test_node import nodes, version
    path, script = nodes()[0][0], written(d, "work.js", NODE)
    copy = patched(path, os.path.join(d, "node"), b"v8dbg_", b"v8xxx_")
    return Program(f"node {version(path)}", "(node|MainThread)", "--perf-basic-prof", (path, script), (copy, script),
                   (path, "--perf-basic-prof", script), r"\bmain\b(?!::)", r"^(JS:.*)?\W*\b(main|rows|tree|build|cells)\b")


def java(d):
    from test_java import compiled, jdks, with_library
    version, jdk = max(jdks().items())
    path, *arguments = compiled(jdk, JAVA, d)
    copy, library = with_library(jdk, d)
    patched(os.path.join(jdk, "..", "lib", "server", "libjvm.so"), library, b"\0gHotSpotVMStructs\0", b"\0gHotSpotVMStructX\0")
    return Program(f"Java {version}", "java", "DumpPerfMapAtExit", (path, *arguments, "Main"), (copy, *arguments, "Main"),
                   (path, "-XX:+UnlockDiagnosticVMOptions", "-XX:+PreserveFramePointer", "-XX:+DumpPerfMapAtExit", *arguments, "Main"),
                   r"\bMain[.:]+main\b", r"\bMain[.:$]")


def ebprof_command(out):
    return [EBPROF, "-F", str(HZ), "-f", "folded", "-o", f"{out}/text", "--"]


def perf_command(out):
    return [*peers.command_of("perf"), "record", "-q", "-g", "-e", "cpu-clock", "-F", str(HZ), "-o", f"{out}/perf.data", "--"]


def alone(work, d, prefix=()):
    """CPU seconds that the program itself says it took."""
    # node writes a log to where it is.
    subprocess.run([*prefix, *work, f"{d}/cpu"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=d)
    with open(f"{d}/cpu", encoding="ascii") as f:
        return float(f.read())


def recorded(program, command, work, d):
    """(CPU seconds of the program, % of the stacks of its own code that are whole to its beginning)"""
    peer = peers.named("ebprof" if command is ebprof_command else "perf -g")
    with tempfile.TemporaryDirectory(prefix="ebprof-bench-") as out:
        cpu = alone(work, d, command(out))
        if peer.script(out):
            with open(f"{out}/text", "wb") as text:
                subprocess.run(peer.script(out, "--no-inline"), stdout=text, stderr=subprocess.DEVNULL, check=True)
        with open(f"{out}/text", encoding="utf-8", errors="replace") as text:
            found = [(f, n) for comm, f, n in peer.read(text) if re.match(program.comm, comm)]
    # What happens before and after the program's own code has no frame of it.
    inside = [(f, n) for f, n in found if any(re.search(program.inner, x) for x in f)]
    total = sum(n for _, n in inside)
    whole = sum(n for f, n in inside if any(re.search(program.root, x) for x in f) and stacks.is_complete(f))
    return cpu, 100 * whole / total if total else None


def compare(program, rounds, d):
    rows = [("ebprof", ebprof_command, program.plain), ("ebprof, native stacks alone", ebprof_command, program.unknown),
            (f"ebprof on {program.perf}", ebprof_command, program.perfed), (f"perf -g on {program.perf}", perf_command, program.perfed)]
    base, got = {}, {}
    for _ in range(rounds):
        for work in (program.plain, program.unknown, program.perfed):
            base[work] = alone(work, d)
        for what, command, work in rows:
            cpu, whole = recorded(program, command, work, d)
            got.setdefault(what, []).append((100 * (cpu / base[work] - 1), 100 * (cpu / base[program.plain] - 1), whole))
    print(f"\n{f'{program.what} at {HZ} Hz':34}{'more CPU time, %':>24}{'to it as it is, %':>26}{'whole, %':>12}")
    for what, figures in got.items():
        more, plainly, whole = zip(*figures)
        print(f"{what:34}{spread(more):>24}{spread(plainly):>26}{middle(whole):>12}", flush=True)


def middle(shares):
    """Of those that there are: a recording may have no stack of the program's own code."""
    known = [x for x in shares if x is not None]
    return f"{statistics.median(known):.2f}" if known else "-"


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} .. {max(values):.1f})"


def programs(rounds, languages):
    for make in (python, node, java):
        if make.__name__ in languages:
            with directory() as d:
                program = make(d)
                if program:
                    compare(program, rounds, d)
