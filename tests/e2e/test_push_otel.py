# SPDX-License-Identifier: MIT
"""What push sends, as an OpenTelemetry Collector prints it, and as opentelemetry-proto's own files read it."""
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
    path = os.path.join(OTEL, name)
    if not os.path.exists(path):
        skip(f"no {name} of OpenTelemetry; make deps-otel gets it")
    return path


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


def test_a_collector_prints_what_was_sent():
    built("otelcol")
    with directory() as where, Fixture("tree") as f:
        port, done = free_port(), []
        args = ("push", "--to", f"otlp+http://127.0.0.1:{port}", "--spool", where, "--every", "1s", "-F", 199, "-p", f.pid, "-d", "2500ms")
        text = collected(where, port, lambda: done.append(run(*args).ok()))
    kept, windows = map(int, re.search(r"samples?: (\d+) in (\d+) windows?, 0 lost", done[0].err).groups())
    equal(len(re.findall(r"^Profile #0$", text, re.M)), windows, "profiles")
    equal(sum(map(int, re.findall(r"^ +Values: \[(\d+)\]$", text, re.M))), kept, "values")
    equal(set(re.findall(r"-> service\.name: Str\((.*)\)", text)), {"tree"}, "services")
    check("-> host.name: Str(" in text and "process.executable.build_id.gnu" in text and "profile.frame.type" in text, "attributes:", text[:2000])
    for name in ("main", "a2", "b2", "c2"):
        check(re.search(rf"^\s+{name}$|\b{name}\b", text, re.M), "no function " + name)


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
