# SPDX-License-Identifier: MIT
"""Pages that are served: who is let in, updates that add up, many watchers, and the live page in Chromium."""
import base64
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import zlib

from browser import command, run as js, wait_until
from harness import Fixture, Profile, check, directory, equal, finish, run, start, wait_burned, wait_for, wait_sampling

SECONDS = 55

URL = re.compile(r"^ebprof: http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/$", re.M)
READY = "ebprof.ready.then(() => true)"


class Served:
    """A server, by what it says on standard error."""

    def __init__(self, proc):
        self.proc, text = proc, ""
        while not URL.search(text):
            line = proc.stderr.readline().decode()
            check(line, "it ended:", text)
            text += line
        self.port, self.token = int(URL.search(text)[1]), URL.search(text)[2]
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"

    def ask(self, path, method="GET", **headers):
        """(status, headers, body) of one request with exactly these headers, beside Host."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
            for name, values in headers.items():
                for value in values if isinstance(values, list) else [values]:
                    connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def status(self, path, method="GET", **headers):
        return self.ask(path, method, **headers)[0]


@contextlib.contextmanager
def serving(*args, until="sampling"):
    proc = start("serve", *args)
    served = Served(proc)
    if until == "sampling":
        wait_sampling(proc)
    yield served
    if proc.poll() is None:
        proc.send_signal(signal.SIGINT)
    finish(proc).ok()


def varints(text):
    data, out, value, shift = zlib.decompress(base64.b64decode(text), -15), [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            out.append(value)
            value = shift = 0
    return out


class Watcher:
    """What a page has: the sum of the updates, by function of the leaf."""

    def __init__(self, served, connection=None):
        self.served, self.sequence, self.total, self.leaves, self.taken, self.lost = served, 0, 0, {}, 0, 0
        self.ended, self.updates, self.wholes = False, 0, 0
        self.connection = connection or http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)

    def ask(self):
        self.connection.request("GET", f"/{self.served.token}/data?since={self.sequence}&watcher={id(self)}")
        answer = self.connection.getresponse()
        body = answer.read().decode()
        equal(answer.status, 200, "status of updates")
        for line in body.splitlines():
            self.take(json.loads(line))

    def take(self, update):
        if "end" in update:
            self.ended = True
            return
        if update["whole"]:
            self.total, self.leaves, self.taken, self.lost = 0, {}, 0, 0
            self.wholes += 1
        elif not self.wholes:
            equal(update["sequence"], self.sequence + 1, "no gaps")
        self.sequence = update["sequence"]
        self.updates += 1
        profile = update["profile"]
        names, own = profile["functions"]["name"], varints(update["self0"])
        labels = varints(update["label"])
        equal(sum(own), profile["types"][0]["total"], "an update's own sum")
        self.total += sum(own)
        self.taken += profile["account"]["taken"]
        self.lost += sum(r["count"] for r in profile["account"]["lost"])
        for label, n in zip(labels, own):
            if n and label < len(names):
                self.leaves[names[label]] = self.leaves.get(names[label], 0) + n

    def watch(self):
        """Until the end."""
        while not self.ended:
            self.ask()
            time.sleep(0.2)


def watch_all(watchers):
    """All at once, until the end."""
    errors = []

    def watch(w):
        try:
            w.watch()
        except Exception as e:  # pylint: disable=broad-except
            errors.append(e)
    threads = [threading.Thread(target=watch, args=(w,)) for w in watchers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(errors, [], "what went wrong")


# --- Who is let in. ------------------------------------------------------------------------------------------

def test_others_are_refused():
    with Fixture("tree") as f, serving("-p", f.pid) as s:
        page, data = f"/{s.token}/", f"/{s.token}/data?since=0"
        equal((s.status(page), s.status(data), s.status(page, "HEAD")), (200, 200, 200), "the token's")
        equal((s.status("/"), s.status("")), (401, 401), "no token")
        wrong = ("0" if s.token[0] != "0" else "1") + s.token[1:]
        for path in (f"/{wrong}/", f"/{wrong}/data", f"/{s.token}", f"/{s.token[:-1]}/", f"/{s.token}0/", "/data", "/favicon.ico",
                     f"/?{s.token}/"):
            check(s.status(path) in (401, 403), "a wrong token:", path)
        for host in ("evil.example", f"evil.example:{s.port}", "127.0.0.1", f"127.0.0.1:{s.port + 1}", f"127.0.0.1.evil.example:{s.port}"):
            equal((s.status(page, host=host), s.status(data, host=host)), (403, 403), f"Host: {host}")
        check(s.status(page, host=[f"127.0.0.1:{s.port}", "evil.example"]) in (400, 403), "two hosts")
        for origin in ("http://evil.example", "null", f"http://127.0.0.1:{s.port + 1}", f"https://127.0.0.1:{s.port}"):
            equal((s.status(page, Origin=origin), s.status(data, Origin=origin)), (403, 403), f"Origin: {origin}")
        equal(s.status(page, Origin=f"http://127.0.0.1:{s.port}"), 200, "its own origin")
        equal(s.status(page, host=f"localhost:{s.port}"), 200, "its own name")
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            equal(s.status(page, method), 405, method)
        equal((s.status(page + "x"), s.status(page + "../")), (404, 404), "no such page")
        equal(s.status(page), 200, "it goes on")


def test_headers_keep_all_else_out():
    with Fixture("tree") as f, serving("-p", f.pid) as s:
        for path in (f"/{s.token}/", f"/{s.token}/data", "/", "/x/"):
            _, headers, _ = s.ask(path)
            policy = headers["Content-Security-Policy"]
            for part in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
                check(part in policy, path, policy)
            check("http" not in policy and "*" not in policy, policy)
            equal((headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["Cache-Control"],
                   headers["Cross-Origin-Resource-Policy"]), ("nosniff", "no-referrer", "no-store", "same-origin"), path)
            check("Access-Control-Allow-Origin" not in headers, path)


def test_no_sense_does_not_end_it():
    """Bytes that are no HTTP, requests that never end, and far too long ones."""
    with Fixture("tree") as f, serving("-p", f.pid) as s:
        for text in (b"\0" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 70000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n" * 5000,
                     b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
                     b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"):
            # One of them has no end: it is not waited for.
            with socket.create_connection(("127.0.0.1", s.port), 1) as c, contextlib.suppress(OSError):
                c.sendall(text)
                c.shutdown(socket.SHUT_WR)
                while c.recv(65536):
                    pass
        waiting = [socket.create_connection(("127.0.0.1", s.port), 10) for _ in range(200)]
        for c in waiting:
            c.sendall(b"GET / HT")
        equal(s.status(f"/{s.token}/"), 200, "beside 200 that say nothing more")
        for c in waiting:
            c.close()


def test_it_is_alone_and_without_rights():
    """The process that answers is nobody's, in a sandbox, and not sampled."""
    with serving("-a", "-F", 499) as s:
        with open(f"/proc/{s.proc.pid}/task/{s.proc.pid}/children", encoding="ascii") as children:
            pids = [int(p) for p in children.read().split()]
        servers = []
        for pid in pids:
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                values = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
            if values["Uid"].split()[0] == "65534":
                servers.append(values)
        equal(len(servers), 1, "servers")
        equal((servers[0]["CapEff"], servers[0]["CapPrm"], servers[0]["NoNewPrivs"], servers[0]["Seccomp"]),
              ("0" * 16, "0" * 16, "1", "2"), "its rights")


