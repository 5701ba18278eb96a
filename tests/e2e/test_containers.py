# SPDX-License-Identifier: MIT
"""Names of containers and pods, as runtimes keep them: cgroups and files of theirs are made here."""
import contextlib
import functools
import json
import os
import re
import signal

from harness import Fixture, Profile, check, directory, equal, finish, run, skip, start, wait_for, wait_sampling
from test_push_servers import Receiver

LOGS = "/var/log/containers"
DOCKER = "/var/lib/docker/containers"


def unified():
    with open("/proc/mounts", encoding="ascii") as f:
        for line in f:
            if line.split()[2] == "cgroup2":
                return line.split()[1]
    return skip("no cgroup v2")


@contextlib.contextmanager
def folders(path):
    """These folders, of which those that were not there are removed."""
    made = []
    while not os.path.isdir(path):
        made.append(path)
        path = os.path.dirname(path)
    for p in reversed(made):
        os.mkdir(p)
    try:
        yield
    finally:
        for p in made:
            wait_for(functools.partial(removed, p), f"{p} to be empty")


def removed(path):
    with contextlib.suppress(OSError):
        os.rmdir(path)
    return not os.path.exists(path)


@contextlib.contextmanager
def file(path, text=""):
    with folders(os.path.dirname(path)):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        try:
            yield
        finally:
            os.unlink(path)


def container_id(n):
    return f"{os.getpid():032x}{n:032x}"


def join(group, pid):
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
        f.write(str(pid))


def profile(target):
    return run("-G", target, "-d", "0.4", "-F", 499, "-f", "folded").ok().profile


def test_pods_and_containers_by_their_names():
    pod = os.path.join(unified(), f"kubepods-pod{os.getpid()}.slice")
    app, side = (os.path.join(pod, f"cri-containerd-{container_id(n)}.scope") for n in (1, 2))
    with contextlib.ExitStack() as stack:
        for group in (app, side):
            stack.enter_context(folders(group))
        for name, n in (("app", 1), ("side", 2)):
            stack.enter_context(file(f"{LOGS}/e2e-web_e2e-shop_e2e-{name}-{container_id(n)}.log"))
        # One that has ended: there is no cgroup.
        stack.enter_context(file(f"{LOGS}/e2e-web_e2e-shop_e2e-app-{container_id(3)}.log"))
        tree, names = stack.enter_context(Fixture("tree")), stack.enter_context(Fixture("names", "outside"))
        join(app, tree.pid)
        join(side, names.pid)
        equal(profile("e2e-app").comms(), {"tree"}, "a container")
        both = profile("pod/e2e-web").comms()
        check("tree" in both and len(both) > 1, "a pod:", both)
        equal(profile("pod/e2e-shop/e2e-web").comms(), both, "a pod of a namespace")
        run("-G", "pod/other/e2e-web", "-d", "0.1").fails(4, "no pod that runs, is called")
        with directory() as where, directory() as spool, Receiver() as server:
            run("push", "--to", where, "--to", server.url("otlp"), "--spool", spool, "-G", "pod/e2e-web", "-F", 199, "--every", "1s", "-d", "1s").ok()
            services = {re.sub(r"\.\d{8}T.*", "", name): os.path.join(where, name) for name in os.listdir(where)}
            equal(set(services), {"e2e-shop.e2e-app", "e2e-shop.e2e-side"}, "services")
            comms = Profile.read(run("report", "-f", "folded", services["e2e-shop.e2e-app"]).ok().out).comms()
            equal(comms, {"tree"}, "whose samples they are")
            labels = next(s["labels"] for s in server.series() if s["labels"]["service.name"] == "e2e-shop.e2e-app")
            known = {"container.name": "e2e-app", "container.id": container_id(1), "k8s.pod.name": "e2e-web", "k8s.namespace.name": "e2e-shop"}
            equal({k: v for k, v in labels.items() if k not in ("service.name", "host.name", "cgroup")}, known, "labels")


def by(what, *options):
    """What --by tells apart: its frames at the root, and the rows of report, with what follows in each."""
    with directory() as d:
        path = os.path.join(d, "p.pb.gz")
        run(*options, "--by", what, "-F", 499, "-o", path).ok()
        folded = Profile.read(run("report", "-f", "folded", path).ok().out)
        rows = {line.split()[2]: float(line.split()[0]) for line in run("report", "--by", what, path).ok().out.splitlines()[1:]}
        run("report", "--by", "colour", path).fails(2, "--by 'colour'", "a label")
    roots = {(s.comm, s.frames[0]) for s in folded if s.frames and s.frames[0].startswith(f"[{what}=")}
    return roots, rows


def test_containers_pods_and_units_are_told_apart():
    top = unified()
    pod = os.path.join(top, f"kubepods-pod{os.getpid()}.slice")
    app, unit = os.path.join(pod, f"cri-containerd-{container_id(1)}.scope"), os.path.join(top, f"e2e-{os.getpid()}.service")
    with contextlib.ExitStack() as stack:
        for group in (app, unit):
            stack.enter_context(folders(group))
        stack.enter_context(file(f"{LOGS}/e2e-web_e2e-shop_e2e-app-{container_id(1)}.log"))
        tree, names = stack.enter_context(Fixture("tree")), stack.enter_context(Fixture("names", "outside"))
        join(app, tree.pid)
        join(unit, names.pid)
        both = ("-p", f"{tree.pid},{names.pid}", "-d", "0.4")
        for what, name in (("container", "e2e-shop/e2e-web/e2e-app"), ("pod", "e2e-shop/e2e-web")):
            roots, rows = by(what, *both)
            equal(roots, {("tree", f"[{what}={name}]")}, what)
            equal(set(rows), {name, "[none]"}, f"rows of {what}")
        name = os.path.basename(unit)
        roots, rows = by("unit", *both)
        check(("tree", f"[unit={os.path.basename(app)}]") in roots, roots)
        equal({root for comm, root in roots if comm != "tree"}, {f"[unit={name}]"}, "units of the others")
        equal(set(rows), {name, os.path.basename(app)}, "rows of unit")
        out = run("top", "--by", "pod", "--count", "1", "-p", tree.pid, "--refresh", "300ms").ok().out
        check("[pod=e2e-shop/e2e-web]" in out, out)
        faults = stack.enter_context(Fixture("page_faults"))
        join(app, faults.pid)
        e = start("alloc", "--page-faults", "--by", "container", "-p", faults.pid, "-f", "folded")
        wait_sampling(e)
        faults.go()
        faults.wait("done")
        e.send_signal(signal.SIGINT)
        alloc = Profile.read(finish(e).ok().out)
        check(alloc and all(s.frames[0] == "[container=e2e-shop/e2e-web/e2e-app]" for s in alloc), alloc.head())
    run("alloc", "--by", "bytes", "--page-faults", "-a").fails(2, "--by goes with -e")


def test_a_container_of_docker():
    group = os.path.join(unified(), f"docker-{container_id(1)}.scope")
    text = json.dumps({"Name": "/e2e-db", "Config": {"Image": "postgres:16"}})
    with folders(group), file(f"{DOCKER}/{container_id(1)}/config.v2.json", text), Fixture("tree") as tree:
        join(group, tree.pid)
        equal(profile("e2e-db").comms(), {"tree"}, "a container")
    run("-G", "e2e-db", "-d", "0.1").fails(4, "no cgroup 'e2e-db'")
