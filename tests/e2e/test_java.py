# SPDX-License-Identifier: MIT
"""
Methods of Java, by every JDK that is here, started without options for it and without an agent: names, shares and whole stacks of
what the interpreter and each compiler run.
"""
import contextlib
import functools
import glob
import os
import re
import shutil
import subprocess

from harness import (UNNAMED, Fixture, Profile, calls, check, child_of, directory, equal, fixture_path, needs, run, run_burned,
                     share, skip, unsanitized, wait_burned)

SECONDS = 75

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
        needs(f"javac of {OLDEST} or newer")
    return found


def compiled(jdk, program, folder, release=()):
    """The classes of @program, compiled into @folder; the command that runs them."""
    source = os.path.join(folder, "Main.java")
    with open(source, "w", encoding="utf-8") as f:
        f.write(program)
    # Half of its time would go to compilers that compile the compiler.
    subprocess.run([os.path.join(jdk, "javac"), "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", *release, "-Xlint:-options", "-d", folder,
                    source], check=True)
    return [os.path.join(jdk, "java"), "-Xshare:auto", "-cp", folder]


@contextlib.contextmanager
def running(command, *options, main="Main", arguments=(), burned=0.5):
    """@main, compiled by @command, which prints "ready" and runs until it is killed."""
    java, *args = command
    with Fixture("java", *args, *options, main, *arguments, path=java, until="ready") as f:
        wait_burned(child_of(f.pid, "java"), burned)
        yield f


def recorded(command, *options, main="Main", arguments=(), measure=("-F", 1999, "-f", "folded"), seconds=0.5, burned=0.5, **kw):
    """Its profile, and what it said before."""
    with running(command, *options, main=main, arguments=arguments, burned=burned) as f:
        return run(*measure, "-p", f.pid, "-d", seconds, **kw).ok(), f.lines


def sampled(jdk, program, *options, **kw):
    with directory() as d:
        return recorded(compiled(jdk, program, d), *options, **kw)


def whole(result, root):
    """The stacks of the thread that @root is the first method of: they lead to the thread's start."""
    profile = result.profile.where(lambda s: root in s.frames)
    check(profile.count() > 25, result.err, result.profile.head())
    # What is unwound in user space, for the tables are not there yet, has no names of methods.
    without = result.profile.where(lambda s: "JavaMain" in s.frames and root == "Main.main" and root not in s.frames)
    check(without.count() <= result.summary.rescued + 1, f"without {root}:", without.head())
    # Where the C library is stripped, and what starts the thread.
    rooted = profile.count(lambda s: not s.cut and ("start_thread" in s.frames[:3] or s.frames.index(root) > 3))
    check(profile.count() - rooted <= 0.001 * profile.count() + 1, "without a root:", profile.head())
    cut = result.profile.where(lambda s: s.cut)
    # A heap of code that grows is told late where ebprof has to wait for a CPU; until then code of the JVM has no names.
    late = cut.count(lambda s: s.cut[1] == "no mapping" or (s.cut[1] == "no CFI" and s.frames[:1] == ["[unknown]"]))
    check(cut.count() - late <= 0.001 * result.profile.count() + 2 and late <= 0.02 * result.profile.count(), "cut:", cut.head())
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


def known_shares(command, *options, allowed=0.02, **kw):
    """Those of TREE."""
    profile = whole(recorded(command, *options, **kw)[0], "Main.main")
    n = profile.count()
    for name, part in SHARES.items():
        expected = part / sum(SHARES.values())
        got = profile.count(lambda s, name=name: name in s.frames) / n
        check(abs(got - expected) < allowed + 3 * (expected * (1 - expected) / n) ** 0.5, command, options, name, got, expected)
    for s in profile.where(lambda s: "Main.lambda$four$0" in s.frames):
        check(calls(s, "Main.main", "Main.four", "Main.lambda$four$0"), command, options, s)


def test_tree():
    for jdk in jdks().values():
        with directory() as d:
            command = compiled(jdk, TREE, d)
            for options, allowed in ((INTERPRETED, 0.02), (FIRST + APART, 0.02), (SECOND, 0.1)):
                known_shares(command, *options, allowed=allowed)


def test_tables_that_come_late():
    """While libjvm has no unwind table the kernel goes as far as it comes, and user space goes on from there."""
    unsanitized("a library is preloaded")
    _, jdk = max(jdks().items())
    result = sampled(jdk, TREE, *SECOND, env={**os.environ, "LD_PRELOAD": fixture_path("late_threads.so")})[0]
    profile = result.profile.where(lambda s: "Main.main" in s.frames)
    rescued = re.search(r"(\d+) of (\d+) rescued", result.err)
    check(rescued and int(rescued[1]) > 0.1 * profile.count(), result.err)
    check(int(rescued[1]) > 0.9 * int(rescued[2]), result.err)
    rooted = profile.count(lambda s: not s.cut and "start_thread" in s.frames[:3])
    check(profile.count() - rooted <= 0.001 * profile.count() + 1, profile.head())


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