# --- Updates. ------------------------------------------------------------------------------------------------

def test_updates_add_up_to_the_file():
    with directory() as d, Fixture("tree") as f:
        out = os.path.join(d, "out.folded")
        proc = start("serve", "-p", f.pid, "-F", 499, "-o", out)
        served = Served(proc)
        early, late = Watcher(served), Watcher(served)
        wait_for(lambda: early.ask() or early.updates >= 3, "updates", 60)
        late.ask()
        proc.send_signal(signal.SIGINT)
        watch_all([early, late])
        r = finish(proc).ok()
        with open(out, encoding="utf-8") as text:
            profile = Profile.read(text.read())
        equal((early.total, late.total), (profile.count(), profile.count()), "samples of the updates, and of the file")
        equal(early.taken, r.summary.taken, "samples taken")
        for name in ("a2", "b2", "c2"):
            equal(early.leaves[name], profile.count(lambda s, n=name: s.frames and s.frames[-1] == n), name)
        equal(early.leaves, late.leaves, "who came late has the same")


def test_waits_are_updates_of_time():
    with directory() as d, Fixture("waits", "sleepers", "20", "100") as f:
        out = os.path.join(d, "out.folded")
        proc = start("serve", "--off-cpu", "-p", f.pid, "-d", 3, "-o", out)
        w = Watcher(Served(proc))
        w.watch()
        finish(proc).ok()
        with open(out, encoding="utf-8") as text:
            equal(w.total, Profile.read(text.read()).count(), "time of the updates, and of the file")
        check(w.total > 10**9, "nanoseconds:", w.total)


