# SPDX-License-Identifier: MIT
"""
The hand-made profiles of tests/fixtures/profiles.c as whole stacks: (comm, frames from the root, count).
An inlined function is a frame of its own.
"""
import subprocess

from harness import fixture_path

FULL = [
    ("demo", ["_start", "main", "work"], 40),
    ("demo", ["_start", "main", "work", "hash"], 25),
    ("demo", ["_start", "main", "write", "entry_SYSCALL_64", "ksys_write"], 10),
    ("demo", ["_start", "main", "walk", "walk", "walk"], 9),
    ("worker one", ["clone", "work"], 12),
    ("worker one", ["[truncated: depth]", "work", "leaf"], 5),
    ("worker one", ["clone", "js:~render", "malloc"], 4),
    ("server", ["_start", "[server+0x1234]"], 6),
    ("helper", ["kthread", "worker_thread"], 2),
    ("helper", [], 1),
]
ONE = [("one", ["main"], 1)]
HUGE = [("huge", ["main", "work"], 5000000000), ("huge", ["main", "leaf"], 12345678901)]
TYPES = [("alloc", ["main", "malloc"], 144), ("alloc", ["main", "work", "malloc"], 4096)]

_LEVELS = [f"level_{i:03}" if i < 100 or i >= 400 else "again" for i in range(500)]
DEEP = [("deep", _LEVELS[:i], 1) for i in range(51, 500, 100)] + [("deep", _LEVELS, 10)]

# What hostile names have become in a profile.
HOSTILE_COMM = '<b>"comm";1 2'
HOSTILE_NAMES = [
    "</script><script>alert(1)</script>", "]]>", "\"quoted\" 'name'", "a;b;c", "ends in digits 42", "42", "1 2",
    "\ufffd\ufffd invalid", r"\x1b[31mred\x1b[0m", r"new\nline\tand tab", "\\back\\slash", "&amp;&lt;",
    "äöü 漢字 🔥", r"\u{202e}right to left", " ", "-", "$(id)", "%s%n%d",
    "operator()(int, char const*) const [clone .cold]", "std::vector<int, std::allocator<int> >::push_back(int&&)",
    "fn=(1) fake", "calls=1 2", "a'2", "{}", "[unknown]", "constructor", "__proto__", "toString",
]
# Each name is a module with a "main", then a function and what was inlined into it, and last a thread that runs "main".
HOSTILE = ([(HOSTILE_COMM, ["main", name, name], i + 1) for i, name in enumerate(HOSTILE_NAMES)]
           + [(name, ["main"], 1) for name in HOSTILE_NAMES])

STACKS = {"full": FULL, "one": ONE, "huge": HUGE, "types": TYPES, "deep": DEEP, "hostile": HOSTILE, "empty": []}


def total(stacks):
    return sum(count for _, _, count in stacks)


def functions(stacks):
    """name -> (self, total), recursion counted once."""
    out = {}
    for _, frames, count in stacks:
        for name in set(frames):
            own, everywhere = out.get(name, (0, 0))
            out[name] = own + count * (frames[-1] == name), everywhere + count
    return out


def write(name, form, path):
    subprocess.run([fixture_path("profiles"), name, form, path], check=True, timeout=30)
    return path
