/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/record_options.h"
#include "commands/serving.h"
#include "proc/launch.h"

#define AT(field) offsetof(struct record_options, field)

/* The word that begins neither an option nor a program. */
static int misplaced(const char *word, struct error *e)
{
	struct near n = NEAR(word);

	command_near(&n);
	if (*n.best)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%s' is neither a command of ebprof nor a "
				 "program in $PATH; did you mean 'ebprof %s'?",
				 word, n.best);
	if (!word[strspn(word, "0123456789")])
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%s' is not a program; choose a process by "
				 "-p %s, a thread by -t %s",
				 word, word, word);
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "'%s' is neither a command of ebprof nor a program "
			 "in $PATH; see ebprof help",
			 word);
}

/* More PIDs behind -p 1234, as `-p $(pidof x)` gives them; or the program to start. */
static int store_operand(const char *option, const char *text, void *field, struct error *e)
{
	struct record_options *o = field;
	int_vec *numbers = o->target.pids.n ? &o->target.pids : &o->target.tids;

	if (numbers->n && !text[strspn(text, "0123456789," CLI_BLANKS)])
		return cli_pids(option, text, numbers, e);
	return launch_finds(text) ? CLI_PROGRAM : misplaced(text, e);
}

/* Which commands have a row. */
#define R EBPROF_RECORD
#define A EBPROF_ALLOC
#define T EBPROF_TOP
#define P EBPROF_PUSH
#define S EBPROF_SERVE
#define BRIEF CLI_BRIEF

const struct cli_command *const record_family[] = {
	&command_record, &command_alloc, &command_top, &command_push, &command_serve, NULL
};

