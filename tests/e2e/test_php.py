# SPDX-License-Identifier: MIT
"""
Frames of PHP, by every PHP that is here, and those that EBPROF_PHPS lists (paths, by ":"): whole stacks to the script,
shares, lines, and native frames between them. Each program says what it is to be: by names of the test's own, and by
PHP's own backtrace at the place where it stays.
"""
import functools
import glob
import os
import re
import socket
import struct
import subprocess

from harness import Fixture, Profile, calls, calls_by_line, check, directory, equal, run, skip, wait_burned, wait_for
from interpreters import executed, in_one_of_three, made_in_turn, near, sampled_script
from told import PHP, as_told

PATTERNS = ("/usr/bin/php[78].*", "/usr/local/bin/php")
ENTRY = r"^execute_ex(_\[.\])?$"
MAIN = "<script.php>"


@functools.cache
def version(path):
    out = subprocess.run([path, "-n", "-r", "echo PHP_VERSION_ID, ' ', PHP_DEBUG;"], capture_output=True, text=True,
                         check=False)
    found = re.match(r"(\d+)\d\d (\d)$", out.stdout)
    return int(found[1]) if found and found[2] == "0" else 0


def phps():
    """(path, 100 * major + minor)"""
    paths = sorted({os.path.realpath(p) for pattern in PATTERNS for p in glob.glob(pattern)})
    paths += [p for p in os.environ.get("EBPROF_PHPS", "").split(":") if p]
    found = [(p, version(p)) for p in paths if "." not in os.path.basename(p)[-3:] or version(p)]
    found = [(p, v) for p, v in found if 703 <= v <= 805]
    if not found:
        skip("no PHP from 7.3 to 8.5 is installed")
    return found


def sampled(php, program, *options, flags=("-n",), files=(), **how):
    """The profile of @program, which prints "ready" and runs until it is killed, and what it said before."""
    texts = [(name, "<?php " + text) for name, text in (("script.php", program), *files)]
    return sampled_script(php, flags, texts, *options, **how)


def whole(php, profile, allowed=0.01):
    """Complete stacks, which all lead to the script."""
    profile = profile.where(lambda s: not s.cut)
    check(profile.count() > 20, php, profile.head())
    rootless = profile.where(lambda s: MAIN not in s.frames)
    check(rootless.count() <= max(1, allowed * profile.count()), php, "without the script:", rootless.head())
    left = profile.where(lambda s: s.any(ENTRY) and not re.search(ENTRY, s.frames[-1]))
    check(left.count() <= max(2, 0.02 * profile.count()), php, "the interpreter's own frames:", left.head())
    return profile


TREE = """namespace App\\Sub;
function spin($n) { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i; } return $s; }
class Thing {
    function method() { return spin(20000); }
    static function still() { return spin(30000); }
}
function one() { return spin(10000); }
function main() {
    $closure = function() { return spin(40000); };
    $thing = new Thing;
    echo "ready\\n";
    while (true) { one(); $thing->method(); Thing::still(); $closure(); }
}
main();
"""


def tree(php, number, profile):
    profile = whole(php, profile)
    n = profile.count()
    closure = "{closure:App\\Sub\\main():9}" if number >= 804 else "App\\Sub\\{closure}"
    for name, expected in (("App\\Sub\\one", 0.1), ("App\\Sub\\Thing::method", 0.2), ("App\\Sub\\Thing::still", 0.3), (closure, 0.4)):
        got = profile.count(lambda s, name=name: name in s.frames) / n
        near(got, expected, n, php, name)
    for s in profile.where(lambda s: "App\\Sub\\spin" in s.frames):
        check(calls(s, MAIN, "App\\Sub\\main", "App\\Sub\\spin"), php, s)


def test_tree():
    for php, number in phps():
        tree(php, number, sampled(php, TREE).profile)


def test_opcache():
    """Functions and names that are in shared memory."""
    for php, number in phps():
        # It leaves out files that were just written.
        flags = ("-d", "opcache.enable_cli=1", "-d", "opcache.jit=disable", "-d", "opcache.file_update_protection=0")
        tree(php, number, sampled(php, TREE, flags=flags).profile)


