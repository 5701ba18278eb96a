# SPDX-License-Identifier: MIT
"""Source and instructions in the flame graph page (--source): those of hot functions, only when asked for, and only as text."""
import json
import os
import re
import shutil
import subprocess

from browser import command, run as script, wait_until
from harness import TOP, check, directory, equal, fixture_path, needs, run

SECONDS = 12

READY = "ebprof.ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true)))))"
DATA = re.compile(r'<script type="application/json" id="source-data">(.*?)</script>')
SOURCE, CODE, NOTE, GAP, LINE, CHAIN, ORIGIN, INSTRUCTION = range(8)


def data(path):
    with open(path, encoding="utf-8") as f:
        found = DATA.search(f.read())
    return found and json.loads(found[1])


def recorded(d, program):
    path = os.path.join(d, "x.pb.gz")
    run("-q", "-F", 999, "-d", "1", "-o", path, "--", program).ok()
    return path


def page(d, path, *options):
    out = os.path.join(d, "x.html")
    run("convert", "-q", "--source", *options, path, "-o", out).ok()
    return out


def open_panel(path, name):
    """By a key on the box of that name; its rows as (classes, text)."""
    command("open", file=path, wait=READY)
    box = max((b for b in script("ebprof.boxes") if b["name"] == name), key=lambda b: b["width"])
    command("move", x=box["x"] + box["width"] / 2, y=box["y"] + box["height"] / 2)
    command("press", key="e")
    wait_until("document.getElementById('source').open")
    rows = script("[...document.getElementById('source-rows').children].map((e) => [e.className, e.textContent])")
    equal(command("problems"), [], "problems in the page")
    return rows


def test_panel():
    """The numbers are those of `ebprof annotate`; a click on a jump marks where it leads."""
    with directory() as d:
        path = recorded(d, fixture_path("inlined_spin"))
        html = page(d, path)
        text = run("annotate", "inlined_step", path).ok().out
        rows = open_panel(html, "inlined_step")
        with open(os.path.join(TOP, "tests", "fixtures", "inlined_spin.c"), encoding="ascii") as f:
            source = f.read().splitlines()
        own, total = re.search(r"^ +([\d.]+) +([\d.]+) +7  ", text, re.M).groups()
        line = next(t for c, t in rows if c.split()[:2] == ["line", "hot"])
        equal(line, f"{own} %{total} %7{source[6].expandtabs()}", "the hot line")
        chain = next(t for c, t in rows if c == "chain")
        check(chain.endswith("inlined_spin.c:7 [inlined_step] < inlined_spin.c:13 [inlined_work] < inlined_spin.c:28 [spin]"), chain)
        check(any(c.startswith("head") and t.endswith("inlined_spin.c") for c, t in rows), "where it is from", rows[0])
        check(any(c.startswith("note") and ("clock" in t or "skid" in t) for c, t in rows), "which addresses samples have", rows)
        command("press", key="Escape")
        rows = open_panel(html, "inlined_work")
        at = next(i for i, (c, _) in enumerate(rows) if "jump" in c)
        script(f"document.getElementById('source-rows').children[{at}].click()")
        marked = script("document.querySelector('#source-rows .to').textContent")
        target = re.search(r"0x([0-9a-f]+)", rows[at][1])[1]
        check(target in marked, rows[at], marked)
        command("press", key="Escape")
        wait_until("!document.getElementById('source').open")
        command("press", key="3")
        script("[...document.querySelectorAll('#caption button')].find((b) => b.textContent === 'Source and instructions').click()")
        wait_until("document.getElementById('source').open")


def test_only_where_asked_for():
    with directory() as d:
        path, out = recorded(d, fixture_path("inlined_spin")), os.path.join(d, "y.html")
        run("convert", "-q", path, "-o", out).ok()
        check(data(out) is None, "without --source")
        command("open", file=out, wait=READY)
        box = max((b for b in script("ebprof.boxes") if b["name"] == "inlined_work"), key=lambda b: b["width"])
        command("move", x=box["x"] + box["width"] / 2, y=box["y"] + box["height"] / 2)
        command("press", key="e")
        check(not script("document.getElementById('source').open"), "a panel of nothing")
        for argv in (("report", "--source"), ("convert", "--source", "-f", "folded"), ("convert", "--source", "-o", out + ".svg")):
            run(*argv, path).fails(2, "--source goes with a flame graph page")
        run("-d", "1", "--source", "--", "true").fails(2, "--source goes with a flame graph page")
        run("report", "-q", "--source", "-o", out, path).ok()
        check(data(out), "report")
        run("-q", "-F", 999, "-d", "1", "--source", "-o", out, "--", fixture_path("inlined_spin")).ok()
        check(data(out), "record, under its filter of system calls")
        equal(run("report", "--stdio", "-q", out).ok().out.count("inlined_step"), 1, "the page is read back")