def test_a_hundred_watchers_see_the_same():
    with directory() as d, Fixture("tree") as f:
        out = os.path.join(d, "out.folded")
        proc = start("serve", "-p", f.pid, "-F", 499, "-d", 5, "-o", out)
        served = Served(proc)
        watchers = [Watcher(served) for _ in range(100)]
        watch_all(watchers)
        finish(proc).ok()
        with open(out, encoding="utf-8") as text:
            equal({w.total for w in watchers}, {Profile.read(text.read()).count()}, "samples of each, and of the file")


def test_ends_with_its_target_and_by_signal():
    with Fixture("tree") as f:
        w = Watcher(Served(start("serve", "-p", f.pid)))
        wait_sampling(w.served.proc)
        w.ask()
        wait_burned(f.pid, 0.3)
        f.proc.send_signal(signal.SIGUSR1)
        w.watch()
    finish(w.served.proc).ok()
    check(w.total > 0, "samples")
    proc = start("serve", "--", "sleep", "60")
    Served(proc)
    wait_sampling(proc)
    proc.send_signal(signal.SIGTERM)
    r = finish(proc)
    check(r.code in (0, 143), r.code, r.err)


def test_server_that_dies_is_said():
    with Fixture("tree") as f:
        s = Served(start("serve", "-p", f.pid))
        wait_sampling(s.proc)
        with open(f"/proc/{s.proc.pid}/task/{s.proc.pid}/children", encoding="ascii") as children:
            for pid in children.read().split():
                if os.stat(f"/proc/{pid}").st_uid == 65534:
                    os.kill(int(pid), signal.SIGKILL)
        r = finish(s.proc)
        check("the server ended" in r.err, r.err)


def test_bad_addresses():
    with Fixture("tree") as f, socket.socket() as taken:
        for address in ("0.0.0.0", "::", "192.168.1.1", "localhost", "x"):
            run("serve", "--listen", address, "-p", f.pid).fails(2, "--listen", re.escape(address))
        run("serve", "--port", 65536, "-p", f.pid).fails(2, "--port")
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run("serve", "--port", taken.getsockname()[1], "-p", f.pid).fails(1, "cannot listen", "in use")


def test_saved_profile_is_served():
    with directory() as d, Fixture("tree") as f:
        saved, html = os.path.join(d, "x.pb.gz"), os.path.join(d, "x.html")
        run("-p", f.pid, "-d", 1, "-o", saved).ok()
        run("report", "-o", html, saved).ok()
        proc = start("report", "--serve", saved)
        s = Served(proc)
        with open(html, "rb") as text:
            status, headers, page = s.ask(f"/{s.token}/")
            equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "the page")
            check(page == text.read(), "not what -o writes")
        equal((s.status("/"), s.status(f"/{s.token}/", host="evil.example")), (401, 403), "others")
        command("open", url=s.url, wait=READY)
        check(js("ebprof.total") > 0, "in the browser")
        equal(command("problems"), [], "problems in the page")
        proc.send_signal(signal.SIGINT)
        finish(proc).ok()
    run("report", "--serve", "--tree", "x").fails(2, "--serve")
    run("report", "--open", "x").fails(2, "--serve")


# --- The page. -----------------------------------------------------------------------------------------------

def set_state(**changes):
    js(f"ebprof.set({json.dumps(changes)})")


def grown():
    """Waits until the page shows more than it does now; gives the total then."""
    before = js("ebprof.total")
    wait_until(f"ebprof.total > {before}", 20)
    return js("ebprof.total")


