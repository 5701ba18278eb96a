# SPDX-License-Identifier: MIT
"""
pprof's profiles: ours as its readers see them (go tool pprof, protoc, pprof-format of npm), and read back by us;
those of Go's runtime as we read them. What should come out is what the same profile is in folded stacks.
"""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess

from harness import EBPROF, Fixture, check, directory, equal, fixture_path, needs, node, node_module, run, Missing

PROFILES = ("full", "hostile", "one", "empty", "deep", "huge", "timeline", "waits", "types")
PROTO = "/usr/share/gocode/src/github.com/google/pprof/proto"


def text_of(*argv, code=0):
    r = subprocess.run(argv, capture_output=True, timeout=60, env={**os.environ, "TZ": "UTC", "HOME": "/nonexistent"})
    equal(r.returncode, code, f"status of {argv}; stderr: {r.stderr.decode()}")
    return r.stdout.decode(), r.stderr.decode()


def write(name, form, path, *options):
    text_of(fixture_path("profiles"), name, form, path, *options)
    return path


def unpack(path):
    with gzip.open(path) as f, open(path + ".raw", "wb") as out:
        shutil.copyfileobj(f, out)
    return path + ".raw"


def reread(path, form, out, *options, code=0):
    """Read and written again."""
    return text_of(EBPROF, "convert", path, "-f", form, "-o", out, *options, code=code)


def pprof(*args, silent=True):
    """go tool pprof, which says nothing of what it could not do."""
    out, err = text_of(needs("go"), "tool", "pprof", *args)
    if silent:
        equal(err, "", f"errors of go tool pprof {args}")
    return out


def folded(text):
    return {m[1]: int(m[2]) for m in re.finditer(r"^(.*) (\d+)$", text, re.M)}


def frame(name):
    """A name as folded stacks show it."""
    name = name.replace(";", ":")
    name = re.sub(r"^ +| +$", lambda m: "_" * len(m[0]), name)
    return re.sub(r" ([0-9.]+)$", r"_\1", name)


def fold(samples, value):
    """Folded stacks of [{stack: names from the leaf, labels, values}]."""
    out = collections.Counter()
    for s in samples:
        comm = s["labels"].get("thread") or "?"
        names = [frame(n) for n in reversed(s["stack"]) if n != "[no stack]"]
        if s["values"][value]:
            out[";".join([comm.replace(" ", "_").replace(";", ":")] + names)] += s["values"][value]
    return dict(out)


DECODE = """
const { Profile } = require(process.argv[1]);
const p = Profile.decode(require("zlib").gunzipSync(require("fs").readFileSync(process.argv[2])));
const text = (i) => p.stringTable.strings[Number(i)];
const by = (list) => new Map(list.map((x) => [String(x.id), x]));
const locations = by(p.location), functions = by(p.function);
const name = (l) => text(functions.get(String(l.functionId)).name);
console.log(JSON.stringify({
    samples: p.sample.map((s) => ({
        stack: s.locationId.flatMap((id) => locations.get(String(id)).line.map(name)),
        values: s.value.map(Number),
        labels: Object.fromEntries(s.label.map((l) => [text(l.key), text(l.str) || Number(l.num)])),
        keys: s.label.map((l) => text(l.key)),
    })),
    types: p.sampleType.map((t) => [text(t.type), text(t.unit)]),
    shown: text(p.defaultSampleType),
    mappings: p.mapping.map((m) => ({ id: Number(m.id), file: text(m.filename), build_id: text(m.buildId),
        start: String(m.memoryStart), limit: String(m.memoryLimit),
        has: [m.hasFunctions, m.hasFilenames, m.hasLineNumbers, m.hasInlineFrames] })),
    locations: p.location.map((l) => ({ id: Number(l.id), mapping: Number(l.mappingId), address: String(l.address) })),
    functions: p.function.map((f) => ({ id: Number(f.id), system: text(f.systemName) })),
    period: [text(p.periodType.type), text(p.periodType.unit), Number(p.period)],
    time: String(p.timeNanos), duration: Number(p.durationNanos), first: text(0), comments: p.comment.map(text),
}));
"""


def decode(path):
    library = node_module("pprof-format", "dist", "index.js")
    return json.loads(text_of(node(), "-e", DECODE, library, path)[0])


