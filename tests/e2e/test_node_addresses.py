# SPDX-License-Identifier: MIT
"""
What node itself says of addresses (--perf-basic-prof), as perf reads it, against what ebprof finds without it: both record each page
fault of one run, in code of each optimising compiler.
"""
import collections
import contextlib
import os
import re
import signal
import subprocess

from harness import Fixture, Profile, check, directory, finish, needs, start, wait_sampling
from test_node import compiled, has_names, nodes, written
from test_stat_perf import enable

SECONDS = 15

# Functions of 30 names that call one another by way of go(), each of which writes where no page is yet; every third is a method.
FAULTS = """
const functions = [];
function go(depth, to, at) {
    to[at] = 1;
    return depth && at + 4096 < to.length ? functions[(at / 4096 * 7 + depth * 3) % 30](depth - 1, to, at + 4096) : at + 4096;
}
for (let i = 0; i < 30; i++)
    functions.push(eval(i % 3 ? `(function made_${i}(depth, to, at) { to[at] = 1; return go(depth, to, at); })`
                              : `({ made_${i}(depth, to, at) { to[at] = 1; return go(depth, to, at); } }).made_${i}`));
class Base { run(to) { return this.down(to, 0); } }
class Derived extends Base { down(to, at) { while (at < to.length - 4096) at = functions[at / 4096 % 30](9, to, at); return at; } }
function work(rounds) { for (let i = 0; i < rounds; i++) new Derived().run(Buffer.allocUnsafeSlow(200000)); }
function main() {
    work(2000);
    ready();
    require('fs').readSync(0, Buffer.alloc(1));
    work(200);
}
main();
"""


@contextlib.contextmanager
def waiting(node, options, folder):
    """node, which has compiled what it runs, and faults once it is sent a line; what it says of addresses is where perf reads it."""
    prefix = ("env", "-C", folder, "MALLOC_MMAP_THRESHOLD_=131072")
    with Fixture("node", "--perf-basic-prof", *options, written(folder, FAULTS), path=node, prefix=prefix) as f:
        try:
            yield f
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"/tmp/perf-{f.pid}.map")


def both(node, options, folder):
    """What ebprof and perf recorded of the same faults: its profile, and the text of perf's samples."""
    data, out = os.path.join(folder, "data"), os.path.join(folder, "out")
    control, answer = os.pipe(), os.pipe()
    with waiting(node, options, folder) as f:
        perf = subprocess.Popen([needs("perf"), "record", "-q", "-e", "page-faults", "-c", "1", "-g", "-m", "16M", "-p", str(f.pid), "-o", data,
                                 "-D", "-1", f"--control=fd:{control[0]},{answer[1]}"], pass_fds=(control[0], answer[1]), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        enable(control[1], answer[0])
        mine = start("-p", f.pid, "-e", "page-faults", "-c", 1, "-f", "folded", "--annotate", "-o", out)
        wait_sampling(mine)
        f.go()
        f.proc.wait(timeout=30)
        finish(mine)
        perf.send_signal(signal.SIGINT)
        perf.wait(timeout=30)
        text = subprocess.run([needs("perf"), "script", "-F", "ip,sym", "-i", data], check=True, capture_output=True, text=True, timeout=60).stdout
    for fd in (*control, *answer):
        os.close(fd)
    with open(out, encoding="utf-8") as f:
        return Profile.read(f.read()), text


def addressed(text):
    """perf's stacks of JavaScript that faulted: names, "" where it is the interpreter's. And how many were of each compiler's."""
    stacks, kinds = collections.Counter(), collections.Counter()
    for sample in text.split("\n\n"):
        frames = re.findall(r"^\s+[0-9a-f]+ (?:JS|LazyCompile|Function|Eval|Script):([~^+*]?)'?(\S*) ?.*$|^\s+[0-9a-f]+ (.*)$", sample, re.M)
        if frames and not frames[0][2]:
            kinds[frames[0][0]] += 1
            stacks[tuple(name for _, name, other in frames[::-1] if not other or other == "Builtins_InterpreterEntryTrampoline")] += 1
    return stacks, kinds


def found(profile, theirs):
    """The same stacks of @profile; of what the interpreter runs @theirs have no names."""
    stacks = collections.Counter()
    for s in profile:
        own = [f for f in s.frames if not f.endswith("_[k]")]
        if own and own[-1].endswith("_[s]"):
            names = tuple(f[:-len("_[s]")] for f in own if f.endswith("_[s]"))
            seen = (t for t in theirs if len(t) == len(names) and all(a in (b, "") for a, b in zip(t, names)))
            stacks[next(seen, names)] += s.count
    return stacks


def test_names_are_those_of_the_addresses():
    for node, major in nodes():
        # perf tells its interpreter by the name alone.
        if not has_names(node):
            continue
        # By each optimising compiler.
        for without in ([], ["--no-maglev"])[:1 + (major >= 22)]:
            with directory() as d:
                profile, text = both(node, [*compiled(major), *without], d)
            theirs, kinds = addressed(text)
            n = sum(theirs.values())
            check(n > 5000 and len(theirs) > 20 and kinds["*"] + kinds["+"] > 2000, node, without, kinds, theirs.most_common(3))
            ours = found(profile, theirs)
            check(sum((ours & theirs).values()) >= 0.99 * max(n, sum(ours.values())), node, without, kinds, (ours - theirs).most_common(3),
                  (theirs - ours).most_common(3))