def test_page_lives():
    with Fixture("tree") as f, serving("-p", f.pid, "-F", 499) as s:
        command("open", url=s.url, wait=READY)
        grown()
        equal(js("document.getElementById('live-state').textContent"), "live", "its state")
        for view in ("graph", "bottom-up", "sandwich", "top"):
            set_state(view=view)
            grown()
            equal(js("ebprof.state.view"), view, "the view stays")
            total, rows = js("[ebprof.total, ebprof.functions]")
            share = {r["name"]: r["self"] / total for r in rows}
            near = 4 * (0.6 * 0.4 / total) ** 0.5 + 0.03
            check(abs(share["a2"] - 0.6) < near, view, "a2:", share["a2"], "expected 0.6 +-", near)
            equal(sum(r["self"] for r in rows), total, f"{view}: functions add up")
            if view != "top":
                check(js("ebprof.boxes.length") > 3, view, "boxes")
        equal(command("problems"), [], "problems in the page")


def test_page_keeps_what_is_chosen():
    with Fixture("tree") as f, serving("-p", f.pid, "-F", 499) as s:
        command("open", url=s.url, wait=READY)
        wait_until("ebprof.boxes.some((b) => b.name === 'b1')", 20)
        node = js("ebprof.boxes.find((b) => b.name === 'b1')")
        command("click", x=node["x"] + node["width"] / 2, y=node["y"] + node["height"] / 2)
        set_state(search="^b2$")
        grown()
        check(js("ebprof.nodes()[ebprof.state.zoom].path").endswith("\nb\nb1"), "the zoom:", js("ebprof.nodes()[ebprof.state.zoom].path"))
        equal(js("ebprof.matched"), js("ebprof.functions.find((f) => f.name === 'b2').total"), "the search")
        set_state(view="sandwich", search="")
        js("ebprof.set({ fn: ebprof.functions.find((f) => f.name === 'a1').fn })")
        grown()
        equal(js("ebprof.functions.find((f) => f.fn === ebprof.state.fn).name"), "a1", "the function of the sandwich")
        js("ebprof.set({ view: 'graph', edits: ['hide:' + ebprof.functions.find((f) => f.name === 'a1').module + '!a1'] })")
        grown()
        equal(js("ebprof.nodes().filter((n) => n.path.endsWith('\\na1')).length"), 0, "what was hidden")
        equal(command("problems"), [], "problems in the page")


def test_page_pauses_and_begins_anew():
    with Fixture("tree") as f, serving("-p", f.pid, "-F", 499) as s:
        command("open", url=s.url, wait=READY)
        command("press", key=" ")
        equal(js("document.getElementById('live-state').textContent"), "paused", "by the keyboard")
        still = js("ebprof.total")
        sequence = js("ebprof.live.sequence")
        wait_until(f"ebprof.live.sequence > {sequence} + 1", 20)
        equal(js("ebprof.total"), still, "a picture that stands still")
        js("document.getElementById('live-pause').click()")
        wait_until(f"ebprof.total > {still}", 20)
        all_before = grown()
        js("document.getElementById('live-from').click()")
        equal(js("ebprof.total"), 0, "from now on")
        check(grown() < all_before, "since then")
        js("document.getElementById('live-from').click()")
        check(js("ebprof.total") > all_before, "since the start again")
        equal(command("problems"), [], "problems in the page")


def test_page_is_saved():
    with directory() as d, Fixture("tree") as f:
        proc = start("serve", "-p", f.pid, "-F", 499, "-o", os.path.join(d, "own.folded"))
        s = Served(proc)
        command("open", url=s.url, wait=READY)
        grown()
        proc.send_signal(signal.SIGINT)
        wait_until("document.getElementById('live-state').textContent === 'ended'", 30)
        r = finish(proc).ok()
        total = js("ebprof.total")
        with open(os.path.join(d, "own.folded"), encoding="utf-8") as text:
            equal(total, Profile.read(text.read()).count(), "all of it")
        equal(js("ebprof.account.taken"), r.summary.taken, "taken")
        functions = js("ebprof.functions")
        saved, folded = os.path.join(d, "saved.html"), os.path.join(d, "saved.folded")
        with open(saved, "w", encoding="utf-8") as to:
            to.write(js("ebprof.live.html()"))
        with open(folded, "w", encoding="utf-8") as to:
            to.write(js("ebprof.live.folded()"))
        command("open", file=saved, wait=READY)
        equal((js("ebprof.total"), js("ebprof.functions")), (total, functions), "the saved page")
        check(js("document.getElementById('live-controls').hidden"), "it is not live")
        equal(command("problems"), [], "problems in the saved page")
        equal(Profile.read(run("report", "-f", "folded", folded).ok().out).count(), total, "the saved stacks")


