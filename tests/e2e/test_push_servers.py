# SPDX-License-Identifier: MIT
"""Windows of a recording without end, sent to servers that refuse what the real ones refuse, and that fail."""
import base64
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

import harness
from harness import Fixture, Profile, check, directory, equal, finish, node, run, start, wait_burned, wait_for, wait_sampling

SECONDS = 30

EVERY = "400ms"
PATHS = {"otlp": "/v1development/profiles", "pyroscope": "/push.v1.PusherService/Push",
         "parca": "/api/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"}
SENT = re.compile(r"ebprof: (\S+): (\d+) requests? of (\d+) bytes \((\d+) samples\) sent\n"
                  r"ebprof: \1: (\d+) refused \((\d+) samples\), (\d+) dropped \((\d+) samples\), (\d+) wait \((\d+) samples\)\n")
TAKEN = re.compile(r"ebprof: (\d+) samples?: (\d+) in (\d+) windows?, (\d+) lost\n")


class Receiver:
    """tests/readers/receiver.cjs; .said is what its requests were."""

    def __init__(self, behaviours="ok", port=0, tls=()):
        script = os.path.join(harness.TOP, "tests", "readers", "receiver.cjs")
        self.proc = subprocess.Popen([node(), script, behaviours, str(port), *tls], stdout=subprocess.PIPE, text=True,
                                     env={**os.environ, "NODE_MODULES": harness.NODE_MODULES})
        self.port = json.loads(self.proc.stdout.readline())["port"]
        self.said = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.proc.stdout:
            self.said.append(json.loads(line))

    def url(self, kind, scheme="http", host="127.0.0.1"):
        return f"{kind}+{scheme}://{host}:{self.port}"

    def series(self, how="ok"):
        """What it took, and refused nothing of."""
        for said in self.said:
            check("refused" not in said, "refused:", said)
        return [s for said in self.said if said["how"] == how for s in said["series"]]

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.reader.join()
        self.proc.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Sent:
    """The account of each server, and of the recording."""

    def __init__(self, result):
        m = TAKEN.search(result.err)
        check(m, "no account:", result.err)
        self.taken, self.kept, self.windows, self.lost = map(int, m.groups())
        self.servers = {}
        for m in SENT.finditer(result.err):
            keys = ("requests", "bytes", "samples", "refused", "refused_samples", "dropped", "dropped_samples", "wait", "wait_samples")
            self.servers[m[1]] = dict(zip(keys, map(int, m.groups()[1:])))

    def one(self):
        equal(len(self.servers), 1, "servers")
        return next(iter(self.servers.values()))


def push(*args, every=EVERY, **kw):
    return run("push", "--every", every, "-F", 199, *args, **kw)


def with_spool(test):
    def inner():
        with directory() as spool:
            test(spool)
    return inner


def add_up(series):
    """(samples, {stack: samples}) of all windows."""
    stacks = {}
    for s in series:
        for stack, n in s["stacks"].items():
            stacks[stack] = stacks.get(stack, 0) + n
    return sum(s["total"] for s in series), stacks


