# SPDX-License-Identifier: MIT
"""
Stacks of real programs, of which nobody knows the chains: they are whole, and each begins where its program, the
dynamic linker or its thread begins, as the files themselves tell.
"""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys

from harness import Profile, check, directory, equal, fixture_path, needs, run, skip

SECONDS = 40

PT_LOAD = 1
ENTRY_BYTES = 64            # of the code at an entry point, which calls once or twice and never returns
CLONE3 = b"\xb8\xb3\x01\x00\x00\x0f\x05"    # mov $435, %eax; syscall: where a thread's stack has its root, in libc
NAMED_ROOT = r"_start|_dl_start(_user)?|(__)?clone3?"


def entry(path):
    """(name, offset in the file) of an ELF file's first instruction (ELF-64: e_entry, program headers)."""
    with open(path, "rb") as f:
        head = f.read(64)
        start, table = struct.unpack_from("<QQ", head, 24)
        size, count = struct.unpack_from("<HH", head, 54)
        f.seek(table)
        headers = f.read(size * count)
    for at in range(0, len(headers), size):
        kind, _, offset, address, _, in_file = struct.unpack_from("<IIQQQQ", headers, at)
        if kind == PT_LOAD and address <= start < address + in_file:
            return os.path.basename(path), start - address + offset
    raise AssertionError(f"{path} has no entry point")


def roots_of(*programs):
    """Name of a file -> offsets in it where stacks begin: of the programs, of our dynamic linker and our libc."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        ours = set(re.findall(r"(/\S*/(?:ld-linux\S*|libc\.so\.6|libc-\S*\.so))$", f.read(), re.M))
    roots = {}
    for path in map(os.path.realpath, [*programs, *ours]):
        if os.path.basename(path).startswith("libc"):
            with open(path, "rb") as f:
                roots[os.path.basename(path)] = f.read().find(CLONE3)
        else:
            name, offset = entry(path)
            roots[name] = offset
    return roots


def rooted(profile, *programs, allowed=0.001):
    """Stacks that are called complete begin at such a place, but for one in a thousand, or one."""
    roots = roots_of(*programs)

    def good(stack):
        m = re.fullmatch(r"\[(.+)\+0x([0-9a-f]+)\]", stack.frames[0])
        if not m:
            return re.fullmatch(NAMED_ROOT, stack.frames[0])
        return m[1] in roots and 0 <= int(m[2], 16) - roots[m[1]] < ENTRY_BYTES

    known = profile.where(lambda s: s.frames and not s.cut)
    wrong = known.where(lambda s: not good(s))
    check(wrong.count() <= max(1, allowed * known.count()), f"{wrong.count()} of {known.count()} have another root:",
          wrong.head())


def recorded(*argv, options=("-d", "1s"), rate=("-F", 1499)):
    """Summary and profile of a command that prints what it likes."""
    with directory() as d:
        out = os.path.join(d, "out.folded")
        result = run("-U", *rate, *options, "-o", out, "--", needs("sh"), "-c", 'exec "$@" >/dev/null 2>&1', "sh", *argv)
        check(os.path.exists(out), "no output:", result.err)
        with open(out, encoding="utf-8") as f:
            profile = Profile.read(f.read())
    equal(profile.count(), result.summary.kept, "samples in the output against the summary's")
    return result, profile


def command(*argv, programs=(), least=40, allowed=0.001):
    """A program of the distribution, from its first instruction on."""
    result, profile = recorded(*argv)
    s = result.summary
    check(s.taken > least, result.err)
    equal(s.lost, 0, "lost samples")
    # One in a thousand, or two: a program's first and last moments are in it.
    check(s.truncated <= max(2, allowed * s.taken), s.truncated_by, profile.where(lambda x: x.cut).head())
    rooted(profile, needs("sh"), *(programs or argv[:1]))
    return profile


def openssl(what):
    command(needs("openssl"), "speed", "-seconds", "3", what)


def test_openssl_rsa():
    openssl("rsa2048")


def test_openssl_sha256():
    openssl("sha256")


def test_openssl_ecdsa():
    openssl("ecdsap256")


def test_python():
    """The interpreter's loop, as functions of Python or as itself, is below what it calls."""
    profile = command(sys.executable, "-c", "while True: sorted(range(1000), key=lambda x: -x)")
    loop = profile.where(lambda s: s.any("^(_PyEval_EvalFrame|<module>$)"))
    check(loop.count() > 0.5 * profile.count(), profile.head())
    check(all(s.cut or s.any("^Py_(BytesMain|RunMain)$") for s in loop), loop.head())


