# SPDX-License-Identifier: MIT
"""ebprof annotate: the lines and the instructions of a function, with shares that add up, of the very file that was sampled."""
import os
import re
import resource
import shutil
import subprocess

from harness import EBPROF, STATIC, TOP, Missing, check, directory, equal, fixture_path, needs, node, run, wait_burned

# Share, address, arrows, text.
INSTRUCTION = re.compile(r"^( *[\d.]*) +([0-9a-f]{3,})  ((?:[-/\\|+>^v ]* )?)([a-z]\w.*)$", re.M)
LINE = re.compile(r"^ +([\d.]+) +([\d.]+) +(\d+)  (.*)$", re.M)


def recorded(d, program, *args):
    path = os.path.join(d, "x.pb.gz")
    run("-q", "-F", 999, "-d", "1", "-o", path, "--", program, *args).ok()
    return path


def test_instructions_are_those_of_objdump():
    with directory() as d:
        path = recorded(d, fixture_path("tree"))
        out = run("annotate", "a2", path).ok().out
        share = float(re.search(r"^a2 of tree: self ([\d.]+)%, total", out)[1])
        check(40 < share < 75, out)
        check("there is no debug information" in out, out)
        shown = INSTRUCTION.findall(out)
        total = sum(float(s) for s, _, _, _ in shown if s.strip())
        check(abs(total - share) < 0.1 + 0.01 * len(shown), f"instructions have {total} of {share}")
        listing = subprocess.run([needs("objdump"), "-d", "--disassemble=a2", "-M", "intel", fixture_path("tree")], check=True,
                                 capture_output=True, timeout=60).stdout.decode()
        theirs = re.findall(r"^ +([0-9a-f]+):\t[0-9a-f ]+\t(\S+)", listing, re.M)
        equal([(a, t.split()[0]) for _, a, _, t in shown], theirs, "addresses and mnemonics")


def test_lines_of_source():
    with directory() as d:
        path = recorded(d, fixture_path("inlined_spin"))
        out = run("annotate", "inlined_step", path).ok().out
        with open(os.path.join(TOP, "tests", "fixtures", "inlined_spin.c"), encoding="ascii") as f:
            source = f.read().splitlines()
        rows = LINE.findall(out)
        check(rows, out)
        for _, _, number, text in rows:
            equal(text, source[int(number) - 1].expandtabs(), f"line {number}")
        check(re.search(r"inlined_spin\.c:\d+ \[inlined_step\] < inlined_spin\.c:\d+", out), "what was inlined", out)
        chain = r"\| inlined_spin\.c:7 \[inlined_step\] < inlined_spin\.c:13 \[inlined_work\] < inlined_spin\.c:28 \[spin\]"
        check(re.search(rf"^ +[\d.]+ +[\d.]+ +7  .*\n +[\d.]+ +[\d.]+ +{chain}$", out, re.M), "the calls around line 7", out)
        copy = shutil.copy(os.path.join(TOP, "tests", "fixtures", "inlined_spin.c"), d)
        elsewhere = run("annotate", "--source-dir", d, "inlined_step", path).ok().out
        check(f"inlined_spin.c, here {copy}; changed since the recording\n" in elsewhere, elsewhere)
        equal(LINE.findall(elsewhere), rows, "from another folder")


def test_another_file():
    with directory() as d:
        program = os.path.join(d, "program")
        shutil.copy(fixture_path("tree"), program)
        path = recorded(d, program)
        shutil.copy(fixture_path("tree_static"), program)
        check("the file that was sampled is not here" in run("annotate", "a2", path).ok().out, "another build id")
        check("or this is the static ebprof" in run("annotate", "a2", path, ebprof=STATIC).ok().out, "the static program")
        run("annotate", "a22", path).fails(1, "did you mean 'a2'?")
        run("annotate").fails(2, "takes a function's name")


def test_jumps():
    with directory() as d:
        out = run("annotate", "inlined_work", recorded(d, fixture_path("inlined_spin"))).ok().out
        shown = INSTRUCTION.findall(out)
        back = [(i, int(m[1], 16)) for i, row in enumerate(shown) if (m := re.match(r"j[a-z]+ +0x([0-9a-f]+)$", row[3]))]
        check(back, "no jump in the loop", out)
        at, target = back[0]
        to = next(i for i, row in enumerate(shown) if int(row[1], 16) == target)
        check(to < at and shown[to][2].strip() == "/>" and shown[at][2].strip() == "\\-", shown[to], shown[at])
        check(all(row[2].strip() == "|" for row in shown[to + 1:at]), shown[to:at + 1])
        check("a clock's interrupt has the address of the instruction that was next" in out or "skid" in out, out)


def compiled(d, text, *flags):
    path, program = os.path.join(d, "prog.c"), os.path.join(d, "prog")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    subprocess.run([needs("gcc"), "-O1", "-g", "-static", f"-ffile-prefix-map={d}=/src", *flags, "-o", program, path], check=True,
                   timeout=60)
    return program


