# SPDX-License-Identifier: MIT
"""
Programs as they run: rake with rdoc; prove with tests of a module of Perl's; a page of PHP with templates, hooks and regular expressions, in php-fpm and in Apache, asked for again
and again on loopback.
"""
import contextlib
import glob
import http.client
import os
import socket
import subprocess
import threading

from harness import Fixture, Profile, calls, check, directory, needs, run, skip, wait_for
from test_php import ask

RAKEFILE = """
require 'rdoc/task'
source = Gem.find_files('set.rb').first
RDoc::Task.new(:pages) { |r| r.rdoc_dir = 'pages'; r.rdoc_files = [source] }
task(default: :pages)
"""


def test_rake():
    """From its first moment to its last: whole stacks, which lead from the program to the task, and to what the task runs."""
    needs("rake")
    with directory() as d:
        with open(f"{d}/Rakefile", "w", encoding="utf-8") as f:
            f.write(RAKEFILE)
        result = run("-F", 999, "-f", "folded", "-o", f"{d}/profile", "--", "rake", "--silent", "-f", f"{d}/Rakefile", "-C", d).ok()
        with open(f"{d}/profile", encoding="utf-8") as f:
            profile = Profile.read(f.read())
    check(profile.count(lambda s: s.cut) <= max(1, 0.001 * profile.count()), result.err)
    profile = profile.where(lambda s: s.any("^ruby_run_node$"))
    check(profile.count() > 100, result.err)
    check(profile.count(lambda s: "<main>" in s.frames) >= 0.99 * profile.count() - 1, profile.head())
    inside = profile.where(lambda s: calls(s, "<main>", "Rake::Application#run", "Rake::Task#execute", "RDoc::RDoc#document"))
    check(inside.count() > 0.5 * profile.count(), profile.head())


PERL_TEST = """
use strict; use warnings; use Test::More; use Pod::Simple::Text;
sub has_its_page {
    my ($module) = @_;
    my ($file) = grep { -f } map { "$_/$module" } @INC;
    my $parser = Pod::Simple::Text->new;
    $parser->output_string(\\my $page);
    $parser->parse_file($file);
    ok(length $page > 1000, $module);
}
has_its_page($_) for (qw(CPAN.pm Test/More.pm)) x 5;
done_testing();
"""


def test_prove():
    """The harness, and each of the programs that it starts, to their ends."""
    needs("prove")
    with directory() as d:
        for name in ("first.t", "second.t"):
            with open(f"{d}/{name}", "w", encoding="utf-8") as f:
                f.write(PERL_TEST)
        result = run("-F", 999, "-f", "folded", "-o", f"{d}/profile", "--", "prove", "-Q", f"{d}/first.t", f"{d}/second.t").ok()
        with open(f"{d}/profile", encoding="utf-8") as f:
            profile = Profile.read(f.read())
    check(profile.count(lambda s: s.cut) <= max(1, 0.001 * profile.count()), result.err)
    profile = profile.where(lambda s: s.any("^perl_run$"))
    for script, least in (("<prove>", 10), ("<first.t>", 50), ("<second.t>", 50)):
        check(profile.count(lambda s, script=script: script in s.frames) > least, script, result.err, profile.head())
    check(profile.where(lambda s: not s.any(r"^<(prove|first\.t|second\.t)>$")).count() <= 0.03 * profile.count(), profile.head(5))
    tests = profile.where(lambda s: s.any(r"\.t>$"))
    inside = tests.where(lambda s: calls(s, "main::has_its_page", "Pod::Simple::parse_file"))
    check(inside.count() > 0.5 * tests.count(), tests.head(5))


PAGE = {
    "index.php": """
require_once __DIR__ . '/hooks.php';
require_once __DIR__ . '/posts.php';
add_filter('content', function ($text) { return preg_replace_callback('/\\\\b(\\\\w)(\\\\w*)/', 'capital', $text); });
add_filter('content', 'paragraphs');
render('page', recent(new Store(40)));
""",
    "hooks.php": """
$filters = [];
function add_filter($name, $do) { global $filters; $filters[$name][] = $do; }
function apply_filters($name, $value) { global $filters; foreach ($filters[$name] as $do) { $value = call_user_func($do, $value); } return $value; }
function capital($m) { return strtoupper($m[1]) . $m[2]; }
function paragraphs($text) { return '<p>' . implode('</p><p>', array_map('trim', explode('.', $text))) . '</p>'; }
""",
    "posts.php": """
class Post { public $id; public $title; public $text;
    function __construct($id) { $this->id = $id; $this->title = "Post $id"; $this->text = str_repeat("some words of post $id. ", 40); }
    function html() { return '<h2>' . htmlspecialchars($this->title) . '</h2>' . apply_filters('content', $this->text); } }
class Store { private $n; function __construct($n) { $this->n = $n; }
    function all() { for ($i = 0; $i < $this->n; $i++) { yield new Post($this->id($i)); } }
    function id($i) { for ($k = 0; $k < 1500; $k++) { $i = $i * 7919 % 1009; } return $i; } }
function newer($a, $b) { return $b->id <=> $a->id; }
function recent($store) { $posts = iterator_to_array($store->all()); usort($posts, 'newer'); return $posts; }
function render($name, $posts) { ob_start(); foreach ($posts as $post) { echo $post->html(); } echo strlen(ob_get_clean()); }
""",
}