# One thread stays, the other one leaves its carrier again and again. It is compiled by a JDK without them, too.
VIRTUAL = """
class Virtual {
    static volatile long sink;
    static void down(int n) {
        if (n > 0)
            down(n - 1);
        for (int i = 0; i < 2000; i++)
            sink = sink * 31 + i;
    }
    static void stay() { for (;;) down(10); }
    static void yield() { for (;;) { down(10); Thread.yield(); } }
    static Thread start(Runnable what) throws Exception {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, what);
    }
    public static void main(String[] args) throws Exception {
        start(() -> stay());
        start(() -> { System.out.println("ready"); Virtual.yield(); }).join();
    }
}
"""
# Where a virtual thread begins on its carrier: all of it is there, or callers have not been put back (since 25, and before).
WHOLE = "jdk.internal.vm.Continuation.enterSpecial"
PARTS = ("StubRoutines (continuationstubs)", "StubRoutines (continuation stubs)")


def virtual_threads(command, **kw):
    """They lead to the threads that carry them, across where the one's stack begins on the other's, which has a mark."""
    result = recorded(command, "-Djdk.virtualThreadScheduler.parallelism=2", main="Virtual", **kw)[0]
    profile = whole(result, "jdk.internal.vm.Continuation.run").where(lambda s: "Virtual.down" in s.frames)
    for s in profile:
        marks = [f for f in s.frames if f in (WHOLE, *PARTS)]
        equal(len(marks), 1, f"{command}: {s}")
        check(calls(s, "java.util.concurrent.ForkJoinWorkerThread.run", "jdk.internal.vm.Continuation.run", marks[0], "Virtual.down"),
              command, s)
    stays = profile.count(lambda s: calls(s, WHOLE, "java.lang.VirtualThread.run", "Virtual.stay", "Virtual.down"))
    check(stays > 20 and profile.count(lambda s: set(PARTS) & set(s.frames)) > 20, command, profile.head())


def test_virtual_threads():
    found = {v: p for v, p in jdks().items() if v >= 21}
    if not found:
        skip("no JDK with virtual threads is installed")
    for jdk in found.values():
        with directory() as d:
            virtual_threads(compiled(jdk, VIRTUAL, d))


MEASURED = """
import java.nio.ByteBuffer;
public class Main {
    static volatile long sink;
    static ByteBuffer[] kept = new ByteBuffer[64];
    static int at;
    static void rest() throws Exception { Thread.sleep(5); }
    static void work() { for (int i = 0; i < 1000000; i++) sink = sink * 31 + i; }
    static void grow() { kept[at++ & 63] = ByteBuffer.allocateDirect(200000); }
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (;;) { rest(); work(); grow(); }
    }
}
"""


def waits_measured(jdk_version, pid, option):
    profile = Profile.read(run(option, "-f", "folded", "-p", pid, "-d", 0.5).ok().out)
    waiting = profile.where(lambda s: s.any(r"^\[blocked\]$") and "Main.main" in s.frames)
    check(waiting.count() > 0, jdk_version, option, profile.head())
    check(waiting.count(lambda s: calls(s, "Main.main", "Main.rest")) > 0.9 * waiting.count(), jdk_version, option, waiting.head())
    check(option == "--off-cpu" or profile.count(lambda s: calls(s, "Main.main", "Main.work")) > 0, jdk_version, profile.head())


def test_every_way_of_measuring():
    """Methods have their names in all of them: waiting; of the newest running and waiting, growing, live, too."""
    for jdk_version, jdk in jdks().items():
        with directory() as d:
            command = compiled(jdk, MEASURED, d)
            with running(command) as f:
                waits_measured(jdk_version, f.pid, "--off-cpu")
                if jdk_version != max(jdks()):
                    continue
                waits_measured(jdk_version, f.pid, "--wall")
                faults = run("-e", "page-faults", "-c", 1, "-f", "folded", "-p", f.pid, "-d", 0.5).ok().profile
                shown = run("top", "--plain", "--since-start", "-p", f.pid, "-d", 1).ok().out
            out = os.path.join(d, "out.folded")
            run("alloc", "-d", 2, "-o", out, "--", *command, "Main").ok()
            with open(out, encoding="utf-8") as f:
                grown = Profile.read(f.read()).where(lambda s: "Main.main" in s.frames)
        faults = faults.where(lambda s: "Main.main" in s.frames)
        check(faults.count() > 100 and share(faults, "Main.grow") > 0.9, jdk_version, faults.head())
        check(grown.count() > 1 << 20 and share(grown, "Main.grow") > 0.9, jdk_version, grown.head())
        check(re.search(r"^ +[\d.]+ +[\d.]+ .* Main\.work\b", shown, re.M), jdk_version, shown)