JITTED = """namespace App\\Sub;
function spin($n) { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i; } return $s; }
class Thing { function method() { return spin(20000); } }
function compare($a, $b) { for ($i = 0; $i < 2000; $i++); return $a - $b; }
function sorting() { $a = range(1, 50); usort($a, 'App\\Sub\\compare'); }
function matching() { return preg_match('/(\\w+)@(\\w+)\\.com|(foo|bar)+baz[0-9]{3,}x/', SUBJECT); }
function main() {
    $thing = new Thing;
    echo "ready\\n";
    while (true) { spin(10000); $thing->method(); sorting(); matching(); }
}
define('SUBJECT', str_repeat('lorem ipsum dolor foobarbaz12 ', 40));
main();
"""


def jitted(jit, *flags):
    """What switches opcache's JIT on; it leaves out files that were just written."""
    return (*flags, "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=64M", "-d", f"opcache.jit={jit}",
            "-d", "opcache.file_update_protection=0")


def of_jit(php, profile):
    """Of JITTED with --annotate --native: native frames lead from what was compiled to the root, with PHP's right ones among them."""
    paths = [("main",), ("main", "spin"), ("main", "Thing::method", "spin"), ("main", "sorting", "range"),
             ("main", "sorting", "usort", "compare"), ("main", "matching", "preg_match")]
    known = {(MAIN, *path[:i]) for path in paths for i in range(len(path) + 1)}
    n = profile.count()
    compiled = profile.where(lambda s: s.any(r"^\[unknown\]$"))
    check(n > 100 and compiled.count() > 0.5 * n, php, profile.head())
    right = 0
    for s in profile:
        names = tuple(f[:-4].replace("App\\Sub\\", "") for f in s.frames if f.endswith("_[h]"))
        check(not names or names in known, php, names)
        right += s.count * (not s.cut and s.frames[0] == "_start" and calls(s, "main", "zend_execute", "execute_ex"))
    check(right >= 0.99 * n, php, f"{right} of {n}:", profile.where(lambda s: s.cut or s.frames[0] != "_start").head())
    compared = compiled.where(lambda s: s.any(r"\bcompare_\[h\]$"))
    check(compared.count() > 0.1 * n, php, profile.head())
    # A function's frame is made before the interpreter is called for it.
    between = compared.where(lambda s: calls(s, "execute_ex", "usort_[h]", "zend_call_function", "execute_ex", "App\\Sub\\compare_[h]"))
    check(between.count() > 0.95 * compared.count(), php, compared.head())


def test_jit():
    """Code of opcache's JIT runs on the interpreter's frame: no name is another's, and stacks are whole; also below PCRE's JIT."""
    for php, number in phps():
        for jit in ("tracing", "function") if number >= 800 else ():
            of_jit((php, jit), sampled(php, JITTED, "--annotate", "--native", flags=jitted(jit)).profile)


def test_regular_expressions():
    """Code of PCRE's JIT has no call frame information: its instructions tell where its callers are."""
    program = ("function matching() { return preg_match('/(\\w+)@(\\w+)\\.com|(foo|bar)+baz[0-9]{3,}x/', SUBJECT); }\n"
               "define('SUBJECT', str_repeat('lorem ipsum dolor foobarbaz12 ', 40));\n"
               "echo \"ready\\n\";\nwhile (true) matching();\n")
    for php, _ in phps():
        profile = sampled(php, program, seconds=2).profile
        matched = profile.where(lambda s: "preg_match" in s.frames and s.any(r"^\[unknown\]$"))
        check(matched.count() > 0.5 * profile.count(), php, profile.head())
        # The first ones come before the tables that they need.
        check(matched.count(lambda s: not s.cut and calls(s, "main", MAIN, "matching", "preg_match")) > 0.95 * matched.count(), php,
              matched.where(lambda s: s.cut).head())


BACKTRACE = """
function spin() {
    $trace = [];
    foreach (debug_backtrace() as $at) {
        if (in_array($at['function'], ['require', 'include', 'eval']))
            $name = '<' . basename($at['args'][0] ?? $at['file']) . '>';
        else
            $name = isset($at['class']) ? $at['class'] . '::' . $at['function'] : $at['function'];
        $trace[] = $name;
    }
    echo implode('|', $trace), "\\nready\\n";
    for (;;) { $s = 0; for ($i = 0; $i < 1000; $i++) { $s += $i; } }
}
"""


