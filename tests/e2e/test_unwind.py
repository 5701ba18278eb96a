# SPDX-License-Identifier: MIT
"""User stacks are whole without frame pointers: each test knows the chain of calls, from the root to the leaf."""
import os
import re
import shutil
import subprocess

from harness import (Fixture, Profile, check, directory, equal, finish, fixture_path, in_tracefs, needs, run, start, wait_for,
                     wait_sampling)
from unwinding import ROOT, chain, fit, recorded, sampled, whole


def shape(name, *frames, args=(), fixture="unwind_shapes"):
    chain(whole(sampled(fixture, name, *args)), *frames)


def test_c_26_deep():
    shape("deep", *["down"] * 26, "leaf", args=("25",))


def test_c_300_deep():
    shape("deep", *["down"] * 300, "leaf", args=("299",))


def test_frames_of_400_bytes():
    shape("wide", *["wide"] * 100, "leaf", args=("99",))


def test_deeper_than_the_limit():
    result = sampled("unwind_shapes", "deep", "700")
    equal(set(result.summary.truncated_by), {"depth"}, result.profile.head())
    check(result.summary.complete <= 1, result.err)
    check(all(s.cut and s.cut[1] == "depth" and s.frames == ["down"] * 510 + ["leaf"] for s in result.profile),
          result.profile.head(2))


def test_max_frames():
    result = sampled("unwind_shapes", "deep", "99", options=("--max-frames", 20))
    check(all(s.cut and s.frames == ["down"] * 19 + ["leaf"] for s in result.profile), result.profile.head(2))


def test_qsort_callback():
    """Between sorting and compare is libc alone: qsort, and its recursion, which has no name."""
    profile = whole(sampled("unwind_shapes", "qsort"))
    for s in profile.where(lambda s: not s.cut):
        check("sorting" in s.frames, s)
        at = s.frames.index("sorting") + 1
        check(fit(s.frames[:at], [*ROOT, "sorting"]) == len(ROOT) + 1, s)
        check(s.frames[-2:] == ["compare", "leaf"] and len(s.frames) > at + 2, s)
        check(all(re.fullmatch(r"(__)?qsort(_r)?|msort_with_tmp.*|\[libc.*\]", f) for f in s.frames[at:-2]), s)


def test_realigned_stack():
    shape("realign", "align", "realigned", "leaf")


def test_leaf_without_cfi():
    """Its first instruction tells that it has no frame yet; the jump at its end tells nothing, and is hit now and then."""
    chain(whole(sampled("unwind_shapes", "gap"), 0.02), "caller", "asm_gap")


def test_code_without_cfi():
    """It has a frame pointer; its instructions tell that, and nothing is guessed."""
    result = sampled("unwind_shapes", "pointer")
    chain(whole(result), "caller", "asm_pointer", "leaf")
    check(" 0.0% of the frames by frame pointer" in result.err, result.err)


def test_hand_written_code():
    """Neither CFI nor a frame pointer: a rescue follows the code to where it returns."""
    for name, frames in (("hand", ["asm_hand"]), ("hand-calls", ["asm_hand_calls", "leaf"])):
        profile = whole(sampled("unwind_shapes", name, rate=("-F", 4999, "-d", "0.4s")))
        chain(profile, "caller", *frames)


def test_cfa_in_another_register():
    shape("register", "caller", "asm_register")


def test_cfa_stored_in_the_frame():
    shape("slot", "caller", "asm_slot", "leaf")


def test_register_that_only_user_space_can_restore():
    """The caller's CFA is in a register that the leaf has saved: the rescue follows it, nothing else does."""
    result = sampled("unwind_shapes", "kept")
    chain(whole(result), "caller", "asm_kept", "asm_saves")
    n = result.summary.taken
    check(f"{n} of {n} rescued" in result.err, result.err)
    alone = sampled("unwind_shapes", "kept", options=("--no-rescue",))
    equal(set(alone.summary.truncated_by), {"lost register"}, alone.err)
    check(all(s.cut and s.frames == ["asm_kept", "asm_saves"] for s in alone.profile), alone.profile.head())


def test_rescue_after_what_cannot_be_rescued():
    """A second of stacks that lead nowhere, of which some are sent in vain, is not the end of it: the next ones are tried again."""
    with directory() as d:
        out = os.path.join(d, "o.folded")
        result = run("-U", "-F", 999, "-d", "6s", "-o", out, "--", fixture_path("unwind_shapes"), "late").ok()
        with open(out, encoding="utf-8") as f:
            profile = Profile.read(f.read())
    check(profile.count(lambda s: s.any("^moment$") and s.cut) > 20, "nothing was sent in vain:", profile.head())
    rescued = profile.where(lambda s: s.frames[-1:] == ["asm_saves"] and not s.cut)
    chain(rescued, "caller", "asm_kept", "asm_saves")
    check(rescued.count() > 0.3 * profile.count(), profile.head(), result.err)


def test_rescue_of_a_deep_stack():
    """
    48 KiB of frames, of which the kernel can leave none but the leaf's. At 1,999 Hz they may take a slow machine more than
    the fifth of the time that a process has.
    """
    profile = whole(sampled("unwind_shapes", "kept-deep", 120, rate=("-F", 499, "-d", "1s")))
    chain(profile, *["wide"] * 121, "asm_kept", "asm_saves")


def test_rescue_of_a_stack_deeper_than_is_sent():
    """
    120 KiB: what lies above what is sent is read from outside, as long as it is the same. 300 frames take half a
    millisecond, and a process has a fifth of the time: so not at 1,999 Hz.
    """
    profile = whole(sampled("unwind_shapes", "kept-deep", 300, rate=("-F", 199, "-d", "1s")))
    chain(profile, *["wide"] * 301, "asm_kept", "asm_saves")