STREAMS = """
import java.util.*;
import java.util.stream.*;
public class Main {
    static volatile long sink;
    static long weigh(long x) { long s = x; for (int i = 0; i < 500; i++) s = s * 31 + (s >>> 7); return s; }
    static long streams() {
        return LongStream.range(0, 2000).filter(x -> x % 3 != 0).map(x -> weigh(x)).boxed()
            .collect(Collectors.groupingBy(x -> x & 7, TreeMap::new, Collectors.summingLong(x -> x))).get(1L);
    }
    public static void main(String[] args) {
        System.out.println("ready");
        for (;;) sink += streams();
    }
}
"""


def test_streams_and_lambdas():
    for jdk_version, jdk in jdks().items():
        profile = whole(sampled(jdk, STREAMS, *APART)[0], "Main.main")
        weighed = profile.where(lambda s: "Main.weigh" in s.frames)
        check(weighed.count() > 0.2 * profile.count(), jdk_version, profile.head(3))
        check(weighed.count(lambda s: calls(s, "Main.main", "Main.streams")) == weighed.count(), jdk_version, weighed.head())
        check(weighed.count(lambda s: s.any(r"^Main\.lambda\$streams\$\d$")) > 0.95 * weighed.count(), jdk_version, weighed.head())


# What C1 calls that makes no frame: a search among interfaces, the end of methods that throw, conversions of what is no long.
RUNTIME = """
public class Main {
    interface A {} interface B {} interface C {} interface D {} interface E {} interface Never {}
    static class One implements A, B, C, D, E {}
    static class Two implements E, D, C, B, A {}
    static volatile long sink;
    static final RuntimeException thrown = new RuntimeException("", null, false, false) {};
    static void subtypes(Object one, Object two) {
        for (int i = 0; i < 800; i++)
            if (one instanceof Never || two instanceof Never || !(one instanceof E) || !(two instanceof A)) sink++;
    }
    static void falls(int n) { if (n == 0) throw thrown; falls(n - 1); sink++; }
    static void exceptions() { for (int i = 0; i < 40; i++) try { falls(5); } catch (RuntimeException e) { sink++; } }
    static void conversions(double d) { for (int i = 0; i < 3000; i++) sink += (long) (d + i); }
    public static void main(String[] args) {
        Object one = new One(), two = new Two();
        System.out.println("ready");
        for (;;) { subtypes(one, two); exceptions(); conversions(Double.NaN); }
    }
}
"""


def test_runtime_without_frames():
    """Who called code of HotSpot that has no frame of its own, wherever in it a sample is."""
    for jdk_version, jdk in jdks().items():
        with directory() as d, running(compiled(jdk, RUNTIME, d), *FIRST, *APART, burned=1) as f:
            result = run_burned(child_of(f.pid, "java"), 0.4, "-F", 1999, "-f", "folded").ok()
        profile = whole(result, "Main.main")
        for where, method in (("slow_subtype_check", "Main.subtypes"), ("unwind_exception", "Main.exceptions"),
                              (r"\bStubRoutines", "Main.conversions")):
            inside = profile.where(lambda s, where=where: re.search(where, " ".join(s.frames[s.frames.index("Main.main"):])))
            check(inside.count() > 3, jdk_version, where, profile.head())
            check(all(calls(s, "Main.main", method) for s in inside), jdk_version, where, inside.head())


# Threads that answer requests over loopback, and as many that ask.
SERVER = """
import java.io.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
public class Main {
    static String answer(String line) {
        StringBuilder text = new StringBuilder();
        for (String word : line.split(" ")) text.insert(0, word.toUpperCase());
        long s = 1;
        for (int i = 0; i < 20000; i++) s = s * 31 + (s >>> 7);
        return text.append(s).toString();
    }
    static void serve(Socket socket) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
             PrintWriter out = new PrintWriter(socket.getOutputStream(), true)) {
            for (String line; (line = in.readLine()) != null;) out.println(answer(line));
        } catch (IOException e) { throw new UncheckedIOException(e); }
    }
    static void ask(int port) {
        try (Socket socket = new Socket("127.0.0.1", port);
             BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
             PrintWriter out = new PrintWriter(socket.getOutputStream(), true)) {
            for (;;) { out.println("these are some words to turn around"); in.readLine(); }
        } catch (IOException e) { throw new UncheckedIOException(e); }
    }
    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0);
        ExecutorService pool = Executors.newCachedThreadPool();
        for (int i = 0; i < 2; i++) pool.submit(() -> ask(server.getLocalPort()));
        System.out.println("ready");
        for (;;) { Socket socket = server.accept(); pool.submit(() -> serve(socket)); }
    }
}
"""