def program(d, text):
    path = os.path.join(d, "prog.c")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    subprocess.run([needs("gcc"), "-O1", "-g", "-o", os.path.join(d, "prog"), path], check=True, timeout=60)
    return os.path.join(d, "prog")


EVIL = "</script><script>document.title='evil'</script><img src=x onerror=document.title='evil'> <!--"


def test_hostile_source():
    with directory() as d:
        made = program(d, "volatile unsigned sink;\nint main(void)\n{\n\tfor (;;)\n\t\tsink = sink * 7 + 1; /* " + EVIL + " */\n}\n")
        rows = open_panel(page(d, recorded(d, made)), "main")
        check(any(EVIL in t for _, t in rows), rows)
        check("evil" not in script("document.title"), "what is in a comment was run")
        equal(script("document.querySelectorAll('#source img, #source script').length"), 0, "elements of the source")


SECRET = "volatile unsigned sink;\nint main(void)\n{\n\tfor (;;)\n\t\tsink = sink * 7 + 1; /* secret */\n}\n"


def test_what_is_not_everybodys():
    """Debug information may name any file: what its owner alone may read stays out of a page."""
    with directory() as d:
        path = recorded(d, program(d, SECRET))
        check("secret" in json.dumps(data(page(d, path))), "of a file of mode 644")
        os.chmod(os.path.join(d, "prog.c"), 0o640)
        shown = json.dumps(data(page(d, path)))
        check("secret" not in shown and "not everybody may read the source" in shown, shown)


def test_what_the_invoking_user_cannot_reach():
    """Under sudo: a file of mode 644 in a folder that is root's alone, until it is everybody's."""
    nobody = {"SUDO_UID": "65534", "SUDO_GID": "65534"}
    with directory() as private, directory(0o777) as d:
        path = shutil.copy(recorded(private, program(private, SECRET)), d)
        for user, mode, there in (({}, 0o700, True), (nobody, 0o700, False), (nobody, 0o755, True)):
            os.chmod(private, mode)
            out = os.path.join(d, f"{mode}{there}.html")
            run("convert", "-q", "--source", path, "-o", out, env=user).ok()
            shown = json.dumps(data(out))
            check(("secret" in shown) == there, user, mode, shown)
            equal(os.stat(out).st_uid, 65534 if user else 0, "whose the page is")
        out = os.path.join(d, "recorded.html")
        run("-q", "-F", 999, "-d", "1", "--source", "-o", out, "--", os.path.join(private, "prog"), env=nobody).ok()
        check("secret" in json.dumps(data(out)), "in a recording")


def test_a_large_function_is_cut():
    lines = "".join(f"\tif (x & {1 << i % 17}) x = (x ^ (y >> 3)) + y * {i}; else y ^= x * {2 * i + 3};\n" for i in range(900))
    text = ("volatile unsigned long sink;\n__attribute__((noinline)) unsigned long big(unsigned long x, unsigned long y)\n{\n" + lines +
            "\treturn x + y;\n}\nint main(void)\n{\n\tfor (unsigned long i = 0;; i++)\n\t\tsink = big(sink, i);\n}\n")
    with directory() as d:
        found = data(page(d, recorded(d, program(d, text))))
        big = next(f for f in found["functions"] if f["name"] == "big")
        check(100 < len(big["rows"]) < 1000, len(big["rows"]), "rows")
        check(any(r[0] == GAP for r in big["rows"]), "gaps")
        for i, row in enumerate(big["rows"]):
            target = big["rows"][row[4]] if row[4] else None
            check(not target or target[0] == INSTRUCTION, "a jump to no instruction", i, row, target)
