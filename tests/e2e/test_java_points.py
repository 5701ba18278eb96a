# SPDX-License-Identifier: MIT
"""
HotSpot of each version that there is, also in containers: stacks with lines are those that a program reads of its own thread, at
points at which it makes a system call, in code of the interpreter and of both compilers, through JNI, too.
"""
import os
import subprocess

from containers import JVMS, contained
from harness import check, directory, equal, needs, run, skip
from interpreters import firefox_stacks
from test_java import APART, FIRST, TREE, VIRTUAL, compiled, jdks, known_shares, virtual_threads

SECONDS = 55
ROUNDS = 1000

# Its arguments: where it writes what it has read, how many rounds, and the library that calls back.
POINTS = """
import java.util.*;
import java.util.concurrent.Callable;
@SuppressWarnings({"unchecked", "rawtypes"})
class Points {
    static final Map<String, Integer> tally = new LinkedHashMap<>();
    static long sink;
    static boolean library;
    static native void callBack(int n);
    static void back(int n) { point(n); }
    static String said(StackTraceElement[] stack) {
        StringBuilder text = new StringBuilder();
        for (int i = stack.length - 1; i > 0; i--)
            text.append(stack[i].getClassName()).append('.').append(stack[i].getMethodName()).append(':')
                .append(stack[i].getLineNumber()).append(';');
        return text.toString();
    }
    static void spin(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + i; }
    static void point(int n) {
        tally.merge(said(Thread.currentThread().getStackTrace()), 1, Integer::sum); Thread.yield();
        spin(n);
    }
    interface Work { void run(int n); }
    static abstract class Base implements Work, Comparable<Base> {
        final int size;
        Base(int n) {
            size = n;
            made(n);
        }
        abstract void made(int n);
        synchronized void held(int n) { run(n); }
        public int compareTo(Base other) {
            point(size);
            return size - other.size;
        }
    }
    static class One extends Base {
        One(int n) { super(n); }
        void made(int n) {
            if (n > 1)
                point(n);
        }
        public void run(int n) {
            try {
                if (n % 3 == 0)
                    throw new IllegalStateException();
                point(n);
            } catch (IllegalStateException e) {
                point(n);
            } finally {
                point(n);
            }
        }
    }
    static class Two extends Base {
        Two(int n) { super(n); }
        void made(int n) { new Inner().down(n); }
        public void run(int n) {
            switch (n % 3) {
            case 0: point(n); break;
            case 1:
                point(n);
                break;
            default: new Runnable() {
                public void run() {
                    point(n);
                }
            }.run();
            }
        }
        class Inner {
            void down(int n) {
                if (n > 0)
                    down(n - 1);
                else
                    point(size);
            }
        }
    }
    static int fold(int n, Callable<Integer>... all) throws Exception {
        int sum = 0;
        for (Callable<Integer> one : all)
            sum += one.call();
        return sum;
    }
    static void round(int n) throws Exception {
        Base one = new One(n & 7), two = new Two(n & 15);
        one.run(n & 15);
        two.held(n & 31);
        one.held(
            n & 3);
        ((Comparable) one).compareTo(two);
        fold(n, () -> {
            point(n & 7);
            return n;
        }, () -> { point(1); return 1; });
        for (Work w : new Work[] { one, two, x -> point(x), Points::point })
            w.run(n & 7);
        Arrays.asList(1, 2).forEach(x -> point(x));
        if (library)
            callBack(n & 3);
        Points.class.getDeclaredMethod("back", int.class).invoke(null, n & 3);
    }
    public static void main(String[] args) throws Exception {
        if (args.length > 2) {
            System.load(args[2]);
            library = true;
        }
        for (int n = 0; n < Integer.parseInt(args[1]); n++)
            round(n);
        java.io.PrintWriter out = new java.io.PrintWriter(args[0]);
        tally.forEach((stack, n) -> out.println(n + " " + stack));
        out.close();
    }
}
"""
BACK = """
#include <jni.h>
JNIEXPORT void JNICALL Java_Points_callBack(JNIEnv *env, jclass class, jint n)
{
	(*env)->CallStaticVoidMethod(env, class, (*env)->GetStaticMethodID(env, class, "back", "(I)V"), n);
}
"""
# The oldest class files that javac makes since 20.
RELEASE = ("--release", "8")


