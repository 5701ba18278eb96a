# SPDX-License-Identifier: MIT
"""Names of C++ are those that c++filt gives, all of them, and in a recording as elsewhere."""
import glob
import os
import shutil
import subprocess

from harness import Fixture, check, directory, equal, fixture_path, needs, run, skip

HARD = 12       # S and T in a name above which it is demangled apart


def names_of(path, *nm):
    """The mangled names in a file's symbol tables, without versions, each once."""
    out = subprocess.run([needs("nm"), *nm, path], capture_output=True, text=True, check=False).stdout
    names = {line.split()[-1].partition("@")[0] for line in out.splitlines() if line.strip()}
    return sorted(n for n in names if n.startswith("_Z"))


def is_hard(name):
    return name.count("S") + name.count("T") > HARD


def through(command, names):
    out = subprocess.run(command, input="\n".join(names) + "\n", capture_output=True, text=True, check=True).stdout
    return out.splitlines()


def as_cxxfilt(names, least, hard):
    """Names of Rust have a hash that we leave out, and dots; c++filt knows them, too, but not the newest."""
    check(len(names) >= least and sum(map(is_hard, names)) >= hard, len(names), sum(map(is_hard, names)))
    ours = through([fixture_path("demangle_names")], names)
    theirs = through([needs("c++filt"), "--no-recurse-limit", "--no-verbose"], names)
    equal(len(ours), len(names), "names demangled")
    wrong = [(n, a, b) for n, a, b in zip(names, ours, theirs) if a != b]
    check(not wrong, len(wrong), "of", len(names), "differ from c++filt's:", wrong[:3])


def test_generated_templates():
    """Containers of containers; assembled, not linked."""
    keys = ["std::string", "std::tuple<std::string, double, char>"]
    values = ["std::vector<std::string>", "std::function<std::string(const std::string &)>",
              "std::shared_ptr<std::map<int, std::string>>", "std::unordered_map<std::string, std::vector<double>>"]
    lines = [f"#include <{h}>" for h in ("functional", "map", "memory", "string", "tuple", "unordered_map", "vector")]
    for k in keys:
        for v in values:
            lines += [f"template class std::map<{k}, {v}>;", f"template class std::vector<std::pair<{k}, {v}>>;"]
    with directory() as d:
        source, made = os.path.join(d, "stl.cpp"), os.path.join(d, "stl.o")
        with open(source, "w", encoding="ascii") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run([needs("g++"), "-std=gnu++17", "-O0", "-c", "-o", made, source], check=True)
        as_cxxfilt(names_of(made), 4000, 2000)


def _installed(patterns, least, hard):
    paths = [p for pattern in patterns for p in sorted(glob.glob(pattern))]
    if not paths:
        skip(f"nothing is {patterns[0]}")
    names = set(names_of(paths[-1])) | set(names_of(paths[-1], "-D"))
    as_cxxfilt(sorted(names), least, hard)


def test_llvm():
    _installed(["/usr/lib/*/libLLVM*.so*", "/usr/lib/llvm-*/lib/libLLVM*.so*"], 10000, 500)


def test_jvm():
    _installed(["/usr/lib/jvm/*/lib/server/libjvm.so"], 100, 0)


def test_node():
    path = shutil.which("node")
    if not path:
        skip("no node")
    _installed([os.path.realpath(path)], 10000, 500)


def test_recording():
    """Names whose demangling could take for ever are done apart; nothing of it is refused in a recording."""
    path = fixture_path("stl")
    hard = [n for n in names_of(path) if is_hard(n)]
    theirs = dict(zip(through([needs("c++filt"), "--no-verbose"], hard), hard))
    with Fixture("stl") as f:
        profile = run("-p", f.pid, "-d", "1.5", "-F", 999).ok().profile
    seen = {name for s in profile for name in s.frames}
    check(len(seen) > 50, profile.head())
    mangled = [n for n in seen if n.startswith("_Z")]
    check(not mangled, len(mangled), "mangled names of", len(seen), mangled[:2])
    check(len(seen & set(theirs)) > 10, "of the hard names, as c++filt has them:", len(seen & set(theirs)), len(theirs))
