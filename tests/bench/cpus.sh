#!/bin/sh
# shellcheck shell=dash disable=SC2154
# SPDX-License-Identifier: MIT
# In place of the cases of tests/vm, for tests/bench/cpus.py: what ebprof -a takes of this machine's memory, as a line
# "figures ONLINE POSSIBLE PEAK_KB KERNEL_KB" on the console.

# kb NAME FILE: its value there.
kb() {
	awk -v name="$1:" '$1 == name { print $2 }' "$2"
}

# What is free once the kernel keeps nothing that it need not.
free_memory() {
	sleep 2
	echo 3 >/proc/sys/vm/drop_caches
	kb MemFree /proc/meminfo
}

case_memory() {
	local possible before peak after user
	fixture tree --fork 2
	read -r possible </sys/devices/system/cpu/possible
	# What is allocated once and stays, does not count.
	ebprof -a -F 99 -d 1 -f folded -o out 2>err || fail "ebprof: exit status $?"
	before=$(free_memory)
	ebprof -a -F 99 -d 60 -f folded -o out 2>err &
	sleep 5
	after=$(free_memory)
	peak=$(kb VmHWM "/proc/$!/status")
	user=$(kb RssAnon "/proc/$!/status")
	[ -n "$peak" ] || fail "ebprof has ended"
	echo "figures $(grep -c ^processor /proc/cpuinfo) $((${possible#*-} + 1)) $peak $((before - after - user))" >&3
}