def test_threads_just_born():
    """Where the system call that made them returns to there is no CFI; whose first moment that is has no caller."""
    profile = command(sys.executable, "-c", "import threading\nwhile True:\n t = threading.Thread(target=int); t.start(); t.join()")
    born = profile.where(lambda s: len(s.frames) == 1 and s.frames[0] in ("clone", "__clone", "clone3", "__clone3"))
    check(born.count() > 0, profile.where(lambda s: s.any("clone")).head())


def test_threads_without_memory():
    """The stack of such a thread may not be in memory yet. An interrupt in its first moment looks like a page fault."""
    if os.uname().machine != "x86_64":
        skip("newborn is for x86-64")
    result, profile = recorded(fixture_path("newborn"), "5000", options=(), rate=("-F", 9999))
    born = profile.where(lambda s: s.frames == ["start"])
    check(born.count() > 20, profile.head())
    cut = profile.where(lambda s: s.cut)
    check(cut.count() <= 0.1 * born.count(), born.count(), result.summary.truncated_by, cut.head())


def test_between_programs():
    """While the kernel puts up a program's arguments and environment the registers are still those of the last one."""
    if os.uname().machine != "x86_64":
        skip("exec_large is for x86-64")
    result, profile = recorded(fixture_path("exec_large"), "60", options=(), rate=("-F", 9999))
    execs = profile.where(lambda s: s.any("^exec_bare$"))
    check(execs.count() > 200, profile.head())
    check(execs.count(lambda s: s.cut) <= 0.002 * execs.count(), result.summary.truncated_by, execs.where(lambda s: s.cut).head())