const struct cli_option record_rows[] = {
	{ 0, 0, NULL, "COMMAND", store_operand, 0, NULL, 0 },

	CLI_HEADING("Target (one of these, or -- COMMAND; default: the whole system)"),
	{ 'p', 0, "pid", "PID[,PID...]", cli_pids, AT(target.pids),
	  "these processes and all their children", R | A | T | P | S | BRIEF },
	{ 't', 0, "tid", "TID[,TID...]", cli_pids, AT(target.tids), "these threads", 0 },
	{ 'a', 0, "all", NULL, cli_flag, AT(target.all),
	  "the whole system (default without a target)", R | A | T | P | S | BRIEF },
	{ 'G', 0, "cgroup", "CGROUP", cli_string, AT(target.cgroup),
	  "a cgroup's path, a container's name or id, or pod/NAME", R | A | T | P | S | BRIEF },
	{ 'n', 0, "comm", "COMM", cli_string, AT(target.comm), "processes of this name",
	  R | A | T | P | S | BRIEF },
	{ 'C', 0, "cpus", "CPUS", cli_cpus, AT(target.cpus), "these CPUs only: 0-3,7", 0 },
	{ 0, 0, "no-inherit", NULL, cli_flag, AT(target.no_inherit),
	  "leave out the children of the targets", 0 },
	{ 0, 0, "include-self", NULL, cli_flag, AT(target.include_self),
	  "sample ebprof itself, too", 0 },
	{ 0, 0, "include-idle", NULL, cli_flag, AT(target.include_idle), "sample idle CPUs, too",
	  R | T | P | S },

	CLI_HEADING("Time"),
	{ 'd', 0, "duration", "TIME", cli_duration, AT(duration),
	  "10, 10s, 500ms, 2m; else until Ctrl-C or the target ends",
	  R | A | T | P | S | BRIEF },
	{ 0, 0, "delay", "TIME", cli_millis, AT(delay),
	  "wait before the first sample: 1.5s; a plain number is ms", 0 },
	{ 0, 0, "refresh", "TIME", cli_duration, AT(live.refresh),
	  "time between updates (default 1s)", T | BRIEF },
	{ 0, 0, "window", "TIME", cli_duration, AT(live.window),
	  "show the samples of the last TIME (default 10s)", T | BRIEF },
	{ 0, 0, "since-start", NULL, cli_flag, AT(live.since_start),
	  "show all samples since the start", T },

	CLI_PARTS(AT(sources)),

	CLI_HEADING("Stacks"),
	{ 'U', 0, "user", NULL, cli_flag, AT(stack.user_only), "user stacks only", 0 },
	{ 'K', 0, "kernel", NULL, cli_flag, AT(stack.kernel_only), "kernel stacks only", 0 },
	{ 0, 0, "per-thread", NULL, cli_flag, AT(stack.per_thread), "keep threads apart", 0 },
	{ 0, 0, "max-frames", "N", cli_count, AT(stack.max_frames),
	  "cut stacks at N frames (default and most: 511)", 0 },
	{ 0, 0, "no-rescue", NULL, cli_flag, AT(stack.no_rescue),
	  "do not unwind in user space what the kernel could not", 0 },
	{ 0, 0, "native", NULL, cli_flag, AT(stack.native),
	  "show an interpreter's own frames beside those that it runs", 0 },
	{ 0, 0, "await", NULL, cli_flag, AT(stack.await),
	  "show the asyncio tasks that await the running one below it (Python 3.14)", 0 },
	{ 0, 0, "unwind-memory", "SIZE", cli_memory, AT(stack.unwind_memory),
	  "at most this much for unwind tables (default 256M; push 16M)", 0 },
	{ 0, 0, "buffer", "KIB", cli_kib, AT(stack.buffer),
	  "ring buffer for new stacks (default: by CPUs and rate)", 0 },
	{ 0, 0, "timeline", NULL, cli_flag, AT(stack.timeline),
	  "keep the time of each sample, and how long each wait took", R | A },
	{ 0, 0, "no-timeline", NULL, cli_flag, AT(stack.no_timeline),
	  "do not, as is done for waits and for samples at up to 1000 Hz", R },

	CLI_HEADING("Names"),
	{ 0, 0, "debug-dir", "DIR", cli_strings, AT(names.debug_dirs),
	  "look for debug files here, too; may be repeated", 0 },
	{ 0, 0, "debuginfod", NULL, cli_flag, AT(names.debuginfod),
	  "ask the servers in DEBUGINFOD_URLS for debug files", 0 },
	{ 0, 0, "no-cache", NULL, cli_flag, AT(names.no_cache),
	  "neither use nor keep names found in earlier runs", 0 },
	{ 0, 0, "vmlinux", "FILE", cli_string, AT(names.vmlinux),
	  "the running kernel with its debug information", 0 },
	{ 0, 0, "no-inline", NULL, cli_flag, AT(view.no_inline),
	  "count inlined functions as their callers", 0 },
	{ 0, 0, "no-demangle", NULL, cli_flag, AT(names.no_demangle), "show mangled names", 0 },
	{ 0, 0, "short-templates", NULL, cli_flag, AT(view.short_templates),
	  "names without template arguments and return types", 0 },
	{ 0, 0, "why", NULL, cli_flag, AT(names.why), "show why a name is missing in place of it",
	  0 },

	CLI_HEADING("Output"),
	{ 0, 0, "to", "PLACE", cli_strings, AT(push.to),
	  "dir:PATH, otlp+http://HOST:PORT, pyroscope+..., parca+...; repeatable",
	  P | BRIEF },
	{ 0, 0, "every", "TIME", cli_duration, AT(push.every),
	  "how long a window is (default 15s)", P | BRIEF },
	{ 0, 0, "max-overhead", "PERCENT", cli_percent, AT(push.max_overhead),
	  "lower the rate where it costs more of the machine's CPU time (default 1)", P },
	{ 0, 0, "keep-for", "TIME", cli_duration, AT(push.places.keep_for),
	  "remove files that are older (default 168h)", P | BRIEF },
	{ 0, 0, "keep-size", "SIZE", cli_memory, AT(push.places.keep_bytes),
	  "remove the oldest where a folder has more (default 256M)", P | BRIEF },
	{ 0, 0, "token-file", "FILE", cli_string, AT(push.places.courier.token_file),
	  "a file with the server's token (also: EBPROF_PUSH_TOKEN)", P | BRIEF },
	{ 0, 0, "header", "'NAME: VALUE'", cli_strings, AT(push.places.courier.headers),
	  "a header of each request; may be repeated", P },
	{ 0, 0, "label", "KEY=VALUE", cli_strings, AT(push.labels),
	  "a label for all that servers get; may be repeated", P },
	{ 0, 0, "label-from", "[KEY=]VARIABLE", cli_strings, AT(push.labels_from),
	  "the same, from the environment", P },
	{ 0, 0, "ca-file", "FILE", cli_string, AT(push.places.courier.ca_file),
	  "certificates to trust, instead of those of the system", P },
	{ 0, 0, "send-timeout", "TIME", cli_duration, AT(push.places.courier.timeout),
	  "give a request up after TIME, and try again (default 30s)", P },
	{ 0, 0, "spool", "DIR", cli_string, AT(push.places.spool.dir),
	  "a folder for what waits to be sent (default: ebprof/spool in ~/.cache)", P },
	{ 0, 0, "spool-for", "TIME", cli_duration, AT(push.places.spool.keep_for),
	  "drop what has waited longer (default 24h)", P },
	{ 0, 0, "spool-size", "SIZE", cli_memory, AT(push.places.spool.keep_bytes),
	  "drop the oldest where more waits for a server (default 64M)", P },
	{ 0, 0, "config", "FILE", cli_config, AT(config),
	  "options from a file (default, without --to: " PUSH_CONFIG ")", P | BRIEF },
	{ 0, 0, "metrics", "ADDRESS:PORT", cli_string, AT(metrics),
	  "a page for Prometheus; a port alone is one of 127.0.0.1", P },
	SERVING_OPTIONS(AT(server), S),
	RESULT_OPTIONS_FILES(AT(results), "write here; may be repeated; - is standard output",
			     R | A | S | BRIEF),
	RESULT_OPTIONS_FORMAT(AT(results), "folded, html, pprof, ... (default: by the file's name)",
			      R | A | S | BRIEF),
	RESULT_OPTIONS_FORCE(AT(results), R | A | S),
	WITH_SOURCE_ON(AT(source), R | A),
	WITH_SOURCE_DIR(AT(source), R | A | T),
	{ 0, 0, "no-keep", NULL, cli_flag, AT(no_keep),
	  "do not keep the recording for ebprof report", R | A },
	{ 0, 0, "title", "TEXT", cli_string, AT(view.title), "a title for formats that show one",
	  R | A | S },
	VIEW_OPTIONS_TABLE(AT(view), R | A),
	{ 0, 0, "annotate", NULL, cli_flag, AT(annotate),
	  "folded: mark kernel, inlined, JIT, ... frames _[k], _[i], _[j], ...", R | A },
	{ 0, 0, "strict", NULL, cli_flag, AT(strict), "exit with 6 if a sample was lost", R | A },
	{ 'q', 0, "quiet", NULL, cli_flag, AT(quiet), "no progress and no summary",
	  R | A | P | S },
	{ 'v', 0, "verbose", NULL, cli_flag, AT(verbose), "more about the recording itself",
	  R | A | T | P | S },
	{ 0, 0, "plain", NULL, cli_flag, AT(live.plain),
	  "print a table each refresh (default where there is no terminal)", T | BRIEF },
	{ 0, 0, "count", "N", cli_count, AT(live.tables), "end after N tables; implies --plain",
	  T },
	{ 0, 0, "rows", "N", cli_count, AT(view.rows), "at most N rows of each table", T },

	/* From habit: with perf stacks are asked for. Here they are always there. */
	{ 'g', 0, NULL, NULL, cli_ignore, 0, NULL, 0 },
	{ 0, 0, "call-graph", "HOW", cli_ignore, 0, NULL, 0 },
	CLI_END
};
