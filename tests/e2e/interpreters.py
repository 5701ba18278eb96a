# SPDX-License-Identifier: MIT
"""What the tests of several languages' interpreters share."""
import os

from harness import check, directory, run


def near(got, expected, n, *what):
    """A share of @n samples, within three standard errors, and what no sampling at known times gets nearer to."""
    check(abs(got - expected) < 0.03 + 3 * (expected * (1 - expected) / n) ** 0.5, *what, got, expected, n)


def made_in_turn(profile, least, *what):
    """Of functions made_0 to made_6, each made where the last one was, each has its share; all together at least @least."""
    made = {i: profile.count(lambda s, i=i: s.any(rf"\bmade_{i}$")) for i in range(7)}
    total = sum(made.values())
    check(total > least * profile.count(), *what, made, profile.head())
    for i, n in made.items():
        near(n / total, 1 / 7, total, *what, i, made)


def executed(command, suffix, text):
    """Of processes that @command starts with a file of @text, one after the other: the stacks that are whole."""
    with directory() as d:
        script = os.path.join(d, "script" + suffix)
        with open(script, "w", encoding="utf-8") as f:
            f.write(text)
        result = run("-F", 999, "-f", "folded", "--", "sh", "-c", f'for i in 1 2 3 4 5 6 7 8 9 10; do {command} "{script}"; done').ok()
    return result.profile.where(lambda s: not s.cut)
