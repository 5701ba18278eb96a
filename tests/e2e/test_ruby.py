# SPDX-License-Identifier: MIT
"""
Frames of Ruby, by every CRuby that is here: whole stacks to <main>, shares, lines, native frames between them. Each program says
what it is to be; its functions are told by names of the test's own. EBPROF_RUBIES: more of them, with ":" between.
"""
import functools
import os
import re
import shutil
import subprocess

from harness import Fixture, Profile, calls, calls_by_line, check, directory, equal, run, run_burned, share, skip, wait_burned
from interpreters import executed, made_in_turn, near, sampled_script
from told import RUBY, as_told, ruby_plain

KNOWN = ("2.7", "3.1", "3.3")


@functools.cache
def version(path):
    out = subprocess.run([path, "--disable-gems", "-e", "puts RUBY_VERSION"], capture_output=True, text=True, check=False)
    return ".".join(out.stdout.split(".")[:2]) if not out.returncode else ""


def rubies():
    paths = [shutil.which("ruby"), *os.environ.get("EBPROF_RUBIES", "").split(":")]
    found = [p for p in paths if p and os.path.exists(p) and version(p) in KNOWN]
    if not found:
        skip("no Ruby of " + ", ".join(KNOWN) + " is installed")
    return found


def has_yjit(path):
    out = subprocess.run([path, "--disable-gems", "--yjit", "-e", "p RubyVM::YJIT.enabled?"], capture_output=True, text=True, check=False)
    return out.stdout == "true\n"


def sampled(ruby, program, *options, flags=("--disable-gems",), **how):
    """The profile of @program, which prints "ready" and runs until it is killed."""
    text = "def ready() $stdout.puts 'ready'; $stdout.flush end\n" + program
    return sampled_script(ruby, flags, [("script.rb", text)], *options, **how)


def ruby_stacks(result):
    """Complete stacks, which all lead to <main>."""
    profile = result.profile.where(lambda s: not s.cut and s.any("^ruby_run_node$"))
    check(profile.count() > 20, result.err)
    rootless = profile.where(lambda s: "<main>" not in s.frames)
    check(rootless.count() <= max(1, 0.01 * profile.count()), "without <main>:", rootless.head())
    return profile


TREE = """
def spin(n)
  i = 0
  while i < n do i += 1 end
end
# Of no fixed length: the clock that samples would keep step with it.
$length = 10000
module Some
  class Thing
    def one() spin($length) end
    def three() tap { |x| spin(3 * $length) } end
    def self.two() spin(2 * $length) end
  end
end
def main
  ready
  thing = Some::Thing.new
  while true
    $length = 5000 + $length * 7919 % 10007
    thing.one
    thing.three
    Some::Thing.two
  end
end
main
"""


def test_tree():
    for ruby in rubies():
        profile = ruby_stacks(sampled(ruby, TREE))
        n = profile.count()
        for name, expected in (("Some::Thing#one", 1 / 6), ("block in Some::Thing#three", 3 / 6), ("Some::Thing.two", 2 / 6)):
            near(share(profile, name), expected, n, ruby, name)
        for s in profile.where(lambda s: "Object#spin" in s.frames):
            check(calls(s, "<main>", "Object#main", "Object#spin"), ruby, s)
        for s in profile.where(lambda s: "block in Some::Thing#three" in s.frames):
            check(calls(s, "<main>", "Object#main", "Some::Thing#three", "Kernel#tap", "block in Some::Thing#three"), ruby, s)


def exec_frames(s):
    """Of the interpreter's own frames, which stripped libraries have no names of: those that lead to the program's first."""
    return s.frames[s.frames.index("ruby_run_node") + 1:s.frames.index("<main>")]


def test_native_option():
    """The interpreter's own frames are there as well, before what they run."""
    for ruby in rubies():
        without = ruby_stacks(sampled(ruby, TREE))
        profile = ruby_stacks(sampled(ruby, TREE, "--native"))
        inside = profile.where(lambda s: "Object#spin" in s.frames)
        check(inside.count() > 0.8 * profile.count(), ruby, profile.head())
        least = min(len(exec_frames(s)) for s in without)
        check(all(len(exec_frames(s)) >= least + 2 for s in inside), ruby, without.head(1), inside.head(1))
        check(all(calls(s, "<main>", "Object#main", "Object#spin") for s in inside), ruby, inside.head())