def backtrace(program, *files, flags=("-n",)):
    """Where the program stays, the frames are those that PHP itself tells."""
    for php, _ in phps():
        result = sampled(php, BACKTRACE + program, "--annotate", files=files, flags=flags)
        told = " ".join(result.said[-2]).split("|")[::-1]
        profile = result.profile.where(lambda s: not s.cut)
        check(profile.count() > 20, php, result.err)
        right = profile.count(lambda s, told=told: [f[:-4] for f in s.frames if f.endswith("_[h]")] == [MAIN] + told)
        check(right >= 0.99 * profile.count() - 1, php, told, f"{right} of {profile.count()}:", profile.head(3))


def test_backtrace_calls():
    backtrace("""
trait Part { function part() { static::still(); } }
abstract class Base { function __call($name, $args) { (new Thing)->part(); } static function still() { spin(); } }
class Thing extends Base { use Part; static function still() { (function() { parent::still(); })(); } }
class Made { function __construct() { $x = new class extends Base {}; $x->magic(1); } }
function über() { new Made; }
function down($n) { $n ? down($n - 1) : über(); }
down(30);
""")


def test_backtrace_callbacks():
    """Internal functions that call back: there are several runs of the interpreter."""
    backtrace("""
class Order { static function compare($a, $b) { return array_sum(array_map('mapped', [$a])); } }
class Text { function __toString() { spin(); return ''; } }
class Many implements IteratorAggregate { function getIterator(): Iterator { $a = [1, 2]; usort($a, ['Order', 'compare']); } }
function mapped($x) { return strlen(new Text); }
function walk() { foreach (new Many as $x); }
call_user_func_array('walk', []);
""")


def test_backtrace_included_files():
    backtrace("function load() { require __DIR__ . '/first file.php'; }\nload();\n",
              ("first file.php", "(function() { include 'second.php'; })();"),
              ("second.php", "spin();"))


def test_backtrace_generators():
    """What waits for another generator is between it and what runs the first."""
    backtrace("""
function innermost() { yield 1; spin(); }
function inner() { yield from innermost(); }
function middle() { yield 0; yield from inner(); }
function outer() { yield from middle(); }
function run() { foreach (outer() as $x); }
function first() { yield from [1, 2]; run(); yield 3; }
function all() { $g = first(); $g->next(); $g->next(); $g->next(); }
all();
""")


def test_eval():
    for php, _ in phps():
        program = "function spin() { for ($i = 0; ; $i++); }\necho \"ready\\n\";\neval('function made() { spin(); } made();');"
        profile = whole(php, sampled(php, program).profile)
        for s in profile.where(lambda s: "spin" in s.frames):
            check(calls(s, MAIN, "<script.php(3) : eval()'d code>", "made", "spin"), php, s)
        check(profile.count(lambda s: "spin" in s.frames) >= 0.99 * profile.count() - 1, php, profile.head())


def test_native_between():
    """usort() calls back: its native frames are between it and the function that compares."""
    program = """
function compare($a, $b) { for ($i = 0; $i < 100; $i++); return $a - $b; }
function sorting() { $a = range(1, 200); usort($a, 'compare'); }
echo "ready\\n";
while (true) sorting();
"""
    for php, _ in phps():
        profile = whole(php, sampled(php, program).profile)
        compared = profile.where(lambda s: "compare" in s.frames)
        check(compared.count() > 0.3 * profile.count(), php, profile.head())
        check(all(calls(s, "sorting", "usort", "compare") for s in compared), php, compared.head())
        # A function's frame is made before the interpreter is called for it.
        between = compared.where(lambda s: calls(s, "usort", "zend_sort", "zend_call_function", "compare"))
        check(between.count() > 0.95 * compared.count(), php, compared.head())


def test_native_option():
    for php, _ in phps():
        profile = sampled(php, TREE, "--native").profile
        both = profile.where(lambda s: s.any(ENTRY) and "App\\Sub\\spin" in s.frames)
        check(both.count() > 0.8 * profile.count(), php, profile.head())
        for s in both:
            check(s.frames.index("App\\Sub\\spin") > next(i for i, f in enumerate(s.frames) if re.search(ENTRY, f)), php, s)


def test_deep_400():
    program = ("function spin() { echo \"ready\\n\"; for (;;) { for ($i = 0; $i < 1000; $i++); } }\n"
               "function down($n) { $n ? down($n - 1) : spin(); }\n"
               "down(400);\n")
    for php, _ in phps():
        profile = sampled(php, program).profile
        got = profile.count(lambda s: s.frames.count("down") == 401 and MAIN in s.frames and "spin" in s.frames)
        check(got >= 0.99 * profile.count() - 1, php, got, profile.head(2))


