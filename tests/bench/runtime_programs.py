# SPDX-License-Identifier: MIT
"""
The program of tests/bench/runtimes.py in each language. What is between two lines of @@ is there once for each of NAMES, which @X@
stands for; it has so much to do as @PART@ says. @N@ is the size of a turn, which varies, lest a clock that samples keep step with it.
"""
import re

DEPTH, TURNS = 20, 10000    # a turn takes some 0.15 ms
NAMES, PARTS = ("a", "b", "c"), (6, 3, 1)

PYTHON = """
import sys, time
spent = [0, 0, 0]
@@
def prog_@X@1(n):
    s = 0
    for i in range(n): s = (s * 31 + i) & 0xffff
    return s
@@
@@
def prog_@X@(n): return prog_@X@1(n) + 1
@@
def mark(i, since):
    now = time.thread_time()
    spent[i] += now - since
    return now
def prog_turn(n):
    t = time.thread_time()
@@
    prog_@X@(@PART@ * n); t = mark(@I@, t)
@@
def prog_deep(k):
    if k: return prog_deep(k - 1)
    for i in range(@TURNS@): prog_turn(@N@ // 2 + i * 7919 % @N@)
def prog_main(): prog_deep(@DEPTH@ - 1)
prog_main()
print('took', *spent, flush=True)
if sys.argv[1] == 'stay': time.sleep(1000)
"""
NODE = """
const spent = [0, 0, 0];
let sink = 0;
@@
function prog_@X@1(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) & 0xffff; return s; }
@@
@@
function prog_@X@(n) { return prog_@X@1(n) + 1; }
@@
function clock() { const used = process.cpuUsage(); return (used.user + used.system) / 1e6; }
function mark(i, since) { const now = clock(); spent[i] += now - since; return now; }
function prog_turn(n) {
    let t = clock();
@@
    sink += prog_@X@(@PART@ * n); t = mark(@I@, t);
@@
}
function prog_deep(k) {
    if (k) return prog_deep(k - 1) + 1;
    for (let i = 0; i < @TURNS@; i++) prog_turn(@N@ / 2 + i * 7919 % @N@);
    return 1;
}
function prog_main() { return prog_deep(@DEPTH@ - 1) + 1; }
prog_main();
require('fs').writeSync(1, `took ${spent.join(' ')}\\n`);
if (process.argv[2] === 'stay') setTimeout(() => {}, 1e6);
"""
JAVA = """
public class Main {
    static final double[] spent = new double[3];
    static volatile long sink;
    static final java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
@@
    static long prog_@X@1(int n) { long s = 0; for (int i = 0; i < n; i++) s = s * 31 + (s >>> 7) + i; return s; }
@@
@@
    static long prog_@X@(int n) { return prog_@X@1(n) + 1; }
@@
    static double clock() { return threads.getCurrentThreadCpuTime() / 1e9; }
    static double mark(int i, double since) { double now = clock(); spent[i] += now - since; return now; }
    static void prog_turn(int n) {
        double t = clock();
@@
        sink += prog_@X@(@PART@ * n); t = mark(@I@, t);
@@
    }
    static int prog_deep(int k) {
        if (k > 0) return prog_deep(k - 1) + 1;
        for (int i = 0; i < @TURNS@; i++) prog_turn(@N@ / 2 + i * 7919 % @N@);
        return 1;
    }
    static int prog_main() { return prog_deep(@DEPTH@ - 1) + 1; }
    public static void main(String[] args) throws Exception {
        prog_main();
        System.out.println("took " + spent[0] + " " + spent[1] + " " + spent[2]);
        if (args[0].equals("stay")) Thread.sleep(1000000);
    }
}
"""
RUBY = """
$spent = [0, 0, 0]
def clock() = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
@@
def prog_@X@1(n)
  s = i = 0
  while i < n
    s = (s * 31 + i) & 0xffff
    i += 1
  end
  s
end
@@
@@
def prog_@X@(n) prog_@X@1(n) + 1 end
@@
def mark(i, since)
  now = clock
  $spent[i] += now - since
  now
end
def prog_turn(n)
  t = clock
@@
  prog_@X@(@PART@ * n); t = mark(@I@, t)
@@
end
def prog_deep(k)
  return prog_deep(k - 1) if k > 0
  i = 0
  while i < @TURNS@
    prog_turn(@N@ / 2 + i * 7919 % @N@)
    i += 1
  end
end
def prog_main() prog_deep(@DEPTH@ - 1) end
prog_main
puts "took #{$spent.join(' ')}"
$stdout.flush
sleep 1000 if ARGV[0] == 'stay'
"""
PHP = """<?php
$spent = [0, 0, 0];
@@
function prog_@X@1($n) { $s = 0; for ($i = 0; $i < $n; $i++) $s = ($s * 31 + $i) & 0xffff; return $s; }
@@
@@
function prog_@X@($n) { return prog_@X@1($n) + 1; }
@@
function now() {
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'] + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6;
}
function mark($i, $since) { global $spent; $now = now(); $spent[$i] += $now - $since; return $now; }
function prog_turn($n) {
    $t = now();
@@
    prog_@X@(@PART@ * $n); $t = mark(@I@, $t);
@@
}
function prog_deep($k) {
    if ($k) return prog_deep($k - 1);
    for ($i = 0; $i < @TURNS@; $i++) prog_turn(intdiv(@N@, 2) + $i * 7919 % @N@);
}
function prog_main() { prog_deep(@DEPTH@ - 1); }
prog_main();
echo "took ", implode(' ', $spent), "\\n";
if ($argv[1] == 'stay') sleep(1000);
"""
PERL = """
use Time::HiRes;
$| = 1;
my @spent = (0, 0, 0);
@@
sub prog_@X@1 { my $n = shift; my $s = 0; for (my $i = 0; $i < $n; $i++) { $s = ($s * 31 + $i) & 0xffff; } return $s; }
@@
@@
sub prog_@X@ { my $n = shift; return prog_@X@1($n) + 1; }
@@
sub now { return Time::HiRes::clock(); }
sub mark { my ($i, $since) = @_; my $now = now(); $spent[$i] += $now - $since; return $now; }
sub prog_turn {
    my $n = shift;
    my $t = now();
@@
    prog_@X@(@PART@ * $n); $t = mark(@I@, $t);
@@
}
sub prog_deep {
    my $k = shift;
    return prog_deep($k - 1) if $k;
    for (my $i = 0; $i < @TURNS@; $i++) { prog_turn(int(@N@ / 2) + $i * 7919 % @N@); }
}
sub prog_main { prog_deep(@DEPTH@ - 1); }
prog_main();
print "took @spent\\n";
sleep 1000 if $ARGV[0] eq 'stay';
"""


def filled(text, size):
    """The program, with turns of that size."""
    def each(block):
        return "".join(block[1].replace("@X@", x).replace("@PART@", str(part)).replace("@I@", str(i))
                       for i, (x, part) in enumerate(zip(NAMES, PARTS)))
    text = re.sub(r"@@\n(.*?)@@\n", each, text, flags=re.S)
    return text.replace("@TURNS@", str(TURNS)).replace("@DEPTH@", str(DEPTH)).replace("@N@", str(size))