def test_callbacks():
    """Methods in C, which call back: between them and their blocks are native frames."""
    program = ("def spin(n) while n > 0 do n -= 1 end end\n"
               "def keyed() [3, 1, 2].sort_by { |x| spin(3000); x } end\n"
               "ready\n"
               "while true do keyed end\n")
    for ruby in rubies():
        profile = ruby_stacks(sampled(ruby, program))
        inside = profile.where(lambda s: "Object#spin" in s.frames)
        check(inside.count() > 0.7 * profile.count(), ruby, profile.head())
        for s in inside:
            check(calls(s, "<main>", "Object#keyed", "Enumerable#sort_by", "Array#each", "rb_yield", "block in Object#keyed",
                        "Object#spin"), ruby, s)


def test_as_ruby_says():
    """The frames are those that the program itself says of a place that it stays at."""
    program = ("def here() $told ||= (puts(caller(0).map { |c| 'at ' + c }); ready; true); n = 0; n += 1 while n < 300 end\n"
               "class A\n"
               "  def each\n"
               "    begin\n"
               "      raise 'x'\n"
               "    rescue\n"
               "      [1].each { |x| [2].map { |y| yield x } }\n"
               "    end\n"
               "  end\n"
               "  define_method(:made) { |&b| each(&b) }\n"
               "end\n"
               "def run(a) eval('a.made { here }', binding, 'text', 77) end\n"
               "A.new.instance_eval do\n"
               "  while true do run(self) end\n"
               "end\n")
    bare = re.compile(r"at .*:\d+:in [`'](.*)'$")
    for ruby in rubies():
        with directory() as d:
            script = os.path.join(d, "script.rb")
            with open(script, "w", encoding="utf-8") as f:
                f.write("def ready() $stdout.puts 'ready'; $stdout.flush end\n" + program)
            with Fixture("ruby", "--disable-gems", script, path=ruby) as f:
                told = [bare.match(" ".join(words)) for words in f.lines if words[0] == "at"]
                wait_burned(f.pid, 0.1)
                result = run_burned(f.pid, 0.3, "-F", 1999, "-f", "folded").ok()
        told = [ruby_plain(m[1]) for m in told][::-1]
        equal((told[0], told[-1]), ("<main>", "here"), ruby)
        profile = ruby_stacks(result).where(lambda s: "Object#here" in s.frames)
        check(profile.count() > 20, ruby, result.err)
        same = profile.count(lambda s: [f for f in map(ruby_plain, s.frames) if f in told] == told)
        check(same > 0.97 * profile.count(), ruby, same, profile.count(), told, profile.head(1))


def test_lines():
    """The lines of a method are those of its calls."""
    program = ("def spin(n)\n"
               "  while n > 0 do n -= 1 end\n"
               "end\n"
               "def work\n"
               "  while true\n"
               "    spin(\n"
               "      1000)\n"
               "\n"
               "    spin(3000)\n"
               "  end\n"
               "end\n"
               "ready\n"
               "work\n")
    for ruby in rubies():
        lines = calls_by_line(sampled(ruby, program, "-f", "callgrind").out, "Object#work")
        total = sum(lines.values())
        check(total and lines.get(10, 0) + lines.get(7, 0) >= 0.98 * total, ruby, lines)
        check(abs(lines.get(10, 0) / total - 0.75) < 0.12, ruby, lines)


def test_long_method():
    """Lines behind the first words of a long method."""
    body = "  a = 1\n  b = a + 1\n" * 50
    program = (f"def spin(n) while n > 0 do n -= 1 end end\ndef long\n{body}  spin(3000)\n{body}end\nready\nwhile true do long end\n")
    for ruby in rubies():
        lines = calls_by_line(sampled(ruby, program, "-f", "callgrind").out, "Object#long")
        # Behind ready's line, and those of spin and long.
        check(lines.get(1 + 2 + 100 + 1, 0) > 0.9 * sum(lines.values()), ruby, lines)


