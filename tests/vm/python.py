#!/bin/python3 -IS
# SPDX-License-Identifier: MIT
"""Two functions of known shares, 2 to 1, and one that sorted() calls back. Until it is killed."""


def spin(n):
    s = 0
    for i in range(n):
        s += i
    return s


def twice():
    return spin(2000)


class Thing:
    def method(self):
        return spin(1000)


def key(x):
    return -x + spin(10)


def sorts():
    return sorted(range(100), key=key)


def main():
    print("ready it", flush=True)
    thing = Thing()
    while True:
        twice()
        thing.method()
        sorts()


main()
