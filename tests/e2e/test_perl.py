# SPDX-License-Identifier: MIT
"""
Frames of Perl, by every perl that is here, and those that EBPROF_PERLS lists (paths, by ":"; a folder is entered by
chroot): whole stacks to the program, shares, lines, and native frames between them. Each program says what it is to be:
by names of the test's own, and by Perl's own caller() at the place where it stays.
"""
import functools
import os
import re
import subprocess

from harness import Fixture, Profile, calls, calls_by_line, check, directory, run, skip, wait_burned
from interpreters import executed, in_one_of_three, made_in_turn, near, sampled_script

LOOP = r"^Perl_runops_standard(_\[.\])?$"
MAIN = "<script.pl>"


@functools.cache
def version(path):
    out = subprocess.run([path, "-MConfig", "-e", "print int(1000 * $] + 0.5), ' ', $Config{usethreads} ? 1 : 0"],
                         capture_output=True, text=True, check=False)
    found = re.match(r"5(\d+) 1$", out.stdout)
    return int(found[1]) if found else 0


def perls():
    """Paths; what EBPROF_PERLS lists has the environment that it needs (a script that starts it, say)."""
    paths = [p for p in ("/usr/bin/perl", "/usr/local/bin/perl") if os.path.exists(p)]
    paths += [p for p in os.environ.get("EBPROF_PERLS", "").split(":") if p]
    found = [p for p in paths if version(p) in range(28, 44, 2)]
    if not found:
        skip("no threaded Perl from 5.28 to 5.42 is installed")
    return found


def sampled(perl, program, *options, files=(), **how):
    """The profile of @program, which prints "ready" and runs until it is killed, and what it said before."""
    return sampled_script(perl, ("-I{}",), [("script.pl", "$| = 1;\n" + program), *files], *options, **how)


def whole(perl, profile):
    """Complete stacks, which all lead to the program."""
    profile = profile.where(lambda s: not s.cut)
    check(profile.count() > 20, perl, profile.head())
    rootless = profile.where(lambda s: MAIN not in s.frames)
    check(rootless.count() <= max(1, 0.01 * profile.count()), perl, "without the program:", rootless.head())
    left = profile.where(lambda s: s.any(LOOP) and not re.search(LOOP, s.frames[-1]))
    check(left.count() <= max(2, 0.01 * profile.count()), perl, "the interpreter's own frames:", left.head())
    return profile


TREE = """
package App::Sub;
sub spin { my $n = shift; my $s = 0; for (my $i = 0; $i < $n; $i++) { $s += $i } $s }
sub one { spin(2000) }
sub App::Thing::method { spin(4000) }
my $closure = do { my $x = 1; sub { $x ? spin(6000) : 0 } };
sub main {
    print "ready\\n";
    while (1) { one(); App::Thing->method; $closure->(); eval { spin(8000); 1 } }
}
main();
"""


def test_tree():
    for perl in perls():
        profile = whole(perl, sampled(perl, TREE).profile)
        n = profile.count()
        for name, expected in (("App::Sub::one", 0.1), ("App::Thing::method", 0.2), ("App::Sub::__ANON__", 0.3), ("(eval)", 0.4)):
            got = profile.count(lambda s, name=name: name in s.frames) / n
            near(got, expected, n, perl, name)
        for s in profile.where(lambda s: "App::Sub::spin" in s.frames):
            check(calls(s, MAIN, "App::Sub::main", "App::Sub::spin"), perl, s)


# What Perl says of its stack at the place where it stays; a file that was required has its own name there.
CALLER = """
sub spin {
    my @trace; my $i = 0;
    while (my @c = caller($i++)) { push @trace, $c[7] ? '<' . ($c[6] =~ s{.*/}{}r) . '>' : $c[3] }
    binmode STDOUT, ":utf8";
    print join('|', @trace), "\\nready\\n";
    while (1) { for (my $i = 0; $i < 1000; $i++) {} }
}
"""


