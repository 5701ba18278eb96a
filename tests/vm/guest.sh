#!/bin/sh
# shellcheck shell=dash disable=SC2034,SC3045
# SPDX-License-Identifier: MIT
# guest.sh NAME: runs case_NAME of cases*.sh, and is what the cases are written with. For busybox's sh.
set -u
cd /tmp || exit 1

# fail TEXT...: the case ends here; so does skip, for what this kernel cannot do.
fail() {
	echo "$*"
	[ ! -s err ] || { echo "ebprof's standard error:"; cat err; }
	[ ! -s out ] || { echo "its largest stacks, and truncated ones:"; sort -t ' ' -k 2nr out | head -n 8; grep -F '[truncated' out | head -n 8; }
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# fixture NAME [ARG]...: starts it, and returns when it says that it is ready; its PID is in $pid.
# It lives until the case ends.
fixture() {
	local name="$1" line
	shift
	[ -x "/fixtures/$name" ] || fail "there is no fixture $name"
	rm -f fifo
	mkfifo fifo
	"/fixtures/$name" "$@" >fifo &
	pid=$!
	# Opened for both: the fixture never meets a pipe without a reader.
	exec 4<>fifo
	while IFS= read -t 30 -r line <&4; do
		case $line in
		"ready "*) return ;;
		esac
	done
	fail "fixture $name does not get ready"
}

# account OPTION...: runs ebprof, with a command's output to the file said. It must end well, and account for every
# sample: $taken = $complete + $truncated + $lost. The last fixture is stopped then: what counts samples needs the CPU.
account() {
	local status line
	rm -f out err said
	[ -z "${pid:-}" ] || kill -CONT "$pid"
	ebprof "$@" 2>err </dev/null >said
	status=$?
	[ -z "${pid:-}" ] || kill -STOP "$pid"
	[ $status -eq 0 ] || fail "ebprof $*: exit status $status"
	line=$(sed -nE 's/^ebprof: ([0-9]+) (samples|intervals) of .* s: ([0-9]+) complete, ([0-9]+) truncated.*, ([0-9]+) lost.*/\1 \3 \4 \5/p' err)
	[ -n "$line" ] || fail "no summary"
	read -r taken complete truncated lost <<-EOT
		$line
	EOT
	[ "$taken" -eq $((complete + truncated + lost)) ] || fail "$taken samples are not complete + truncated + lost"
}

# ebp ARG...: the same, with folded stacks to the file out: it has the complete and the truncated together.
ebp() {
	local kept
	account -f folded -o out "$@"
	kept=$(awk '{ n += $NF } END { print n + 0 }' out)
	[ "$kept" -eq $((complete + truncated)) ] || fail "$kept samples in the output, $((complete + truncated)) in the summary"
}

# ebp_time ARG...: with stacks whose counts are ns, such as --off-cpu gives.
ebp_time() {
	account -f folded -o out "$@"
}

# What most cases use: some hundred samples. To rescue one takes an emulated CPU over a millisecond, and ebprof gives a process a fifth
# of a CPU for that: at a higher rate it has used that up before the tables are there, which takes a second here at times.
SHORT="-F 199 -d 2"

# taken_at_least N: there were as many samples.
taken_at_least() {
	[ "$taken" -ge "$1" ] || fail "$taken samples, at least $1 expected"
}

# count REGEX: the samples whose stack matches. busybox's awk would compile the expression for each line anew.
count() {
	grep -E -e "$1" out | awk '{ n += $NF } END { printf "%.0f\n", n }'
}

# share REGEX LEAST [OF]: of the samples (of those that match OF) so many per cent match.
share() {
	local n of
	n=$(count "$1")
	of=$(count "${3:-.}")
	[ "$of" -gt 0 ] || fail "no sample matches ${3:-anything}"
	[ $((100 * n)) -ge $(($2 * of)) ] || fail "$n of $of samples match $1, $2 % expected"
}

# begins FILE REGEX: with a line that begins so.
begins() {
	head -n 1 "$1" | grep -qE "^($2)" || fail "$1 begins with: $(head -c 100 "$1")"
}

# truth WHAT NAME: the seconds that the fixture waits told of itself.
truth() {
	awk -v what="$1" -v name="$2" '$1 == what && $2 == name { print $3 }' said
}

# between REGEX LEAST MOST: the stacks that match have so many seconds.
between() {
	local ns
	ns=$(count "$1")
	awk -v ns="$ns" -v least="$2" -v most="$3" 'BEGIN { exit ns < 1e9 * least || ns > 1e9 * most }' ||
		fail "$ns ns match $1, $2 s to $3 s expected"
}

# near REGEX SECONDS PERCENT [MORE]: so many, give or take PERCENT (at most MORE per cent more) and 10 ms.
near() {
	[ -n "$2" ] || fail "the fixture told nothing of $1"
	between "$1" "$(awk "BEGIN { print $2 * (1 - $3 / 100) - 0.01 }")" "$(awk "BEGIN { print $2 * (1 + ${4:-$3} / 100) + 0.01 }")"
}

# all_complete [PER_MILLE]: so many stacks (999) are complete, and none was lost.
all_complete() {
	[ "$lost" -eq 0 ] || fail "$lost samples lost"
	[ $((1000 * complete)) -ge $((${1:-999} * taken)) ] || fail "$complete of $taken stacks complete"
}

# truncated_all REGEX: those that are not complete match.
truncated_all() {
	[ "$(count "$1")" -eq "$truncated" ] || fail "other stacks are truncated than those that match $1"
}

# chain FUNCTION...: as a regular expression, these frames next to one another.
chain() {
	local IFS=';'
	echo ";$*[; ]"
}

# tree_chains [OF [PERCENT]]: the fixture tree's samples (those that match OF) have its call chain; nearly all, for a few are taken
# while it starts a round. Those that are on the way down or back are more where the host is busy: an emulated CPU takes its
# interrupts between blocks of code, mostly those that it meets for the first time in a while.
tree_chains() {
	share ';run(;a(;a1(;a2)?)?|;b(;b1(;b2)?)?|;c(;c1(;c2)?)?)?[; ]' "${2:-97}" "${1:-.}"
	share ';run;(a;a1;a2|b;b1;b2|c;c1;c2)[; ]' $((${2:-97} - 7)) "${1:-.}"
	share "$(chain a a1 a2)" 45 "${1:-.}"
}

# tree_timeline: the samples of the fixture tree one by one, as perf-script has them: a line of its own for each, in the
# order of time, over some 2 s, with its stack below.
tree_timeline() {
	awk -v expected="$taken" '
		/ (cpu-clock|cycles): $/ { time = $4 + 0; if (time < last) unsorted++; last = time; if (!n++) first = time }
		/^[[:space:]]+[0-9a-f]+ run / { chains++ }
		END {
			print n, "of", expected, "samples,", chains, "in run(),", unsorted + 0, "not in order,", last - first, "s"
			exit n != expected || chains < 0.97 * n || unsorted || last - first < 1 || last - first > 4
		}' out || fail "the timeline is not right"
}

for file in /vm/cases*.sh; do
	# shellcheck disable=SC1090 # they lie beside this file in the guest only
	. "$file"
done
"case_$1"
