# SPDX-License-Identifier: MIT
"""What the program prints, what it leaves behind, and what hostile images do to it."""
import glob
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys

from harness import (EBPROF, Fixture, Stack, bpf_ids, check, directory, equal, finish, fixture_path, needs, perf_events,
                     run, start, wait_burned, wait_for, wait_sampling)
from terminal import on_terminal

HEADER = ["SELF%", "TOTAL%", "SAMPLES", "IMAGE", "FUNCTION"]


# --- Streams. ---

def test_stdout_is_data_only():
    with Fixture("tree") as f:
        r = run("-p", f.pid, "-d", "0.4", "-F", 999).ok()
    for line in r.out.splitlines():
        Stack(line)
    check(r.err.startswith("ebprof: ") and all(x.startswith("ebprof: ") for x in r.err.splitlines()), r.err)
    check("\r" not in r.err and "\033" not in r.err, "a progress line, but not on a terminal:", repr(r.err))


def test_quiet():
    with Fixture("tree") as f:
        r = run("-q", "-p", f.pid, "-d", "0.4", "-F", 999).ok()
    equal(r.err, "", "standard error")
    check(r.out.count("\n") >= 3, r.out)


def test_several_outputs():
    with directory() as d, Fixture("tree") as f:
        one, two = os.path.join(d, "one.folded"), os.path.join(d, "two.folded")
        r = run("-p", f.pid, "-d", "0.4", "-F", 999, "-o", one, "-o", two, "-o", "-").ok()
        with open(one) as a, open(two) as b:
            equal(a.read(), b.read(), "both files")
        with open(one) as a:
            equal(a.read(), r.out, "file and standard output")


def table(text, where):
    lines = [line for line in text.splitlines() if line.strip()]
    at = next((i for i, line in enumerate(lines) if line.split() == HEADER), None)
    check(at is not None, f"no header of the table in {where}:", text)
    return lines[at + 1:]


def test_table():
    with Fixture("tree") as f:
        r = run("-f", "top", "-p", f.pid, "-d", "1", "-F", 999).ok()
    rows = table(r.out, "the output")
    a2 = next(row.split() for row in rows if row.split()[-1] == "a2")
    check(50 < float(a2[0].rstrip("%")) < 70, "a2's own share:", a2)
    equal(a2[3], "tree", "its image")
    main = next(row.split() for row in rows if row.split()[-1] == "main")
    check(float(main[1].rstrip("%")) > 95 > 5 > float(main[0].rstrip("%")), "main's shares:", main)


def test_terminal_shows_the_table_and_progress():
    with Fixture("tree") as f:
        code, text = on_terminal("-p", f.pid, "-d", "1.5", "-F", 999)
        plain_code, plain = on_terminal("-p", f.pid, "-d", "0.4", "-F", 999, env={"NO_COLOR": "1"})
    equal((code, plain_code), (0, 0), "exit status")
    plain_text = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", text)
    table(plain_text.replace("\r", "\n"), "the terminal")
    check(2 <= text.count("\r") - text.count("\r\n"), "no progress:", repr(text[:500]))
    check(not re.search(r"\033\[[0-9;]*m", plain), "colour with NO_COLOR:", repr(plain[:500]))


def test_help_and_version():
    for args in (("--help",), ("-h",), ("record", "--help"), ("doctor", "--help")):
        r = run(*args).ok()
        check("ebprof" in r.out and r.err == "", args, r.err)
    check(re.match(r"^ebprof \d+\.\d+\.\d+", run("-V").ok().out), "version")
    equal(run("--version").ok().out, run("-V").out, "--version")


def test_every_option_of_the_help_is_known():
    """The table that parses is the one that is printed."""
    r = run("record", "--help").ok()
    for option in ("-p", "-t", "-a", "-G", "-n", "-C", "-d", "-F", "-c", "-e", "-U", "-K", "-o", "-f", "--per-thread",
                   "--no-inherit", "--delay", "--max-frames", "--include-self", "--include-idle", "--buffer",
                   "--strict", "-q", "-v", "--pid", "--duration", "--frequency", "--output"):
        check(re.search(rf"(^|[\s,]){option}\b", r.out, re.M), option, "is not in the help:", r.out)


def test_habit_from_perf():
    with Fixture("tree") as f:
        run("-g", "-p", f.pid, "-d", "0.2", "-r", 999).ok()