def caller(program, *files, between=None):
    """Where the program stays, the frames are those that Perl itself tells; @between: some of them, and C's there."""
    for perl in perls():
        result = sampled(perl, CALLER + program, "--annotate", files=files)
        told = " ".join(result.said[-2]).split("|")[::-1]
        profile = result.profile.where(lambda s: not s.cut)
        check(profile.count() > 20, perl, result.err)
        right = profile.where(lambda s, told=told: [f[:-4] for f in s.frames if f.endswith("_[l]")] == [MAIN] + told)
        check(right.count() >= 0.99 * profile.count() - 1, perl, told, f"{right.count()} of {profile.count()}:", profile.head(3))
        check(right.count(lambda s: s.any(LOOP)) == 0, perl, right.head(3))
        if between:
            bare = [re.sub(r"_\[l\]$", "", "|".join(s.frames).replace("_[l]|", "|")) for s in right]
            check(all(re.search(between, frames) for frames in bare), perl, between, bare[:3])


def test_caller_calls():
    caller("""
package Base { sub new { bless {}, shift } sub AUTOLOAD { our $AUTOLOAD; return if $AUTOLOAD =~ /DESTROY/; main::made(); } }
package Thing { our @ISA = 'Base'; }
use utf8; use feature 'lexical_subs', 'current_sub'; no warnings;
sub made { my sub inner { grep { main::über() } 1 } inner() }
sub über { for my $x (1) { while (1) { if (1) { eval { eval 'sub { spin() }->()' } } } } }
*alias = sub { Thing->new->magic };
sub down { $_[0] ? down($_[0] - 1) : &alias }
down(30);
""")


def test_caller_callbacks():
    """C that calls back: there are several runs of the interpreter."""
    caller("""
package Tied { sub TIESCALAR { bless [] } sub FETCH { main::matched() } }
package Over { use overload '+' => sub { my $x = "$_[0]"; 1 }, '""' => sub { main::tied(); 'text' }; }
package Gone { sub DESTROY { my $x = bless([], 'Over') + 1; } }
sub compare { my $gone = bless [], 'Gone'; undef $gone; 0 }
sub tied { tie my $t, "Tied"; my $x = $t }
sub matched { "a" =~ /(?{ called() })a/ }
sub called { my @x = sort { sorted($a, $b) } 2, 1 }
sub sorted { eval { spin() } }
my @x = sort compare 2, 1;
""", between=r"\|main::compare\|\(eval\)\|[^:]+\|Gone::DESTROY\|")


def test_caller_evals_in_callbacks():
    """An eval has a loop of its own, which goes on behind it."""
    caller("""
use List::Util qw(first reduce);
sub last_one { my @x = sort { eval { 1 }; spin() } 2, 1 }
sub next_one { first { eval { last_one() } } 1, 2 }
reduce { eval { 1 }; next_one() } 1, 2;
""", between=r"\|main::__ANON__\|\(eval\)\|main::last_one\|[^:]+\|main::spin\|?")


def test_caller_files():
    caller("require Other;\n", ("Other.pm", "package Other; eval { do './none'; require 'third.pl' } or die $@; 1;"),
           ("third.pl", "package Third; sub import { main::spin() } Third->import; 1;"))


def test_sort():
    """Time between two calls is sort's own, not that of what compares."""
    program = """
my @x = map { $_ * 7919 % 1009 } 1 .. 2000;
sub compare { $a <=> $b || 1 }
sub sorting { my @y = sort compare @x; }
print "ready\\n";
while (1) { sorting() }
"""
    for perl in perls():
        profile = whole(perl, sampled(perl, program).profile)
        compared = profile.where(lambda s: "main::compare" in s.frames)
        check(compared.count() > 0.3 * profile.count(), perl, profile.head())
        check(all(calls(s, "main::sorting", "Perl_pp_sort", "main::compare") for s in compared), perl, compared.head())
        check(profile.count(lambda s: s.frames[-1] != "main::compare" and "main::compare" not in s.frames) > 0, perl, profile.head())


