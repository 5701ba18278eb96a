# SPDX-License-Identifier: MIT
"""
Methods of Java, by every JDK that is here, started without options for it and without an agent: names, shares and whole stacks of
what the interpreter and each compiler run.
"""
import functools
import glob
import os
import re
import subprocess

from harness import Fixture, calls, check, directory, equal, run, skip, wait_burned

JDKS = ("/usr/lib/jvm/*/bin/javac", "/opt/*/bin/javac")
OLDEST = 11
INTERPRETED, FIRST, SECOND = ["-Xint"], ["-XX:TieredStopAtLevel=1"], ["-XX:-TieredCompilation"]
# What was inlined is told apart at calls and safepoints alone: between them is the next one's.
APART = ["-XX:-Inline"]


@functools.cache
def version(javac):
    out = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r"javac (\d+)", out.stdout + out.stderr)
    return int(found[1]) if found else 0


def jdks():
    """Folders of their programs, one for each version."""
    found = {version(p): os.path.dirname(p) for pattern in JDKS for p in sorted({os.path.realpath(q) for q in glob.glob(pattern)})}
    found = {v: p for v, p in found.items() if v >= OLDEST}
    if not found:
        skip(f"no JDK since {OLDEST} is installed")
    return found


def sampled(jdk, program, *options, rate=999, seconds=1, burned=1):
    """The profile of Main in @program, which prints "ready" and runs until it is killed, and what it said before."""
    with directory() as d:
        source = os.path.join(d, "Main.java")
        with open(source, "w", encoding="utf-8") as f:
            f.write(program)
        subprocess.run([os.path.join(jdk, "javac"), "-d", d, source], check=True)
        with Fixture("java", "-Xshare:auto", *options, "-cp", d, "Main", path=os.path.join(jdk, "java"), until="ready") as f:
            wait_burned(f.pid, burned)
            return run("-p", f.pid, "-F", rate, "-d", seconds, "-f", "folded").ok(), f.lines


def whole(result, root):
    """The stacks of the thread that @root is the first method of: they lead to the thread's start."""
    profile = result.profile.where(lambda s: root in s.frames)
    check(profile.count() > 100, result.err, result.profile.head())
    # What is unwound in user space, for the tables are not there yet, has no names of methods.
    rescued = re.search(r"(\d+) of \d+ rescued", result.err)
    without = result.profile.where(lambda s: "JavaMain" in s.frames and root == "Main.main" and root not in s.frames)
    check(without.count() <= (int(rescued[1]) if rescued else 0) + 1, f"without {root}:", without.head())
    rooted = profile.count(lambda s: not s.cut and "start_thread" in s.frames[:3])
    check(profile.count() - rooted <= 0.001 * profile.count() + 1, "without a root:", profile.head())
    cut = result.profile.count(lambda s: s.cut)
    check(cut <= 0.001 * result.profile.count() + 2, "cut:", result.profile.where(lambda s: s.cut).head())
    unknown = profile.where(lambda s: s.any(r"^\[unknown"))
    check(unknown.count() <= 0.005 * profile.count() + 1, "without names:", unknown.head())
    return profile


TREE = """
public class Main {
    static volatile long sink;
    interface Work { long run(); }
    static long spin(int n) { long s = 0; for (int i = 0; i < n; i++) s = s * 31 + (s >>> 7) + i; return s; }
    // Of no fixed length: the clock that samples would keep step with it.
    static int length;
    static long one() { return spin(length); }
    static class Three implements Work { public long run() { return spin(3 * length); } }
    long two() { return spin(2 * length); }
    static long four() { Work w = () -> spin(4 * length); return w.run(); }
    public static void main(String[] args) {
        Work three = new Three();
        Main main = new Main();
        System.out.println("ready");
        for (;;) {
            length = 500 + (int) (sink >>> 20 & 2047);
            sink += one() + three.run() + main.two() + four();
        }
    }
}
"""
SHARES = {"Main.one": 1, "Main$Three.run": 3, "Main.two": 2, "Main.lambda$four$0": 4}


def test_tree():
    for jdk_version, jdk in jdks().items():
        for options, allowed in ((INTERPRETED, 0.02), (FIRST + APART, 0.02), (SECOND, 0.1)):
            profile = whole(sampled(jdk, TREE, *options)[0], "Main.main")
            n = profile.count()
            for name, part in SHARES.items():
                expected = part / sum(SHARES.values())
                got = profile.count(lambda s, name=name: name in s.frames) / n
                check(abs(got - expected) < allowed + 3 * (expected * (1 - expected) / n) ** 0.5, jdk_version, options, name, got, expected)
            for s in profile.where(lambda s: "Main.lambda$four$0" in s.frames):
                check(calls(s, "JavaMain", "Main.main", "Main.four", "Main.lambda$four$0"), jdk_version, options, s)


# A stack of each kind of call, in a thread of its own, that says what it is.
SAYS = """
import java.util.*;
import java.util.function.*;
public class Main {
    static volatile long sink;
    static void spin() {
        StackTraceElement[] stack = Thread.currentThread().getStackTrace();
        for (int i = stack.length - 1; i > 0; i--)
            System.out.println("frame " + stack[i].getClassName() + "." + stack[i].getMethodName());
        System.out.println("ready");
        for (long s = 1;; s = s * 31 + (s >>> 7)) sink = s;
    }
    static class Outer { class Inner { Inner(int n) { down(n); } } }
    static void down(int n) { if (n > 0) down(n - 1); else Arrays.asList(1).forEach(x -> spin()); }
    public static void main(String[] args) throws Exception {
        Thread thread = new Thread("other") { public void run() { new Outer().new Inner(20); } };
        thread.start();
        thread.join();
    }
}
"""


def test_names_are_those_that_java_says():
    for jdk_version, jdk in jdks().items():
        result, lines = sampled(jdk, SAYS, *INTERPRETED)
        said = [line[1] for line in lines if line[0] == "frame"]
        check(len(said) > 25, lines)
        profile = whole(result, "Main$1.run")
        for s in profile.where(lambda s: "Main.spin" in s.frames):
            # Hidden classes are not said.
            frames = [f for f in s.frames[:s.frames.index("Main.spin") + 1] if "$$Lambda" not in f]
            frames = frames[frames.index("Main$1.run"):]
            equal(frames, said[said.index("Main$1.run"):], jdk_version)


VIRTUAL = """
public class Main {
    static volatile long sink;
    static void down(int n) {
        if (n > 0)
            down(n - 1);
        for (int i = 0; i < 2000; i++)
            sink = sink * 31 + i;
    }
    public static void main(String[] args) throws Exception {
        Thread.ofVirtual().start(() -> { System.out.println("ready"); for (;;) { down(10); Thread.yield(); } }).join();
    }
}
"""


def test_virtual_threads():
    """They lead to the threads that carry them, across where the one's stack begins on the other's."""
    found = {v: p for v, p in jdks().items() if v >= 21}
    if not found:
        skip("no JDK with virtual threads is installed")
    for jdk_version, jdk in found.items():
        profile = whole(sampled(jdk, VIRTUAL)[0], "jdk.internal.vm.Continuation.run")
        for s in profile.where(lambda s: "Main.down" in s.frames):
            check(calls(s, "java.util.concurrent.ForkJoinWorkerThread.run", "jdk.internal.vm.Continuation.run", "Main.down"),
                  jdk_version, s)