def with_headers():
    """A JDK that has those of JNI."""
    found = [j for j in jdks().values() if os.path.exists(os.path.join(j, "..", "include", "jni.h"))]
    if not found:
        skip("no JDK has its headers")
    return found[0]


def library(folder):
    path, headers = os.path.join(folder, "libback.so"), os.path.join(with_headers(), "..", "include")
    subprocess.run([needs("gcc"), "-O2", "-fno-optimize-sibling-calls", "-shared", "-fPIC", f"-I{headers}", f"-I{headers}/linux",
                    "-o", path, "-x", "c", "-"], input=BACK, text=True, check=True)
    return path


def own(frames):
    """Of (method, line) those of the program; it does not see the classes that the JVM makes for lambdas."""
    return tuple((name, line) for name, line in frames if name.startswith("Points") and "$$Lambda" not in name)


def told(path):
    """Of each stack that the program has read, how often."""
    out = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            n, _, stack = line.strip().partition(" ")
            frames = (frame.rsplit(":", 1) for frame in stack.strip(";").split(";"))
            # A native method has no lines: -2.
            key = own((name, int(line) if int(line) > 0 else None) for name, line in frames)
            out[key] = out.get(key, 0) + int(n)
    return out


def says_itself(command, folder):
    """
    Names and lines of all points, and what is between them where C calls back. A busy machine may not have the tables of the library
    yet when it is called first, and then the stack ends there.
    """
    said, profile = os.path.join(folder, "said"), os.path.join(folder, "profile.json")
    result = run("-e", "syscalls:sys_enter_sched_yield", "-c", 1, "-o", profile, "--", *command, "Points", said, ROUNDS,
                 library(folder)).ok()
    expected, got, cut, through, rooted = told(said), {}, {}, 0, 0
    for stack, n in firefox_stacks(profile):
        names = [name for name, _, _ in stack]
        key = own((name, line) for name, _, line in stack)
        if key:
            of = got if "Points.main" in names else cut
            of[key] = of.get(key, 0) + n
            through += n * calls_back(names)
            rooted += n * ("Points.main" in names[4:])
    points = sum(expected.values())
    check(points > 10 * ROUNDS, command, points)
    wrong = {k: (n, expected.get(k)) for k, n in got.items() if n > expected.get(k, 0)}
    missing = {k: n - got.get(k, 0) for k, n in expected.items() if n > got.get(k, 0)}
    check(not wrong and sum(missing.values()) == sum(cut.values()), command, len(wrong), "of", len(got), list(wrong.items())[:2],
          list(missing.items())[:2], list(cut.items())[:2])
    check(ROUNDS - sum(cut.values()) <= through <= ROUNDS, command, through, "of", ROUNDS, list(cut.items())[:2])
    check(result.summary.truncated + points - rooted <= 0.001 * points, command, list(cut.items())[:2], result.err)


def calls_back(names):
    """From Java to C and back to Java."""
    try:
        at = names.index("Java_Points_callBack")
    except ValueError:
        return False
    return "Points.callBack" in names[:at] and any(n.startswith("StubRoutines") for n in names[at:]) and "Points.back" in names[at:]


def test_points():
    for jdk in jdks().values():
        with directory() as d:
            says_itself(compiled(jdk, POINTS, d), d)


def known(suite):
    """Debian's own in containers, which have nothing else: the points, known shares, and virtual threads."""
    jdk = min(jdks().items())[1]
    with directory() as d:
        _, *arguments = compiled(jdk, POINTS + TREE + VIRTUAL, d, RELEASE)
        for version in JVMS[suite]:
            command = [contained(f"{suite}-java", f"/usr/lib/jvm/java-{version}-openjdk-amd64/bin/java"), *arguments]
            says_itself(command, d)
            known_shares(command, *FIRST, *APART, burned=0.3)
            # Of later ones, stacks whose callers have not been put back are cut there.
            if 21 <= version <= 25:
                virtual_threads(command, burned=0.3, seconds=0.6)


def test_bullseye():
    known("bullseye")


def test_trixie():
    known("trixie")


def test_sid():
    known("sid")