def test_deep():
    program = ("def spin() while true do 1 + 1 end end\n"
               "def down(n)\n"
               "  if n > 0 then [n].each { |m| down(m - 1) }\n"
               "  else ready; spin end\n"
               "end\n"
               "down(100)\n")
    for ruby in rubies():
        profile = sampled(ruby, program).profile
        whole = profile.count(lambda s: s.frames.count("Object#down") == 101 and s.frames.count("block in Object#down") == 100
                              and "<main>" in s.frames and "Object#spin" in s.frames)
        check(whole >= 0.98 * profile.count() - 1, ruby, whole, profile.head(1))


def test_threads_fibers_and_ractors():
    """Each thread has its own frames, and those of the fiber that it runs; so has a Ractor (since 3.0)."""
    program = ("def spin(n) while n > 0 do n -= 1 end end\n"
               "def in_fiber() spin(30000) end\n"
               "def in_thread() spin(30000) end\n"
               "def fibers() f = Fiber.new { while true do in_fiber; Fiber.yield end }; while true do f.resume; Thread.pass end end\n"
               "def threads() while true do in_thread; Thread.pass end end\n"
               "Thread.new { fibers }\n"
               "Thread.new { threads }\n"
               "def in_ractor() while true do spin(30000) end end\n"
               "$VERBOSE = nil\n"
               "Ractor.new { in_ractor } if defined? Ractor\n"
               "ready\n"
               "sleep\n")
    for ruby in rubies():
        # A thread has its turn for 100 ms.
        profile = sampled(ruby, program, rate=999, seconds=1).profile.where(lambda s: not s.cut)
        fiber, thread, ractor = (profile.where(lambda s, n=n: f"Object#{n}" in s.frames) for n in ("in_fiber", "in_thread", "in_ractor"))
        check(version(ruby) < "3" or ractor.count() > 0.1 * profile.count(), ruby, profile.head(3))
        for s in ractor:
            check(calls(s, "block in <main>", "Object#in_ractor") and "Object#threads" not in s.frames, ruby, s)
        # These two have turns of 100 ms; the Ractor runs beside them, on another CPU if it can have one.
        turns = fiber.count() + thread.count()
        check(min(fiber.count(), thread.count()) > 0.1 * turns and turns > 0.1 * profile.count(), ruby, profile.head(3))
        for s in fiber:
            check(calls(s, "block in Object#fibers", "Object#in_fiber") and "Object#threads" not in s.frames, ruby, s)
        for s in thread:
            check(calls(s, "block in <main>", "Object#threads", "Object#in_thread") and "Object#fibers" not in s.frames, ruby, s)


def test_waits():
    """Which method waits: without the lock of the interpreter it has its frames, too."""
    program = ("def rest() sleep(0.01) end\n"
               "Thread.new { n = 0; while true do n += 1; Thread.pass if n % 100000 == 0 end }\n"
               "ready\n"
               "while true do rest end\n")
    for ruby in rubies():
        profile = Profile.read(sampled(ruby, program, "--off-cpu", burned=0).out)
        waiting = profile.where(lambda s: s.any(r"^\[blocked\]$") and "Object#rest" in s.frames)
        check(waiting.count() > 0, ruby, profile.head())
        check(all(calls(s, "<main>", "Object#rest", "Kernel#sleep") for s in waiting), ruby, waiting.head())


def test_executed_children():
    """Programs that begin and end while they are sampled have their names."""
    program = ("def spin() e = Process.clock_gettime(2) + 0.03; while Process.clock_gettime(2) < e do 1 + 1 end end\n"
               "def child() spin end\n"
               "child\n")
    for ruby in rubies():
        profile = executed(f"{ruby} --disable-gems", ".rb", program)
        inside = profile.where(lambda s: calls(s, "<main>", "Object#child", "Object#spin"))
        check(inside.count() > 30, ruby, profile.head(3))
        equal(profile.count(lambda s: s.any("unknown Ruby")), 0, ruby)


