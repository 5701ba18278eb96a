/* SPDX-License-Identifier: MIT */
#include "selftest/programs.h"

#include <stddef.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define BUSY TEXT(SELFTEST_BUSY)
#define RESTS TEXT(SELFTEST_RESTS)
#define REST TEXT(SELFTEST_REST)

const char *const known_functions[SELFTEST_FUNCTIONS] = {
	[SELFTEST_MAIN] = "main",
	[SELFTEST_ONE] = "one",
	[SELFTEST_TWO] = "two",
	[SELFTEST_SPIN] = "spin",
	[SELFTEST_REST_FUNCTION] = "rest",
};

/* The work is not equally long each time: the clock of the samples would keep step with it. */

static const char python[] =
	"import sys, time\n"
	"def spin(n):\n"
	"    s = 0\n"
	"    for i in range(n): s = (s * 7 + i) % 1000003\n"
	"def one(n): spin(n)\n"
	"def two(n): spin(2 * n)\n"
	"def rest(): time.sleep(" REST " / 1e3)\n"
	"def main():\n"
	"    began = time.monotonic()\n"
	"    for i in range(" RESTS "): rest()\n"
	"    rested = time.monotonic() - began\n"
	"    began = time.process_time(); n = 9000\n"
	"    while time.process_time() - began < " BUSY " / 1e9:\n"
	"        two(n); one(n); n = 5000 + (n * 7 + 1) % 9000\n"
	"    used = time.process_time() - began\n"
	"    sys.stderr.write('selftest %s %d %d\\n' % (sys.version.split()[0], used * 1e9,\n"
	"                                             rested * 1e9))\n"
	"main()\n";

static const char javascript[] =
	"let sink = 0;\n"
	"function spin(n) { let s = sink; for (let i = 0; i < n; i++) s = (s * 7 + i) % 1000003; "
	"sink = s; }\n"
	"function one(n) { spin(n); }\n"
	"function two(n) { spin(2 * n); }\n"
	"function rest() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, " REST
	"); }\n"
	"function cpu() { const u = process.cpuUsage(); return (u.user + u.system) * 1000; }\n"
	"function main() {\n"
	"  const slept = process.hrtime.bigint();\n"
	"  for (let i = 0; i < " RESTS "; i++) rest();\n"
	"  const rested = process.hrtime.bigint() - slept, began = cpu();\n"
	"  for (let n = 90000; cpu() - began < " BUSY "; n = 50000 + (n * 7 + 1) % 90000) {\n"
	"    two(n);\n"
	"    one(n);\n"
	"  }\n"
	"  const used = cpu() - began;\n"
	"  require('fs').writeSync(2,\n"
	"    `selftest ${process.versions.node} ${used} ${rested}\\n`);\n"
	"}\n"
	"main();\n";

static const char java[] =
	"public class SelfTest {\n"
	"  static int sink;\n"
	"  static void spin(int n) {\n"
	"    int s = sink;\n"
	"    for (int i = 0; i < n; i++) s = (s * 7 + i) % 1000003;\n"
	"    sink = s;\n"
	"  }\n"
	"  static void one(int n) { spin(n); }\n"
	"  static void two(int n) { spin(2 * n); }\n"
	"  static void rest() throws Exception { Thread.sleep(" REST "); }\n"
	"  static long cpu() {\n"
	"    return ProcessHandle.current().info().totalCpuDuration().get().toNanos();\n"
	"  }\n"
	"  public static void main(String[] args) throws Exception {\n"
	"    long slept = System.nanoTime();\n"
	"    for (int i = 0; i < " RESTS "; i++) rest();\n"
	"    long rested = System.nanoTime() - slept, began = cpu();\n"
	"    for (int n = 180000; cpu() - began < " BUSY "L; n = 100000 + (n * 7 + 1) % 180000) {\n"
	"      two(n);\n"
	"      one(n);\n"
	"    }\n"
	"    long used = cpu() - began;\n"
	"    System.err.println(\"selftest \" + System.getProperty(\"java.version\") + \" \"\n"
	"                       + used + \" \" + rested);\n"
	"  }\n"
	"}\n";