def test_rescue_of_a_stack_that_has_just_grown():
    """The leaf's stack pointer is in a page that is not there yet; what is to be read lies above it."""
    shape("fresh", "caller", "asm_fresh", "asm_grows")


def test_rescue_of_a_frame_that_is_not_touched_yet():
    """Pages within a large frame are not there; the callers above them are."""
    shape("hollow", "caller", "asm_hollow", "asm_writes")


def test_rescue_in_an_epilogue():
    """Until the leaf returns, its CFI says that registers are below the stack pointer, though they are back already."""
    shape("popped", "caller", "asm_ends", "asm_pops")


def test_return_address_overwritten():
    for what, reason in (("zero", "zero return address"), ("wild", "no mapping"), ("odd", "bad CFA")):
        result = sampled("unwind_shapes", what)
        equal(set(result.summary.truncated_by), {reason}, result.err)
        equal(result.summary.complete, 0, result.profile.head())
        check(all(s.frames[-1] == f"asm_{what}" and len(s.frames) <= 2 for s in result.profile), result.profile.head())


def test_code_made_at_run_time():
    shape("jit", "caller", r"\[unknown\]", "leaf")


def test_code_made_at_run_time_without_frame_pointer():
    """A trampoline as CPython makes them: a frame pointer that points at zeros is no root, nor needed."""
    profile = whole(sampled("unwind_shapes", "trampoline", rate=("-F", 4999, "-d", "0.4s")))
    chain(profile, "caller", r"\[unknown\]", "leaf")


def test_code_moved_to_anonymous_memory():
    """Seen while it happens; from before the recording only the memory is left, which no file tells of."""
    profile = whole(run("-U", "-F", 999, "-d", "1.5s", "--", needs("sh"), "-c", 'exec "$1" remap >/dev/null', "sh",
                        fixture_path("unwind_shapes")), 0.003)
    moved = profile.where(lambda s: s.has("caller", "leaf"))
    check(moved.count() > 0.3 * profile.count(), profile.head())
    chain(moved, "caller", "leaf")


def test_frame_pointer_that_leads_to_itself():
    """Nor is there CFI; but the instructions lead to the caller."""
    chain(whole(sampled("unwind_shapes", "loop")), "caller", "asm_loop")


def test_stripped():
    profile = whole(sampled("unwind_shapes_bare", "deep", "25"))
    # What begins a program is known by its file, and main by who calls it.
    check(all(s.frames[0] == "_start" and "main" in s.frames for s in profile), profile.head())
    check(all(sum(f.startswith("[unwind_shapes_bare+") for f in s.frames) == 26 + 1 for s in profile), profile.head())


def test_exceptions_and_comparators():
    profile = whole(sampled("unwind_cpp"))
    check(all(s.frames[0] == "_start" for s in profile if not s.cut), profile.head())
    less = profile.where(lambda s: s.frames and s.frames[-1] == "less_than(int, int)")
    thrown = profile.where(lambda s: s.any(r"^thrower\(int\)"))
    check(less.count() > 30 and thrown.count() > 10, profile.head())
    check(all(s.any(r"^sorting\(") and "main" in s.frames for s in less), less.head())
    check(all(s.has("throwing()", *["deeper(int)"] * 5) for s in thrown), thrown.head())


def test_signal_handler():
    profile = whole(sampled("handler"))
    inside = profile.where(lambda s: s.has("on_signal", "in_handler"))
    check(inside.count() > 50, profile.head())
    check(all(s.frames[0] == "_start" and s.has("main") for s in inside), inside.head())
    check(inside.count(lambda s: s.any("^interrupted$")) > 0.9 * inside.count(), inside.head())


def say(path, text):
    """Appends to a file of tracefs, which knows no seeking and takes truncation for "remove all"."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def uprobes_in(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return "[uprobes]" in maps.read()


def test_uretprobe_of_another_tracer():
    """A return probe replaces the return address of `caller`: main is its caller all the same."""
    events, probes = in_tracefs("events"), in_tracefs("uprobe_events")
    path = fixture_path("unwind_shapes")
    symbols = subprocess.run([needs("nm"), path], capture_output=True, text=True, check=True).stdout
    offset = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T caller"))
    probe = f"ebprof_e2e_{os.getpid()}"
    say(probes, f"r:{probe}/back {path}:{offset:#x}\n")
    try:
        say(f"{events}/{probe}/back/enable", "1")
        with Fixture("unwind_shapes", "leaf") as f:
            wait_for(lambda: uprobes_in(f.pid), "the probe to be hit")
            chain(whole(recorded(f.pid, "-U")), "caller", "leaf")
    finally:
        say(f"{events}/{probe}/back/enable", "0")
        say(probes, f"-:{probe}/back\n")


def test_file_replaced_on_disk():
    """The file that was mapped is unwound, not the one that has its name now."""
    with directory() as d:
        path = shutil.copy(fixture_path("unwind_shapes"), os.path.join(d, "replaced"))
        with Fixture("unwind_shapes", "deep", "25", path=path) as f:
            proc = start("-p", f.pid, "-U", "-F", 999, "-d", "1s")
            wait_sampling(proc)
            os.rename(shutil.copy(needs("perl"), os.path.join(d, "other")), path)
            chain(whole(finish(proc).ok()), *["down"] * 26, "leaf")
            os.unlink(path)
            chain(whole(recorded(f.pid, "-U")), *["down"] * 26, "leaf")
