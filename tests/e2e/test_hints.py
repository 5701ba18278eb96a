# SPDX-License-Identifier: MIT
"""One line where a runtime or a package could name what has no name (which, and how much: unit/test_hints)."""
import os
import re
import sys

from harness import check, equal, needs, node, run, skip

SECONDS = 9

# Until so much CPU time was used, however busy the machine is.
JAVASCRIPT = ("function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); }"
              "let s = 0; while (process.cpuUsage().user < 1.5e6) s += f(20);")
PYTHON = ("import time\n"
          "def work():\n"
          "    return sum(i * i for i in range(1000))\n"
          "while time.process_time() < 1: work()\n")


def hints(*command, options=()):
    r = run("-F", 499, "-o", "/dev/null", *options, "--", *command).ok()
    return re.findall(r"^ebprof: .*, without names; for these .*$|^ebprof: .* Python's interpreter; .*$",
                      r.err, re.M), r.err


def test_node():
    """None: its functions are frames by themselves."""
    lines, err = hints(node(), "-e", JAVASCRIPT)
    equal(lines, [], err)


def test_python():
    """None where its functions are frames by themselves; else how they would be."""
    lines, err = hints(sys.executable, "-c", PYTHON)
    if "functions of Python are not shown" not in err:
        # Debian's own is stripped, which is another matter.
        equal([x for x in lines if "interpreter" in x], [], err)
        return
    equal(len(lines), 1, err)
    check("-X perf" in lines[0], err)


def test_packages():
    if not os.path.exists("/var/lib/dpkg/info"):
        skip("not a machine of Debian's kind")
    command = (needs("openssl"), "speed", "-seconds", "1", "-bytes", "16384", "sha256")
    lines, err = hints(*command)
    named = float(re.search(r"^ebprof: ([\d.]+)% of the frames have names", err, re.M)[1])
    if named > 90:
        skip("debug files of openssl are installed")
    equal(len(lines), 1, err)
    check(re.search(r"frames are in [^;]*libcrypto\.so\.[^;]*, without names; for these install from the debug archive: "
                    r"apt install [a-z0-9.+ -]*-dbgsym[^;]*; or --debuginfod", lines[0]), err)
    equal(hints(*command, options=("-q",))[1].count("ebprof:"), 0, "with -q")


def test_none_where_all_have_names():
    lines, err = hints("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", options=("-K",))
    equal(lines, [], err)
