# SPDX-License-Identifier: MIT
"""The loop and the session in a program that is neither record nor top."""
import re
import subprocess

from harness import Fixture, Profile, check, equal, fixture_path, tree_shares


def test_third_user():
    with Fixture("tree") as tree:
        got = subprocess.run([fixture_path("sampler"), str(tree.pid)], capture_output=True, text=True, timeout=30,
                             check=False)
    equal(got.returncode, 0, f"exit status; stderr:\n{got.stderr}")
    profile = Profile.read(got.stdout)
    tree_shares(profile, least=100)
    equal(profile.comms(), {"tree"}, "comms")
    fetched = re.fullmatch(r"fetched (\d+) times\n", got.stderr)
    # Ten are due; at 999 Hz half a map is never full, so no more come.
    check(fetched and 2 <= int(fetched[1]) <= 11, "fetched while it sampled:", got.stderr)