static const char ruby[] =
	"def spin(n) s = i = 0; while i < n; s = (s * 7 + i) % 1000003; i += 1; end; end\n"
	"def one(n) spin(n) end\n"
	"def two(n) spin(2 * n) end\n"
	"def rest() sleep(" REST " / 1e3) end\n"
	"def cpu() Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) end\n"
	"def now() Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) end\n"
	"def main\n"
	"  slept = now\n"
	"  " RESTS ".times { rest }\n"
	"  rested = now - slept\n"
	"  began = cpu; n = 18000\n"
	"  while cpu - began < " BUSY "; two(n); one(n); n = 10000 + (n * 7 + 1) % 18000; end\n"
	"  $stderr.puts \"selftest #{RUBY_VERSION} #{cpu - began} #{rested}\"\n"
	"end\n"
	"main\n";

static const char php[] =
	"function spin($n) { for ($s = $i = 0; $i < $n; $i++) $s = ($s * 7 + $i) % 1000003; }\n"
	"function one($n) { spin($n); }\n"
	"function two($n) { spin(2 * $n); }\n"
	"function rest() { usleep(" REST "000); }\n"
	"function cpu() { $u = getrusage();\n"
	"  return ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']) * 1000000000 +\n"
	"    ($u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']) * 1000; }\n"
	"function main() {\n"
	"  $slept = hrtime(true);\n"
	"  for ($i = 0; $i < " RESTS "; $i++) rest();\n"
	"  $rested = hrtime(true) - $slept;\n"
	"  $began = cpu();\n"
	"  for ($n = 36000; cpu() - $began < " BUSY "; $n = 20000 + ($n * 7 + 1) % 36000) {\n"
	"    two($n);\n"
	"    one($n);\n"
	"  }\n"
	"  fprintf(STDERR, \"selftest %s %d %d\\n\", PHP_VERSION, cpu() - $began, $rested);\n"
	"}\n"
	"main();\n";

/* What two() and one() return keeps perl from leaving their frames out. */
static const char perl[] =
	"use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID usleep);\n"
	"sub spin { my ($s, $n) = (0, @_);\n"
	"  for (my $i = 0; $i < $n; $i++) { $s = ($s * 7 + $i) % 1000003; } }\n"
	"sub one { spin($_[0]); 1 }\n"
	"sub two { spin(2 * $_[0]); 1 }\n"
	"sub rest { usleep(" REST "000); 1 }\n"
	"sub cpu { clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }\n"
	"sub main {\n"
	"  my $slept = clock_gettime(CLOCK_MONOTONIC);\n"
	"  rest() for 1 .. " RESTS ";\n"
	"  my $rested = clock_gettime(CLOCK_MONOTONIC) - $slept;\n"
	"  my ($began, $n) = (cpu(), 9000);\n"
	"  while (cpu() - $began < " BUSY " / 1e9) {\n"
	"    two($n); one($n); $n = 5000 + ($n * 7 + 1) % 9000; }\n"
	"  printf STDERR \"selftest %vd %.0f %.0f\\n\", $^V, (cpu() - $began) * 1e9,\n"
	"    $rested * 1e9;\n"
	"}\n"
	"main();\n";

#define NATIVE .scope = "selftest_"
#define WALL .judged = SELFTEST_SHARES | SELFTEST_WAITS, .how = { "record", "--wall", "-F", "999" }

const struct selftest_program known_programs[] = {
	{ .name = "native", .judged = SELFTEST_SHARES, .how = { "record", "-F", "999" }, NATIVE },
	{ .name = "native-waits", .judged = SELFTEST_WAITS, .how = { "record", "--off-cpu" },
	  NATIVE },
	{ .name = "native-memory", .judged = SELFTEST_BLOCKS,
	  .how = { "alloc", "--alloc-interval", "all" }, NATIVE, .preloads = 1 },
	{ .name = "python3", WALL, .option = "-c", .script = python, .scope = "" },
	{ .name = "node", WALL, .option = "-e", .script = javascript, .scope = "" },
	{ .name = "java", WALL, .option = "--source=11", .script = java, .as_file = 1,
	  .scope = "SelfTest." },
	{ .name = "ruby", WALL, .option = "-e", .script = ruby, .scope = "Object#" },
	{ .name = "php", WALL, .option = "-r", .script = php, .scope = "" },
	{ .name = "perl", WALL, .option = "-e", .script = perl, .scope = "main::" },
	{ 0 }
};
