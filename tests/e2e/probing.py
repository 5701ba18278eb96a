# SPDX-License-Identifier: MIT
"""Programs under probes, and what they counted themselves."""
import contextlib
import os
import re
import subprocess

from harness import check, directory, equal, needs, run, wait_for


def wait_probing(proc):
    """Until its probes are set, by links or as perf events, or will be for slices, and it waits for what they bring."""
    def there():
        check(proc.poll() is None, "ebprof ended too early:", proc.poll())
        text = ""
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{proc.pid}/fdinfo"):
                with contextlib.suppress(OSError), open(f"/proc/{proc.pid}/fdinfo/{fd}", encoding="ascii") as f:
                    text += f.read()
        with open(f"/proc/{proc.pid}/wchan", encoding="ascii") as f:
            return re.search(r"link_type:\s*(uprobe_multi|perf|iter)", text) and "poll" in f.read()
    wait_for(there, "ebprof to probe")


def probed(*options, program, fmt="folded", **kw):
    """A program under ebprof: the result, with the folded text as its output, and what the program counted."""
    with directory() as d:
        out = os.path.join(d, "out." + fmt)
        r = run(*options, "-o", out, "--", *program, **kw).ok()
        r.told = r.out
        truth = {w[1]: int(w[2]) for w in map(str.split, r.out.splitlines()) if w[0] == "count"}
        with open(out, "rb") as f:
            r.raw = f.read()
        r.out = r.raw.decode() if fmt == "folded" else None
    return r, truth


def pprof_types(raw):
    """{sample type: total} of a pprof file, by Go's pprof."""
    with directory() as d:
        path = os.path.join(d, "p.pb.gz")
        with open(path, "wb") as f:
            f.write(raw)
        text = subprocess.run([needs("go"), "tool", "pprof", "-raw", path], check=True, capture_output=True, timeout=60).stdout.decode()
    names = re.search(r"^Samples:\n(.*)$", text, re.M)[1].split()
    sums = [0] * len(names)
    for line in re.findall(r"^ +([\d ]+): ", text.partition("Samples:")[2].partition("Locations")[0], re.M):
        for i, n in enumerate(line.split()[:len(names)]):
            sums[i] += int(n)
    return dict(zip((n.rpartition("/")[0] for n in names), sums))


def whole(r):
    equal(r.summary.lost, 0, f"lost: {r.err}")
    equal(r.summary.truncated, 0, f"truncated: {r.err}")


def exact(r, truth, callers, leaf):
    """Each caller called @leaf as often as it counted, and each stack is whole."""
    whole(r)
    for name in callers:
        equal(r.profile.count(lambda s, name=name: s.has(name, leaf)), truth[name], name)
    equal(r.profile.count(), sum(truth[name] for name in callers), "in all")
    for s in r.profile:
        check(s.any("^main$") or s.any("clone"), "no root:", s)


def in_buckets(histogram, told, function):
    """
    The calls of each bucket of a histogram in JSON against what the program measured inside of each call and outside of
    it, between which lies the time that ebprof takes: fewer than by the outer times are below no edge of a bucket, and
    more than by the inner ones neither. Gives the inner times.
    """
    spans = [(int(w[2]), int(w[3])) for w in map(str.split, told.splitlines()) if w[:2] == ["took", function]]
    equal(sum(b["calls"] for b in histogram), len(spans), "calls")
    begins = [b["from_ns"] for b in histogram]
    for edge in begins + [n + (1 << n.bit_length() - 3) for n in begins]:
        below = sum(b["calls"] for b in histogram if b["from_ns"] < edge)
        least, most = (sum(s[i] < edge for s in spans) for i in (1, 0))
        check(least <= below <= most, f"{below} calls of {function} took less than {edge} ns, not {least} to {most}:", histogram)
    return [inside for inside, _ in spans]