@with_spool
def test_all_protocols_at_once(spool):
    """Each has all windows, which touch, with what is in the files beside them."""
    with Fixture("tree") as f, Receiver() as server, directory() as files:
        r = push("--to", "dir:" + files, *sum((["--to", server.url(k)] for k in PATHS), []), "--spool", spool, "-p", f.pid, "-d", "2500ms",
                 # By its end a window's names have been found.
                 "--label", "team=e2e", "--label-from", "e2e.zone=E2E_ZONE", env={"E2E_ZONE": "z1"}, every="1s").ok()
        sent = Sent(r)
        equal((sent.taken, sent.lost), (sent.kept, 0), r.err)
        written = [Profile.read(run("report", "-f", "folded", os.path.join(files, n)).ok().out) for n in os.listdir(files)]
        for kind in PATHS:
            account = sent.servers[server.url(kind)]
            requests = [s for s in server.said if s["path"] == PATHS[kind]]
            equal((account["requests"], account["samples"]), (len(requests), sent.kept), "requests of " + kind)
            equal(account["bytes"], sum(s["bytes"] for s in requests), "their bytes")
            series = [s for said in requests for s in said.get("series", [])]
            total, stacks = add_up(series)
            equal(total, sent.kept, f"samples that {kind} got: {server.said}")
            check(sum(n for stack, n in stacks.items() if ";main;" in ";" + stack + ";") > 0.95 * total, "whole stacks:", stacks)
            equal(sum(p.count(lambda s: s.frames[-1] == "a2") for p in written),
                  sum(n for stack, n in stacks.items() if stack.endswith(";a2")), "a leaf's samples")
            windows = sorted((int(s["start"]), int(s["duration"])) for s in series)
            for (begin, duration), (then, _) in zip(windows, windows[1:]):
                equal(begin + duration, then, "the end of a window, and the next one's beginning")
            for s in series:
                equal(s["period"], ["cpu", "nanoseconds", 10**9 // 199], "period")
                equal(s["type"], "samples/count", "type")
    host = os.uname().nodename
    by_path = {s["path"]: {k: v for k, v in s["series"][0]["labels"].items() if k != "cgroup"} for s in server.said}
    own = {"team": "e2e", "e2e_zone": "z1"}
    equal(by_path[PATHS["otlp"]], {"service.name": "tree", "host.name": host, "team": "e2e", "e2e.zone": "z1"}, "attributes")
    equal(by_path[PATHS["pyroscope"]], {"__name__": "process_cpu", "service_name": "tree", "host_name": host, **own}, "labels")
    equal(by_path[PATHS["parca"]], {"__name__": "process_cpu", "service_name": "tree", "node": host, **own}, "labels")
    raw = next(s for s in server.said if s["path"] == PATHS["pyroscope"])["series"][0]["raw"]
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as payload:
        payload.write(base64.b64decode(raw))
        payload.flush()
        done = subprocess.run(["go", "tool", "pprof", "-raw", payload.name], capture_output=True, text=True, check=False)
        equal(done.returncode, 0, "go tool pprof: " + done.stderr)


@with_spool
def test_bytes_of_a_window(spool):
    """Of all services together no more than the same profiles compressed by themselves."""
    with Fixture("tree") as f, Fixture("timed", "20") as g, Fixture("paths") as h, Receiver() as server, directory() as files:
        r = run("push", "--to", "dir:" + files, *sum((["--to", server.url(k)] for k in PATHS), []), "--spool", spool, "--every", "1m", "-F", 499,
                "-p", f"{f.pid},{g.pid},{h.pid}", "-d", "600ms").ok()
        sizes = [os.path.getsize(os.path.join(files, name)) for name in os.listdir(files)]
        sent = {k: Sent(r).servers[server.url(k)]["bytes"] for k in PATHS}
    equal(len(sizes), 3, "services")
    check(max(sent.values()) <= sum(sizes), "bytes:", sent, sizes)


@with_spool
def test_an_older_pyroscope(spool):
    """One that has no push API gets each profile by itself, and so does whoever says so; none twice, whatever it answers."""
    with Fixture("tree") as f, Fixture("timed", "20") as g, Receiver("old") as server, directory() as files:
        r = push("--to", server.url("pyroscope"), "--to", "dir:" + files, "--spool", spool, "-p", f"{f.pid},{g.pid}", "-d", "1s",
                 "--label", "team=a,b {c}").ok()
        sent, account = Sent(r), Sent(r).one()
        equal((account["samples"], account["wait"], account["refused"]), (sent.kept, 0, 0), r.err)
        equal([s["path"] for s in server.said][:2], [PATHS["pyroscope"], "/ingest"], "paths")
        check(all("refused" not in s for s in server.said[1:]), "refused:", [s for s in server.said if "refused" in s])
        series = [s for said in server.said[1:] for s in said["series"]]
        equal((len(series), add_up(series)[0]), (len(os.listdir(files)), sent.kept), "profiles, and their samples")
        equal({s["labels"]["name"] for s in series}, {"tree", "timed"}, "services")
        for s in series:
            del s["labels"]["name"]
            s["labels"].pop("cgroup", None)
            equal((s["labels"], s["rate"]), ({"host_name": os.uname().nodename, "team": "a_b _c_"}, 199), "labels and rate")
        equal(r.err.count("each profile goes to"), 1, r.err)
    with Fixture("tree") as f, Fixture("timed", "20") as g, Receiver("ok,503,ok,400,ok") as server:
        proc = start("push", "--every", EVERY, "-F", 199, "--to", server.url("pyroscope") + "/ingest", "--spool", spool, "-p", f"{f.pid},{g.pid}")
        wait_for(lambda: len(server.said) >= 8, "requests", 40)
        proc.send_signal(signal.SIGTERM)
        r = finish(proc)
    equal({s["path"] for s in server.said}, {"/ingest"}, "paths")
    sent, account = Sent(r), Sent(r).one()
    equal((account["samples"] + account["refused_samples"], account["refused"], account["wait"]), (sent.kept, 1, 0), r.err)
    taken = [s for s in server.said if s["how"] == "ok"]
    equal(len({(s["series"][0]["start"], s["series"][0]["labels"]["name"]) for s in taken}), len(taken), "profiles, each once")
    lost = sum(s["series"][0]["total"] for s in server.said if s["how"] == "400")
    equal(add_up(server.series())[0] + lost, sent.kept, "samples that it got or refused")


@with_spool
def test_a_server_that_fails_in_many_ways(spool):
    """What it does not take now it gets later, once; what it will never take is counted."""
    how = "503,close,half,429/1,redirect,400,reject,ok"
    with Fixture("tree") as f, Receiver(how) as server:
        proc = start("push", "--every", EVERY, "-F", 199, "--to", server.url("otlp"), "--spool", spool, "-p", f.pid)
        wait_for(lambda: sum(s["how"] == "ok" for s in server.said) >= 2, "requests that are taken", 40)
        proc.send_signal(signal.SIGTERM)
        r = finish(proc)
    equal(r.code, 1, r.err)
    sent, account = Sent(r), Sent(r).one()
    equal([s["how"] for s in server.said][:8], how.split(","), "requests")
    equal((account["refused"], account["dropped"], account["wait"]), (2, 0, 0), r.err)
    equal(account["samples"] + account["refused_samples"], sent.kept, r.err)
    equal(add_up(server.series())[0], account["samples"], "samples that it took")
    equal((r.err.count("what is not sent waits in"), r.err.count("takes profiles again")), (1, 1), r.err)
    check("status 400" in r.err and "profiles refused: not these" in r.err, "why:", r.err)
    equal(os.listdir(os.path.join(spool, os.listdir(spool)[0])), [], "what waits")


@with_spool
def test_a_server_that_hangs_blocks_nothing(spool):
    """A request is given up in time; the next run sends what waited, with the same windows and not one twice."""
    with Fixture("tree") as f:
        with Receiver("hang") as server, directory() as files:
            r = push("--to", server.url("pyroscope"), "--to", files, "--send-timeout", "300ms", "--spool", spool, "-p", f.pid, "-d", "1s")
            equal(r.code, 1, r.err)
            first, port = Sent(r), server.port
            equal((first.taken, first.lost), (first.kept, 0), r.err)
            equal(len(os.listdir(files)), first.windows, "files beside it")
        equal((first.one()["wait"], first.one()["wait_samples"]), (first.windows, first.kept), r.err)
        with Receiver("ok", port) as server:
            again = Sent(push("--to", server.url("pyroscope"), "--spool", spool, "-p", f.pid, "-d", "600ms").ok())
            equal(again.one()["samples"], first.kept + again.kept, "samples of both runs")
            series = server.series()
    equal(sum(s["total"] for s in series), first.kept + again.kept, "samples that it got")
    starts = [int(s["start"]) for s in series]
    equal(len(starts), len(set(starts)), "windows, and different ones")
    check(max(starts[:first.windows]) < min(starts[first.windows:]), "not the oldest first:", starts)


def restarted(times, spool, pid):
    """push is ended so many times, each other time while the server is away: (samples that were kept, series that came)."""
    kept, got, port = 0, [], 0
    for i in range(times + 1):
        with Receiver("503" if i % 2 else "ok", port) as server:
            port = server.port
            proc = start("push", "--every", "200ms", "-F", 199, "--to", server.url("otlp"), "--spool", spool, "-p", pid)
            wait_sampling(proc)
            wait_burned(pid, 0.1)
            proc.send_signal(signal.SIGTERM)
            sent = Sent(finish(proc))
            equal((sent.taken, sent.one()["dropped"], sent.one()["refused"]), (sent.kept + sent.lost, 0, 0), "samples")
            kept += sent.kept
        # Closed, its reader has all of its lines.
        got += server.series()
    equal(sent.one()["wait"], 0, "what waits at the end")
    starts = [s["start"] for s in got]
    equal(len(starts), len(set(starts)), "windows, and different ones")
    return kept, got


@with_spool
def test_restarts_lose_nothing(spool):
    with Fixture("tree") as f:
        kept, got = restarted(4, spool, f.pid)
    equal(add_up(got)[0], kept, "samples that came")


@with_spool
def test_what_waits_too_long_is_dropped(spool):
    with Fixture("tree") as f, Receiver("503") as server:
        r = push("--to", server.url("otlp"), "--spool", spool, "--spool-for", "800ms", "-p", f.pid, "-d", "1800ms")
    equal(r.code, 1, r.err)
    sent, account = Sent(r), Sent(r).one()
    check(account["dropped"] >= 1 and account["wait"] >= 1, "dropped, and waiting:", r.err)
    equal(account["dropped_samples"] + account["wait_samples"], sent.kept, r.err)
    path = os.path.join(spool, os.listdir(spool)[0])
    equal(len(os.listdir(path)), account["wait"], "files that wait")
    equal(os.stat(path).st_mode & 0o777, 0o700, "who may read them")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def certificate(where, name, subject):
    key, cert = (os.path.join(where, f"{name}.{end}") for end in ("key", "crt"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=" + subject, "-addext", "subjectAltName=" + subject, "-keyout", key, "-out", cert],
                   capture_output=True, check=True)
    return cert, key


@with_spool
def test_certificates_and_secrets(spool):
    """A certificate of somebody else gets nothing, above all no token; who is trusted gets it, and no process list has it."""
    with directory() as where, Fixture("tree") as f:
        cert, key = certificate(where, "good", "IP:127.0.0.1")
        token = os.path.join(where, "token")
        with open(token, "w", encoding="ascii") as out:
            out.write("s3cret-token\n")
        with Receiver("ok", 0, (cert, key)) as server:
            url = server.url("otlp", "https")
            args = ["--to", url, "--spool", spool, "--token-file", token, "-p", f.pid, "-d", "500ms"]
            r = push(*args)
            equal((r.code, server.said), (1, []), r.err)
            check("certificate" in r.err, "why:", r.err)
            proc = start("push", "--every", EVERY, "-F", 199, *args, "--ca-file", cert, "--header", "X-Scope-OrgID: team")
            wait_sampling(proc)
            told = [read(f"/proc/{proc.pid}/{name}") for name in ("cmdline", "environ")]
            r = finish(proc).ok()
            check(server.series(), "nothing came")
            for said in server.said:
                equal((said["headers"].get("authorization"), said["headers"].get("x-scope-orgid")), ("Bearer s3cret-token", "team"), "headers")
                equal(said["version"], "2.0", "HTTP over TLS")
            check(not any(b"s3cret" in text for text in told) and "s3cret" not in r.err, "the token is seen")


@with_spool
def test_a_server_that_takes_its_time(spool):
    """Longer for an answer than a window lasts: the windows are as long as ever, and all get there."""
    with Fixture("tree") as f, Receiver("drip") as server:
        r = push("--to", server.url("otlp"), "--spool", spool, "-p", f.pid, "-d", "1200ms").ok()
    sent = Sent(r)
    equal((sent.windows, sent.one()["samples"], sent.one()["wait"]), (3, sent.kept, 0), r.err)
    equal(add_up(server.series("drip"))[0], sent.kept, "samples that it took")


@with_spool
def test_statuses_of_grpc(spool):
    """14, the server is not there: later again. 3, the request is wrong: never."""
    with Fixture("tree") as f, Receiver("grpc/14,grpc/3,ok") as server:
        proc = start("push", "--every", EVERY, "-F", 199, "--to", server.url("parca"), "--spool", spool, "-p", f.pid)
        wait_for(lambda: sum(s["how"] == "ok" for s in server.said) >= 2, "requests that are taken", 40)
        proc.send_signal(signal.SIGTERM)
        r = finish(proc)
    sent, account = Sent(r), Sent(r).one()
    equal((r.code, account["refused"], account["dropped"], account["wait"]), (1, 1, 0, 0), r.err)
    equal(account["samples"] + account["refused_samples"], sent.kept, r.err)
    equal(add_up(server.series())[0], account["samples"], "samples that it took")


@with_spool
def test_the_token_of_the_environment(spool):
    with Fixture("tree") as f, Receiver() as server:
        push("--to", server.url("parca"), "--spool", spool, "-p", f.pid, "-d", "500ms", env={"EBPROF_PUSH_TOKEN": "Basic dTpw"}).ok()
        equal({s["headers"].get("authorization") for s in server.said}, {"Basic dTpw"}, "headers")


PROTO = os.path.join(harness.TOP, "tests", "readers", "push.proto")


def protoc(how, data, proto=PROTO):
    done = subprocess.run(["protoc", "-I", os.path.dirname(proto), f"--{how}=otlp.ExportProfilesServiceRequest", proto], input=data, capture_output=True, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    return done.stdout


def status(server, body, kind="otlp"):
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{PATHS[kind]}", body, {"Content-Type": "application/x-protobuf"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code


@with_spool
def test_the_server_refuses_what_is_wrong(spool):
    """Each mistake that readers are known to stumble over: so what the other tests take is free of them."""
    with Fixture("tree") as f:
        push("--to", "otlp+http://127.0.0.1:1", "--spool", spool, "-p", f.pid, "-d", "500ms")
    path = os.path.join(spool, os.listdir(spool)[0])
    with open(os.path.join(path, os.listdir(path)[0]), "rb") as request:
        good = gzip.decompress(request.read())
    text = protoc("decode", good).decode()
    wrong = {
        "a period of 0": re.sub(r"period: \d+", "period: 0", text),
        "no type of the period": re.sub(r"period_type \{[^}]*\}", "", text),
        "no service": text.replace('"service.name"', '"service"'),
        "no dictionary": text[:text.index("\ndictionary {") + 1],
        "an index out of bounds": re.sub(r"stack_index: \d+", "stack_index: 9999", text),
        "two values": re.sub(r"values: (\d+)", r"values: \1 values: 2", text),
        "no zero value": text.replace('string_table: ""\n', "", 1),
        "no time": re.sub(r"time_unix_nano: \d+", "", text),
    }
    with tempfile.NamedTemporaryFile("w", suffix=".proto") as old, Receiver() as server:
        with open(PROTO, encoding="utf-8") as f:
            # As versions before 1.10 numbered a sample's fields.
            old.write(f.read().replace("values = 4;", "values = 2;").replace("attribute_indices = 2;\n  int32 link_index = 3;", "attribute_indices = 3;\n  int32 link_index = 4;"))
        old.flush()
        equal(status(server, good), 200, "what is sent")
        equal(status(server, protoc("encode", text.encode())), 200, "the same, written by protoc")
        equal(status(server, protoc("encode", text.encode(), old.name)), 400, "version 1.9")
        for what, changed in wrong.items():
            check(changed != text, "nothing was changed for " + what)
            equal(status(server, protoc("encode", changed.encode())), 400, what)


@with_spool
def test_usage(spool):
    for to, why in (("otlp+ftp://h", "otlp\\+http://"), ("http://h:1", "otlp\\+http"), ("otlp+http://u:p@h", "--token-file"), ("otlp+http://h/?a=1", "without \\?")):
        run("push", "--to", to).fails(2, why)
    run("push", "--to", "otlp+http://127.0.0.1:1", "--header", "Authorization: x").fails(2, "--token-file")
    run("push", "--to", "dir:/tmp", "--token-file", "/etc/hostname").fails(2, "one server")
    run("push", "--to", "otlp+http://127.0.0.1:1", "--token-file", "/nonexistent", "--spool", spool).fails(1, "--token-file")
