#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel_types.py VMLINUZ FILE: writes the kernel's own description of its types (BTF) to FILE.

A packed kernel is unpacked, whatever packed it, from each place that looks like a beginning. The types are a section of
the kernel, and begin with a header by which they are found (include/uapi/linux/btf.h): magic number, version,
flags, its own length, and where types and strings lie behind it.
"""
import lzma
import struct
import subprocess
import sys
import zlib

LEAST = 1 << 20     # bytes of types of a kernel; they are some MiB
HEADER = struct.pack("<HBBI", 0xEB9F, 1, 0, 24)


def piped(*command):
    """What a command unpacks; behind its input lies more, which it may call an error."""
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


PACKERS = (
    (b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor().decompress(data)),
    (b"\x1f\x8b\x08", lambda data: zlib.decompressobj(31).decompress(data)),
    (b"\x28\xb5\x2f\xfd", piped("zstd", "-dcq")),
    (b"\x02\x21\x4c\x18", piped("lz4", "-dcq")),
)


def unpacked(data):
    yield data
    for magic, unpack in PACKERS:
        at = data.find(magic)
        while at >= 0:
            try:
                yield unpack(data[at:])
            except (lzma.LZMAError, zlib.error):
                pass
            at = data.find(magic, at + 1)


def types(kernel):
    at = kernel.find(HEADER)
    while at >= 0:
        places = struct.unpack_from("<IIII", kernel, at + len(HEADER))
        size = 24 + max(places[0] + places[1], places[2] + places[3])
        if LEAST < size <= len(kernel) - at:
            return kernel[at:at + size]
        at = kernel.find(HEADER, at + 1)
    return None


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    found = next(filter(None, map(types, unpacked(data))), None)
    if not found:
        sys.exit(f"no types in {sys.argv[1]}")
    with open(sys.argv[2], "wb") as file:
        file.write(found)


main()
