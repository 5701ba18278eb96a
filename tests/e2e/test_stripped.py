# SPDX-License-Identifier: MIT
"""Stripped programs: a row for each function, named by where it begins, not for each address."""
import collections
import json
import os
import re
import shutil
import subprocess

import browser
from test_html import READY
from harness import TOP, Fixture, check, directory, equal, fixture_path, needs, run, skip

NAMELESS = re.compile(r"\[(.+)\+0x([0-9a-f]+)\]")


def starts(path):
    """The offsets in the file where functions begin, by readelf and call frame information."""
    def readelf(*options):
        return subprocess.run([needs("readelf"), *options, path], capture_output=True, text=True,
                              check=True).stdout

    loads = [[int(x, 16) for x in m]
             for m in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", readelf("-lW"))]
    found = set()
    for m in re.finditer(r" FDE .* pc=([0-9a-f]+)\.\.", readelf("--debug-dump=frames")):
        for offset, address, size in loads:
            if address <= int(m[1], 16) < address + size:
                found.add(int(m[1], 16) - address + offset)
    return found


def rows(profile):
    """File -> offset of a row without a name -> samples that have it."""
    found = collections.defaultdict(collections.Counter)
    for stack in profile:
        for frame in set(stack.frames):
            m = NAMELESS.fullmatch(frame)
            if m:
                found[m[1]][int(m[2], 16)] += stack.count
    return found


def one_row_a_function(profile, *paths):
    """
    All rows without a name in those files are where functions begin, but for what little is in code of an assembler
    without call frame information. Returns how many.
    """
    n, most = 0, 0.02 * profile.count()
    for path in paths:
        mine = rows(profile)[os.path.basename(path)]
        known = starts(path)
        wrong = {hex(at): count for at, count in mine.items() if at not in known}
        check(sum(wrong.values()) <= most, f"{len(wrong)} of {len(mine)} rows of {path} are no starts:", wrong)
        n += len(mine)
    return n


def test_a_row_for_each_function():
    """The call tree has its shares, and ten functions: run, and a, a1, a2, b ... c2."""
    with Fixture("tree_bare") as f:
        profile = run("-p", f.pid, "-d", "0.8", "-U", "-F", 999).ok().profile
    path = fixture_path("tree_bare")
    equal(one_row_a_function(profile, path), 10, "rows without a name")

    def is_whole(stack):
        last = stack.frames[-5:]
        return stack.frames[0] == "_start" and last[0] == "main" and all(map(NAMELESS.fullmatch, last[1:]))

    whole = profile.where(is_whole)
    check(whole.count() >= 0.97 * profile.count() and whole.count() > 150, profile.head())
    leaves = collections.Counter()
    for stack in whole:
        leaves[stack.frames[-1]] += stack.count
    equal(len(leaves), 3, "leaves")
    shares = [count / whole.count() for _, count in leaves.most_common()]
    check(all(abs(x - y) < 0.2 for x, y in zip(shares, (0.6, 0.3, 0.1))), shares, profile.head())


TREE = re.compile(r"\[tree_bare\+0x[0-9a-f]+\]")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_every_format_has_those_rows():
    """One recording, each format by a reader of its own: the names of folded stacks."""
    with Fixture("tree_bare") as f, directory() as d:
        paths = {form: os.path.join(d, "x." + form) for form in
                 ("folded", "svg", "json", "ndjson", "speedscope.json", "callgrind", "txt", "perf", "html", "pb.gz")}
        run("-p", f.pid, "-d", "0.8", "-U", "-F", 999, *(x for path in paths.values() for x in ("-o", path))).ok()
        live = run("top", "--plain", "-U", "-F", 999, "-p", f.pid, "-d", "1", "--refresh", "1s", "--rows", 100).ok().out
        names = set(TREE.findall(read(paths["folded"])))
        equal(len(names), 10, "rows in folded")
        for form in ("svg", "json", "ndjson", "speedscope.json", "callgrind", "txt", "perf"):
            equal(set(TREE.findall(read(paths[form]))), names, form)
        firefox = json.loads(read(paths["json"]))
        check(names <= set(firefox["shared"]["stringArray"]), "Firefox's names")
        functions = set(re.findall(r"^c?fn=\(\d+\) (\[tree_bare.*)$", read(paths["callgrind"]), re.M))
        equal(functions, names, "functions of callgrind")
        # Which of them were hit in one second is chance.
        check(set(TREE.findall(live)) and set(TREE.findall(live)) <= names, "top:", live)
        go = subprocess.run([needs("go"), "tool", "pprof", "-top", "-nodefraction=0", paths["pb.gz"]], capture_output=True,
                            text=True, check=True, timeout=60, env={**os.environ, "HOME": "/nonexistent"}).stdout
        equal(set(TREE.findall(go)), names, "go tool pprof")
        browser.command("open", file=paths["html"], wait=READY)
        equal({x["name"] for x in browser.run("ebprof.functions") if TREE.match(x["name"])}, names, "the page")


def addresses_of(pairs, least):
    """[(address, name)] are of functions that begin at or before them, and more than the functions are."""
    check(len(set(pairs)) > least, "one address for each function:", pairs[:5])
    for address, name in pairs:
        check(int(address, 16) >= int(NAMELESS.fullmatch(name)[2], 16), address, "before", name)


def test_lines_have_the_addresses():
    with Fixture("tree_bare") as f, directory() as d:
        saved, script = os.path.join(d, "p.pb.gz"), os.path.join(d, "p.perf")
        run("-p", f.pid, "-d", "1", "-U", "-F", 1999, "-o", saved, "-o", script).ok()
        addresses_of(re.findall(r"\s+([0-9a-f]+) (\[tree_bare\+0x[0-9a-f]+\])", read(script)), 10)
        lines = run("report", "--by", "line", "--rows", 1000, saved).ok().out
        found = re.findall(r"(\[tree_bare\+0x[0-9a-f]+\]) +- +tree_bare\+0x([0-9a-f]+)$", lines, re.M)
        addresses_of([(address, name) for name, address in found], 10)
        equal(len({name for name, _ in found}), 10, "functions in the lines")
        hot, share = re.search(r"^ *([\d.]+) .* (\[tree_bare.*\])$", run("report", saved).ok().out, re.M).group(2, 1)
        annotated = run("annotate", hot, saved).ok().out
        hit = {address: float(n) for n, address in re.findall(r"^ +([\d.]+) +([0-9a-f]+)  \S", annotated, re.M)}
        check(abs(sum(hit.values()) - float(share)) < 0.1, "instructions of", hot, share, annotated)
        # The program's own table of segments tells offsets from addresses.
        loads = [[int(x, 16) for x in m] for m in re.findall(
            r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)",
            subprocess.run([needs("readelf"), "-lW", fixture_path("tree_bare")], capture_output=True, text=True, check=True).stdout)]
        offsets = {f"{int(a, 16) - address + offset:x}" for a in hit for offset, address, size in loads
                   if address <= int(a, 16) < address + size}
        equal({a for name, a in found if name == hot} - offsets, set(), "lines of the hot function that are no instructions of it")