def test_doctor():
    r = run("doctor").ok()
    states = re.findall(r"\b(ok|degraded|missing)\b", r.out)
    check(len(states) >= 6, r.out)
    for word in ("BTF", "perf_event_paranoid", "kptr_restrict", "lockdown"):
        check(word.lower() in r.out.lower(), word, "is not in:", r.out)
    reads = re.findall(r"^reads +(\S+) .*\d", r.out, re.M)
    equal(sorted(reads), ["Java", "JavaScript", "Lua", "LuaJIT", "PHP", "Perl", "Python", "Ruby"], r.out)


# The kernel refuses a program: what for, and what else there is; and what its verifier said.
def test_program_refused():
    says = ("0: (79) r1 = *(u64 *)(r1 +8)\nfailed to resolve CO-RE relocation <byte_off> [7] "
            "struct task_struct.on_cpu (0:3 @ offset 8)")
    env = {"LD_PRELOAD": fixture_path("fail_load.so"), "FAIL_LOAD": "on_switch", "FAIL_SAYS": "R1 \033[31mis bad"}
    r = run("--off-cpu", "-a", "-d", "1", env=env)
    equal(r.code, 3)
    check("on_switch_native, for waits: this kernel refuses it" in r.err and "sampling works without" in r.err, r.err)
    check("is bad" not in r.err, r.err)
    reads, writes = os.pipe()
    r = run("--off-cpu", "-a", "-d", "1", fds=(writes,), env=dict(env, FAIL_FD=str(writes)))
    os.close(writes)
    with os.fdopen(reads, "rb") as f:
        equal((r.code, f.read()), (3, b"!"), "verified more than once, for a log")
    # Where it refuses frames of languages alone, there are the others.
    with Fixture("python3", "-c", "print('ready', flush=True)\nwhile True: pass", path=sys.executable):
        r = run("--off-cpu", "-a", "-d", "1", env=dict(env, FAIL_LOAD="on_switch$")).ok()
    check("functions of languages are not shown: their programs could not be loaded" in r.err, r.err)
    r = run("--off-cpu", "-a", "-d", "1", "-v", env=env)
    check("| R1 \\x1b[31mis bad" in r.err and "\033" not in r.err, r.err)
    r = run("--wall", "-a", "-d", "1", env=dict(env, FAIL_SAYS=says))
    check("this kernel's struct task_struct.on_cpu is not as it expects" in r.err, r.err)
    r = run("doctor", env=env)
    equal(r.code, 0)
    check(re.search(r"degraded +programs of waits .*on_switch_native, for waits", r.out), r.out)
    check(re.search(r"ok +programs of allocations", r.out), r.out)
    check(re.search(r"ok +programs of waits", run("doctor").ok().out), "waits")


def test_doctor_without_rights():
    with directory() as d:
        path = os.path.join(d, "ebprof")
        subprocess.run(["install", "-m", "755", EBPROF, path], check=True)
        r = run("doctor", ebprof=path, prefix=(needs("setpriv"), "--reuid", "65534", "--regid", "65534",
                                               "--clear-groups")).ok(3)
    check("missing" in r.out and "CAP_" in r.out, r.out)
    order = ["ok", "skipped", "degraded", "missing"]
    states = [order.index(s) for s in re.findall(r"^(ok|skipped|degraded|missing) ", r.out, re.M)]
    equal(states, sorted(states), "what is wrong comes last")
    equal(r.out.count("without it: "), sum(s > 1 for s in states), "problems explained")
    check("costs:" not in r.out, r.out)


def test_doctor_in_colour():
    code, text = on_terminal("doctor")
    plain_code, plain = on_terminal("doctor", env={"NO_COLOR": "1"})
    equal((code, plain_code), (0, 0), "exit status")
    check(re.search(r"\033\[32mok *\033\[0m", text), repr(text[:500]))
    check("\033" not in plain, repr(plain[:500]))


# --- What stays. ---

def exists(kind, number):
    return subprocess.run([needs("bpftool"), kind, "show", "id", str(number)], capture_output=True).returncode == 0


def test_killed_leaves_nothing():
    pins = set(glob.glob("/sys/fs/bpf/**", recursive=True))
    with directory() as d, Fixture("tree") as f:
        p = start("-a", "-F", 999, "-o", os.path.join(d, "out.folded"))
        wait_sampling(p)

        def seen():
            """Not one that was only there to try something, and is gone."""
            programs, maps = bpf_ids(p.pid)
            return programs and maps and all(exists("prog", i) for i in programs) and (programs, maps)
        programs, maps = wait_for(seen, "its programs to be seen")
        equal(perf_events(p.pid) > 0, True, "perf events seen")
        p.send_signal(signal.SIGKILL)
        finish(p)
        wait_burned(f.pid, 0.1)
        wait_for(lambda: not any(exists("prog", i) for i in programs), "its programs to go")
        wait_for(lambda: not any(exists("map", i) for i in maps), "its maps to go")
        with open("/proc/self/mounts") as m:
            check(d not in m.read(), "a mount is left")
    equal(set(glob.glob("/sys/fs/bpf/**", recursive=True)), pins, "pinned files")


