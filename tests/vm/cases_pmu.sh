#!/bin/sh
# shellcheck shell=dash disable=SC2154,SC2086
# SPDX-License-Identifier: MIT
# Cases of tests/vm/cases.sh that need a CPU with counters: what they count, and samples of them.

# pmu_of_cpu: sets pmu, its name, and path.
pmu_of_cpu() {
	for path in /sys/bus/event_source/devices/armv8*; do
		pmu=${path##*/}
	done
	[ -d "$path/events" ] || skip "the CPU has no PMU with events of its own"
}

# can_count EVENT: ebprof list says so.
can_count() {
	ebprof list "$1" 2>/dev/null | grep -q "^$1 "
}

# counted NAME: its value, in lines of values.
counted() {
	awk -F, -v name="$1" '$3 == name { print $1 }' out
}

# in_ratio A B LEAST MOST
in_ratio() {
	awk "BEGIN { exit !($2 > 0) || $1 < $3 * $2 || $1 > $4 * $2 }" || fail "$1 / $2 is not $3 to $4: $(cat out)"
}

# By names of the PMU, by names that perf has for all CPUs, raw; and what is missing is said. This CPU has cycles, which are of 1 ns,
# and with -icount shift=1 instructions, of 2 ns each.
case_pmu() {
	local path pmu name there
	pmu_of_cpu
	ebprof list "$pmu/*" >listed || fail "list: exit status $?"
	grep -q "^$pmu/cpu_cycles/ *PMU event" listed || fail "not listed: $(head -n 3 listed)"
	grep -q "^$pmu/event=N/ *PMU term, at most 0xffff" listed || fail "no term is listed"
	ebprof stat -x, -e "$pmu/cpu_cycles/,$pmu/event=0x11,name=raw/,cycles,$pmu/config=0x11/u,r11,r11:u" -- \
		/fixtures/tree --seconds 1 >out || fail "stat: exit status $?"
	for name in "$pmu/cpu_cycles/" raw r11; do
		in_ratio "$(counted "$name")" "$(counted cycles)" 0.9 1.1
	done
	in_ratio "$(counted r11:u)" "$(counted cycles)" 0.5 1
	ebprof stat -- /fixtures/tree --seconds 1 >out 2>err || fail "stat: exit status $?"
	grep -q "^cycles .* GHz" out || fail "no cycles: $(cat out)"
	for name in instructions branch-instructions branch-misses; do
		there=$(can_count "$name" && echo 1 || echo 0)
		[ "$(grep -c "^$name " out)$(grep -cE "( count|,) $name(,|\$)" err)" = "$there$((1 - there))" ] ||
			fail "$name is neither shown nor said to be missing, or both: $(cat out)"
	done
	for name in frontend backend; do
		there=$(can_count "stalled-cycles-$name" && echo 1 || echo 0)
		[ "$(grep -c "^stalled-cycles-$name" out)" -eq "$there" ] ||
			fail "stat does not show stalled cycles where they can be had, or where not: $(cat out)"
	done
	grep -qE "^(retiring|backend bound)" out && fail "shares of slots without a PMU that counts them"
	if [ -e "$path/events/inst_retired" ]; then
		grep -qE "^instructions .* 0[.](49|5[01]) per cycle$" out || fail "not half an instruction for each cycle: $(cat out)"
		ebprof stat -x, -e instructions,r8 -- /fixtures/tree --seconds 1 >out || fail "stat: exit status $?"
		in_ratio "$(counted r8)" "$(counted instructions)" 0.99 1.01
	fi
	ebprof stat -e "$pmu/cpu_cylces/" -- sh -c true 2>err && fail "a misspelt event is taken"
	grep -q "did you mean 'cpu_cycles'" err || fail "$(cat err)"
}

# More events than counters: each has one for a share of the time, and is scaled.
case_pmu_scaled() {
	local path pmu name
	pmu_of_cpu
	ebprof stat -x, -e cycles,r11,r11:u,r11:k,cycles:u,cycles:k,r23,r24,r3c,r23:u,r24:u,r3c:u,task-clock -- \
		/fixtures/tree --seconds 1 >out || fail "stat: exit status $?"
	awk -F, '$3 ~ /^(cycles|r)/ { n++; bad += $6 < 20 || $6 > 95 } END { exit n != 12 || bad }' out ||
		fail "not each of 12 was counted for a share of the time: $(cat out)"
	for name in cycles r11; do
		in_ratio "$(counted "$name")" "$(counted task-clock)" 0.85 1.15
	done
	ebprof stat -e cycles,r11,r11:u,r11:k,cycles:u,cycles:k,r23,r24,r3c,r23:u,r24:u,r3c:u -- \
		/fixtures/tree --seconds 1 >out || fail "stat: exit status $?"
	[ "$(grep -cE '^(cycles|r).*[(]scaled: counted for [0-9]+ % of the time[)]$' out)" -eq 12 ] ||
		fail "the share of the time is not said of each: $(cat out)"
}

# What a cache misses, sampled and counted where it can be; else refused in a line.
cache_event() {
	local name=L1-dcache-load-misses
	if can_count $name; then
		ebprof stat -x, -e $name -- /fixtures/tree --seconds 1 >out || fail "stat: exit status $?"
		[ -n "$(counted $name)" ] || fail "$(cat out)"
		ebp -e $name -p $pid -d 1
		return
	fi
	ebprof stat -e $name -- sh -c true | grep -q "^$name *not supported" || fail "stat does not say that there are no $name"
	ebprof -e $name -p $pid -d 1 2>err && fail "$name is sampled"
	[ "$(wc -l <err)" -eq 1 ] || fail "that is not one line"
	grep -q "cannot sample by $name: this CPU or virtual machine does not count that" err || fail "not told why"
}

# Samples of hardware events, whose interrupts are none that no code can hold back: by rate, by period, raw.
case_pmu_samples() {
	local path pmu
	pmu_of_cpu
	fixture tree
	ebp -e cycles -F 199 -p $pid -d 2
	taken_at_least 100
	all_complete
	tree_chains
	ebp -e "$pmu/event=0x11,period=10000000/" -p $pid -d 2
	taken_at_least 50
	all_complete
	tree_chains
	ebp -e r11 -c 20000000 -p $pid -d 2
	taken_at_least 25
	all_complete
	rm -f out
	cache_event
}

# What hardware counts beside samples of a clock is with the code that took it.
case_pmu_counters() {
	local path pmu name second=r11 cycles of_second
	pmu_of_cpu
	[ ! -e "$path/events/inst_retired" ] || second=instructions
	fixture tree
	account -e cpu-clock --counters "cycles,$second" -F 199 -p $pid -d 2 -o x.ndjson
	taken_at_least 100
	all_complete
	for name in "$second" cycles; do
		ebprof report --sample-type "$name" -f folded -o out x.ndjson 2>err || fail "report: exit status $?"
		tree_chains
		of_second=${cycles:-}
		cycles=$(count .)
	done
	# 5 ms of each sample, or what of that the tree ran.
	in_ratio "$cycles" "$((taken * 1000000000 / 199))" 0.6 1.6
	[ "$second" = r11 ] && in_ratio "$of_second" "$cycles" 0.8 1.2
	[ "$second" = r11 ] || in_ratio "$of_second" "$cycles" 0.48 0.52
	ebprof report --sample-type cycles -f ndjson -o out x.ndjson 2>err || fail "report: exit status $?"
	awk -v all="$cycles" -F '"self":' '/"name":"a2"/ { n++; bad = $2 + 0 < 0.45 * all || $2 + 0 > 0.75 * all } END { exit n != 1 || bad }' out ||
		fail "a2 has not 60 % of $cycles cycles"
	[ "$second" = r11 ] || return 0
	if ! can_count instructions; then
		ebprof -e cpu-clock --counters instructions -p $pid -d 1 2>err && fail "instructions are counted"
		[ "$(wc -l <err)" -eq 1 ] || fail "that is not one line"
		grep -q "counters instructions: this CPU or virtual machine does not count that" err || fail "not told why"
	fi
}
