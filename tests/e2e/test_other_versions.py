# SPDX-License-Identifier: MIT
"""
Ruby, PHP and Perl of Debian's other suites, in containers: what each program says of its own stacks is what a recording has, with
known shares. One recording a version.
"""
import glob

from containers import contained, root_of
from harness import skip
from interpreters import sampled_script
from test_php import JITTED, jitted, of_jit
from told import PERL, PHP, RUBY, as_told, ruby_plain


def ruby(suite, name):
    program = contained(suite, name)
    text = "def ready() $stdout.puts 'ready'; $stdout.flush end\n" + RUBY
    as_told(name, sampled_script(program, ("--disable-gems",), [("script.rb", text)], "--annotate", burned=0), "_[r]", ruby_plain)


def php(suite, name, *flags):
    program = contained(suite, name)
    result = sampled_script(program, ("-n", *flags), [("script.php", "<?php " + PHP)], "--annotate", burned=0)
    as_told(name, result, "_[h]")


def perl(suite):
    program = contained(suite, "perl")
    as_told(suite, sampled_script(program, (), [("script.pl", "$| = 1;\n" + PERL)], "--annotate", burned=0), "_[l]")


def test_ruby_27():
    ruby("bullseye", "ruby2.7")


def test_ruby_33():
    ruby("trixie", "ruby3.3")


def test_php_74():
    php("bullseye", "php7.4")


def test_php_84():
    php("trixie", "php8.4")


def test_php_84_jit():
    """A JIT of another kind than 8.2's."""
    program = contained("trixie", "php8.4")
    if not glob.glob(f"{root_of('trixie')}/usr/lib/php/*/opcache.so"):
        skip("what was unpacked of Debian trixie is older than this test: rm -r build/tests/trixie")
    flags = jitted("tracing", "-n", "-d", "zend_extension=opcache")
    of_jit(program, sampled_script(program, flags, [("script.php", "<?php " + JITTED)], "--annotate", "--native", burned=0).profile)


def test_perl_532():
    perl("bullseye")


def test_perl_540():
    perl("trixie")


def test_perl_of_sid():
    perl("sid")
