# SPDX-License-Identifier: MIT
"""
Programs that say of themselves how each place that they stay at is reached, "told WEIGHT OUTERMOST|...|INNERMOST", and the check that
the profile says the same: of one recording shares, whole stacks and names. How long a stay is varies around its weight, by turns of
eleven: rounds of one length may beat with the clock that samples.
"""
import re

from harness import check
from interpreters import near

RUBY = """
$told = {}
$turn = 0
def spin(n)
  $told[n] ||= (puts "told #{n} " + caller(0).map { |c| c[/in [`'](.*)'$/, 1] }.reverse.join('|'); true)
  $turn = ($turn + 1) % 11
  i = 2000 * n * (6 + $turn) / 11
  while i > 0 do i -= 1 end
end
module Some
  class Thing
    def one() spin(1) end
    def self.two() spin(2) end
    def three() tap { |x| spin(3) } end
    define_method(:four) { [1].each { |x| spin(4) } }
    def method_missing(name) eval('spin(5)') end
    def six() [1].sort_by { |x| spin(6) } end
  end
end
def all(thing)
  thing.one
  Some::Thing.two
  thing.three
  thing.four
  thing.five
  thing.six
end
def main
  thing = Some::Thing.new
  all(thing)
  ready
  while true do all(thing) end
end
main
"""

PHP = """
define('FIBERS', class_exists('Fiber'));
function spin($n) {
    static $told = [], $turn = 0;
    if (!isset($told[$n])) {
        $told[$n] = 1;
        $names = [];
        foreach (debug_backtrace() as $at)
            $names[] = in_array($at['function'], ['require', 'include', 'eval']) ? '<' . basename($at['args'][0] ?? $at['file']) . '>'
                : (isset($at['class']) ? $at['class'] . '::' . $at['function'] : $at['function']);
        echo "told $n <script.php>|", implode('|', array_reverse($names)), "\\n";
    }
    $turn = ($turn + 1) % 11;
    $end = 4000 * $n * (6 + $turn) / 11;
    for ($i = 0; $i < $end; $i++);
}
class Thing {
    function one() { spin(1); }
    static function two() { spin(2); }
    function __call($name, $args) { (function() { spin(3); })(); }
    static function order($a, $b) { spin(4); return 0; }
    function four() { $a = [1, 2]; usort($a, ['Thing', 'order']); }
    function inner() { spin(5); yield 1; }
    function outer() { yield from $this->inner(); }
    function __toString() { spin(6); return ''; }
    function five() { foreach ($this->outer() as $x); }
    function six() { strlen($this); }
    function seven() { if (FIBERS) { (new Fiber(function() { spin(7); }))->start(); } }
}
function all($thing) {
    $thing->one();
    Thing::two();
    $thing->three();
    $thing->four();
    $thing->five();
    $thing->six();
    $thing->seven();
}
function main() {
    $thing = new Thing;
    all($thing);
    echo "ready\\n";
    while (true) all($thing);
}
main();
"""

PERL = """
my (%told, $turn);
sub spin {
    my $n = shift;
    unless ($told{$n}++) {
        my (@names, $i);
        while (my @c = caller($i++)) { push @names, $c[3] }
        print "told $n <script.pl>|", join('|', reverse @names), "\\n";
    }
    $turn = ($turn + 1) % 11;
    my $end = 1000 * $n * (6 + $turn) / 11;
    for (my $i = 0; $i < $end; $i++) {}
}
package App::Thing;
use List::Util 'first';
sub new { bless {}, shift }
sub one { main::spin(1) }
sub AUTOLOAD { our $AUTOLOAD; main::spin(2) unless $AUTOLOAD =~ /DESTROY/ }
my $three = do { my $x = 1; sub { $x ? main::spin(3) : 0 } };
sub four { eval { main::spin(4); 1 } }
sub compare { main::spin(5); 0 }
sub five { my @x = sort compare 2, 1 }
sub six { first { main::spin(6); 1 } 1 }
sub seven { eval 'main::spin(7)' }
sub all { my $x = shift; $x->one; $x->two; $three->(); four(); five(); six(); seven() }
package main;
sub main {
    my $thing = App::Thing->new;
    $thing->all;
    print "ready\\n";
    while (1) { $thing->all }
}
main();
"""


def ruby_plain(name):
    """Without a method's class, which is in ours, and in those of newer Rubies."""
    return re.sub(r"[\w:]+[#.](?=\w+$)", "", name)


def as_told(who, result, mark, plain=str, cut=0.001):
    """
    @mark: how --annotate ends the language's frames. @plain: a name without what one of both does not say. @cut: part of the stacks that
    may be.
    """
    told = {tuple(" ".join(words[2:]).split("|")): int(words[1]) for words in result.said if words[:1] == ["told"]}
    check(len(told) >= 6, who, result.said)
    ended = result.profile.where(lambda s: s.cut)
    n = result.profile.count()
    check(n > 100 and ended.count() <= max(1, cut * n), who, f"{ended.count()} of {n} cut:", ended.head(), result.err)
    counts, strange = dict.fromkeys(told, 0), 0
    plainly = {tuple(map(plain, path)): path for path in told}
    prefixes = {path[:i] for path in plainly for i in range(len(path) + 1)}
    for stack in result.profile.where(lambda s: not s.cut):
        names = tuple(plain(f[:-len(mark)]) for f in stack.frames if f.endswith(mark) and not f.startswith("[GC]"))
        if names in plainly:
            counts[plainly[names]] += stack.count
        elif names not in prefixes:
            strange += stack.count
            check(strange <= max(1, 0.005 * n), who, "not told:", names, told)
    total = sum(counts.values())
    check(total > 0.8 * n, who, counts, result.profile.head())
    for path, weight in told.items():
        near(counts[path] / total, weight / sum(told.values()), total, who, path, counts)
