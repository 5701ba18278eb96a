# SPDX-License-Identifier: MIT
"""User stacks are whole without frame pointers: each test knows the chain of calls, from the root to the leaf."""
import os
import re
import shutil
import subprocess

from harness import (Fixture, check, directory, equal, finish, fixture_path, needs, run, skip, start, wait_for,
                     wait_sampling)

RATE = ("-F", 999, "-d", "0.5s")
ROOT = ["_start", r"__libc_start_(main|call_main).*", r"\[libc.*\]", "main"]


def sampled(name, *args, options=(), rate=RATE):
    with Fixture(name, *args) as f:
        return run("-p", f.pid, "-U", *rate, *options).ok()


def whole(result, allowed=0.001):
    """All samples complete, but for one in a thousand, or one."""
    s = result.summary
    check(s.taken > 100, "too few samples:", s.taken)
    equal(s.lost, 0, "lost samples")
    check(s.truncated <= max(1, allowed * s.taken), s.truncated_by, result.profile.head())
    return result.profile


def chain(profile, *frames, root=ROOT):
    """Every stack is exactly this one; libc's parts of the root may have no name, or not be there."""
    pattern = [*root, *frames]

    def fits(stack):
        got = list(stack.frames)
        for want in pattern:
            if got and re.fullmatch(want, got[0]):
                got.pop(0)
            elif "libc" not in want:
                return False
        return not got

    wrong = profile.where(lambda s: not s.cut and not fits(s))
    check(wrong.count() == 0, "other stacks than", pattern, wrong.head())
    check(profile.count(lambda s: not s.cut) > 100, profile.head())


def shape(name, *frames, args=(), fixture="unwind_shapes"):
    chain(whole(sampled(fixture, name, *args)), *frames)


def test_c_26_deep():
    shape("deep", *["down"] * 26, "leaf", args=("25",))


def test_c_300_deep():
    shape("deep", *["down"] * 300, "leaf", args=("299",))


def test_frames_of_400_bytes():
    shape("wide", *["wide"] * 100, "leaf", args=("99",))


def test_deeper_than_the_limit():
    result = sampled("unwind_shapes", "deep", "700")
    equal(set(result.summary.truncated_by), {"depth"}, result.profile.head())
    check(result.summary.complete <= 1, result.err)
    check(all(s.cut and s.cut[1] == "depth" and s.frames == ["down"] * 510 + ["leaf"] for s in result.profile),
          result.profile.head(2))


def test_max_frames():
    result = sampled("unwind_shapes", "deep", "99", options=("--max-frames", 20))
    check(all(s.cut and s.frames == ["down"] * 19 + ["leaf"] for s in result.profile), result.profile.head(2))


def test_qsort_callback():
    profile = whole(sampled("unwind_shapes", "qsort"))
    check(all(s.frames[-2:] == ["compare", "leaf"] and s.has("main", "sorting") and s.frames[0] == "_start" for s in profile),
          profile.head())


def test_realigned_stack():
    shape("realign", "align", "realigned", "leaf")


def test_leaf_without_cfi():
    """Its first instruction tells that it has no frame yet; the other one tells nothing, and is hit now and then."""
    chain(whole(sampled("unwind_shapes", "gap"), 0.05), "caller", "asm_gap")


def test_frame_pointer_where_there_is_no_cfi():
    result = sampled("unwind_shapes", "pointer")
    chain(whole(result), "caller", "asm_pointer", "leaf")
    check(re.search(r"1[0-9]\.\d% of the frames by frame pointer", result.err), result.err)


def test_cfa_in_another_register():
    shape("register", "caller", "asm_register")


def test_cfa_stored_in_the_frame():
    shape("slot", "caller", "asm_slot", "leaf")


def test_code_made_at_run_time():
    shape("jit", "caller", r"\[unknown\]", "leaf")


def test_code_moved_to_anonymous_memory():
    """Seen while it happens; from before the recording only the memory is left, which no file tells of."""
    profile = whole(run("-U", *RATE, "--", needs("sh"), "-c", 'exec "$1" remap >/dev/null', "sh",
                        fixture_path("unwind_shapes")), 0.003)
    moved = profile.where(lambda s: s.has("caller", "leaf"))
    check(moved.count() > 0.3 * profile.count(), profile.head())
    chain(moved, "caller", "leaf")


def test_stack_that_leads_to_itself():
    result = sampled("unwind_shapes", "loop")
    equal(set(result.summary.truncated_by), {"no CFI"}, result.err)
    check(all(len(s.frames) < 32 for s in result.profile), result.profile.head(2))


def test_stripped():
    profile = whole(sampled("unwind_shapes_bare", "deep", "25"))
    check(all(s.frames[0].startswith("[unwind_shapes_bare+") for s in profile), profile.head())
    check(all(sum(f.startswith("[unwind_shapes_bare+") for f in s.frames) == 2 + 26 + 1 for s in profile), profile.head())


def test_exceptions_and_comparators():
    profile = whole(sampled("unwind_cpp"))
    check(all(s.frames[0] == "_start" for s in profile if not s.cut), profile.head())
    less = profile.where(lambda s: s.frames and s.frames[-1] == "less_than(int, int)")
    thrown = profile.where(lambda s: s.any(r"^thrower\(int\)"))
    check(less.count() > 30 and thrown.count() > 10, profile.head())
    check(all(s.any(r"^sorting\(") and "main" in s.frames for s in less), less.head())
    check(all(s.has("throwing()", *["deeper(int)"] * 5) for s in thrown), thrown.head())