def test_what_did_not_happen_is_no_comment():
    """And a report of the file knows that nothing was lost all the same."""
    with directory() as d, Fixture("tree") as tree:
        path = f"{d}/tree.pb.gz"
        recorded = run("-p", tree.pid, "-d", "0.5", "-F", 499, "-o", path).ok().summary
        with gzip.open(path) as f:
            comments = re.findall(rb"ebprof: (\w+)=(\d*)", f.read())
        report = run("report", "--plain", path).ok().summary
    equal([k for k, n in comments if re.fullmatch(b"0+", n)], [], "counts of nothing")
    check((b"complete", str(recorded.complete).encode()) in comments, comments)
    equal((report.taken, report.complete, report.lost), (recorded.taken, recorded.complete, recorded.lost), "account")


def test_samples_as_npm_pprof_format_reads_them():
    with directory() as d:
        for name in PROFILES:
            p = decode(write(name, "pprof", f"{d}/{name}.pb.gz"))
            value = [t[0] for t in p["types"]].index(p["shown"])
            truth = folded(text_of(fixture_path("profiles"), name, "folded", "-")[0])
            equal(fold(p["samples"], value), truth, name)


def test_tables_as_the_format_wants_them():
    with directory() as d:
        for name in PROFILES:
            p = decode(write(name, "pprof", f"{d}/{name}.pb.gz"))
            equal(p["first"], "", f"{name}: first text")
            for table in ("mappings", "locations", "functions"):
                equal([x["id"] for x in p[table]], list(range(1, len(p[table]) + 1)), f"{name}: ids of {table}")
            check(all(all(m["has"]) for m in p["mappings"]), name, "mappings that are looked up again:", p["mappings"])
            equal({f["system"] for f in p["functions"]} - {""}, set(), f"{name}: system names")
            places = [(x["mapping"], x["address"]) for x in p["locations"]]
            equal(len(set(places)), len(places), f"{name}: addresses that are one")
            for x in p["locations"]:
                m = p["mappings"][x["mapping"] - 1]
                check(not x["mapping"] or int(m["start"]) <= int(x["address"]) < int(m["limit"]), name, x, "outside of", m)
            for s in p["samples"]:
                equal(len(set(s["keys"])), len(s["keys"]), f"{name}: labels with one key")
        full, types = decode(f"{d}/full.pb.gz"), decode(f"{d}/types.pb.gz")
    equal(full["types"], [["samples", "count"], ["cpu", "nanoseconds"]], "types")
    equal(full["shown"], "samples", "shown")
    equal(full["period"], ["cpu", "nanoseconds", 10000000], "period")
    equal((full["time"], full["duration"]), ("1700000000123456789", 2500000000), "time")
    equal(full["mappings"][0]["file"], "/usr/lib/demo", "the main program")
    check(any(m["file"] == "[kernel.kallsyms]" for m in full["mappings"]), "no kernel:", full["mappings"])
    worker = next(s for s in full["samples"] if s["labels"].get("tid") == 101)
    equal(worker["labels"], {"thread": "worker one", "tid": 101, "process": "demo", "pid": 100}, "labels")
    for line in ("command=ebprof -p 100 -d 2.5", "host=box, Linux 6.1.0 x86_64", "truncated=5 depth", "lost=3 ring buffer full"):
        check("ebprof: " + line in full["comments"], line, "is not in", full["comments"])
    equal([s["labels"].get("state") for s in types["samples"]].count("disk wait"), 2, "a label")
    equal(types["samples"][0]["labels"]["bytes"], 48, "a number")
    equal(types["shown"], "alloc_space", "another type is shown")


def test_protoc_reads_them():
    if not os.path.exists(f"{PROTO}/profile.proto"):
        raise Missing("golang-github-google-pprof-dev")
    protoc = needs("protoc")
    with directory() as d:
        for name in PROFILES:
            with open(unpack(write(name, "pprof", f"{d}/{name}.pb.gz")), "rb") as f:
                r = subprocess.run([protoc, "-I", PROTO, "--decode", "perftools.profiles.Profile", "profile.proto"],
                                   stdin=f, capture_output=True, check=True, timeout=30)
            equal(r.stderr, b"", f"{name}: complaints")
            samples = folded(text_of(fixture_path("profiles"), name, "folded", "-")[0])
            check(r.stdout.count(b"\nsample {") >= len(samples), name, "samples are missing")


