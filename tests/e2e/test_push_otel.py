# SPDX-License-Identifier: MIT
"""What push sends, as an OpenTelemetry Collector prints it, and as opentelemetry-proto's own files read it."""
import calendar
import datetime
import gzip
import os
import re
import socket
import subprocess

import harness
from harness import Fixture, check, directory, equal, needs, run, skip, wait_for

OTEL = os.path.join(harness.BUILD, "tests", "otel")
REQUEST = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest"
INCLUDED = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto"


def built(name):
    """What tests/readers/otel/get brings; the first that needs it waits for it."""
    get = os.path.join(harness.TOP, "tests", "readers", "otel", "get")
    done = subprocess.run(["timeout", "280", get, OTEL], capture_output=True, text=True, check=False)
    if done.returncode:
        skip(f"no {name} of OpenTelemetry ({done.returncode}): {done.stdout.strip()}")
    return os.path.join(OTEL, name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_open(port):
    with socket.socket() as s:
        return not s.connect_ex(("127.0.0.1", port))


def collected(where, port, work):
    """What the Collector printed while work() ran."""
    config, log = os.path.join(where, "config.yaml"), os.path.join(where, "log")
    with open(os.path.join(harness.TOP, "tests", "readers", "otel", "config.yaml"), encoding="ascii") as f, open(config, "w", encoding="ascii") as out:
        out.write(f.read().replace("PORT", str(port)))
    with open(log, "w", encoding="ascii") as out:
        proc = subprocess.Popen([built("otelcol"), "--config", config, "--feature-gates=+service.profilesSupport"], stdout=out, stderr=out)
    try:
        wait_for(lambda: is_open(port), "the collector", 30)
        work()
    finally:
        proc.terminate()
        proc.wait()
    with open(log, encoding="utf-8") as f:
        return f.read()


class Printed:
    """A window as the exporter prints it: names of functions but the one that pprof has none for, and {service: (start, duration, values, threads) in ns}."""

    def __init__(self, text):
        # An index is one of the lines of this table.
        strings = [line[4:] for line in re.search(r"^String table:\n((?: {4}.*\n)+)", text, re.M)[1].splitlines()]
        self.names = {strings[int(i)] for i in re.findall(r"^Function #\d+\n    Name: (\d+)$", text, re.M)} - {"", "[no stack]"}
        self.services = {}
        for part in re.split(r"^ResourceProfiles #\d+\n", text, flags=re.M)[1:]:
            day, time, ns = re.search(r"^    Start time     : (\S+) ([0-9:]+)(\.\d+)? \+0000 UTC$", part, re.M).groups()
            start = calendar.timegm(datetime.datetime.fromisoformat(f"{day} {time}").timetuple()) * 10**9
            start += int((ns or ".")[1:].ljust(9, "0"))
            duration = int(re.search(r"^    DurationNano   : (\d+)$", part, re.M)[1])
            values = sorted(int(x) for x in re.findall(r"^ {8}Values: \[(\d+)\]$", part, re.M))
            threads = set(re.findall(r"-> thread.name: (.*)$", part, re.M))
            pids = set(re.findall(r"-> process.pid: .*?(\d+)\)?$", part, re.M))
            equal(len(re.findall(r"^Profile #", part, re.M)), 1, "profiles of a service in a window")
            self.services[re.search(r"-> service\.name: Str\((.*)\)", part)[1]] = (start, duration, values, threads, pids)


def written(path):
    """The same of a file that push wrote beside it: (start, duration, values, threads, PIDs), and its functions' names."""
    proto = os.path.join(harness.TOP, "tests", "readers", "push.proto")
    with gzip.open(path) as f:
        done = subprocess.run(["protoc", "-I", os.path.dirname(proto), "--decode=otlp.Pprof", proto], input=f.read(), capture_output=True, check=True)
    text = done.stdout.decode()
    strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
    samples = re.findall(r"^sample \{\n(.*?)^\}$", text, re.M | re.S)
    values = sorted(int(re.search(r"^  value: (\d+)$", s, re.M)[1]) for s in samples)
    labels = {(strings[int(k)], strings[int(v)]) for k, v in re.findall(r"^    key: (\d+)\n    str: (\d+)$", text, re.M)}
    numbers = {(strings[int(k)], v) for k, v in re.findall(r"^    key: (\d+)\n    num: (\d+)$", text, re.M)}
    start, duration = (int(re.search(rf"^{field}: (\d+)$", text, re.M)[1]) for field in ("time_nanos", "duration_nanos"))
    names = {strings[int(n)] for n in re.findall(r"^function \{\n(?:  id: \d+\n)?  name: (\d+)$", text, re.M)}
    return (start, duration, values, {v for k, v in labels if k == "thread"}, {v for k, v in numbers if k == "pid"}), names


def test_a_collector_prints_what_was_sent():
    """Each window: that of the files which were written beside it, to the nanosecond and the sample."""
    built("otelcol")
    needs("protoc")
    with directory() as where, directory() as files, Fixture("tree") as f, Fixture("timed", "20") as g:
        port, done = free_port(), []
        args = ("push", "--to", f"otlp+http://127.0.0.1:{port}", "--to", "dir:" + files, "--spool", where, "--every", "1s", "-F", 199,
                "-p", f"{f.pid},{g.pid}", "-d", "2500ms", "--label", "team=e2e")
        text = collected(where, port, lambda: done.append(run(*args).ok()))
        truth = {}
        for name in os.listdir(files):
            window, names = written(os.path.join(files, name))
            truth.setdefault(window[0], {})[name.split(".")[0]] = (window, names)
    kept, count = map(int, re.search(r"samples?: (\d+) in (\d+) windows?, 0 lost", done[0].err).groups())
    windows = [Printed(part) for part in re.split(r"\tinfo\tMapping #0\n", text)[1:]]
    equal((len(windows), len(truth)), (count, count), "windows")
    for w in windows:
        services = truth.pop(next(iter(w.services.values()))[0])
        equal(w.services, {service: window for service, (window, _) in services.items()}, "a window of the collector, and its files")
        equal(w.names, set().union(*(names for _, names in services.values())), "functions")
    equal(sum(sum(values) for w in windows for _, _, values, _, _ in w.services.values()), kept, "samples of all windows")
    equal(set().union(*(w.services for w in windows)), {"tree", "timed"}, "services")
    equal(set(re.findall(r"-> (?:team|host\.name): Str\((.*)\)", text)), {"e2e", os.uname().nodename}, "labels")
    check("process.executable.build_id.gnu" in text and "profile.frame.type" in text, "attributes:", text[:2000])


def test_the_proto_of_opentelemetry_reads_it():
    """What has no field there would be printed by its number."""
    needs("protoc")
    include = built("include")
    with directory() as spool, Fixture("tree") as f:
        run("push", "--to", "otlp+http://127.0.0.1:1", "--spool", spool, "-F", 199, "-p", f.pid, "-d", "1100ms")
        path = os.path.join(spool, os.listdir(spool)[0])
        with open(os.path.join(path, os.listdir(path)[0]), "rb") as request:
            body = gzip.decompress(request.read())
    done = subprocess.run(["protoc", "-I", include, "--decode", REQUEST, INCLUDED], input=body, capture_output=True, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    text = done.stdout.decode()
    check(not re.search(r"^\s*\d+[:{ ]", text, re.M), "fields without a name:", text)
    check('string_table: "main"' in text and "time_unix_nano" in text and "stack_index" in text, "what is missing:", text[:2000])
