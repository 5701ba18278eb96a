# SPDX-License-Identifier: MIT
"""
Interpreters of Debian's other suites in containers: with their own C library, in namespaces, below a root of their own. What a suite
has is unpacked once, for all tests.
"""
import fcntl
import os
import subprocess

from harness import FIXTURES, skip

SUITE = os.path.join(os.path.dirname(__file__), "..", "suite")
# The folders of merged trees that packages expect to be there.
MERGED = ("bin", "lib", "lib64", "sbin")
# Below its first process, a shell; what it writes below /tmp is the machine's.
START = """#!/bin/sh
PERL_BADLANG=0 exec unshare --mount --pid --fork --kill-child sh -c 'mount --bind /tmp {root}/tmp && chroot {root} "$@"; exit' sh /usr/bin/{name} "$@"
"""

BASE = ("libc6", "libcrypt1", "libgcc-s1", "zlib1g", "libexpat1", "perl-base", "libgmp10")
# What PHP's command line is linked with.
OF_PHP = ("libedit2", "libargon2-1", "libpcre2-8-0", "libsodium23", "libxml2", "liblzma5", "libtinfo6", "libbsd0", "libmd0", "libstdc++6")
SID_PYTHONS = (14, 15)
PACKAGES = {
    "bullseye": ("python3.9-minimal", "libpython3.9-minimal", "libpython3.9-stdlib", "ruby2.7", "libruby2.7", *OF_PHP,
                 "php7.4-cli", "libmagic1", "libssl1.1", "libicu67"),
    "trixie": ("python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib", "ruby3.3", "libruby3.3", *OF_PHP,
               "php8.4-cli", "libmagic1t64", "libssl3t64", "libicu76", "libzstd1"),
    "sid": tuple(package for minor in SID_PYTHONS for package in (f"python3.{minor}-minimal", f"libpython3.{minor}-minimal",
                                                                  f"libpython3.{minor}-stdlib")),
}


def root_of(suite):
    return os.path.realpath(os.path.join(os.path.dirname(FIXTURES), suite))


def unpacked(suite):
    """The folder with what Debian's @suite has; the first that needs it brings it there."""
    root = root_of(suite)
    with open(f"{root}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(f"{root}/usr"):
            got = subprocess.run([SUITE, suite, root, *BASE, *PACKAGES[suite]], capture_output=True, text=True, timeout=200, check=False)
            if got.returncode:
                skip(f"no packages of Debian {suite}: {got.stdout.strip()}")
        os.makedirs(f"{root}/tmp", exist_ok=True)
        for folder in MERGED:
            if not os.path.lexists(f"{root}/{folder}"):
                os.symlink(f"usr/{folder}", f"{root}/{folder}")
    return root


def contained(suite, name):
    """A command that runs /usr/bin/@name of Debian's @suite in a container."""
    root = unpacked(suite)
    path = f"{root}/start-{name}"
    if not os.path.exists(path):
        with open(f"{path}.new", "w", encoding="utf-8") as f:
            f.write(START.format(root=root, name=name))
        os.chmod(f"{path}.new", 0o755)
        os.rename(f"{path}.new", path)
    return path