# --- Images. ---

def image_with_symbols(d):
    """A small ELF library whose headers and symbols mutations can reach."""
    path = shutil.copy(fixture_path("dl_lib.so"), os.path.join(d, "whole.so"))
    with open(path, "rb") as f:
        return f.read()


def profile_mapped(files, between=lambda: None):
    with Fixture("mapper", *files, until="mapped") as f:
        between()
        f.go()
        f.wait("ready")
        r = run("-p", f.pid, "-d", "1", "-F", 1999, timeout=20).ok()
    check(r.summary.taken > 100, r.summary.taken, r.err)
    check(r.seconds < 8, "took", r.seconds, "s")
    equal(r.profile.comms(), {"mapper"}, "comms")
    return r.profile


def test_truncated_images():
    with directory() as d:
        whole = image_with_symbols(d)
        lengths = sorted({1, 4, 15, 16, 17, 52, 63, 64, 65, 120, len(whole) - 1, len(whole)}
                         | {len(whole) * i // 50 for i in range(1, 50)})
        files = []
        for n in lengths:
            files.append(os.path.join(d, f"cut{n}.so"))
            with open(files[-1], "wb") as f:
                f.write(whole[:n])
        profile_mapped(files)


def test_images_with_wild_headers():
    """Section and program headers overwritten with large and negative numbers."""
    generator = random.Random(7)
    wild = (0xffffffffffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000, 0xffffffff, 1 << 40, 0)
    with directory() as d:
        whole = image_with_symbols(d)
        shoff, = struct.unpack_from("<Q", whole, 40)
        places = [*range(32, 64, 8), *range(64, 64 + 56 * 8, 8), *range(shoff, len(whole) - 8, 8)]
        files = []
        for i in range(100):
            image = bytearray(whole)
            for place in generator.sample(places, 1 + i % 8):
                struct.pack_into("<Q", image, place, generator.choice(wild))
            files.append(os.path.join(d, f"wild{i}.so"))
            with open(files[-1], "wb") as f:
                f.write(image)
        profile_mapped(files)


def test_image_becomes_a_fifo():
    """Whoever opens it to read waits for ever."""
    with directory() as d:
        path = os.path.join(d, "image.so")
        shutil.copy(fixture_path("dl_lib.so"), path)

        def replace():
            os.unlink(path)
            os.mkfifo(path)
        profile_mapped([path], replace)


def test_image_is_truncated_while_mapped():
    """The file shrinks under us; a reader that maps it would die of SIGBUS."""
    with directory() as d:
        files = []
        for i in range(4):
            files.append(shutil.copy(fixture_path("dl_lib.so"), os.path.join(d, f"shrinks{i}.so")))
        with Fixture("mapper", *files, until="mapped") as f:
            f.go()
            f.wait("ready")
            p = start("-p", f.pid, "-d", "1", "-F", 1999)
            wait_sampling(p)
            for path in files:
                os.truncate(path, 4096)
            r = finish(p, timeout=20).ok()
    check(r.profile.count() > 100, r.err)


def test_huge_sparse_image():
    """An ELF header that promises a symbol table of a terabyte, in a file that has it, as a hole."""
    with directory() as d:
        whole = bytearray(image_with_symbols(d))
        shoff, = struct.unpack_from("<Q", whole, 40)
        count, = struct.unpack_from("<H", whole, 60)
        for i in range(count):
            kind, = struct.unpack_from("<I", whole, shoff + 64 * i + 4)
            if kind in (2, 3, 11):      # SHT_SYMTAB, SHT_STRTAB, SHT_DYNSYM
                struct.pack_into("<Q", whole, shoff + 64 * i + 24, 1 << 20)
                struct.pack_into("<Q", whole, shoff + 64 * i + 32, 1 << 39)
        path = os.path.join(d, "huge.so")
        with open(path, "wb") as f:
            f.write(whole)
            f.truncate(1 << 40)
        profile_mapped([path])


def test_image_name_is_hostile():
    with directory() as d:
        files = []
        for name in (b"new\nline.so", b"semi;colon.so", b"esc\x1b[31m.so", b"bad\xff\xfe.so", b"space 12"):
            path = os.path.join(os.fsencode(d), name)
            with open(path, "wb") as f:
                f.write(b"x" * 8192)
            files.append(path)
        profile = profile_mapped(files)
    check(profile.count(lambda s: s.any(r"^\[semi:colon\.so\+0x2")) > 20, profile.head())
