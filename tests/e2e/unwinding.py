# SPDX-License-Identifier: MIT
"""What the tests of unwinding share: a sampled fixture, and the chains of calls that its stacks must be."""
import bisect
import functools
import re
import subprocess

from harness import Fixture, check, equal, fixture_path, needs, run_burned

RATE = ("-F", 2499, "-d", "0.2s")
# libc's own functions have names only where there is a debug file of it.
ROOT = ["_start", r"__libc_start_main.*|\[libc.*\]", r"__libc_start_call_main|\[libc.*\]", "main"]
# libc's clone3 and start_thread, which have names only where it has a symbol table.
THREAD_ROOT = [r"(__)?clone3?|\[libc.*\]", r"start_thread|\[libc.*\]"]


def recorded(pid, *options, rate=RATE):
    """What @rate says, but until the process has had that duration as CPU time."""
    *rate, _, duration = rate
    return run_burned(pid, float(duration.rstrip("s")), *rate, *options).ok()


def sampled(name, *args, options=(), rate=RATE):
    with Fixture(name, *map(str, args)) as f:
        return recorded(f.pid, "-U", *options, rate=rate)


def whole(result, allowed=0.001, least=100):
    """All samples complete, but for one in a thousand, or one."""
    s = result.summary
    check(s.taken > least, "too few samples:", s.taken)
    equal(s.lost, 0, "lost samples")
    profile = result.profile
    check(s.truncated <= max(1, allowed * s.taken), s.truncated_by, profile.where(lambda x: x.cut).head())
    return profile


def fit(frames, pattern):
    """How many of the pattern's names the frames begin with, None if they go on differently. libc's may be missing."""
    at = 0
    for i, want in enumerate(pattern):
        if at == len(frames):
            return i
        if re.fullmatch(want, frames[at]):
            at += 1
        elif "libc" not in want:
            return None
    return len(pattern) if at == len(frames) else None


def chain(profile, *frames, root=ROOT):
    """Every stack is exactly this one; libc's parts of the root may have no name, or not be there."""
    pattern = [*root, *frames]
    wrong = profile.where(lambda s: not s.cut and fit(s.frames, pattern) != len(pattern))
    check(wrong.count() == 0, "other stacks than", pattern, wrong.head())
    check(profile.count(lambda s: not s.cut) > 100, profile.head())


def beginnings(profile, *frames, root=ROOT, least=50):
    """Every stack is this one or its beginning from main on: what is between calls is hit, too."""
    pattern = [*root, *frames]
    wrong = profile.where(lambda s: not s.cut and (fit(s.frames, pattern) or 0) < len(root))
    check(wrong.count() == 0, "stacks that are no beginning of", pattern, wrong.head())
    n = profile.count(lambda s: fit(s.frames, pattern) == len(pattern))
    check(n >= least, f"{n} samples of the leaf, expected {least}:", profile.head())


def leads_to(profile, *frames, root=ROOT, least=50):
    """Every stack that has the leaf is exactly this one."""
    with_leaf = profile.where(lambda s: not s.cut and s.frames and re.fullmatch(frames[-1], s.frames[-1]))
    pattern = [*root, *frames]
    wrong = with_leaf.where(lambda s: fit(s.frames, pattern) != len(pattern))
    check(wrong.count() == 0, "other stacks than", pattern, wrong.head())
    check(with_leaf.count() >= least, f"{with_leaf.count()} samples of {frames[-1]}, expected {least}:", profile.head())


def rooted(profile):
    """Every stack that says it is complete begins at a root: of the program, of a thread, or of the dynamic linker."""
    root = r"(_start|_dl_start(_user)?|(__)?clone3?|\[(ld-linux|libc|linux-vdso|vdso|unwind_).*\])$"
    wrong = profile.where(lambda s: s.frames and not s.cut and not re.match(root, s.frames[0]))
    check(wrong.count() == 0, "roots that are none:", wrong.head())


@functools.lru_cache(None)
def symbols(name):
    """(offsets in the file, names) of a fixture's functions, sorted."""
    path = fixture_path(name)
    headers = subprocess.run([needs("readelf"), "-lW", path], capture_output=True, text=True, check=True).stdout
    loads = [[int(x, 16) for x in m] for m in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", headers)]
    listed = subprocess.run([needs("nm"), "-C", path], capture_output=True, text=True, check=True).stdout
    found = []
    for address, function in re.findall(r"^([0-9a-f]+) [TtW] (.*)$", listed, re.M):
        for offset, start, size in loads:
            if start <= int(address, 16) < start + size:
                found.append((int(address, 16) - start + offset, function))
    found.sort()
    return [x[0] for x in found], [x[1] for x in found]


def named(profile, name):
    """The profile of a stripped fixture with the names of the one that was not: unwinding needs no symbols."""
    offsets, names = symbols(name)

    def name_of(frame):
        m = re.fullmatch(rf"\[{name}_stripped\+0x([0-9a-f]+)\]", frame)
        at = bisect.bisect_right(offsets, int(m[1], 16)) - 1 if m else -1
        return names[at] if at >= 0 else frame

    stripped = subprocess.run([needs("readelf"), "-SW", fixture_path(f"{name}_stripped")],
                              capture_output=True, text=True, check=True).stdout
    check(".text" in stripped and ".symtab" not in stripped, "it is not stripped:", stripped)
    for s in profile:
        s.frames = [name_of(f) for f in s.frames]
    return profile


def both(name, *args, allowed=0.001, rate=RATE):
    """The profiles of a fixture and of its stripped copy."""
    yield whole(sampled(name, *args, rate=rate), allowed)
    yield named(whole(sampled(f"{name}_stripped", *args, rate=rate), allowed), name)
