# SPDX-License-Identifier: MIT
"""
Names, inlined calls and lines from DWARF: one source, built in the ways of distributions and compilers, asked for the
same places; and big programs beside llvm-symbolizer.
"""
import functools
import os
import random
import re
import shutil
import signal
import socket
import subprocess

from harness import (EBPROF, STATIC, TOP, Fixture, Missing, check, directory, equal, finish, fixture_path, needs, run, skip, start,
                     unsanitized, wait_burned, wait_for)

SOURCE = os.path.join(TOP, "tests", "fixtures", "inlined.cpp")
# What is at each label; a lambda has no name of its own that compilers agree on.
EXPECTED = {
    "three": ["outer::(anonymous namespace)::innermost()", "outer::(anonymous namespace)::middle()", "outer::Box::run()"],
    "member": ["outer::Box::twice()", "outer::Box::run()"],
    "lambda": [r"*", r"*outer::apply<"],
    "plain": ["plain(int)"],
    "cold": ["unlikely()"],
}


@functools.lru_cache(None)
def lines():
    """(label, depth) -> line of the source, from its comments."""
    with open(SOURCE, encoding="ascii") as f:
        return {(m[1], int(m[2])): i for i, text in enumerate(f, 1) for m in re.finditer(r"@(\w+) (\d)", text)}


def tool(*argv):
    subprocess.run([needs(argv[0]), *argv[1:]], check=True, capture_output=True)


def build(out, compiler, *flags):
    tool(compiler, "-O2", "-g", *flags, "-o", out, SOURCE)
    return out


def labels(path):
    out = subprocess.run([needs("nm"), path], capture_output=True, text=True, check=True).stdout
    return {name: int(at, 16) for at, name in re.findall(r"^([0-9a-f]+) \w at_(\w+)$", out, re.M)}


