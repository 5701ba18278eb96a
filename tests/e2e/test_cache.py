# SPDX-License-Identifier: MIT
"""
Names that are kept from one run to the next: found by a program with so many symbols that it pays.
"""
import contextlib
import os
import subprocess
import zlib

from harness import check, directory, equal, fixture_path, needs, run

SECONDS = 10

SYMBOLS, PARTS = 1000000, 10
USER = {"SUDO_UID": "65534", "SUDO_GID": "65534"}


@contextlib.contextmanager
def program():
    """(path of a program, whose hot function is "spin", among a million others; a folder of the invoking user's)"""
    with directory() as d, directory() as cache:
        # A tenth of them is assembled, and linked ten times, with another digit in the names.
        text = '.section .note.GNU-stack,"",@progbits\n.text\n' + "".join(
            f".globl part0_{i}\n.type part0_{i},@function\npart0_{i}: nop\n.size part0_{i},1\n" for i in range(SYMBOLS // PARTS))
        subprocess.run([needs("as"), "-o", f"{d}/0.o", "-"], input=text, text=True, check=True)
        with open(f"{d}/0.o", "rb") as f:
            image = f.read()
        parts = [f"{d}/{i}.o" for i in range(PARTS)]
        for i, path in enumerate(parts):
            with open(path, "wb") as f:
                f.write(image.replace(b"part0_", f"part{i}_".encode()))
        with open(f"{d}/spin.c", "w", encoding="ascii") as f:
            f.write("volatile unsigned long n; __attribute__((noinline)) void spin(void) { for (;;) n++; }\n"
                    "int main(void) { spin(); }\n")
        subprocess.run([needs("gcc"), "-O1", "-fuse-ld=lld", "-Wl,--build-id=sha1", "-o", f"{d}/many", f"{d}/spin.c", *parts], check=True)
        for path in parts:
            os.unlink(path)
        os.chown(cache, 65534, 65534)
        yield f"{d}/many", cache


def names(command, cache, *options):
    """The functions that were sampled in a run on behalf of the user."""
    profile = run(*options, "--no-keep", "-F", "999", "-d", "0.3", "-U", "-f", "folded", "--", *command.split(),
                  env={**USER, "XDG_CACHE_HOME": cache}).ok().profile
    check(profile.count() > 0, "no samples")
    return {f for s in profile for f in s.frames[-1:]}


def kept(cache, what=b""):
    """The files kept of programs that have the text."""
    files = []
    for folder, _, names_there in os.walk(os.path.join(cache, "ebprof")):
        for name in (n for n in names_there if not n.endswith(".kernel")):
            with open(os.path.join(folder, name), "rb") as f:
                files += [f.name] if what in f.read() else []
    return files


def mark(path, old, new):
    """Changes what is kept, so that it can be seen whether it was used."""
    with open(path, "rb") as f:
        data = f.read().replace(old, new)
    with open(path, "wb") as f:
        f.write(data[:12] + zlib.crc32(data[16:]).to_bytes(4, "little") + data[16:])


def test_the_next_run_uses_what_was_found():
    with program() as (path, cache):
        check("spin" in names(path, cache, "--no-cache"), "no spin")
        equal(kept(cache), [], "files without a cache")
        check("spin" in names(path, cache), "no spin")
        files = kept(cache, b"spin\0")      # libc may have much DWARF here
        equal(len(files), 1, f"files kept: {files}")
        for p in (files[0], os.path.dirname(files[0])):
            st = os.stat(p)
            equal((st.st_uid, st.st_gid, st.st_mode & 0o077), (65534, 65534, 0), p)
        mark(files[0], b"spin\0", b"kept\0")
        check("kept" in names(path, cache), "what was kept is not used")
        check("spin" in names(path, cache, "--no-cache"), "what was kept is used all the same")
        # Damage, and another program with this build id.
        with open(files[0], "r+b") as f:
            f.write(b"x")
        check("spin" in names(path, cache), "a damaged file")
        mark(files[0], b"spin\0", b"kept\0")
        subprocess.run([needs("objcopy"), "--redefine-sym", "spin=spun", path], check=True)
        found = names(path, cache)
        check("spun" in found and "kept" not in found, "another file of this build id:", found)
