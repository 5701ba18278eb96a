# SPDX-License-Identifier: MIT
"""The summary and the table for scripts."""
import json
import os
import re
import subprocess

from harness import check, directory, equal, fixture_path, needs, run
from readers import hand_made


def read(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    return rows[0], [r for r in rows if r["type"] == "function"], [r for r in rows if r["type"] == "process"]


def table(path):
    """(self %, total %, samples, image, function) and (pid, comm, samples) of the table, as text."""
    with open(path) as f:
        functions, _, processes = f.read().partition("\n\n")
    return ([re.match(r" *(\S+) +(\S+) +(\d+)  (.*)", line).groups() for line in functions.splitlines()[1:]],
            [re.match(r" *(\d+)  (.*?) +(\d+) +\S+$", line).groups() for line in processes.splitlines()[1:]])


def same_as_table(json_path, table_path):
    summary, functions, processes = read(json_path)
    rows, process_rows = table(table_path)
    equal(len(functions), len(rows), "functions")
    for f, (own, total, samples, rest) in zip(functions, rows):
        equal((f"{100 * f['self'] / summary['total']:.2f}", f"{100 * f['total'] / summary['total']:.2f}", str(f["self"])),
              (own, total, samples), f"values of {f['name']}")
        # Columns are as wide as on a terminal, so the image's end is known by its text alone.
        image = f["module"] or "-"
        check(rest.startswith(image) and rest[len(image):].strip(" ") == f["name"].strip(" "), "names:", f, rest)
    equal([(str(p["pid"]), p["comm"].strip(), str(p["total"])) for p in processes],
          [(pid, comm.strip(), n) for pid, comm, n in process_rows], "processes")
    equal(sum(f["self"] for f in functions), summary["total"], "self of all functions")
    equal(sum(p["total"] for p in processes), summary["total"], "all processes")
    return summary


def test_hand_made_profiles():
    with directory() as d:
        for name in ("full", "hostile", "deep", "huge", "one", "timeline"):
            same_as_table(hand_made(d, name, "json", ".ndjson"), hand_made(d, name, "top", ".txt"))
        # Here values are bytes, which the table shows in KiB.
        _, functions, _ = read(hand_made(d, "types", "json", ".ndjson"))
        equal([(f["name"], f["self"]) for f in functions], [("malloc", 4240), ("main", 0), ("work", 0)], "bytes")
        summary, functions, processes = read(hand_made(d, "empty", "json", ".ndjson"))
        equal((summary["total"], functions, processes), (0, [], []), "empty")
        summary, functions, _ = read(hand_made(d, "full", "json", ".ndjson"))
        expected = {"type": "summary", "event": "cpu-clock", "frequency": 100, "period": None, "duration": 2.5, "cpus": 4,
                    "host": "box, Linux 6.1.0 x86_64", "title": None, "taken": 117, "kept": 114, "truncated": 5,
                    "truncated_by": {"depth": 5}, "lost": 3, "lost_by": {"ring buffer full": 3}, "shown": "samples", "total": 114}
        equal({k: summary[k] for k in expected}, expected, "summary")
        equal(summary["types"], [{"name": "samples", "unit": "count", "total": 114},
                                 {"name": "cpu", "unit": "nanoseconds", "total": 1140000000}], "types")
        equal({f["kind"] for f in functions}, {"user", "kernel", "mark"}, "kinds")
        summary = read(hand_made(d, "types", "json", ".ndjson"))[0]
        equal((summary["shown"], summary["total"]), ("alloc_space", 4240), "the shown type")


def test_recording():
    needs("jq")
    with directory() as d:
        path, text = os.path.join(d, "tree.ndjson"), os.path.join(d, "tree.txt")
        r = run("-F", "499", "-o", path, "-o", text, "--", fixture_path("tree"), "--seconds", "1").ok()
        summary, expected = same_as_table(path, text), r.summary
        equal((summary["event"], summary["frequency"], round(summary["duration"], 1)), (expected.event, 499, expected.duration))
        equal((summary["taken"], summary["kept"], summary["truncated"], summary["lost"]),
              (expected.taken, expected.kept, expected.truncated, expected.lost), "counters")
        equal({k: n for k, n in summary["truncated_by"].items() if n}, expected.truncated_by, "reasons")
        rows = summary["summary"]
        equal((rows["taken"], rows["complete"], rows["lost"]),
              (expected.taken, expected.kept - expected.truncated, expected.lost), "rows of the summary")
        check(f"{rows['complete_percent']:.2f}% of the stacks complete" in r.err, rows, r.err)
        # As the manual page's example has it.
        query = 'select(.type == "function" and .module == "tree") | .name'
        names = subprocess.run(["jq", "-r", query, path], capture_output=True, text=True, check=True).stdout.split()
        check({"a2", "b2", "c2", "run", "main"} <= set(names), "functions:", names)