def build_id(path):
    notes = subprocess.run([needs("readelf"), "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def in_build_ids(d, path):
    """Where the debug file of a program is looked for, below the directory that has them."""
    return os.path.join(d, ".build-id", build_id(path)[:2], build_id(path)[2:] + ".debug")


def ask(path, addresses, *options):
    """[(name, file, line)] of each address; what it cost."""
    out = subprocess.run([fixture_path("addresses"), *options, path], input="\n".join(map(hex, addresses)) + "\n",
                         capture_output=True, text=True, check=True)
    blocks = out.stdout.split("\n\n")[:-1]
    equal(len(blocks), len(addresses), "answers")
    answers = []
    for block in blocks:
        rows = block.split("\n")
        answers.append([] if rows[0] == "?" else
                       [(name, *place.rsplit(":", 1)) for name, place in zip(rows[::2], rows[1::2])])
    return answers, out.stderr


def right(path, at, *options, sources=True, inlined=True):
    """All labels' places are what the source says."""
    equal(set(at), set(EXPECTED), "labels")
    answers, _ = ask(path, list(at.values()), *options)
    for label, frames in zip(at, answers):
        expected = EXPECTED[label] if inlined else EXPECTED[label][-1:]
        # gcc knows no arguments of what only its file sees.
        names = [want if want.startswith(name) and want[len(name):] in ("()", "(int)") else name
                 for (name, _, _), want in zip(frames, expected)] + [name for name, _, _ in frames[len(expected):]]
        check(len(names) == len(expected) and all(
            (want[1:] in got if want.startswith("*") else got == want) for got, want in zip(names, expected)),
              label, names, "expected", expected)
        for depth, (_, file, line) in enumerate(frames if sources else ()):
            equal(os.path.basename(file), "inlined.cpp", label)
            if inlined or len(EXPECTED[label]) == 1:
                equal(int(line), lines()[label, depth], f"line of {label} at depth {depth}")


def variant(compiler, *flags):
    with directory() as d:
        path = build(os.path.join(d, "p"), compiler, *flags)
        right(path, labels(path))


def test_gcc_dwarf_5():
    variant("g++", "-gdwarf-5")


def test_gcc_dwarf_4():
    variant("g++", "-gdwarf-4")


def test_clang_dwarf_5():
    variant("clang++", "-gdwarf-5")


def test_clang_dwarf_4():
    variant("clang++", "-gdwarf-4")


def test_no_pie():
    variant("g++", "-no-pie")


def test_dwarf_64():
    variant("g++", "-gdwarf64")


def test_sections_of_functions():
    variant("g++", "-ffunction-sections", "-Wl,--gc-sections")
    variant("clang++", "-ffunction-sections", "-Wl,--gc-sections")


def test_link_time_optimization():
    variant("g++", "-flto")


def test_split():
    """Units of which the program has skeletons alone; and when the rest is gone, names are there all the same."""
    for compiler, version in (("g++", 5), ("g++", 4), ("clang++", 5), ("clang++", 4)):
        with directory() as d:
            path = build_split(d, compiler, version)
            at = labels(path)
            right(path, at)
            os.unlink(os.path.join(d, "inlined.dwo"))
            answers, _ = ask(path, [at["plain"]])
            equal([frame[0] for frame in answers[0]], ["plain(int)"], "without its .dwo")


def build_split(d, compiler, version):
    """A program with skeletons alone; its .dwo file is beside it."""
    path, part = os.path.join(d, "p"), os.path.join(d, "inlined.o")
    tool(compiler, "-O2", "-g", f"-gdwarf-{version}", "-gsplit-dwarf", "-c", "-o", part, SOURCE)
    tool(compiler, "-o", path, part, "-Wl,--build-id")
    return path


def test_split_packages():
    """What was split, packed: by either packer, without its .dwo files. None of them takes gcc's DWARF 5 yet."""
    for compiler, version, packer in (("clang++", 5, "llvm-dwp"), ("clang++", 4, "llvm-dwp"), ("g++", 4, "llvm-dwp"),
                                      ("g++", 4, "dwp"), ("clang++", 4, "dwp")):
        with directory() as d:
            path = build_split(d, compiler, version)
            tool(packer, "-e", path, "-o", path + ".dwp")
            os.unlink(os.path.join(d, "inlined.dwo"))
            right(path, labels(path))
            if packer == "llvm-dwp":
                tool("objcopy", "--compress-debug-sections=zlib", path + ".dwp")
                right(path, labels(path))


def test_package_before_single_files():
    """The package of this very program: what is left of .dwo files may be of any build."""
    with directory() as d:
        path = build_split(d, "clang++", 5)
        tool("llvm-dwp", "-e", path, "-o", path + ".dwp")
        with open(os.path.join(d, "inlined.dwo"), "r+b") as f:
            data = f.read().replace(b"middle", b"muddle")
            f.seek(0)
            f.write(data)
        at = labels(path)
        right(path, at)
        # Another program's package has none of its units, and the .dwo file is what there is.
        with directory() as other:
            tool("llvm-dwp", "-o", path + ".dwp", build_dwo(other))
        check("outer::(anonymous namespace)::muddle()" in [frame[0] for frame in ask(path, [at["three"]])[0][0]], "no .dwo read")


def build_dwo(d):
    source = os.path.join(d, "other.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("int other(int x) { return x; }\n")
    tool("clang", "-O2", "-g", "-gsplit-dwarf", "-c", "-o", os.path.join(d, "other.o"), source)
    return os.path.join(d, "other.dwo")


def test_places_of_packages():
    """Where it is looked for: at the program, at its debug file, in the folders of --debug-dir."""
    with directory() as d:
        path, debug = build_split(d, "clang++", 5), os.path.join(d, "debug")
        package = os.path.join(d, "x.dwp")
        tool("llvm-dwp", "-e", path, "-o", package)
        os.unlink(os.path.join(d, "inlined.dwo"))
        by_id = in_build_ids(debug, path)
        at = split(path, by_id)
        for place in (path + ".dwp", by_id + ".dwp", by_id.replace(".debug", ".dwp"), debug + os.path.realpath(path) + ".dwp"):
            answers, _ = ask(path, [at["three"]], "-d", debug)
            equal(len(answers[0]), 1, "found before it is there")
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(package, place)
            right(path, at, "-d", debug)
            os.unlink(place)


def test_without_inlined():
    with directory() as d:
        path = build(os.path.join(d, "p"), "g++")
        right(path, labels(path), "-i", inlined=False)


def test_compressed():
    for kind in ("zlib", "zlib-gnu", "zstd"):
        with directory() as d:
            path = build(os.path.join(d, "p"), "g++")
            at = labels(path)
            done = subprocess.run([needs("objcopy"), f"--compress-debug-sections={kind}", path], capture_output=True)
            if done.returncode and kind == "zstd":
                skip("this objcopy has no zstd")
            equal(done.returncode, 0, done.stderr)
            right(path, at)


def split(path, debug):
    """The debug information into a file of its own, as distributions do."""
    at = labels(path)
    os.makedirs(os.path.dirname(debug), exist_ok=True)
    tool("objcopy", "--only-keep-debug", path, debug)
    tool("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", path)
    return at


def test_debug_link():
    for where in ("p.debug", ".debug/p.debug"):
        with directory() as d:
            path = build(os.path.join(d, "p"), "g++", "-Wl,--build-id=none")
            debug = os.path.join(d, where)
            at = split(path, debug)
            right(path, at)
            # Another file of that name is not taken.
            with open(debug, "ab") as f:
                f.write(b"x")
            answers, _ = ask(path, list(at.values()))
            check(not any(answers), answers)


def test_build_id():
    with directory() as d:
        path = build(os.path.join(d, "p"), "g++", "-Wl,--build-id")
        at = split(path, in_build_ids(os.path.join(d, "debug"), path))
        answers, _ = ask(path, list(at.values()))
        check(not any(answers), "found without being told where:", answers)
        right(path, at, "-d", os.path.join(d, "debug"))


def test_dwz():
    if not shutil.which("dwz"):
        needs("dwz")
    with directory() as d:
        paths = [build(os.path.join(d, name), "g++", "-include", "map", "-include", "string") for name in ("p", "q")]
        tool("dwz", "-m", os.path.join(d, "common"), "-M", os.path.join(d, "common"), *paths)
        sections = subprocess.run([needs("readelf"), "-SW", paths[0]], capture_output=True, text=True, check=True).stdout
        check(".gnu_debugaltlink" in sections, "dwz took nothing out")
        for path in paths:
            right(path, labels(path))


def test_minidebuginfo():
    """Names of functions alone, packed with xz."""
    with directory() as d:
        path = build(os.path.join(d, "p"), "g++")
        at = labels(path)
        mini = os.path.join(d, "mini")
        shutil.copy(path, mini)
        tool("strip", "--strip-debug", mini)
        tool("objcopy", "--remove-section=.comment", mini)
        tool("xz", mini)
        tool("strip", "--strip-all", path)
        tool("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", path)
        answers, _ = ask(path, list(at.values()))
        for label, frames in zip(at, answers):
            check([name for name, _, _ in frames] in ([EXPECTED[label][-1]], [f"at_{label}"]) or label == "lambda", label, frames)


def test_profile_of_inlined():
    """In a profile they are frames of their own; --no-inline makes them one."""
    for options, wanted in (((), {"spin;inlined_work;inlined_step", "spin;inlined_work"}), (("--no-inline",), {"spin"})):
        out = run("-U", "-F", 999, "-d", "0.5s", *options, "--", fixture_path("inlined_spin"))
        mine = out.profile.where(lambda s: "spin" in s.frames)
        check(mine.count() > 50, out.profile.head())
        ends = {";".join(s.frames[s.frames.index("spin"):]) for s in mine}
        check(wanted <= ends <= wanted | {"spin"}, ends)


def inlined_in_root(*options, prepare):
    """That a program in a root of its own, as in a container, has its inlined function; @prepare what lies beside it."""
    source = os.path.join(TOP, "tests", "fixtures", "inlined_spin.c")
    with directory() as root:
        program = os.path.join(root, "spin")
        tool("gcc", "-O2", "-g", *options, "-c", "-o", os.path.join(root, "spin.o"), source)
        tool("gcc", "-static", "-Wl,--build-id", "-o", program, os.path.join(root, "spin.o"))
        prepare(root, program)
        with Fixture("spin", root, "/spin", path=needs("chroot"), until=None) as target:
            wait_for(lambda: os.readlink(f"/proc/{target.pid}/exe").endswith("/spin"), "the program in its root")
            out = run("-p", target.pid, "-U", "-F", 999, "-d", "0.5s").ok()
        hot = out.profile.count(lambda s: s.has("spin", "inlined_work"))
        check(hot > 0.5 * out.profile.count(), out.profile.head())


def test_debug_file_in_the_targets_root():
    inlined_in_root(prepare=lambda root, program: split(program, in_build_ids(os.path.join(root, "usr/lib/debug"), program)))


def test_split_in_the_targets_root():
    """Only there is the .dwo file where the compiler left it."""
    def move(root, _):
        os.makedirs(root + root)
        os.rename(f"{root}/spin.dwo", f"{root}{root}/spin.dwo")

    inlined_in_root("-gsplit-dwarf", prepare=move)


def test_debuginfod():
    """A folder as the server; without one, or in a static program, which cannot load the library, it is told."""
    out = run("-a", "-d", "0.1s", "--debuginfod", env={"DEBUGINFOD_URLS": ""})
    out.fails(1, "DEBUGINFOD_URLS is not set")
    out = run("-a", "-d", "0.1s", "--debuginfod", env={"DEBUGINFOD_URLS": "file:///x"}, ebprof=STATIC)
    out.fails(1, "static")
    if "libdebuginfod.so.1" not in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout:
        return
    source = os.path.join(TOP, "tests", "fixtures", "inlined_spin.c")
    with directory() as d:
        program, cache = os.path.join(d, "spin"), os.path.join(d, "cache")
        tool("gcc", "-O2", "-g", "-Wl,--build-id", "-o", program, source)
        split(program, os.path.join(d, "buildid", build_id(program), "debuginfo"))
        env = {"DEBUGINFOD_URLS": f"file://{d}", "DEBUGINFOD_CACHE_PATH": cache}
        out = run("-U", "-F", 999, "-d", "0.5s", "--debuginfod", "--", program, env=env)
        hot = out.profile.count(lambda s: s.has("spin", "inlined_work"))
        check(hot > 0.5 * out.profile.count(), out.err, out.profile.head())


def test_debuginfod_that_does_not_answer():
    """It is asked while sampling goes on; at the end it is waited for, until the user asks again."""
    if "libdebuginfod.so.1" not in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout:
        raise Missing("libdebuginfod.so.1")
    with directory() as cache, socket.create_server(("127.0.0.1", 0)) as server, Fixture("tree_bare") as f:
        server.settimeout(20)
        env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.getsockname()[1]}", "DEBUGINFOD_CACHE_PATH": cache}
        p = start("-p", f.pid, "-F", 999, "--debuginfod", env=env)
        with server.accept()[0]:
            wait_burned(f.pid, 0.3)
            equal(p.poll(), None, "ebprof while a server is asked")
            p.send_signal(signal.SIGINT)

            def waits_for_names():
                with open(f"/proc/{p.pid}/status", encoding="utf-8", errors="replace") as status:
                    pending = re.search(r"^ShdPnd:\s*(\w+)", status.read(), re.M)
                # Two that wait would be one.
                if int(pending[1], 16) & 1 << signal.SIGINT - 1:
                    return False
                with open(f"/proc/{p.pid}/wchan", encoding="ascii") as wchan:
                    return "futex" in wchan.read()
            wait_for(waits_for_names, "the end of sampling")
            p.send_signal(signal.SIGINT)
            r = finish(p, timeout=20)
        equal(r.code, -signal.SIGINT, r.err)
        equal(r.raw, b"", "output")


def test_stubs_of_the_plt():
    """As objdump names them, in the ways that linkers lay them out; also where all symbols are stripped."""
    for flags in ((), ("-fcf-protection=full", "-Wl,-z,ibtplt"), ("-Wl,-z,now",), ("-Wl,-z,lazy",), ("-fuse-ld=gold",), ("-s",)):
        with directory() as d:
            path = build(os.path.join(d, "p"), "g++", "-include", "cstdio", "-include", "cstdlib", "-DCALLS=puts(getenv(\"A\"))", *flags)
            disassembly = subprocess.run([needs("objdump"), "-d", path], capture_output=True, text=True, check=True).stdout
            stubs = {int(at, 16): name for at, name in re.findall(r"^([0-9a-f]+) <([^>]*@plt)>:$", disassembly, re.M)}
            check({"puts@plt", "getenv@plt"} <= set(stubs.values()), flags, stubs)
            answers, _ = ask(path, [at + byte for at in stubs for byte in (0, 5)])
            for i, (at, name) in enumerate(stubs.items()):
                for frames in answers[2 * i:2 * i + 2]:
                    if not frames and disassembly.split(f"{at:016x} <")[1].split("\n\n")[0].find("push") > 0:
                        continue    # the lazy half of a stub, which tells no slot
                    equal([f[0] for f in frames], [name], f"{flags} {at:#x}")


LAMBDAS = """
#define KEEP(x) asm volatile("" : "+r"(x))
namespace shop {
__attribute__((noinline)) int work(int n)
{
	auto first = [n](int x) { for (int i = 0; i < n; i++) KEEP(x); return x; };
	auto second = [n](auto x) {
		auto inner = [n](long y) { for (int i = 0; i < n; i++) KEEP(y); return (int)y; };
		KEEP(x);
		return inner(x);
	};
	return first(n) + second(n);
}
struct Cart {
	int k;
	__attribute__((noinline)) int total(int n)
	{
		auto add = [this, n](int x) { for (int i = 0; i < n; i++) KEEP(x); return x + k; };
		return add(n);
	}
};
}
int main(int argc, char **)
{
	shop::Cart cart{argc};
	return shop::work(argc) + cart.total(argc);
}
"""


def test_lambdas_are_qualified():
    """gcc gives what was inlined of them no linkage name: they are in the function that they are written in."""
    with directory() as d:
        path, source = os.path.join(d, "p"), os.path.join(d, "p.cpp")
        with open(source, "w", encoding="ascii") as f:
            f.write(LAMBDAS)
        for version in ("4", "5"):
            tool("g++", "-std=c++17", "-O2", f"-gdwarf-{version}", "-o", path, source)
            out = subprocess.run([needs("nm"), "-S", path], capture_output=True, text=True, check=True).stdout
            addresses = [int(at, 16) + i for at, size in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [TtWw] _ZN4shop", out, re.M)
                         for i in range(int(size, 16))]
            names = {name for frames in ask(path, addresses)[0] for name, _, _ in frames if "operator()" in name}
            # Where there is a linkage name it says arguments, too.
            names = {re.sub(r"(?<=\{lambda)\(\w+(:\d+)?\)|\(int\) const$|^auto ", "", name) for name in names}
            work = "shop::work(int)::{lambda#%d}::operator()"
            equal(names, {work % 1, work % 2 + "<int>", work % 2 + "<int>::{lambda#1}::operator()",
                          "shop::Cart::total(int)::{lambda#1}::operator()"}, f"DWARF {version}")


# --- Beside llvm-symbolizer, which reads all of a unit, and names as the linker does. ---

def places(path, n):
    """Random addresses in the functions of a file."""
    out = subprocess.run([needs("nm"), "-S", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    functions = [(int(at, 16), int(size, 16)) for at, size in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] ", out, re.M)]
    seed = int(os.environ.get("NAMES_SEED", random.SystemRandom().randrange(1 << 32)))
    chosen = random.Random(seed).choices(functions, [size for _, size in functions], k=n)
    return sorted({at + random.Random(seed + i).randrange(max(size, 1)) for i, (at, size) in enumerate(chosen)}), seed


def theirs(path, addresses):
    out = subprocess.run([needs("llvm-symbolizer"), f"--obj={path}", "--output-style=LLVM", "--inlining", "--functions=linkage",
                          "--no-demangle"],
                         input="\n".join(map(hex, addresses)) + "\n", capture_output=True, text=True, check=True).stdout
    answers = []
    for block in out.strip("\n").split("\n\n"):
        rows = block.split("\n")
        answers.append([(name, *place.rsplit(":", 2)[:2]) for name, place in zip(rows[::2], rows[1::2])])
    return answers


def aliases(path):
    """Names of the symbols of a file -> all names of the same address."""
    out = subprocess.run([needs("nm"), path], capture_output=True, text=True, check=True).stdout
    at = {}
    for address, name in re.findall(r"^([0-9a-f]+) \w (\S+)$", out, re.M):
        at.setdefault(address, set()).add(name)
    return {name: names for names in at.values() for name in names}


def beside(path, n=8000):
    """
    The same frames with the same names, mangled, for demanglers differ, and lines. Two differences are none: of several
    symbols at one address we may take another one, and of functions without a linkage name (gcc's local ones)
    llvm-symbolizer leaves out what they are in.
    """
    addresses, seed = places(path, n)
    ours, _ = ask(path, addresses, "-m")
    others = theirs(path, addresses)
    names = aliases(path)

    def same(x, y):
        return len(x) == len(y) and all(
            line == line2 and (name == name2 or name.endswith("::" + name2) or name2 in names.get(name, ()))
            for (name, _, line), (name2, _, line2) in zip(x, y))

    equal(len(others), len(ours), "llvm-symbolizer's answers")
    differ = [(hex(a), x, y) for a, x, y in zip(addresses, ours, others) if not same(x, y)]
    check(len(differ) <= 0.005 * len(addresses), f"NAMES_SEED={seed}", f"{len(differ)} of {len(addresses)} differ:",
          *differ[:3])


def test_ours_beside_llvm():
    unsanitized("what they add has no lines")
    beside(EBPROF)


def test_clangs_beside_llvm():
    """Built with -g1, by which clang describes those functions alone into which others were inlined; all have lines."""
    beside(os.path.join(os.path.dirname(fixture_path("addresses")), "..", "fuzz", "fuzz_unwind_table"))


def test_templates_beside_llvm():
    source = os.path.join(TOP, "tests", "fixtures", "templates.cpp")
    for compiler in ("g++", "clang++"):
        with directory() as d:
            path = os.path.join(d, "p")
            tool(compiler, "-std=c++17", "-O2", "-g", "-o", path, source)
            beside(path)


def test_rusts_beside_llvm():
    beside(fixture_path("shapes_rust_v0"))