def installed(program, *libraries):
    """The program and those of its libraries, as they are linked; a skip where it is not there."""
    path = shutil.which(program, path="/usr/bin:/bin")
    if not path:
        skip(f"no {program}")
    linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    paths = [os.path.realpath(path)]
    for library in libraries:
        found = re.findall(rf"=> (\S*{re.escape(library)}\S*)", linked)
        paths += map(os.path.realpath, found)
    return paths


def recorded(*argv):
    with directory() as d:
        out = os.path.join(d, "out.folded")
        result = run("-U", "-F", 1999, "-o", out, "--", needs("sh"), "-c",
                     'exec "$@" >/dev/null 2>&1', "sh", *argv).ok()
        with open(out, encoding="utf-8") as f:
            result.out = f.read()
        return result.profile


def check_installed(paths, profile):
    begun = profile.count(lambda s: s.frames[:1] == ["_start"])
    check(begun > 0.9 * profile.count() > 90, f"{begun} of {profile.count()} begin at _start")
    if not one_row_a_function(profile, *paths):
        skip(f"{paths[0]} has names here")


def test_openssl():
    paths = installed("openssl", "libcrypto", "libssl")
    check_installed(paths, recorded(paths[0], "speed", "-seconds", "1", "rsa2048"))


def test_git():
    paths = installed("git")
    with directory() as d:
        def git(*args):
            subprocess.run([paths[0], "-C", d, "-c", "user.name=n", "-c", "user.email=e", *args],
                           check=True, stdout=subprocess.DEVNULL)

        git("init", "-q")
        for i in range(30):
            with open(f"{d}/file", "w", encoding="ascii") as f:
                f.writelines(f"{line * line % (i + 7)}\n" for line in range(20000))
            git("add", "file")
            git("commit", "-qm", str(i))
        check_installed(paths, recorded(paths[0], "-C", d, "log", "-p", "--patience"))


def test_python():
    paths = installed("python3")
    program = "for _ in range(40): sorted(str(i) for i in range(30000))"
    check_installed(paths, recorded(paths[0], "-S", "-c", program))


def test_compiler():
    path = subprocess.run([needs("gcc"), "-print-prog-name=cc1"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not os.path.exists(path):
        skip("this gcc has no cc1")
    with directory() as d:
        source = os.path.join(d, "a.c")
        with open(source, "w", encoding="ascii") as f:
            f.writelines(f"int f{i}(int *p, int n) {{ int s = {i};"
                         " for (int k = 0; k < n; k++) s += p[k] ^ s; return s; }\n" for i in range(30))
        check_installed([os.path.realpath(path)], recorded(path, "-quiet", "-O2", source, "-o", "/dev/null"))


def test_compiler_of_cpp():
    """Of an STL file: of thousands of functions, and none twice."""
    path = subprocess.run([needs("g++"), "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.exists(path):
        skip("this g++ has no cc1plus")
    with directory() as d:
        source = os.path.join(d, "stl.ii")
        subprocess.run([needs("g++"), "-std=gnu++17", "-E", "-o", source, os.path.join(TOP, "tests", "fixtures", "stl.cpp")],
                       check=True)
        profile = recorded(path, "-quiet", "-std=gnu++17", "-O1", "-fpreprocessed", source, "-o", "/dev/null")
    check_installed([os.path.realpath(path)], profile)
    mine = rows(profile)["cc1plus"]
    check(len(mine) > 500, "functions of cc1plus:", len(mine))
