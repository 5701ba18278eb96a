# SPDX-License-Identifier: MIT
"""What ebprof holds while it samples, as the kernel tells it; docs/security.md."""
import os
import re
import signal
import subprocess

from harness import (EBPROF, Fixture, check, directory, equal, finish, fixture_path, needs, run, start, tree_shares,
                     unsanitized, wait_burned, wait_for, wait_sampling)
from terminal import Terminal

BITS = {"DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7, "IPC_LOCK": 14,
        "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_NICE": 23, "SYS_RESOURCE": 24, "SYSLOG": 34, "PERFMON": 38, "BPF": 39,
        "CHECKPOINT_RESTORE": 40}
SAMPLES = {"DAC_READ_SEARCH", "IPC_LOCK", "SYS_PTRACE", "SYS_NICE", "SYS_RESOURCE", "SYSLOG", "PERFMON", "BPF",
           "CHECKPOINT_RESTORE"}
SUDO = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}


def status(pid, tid=None):
    with open(f"/proc/{pid}/task/{tid or pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def names(mask):
    """The capabilities of a set. Without SYS_ADMIN, which a distributor's kernel may ask for."""
    mask = int(mask, 16)
    return ({n for n, bit in BITS.items() if mask >> bit & 1} | {str(b) for b in range(64) if mask >> b & 1 and
            b not in BITS.values()}) - {"SYS_ADMIN"}


def held(options, expected, keeper, env=None, prefix=(), ebprof=None):
    """
    Each thread holds just @expected, of what we have ourselves, and is filtered, the keeper just @keeper; then the
    recording is whole.
    """
    expected = expected & names(status(os.getpid())["CapPrm"])
    with Fixture("tree") as f:
        p = start("-F", 999, "-p", f.pid, *options, env=env, prefix=prefix, ebprof=ebprof)
        wait_sampling(p)
        for tid in os.listdir(f"/proc/{p.pid}/task"):
            st = status(p.pid, tid)
            equal((names(st["CapEff"]), names(st["CapPrm"])), (expected, expected), f"capabilities of thread {tid}")
            equal((int(st["CapInh"], 16), int(st["CapAmb"], 16)), (0, 0), "what could be inherited")
            equal((st["Seccomp"], st["NoNewPrivs"]), ("2", "1"), f"filter of thread {tid}")
        kept = children(p.pid)
        equal(len(kept), 4, "processes of its own")
        equal(names(status(kept[0])["CapPrm"]), keeper, "capabilities of the keeper")
        equal(names(status(kept[1])["CapPrm"]), {"SYS_PTRACE", "SYS_NICE"} & expected, "capabilities of who reads memory")
        st = status(kept[2])
        equal((names(st["CapPrm"]), st["Seccomp"], os.listdir(f"/proc/{kept[2]}/fd")), (set(), "2", []), "who demangles")
        # It is forked last, just before sampling begins.
        loads = {"BPF", "PERFMON", "SYS_RESOURCE"} & expected
        wait_for(lambda: names(status(kept[3])["CapPrm"]) == loads, f"who loads to hold {loads} alone")
        has = {os.readlink(f"/proc/{kept[3]}/fd/{fd}").partition(":[")[0] for fd in os.listdir(f"/proc/{kept[3]}/fd")}
        equal(has, {"anon_inode:bpf-map", "socket", "/memfd:ebprof_types (deleted)"}, "what is open to who loads")
        wait_burned(f.pid, 0.5)
        p.send_signal(signal.SIGINT)
        tree_shares(finish(p).ok().profile, least=40)


def test_root_keeps_what_it_needs():
    held((), SAMPLES, {"DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID"})


def filtered(pid):
    for tid in os.listdir(f"/proc/{pid}/task"):
        st = status(pid, tid)
        equal((names(st["CapPrm"]) - SAMPLES, st["Seccomp"], st["NoNewPrivs"]), (set(), "2", "1"), f"thread {tid}")


def test_live_views():
    """All of their threads are filtered, too; who looks may save what he sees all the same."""
    with Fixture("tree") as f:
        p = start("top", "--plain", "-p", f.pid)
        wait_sampling(p)
        filtered(p.pid)
        p.send_signal(signal.SIGINT)
        finish(p).ok()
        with directory() as d, Terminal() as t:
            t.ebprof("top", "-p", f.pid, pattern=r" [a-c]2$")
            filtered(t.pid())
            # Over a file that is there, as well.
            for _ in range(2):
                t.keys("s")
                t.wait("^save as:")
                t.type(os.path.join(d, "x.folded"))
                t.keys("Enter")
                t.wait("saved: ")
                t.keys("Escape")
            t.keys("q")
            t.settled()
            with open(os.path.join(d, "x.folded"), encoding="utf-8") as file:
                check("tree;" in file.read(), "the profile")


def test_under_sudo():
    held((), SAMPLES | {"SETUID", "SETGID"}, {"DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID"}, env=SUDO)


def test_file_capabilities():
    """Somebody who is not root, by a copy with capabilities: it has those, and nothing else can be had through it."""
    with directory() as d:
        path = os.path.join(d, "ebprof")
        subprocess.run(["install", "-m", "755", EBPROF, path], check=True)
        wanted = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog"
        subprocess.run([needs("setcap"), f"{wanted},cap_net_admin,cap_chown+ep", path], check=True)
        nobody = (needs("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups")
        held(("-U",), {c[4:].upper() for c in wanted.split(",")}, set(), prefix=nobody, ebprof=path)


def test_what_wants_root():
    """Uprobes in a command: one line says which capability is missing."""
    with directory() as d:
        os.chmod(d, 0o755)
        for path in (EBPROF, os.path.join(os.path.dirname(fixture_path("tree")), "..", "..", "ebprof-alloc.so")):
            subprocess.run(["install", "-m", "755", path, d], check=True)
        copy = os.path.join(d, "ebprof")
        subprocess.run([needs("setcap"), "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep", copy], check=True)
        r = run("alloc", "--", "true", ebprof=copy,
                prefix=(needs("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups"))
        r.fails(3, "CAP_SYS_ADMIN; run it with sudo")


def test_the_command_is_not_filtered():
    """It is as it would be without us; what it needs of its user's rights is left to it."""
    ours = status(os.getpid())["Seccomp"]
    p = start("-F", 99, "-o", "/dev/null", "--", fixture_path("tree"))
    wait_sampling(p)
    command = wait_for(lambda: [c for c in children(p.pid) if status(c)["Name"] == "tree"], "the command")[0]
    equal((status(command)["Seccomp"], status(command)["NoNewPrivs"]), (ours, "0"), "filter of the command")
    p.send_signal(signal.SIGINT)
    finish(p)


def files_after_a_kill(d, env=None):
    """What is in the folder while ebprof samples, and after it was killed."""
    with Fixture("tree") as f:
        p = start("-F", 999, "-p", f.pid, "-o", os.path.join(d, "out.folded"), env=env)
        wait_sampling(p)
        before, keeper = os.listdir(d), children(p.pid)[0]
        p.kill()
        finish(p)
        wait_for(lambda: not os.path.exists(f"/proc/{keeper}"), "the keeper to end")
    return before, os.listdir(d)


def test_killed_leaves_no_file():
    """Also where a file system has no nameless files, so that there is one with a name meanwhile."""
    unsanitized("their allocator begins before what makes calls fail")
    with directory() as d:
        equal(files_after_a_kill(d), ([], []), "files")
        # What is opened in folders: the threads of the target, the children of its only one, and the nameless
        # file, which fails.
        before, after = files_after_a_kill(d, {"FAIL_NTH": "openat:3", "LD_PRELOAD": fixture_path("fail_nth.so")})
        check(len(before) == 1 and before[0].startswith(".ebprof-"), "no file with a temporary name:", before)
        equal(after, [], "files")


def test_the_keeper_killed():
    """One line says that the file could not be written, and none is there."""
    with directory() as d, Fixture("tree") as f:
        p = start("-F", 999, "-q", "-p", f.pid, "-o", os.path.join(d, "out.folded"))
        wait_sampling(p)
        os.kill(children(p.pid)[0], signal.SIGKILL)
        p.send_signal(signal.SIGINT)
        finish(p).fails(1, "out.folded")
        equal(os.listdir(d), [], "files")


def test_only_expected_calls_are_refused():
    """A recording asks for nothing that the filter refuses, but what the C library tries and can do without."""
    with directory() as d, Fixture("tree") as f:
        trace = os.path.join(d, "trace")
        p = start("-d", "0.3", "-F", 999, "--wall", "-p", f.pid, "-o", os.path.join(d, "out.json.gz"),
                  prefix=(needs("strace"), "-f", "-o", trace, "-e", "status=failed"))
        finish(p).ok()
        with open(trace) as t:
            refused = {line.split()[1].split("(")[0] for line in t if "ENOSYS" in line and "resumed" not in line}
    check(refused <= {"clone3"}, "refused:", refused)


REFUSED = """
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Called while names are looked up. */
int getpriority(__priority_which_t which, id_t who)
{
	(void)which;
	(void)who;
	return syscall(SYS_timer_create, 0, 0, 0) == -1 && errno == ENOSYS ? 0 : -1;
}
"""


def test_refused_calls_are_said():
    """Which calls, and how often; and the recording goes on."""
    unsanitized("what is preloaded comes before its library")
    with directory() as d, Fixture("tree") as f:
        path, source = os.path.join(d, "refused.so"), os.path.join(d, "refused.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(REFUSED)
        subprocess.run([needs("gcc"), "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", path, source], check=True)
        p = start("-F", 999, "-d", "0.5", "-p", f.pid, env={"LD_PRELOAD": path})
        try:
            finish(p)
        except AssertionError as e:
            said = str(e)
        else:
            said = "nothing"
        check(re.match(r"ebprof: the sandbox refused system calls: timer_create \((once|\d+ times)\); ", said), said)
        equal(p.returncode, 0, "status")
