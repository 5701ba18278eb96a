# SPDX-License-Identifier: MIT
"""The loop and the session in a program that is neither record nor top."""
import json
import subprocess
import sys

from harness import Fixture, Profile, check, equal, fixture_path, tree_shares

# It runs, touches a MiB that was not there before, and waits, in turn.
TURNS = """
import mmap, time
while True:
    with mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as m:
        m.write(bytes(1 << 20))
    end = time.process_time() + 0.01
    while time.process_time() < end:
        pass
    time.sleep(0.02)
"""


def sample(pid, *args):
    got = subprocess.run([fixture_path("sampler"), str(pid), *args], capture_output=True, text=True, timeout=30, check=False)
    equal(got.returncode, 0, f"exit status; stderr:\n{got.stderr}")
    return got


def test_third_user():
    with Fixture("tree") as tree:
        got = sample(tree.pid)
    profile = Profile.read(got.stdout)
    tree_shares(profile, least=40)
    equal(profile.comms(), {"tree"}, "comms")
    # Ten are due; at 999 Hz half a map is never full, so no more come.
    fetched = got.stderr.splitlines()
    check(set(fetched) == {"fetched"} and 2 <= len(fetched) <= 11, "fetched while it sampled:", got.stderr)


def test_sources_together():
    with subprocess.Popen([sys.executable, "-c", TURNS]) as program:
        try:
            got = sample(program.pid, "all")
        finally:
            program.kill()
    summary = json.loads(got.stdout.splitlines()[0])
    total = {t["name"]: t["total"] for t in summary["types"]}
    equal(sorted(total), ["cpu", "fault_space", "off-cpu", "page_faults", "samples", "waits"], "types")
    equal((summary["event"], summary["frequency"], summary["lost"]), ("cpu-clock", 999, 0), "summary")
    # It does nothing but run and wait, in a second.
    check(0.8e9 < total["cpu"] + total["off-cpu"] < 1.2e9, "time:", total)
    check(total["samples"] >= 100 and total["waits"] >= 5, "samples and waits:", total)
    # Each turn has 256 pages; a huge one is one fault.
    check(total["page_faults"] >= 5 and total["fault_space"] >= 5 << 20, "page faults:", total)
    equal(summary["kept"], total["samples"] + total["page_faults"] + total["waits"], "kept")