def top(*args):
    """{function: (flat, cum)} of go tool pprof, and the total."""
    out = pprof("-top", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-unit=bytes", *args)
    rows = re.findall(r"^ *(-?\d+)\w* +[-\d.]+% +[-\d.]+% +(-?\d+)\w* +[-\d.]+%  (.*)$", out, re.M)
    total = re.search(r"of (\d+)\w* total", out)
    return {re.sub(r" \((partial-)?inline\)$", "", n): (int(a), int(b)) for a, b, n in rows}, int(total[1]) if total else 0


def sums(stacks):
    """The same of folded stacks."""
    flat, cum = collections.Counter(), collections.Counter()
    for stack, n in stacks.items():
        frames = stack.split(";")[1:] or ["[no stack]"]
        flat[frames[-1]] += n
        for f in set(frames):
            cum[f] += n
    return {f: (flat[f], cum[f]) for f in cum}


def test_top_of_go_tool_pprof():
    with directory() as d:
        for name in ("full", "one", "deep", "huge", "timeline", "types"):
            truth = folded(text_of(fixture_path("profiles"), name, "folded", "-")[0])
            rows, total = top(write(name, "pprof", f"{d}/{name}.pb.gz"))
            equal(rows, sums(truth), name)
            equal(total, sum(truth.values()), f"{name}: total")
        # Every sample was taken at 100 Hz.
        equal(top("-sample_index=cpu", "-unit=nanoseconds", f"{d}/full.pb.gz")[1], 1140000000, "CPU time")
        equal(top(write("hostile", "pprof", f"{d}/hostile.pb.gz"))[1], 434, "names of any kind")
        check("Total samples = 0" in pprof("-top", write("empty", "pprof", f"{d}/empty.pb.gz")), "an empty profile")
        full = pprof("-top", f"{d}/full.pb.gz")
        for line in ("File: demo", "Build ID: 00ff10a2c4", "Type: samples", "Duration: 2.50s"):
            check(line in full, f"no {line} in", full)
        traces = pprof("-traces", f"{d}/full.pb.gz")
        check(re.search(r"thread: +worker one\n +process: +demo\n +pid: +100\n +tid: +101\n +12 +work\n +clone\n", traces),
              "a thread's labels:", traces)
        check(re.search(r"25   hash \(inline\)\n +work\n +main\n +_start\n", traces), "an inlined frame:", traces)
        focused, _ = top("-tagfocus=thread=worker", f"{d}/full.pb.gz")
        equal(focused["work"], (12, 17), "one thread's work")


def test_difference_by_go_tool_pprof():
    with directory() as d:
        full, one = write("full", "pprof", f"{d}/full.pb.gz"), write("one", "pprof", f"{d}/one.pb.gz")
        rows, _ = top(f"-diff_base={one}", full)
        equal(rows["main"], (-1, 83), "one sample of main less")
        pprof("-proto", f"-output={d}/difference.pb.gz", f"-diff_base={one}", full, silent=False)
        _, err = reread(f"{d}/difference.pb.gz", "folded", "-", code=1)
        check("negative values, as of a difference, which cannot be shown" in err, err)


def test_ours_come_back_as_they_were():
    with directory() as d:
        for name in PROFILES:
            path = write(name, "pprof", f"{d}/{name}.pb.gz")
            for form, options in (("folded", ["--annotate"]), ("top", [])):
                equal(reread(path, form, "-", *options)[0],
                      text_of(fixture_path("profiles"), name, form, "-", *options)[0], f"{name} as {form}")
            reread(path, "pprof", f"{d}/again.pb.gz")
            with open(unpack(path), "rb") as a, open(unpack(f"{d}/again.pb.gz"), "rb") as b:
                equal(a.read() == b.read(), True, f"{name}: the bytes of what was read and written again")


def test_ours_come_back_from_another_tool():
    """It drops the fields that are ours alone, and all names, kinds, threads and processes are there still."""
    with directory() as d:
        for name in ("full", "one", "deep", "huge", "types"):
            path = write(name, "pprof", f"{d}/{name}.pb.gz")
            pprof("-proto", f"-output={d}/{name}.go.pb.gz", path, silent=False)
            for form, options in (("folded", ["--annotate"]), ("top", [])):
                ours = text_of(fixture_path("profiles"), name, form, "-", *options)[0]
                theirs = reread(f"{d}/{name}.go.pb.gz", form, "-", *options)[0]
                if form == "top":   # made-up modules: build ids of several are one, and so are they
                    ours, theirs = (re.sub(r"(?m)^( +[\d.]+ +[\d.]+ +\d+)  \S+ +", r"\1 ", t) for t in (ours, theirs))
                if name == "full" and form == "folded":
                    ours, theirs = (t.replace("_[j]", "") for t in (ours, theirs))
                equal(theirs, ours, f"{name} as {form}")


def raw(path):
    """What go tool pprof read: types, and samples as fold() takes them."""
    text = pprof("-raw", path)
    head, _, places = text.partition("\nLocations\n")
    types = re.search(r"^Samples:\n(.*)$", head, re.M)[1].split()
    names = {}
    for line in places.partition("\nMappings\n")[0].splitlines():
        m = re.match(r"^ +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*)$", line)
        if m:
            names[m[1]] = lines = []
        rest = m[2] if m else line.strip()
        lines.append(re.match(r"^(.*?) \S*:-?\d+ s=", rest)[1])
    samples = []
    for line in head.partition("\nSamples:\n")[2].splitlines()[1:]:
        m = re.match(r"^ +((?:\d+ *)+): ([\d ]*)$", line)
        if m:
            stack = [n for i in m[2].split() for n in names[i]]
            samples.append({"values": [int(v) for v in m[1].split()], "stack": stack, "labels": {}})
        else:
            samples[-1]["labels"].update(re.findall(r"(\w+):\[(.*?)\]", line))
    return types, samples


def test_profiles_of_go():
    needs("go")
    with directory() as d:
        text_of(fixture_path("go_profiles"), d)
        types, samples = raw(f"{d}/cpu.pb.gz")
        equal(types, ["samples/count", "cpu/nanoseconds"], "types of a CPU profile")
        for s in samples:
            s["labels"].setdefault("thread", "go_profiles")
        ours = folded(reread(f"{d}/cpu.pb.gz", "folded", "-")[0])
        equal(ours, fold(samples, 1), "a CPU profile")
        check(sum(n for stack, n in ours.items() if stack.startswith("pool_") and ";main.leafWork" in stack) >= 50000000,
              "the work is missing:", ours)
        # drop_frames is not heeded, so stacks have more frames than pprof shows; sums are the same.
        for path in ("cpu", "heap"):
            reread(f"{d}/{path}.pb.gz", "pprof", f"{d}/{path}.again.pb.gz")
            before, after = raw(f"{d}/{path}.pb.gz"), raw(f"{d}/{path}.again.pb.gz")
            equal([t.replace("[dflt]", "") for t in after[0]], before[0], f"{path}: types")
            for i, name in enumerate(before[0]):
                equal(sum(s["values"][i] for s in after[1]), sum(s["values"][i] for s in before[1]), f"{path}: sum of {name}")
        heap = folded(reread(f"{d}/heap.pb.gz", "folded", "-")[0])
        allocated = sum(n for stack, n in heap.items() if "main.allocate" in stack)
        check(4.5e6 < allocated < 6e6, "5.1 MB were allocated and kept:", allocated)
        equal(sum(heap.values()), sum(s["values"][3] for s in raw(f"{d}/heap.pb.gz")[1]), "inuse_space")


def test_recording():
    with directory() as d:
        path, truth = f"{d}/out.pb.gz", f"{d}/out.folded"
        r = run("-F", 999, "-o", path, "-o", truth, "-d", "1", "--", fixture_path("tree"), "--seconds", "0.7").ok()
        with open(truth) as f:
            stacks = folded(f.read())
        p = decode(path)
        equal(fold(p["samples"], 0), stacks, "the samples in both files")
        equal(sum(stacks.values()), r.summary.kept, "samples")
        check(p["mappings"][0]["file"].endswith("/tree"), "the main program:", p["mappings"][0])
        equal(top(path)[1], r.summary.kept, "samples that pprof sees")
        rows = top(path)[0]
        check(rows["main"][1] > 0.9 * r.summary.kept, "main:", rows)
        equal(folded(reread(path, "folded", "-")[0]), stacks, "read back")
        check(f"ebprof: kept={r.summary.kept}" in p["comments"], "the account:", p["comments"])