HOT = """#include <stdint.h>
volatile uint64_t sink;
%s
__attribute__((noinline)) void hot(void)
{
	for (int i = 0; i < 1000000; i++)
		sink = sink * 7 + 1; /* the hot line */
}
int main(void)
{
	for (;;)
		hot();
}
"""


def test_calls_have_names():
    text = HOT.replace("sink * 7 + 1", "step(sink)") % "__attribute__((noinline)) uint64_t step(uint64_t x) { return x * 7 + 1; }"
    with directory() as d:
        out = run("annotate", "hot", recorded(d, compiled(d, text))).ok().out
        check(re.search(r"  call +0x[0-9a-f]+ <step>$", out, re.M), out)


def test_callers_of_what_was_inlined():
    """The function that has most of it is the first one whose code is shown."""
    text = ("#include <stdint.h>\nvolatile uint64_t sink;\n"
            "static inline __attribute__((always_inline)) uint64_t step(uint64_t x) { return sink = x * 7 + 1; }\n"
            + "".join(f"__attribute__((noinline)) void {name}(void) {{ for (int i = 0; i < {n}; i++) step(sink); }}\n"
                      for name, n in (("few", 100000), ("most", 600000), ("some", 300000)))
            + "int main(void) { for (;;) { few(); most(); some(); } }\n")
    with directory() as d:
        out = run("annotate", "step", recorded(d, compiled(d, text))).ok().out
        equal(re.findall(r"^(\w+) in \S+$", out, re.M), ["most", "some", "few"], "functions")
        shares = [float(share) for share in re.findall(r"^ +[\d.]+ +([\d.]+) +\| prog.c:3 \[step\] < prog.c:\d \[", out, re.M)]
        check(len(shares) == 3 and abs(shares[0] - 2 * shares[1]) < 20 and shares[0] > shares[1] > shares[2], "ways", out)


def test_source_in_the_root_of_a_container():
    """Of a process that runs: what it calls /src/prog.c is in its root, and nothing leads out of that."""
    with directory() as d, directory() as root:
        os.mkdir(os.path.join(root, "src"))
        program = shutil.copy(compiled(d, HOT % ""), root)
        source = shutil.copy(os.path.join(d, "prog.c"), os.path.join(root, "src"))
        with subprocess.Popen(["/prog"], executable="/prog", preexec_fn=lambda: os.chroot(root)) as p:
            try:
                path = os.path.join(d, "x.pb.gz")
                run("-q", "-F", 999, "-d", "1", "-o", path, "-p", p.pid).ok()
                out = run("annotate", "hot", path).ok().out
                check(f"/src/prog.c, here /src/prog.c, in the root of process {p.pid}\n" in out, out)
                check("the hot line" in max(LINE.findall(out), key=lambda row: float(row[0]))[3], out)
                check(re.search(r"^hot in \S*/prog$", out, re.M), "code from there", out)
                os.unlink(program)
                check(re.search(r"^hot in \S*/prog$", run("annotate", "hot", path).ok().out, re.M), "of a file that was removed")
                for hostile in (lambda: os.symlink(os.path.join(d, "prog.c"), source), lambda: os.mkfifo(source),
                                lambda: os.truncate(os.open(source, os.O_CREAT | os.O_WRONLY), 1 << 40)):
                    os.unlink(source)
                    hostile()
                    out = run("annotate", "hot", path, timeout=20).ok().out
                    check(re.search(r"^/src/prog\.c: (the source is not here|too large)", out, re.M), out)
            finally:
                p.kill()
        out = run("annotate", "hot", path).ok().out
        check("the source is not here" in out and "the file that was sampled is not here" in out, "once it has ended", out)


def test_names_of_what_is_no_source():
    for name in ("/proc/kmsg", "/sys/kernel/notes", "/dev/zero"):
        with directory() as d:
            program = compiled(d, f'#line 1 "{name}"\n' + HOT % "")
            out = run("annotate", "hot", recorded(d, program), timeout=20).ok().out
            check(f"\n{name}: the source is not here" in out, out)


def test_source_from_debuginfod():
    if "libdebuginfod.so.1" not in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout:
        raise Missing("libdebuginfod.so.1")
    with directory() as d:
        program = compiled(d, HOT % "", "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567")
        path = recorded(d, program)
        place = os.path.join(d, "buildid", "0123456789abcdef0123456789abcdef01234567", "source", "src")
        os.makedirs(place)
        shutil.move(os.path.join(d, "prog.c"), place)
        env = {"DEBUGINFOD_URLS": f"file://{d}", "DEBUGINFOD_CACHE_PATH": os.path.join(d, "cache")}
        check("the source is not here" in run("annotate", "hot", path, env=env).ok().out, "without being asked to")
        out = run("annotate", "--debuginfod", "hot", path, env=env).ok().out
        check("/src/prog.c, here /src/prog.c, from debuginfod\n" in out and "the hot line" in out, out)