def site(folder):
    for name, text in PAGE.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write("<?php\n" + text)


@contextlib.contextmanager
def loaded(request):
    """@request() again and again, until the end of the block."""
    done, served = threading.Event(), []

    def load():
        while not done.is_set() and len(served) < 100000:
            served.append(request())
    thread = threading.Thread(target=load)
    thread.start()
    try:
        wait_for(lambda: served, "the first answer")
        yield served
    finally:
        done.set()
        thread.join()


def check_page(result, served):
    # Code of PCRE's JIT has no CFI: its instructions tell its caller, but for what it calls within itself.
    cut = result.profile.where(lambda s: s.cut)
    check(cut.count() <= max(3, 0.1 * result.profile.count()), cut.head(), result.err)
    cut = cut.where(lambda s: "preg_replace_callback" not in s.frames)
    check(cut.count() <= max(1, 0.001 * result.profile.count()), cut.head(), result.err)
    profile = result.profile.where(lambda s: "<index.php>" in s.frames)
    check(profile.count() > 50, len(served), result.err)
    for path in (("render", "Post::html", "apply_filters", "{closure}", "preg_replace_callback"),
                 ("render", "Post::html", "apply_filters", "paragraphs", "array_map"),
                 ("recent", "iterator_to_array", "Store::all")):
        check(profile.count(lambda s, path=path: calls(s, "<index.php>", *path)) > 0, path, profile.head())
    # The frame of a function that is left is gone before what it held is.
    left = profile.where(lambda s: "execute_ex" in s.frames[:-1] and s.frames[-1] != "gc_possible_root")
    check(left.count() <= max(2, 0.02 * profile.count()), left.head())


def test_page_of_fpm():
    fpms = sorted(glob.glob("/usr/sbin/php-fpm8.2"))
    if not fpms:
        skip("php-fpm is not installed")
    with directory() as d:
        site(d)
        with open(f"{d}/fpm.conf", "w", encoding="utf-8") as f:
            f.write("[global]\nerror_log = /dev/null\ndaemonize = no\n[www]\nuser = nobody\ngroup = nogroup\n"
                    f"listen = {d}/socket\npm = static\npm.max_children = 2\n")

        def request():
            with ask(f"{d}/socket", f"{d}/index.php") as s:
                text = b""
                while part := s.recv(65536):
                    text += part
                check(b"Fatal" not in text, text)
                return text
        with Fixture("php-fpm", "-R", "-n", "-y", f"{d}/fpm.conf", path=fpms[0], until=None) as f, loaded(request) as served:
            check_page(run("-p", f.pid, "-F", 999, "-d", 1, "-f", "folded").ok(), served)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_page_of_apache():
    """mod_php, in the processes that Apache has forked."""
    needs("apache2")
    modules = "/usr/lib/apache2/modules"
    found = sorted(glob.glob(f"{modules}/libphp8.2.so"))
    if not found:
        skip("mod_php is not installed")
    port = free_port()
    with directory() as d:
        site(d)
        with open(f"{d}/apache.conf", "w", encoding="utf-8") as f:
            f.write(f"ServerRoot {d}\nPidFile {d}/pid\nErrorLog {d}/log\nListen 127.0.0.1:{port}\nServerName localhost\n"
                    f"LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n"
                    f"LoadModule php_module {found[0]}\nUser nobody\nGroup nogroup\nDocumentRoot {d}\n"
                    "StartServers 2\nMinSpareServers 1\nMaxSpareServers 2\nMaxRequestWorkers 2\n"
                    "<FilesMatch \\.php$>\nSetHandler application/x-httpd-php\n</FilesMatch>\n")

        def request():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/index.php")
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            check(answer.status == 200 and text.isdigit(), answer.status, text[:200])
            return text

        def listens():
            with socket.socket() as s:
                return not s.connect_ex(("127.0.0.1", port))
        log = subprocess.run(["apache2", "-t", "-f", f"{d}/apache.conf"], capture_output=True, text=True, check=False)
        check(not log.returncode, log.stderr)
        with Fixture("apache2", "-DFOREGROUND", "-f", f"{d}/apache.conf", path="/usr/sbin/apache2", until=None) as f:
            wait_for(listens, "Apache to listen")
            with loaded(request) as served:
                check_page(run("-p", f.pid, "-F", 999, "-d", 1, "-f", "folded").ok(), served)