def well_named(result, where, *what):
    """Stacks of Java's threads lead to the thread's start, and less than one frame in 200 has no name."""
    profile = result.profile.where(where)
    check(profile.count() > 100, *what, result.err)
    cut = profile.where(lambda s: s.cut)
    check(cut.count() <= 0.001 * profile.count() + 2, *what, "cut:", cut.head(3))
    frames = sum(s.count * len(s.frames) for s in profile)
    unnamed = sum(s.count * sum(bool(UNNAMED.match(f)) for f in s.frames) for s in profile)
    # What is unwound in user space, before the tables of the JVM are built, has no names of methods.
    check(unnamed <= 0.005 * frames + 20 * result.summary.rescued, *what, unnamed, frames,
          profile.where(lambda s: s.any(UNNAMED.pattern)).head(3))
    return profile


def test_server():
    """Four threads, half of the time in the kernel: each below its pool's thread."""
    for jdk_version, jdk in jdks().items():
        # Few threads and samples: eight that wake one another all the time leave little of the machine to other tests.
        with directory() as d, running(compiled(jdk, SERVER, d)) as f:
            result = run_burned(f.pid, 1, "-F", 199, "-f", "folded").ok()
        profile = well_named(result, lambda s: s.any("^java.lang.Thread.run$"), jdk_version)
        for name in ("Main.serve", "Main.ask"):
            inside = profile.where(lambda s, name=name: name in s.frames)
            check(inside.count() > 0.1 * profile.count(), jdk_version, name, profile.head(3))
            check(all(calls(s, "java.util.concurrent.ThreadPoolExecutor$Worker.run", name) for s in inside), jdk_version, inside.head(3))
        check(profile.count(lambda s: "Main.answer" in s.frames) > 0.1 * profile.count(), jdk_version, profile.head(3))


def test_compiler():
    """javac, from its first instruction on: interpreted, compiled by both compilers, and replaced meanwhile."""
    for jdk_version, jdk in jdks().items():
        with directory() as d:
            sources = []
            for i in range(12):
                sources.append(os.path.join(d, f"Made{i}.java"))
                with open(sources[-1], "w", encoding="utf-8") as f:
                    f.write(SERVER.replace("Main", f"Made{i}"))
            out = os.path.join(d, "out.folded")
            result = run("-F", 999, "-o", out, "--", os.path.join(jdk, "javac"), "-d", d, *sources).ok()
            with open(out, "rb") as f:
                result.out = f.read().decode()
        profile = well_named(result, lambda s: "JavaMain" in s.frames, jdk_version)
        inside = profile.where(lambda s: s.any(r"^com\.sun\.tools\.javac\.main\.JavaCompiler\.compile$"))
        check(inside.count() > 0.3 * profile.count(), jdk_version, profile.head(3))


# Classes that come and go: each has a method of its own name, that calls the one that spins. Each is compiled, for types that it has
# not met it is undone, and then its class is unloaded.
CHANGING = """
import java.lang.reflect.Constructor;
import java.util.*;
public class Main {
    public interface Work { long run(int n); }
    public static volatile long sink;
    public static long spin(int n) { long s = 0; for (int i = 0; i < n; i++) s = s * 31 + (s >>> 7) + i; return s; }
    static byte[] template;
    // The class file of "Made00000" with another number: names of one length.
    static Work made(int number) throws Exception {
        byte[] bytes = template.clone(), from = "00000".getBytes(), to = String.format("%05d", number).getBytes();
        for (int i = 0; i + 5 <= bytes.length; i++)
            if (Arrays.equals(Arrays.copyOfRange(bytes, i, i + 5), from))
                System.arraycopy(to, 0, bytes, i, 5);
        ClassLoader loader = new ClassLoader(Main.class.getClassLoader()) {
            protected Class<?> findClass(String name) { return defineClass(null, bytes, 0, bytes.length); }
        };
        Constructor<?> made = loader.loadClass("Made" + new String(to)).getDeclaredConstructor();
        made.setAccessible(true);
        return (Work) made.newInstance();
    }
    static long use(Work work, int rounds) { long s = 0; for (int i = 0; i < rounds; i++) s += work.run(i & 63); return s; }
    public static void main(String[] args) throws Exception {
        template = java.nio.file.Files.readAllBytes(java.nio.file.Path.of(args[0], "Made00000.class"));
        System.out.println("ready");
        for (int i = 1;; i++) {
            sink += use(made(i % 100000), 20000);
            if (i % 20 == 0) System.gc();
        }
    }
}
class Made00000 implements Main.Work {
    public long run(int n) { return run00000(n) + 1; }
    long run00000(int n) { return Main.spin(n); }
}
"""