def test_signal_handler():
    profile = whole(sampled("handler"))
    inside = profile.where(lambda s: s.has("on_signal", "in_handler"))
    check(inside.count() > 50, profile.head())
    check(all(s.frames[0] == "_start" and s.has("main") for s in inside), inside.head())
    check(inside.count(lambda s: s.any("^interrupted$")) > 0.9 * inside.count(), inside.head())


def test_without_rescue():
    """What the kernel alone makes of a program that has just begun is told, and never more than with the rescue."""
    out = run("-U", "-F", 1999, "-d", "1s", "--no-rescue", "--", needs("sh"), "-c", "while :; do /bin/true; done")
    s = out.summary
    check("rescued" not in out.err, out.err)
    check(s.truncated_by.keys() <= {"no process", "no mapping", "no table", "lost register", "unreadable", "no CFI"}, out.err)


def test_storm_of_processes():
    out = run("-F", 1999, "-d", "1.5s", "--", needs("sh"), "-c", "while :; do /bin/true; /bin/ls / >/dev/null; done")
    s = out.summary
    check(s.taken > 500 and s.truncated <= 0.01 * s.taken, s.truncated_by, out.err)


def command(*argv):
    """A program of the distribution, from its first instruction on."""
    result = run("-U", "-F", 999, "-d", "1s", "--", needs("sh"), "-c", 'exec "$@" 2>/dev/null', "sh", *argv)
    s = result.summary
    check(s.taken > 200, result.err)
    check(s.truncated <= max(1, 0.002 * s.taken), s.truncated_by, result.profile.where(lambda x: x.cut).head())


def test_openssl():
    for what in ("rsa2048", "sha256", "ecdsap256"):
        command(needs("openssl"), "speed", "-seconds", "3", what)


def test_python():
    command(needs("python3"), "-c", "while True: sorted(range(1000), key=lambda x: -x)")


def test_perl():
    command(needs("perl"), "-e", "while (1) { my @x = sort { $b <=> $a } (1 .. 1000); }")


def test_node():
    node = shutil.which("node")
    if not node:
        skip("node is not installed")
    command(node, "-e", "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } while (true) f(25)")


def test_compiler():
    with directory() as d:
        source = os.path.join(d, "big.cpp")
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <map>\n#include <string>\n#include <vector>\n")
            for i in range(60):
                f.write(f"std::map<std::string, std::vector<int>> m{i}; int f{i}(int x) {{ m{i}[\"a\"].push_back(x); "
                        f"int s = 0; for (auto &p : m{i}) for (int v : p.second) s += v * {i}; return s; }}\n")
        command(needs("g++"), "-O2", "-c", "-o", os.path.join(d, "big.o"), source)


def test_memory_limit():
    """With room for next to nothing it says so, and accounts for every sample."""
    node = shutil.which("node") or fixture_path("unwind_shapes")
    out = run("-a", "-U", "-F", 999, "-d", "0.5s", "--unwind-memory", "1M")
    equal(out.code in (0, 5), True, out.err)
    out = run("-U", "-F", 999, "-d", "1s", "--unwind-memory", "1M", "--", node, *(
        ["-e", "while (true) JSON.parse('[1, 2, 3]')"] if node.endswith("node") else ["deep", "20"]))
    check(out.summary.taken > 100, out.err)


def say(path, text):
    """Appends to a file of tracefs, which knows no seeking and takes truncation for "remove all"."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def uprobes_in(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return "[uprobes]" in maps.read()


def test_uretprobe_of_another_tracer():
    """A return probe replaces the return address of `caller`: main is its caller all the same."""
    tracefs = "/sys/kernel/tracing"
    if not os.path.exists(f"{tracefs}/uprobe_events"):
        skip("no uprobe_events in tracefs")
    path = fixture_path("unwind_shapes")
    symbols = subprocess.run([needs("nm"), path], capture_output=True, text=True, check=True).stdout
    offset = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T caller"))
    probe = f"ebprof_e2e_{os.getpid()}"
    say(f"{tracefs}/uprobe_events", f"r:{probe}/back {path}:{offset:#x}\n")
    try:
        say(f"{tracefs}/events/{probe}/back/enable", "1")
        with Fixture("unwind_shapes", "leaf") as f:
            wait_for(lambda: uprobes_in(f.pid), "the probe to be hit")
            chain(whole(run("-p", f.pid, "-U", *RATE).ok()), "caller", "leaf")
    finally:
        say(f"{tracefs}/events/{probe}/back/enable", "0")
        say(f"{tracefs}/uprobe_events", f"-:{probe}/back\n")


def test_file_replaced_on_disk():
    """The file that was mapped is unwound, not the one that has its name now."""
    with directory() as d:
        path = shutil.copy(fixture_path("unwind_shapes"), os.path.join(d, "replaced"))
        with Fixture("unwind_shapes", "deep", "25", path=path) as f:
            proc = start("-p", f.pid, "-U", "-F", 999, "-d", "1s")
            wait_sampling(proc)
            os.rename(shutil.copy(needs("perl"), os.path.join(d, "other")), path)
            chain(whole(finish(proc).ok()), *["down"] * 26, "leaf")
            os.unlink(path)
            chain(whole(run("-p", f.pid, "-U", *RATE).ok()), *["down"] * 26, "leaf")