CHILD = """
function spin() { $end = hrtime(true) + 20000000; while (hrtime(true) < $end) { for ($i = 0; $i < 500; $i++); } }
function child() { spin(); }
"""


def named(php, profile):
    """All of these children's code has its names, from their first to their last moment."""
    inside = profile.where(lambda s: calls(s, MAIN, "child", "spin"))
    check(inside.count() > 10, php, profile.head(3))
    running = profile.where(lambda s: s.any("^zend_execute$") and s.frames[-1] != "zend_execute")
    # While the kernel copies the page that has a frame, for it is written after a fork, it is nowhere to be read.
    bare = running.where(lambda s: MAIN not in s.frames and not s.any("^do_wp_page$"))
    check(bare.count() <= max(2, 0.01 * running.count()), php, f"{bare.count()} of {running.count()}:", bare.head(5))
    equal(profile.count(lambda s: s.any("unknown PHP")), 0, php)


def test_executed_children():
    """Programs that begin and end while they are sampled."""
    for php, _ in phps():
        in_one_of_three(lambda php=php: named(php, executed(f"{php} -n", ".php", "<?php" + CHILD + "child();")))


def test_fork_pool():
    """Children that live 20 ms each, forked from a process that runs: all have their names."""
    program = CHILD + """
if (!function_exists('pcntl_fork')) exit("without pcntl");
echo "ready\\n";
while (true) { if (!pcntl_fork()) { child(); posix_kill(getmypid(), 9); } pcntl_wait($status); }
"""
    for php, number in phps():
        check(number >= 703)
        named(php, sampled(php, program, burned=0, flags=()).profile.where(lambda s: not s.cut))


def test_waits():
    """Which function waits, and which has the time on the CPU."""
    program = """
function rest() { usleep(10000); }
function work() { for ($i = 0; $i < 100000; $i++); }
echo "ready\\n";
while (true) { rest(); work(); }
"""
    for php, _ in phps():
        for option in ("--off-cpu", "--wall"):
            profile = Profile.read(sampled(php, program, option, burned=0).out)
            waiting = profile.where(lambda s: s.any(r"^\[blocked\]$") and MAIN in s.frames)
            check(waiting.count() > 0, php, option, profile.head())
            check(waiting.count(lambda s: calls(s, "rest", "usleep")) > 0.95 * waiting.count(), php, option, waiting.head())
            if option == "--wall":
                check(profile.count(lambda s: "work" in s.frames) > 0, php, profile.head())


def lines_of(text, function):
    """Costs of @function in a file of callgrind's, its own and of what it calls, by line."""
    names, out, inside = {}, {}, False
    for line in text.splitlines():
        m = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
        cost = re.match(r"(\d+) (\d+) ", line)
        if m:
            names.setdefault(m[2], m[3])
            inside = names[m[2]] == function if m[1] == "fn" else inside
        elif cost and inside:
            out[int(cost[1])] = out.get(int(cost[1]), 0) + int(cost[2])
    return out


def test_lines():
    """Of calls, and of what is run itself, which the interpreter has in a register alone."""
    # Of random lengths: rounds that are all alike may beat with the samples.
    program = ("\nfunction spin($n) {\n"
               "    $i = 0;\n"
               "    while ($i < $n) $i++;\n"
               "    $i = 0;\n"
               "    while ($i < $n) $i++;\n"
               "}\n"
               "function work() {\n"
               "    while (true) {\n"
               "        spin(mt_rand(1, 20000));\n"
               "\n"
               "        spin(\n"
               "            mt_rand(1, 60000));\n"
               "    }\n"
               "}\n"
               "echo \"ready\\n\";\n"
               "work();\n")
    for php, _ in phps():
        out = sampled(php, program, "-f", "callgrind").out
        lines = calls_by_line(out, "work")
        total = sum(lines.values())
        check(sum(lines.get(i, 0) for i in (10, 12, 13)) > 0.98 * total - 1, php, lines)
        near(1 - lines.get(10, 0) / total, 0.75, total, php, lines)
        lines = lines_of(out, "spin")
        total = sum(lines.values())
        check(total > 100 and lines.get(4, 0) + lines.get(6, 0) > 0.98 * total - 1, php, lines)
        near(lines.get(6, 0) / total, 0.5, total, php, lines)


