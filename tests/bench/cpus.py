# SPDX-License-Identifier: MIT
"""
Part "cpus": memory by the number of CPUs, online and possible, in the emulated machines of tests/vm, whose image is used with
tests/bench/cpus.sh in place of its cases.
"""
import glob
import os
import subprocess

import graph
from harness import TOP
from table import command, markdown, number

MACHINES = ("2", "4", "8", "16", "2,maxcpus=64", "2,maxcpus=192")
KERNEL = "debian-6.1"
VM = os.path.join(TOP, os.environ.get("BUILD", "build"), "tests", "vm")
LIMIT = 120     # seconds of a machine


def image(path):
    """The image of tests/vm, which is made by running one of its cases; what is packed behind it replaces files of it."""
    subprocess.run(["make", "--no-print-directory", "-s", "-C", TOP, "vm-build"], capture_output=True, check=True)
    subprocess.run([os.path.join(TOP, "tests", "vm", "run"), KERNEL, "doctor"], capture_output=True, check=True)
    os.makedirs(f"{path}/vm", exist_ok=True)
    with open(os.path.join(TOP, "tests", "bench", "cpus.sh"), "rb") as cases, open(f"{path}/vm/cases.sh", "wb") as there:
        there.write(cases.read())
    packed = subprocess.run([f"{VM}/busybox-amd64/bin/busybox", "cpio", "-o", "-H", "newc", "-R", "0:0"], cwd=path,
                            input=b"vm\nvm/cases.sh\n", capture_output=True, check=True).stdout
    with open(f"{VM}/initramfs-amd64", "rb") as first, open(f"{path}/image", "wb") as both:
        both.write(first.read() + packed)
    return f"{path}/image"


def boot(smp, initramfs):
    """The figures of one machine."""
    kernel = sorted(glob.glob(f"{VM}/{KERNEL}/boot/vmlinuz-*"))[-1]
    said = subprocess.run(
        ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-accel", "tcg,thread=multi", "-m", "2048",
         "-no-reboot", "-cpu", "max", "-smp", smp, "-kernel", kernel, "-initrd", initramfs,
         "-append", "console=ttyS0 quiet panic=-1 cases=memory", "-serial", "stdio"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False).stdout
    found = [line.split()[1:] for line in said.splitlines() if line.startswith("figures ")]
    return [int(word) for word in found[0]] if found else None


def cpus(options):
    lines, points = [], []
    path = os.path.join(options.out, "cpus")
    try:
        initramfs = image(path)
    except (OSError, subprocess.SubprocessError) as e:
        options.note(f"cpus: no image of tests/vm: {' '.join(str(e).split())[:160]}")
        return
    for smp in MACHINES:
        try:
            online, possible, peak, kernel = boot(smp, initramfs)
        except (OSError, TypeError, subprocess.SubprocessError) as e:
            options.note(f"cpus: -smp {smp}: {' '.join(str(e).split())[:160]}")
            continue
        points.append((online, possible, peak / 1024, kernel / 1024))
        lines.append([online, possible, number(peak / 1024), number(kernel / 1024)])
    by = {"online": [p for p in points if p[0] == p[1]], "possible": [p for p in points if p[0] == 2]}
    panels = [(f"by {what} CPUs, MiB", [("ebprof", [(p[i], p[2]) for p in by[what]]), ("kernel", [(p[i], p[3]) for p in by[what]])])
              for i, what in enumerate(by)]
    options.write("growth-cpus.svg", graph.draw("CPUs", panels))
    options.write("cpus.md", command("tests/bench/run cpus") + "\n![Memory by CPUs](bench/growth-cpus.svg)\n\n"
                  + markdown(["online CPUs", "possible CPUs", "peak memory of ebprof, MiB", "of the kernel for it, MiB"], lines))