def test_native_option():
    for perl in perls():
        profile = sampled(perl, TREE, "--native").profile
        both = profile.where(lambda s: s.any(LOOP) and "App::Sub::spin" in s.frames)
        check(both.count() > 0.8 * profile.count(), perl, profile.head())
        for s in both:
            check(s.frames.index("App::Sub::spin") > next(i for i, f in enumerate(s.frames) if re.search(LOOP, f)), perl, s)


CHILD = """
use Time::HiRes 'clock';
sub spin { my $end = clock() + 0.02; while (clock() < $end) { for (my $i = 0; $i < 500; $i++) {} } }
sub child { spin() }
"""


def named(perl, profile):
    """All of these children's code has its names, from their first to their last moment."""
    inside = profile.where(lambda s: calls(s, MAIN, "main::child", "main::spin"))
    check(inside.count() > 10, perl, profile.head(3))
    running = profile.where(lambda s: s.any("^perl_run$") and s.frames[-1] != "perl_run")
    # While the kernel copies the page that has a frame, for it is written after a fork, it is nowhere to be read.
    bare = running.where(lambda s: MAIN not in s.frames and not s.any("^do_wp_page$") and not s.any(r"^Perl_my_exit"))
    check(bare.count() <= max(2, 0.01 * running.count()), perl, f"{bare.count()} of {running.count()}:", bare.head(5))
    check(profile.count(lambda s: s.any("unknown Perl")) == 0, perl, profile.head())


def test_executed_children():
    """Programs that begin and end while they are sampled."""
    for perl in perls():
        in_one_of_three(lambda perl=perl: named(perl, executed(perl, ".pl", CHILD + "child();")))


def test_fork_pool():
    """Children that live 20 ms each, forked from a process that runs: all have their names."""
    program = CHILD + """
print "ready\\n";
while (1) { unless (fork) { child(); kill 9, $$ } wait }
"""
    for perl in perls():
        named(perl, sampled(perl, program, burned=0).profile.where(lambda s: not s.cut))


def test_waits():
    """Which sub waits, and which has the time on the CPU."""
    program = """
sub rest { select undef, undef, undef, 0.01 }
sub work { for (my $i = 0; $i < 100000; $i++) {} }
print "ready\\n";
while (1) { rest(); work() }
"""
    for perl in perls():
        for option in ("--off-cpu", "--wall"):
            profile = Profile.read(sampled(perl, program, option, burned=0).out)
            waiting = profile.where(lambda s: s.any(r"^\[blocked\]$") and MAIN in s.frames)
            check(waiting.count() > 0, perl, option, profile.head())
            check(waiting.count(lambda s: "main::rest" in s.frames) > 0.95 * waiting.count(), perl, option, waiting.head())
            if option == "--wall":
                check(profile.count(lambda s: "main::work" in s.frames) > 0, perl, profile.head())


def test_threads():
    """Each has an interpreter of its own."""
    program = """
use threads;
sub spin { while (1) { for (my $i = 0; $i < 1000; $i++) {} } }
sub worker { spin() }
threads->create('worker');
print "ready\\n";
sub front { spin() }
front();
"""
    for perl in perls():
        profile = sampled(perl, program).profile.where(lambda s: "main::spin" in s.frames)
        for caller_of, other in (("main::worker", "main::front"), ("main::front", "main::worker")):
            of = profile.where(lambda s, caller_of=caller_of: caller_of in s.frames)
            check(of.count() > 0.3 * profile.count(), perl, caller_of, profile.head())
            check(of.count(lambda s, other=other: other in s.frames) == 0, perl, of.head())