def test_code_that_is_made_again_and_again():
    """A function in the memory of one that is gone has its own name."""
    program = """
function spin() { for ($i = 0; $i < 20000; $i++); }
echo "ready\\n";
for ($k = 0; ; $k = ($k + 1) % 7) {
    $made = eval("return new class { function made_$k() { spin(); } };");
    $made->{"made_$k"}();
}
"""
    for php, _ in phps():
        made_in_turn(whole(php, sampled(php, program).profile), 0.5, php)


def test_thread_safe_builds():
    """Where it is not found how they have globals of threads, the interpreter's frames stay as they are, and it is said."""
    with Fixture("php_threads") as f:
        result = run("-p", f.pid, "-F", 499, "-d", 0.5, "-f", "folded").ok()
    check(re.search(r"functions of PHP are not shown: .*php_threads: a thread-safe build", result.err), result.err)
    check(result.profile.count(lambda s: "execute_ex" in s.frames) > 10, result.profile.head())


EMBEDDED = """
function spin() { for ($i = 0; $i < 10000; $i++); }
function page() { echo "ready\n"; while (true) spin(); }
page();
"""


def test_thread_that_is_not_the_first():
    """Where PHP runs in one, what the first does has no frames of PHP."""
    libraries = sorted(glob.glob("/usr/lib/libphp[78].*[0-9].so"))
    if not libraries:
        skip("no libphp is installed (libphp-embed)")
    for library in libraries:
        with Fixture("php_embed", library, EMBEDDED) as f:
            wait_burned(f.pid, 0.1)
            result = run("-p", f.pid, "-F", 999, "-d", 1, "-f", "folded").ok()
        profile = result.profile.where(lambda s: not s.cut)
        for mine, other, calling in (("page", "native", "run_php"), ("native", "page", "main")):
            own = profile.where(lambda s, mine=mine: mine in s.frames)
            check(own.count() > 0.2 * profile.count(), library, mine, profile.head())
            check(own.count(lambda s, other=other: other in s.frames) == 0, library, own.head())
            check(all(calls(s, calling, mine) for s in own), library, own.head())
        spinning = profile.where(lambda s: "page" in s.frames)
        check(spinning.count(lambda s: calls(s, "page", "spin")) > 0.9 * spinning.count(), library, spinning.head())


def fcgi(kind, body=b""):
    return struct.pack(">BBHHBB", 1, kind, 1, len(body), 0, 0) + body


def ask(path, script):
    """Asks the php-fpm that listens at @path to run @script."""
    s = socket.socket(socket.AF_UNIX)
    wait_for(lambda: not s.connect_ex(path), "php-fpm to listen")
    pairs = (("SCRIPT_FILENAME", script), ("REQUEST_METHOD", "GET"))
    parameters = b"".join(bytes([len(k), len(v)]) + k.encode() + v.encode() for k, v in pairs)
    s.sendall(fcgi(1, struct.pack(">HB5x", 1, 0)) + fcgi(4, parameters) + fcgi(4) + fcgi(5))
    return s


def test_fpm():
    """Requests are one after the other, with opcache, in a worker that the pool has forked."""
    fpms = sorted(glob.glob("/usr/sbin/php-fpm[78].*"))
    if not fpms:
        skip("php-fpm is not installed")
    for fpm in fpms:
        with directory() as d:
            path, conf, script = (os.path.join(d, name) for name in ("socket", "fpm.conf", "script.php"))
            with open(conf, "w", encoding="utf-8") as f:
                f.write("[global]\nerror_log = /dev/null\ndaemonize = no\n[www]\nuser = nobody\ngroup = nogroup\n"
                        f"listen = {path}\npm = static\npm.max_children = 1\n")
            with open(script, "w", encoding="utf-8") as f:
                f.write("<?php function page() { for (;;) { for ($i = 0; $i < 1000; $i++); } }\nset_time_limit(0);\npage();\n")
            with Fixture("php-fpm", "-R", "-n", "-y", conf, path=fpm, until=None) as f, ask(path, script):
                result = run("-p", f.pid, "-F", 999, "-d", 1, "-f", "folded").ok()
        profile = whole(fpm, result.profile)
        check(profile.count(lambda s: calls(s, MAIN, "page")) >= 0.98 * profile.count() - 1, fpm, profile.head())


def test_as_told():
    """Names, shares and whole stacks of one recording: also of a fiber."""
    for php, _ in phps():
        as_told(php, sampled(php, PHP, "--annotate"), "_[h]")
