# SPDX-License-Identifier: MIT
"""Chromium, for the tests of what is shown in a browser; one for all of them, until the end of the run."""
import atexit
import base64
import contextlib
import json
import os
import signal
import struct
import subprocess
import zlib

from harness import NODE_MODULES, TOP, check, needs, node, node_module, wait_for

_running = []


def _start():
    node_module("puppeteer-core", "package.json")
    argv = [node(), os.path.join(TOP, "tests", "readers", "browser.cjs"), needs("chromium"), NODE_MODULES]
    proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            start_new_session=True)
    _running.append(proc)
    atexit.register(_stop, proc)


def _stop(proc):
    proc.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        proc.wait(20)   # it closes the browser, which is in a session of its own
    with contextlib.suppress(ProcessLookupError):
        os.killpg(proc.pid, signal.SIGKILL)
    proc.wait()


def command(name, **arguments):
    if not _running:
        _start()
    proc = _running[0]
    try:
        proc.stdin.write(json.dumps({"command": name, **arguments}) + "\n")
        proc.stdin.flush()
        line = proc.stdout.readline()
        check(line, "the browser ended at", name, arguments)
    except BaseException:
        # A test that was stopped here left an answer behind: the next one gets a browser of its own.
        _running.clear()
        raise
    answer = json.loads(line)
    check("error" not in answer, name, arguments, answer.get("error"))
    return answer["value"]


def run(text):
    """The value of an expression in the page."""
    return command("run", text=text)


def wait_until(text, seconds=10):
    """Until an expression in the page is true."""
    return wait_for(lambda: run(text), text, seconds)


def picture(x, y, width, height):
    """What is on a part of the screen: a function that gives the (r, g, b) at a point of it."""
    raw = base64.b64decode(command("shot", x=x, y=y, width=width, height=height))
    check(raw[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG")
    at, data = 8, b""
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", raw[at + 8:at + 18])
        elif kind == b"IDAT":
            data += raw[at + 8:at + 8 + size]
        at += size + 12
    check(depth == 8 and color in (2, 6), "a PNG of another form:", depth, color)
    return _unfilter(zlib.decompress(data), width, height, 3 if color == 2 else 4)


def _unfilter(data, width, height, channels):
    """PNG's five ways to say a line by the one before (RFC 2083, chapter 6)."""
    stride, before, lines = width * channels, bytearray(width * channels), []
    for y in range(height):
        kind, line = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride if kind else 0):
            left = line[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            up = before[i]
            if kind == 4:
                p = left + up - corner
                add = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            else:
                add = (0, left, up, (left + up) // 2)[kind]
            line[i] = (line[i] + add) & 255
        lines.append(line)
        before = line
    return lambda x, y: tuple(lines[int(y)][int(x) * channels:int(x) * channels + 3])