CHILD = """
public class Main {
    static volatile long sink;
    static void spin(long end) { while (System.nanoTime() < end) for (int i = 0; i < 100; i++) sink = sink * 31 + i; }
    static void child() { spin(System.nanoTime() + 100000000); }
    public static void main(String[] args) { child(); }
}
"""


def test_executed_children():
    """JVMs that begin and end while they are sampled have their methods' names."""
    for jdk_version, jdk in jdks().items():
        with directory() as d:
            java = " ".join(compiled(jdk, CHILD, d))
            result = run("-F", 999, "-f", "folded", "--", "sh", "-c", f"for i in 1 2 3 4 5 6; do {java} Main; done").ok()
        profile = result.profile.where(lambda s: "JavaMain" in s.frames)
        inside = profile.where(lambda s: calls(s, "JavaMain", "Main.main", "Main.child", "Main.spin"))
        check(inside.count() > 50, jdk_version, profile.head(3))
        nameless = profile.where(lambda s: s.any(r"^\[unknown"))
        # What is unwound in user space, until the first one's tables are there, has no names of methods.
        check(nameless.count() <= 0.01 * profile.count() + result.summary.rescued, jdk_version, nameless.head(), result.err)


def with_library(jdk, folder):
    """A java below @folder like that of @jdk, and where the libjvm.so is that it loads."""
    for at in ("bin", "lib", "lib/server"):
        os.mkdir(os.path.join(folder, at))
    for path in glob.glob(os.path.join(jdk, "..", "lib", "*")) + [os.path.join(jdk, "..", "conf")]:
        if os.path.basename(path) != "server":
            os.symlink(os.path.realpath(path), os.path.join(folder, os.path.relpath(path, os.path.join(jdk, ".."))))
    return shutil.copy(os.path.join(jdk, "java"), os.path.join(folder, "bin")), os.path.join(folder, "lib", "server", "libjvm.so")


def test_builds_that_are_not_known():
    """They are told in one line, and what they run stays native: copies of libjvm without its tables, or a field of them."""
    _, jdk = min(jdks().items())
    with open(os.path.join(jdk, "..", "lib", "server", "libjvm.so"), "rb") as f:
        image = f.read()
    with directory() as d:
        _, *arguments = compiled(jdk, TREE, d)
        java, library = with_library(jdk, d)
        for why, text in (("it does not say where Java's frames are", b"\0gHotSpotVMStructs\0"),
                          (r"this build of Java \d+ lacks CodeBlob::_frame_size", b"\0_frame_size\0")):
            with open(library, "wb") as f:
                f.write(image.replace(text, text[:-2] + b"X\0"))
            result = recorded([java, *arguments], *INTERPRETED, burned=0.2, seconds=0.5)[0]
            lines = re.findall("^ebprof: functions of Java are not shown: .*$", result.err, re.M)
            check(len(lines) == 1 and re.search(f"libjvm.so: {why}$", lines[0]), why, result.err)
            equal(result.profile.count(lambda s: s.any("^Main")), 0, why)


def test_classes_that_come_and_go():
    """The same memory is one class's and then another's, and code is undone: a method is always its own class's."""
    for jdk_version, jdk in jdks().items():
        with directory() as d:
            java, *args = compiled(jdk, CHANGING, d)
            with Fixture("java", *args, "-Xmx64m", "-XX:MaxMetaspaceSize=64m", "Main", d, path=java) as f:
                wait_burned(f.pid, 1)
                result = run("-p", f.pid, "-F", 1999, "-d", 2, "-f", "folded").ok()
        profile = whole(result, "Main.main")
        inside = profile.where(lambda s: s.any("^Made"))
        classes = set()
        for s in inside:
            mine = [re.match(r"Made(\d+)\.(?:run(\d*)|<init>)$", f) for f in s.frames if f.startswith("Made")]
            check(all(mine), jdk_version, s)
            numbers = {m[1] for m in mine} | {m[2] for m in mine if m[2]}
            equal(len(numbers), 1, f"{jdk_version}: {s}")
            classes |= numbers
        check(len(classes) > 5, jdk_version, profile.head())