def test_page_has_times():
    """Heat map, lanes and ranges of a page that lives; what is saved of it has them, too."""
    with directory() as d, Fixture("tree") as f, serving("-p", f.pid, "-F", 499) as s:
        command("open", url=s.url, wait=READY)
        wait_until("ebprof.timeline && ebprof.timeline.seconds > 3", 30)
        set_state(time="lanes")
        js("ebprof.live.pause()")
        timeline, total = js("[ebprof.timeline, ebprof.total]")
        times = [t for lane in timeline["threads"] for t in lane["times"]]
        equal({(lane["pid"], lane["tid"]) for lane in timeline["threads"]}, {(f.pid, f.pid)}, "its thread")
        check(abs(len(times) - total) <= 500, "each sample has its time:", len(times), total)
        equal(len(times), sum(timeline["cells"]), "the heat map has them all")
        check(times == sorted(times) and times[-1] > 1000 * (timeline["seconds"] - 2), "to the end")
        set_state(range="1s-2s")
        equal(js("ebprof.total"), sum(1000 <= t < 2000 for t in times), "a range")
        check(abs(js("ebprof.functions.find((f) => f.name === 'a2').self") / js("ebprof.total") - 0.6) < 0.25, "its functions")
        js("ebprof.live.pause()")
        wait_until(f"ebprof.timeline.seconds > {timeline['seconds']} + 1", 30)
        equal((js("ebprof.state.range"), js("ebprof.total")), ("1s-2s", sum(1000 <= t < 2000 for t in times)), "stays")
        equal(js("ebprof.timeline.window"), [0, js("ebprof.timeline.seconds")], "lanes show all of it")
        js("ebprof.live.pause()")
        saved, cells = os.path.join(d, "saved.html"), js("ebprof.timeline.cells")
        with open(saved, "w", encoding="utf-8") as to:
            to.write(js("ebprof.live.html()"))
        equal(command("problems"), [], "problems in the page")
        command("open", file=saved, wait=READY, hash="#range=1s-2s")
        equal((js("ebprof.timeline.cells"), js("ebprof.total")), (cells, sum(1000 <= t < 2000 for t in times)), "the saved page")
        command("open", url=s.url, wait=READY)
        check(js("ebprof.timeline.cells").index(max(cells)) >= 0 and js("ebprof.timeline.seconds") > timeline["seconds"],
              "who comes late has them, too")


def test_page_has_waits():
    with subprocess.Popen(["sh", "-c", "while sleep 0.05; do :; done"]) as proc:
        try:
            with serving("--off-cpu", "-p", proc.pid, until="") as s:
                command("open", url=s.url, hash="#time=lanes")
                wait_until("Boolean(ebprof.state)", 30)
                wait_until("ebprof.timeline && ebprof.timeline.waits().length > 2", 30)
                check(any(w["text"].startswith("blocked: ") for w in js("ebprof.timeline.waits()")), "in lanes")
                equal(command("problems"), [], "problems in the page")
        finally:
            proc.kill()     # not before: serve would end by itself, and a signal could come too late for it


# A page keeps so many times and no more: two sets of ticks, of which the oldest go.
TICKS = """(() => {
    const set = (from) => ({ unit: 1, each: 1, lanes: [{ label: 0, pid: 1, tid: 1 }], first: Uint32Array.of(0, 700000),
        at: Uint32Array.from({ length: 700000 }, (_, i) => from + i), node: new Uint32Array(700000), value: null, span: null });
    const { at, first } = ebprof.live.addTicks([set(0), set(700000)]);
    return [at.length, at[0], at.at(-1), first[1]];
})()"""


def test_page_is_bounded():
    with Fixture("tree") as f, serving("-p", f.pid) as s:
        command("open", url=s.url, wait=READY)
        n, begin, end, of_lane = js(TICKS)
        check(700000 < n <= 800000 and begin == 1400000 - n and end == 1399999 and of_lane == n, "what is kept:", n, begin, end)
