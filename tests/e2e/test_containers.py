# SPDX-License-Identifier: MIT
"""Names of containers and pods, as runtimes keep them: cgroups and files of theirs are made here."""
import contextlib
import functools
import json
import os
import re

from harness import Fixture, Profile, check, directory, equal, run, skip, wait_for
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
            equal({k: v for k, v in labels.items() if k not in ("service.name", "host.name")}, known, "labels")


def test_a_container_of_docker():
    group = os.path.join(unified(), f"docker-{container_id(1)}.scope")
    text = json.dumps({"Name": "/e2e-db", "Config": {"Image": "postgres:16"}})
    with folders(group), file(f"{DOCKER}/{container_id(1)}/config.v2.json", text), Fixture("tree") as tree:
        join(group, tree.pid)
        equal(profile("e2e-db").comms(), {"tree"}, "a container")
    run("-G", "e2e-db", "-d", "0.1").fails(4, "no cgroup 'e2e-db'")
