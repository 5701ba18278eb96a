# SPDX-License-Identifier: MIT
"""What the tests of several languages' interpreters share."""
import json
import os

from harness import Fixture, check, directory, run, wait_burned


# The beginning of a library in C by which a program spoils its own memory, with words of WILD.
FORGING = """
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define SPIN	2000000

static const uint64_t wild[] = { WILD };
static volatile int tearing;

static uint64_t any(void) { return wild[rand() % (sizeof(wild) / sizeof(*wild))]; }

static void spin(void) { for (volatile int i = 0; i < SPIN; i++); }

static void *tear(void *at)
{
	uint64_t kept = *(uint64_t *)at;

	while (tearing)
		*(volatile uint64_t *)at = tearing % 2 ? any() : kept;
	*(volatile uint64_t *)at = kept;
	return NULL;
}

static void torn(uint64_t *at)
{
	pthread_t thread;

	tearing = 1;
	pthread_create(&thread, NULL, tear, at);
	for (int i = 0; i < 20; i++, tearing++)
		for (volatile int k = 0; k < SPIN / 10; k++);
	tearing = 0;
	pthread_join(thread, NULL);
}
"""


def firefox_stacks(path):
    """Of a profile for Firefox: each stack, of (function, file, line), the outermost first, with its weight."""
    with open(path, encoding="utf-8") as f:
        profile = json.load(f)
    strings = profile["shared"]["stringArray"]
    for thread in profile["threads"]:
        frames, functions, stacks = thread["frameTable"], thread["funcTable"], thread["stackTable"]

        def frame_of(i, frames=frames, functions=functions):
            function = frames["func"][i]
            file = functions["fileName"][function]
            return strings[functions["name"][function]], strings[file] if file is not None else "", frames["line"][i]
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            found = []
            while stack is not None:
                found.append(frame_of(stacks["frame"][stack]))
                stack = stacks["prefix"][stack]
            yield found[::-1], weight


def sampled_script(interpreter, flags, files, *options, rate=2499, seconds=0.4, burned=0.1):
    """
    The profile of a program that prints "ready" and runs until it is killed, and in .said what it printed before. @files are
    (name, text) in a folder of their own ("{}" in @flags), the first one is the program.
    """
    with directory() as d:
        for name, text in files:
            with open(os.path.join(d, name), "w", encoding="utf-8") as f:
                f.write(text)
        script = os.path.join(d, files[0][0])
        with Fixture("interpreter", *(flag.replace("{}", d) for flag in flags), script, path=interpreter, until="ready") as f:
            if burned:
                wait_burned(f.pid, burned)
            result = run("-p", f.pid, "-F", rate, "-d", seconds, "-f", "folded", *options).ok()
            result.said = f.lines
    return result


def near(got, expected, n, *what):
    """A share of @n samples, within three standard errors, and what no sampling at known times gets nearer to."""
    check(abs(got - expected) < 0.03 + 3 * (expected * (1 - expected) / n) ** 0.5, *what, got, expected, n)


def made_in_turn(profile, least, *what, frame=r"\bmade_{}$"):
    """Of functions made_0 to made_6, each made where the last one was, each has its share; all together at least @least."""
    made = {i: profile.count(lambda s, i=i: s.any(frame.format(i))) for i in range(7)}
    total = sum(made.values())
    check(total > least * profile.count(), *what, made, profile.head())
    for i, n in made.items():
        near(n / total, 1 / 7, total, *what, i, made)


def executed_run(command, suffix, text):
    """Of processes that @command starts with a file of @text, one after the other."""
    with directory() as d:
        script = os.path.join(d, "script" + suffix)
        with open(script, "w", encoding="utf-8") as f:
            f.write(text)
        return run("-F", 999, "-f", "folded", "--", "sh", "-c", f'for i in 1 2 3 4 5 6 7 8 9 10; do {command} "{script}"; done').ok()


def executed(command, suffix, text):
    """... their stacks that are whole."""
    return executed_run(command, suffix, text).profile.where(lambda s: not s.cut)


def in_one_of_three(test):
    """
    @test passes in one of three runs. A process of 20 ms may have no names while our thread, which says what it runs, waits for
    a CPU: where another ebprof has its programs loaded the kernel does not leave that for as long (without preemption).
    """
    for left in (2, 1, 0):
        try:
            return test()
        except AssertionError:
            if not left:
                raise