def pythons(least):
    """Paths of the interpreters 3.@least and later that are in PATH, or where pyenv puts them."""
    found = []
    for minor in range(least, least + 10):
        name = f"python3.{minor}"
        paths = [shutil.which(name), *glob.glob(os.path.expanduser(f"~/.pyenv/versions/*/bin/{name}"))]
        # Some in PATH are scripts that choose one, or find none.
        runs = [subprocess.run([path, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False)
                for path in paths if path]
        found += [r.stdout.strip() for r in runs if not r.returncode][:1]
    return found


def test_python_with_trampolines():
    """
    CPython from 3.12 on: each function by a trampoline made at run time, which has no frame pointer before 3.14.
    Those of versions that are known are no frames beside the functions.
    """
    found = pythons(12)
    if not found:
        skip("no Python from 3.12 on is installed")
    for python in found:
        profile = command(python, "-X", "perf", "-c", "def down(n): return down(n - 1) if n else sum(range(2000))\n"
                          "while True: down(20)")
        deep = profile.where(lambda s: not s.cut and s.any("^(py::)?down(:|$)"))
        check(deep.count() > 0.5 * profile.count(), profile.head())
        for s in deep:
            check(s.any("^(py::)?<module>(:|$)"), s)
            check(not s.any(r"\[unknown"), s)


def test_perl():
    command(needs("perl"), "-e", "while (1) { my @x = sort { $b <=> $a } (1 .. 1000); }")


def test_node():
    """Code made at run time has frame pointers, and node itself has none: each is left in its own way."""
    node = shutil.which("node")
    if not node:
        skip("node is not installed")
    command(node, "-e", "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } while (true) f(25)")


def test_java():
    """
    The JVM's own code has no frame pointers; its interpreter and what it makes at run time have them when asked. As it
    starts, JLI_Launch has a frame of 12 KiB, by which a rescue may pass the end of what it was sent; and some twenty threads
    are born, whose stacks may not be there yet. That is as often on a busy machine, on which there are fewer samples.
    """
    java, javac = shutil.which("java"), shutil.which("javac")
    if not java or not javac:
        skip("a Java development kit is not installed")
    with directory() as d:
        with open(os.path.join(d, "Burn.java"), "w", encoding="ascii") as f:
            f.write("class Burn { static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
                    "public static void main(String[] a) { long s = 0; while (true) s += f(25); } }\n")
        subprocess.run([javac, "-d", d, f.name], check=True)
        command(java, "-XX:+PreserveFramePointer", "-cp", d, "Burn", allowed=0.01)


def program_of(compiler, name):
    """What a driver calls: cc1plus, as; by a path of its own, or by name."""
    path = subprocess.run([compiler, f"-print-prog-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else needs(path)


def test_compiler():
    with directory() as d:
        source = os.path.join(d, "big.cpp")
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <map>\n#include <string>\n#include <vector>\n")
            for i in range(60):
                f.write(f"std::map<std::string, std::vector<int>> m{i}; int f{i}(int x) {{ m{i}[\"a\"].push_back(x); "
                        f"int s = 0; for (auto &p : m{i}) for (int v : p.second) s += v * {i}; return s; }}\n")
        compiler = needs("g++")
        command(compiler, "-O2", "-c", "-o", os.path.join(d, "big.o"), source,
                programs=[compiler, *(program_of(compiler, name) for name in ("cc1plus", "as"))])


# --- Big programs of several processes, whose roots are in more files than a test can list. ---

def whole(*argv, allowed=0.002):
    """
    Stacks of a compiler and all that it starts are whole, but for what is deeper than any may be, and nothing is lost.
    """
    result, profile = recorded(*argv, options=("-d", "5s"))
    s = result.summary
    check(s.taken > 40, result.err)
    equal(s.lost, 0, "lost samples")
    cut = s.truncated - s.truncated_by.get("depth", 0)
    check(cut <= max(2, allowed * s.taken), s.truncated_by, profile.where(lambda x: x.cut).head())
    return profile


def test_rustc():
    with directory() as d:
        source = os.path.join(d, "big.rs")
        with open(source, "w", encoding="ascii") as f:
            f.write("use std::collections::{BTreeMap, HashMap};\n"
                    "fn main() { let mut m: HashMap<String, Vec<u64>> = HashMap::new(); let mut b = BTreeMap::new();\n")
            for i in range(80):
                f.write(f"m.entry(format!(\"k{{}}\", {i})).or_default().push({i});\n"
                        f"b.insert({i}, m.values().map(|v| v.iter().sum::<u64>()).max());\n")
            f.write("println!(\"{} {}\", m.len(), b.len()); }\n")
        whole(needs("rustc"), "-O", "-o", os.path.join(d, "big"), source)


def test_go_vet():
    """
    Go's own programs, static and without frame descriptions for what assembly does. Some hundred of them begin, each with a
    few stacks that have to be rescued; of such a one what lies on another stack, behind a switch, may be gone.
    """
    with directory() as d:
        os.environ["GOCACHE"] = d
        profile = whole(needs("go"), "vet", "net/http", allowed=0.004)
    check(not profile.where(lambda s: s.cut and s.frames and s.frames[-1].startswith("_rt0_")), profile.where(lambda s: s.cut).head())


GO_THREADS = """package main

import "runtime"

func main() {
	for {
		done := make(chan int)
		go func() {
			runtime.LockOSThread()	// it goes with its goroutine
			close(done)
		}()
		<-done
	}
}
"""


def test_go_begins():
    """A program's first instruction and a thread's first moment have no caller: of a program with symbols, and without."""
    if os.uname().machine != "x86_64":
        skip("made for x86-64")
    with directory() as d:
        source = os.path.join(d, "threads.go")
        with open(source, "w", encoding="ascii") as f:
            f.write(GO_THREADS)
        for flags in ((), ("-ldflags=-s -w",)):
            program = os.path.join(d, "threads")
            subprocess.run([needs("go"), "build", *flags, "-o", program, source], check=True,
                           env={**os.environ, "GOCACHE": d + "/cache", "GOFLAGS": "-buildvcs=false"})
            # Its first instruction is its first page fault.
            _, profile = recorded(program, options=("-d", "0.3s"), rate=("-e", "page-faults", "-c", 1))
            first = profile.where(lambda s: s.frames and s.frames[-1].startswith("_rt0_amd64"))
            check(first.count() > 0, profile.head())
            check(not first.where(lambda s: s.cut or len(s.frames) > 1), first.head())
            _, profile = recorded(program, options=("-d", "2s"), rate=("-F", 4999))
            cloned = profile.where(lambda s: s.any(r"^runtime\.clone(\.abi0)?$"))
            born = cloned.where(lambda s: len(s.frames) == 1)
            check(born.count() > 0 and born.count() < cloned.count(), "those that were born, and those that bore:", cloned.head())
            lone = cloned.where(lambda s: s.cut and len(s.frames) < 3)
            check(not lone, lone.head())


def test_clang():
    with directory() as d:
        source = os.path.join(d, "big.cpp")
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n")
            for i in range(40):
                f.write(f"std::map<std::string, std::vector<int>> m{i};\n"
                        f"int f{i}(int x) {{ m{i}[\"a\"].push_back(x); int s = 0;\n"
                        f"for (auto &p : m{i}) for (int v : p.second) s += v * {i}; return s; }}\n")
        whole(needs("clang++"), "-O2", "-c", "-o", os.path.join(d, "big.o"), source)


def test_javac():
    """A program of some forty threads that compiles itself while it runs; as Debian has it, without frame pointers."""
    javac = shutil.which("javac")
    if not javac:
        skip("a Java development kit is not installed")
    with directory() as d:
        for i in range(20):
            with open(os.path.join(d, f"C{i}.java"), "w", encoding="ascii") as f:
                f.write(f"class C{i} {{ static java.util.Map<String, java.util.List<Integer>> m = new java.util.TreeMap<>();\n")
                for j in range(40):
                    f.write(f"int f{j}(int x) {{ return m.values().stream().mapToInt(v -> v.size() * {j}).sum() + x; }}\n")
                f.write("}\n")
        whole(javac, "-J-XX:+PreserveFramePointer", "-d", d, *sorted(glob.glob(os.path.join(d, "*.java"))))


# --- Storms, and what may be switched off or run out. ---

def storm(*options):
    """Three programs that come and go, each for a millisecond; few of them live as long as it takes to look at one."""
    result, profile = recorded("sh", "-c", "while :; do /bin/true; /bin/ls / >/dev/null; done", options=("-d", "1.5s", *options))
    check(result.summary.taken > 100, result.err)
    rooted(profile, needs("sh"), "/bin/true", "/bin/ls", allowed=0.01)
    return result


def test_storm_of_processes():
    result = storm()
    s = result.summary
    check(s.truncated <= 0.01 * s.taken, s.truncated_by, result.err)
    untabled = sum(s.truncated_by.get(reason, 0) for reason in ("no process", "no mapping", "no table"))
    check(untabled <= max(1, 0.001 * s.taken), s.truncated_by, result.err)


def test_without_rescue():
    """What the kernel alone makes of a program that has just begun is told, and no stack is called whole that is not."""
    result = storm("--no-rescue")
    s = result.summary
    check("rescued" not in result.err, result.err)
    check(s.truncated > 0, result.err)
    check(s.truncated_by.keys() <= {"no process", "no mapping", "no table", "lost register", "unreadable", "no CFI"}, result.err)


def test_memory_limit():
    """Tables of a big compiler in next to nothing: it says so, and accounts for every sample; no root is invented."""
    rustc = needs("rustc")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "shapes.rs")
    with directory() as d:
        result, profile = recorded(rustc, "--edition", "2021", "-O", "-o", os.path.join(d, "shapes"), source,
                                   options=("--unwind-memory", "2M"))
    check(re.search(r"^ebprof: unwind tables reached their limit: \d+ evicted, [1-9]\d* refused; try a larger --unwind-memory$",
                    result.err, re.M), result.err)
    s = result.summary
    check(s.taken > 50 and s.truncated_by.get("no table", 0) > 0, result.err)
    equal(s.lost, 0, result.err)
    check(profile.count(lambda x: x.cut and x.cut[1] == "no table") == s.truncated_by["no table"], profile.head())


def test_memory_limit_is_enough():
    """A small program fits into the least there is, and nothing is said."""
    result, profile = recorded(fixture_path("unwind_shapes"), "deep", "20", options=("-d", "0.5s", "--unwind-memory", "2M"))
    check("limit" not in result.err and result.summary.truncated <= 1, result.err)
    rooted(profile, needs("sh"), fixture_path("unwind_shapes"))