def test_code_that_is_made_again_and_again():
    """A method in the memory of one that is gone has its own name."""
    program = ("def run(i)\n"
               "  o = Object.new\n"
               "  o.instance_eval(\"def made_#{i}(n) while n > 0 do n -= 1 end end; made_#{i}(20000)\")\n"
               "end\n"
               "ready\n"
               "i = 0\n"
               "while true do run(i % 7); i += 1; GC.start if i % 50 == 0 end\n")
    for ruby in rubies():
        made_in_turn(ruby_stacks(sampled(ruby, program)), 0.1, ruby)


def test_names_of_all_kinds():
    program = ("class Grüße\n"
               "  def 漢字?(n) n.times { |k| k + 1 } end\n"
               "  def <=>(o) 200.times { |k| k + 1 } end\n"
               "  def self.[]=(a, b) 200.times { |k| k + 1 } end\n"
               "end\n"
               "g = Grüße.new\n"
               "ready\n"
               "while true do g.漢字?(200); g <=> 1; Grüße[1] = 2 end\n")
    for ruby in rubies():
        profile = ruby_stacks(sampled(ruby, program))
        n = profile.count()
        for name in ("Grüße#漢字?", "Grüße#<=>", "Grüße.[]="):
            near(share(profile, name), 1 / 3, n, ruby, name, profile.head(2))
            check(share(profile, "block in " + name) > 0.02, ruby, name, profile.head(2))
        near(share(profile, "Integer#times"), 1, n, ruby)


def test_yjit():
    """
    Code that YJIT has made: names, shares and whole stacks, and none of its own frames but by --native. Stacks that come before the
    tables of the library end in it: on a busy machine the first ten.
    """
    found = [ruby for ruby in rubies() if has_yjit(ruby)]
    if not found:
        skip("no Ruby with YJIT is installed")
    for ruby in found:
        result = sampled(ruby, RUBY, "--annotate", flags=("--yjit", "--disable-gems"), seconds=2)
        as_told(ruby, result, "_[r]", ruby_plain, cut=0.02)
        inner = result.profile.where(lambda s: s.frames[-1] == "Object#spin_[r]")
        check(inner.count() > 0.8 * result.profile.count(), ruby, result.profile.head())
        profile = ruby_stacks(sampled(ruby, RUBY, "--native", flags=("--yjit", "--disable-gems")))
        made = profile.where(lambda s: calls(s, "<main>", "Object#main", "Object#spin") and "[unknown]" in s.frames)
        check(made.count() > 0.7 * profile.count(), ruby, profile.head(3))


COLLECTED = """
def churn(n) a = []; n.times { |i| a << [i, i.to_s, {i => i}] }; a end
def spin(n) while n > 0 do n -= 1 end end
def collect() GC.start end
def cpu() Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) end
keep = churn(100000)
now, spent = cpu, GC.stat[:time]
while cpu < now + 1 do 8.times { churn(5000); spin(100000) }; collect end
puts "collected #{spent ? (GC.stat[:time] - spent) / 1000.0 / (cpu - now) : 0}"
"""


def test_collector():
    """The time that the collector has is that which Ruby says (since 3.1), and nothing else has its mark."""
    for ruby in rubies():
        with directory() as d:
            script, to = os.path.join(d, "script.rb"), os.path.join(d, "profile")
            with open(script, "w", encoding="utf-8") as f:
                f.write(COLLECTED)
            result = run("-F", 999, "-f", "folded", "-o", to, "--", ruby, "--disable-gems", script).ok()
            with open(to, encoding="utf-8") as f:
                profile = Profile.read(f.read()).where(lambda s: "<main>" in s.frames)
        told = float(re.search(r"collected ([\d.]+)", result.out)[1])
        marked = profile.where(lambda s: "[GC]" in s.frames)
        check(marked.count() > 0.05 * profile.count(), ruby, profile.head())
        if told:
            near(share(profile, "[GC]"), told, profile.count(), ruby)
        equal(marked.count(lambda s: "Object#spin" in s.frames), 0, ruby)
        collecting = profile.where(lambda s: "Object#collect" in s.frames)
        check(marked.count(lambda s: calls(s, "Object#collect", "GC.start", "[GC]")) > 0.9 * collecting.count(), ruby, collecting.head())
