# SPDX-License-Identifier: MIT
"""The programs that read what ebprof writes, as the tests of the formats use them (tests/readers)."""
import json
import os
import re
import subprocess

from harness import TOP, Missing, check, fixture_path, needs, node, node_module, wait_for

SPEEDSCOPE = ("speedscope", "dist", "release")


def hand_made(directory, name, form, suffix):
    """A profile of tests/fixtures/profiles.c in a file; its path."""
    path = os.path.join(directory, name + suffix)
    subprocess.run([fixture_path("profiles"), name, form, path], check=True, timeout=30)
    return path


def _script(name, *args, timeout=100):
    env = dict(os.environ, NODE_PATH=os.path.dirname(node_module("ajv")))
    p = subprocess.run([node(), os.path.join(TOP, "tests", "readers", name), *args], env=env, capture_output=True,
                       text=True, timeout=timeout)
    check(p.returncode == 0, f"{name}:", p.stdout[-2000:], p.stderr[-2000:])
    return p.stdout


def valid_speedscope(*files):
    """Against the schema that speedscope publishes."""
    _script("schema.js", node_module(*SPEEDSCOPE, "file-format-schema.json"), *files)


class Spans:
    """A profile that speedscope's page exported: spans of time, summed up by stack."""

    def __init__(self, profile, frames):
        self.name, self.unit, self.total = profile["name"], profile["unit"], profile["endValue"]
        self.stacks, stack, since = {}, [], 0
        for event in profile["events"]:
            if stack and event["at"] > since:
                key = tuple(stack)
                self.stacks[key] = self.stacks.get(key, 0) + event["at"] - since
            since = event["at"]
            frame = frames[event["frame"]]["name"]
            if event["type"] == "O":
                stack.append(frame)
            else:
                check(stack.pop() == frame, "frames that do not nest:", frame)
        check(not stack, "frames that do not end:", stack)


def speedscope(*files):
    """What speedscope's page has read from each file: its profiles in order, and the frames of all."""
    needs("chromium")
    results = []
    for line in _script("speedscope.js", node_module(*SPEEDSCOPE, "index.html"), *files).splitlines():
        read = json.loads(line)
        check(read, "the page refused a file, one of", files)
        frames = read["shared"]["frames"]
        results.append(([Spans(p, frames) for p in read["profiles"]], frames))
    return results


DH_VIEW = ("/usr/libexec/valgrind/dh_view.html", "/usr/lib/valgrind/dh_view.html")


class Point:
    """A node of the tree that dh_view shows: (bytes, blocks) by heading, and its frames, the innermost first."""

    def __init__(self, children):
        self.children, self.values, self.lifetime, self.frames = children, {}, None, []

    @property
    def names(self):
        """Of the frames; those that stand for none, as they are."""
        return tuple(re.sub(r"^0x[0-9A-F]+: (.*) \(.*\)$", r"\1", f) for f in self.frames)


class DhatTree:
    """A file's text in dh_view, by one of its sort metrics."""

    def __init__(self, metric, text):
        self.metric, self.head, self.points = metric, text[:text.index("PP 1/1 ")], []
        for line in (line.lstrip(" │├└─▼") for line in text[len(self.head):].splitlines()):
            if m := re.match(r"PP [\d.]+/\d+ (\(\d+ children\) )?\{$", line):
                self.points.append(Point(bool(m[1])))
            elif m := re.match(r"(\S[^:]*): +([\d,]+) \S+ .*?in ([\d,]+) ", line):
                self.points[-1].values[m[1]] = (self.number(m[2]), self.number(m[3]))
                m = re.search(r"avg lifetime ([\d,.]+) ", line)
                self.points[-1].lifetime = self.points[-1].lifetime or (m and self.number(m[1]))
            elif (m := re.match(r"[#^]\d+: (.*)$", line)) and m[1] != "[root]":
                self.points[-1].frames.append(m[1])
        self.all = self.points[0].values

    @staticmethod
    def number(text):
        number = float(text.replace(",", ""))
        return int(number) if number.is_integer() else number

    def leaves(self):
        """What is shown of whole stacks, by names; those that are too little to be shown are left out."""
        leaves = [p for p in self.points if p.frames and not p.children]
        found = {p.names: p for p in leaves}
        check(len(found) == len(leaves), "one stack twice:", [p.names for p in leaves])
        return found


def dhat_view(*files):
    """What valgrind's page shows of each file: a tree for each of its sort metrics."""
    needs("chromium")
    page = next((p for p in DH_VIEW if os.path.exists(p)), None)
    if not page:
        raise Missing("dh_view.html of valgrind")
    results = [json.loads(line) for line in _script("dhat.js", page, *files).splitlines()]
    for file, read in zip(files, results):
        check(not read["errors"], f"{file}:", read["errors"])
    return [[DhatTree(*shown) for shown in read["texts"]] for read in results]


class FirefoxProfiler:
    """
    The Firefox Profiler without its window: profiler-cli, whose daemon holds one file. It is started here as its
    "load" starts it, which would wait half a second for it, too little on a busy machine, and leave it behind then.
    """

    def __init__(self, directory):
        self.env = dict(os.environ, HOME=directory, PROFILER_CLI_SESSION_DIR=directory)
        self.cli = node_module("@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")
        self.daemon, self.session = None, 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()

    def run(self, *args):
        return subprocess.run([node(), self.cli, *args, "--session", f"s{self.session}"], env=self.env, capture_output=True,
                              text=True, timeout=60)

    def ask(self, *args):
        p = self.run(*args, "--json")
        check(p.returncode == 0, *args, p.stderr[-1000:])
        return json.loads(p.stdout)

    def load(self, path):
        self.__exit__()
        self.session += 1
        self.daemon = subprocess.Popen([node(), self.cli, "--daemon", path, "--session", f"s{self.session}"], env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def loaded():
            # Not asked for: a session that is not there yet would be taken for a dead one, and cleaned up.
            check(self.daemon.poll() is None, "the daemon ended while it loaded", path)
            try:
                with open(log) as f:
                    text = f.read()
            except FileNotFoundError:
                return False
            check("[ERROR]" not in text, f"{path}: {text[-1000:]}")
            return "Profile loaded successfully" in text
        log = os.path.join(self.env["PROFILER_CLI_SESSION_DIR"], f"s{self.session}.log")
        wait_for(loaded, "the profile to be loaded", 40)

    def threads(self):
        """By handle."""
        return {t["threadHandle"]: t for t in self.ask("thread", "list", "--limit", "0")["threads"]}

    def tree(self, handle="t-0"):
        """The root of a thread's call tree."""
        args = ("--thread", handle, "--max-lines", "5000", "--include-idle")
        return self.ask("thread", "samples-top-down", *args)["regularCallTree"]

    def functions(self, handle="t-0"):
        """(self, total) by name."""
        rows = self.ask("thread", "functions", "--thread", handle, "--limit", "0", "--include-idle")["functions"]
        return {r["name"]: (r["selfSamples"], r["totalSamples"]) for r in rows}

    def stacks(self, handle="t-0"):
        """Samples by stack, as the tree has them (to a depth of 200), and the weight of all."""
        root, found = self.tree(handle), {}
        todo = [((), child) for child in root["children"]]
        while todo:
            path, call = todo.pop()
            path += (call["name"],)
            if call["selfSamples"]:
                found[path] = found.get(path, 0) + call["selfSamples"]
            todo += [(path, child) for child in call["children"]]
        return found, root["totalSamples"]
