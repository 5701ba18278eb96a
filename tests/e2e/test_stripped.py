# SPDX-License-Identifier: MIT
"""Stripped programs: a row for each function, named by where it begins, not for each address."""
import collections
import os
import re
import shutil
import subprocess

from harness import Fixture, check, directory, equal, fixture_path, needs, run, skip

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


def test_every_format_has_those_rows_and_lines_have_the_addresses():
    with Fixture("tree_bare") as f, directory() as d:
        saved = os.path.join(d, "p.pb.gz")
        run("-p", f.pid, "-d", "0.8", "-U", "-F", 999, "-o", saved).ok()
        for form in ("folded", "svg", "html", "json", "speedscope"):
            out = os.path.join(d, form)
            run("convert", saved, "-f", form, "-o", out).ok()
            if form == "html":
                continue
            with open(out, encoding="utf-8") as file:
                found = set(re.findall(r"\[tree_bare\+0x[0-9a-f]+\]", file.read()))
            equal(len(found), 10, f"rows in {form}")
        out = os.path.join(d, "script")
        run("convert", saved, "-f", "perf-script", "-o", out).ok()
        with open(out, encoding="utf-8") as file:
            lines = re.findall(r"\s+([0-9a-f]+) (\[tree_bare\+0x[0-9a-f]+\])", file.read())
        equal(len({name for _, name in lines}), 10, "rows in perf-script")
        check(len(set(lines)) > 10, "one address for each function:", lines[:5])
        for address, name in lines:
            check(int(address, 16) >= int(NAMELESS.fullmatch(name)[2], 16), address, "before", name)


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
