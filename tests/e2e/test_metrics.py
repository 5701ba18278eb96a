# SPDX-License-Identifier: MIT
"""What ebprof push tells Prometheus."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.request

from harness import Fixture, check, directory, equal, finish, needs, run, start, wait_for
from test_push_servers import Receiver

SECONDS = 17

SAID = re.compile(r"^ebprof: (\d+) samples?: (\d+) in (\d+) windows?", re.M)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path="/metrics"):
    """The answer's status and text; None where there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def values(text):
    return {name: float(value) for name, value in re.findall(r"^([^#\s].*) (\S+)$", text, re.M)}


@contextlib.contextmanager
def pushing(where, port, fixture):
    proc = start("push", "--to", where, "-p", fixture.pid, "-F", 199, "--every", "1s", "--metrics", f"127.0.0.1:{port}")
    wait_for(lambda: values((get(port) or ("", ""))[1]).get("ebprof_profiles_written_total", 0) > 0, "a window", 20)
    yield proc
    proc.send_signal(signal.SIGTERM)
    r = finish(proc).ok()
    check(SAID.search(r.err), r.err)
    equal(get(port), None, "an answer after the end")


def test_prometheus_scrapes_it():
    prometheus, promtool = needs("prometheus"), needs("promtool")
    port, own = free_port(), free_port()
    with directory() as where, Fixture("tree") as f, pushing(where, port, f) as proc:
        status, text = get(port)
        equal(status, 200, "status")
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        equal((done.returncode, done.stdout + done.stderr), (0, ""), "promtool check metrics")
        got = values(text)
        equal(got["ebprof_frequency_hertz"], 199, "the rate")
        check(got["ebprof_samples_total"] >= got["ebprof_window_samples_total"] > 0, text)
        check(any(name.startswith("ebprof_samples_lost_total{reason=") for name in got), text)
        check(got["ebprof_profiles_written_bytes_total"] > 0 and not got["ebprof_profiles_failed_total"], text)
        with open(f"/proc/{proc.pid}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        told = got['ebprof_resident_memory_bytes{process="sampler"}']
        check(0.5 * resident < told < 2 * resident, "own memory:", told, resident)
        check(got['ebprof_cpu_seconds_total{process="sampler"}'] > 0, text)
        equal((get(port, "/")[0], get(port, "/metricsx")[0]), (404, 404), "other paths")
        config = os.path.join(where, "prometheus.yml")
        with open(config, "w", encoding="ascii") as to:
            to.write("scrape_configs:\n- job_name: ebprof\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n"
                     f"  static_configs:\n  - targets: ['127.0.0.1:{port}']\n")
        server = subprocess.Popen([prometheus, f"--config.file={config}", f"--storage.tsdb.path={where}/data",
                                   f"--web.listen-address=127.0.0.1:{own}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def asked():
                with contextlib.suppress(OSError):
                    with urllib.request.urlopen(f"http://127.0.0.1:{own}/api/v1/query?query=ebprof_samples_total", timeout=5) as r:
                        result = json.load(r)["data"]["result"]
                        return result and float(result[0]["value"][1]) > got["ebprof_samples_total"]
                return False
            wait_for(asked, "prometheus to have more samples than before", 40)
        finally:
            server.kill()
            server.wait()


def test_what_waits_in_the_spool():
    """As many bytes as there are in its folder, while there is no server; none once that has taken all."""
    port, server_port = free_port(), free_port()
    with directory() as spool, Fixture("tree") as f:
        proc = start("push", "--to", f"otlp+http://127.0.0.1:{server_port}", "--spool", spool, "-p", f.pid, "-F", 199, "--every", "1s",
                     "--metrics", f"127.0.0.1:{port}")

        def waiting():
            got = values((get(port) or ("", ""))[1])
            return got.get('ebprof_spool_bytes{server="1"}', 0), got.get('ebprof_spool_requests{server="1"}', 0)

        def as_it_is():
            files = [entry.stat().st_size for top in os.scandir(spool) for entry in os.scandir(top.path) if entry.name.endswith(".req")]
            return len(files) >= 2 and waiting() == (sum(files), len(files))
        wait_for(as_it_is, "two requests that wait, and to be told so", 30)
        with Receiver(port=server_port) as server:
            wait_for(lambda: len(server.said) >= 3 and waiting() == (0, 0), "all to be sent", 60)
            proc.send_signal(signal.SIGTERM)
            finish(proc).ok()


def test_who_asks_and_hangs_does_not_hold_up_sampling():
    port = free_port()
    with directory() as where, Fixture("tree") as f, pushing(where, port, f):
        hanging = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        hanging[0].send(b"GET /metrics HTT")
        before = len(os.listdir(where))
        wait_for(lambda: len(os.listdir(where)) >= before + 2, "windows", 20)
        # There is room again when their time is over.
        wait_for(lambda: get(port), "an answer", 20)
        for s in hanging:
            s.close()


def test_wrong_addresses():
    with directory() as where, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run("push", "--to", where, "--metrics", "localhost:1").fails(2, "expected ADDRESS:PORT")
        run("push", "--to", where, "--metrics", taken.getsockname()[1]).fails(1, "Address already in use")
