#!/bin/sh
# shellcheck shell=dash disable=SC2154,SC2086
# SPDX-License-Identifier: MIT
# Cases of tests/vm/cases.sh with interpreters: programs whose functions are known, and their shares.

# Functions of Debian's Python, with native ones between them, whole to the program's own code.
case_python() {
	[ -x /bin/python3 ] || skip "Debian's Python could not be had"
	fixture python.py
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete 990
	share ';<module>;main' 99
	share ';main;(twice;|.*;Thing.method;)spin' 40
	share ';main;sorts;.*;key' 10
	[ "$(count ';sorts;(key|spin)')" -eq 0 ] || fail "sorted() is missing between sorts and key"
}

# met_later OPTION...: records a shell, of which nothing was known, that becomes a Python, until the programs that take its
# frames have succeeded the others: those that ebprof has are more then.
# shellcheck disable=SC2016 # the shell that it is for expands it
met_later() {
	local programs='ls -l /proc/$PPID/fd | grep -c bpf-prog'
	rm -f go
	mkfifo go
	sh -c 'read -r word <go; exec /fixtures/python.py' >/dev/null &
	pid=$!
	ebp_time "$@" -v -p $pid -- sh -c "before=\$($programs); echo word >go; while [ \$($programs) = \$before ]; do sleep 0.1; done; sleep 1"
	grep -q 'frames of all languages after' err || fail "no programs with languages"
}

case_languages_later() {
	[ -x /bin/python3 ] || skip "Debian's Python could not be had"
	met_later --wall
	grep -qE ';<module>;main;.* [0-9]+$' out || fail "no frames of Python"
	all_complete 980
	near '^' "$(awk '/samples of wall/ { print $10 }' err)" 5
}

# Programs on probes call their successors. What is probed is called by key() alone, of each hundred calls one counts.
case_languages_called() {
	[ -x /bin/python3 ] || skip "Debian's Python could not be had"
	met_later --max-overhead none -e uprobe:/bin/python3:PyNumber_Negative -c 100
	[ "$lost" -eq 0 ] || fail "$lost hits lost"
	[ "$(count ';<module>;main;sorts;.*;key;')" -ge 10 ] || fail "no frames of Python"
}

# known PROGRAM PERCENT SHARE OWN;MAIN TWICE ONCE SORTS CALLED SPIN: so much of the program's stacks, at least, is complete and
# leads down to its own code; what MAIN calls has its shares, 2 to 1 to 1, of which the first is SHARE % at least, for samples
# are few; native code is between the last and what it has called.
known() {
	local of="^$1;" functions="^$1;.*;$4;"
	[ "$(count "$of")" -ge 30 ] || fail "$(count "$of") samples of $1"
	share "^$1;_start;.*;${4%;*}[; ]" "$2" "$of"
	share "$functions$5;$9[; ]" "$3" "$functions"
	share "$functions$6;$9[; ]" 5 "$functions"
	share "$functions$7;.*;$8;$9[; ]" 5 "$functions"
}

# One recording of all of them, which work as soon as it has begun. An emulated CPU takes a while for their tables, before
# which what LuaJIT has compiled is cut: it lasts until a shell has done its part of the work, however slow that CPU is.
# shellcheck disable=SC2016 # the shell that it is for expands it
case_languages() {
	local name all=''
	mkfifo go
	for name in ruby php perl lua5.1 lua5.4 luajit; do
		[ -x "/bin/$name" ] || skip "this machine has no $name"
		fixture "known.$name"
		all=$all,$pid
	done
	ebp -F 199 -p "${all#,}" -- sh -c 'echo >go; i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done'
	# What counts them needs the CPUs now.
	# shellcheck disable=SC2046 # one word a process
	kill -9 $(echo "$all" | tr , ' ')
	[ "$lost" -eq 0 ] || fail "$lost samples lost"
	known known.ruby 97 30 '<main>;Object#main' Thing#twice Thing.once 'Thing#sorts;Enumerable#sort_by' 'block in Thing#sorts' Object#spin
	known known.php 97 30 '<known.php>;main' Thing::twice Thing::once 'Thing::sorts;usort' Thing::order spin
	known known.perl 97 30 '<known.perl>;main::main' App::Thing::twice App::Thing::once App::Thing::sorts App::Thing::order main::spin
	known known.lua5.1 97 30 '<known.lua5.1>;main' twice once 'sorts;sort' 'function <[^;]*>' spin
	known known.lua5.4 97 30 '<known.lua5.4>;main' twice once 'sorts;sort' 'function <[^;]*>' spin
	# A sample in a trace is of the function that the trace began in, whatever it has inlined.
	known known.luajit 50 15 '<known.luajit>;main' twice once 'sorts;sort' 'function <[^;]*>' spin
}
