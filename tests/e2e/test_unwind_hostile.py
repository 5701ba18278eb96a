# SPDX-License-Identifier: MIT
"""Stacks that cannot be unwound end with a reason, never with a wrong root, and spoil nothing else."""
from harness import Fixture, Profile, check, equal, run
from unwinding import ROOT, fit, leads_to, rooted, sampled

FAST = ("-F", 4999, "-d", "0.2s")
REASONS = {"depth", "unreadable", "no process", "no mapping", "no table", "no CFI", "unsupported CFI", "lost register",
           "bad CFA", "zero return address", "uprobe"}


def hostile(mode, *args):
    """(profile, its stacks that are cut), with what is always good checked."""
    result = sampled("unwind_hostile", mode, *args, rate=FAST)
    s, profile = result.summary, result.profile
    equal(s.lost, 0, "lost samples")
    check(s.taken > 100 and set(s.truncated_by) <= REASONS, result.err)
    sane = profile.where(lambda x: x.any("^sane_inner$"))
    check(not any(x.cut for x in sane), "good stacks are cut:", sane.head())
    leads_to(profile, "sane", "sane_inner", least=40)
    return profile, profile.where(lambda x: x.cut)


def begins(profile, leaf, *frames):
    """Uncut stacks that have the leaf are the chain, whatever it calls."""
    pattern = [*ROOT, *frames, leaf]
    for s in profile.where(lambda x: not x.cut and leaf in x.frames):
        at = s.frames.index(leaf) + 1
        check(fit(s.frames[:at], pattern) == len(pattern), s, pattern)


def test_stack_overwritten_while_sampled():
    profile, cut = hostile("overwrite")
    begins(profile, "overwriter", "spoiled")
    chains = [*ROOT, "sane", "sane_inner"], [*ROOT, "spoiled", "overwriter"], [*ROOT, r"(__)?strcmp.*"]
    wrong = profile.where(lambda s: not s.cut and not any((fit(s.frames, c) or 0) >= len(ROOT) for c in chains))
    check(wrong.count() == 0, "called complete:", wrong.head())
    check(cut.count() > 40 and all(s.has("spoiled", "overwriter") for s in cut), cut.head())
    check(all(len(s.frames) < 12 for s in cut), "frames out of noise:", cut.head())


def test_code_unmapped_while_on_the_stack():
    profile, cut = hostile("unmap")
    begins(profile, "unmapped", "caller", r"\[unknown\]")
    check(profile.count(lambda s: s.any("^unmapped$")) > 40, profile.head())
    check(all(s.any("^unmapped$") for s in cut), cut.head())


def test_unreadable_stack():
    profile, cut = hostile("unreadable")
    begins(profile, "protected", "deeper", "wide_frame")
    check(cut.count() > 40, profile.head())
    equal({s.cut[1] for s in cut}, {"unreadable"}, "reasons")
    check(all(s.frames[:2] == ["wide_frame", "protected"] for s in cut), cut.head())


def test_stack_that_is_not_in_memory():
    """
    A page that is paged out, or being moved: user space has it brought back, which no program in the kernel can. Where
    wide_frame() is about to leave, and waits for that page, it is the leaf's own: of that nothing was sent.
    """
    profile, cut = hostile("absent")
    begins(profile, "absent", "deeper", "wide_frame")
    absent = profile.where(lambda s: s.any("^absent$"))
    check(absent.count() > 100, profile.head())
    cut = cut.where(lambda s: s.any("^absent$"))
    check(cut.count() <= 0.02 * absent.count(), cut.head(), absent.count())


def test_run_time_code_without_frame_pointer():
    """Its instructions tell its caller; where they cannot be read that is said, and no caller invented."""
    profile, cut = hostile("frameless")
    leads_to(profile, "caller", r"\[unknown\]", "lost")
    check(not any(s.any("^(main|_start)$") for s in cut), cut.head())


def test_prologue_without_cfi():
    """What has no frame yet is known by the bytes at its instructions."""
    profile, cut = hostile("tiny")
    begins(profile, "asm_tiny", "caller")
    tiny = profile.count(lambda s: s.any("^asm_tiny$"))
    check(tiny > 20 and cut.count() <= 1, cut.head(), profile.head())


def test_many_mappings():
    profile, cut = hostile("maps", 3000)
    leads_to(profile, "caller", "asm_page", "mapped")
    check(cut.count() <= 1, cut.head())


def test_more_mappings_than_rows():
    """4096 can be known: the program's own, and as many of the others; the rest are no mappings, and that is said."""
    profile, cut = hostile("maps", 5000)
    leads_to(profile, "caller", "asm_page", "mapped", least=20)
    check({s.cut[1] for s in cut} <= {"no mapping"}, cut.head())
    rooted(profile)



def test_memory_whose_owner_does_not_answer():
    """It is as if it could not be read: the recording ends in time, and has all else."""
    with Fixture("unanswered", "code") as f:
        s = run("-p", f.pid, "-d", "1s", "-F", 999, "-U", timeout=20).ok().profile
    check(s.count(lambda x: x.has("busy") and not x.cut) > 0.5 * s.count() > 5, s.head())
    with Fixture("unanswered", "stack") as f:
        s = Profile.read(run("-p", f.pid, "-d", "1s", "--off-cpu", timeout=20).ok().out)
    equal([x.cut[1] for x in s if x.cut], ["unreadable"], "the stack of who sleeps")
