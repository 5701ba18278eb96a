# SPDX-License-Identifier: MIT
"""
Interpreters and JVMs of Debian's other suites in containers: with their own C library, in namespaces, below a root of their own. What
a suite has is unpacked once, for all tests. As a program: all that is not there yet, so that no test waits for it.
"""
import contextlib
import fcntl
import glob
import os
import subprocess

from harness import FIXTURES, Skip, skip

SUITE = os.path.join(os.path.dirname(__file__), "..", "suite")
# The folders of merged trees that packages expect to be there.
MERGED = ("bin", "lib", "lib64", "sbin")
# Below its first process, a shell; what it writes below /tmp is the machine's.
START = """#!/bin/sh
PERL_BADLANG=0 exec unshare --mount --pid --fork --kill-child sh -c \
    'mount --bind /tmp {root}/tmp && mount -t proc proc {root}/proc && chroot {root} "$@"; exit' sh {program} "$@"
"""

BASE = ("libc6", "libcrypt1", "libgcc-s1", "zlib1g", "libexpat1", "perl-base", "libgmp10")
# What PHP's command line is linked with.
OF_PHP = ("libedit2", "libargon2-1", "libpcre2-8-0", "libsodium23", "libxml2", "liblzma5", "libtinfo6", "libbsd0", "libmd0", "libstdc++6")
SID_PYTHONS = (14, 15)
PACKAGES = {
    "bullseye": ("python3.9-minimal", "libpython3.9-minimal", "libpython3.9-stdlib", "ruby2.7", "libruby2.7", *OF_PHP,
                 "php7.4-cli", "libmagic1", "libssl1.1", "libicu67"),
    "trixie": ("python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib", "ruby3.3", "libruby3.3", *OF_PHP,
               "php8.4-cli", "php8.4-opcache", "libmagic1t64", "libssl3t64", "libicu76", "libzstd1"),
    "sid": tuple(package for minor in SID_PYTHONS for package in (f"python3.{minor}-minimal", f"libpython3.{minor}-minimal",
                                                                  f"libpython3.{minor}-stdlib")),
}
JVMS = {"bullseye": (11,), "trixie": (21, 25), "sid": (8, 28)}
# What else there is below a root of its own, for a test alone that needs it.
PACKAGES.update({f"{suite}-java": ("libstdc++6", *(f"openjdk-{v}-jre-headless" for v in versions)) for suite, versions in JVMS.items()})


def root_of(what):
    return os.path.realpath(os.path.join(os.path.dirname(FIXTURES), what))


def unpacked(what):
    """The folder with what PACKAGES tell of a suite of Debian; the first that needs it brings it there."""
    root, suite = root_of(what), what.partition("-")[0]
    with open(f"{root}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(f"{root}/usr"):
            got = subprocess.run([SUITE, suite, root, *BASE, *PACKAGES[what]], capture_output=True, text=True, timeout=200, check=False)
            if got.returncode:
                skip(f"no packages of Debian {suite}: {got.stdout.strip()}")
        for folder in ("tmp", "proc"):
            os.makedirs(f"{root}/{folder}", exist_ok=True)
        for folder in MERGED:
            if not os.path.lexists(f"{root}/{folder}"):
                os.symlink(f"usr/{folder}", f"{root}/{folder}")
    return root


def contained(what, program):
    """A command that runs @program, a path or a name in /usr/bin, in a container of such a root."""
    root = unpacked(what)
    command = f"{root}/start-{program.strip('/').replace('/', '-')}"
    if not os.path.exists(command):
        with open(f"{command}.new", "w", encoding="utf-8") as f:
            f.write(START.format(root=root, program=os.path.join("/usr/bin", program)))
        os.chmod(f"{command}.new", 0o755)
        os.rename(f"{command}.new", command)
    return command


def packages_of(suite, what, *packages):
    """The folder @what with what these packages of Debian @suite hold ("NAME+": with its libraries)."""
    root = root_of(what)
    with open(f"{root}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(f"{root}/usr"):
            got = subprocess.run([SUITE, suite, root, *packages], capture_output=True, text=True, timeout=600, check=False)
            if got.returncode:
                skip(f"no {packages[0].rstrip('+')} of Debian {suite}: {got.stdout.strip()}")
    return root


def loaded(root, program):
    """The command that runs a program, a path below usr, here and with the libraries below @root, its C library too."""
    # Newer suites have all of it below usr.
    places = glob.glob(f"{root}/lib/*-linux-gnu") + glob.glob(f"{root}/usr/lib/*-linux-gnu")
    loader = next(p for place in places for p in glob.glob(f"{place}/ld-*.so*"))
    return [loader, "--library-path", ":".join(places), f"{root}/usr/{program}"]


if __name__ == "__main__":
    for each in PACKAGES:
        with contextlib.suppress(Skip, subprocess.TimeoutExpired):
            unpacked(each)