def test_lines():
    """Of calls."""
    program = ("sub spin { for (my $i = 0; $i < $_[0]; $i++) {} }\n"
               "sub work {\n"
               "    while (1) {\n"
               "        spin(1000);\n"
               "\n"
               "        spin(\n"
               "            3000);\n"
               "    }\n"
               "}\n"
               "print \"ready\\n\";\n"
               "work();\n")
    for perl in perls():
        lines = calls_by_line(sampled(perl, program, "-f", "callgrind").out, "main::work")
        total = sum(lines.values())
        # The first line of the file is the test's.
        check(sum(lines.get(i, 0) for i in (5, 7, 8)) > 0.98 * total - 1, perl, lines)
        near(1 - lines.get(5, 0) / total, 0.75, total, perl, lines)


def test_code_that_is_made_again_and_again():
    """A sub in the memory of one that is gone has its own name."""
    program = """
sub spin { for (my $i = 0; $i < 5000; $i++) {} }
print "ready\\n";
for (my $k = 0; ; $k = ($k + 1) % 7) {
    eval "sub Made::made_$k { spin() } 1" or die;
    "Made"->can("made_$k")->();
    undef %Made::;
}
"""
    for perl in perls():
        made_in_turn(whole(perl, sampled(perl, program).profile), 0.5, perl)


def test_unknown_versions():
    """Their frames stay the interpreter's, and it is said."""
    symbols = subprocess.run(["nm", "-D", "/usr/bin/perl"], capture_output=True, text=True, check=False).stdout
    at = re.search(r"^([0-9a-f]+) R PL_version$", symbols, re.M)
    with open("/usr/bin/perl", "rb") as f:
        copy = bytearray(f.read())
    if not at or copy[int(at[1], 16)] not in range(28, 44, 2):
        skip("/usr/bin/perl does not have its version where its symbol says")
    copy[int(at[1], 16)] = 99
    with directory() as d:
        path = os.path.join(d, "perl")
        with open(path, "wb") as f:
            f.write(copy)
        os.chmod(path, 0o755)
        with Fixture("perl", "-e", '$| = 1; print "ready\\n"; while (1) {}', path=path, until="ready") as f:
            result = run("-p", f.pid, "-F", 499, "-d", 0.5, "-f", "folded").ok()
    check(re.search(r"functions of Perl are not shown: .*perl: Perl 5.99 is not known", result.err), result.err)
    check(result.profile.count(lambda s: s.any(LOOP)) > 10, result.profile.head())


def test_builds_without_threads():
    """Their frames are not found yet: those of the interpreter stay as they are, and it is said."""
    with Fixture("perl_unthreaded") as f:
        result = run("-p", f.pid, "-F", 499, "-d", 0.5, "-f", "folded").ok()
    check(re.search(r"functions of Perl are not shown: .*perl_unthreaded: built without threads", result.err), result.err)
    check(result.profile.count(lambda s: s.any(LOOP)) > 10, result.profile.head())


def test_program_that_is_real():
    """pod2man, with Debian's modules, on the biggest page of them, from its first moment to its last."""
    pods = subprocess.run(["find", "/usr/share/perl", "-name", "*.pod", "-o", "-name", "CPAN.pm", "-o", "-name", "CGI.pm"],
                          capture_output=True, text=True, check=False).stdout.split()
    if not os.path.exists("/usr/bin/pod2man") or not pods:
        skip("pod2man or a page for it is not installed")
    with directory() as d:
        result = run("-F", 999, "-f", "folded", "--", "/usr/bin/pod2man", max(pods, key=os.path.getsize), os.path.join(d, "page")).ok()
    profile = result.profile.where(lambda s: s.any("^perl_run$"))
    check(profile.count() > 100, result.err)
    inside = profile.where(lambda s: s.any("^Pod::Man::") and calls(s, "<pod2man>", "Pod::Simple::parse_file"))
    check(inside.count() > 0.5 * profile.count(), profile.head(5))
    check(profile.where(lambda s: "<pod2man>" not in s.frames).count() <= 0.03 * profile.count(), profile.head(5))
