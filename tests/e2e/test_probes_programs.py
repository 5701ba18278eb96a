# SPDX-License-Identifier: MIT
"""Probes in programs of other languages, and the static probes of programs as Debian has them."""
import re

from harness import check, equal, fixture_path, needs
from probing import probed, whole

RUST = {"total": ("total", "shapes::shop::total"), "weigh": ("weigh", "shapes::shop::Apple::weigh"),
        "price": ("price", "shapes::shop::Apple::price", "<shapes::shop::Apple as shapes::shop::Priced>::price")}


def test_names_of_rust():
    """As people write them, whatever the mangling: generic functions, methods of a type and of a trait."""
    needs("rustc")
    for fixture in ("shapes_rust_legacy", "shapes_rust_v0"):
        path = fixture_path(fixture)
        for function, (counts, *names) in RUST.items():
            for name in names:
                r, truth = probed("-e", f"uprobe:{path}:{name}", program=(path, "400"))
                whole(r)
                equal((r.summary.taken, r.profile.count(lambda s, f=function: re.search(rf"::{f}\b", s.frames[-1]))),
                      (truth[counts], truth[counts]), f"{fixture} {name}")
        for pattern, functions in (("shapes::shop::*", RUST), ("shapes::*Apple::*", ("weigh", "price")),
                                   ("/^shapes::shop::Apple::(price|weigh)$/", ("weigh", "price"))):
            r, truth = probed("-e", f"uprobe:{path}:{pattern}", program=(path, "400"))
            whole(r)
            check(f"in {len(functions)} places" in r.err, r.err)
            for f in functions:
                equal(r.profile.count(lambda s, f=f: re.search(rf"::{f}\b", s.frames[-1])), truth[f], f"{fixture} {pattern} {f}")
    path = fixture_path("unwind_rust")
    r, truth = probed("-e", f"uprobe:{path}:unwind_rust::*", program=(path, "500"))
    for f in ("outer", "middle", "leaf"):
        equal(r.profile.count(lambda s, f=f: s.frames[-1] == f"unwind_rust::{f}"), truth[f], f)
    r, truth = probed("-e", f"uprobe:{path}:unwind_rust::outer::*closure*", program=(path, "500"))
    equal(r.profile.count(lambda s: s.has("unwind_rust::middle", s.frames[-1])), truth["leaf"], "closures")