SCRIPTS = {
    "py": "def spin(n):\n    total = 0\n    for i in range(n):\n        total += i * i % 7     # hot\n    return total\n"
          "while True:\n    spin(100000)\n",
    "rb": "def spin(n)\n  total = 0\n  i = 0\n  while i < n\n    total += i * i % 7; i += 1  # hot\n  end\n  total\nend\n"
          "loop { spin(100000) }\n",
    "mjs": "function spin(n) {\n  let total = 0;\n  for (let i = 0; i < n; i++) {\n    total += (i * i) % 7;  // hot\n  }\n"
           "  return total;\n}\nlet s = 0;\nfor (;;) s += spin(5000000);\n",
}


def hot_line(out):
    rows = LINE.findall(out)
    check(rows and re.search(r"(#|//) hot$", max(rows, key=lambda row: float(row[1]))[3]), out)


def script(interpreter, ending, function="spin"):
    """By a name that is its own folder's, while it runs there."""
    with directory() as d:
        name = "hot." + ending
        with open(os.path.join(d, name), "w", encoding="ascii") as f:
            f.write(SCRIPTS[ending])
        with subprocess.Popen([interpreter, name], cwd=d) as p:
            try:
                wait_burned(p.pid, 0.5)
                path = os.path.join(d, "x.pb.gz")
                run("-q", "-F", 999, "-d", "1", "-o", path, "-p", p.pid).ok()
                out = run("annotate", function, path).ok().out
            finally:
                p.kill()
        hot_line(out)


def test_python():
    script("/usr/bin/python3", "py")


def test_ruby():
    script(needs("ruby"), "rb", "Object#spin")


def test_javascript():
    """A module, whose file has a URL. V8 keeps lines with this option, or where an error needed them."""
    with directory() as d:
        script, path = os.path.join(d, "hot file.mjs"), os.path.join(d, "x.pb.gz")
        with open(script, "w", encoding="ascii") as f:
            f.write(SCRIPTS["mjs"])
        with subprocess.Popen([node(), "--no-enable-lazy-source-positions", "--no-opt", script]) as p:
            try:
                wait_burned(p.pid, 0.5)
                run("-q", "-F", 999, "-d", "2", "-o", path, "-p", p.pid).ok()
            finally:
                p.kill()
        out = run("annotate", "spin", path).ok().out
        check("hot%20file.mjs, here " + script in out, out)
        rows = LINE.findall(out)
        check(rows, out)
        for _, _, number, text in rows:
            equal(text, SCRIPTS["mjs"].splitlines()[int(number) - 1], f"line {number}")


def test_kernel():
    """As far as this kernel shows its memory; who sampled another one is told that."""
    with directory() as d:
        path = recorded(d, fixture_path("syscalls"))
        name = re.search(r"^ *[\d.]+ +[\d.]+ +\d+ +\[kernel\] +(\w+)$", run("report", "--stdio", path).ok().out, re.M)[1]
        out = run("annotate", name, path).ok().out
        if os.access("/proc/kcore", os.R_OK):
            check(re.search(rf"^{name} in the running kernel \(/proc/kcore\)$", out, re.M), out)
            check(len(INSTRUCTION.findall(out)) > 3, out)
        else:
            check("instructions of the kernel are not shown: there is no /proc/kcore" in out, out)


def test_ten_thousand_instructions():
    """Not many times the CPU time that objdump takes for the same."""
    lines = "".join(f"\tif (x & {1 << i % 17}) x = (x ^ (y >> 3)) + y * {i}; else y ^= x * {2 * i + 3};\n" for i in range(900))
    text = ("#include <stdint.h>\nvolatile uint64_t sink;\n__attribute__((noinline)) uint64_t big(uint64_t x, uint64_t y)\n{\n"
            + lines + "\treturn x + y;\n}\nint main(void)\n{\n\tfor (uint64_t i = 0;; i++)\n\t\tsink = big(sink, i);\n}\n")
    with directory() as d:
        program = compiled(d, text)
        path = recorded(d, program)

        def cpu(*argv):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            out = subprocess.run(argv, check=True, capture_output=True, timeout=60).stdout.decode()
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime, out
        ours, out = min(cpu(EBPROF, "annotate", "big", path) for _ in range(3))
        theirs, _ = min(cpu(needs("objdump"), "-d", "--disassemble=big", "-l", "--inlines", program) for _ in range(3))
        n = len(INSTRUCTION.findall(out))
        check(n > 9000, n, "instructions")
        check(ours < 4 * theirs, f"{n} instructions in {ours:.3f} s of CPU time, objdump {theirs:.3f} s")
