#!/bin/sh
# shellcheck shell=dash disable=SC2154,SC2086
# SPDX-License-Identifier: MIT
# The cases that run in the guest, each a function case_NAME in a shell of its own, in this order: written with
# guest.sh, which sets taken, complete, truncated, lost and pid, and has fixture, ebp, share, chain,
# all_complete and more.
# A case passes when it returns 0. See tests/vm/run.

case_possible_cpus() {
	local possible
	[ "$(uname -m)" = x86_64 ] || skip "QEMU has no CPUs to be added later for this machine"
	read -r possible </sys/devices/system/cpu/possible
	[ "$possible" = 0-191 ] || fail "possible CPUs: $possible"
}

case_doctor() {
	ebprof doctor >out 2>err || fail "doctor: exit status $?"
	grep -q missing out && fail "something is missing"
	return 0
}

case_process() {
	fixture tree
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share '^tree;' 100
	tree_chains
}

case_threads() {
	fixture tree --threads 2
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share '^tree-[01];' 99
	tree_chains
}

case_children() {
	fixture tree --fork 2
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	tree_chains
}

case_system() {
	fixture tree
	ebp -a $SHORT
	taken_at_least 50
	all_complete 990
	tree_chains '^tree;'
	[ "$(count '^tree;[[]truncated')" -eq 0 ] || fail "stacks of the tree are truncated"
}

case_command() {
	ebp -F 199 -- /fixtures/tree --seconds 2
	taken_at_least 50
	all_complete 995
	tree_chains ';main;run'
}

case_tracepoint() {
	ebp -e sched:sched_switch -c 1 -- /fixtures/syscalls sleep 100
	taken_at_least 50
	# As it starts it may be switched away from in crt code, which has no CFI.
	all_complete 980
	truncated_all '[[]truncated: no CFI];'
	# All 100, but where QEMU's other CPU has its turn (of up to 100 ms) between the timer and the switch: it does not sleep then.
	[ "$(count "$(chain main call_sleep)")" -ge 95 ] || fail "it slept 100 times"
	grep -q ';schedule' out || fail "no kernel frames"
}

# Each call of each caller; by two links or two perf events, as the kernel has them. The calls wait for their tables: an emulated
# CPU takes seconds for those, and for as many stacks in user space.
case_probes() {
	ebp -e uprobe:/fixtures/probed:probed_leaf -- sh -c '(sleep 3; echo) | /fixtures/probed calls 2000 2 wait'
	[ "$taken" -eq 4000 ] || fail "$taken calls"
	all_complete
	[ "$(count "$(chain by_first probed_leaf)")" -eq 3000 ] || fail "calls by the first"
	ebp -e uretprobe:/fixtures/probed:probed_leaf -- /fixtures/probed calls 2000 2
	[ "$taken" -eq 4000 ] || fail "$taken returns"
	ebp -e usdt:/fixtures/probed:ebprof:plain -- /fixtures/probed static 500
	[ "$taken" -eq 500 ] || fail "$taken hits of a static probe"
	ebp_time --latency uprobe:/fixtures/probed:probed_work --until uretprobe:/fixtures/probed:probed_sleep -- \
		/fixtures/probed sleep 20
	[ "$taken" -eq 20 ] || fail "$taken times between probes"
	ebp_time --latency uprobe:/fixtures/probed:probed_work --max-overhead 50 -- /fixtures/probed sleep 20
	[ "$taken" -eq 20 ] || fail "$taken times of calls"
}

# Kernels that are preempted within a program on a uprobe, where another thread hits the same on that CPU: its hit is counted
# without a stack, and nothing of the first one's is written over, as it was where programs had stacks of the CPU (6.13).
case_preempted() {
	ebp -e uprobe:/fixtures/probed:probed_leaf -- sh -c '(sleep 3; echo) | /fixtures/probed calls 8000 2 wait'
	[ "$taken/$lost" = 16000/0 ] || fail "$taken calls, $lost lost"
	truncated_all '[[]truncated: preempted probe]'
	[ "$(count "$(chain by_first probed_leaf)")" -gt 100 ] || fail "calls by the first"
}

case_kprobe() {
	[ -e /sys/bus/event_source/devices/kprobe ] || skip "this kernel has no kprobes"
	ebp -e kprobe:vfs_write -- /fixtures/probed write 300
	[ "$(count 'probed_write;.*vfs_write')" -ge 300 ] || fail "writes"
	ebp_time --latency kprobe:vfs_write --until kretprobe:vfs_write -- /fixtures/probed write 300
	[ "$taken" -ge 300 ] || fail "$taken times of writes"
	grep -q 'probed_write;.*do_syscall_64' out || fail "no stacks of writes"
	ebp -e kretprobe:vfs_write -- /fixtures/probed write 300
	[ "$(count 'probed_write;')" -ge 300 ] || fail "returns of writes"
	fixture syscalls loop
	ebp -e kprobe:vfs_write -p $pid -d 1
	case $(uname -r) in
	5.[0-9].* | 5.1[0-4].*) said='^ebprof: a hit in the kernel will cost' ;;
	*) said='^ebprof: .* hits in the kernel per second of' ;;
	esac
	grep -q "$said" err || fail "it does not say before what that costs"
}

case_tracepoint_filter() {
	ebp -e syscalls:sys_enter_write --filter 'count > 500' -- /fixtures/probed write 1000
	[ "$(count 'probed_write')" -eq 500 ] || fail "writes that pass"
}

case_static_program() {
	fixture tree_static
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	tree_chains
}

case_kernel_and_user() {
	fixture syscalls
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share ';main;call_(getppid|read|write)[; ]' 95
}

case_exec() {
	ebp -F 499 -- /fixtures/exec 1000 1000
	taken_at_least 50
	all_complete 995
	[ "$(count "$(chain main before_exec)")" -gt 20 ] || fail "nothing before exec"
	[ "$(count "$(chain main after_exec)")" -gt 20 ] || fail "nothing after exec"
	[ "$(count '^exec_after;.*before_exec')" -eq 0 ] || fail "the new program has the old one's functions"
}

# The library is mapped while sampling, and its file is gone before its first sample.
case_deleted_library() {
	cp /fixtures/dl_lib.so .
	ebp $SHORT -- /fixtures/dl /tmp/dl_lib.so
	taken_at_least 50
	all_complete 995
	share "$(chain main library_hot)" 90 ';main;'
}

# Processes of 20 ms each: those of before, and those that appear while sampling.
case_fork_storm() {
	ebp -F 499 -- /fixtures/brief 40 2
	taken_at_least 50
	all_complete 990
	# Of 40 times 20 ms at 499 Hz, half at least: what the rest of the time goes to is the kernel's.
	[ "$(count ';main;brief_child_hot[; ]')" -ge 200 ] || fail "too few samples of what the children do"
	share '^brief_child;.*;main;brief_child_hot[; ]' 95 '^brief_child;.*;main[; ]'
	share '^brief_child;_start;' 99 '^brief_child;.*brief_child_hot'
}

# --- What only unwinding by tables gets right: no frame pointers. ---

case_frameless() {
	fixture tree_frameless
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	tree_chains
	share '^tree_frameless;_start;' 99
}

case_frameless_command() {
	ebp -F 199 -- /fixtures/tree_frameless --seconds 2
	taken_at_least 50
	all_complete 995
	tree_chains ';main;run'
}

case_frameless_system() {
	fixture tree_frameless --fork 2
	ebp -a $SHORT
	taken_at_least 50
	all_complete 990
	tree_chains '^tree_frameless;'
}

# Each child has its parent's tables from its first instruction on.
case_frameless_children() {
	ebp -F 199 -- /fixtures/tree_frameless --seconds 2 --fork 4
	taken_at_least 50
	all_complete 990
	tree_chains ';main;run'
}

case_frameless_threads() {
	fixture tree_frameless --threads 2
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share "$(chain thread run)" 97
	tree_chains
}

# Of each stack that reaches the leaf, all 26 frames are there; return addresses are signed, too, where the CPU can.
case_chains() {
	local name all
	all=$(chain main $(seq -f 'c%03g' 25 -1 0))
	for name in unwind_chain unwind_chain_static unwind_chain_protected; do
		fixture $name 26
		ebp -F 199 -d 1 -p $pid
		taken_at_least 50
		all_complete
		share "$all" 100 ';c000[; ]'
		share "$all" 15
		kill $pid
	done
}

# What is rescued while the tables are made has 16 KiB of stack; the frames of either fixture have less together.
case_deep_chains() {
	fixture unwind_chain 100
	ebp -F 199 -d 1 -p $pid
	taken_at_least 50
	all_complete
	share "$(chain main $(seq -f 'c%03g' 99 -1 0))" 100 ';c000[; ]'
	kill $pid
	fixture unwind_chain_wide 30
	ebp -F 199 -d 1 -p $pid
	taken_at_least 50
	all_complete
	share "$(chain main $(seq -f 'c%03g' 29 -1 0))" 100 ';c000[; ]'
}

case_cpp() {
	fixture unwind_cpp
	ebp -F 199 -d 2 -p $pid
	taken_at_least 50
	# libgcc overwrites its own frame before it goes to a handler.
	all_complete 970
	truncated_all '[[]truncated: [^;]*;.*throwing.*;_Unwind_(RaiseException|Resume)[; ]'
	share ';main;' 99 '^unwind_cpp;_start;'
}

case_signal_handler() {
	fixture handler
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share ';main;interrupted;[^;]*;on_signal;in_handler[; ]' 30
	share "$(chain main interrupted)" 97
}

# The program has frame pointers; between its start and main() lies libc, which has none.
case_root() {
	fixture tree
	ebp -p $pid $SHORT
	taken_at_least 50
	share '^tree;_start;' 99
}

# Deeper than the kernel's own limit of 127 frames. Few samples are taken on the way down.
case_deep() {
	local whole
	fixture timed 300 0
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share ';main;down;' 99
	whole=$(awk 'gsub(/;down/, "") > 300 { n += $NF } END { print n + 0 }' out)
	[ $((100 * whole)) -ge $((97 * taken)) ] || fail "$whole of $taken stacks have all 301 frames of down()"
}

# libc's own functions have no frame pointers: the caller of one is the frame that is easily lost.
case_libc_caller() {
	fixture syscalls clock
	ebp -p $pid $SHORT
	taken_at_least 50
	all_complete
	share "$(chain main call_clock)" 97
	share '^syscalls;_start;' 99
}

# --- Where threads wait: the fixture tells what it measured itself. ---

case_waits_refused() {
	local status
	case $(uname -v) in
	*PREEMPT_RT*) ;;
	*) skip "this kernel can measure waits" ;;
	esac
	ebprof --off-cpu -d 1 >out 2>err
	status=$?
	[ $status -eq 3 ] || fail "exit status $status"
	grep -q PREEMPT_RT err || fail "the reason is not told"
	ebprof alloc --page-faults -d 1 >out 2>err
	status=$?
	[ $status -eq 3 ] || fail "page faults: exit status $status"
	grep -q PREEMPT_RT err || fail "the reason is not told"
}

case_off_cpu() {
	local name
	ebp_time --off-cpu -- /fixtures/waits 2
	taken_at_least 50
	all_complete 990
	for name in sleep mutex pipe cond; do
		# The rest of it the call takes, which an emulated CPU is slow at.
		near "^$name;.*;wait_$name;" "$(truth wait $name)" 10 4
		share "^$name;.*;wait_$name;.*;[[]blocked] " 30 "^$name;.*;wait_$name;"
	done
	for name in starved1 starved2; do
		# What interrupts take is waiting for it, too.
		near "^$name;.*;starve[; ]" "$(truth wait $name)" 15
		share "^$name;.*;starve;.*[[]runnable] " 95 "^$name;.*;starve[; ]"
	done
	[ "$(count '^sleep;.*;wait_(mutex|pipe|cond);')" -eq 0 ] || fail "a thread waits in another's function"
}

# woken: by whom the threads of the fixture were.
woken() {
	share '[[]blocked];.*;wake_others;run;.*;[[]woken by wake_others] ' 90 '^(pipe|cond);.*;wait_(pipe|cond);.*[[]blocked]'
	share '[[]blocked];.*;hold_mutex;run;.*;[[]woken by holder] ' 80 '^mutex;.*;wait_mutex;.*[[]blocked]'
	# Where interrupts are threads (PREEMPT_RT), by one of these.
	share '[[]blocked];(.*;)?[[]woken by (an interrupt|(ksoftirqd|ktimers)/[0-9]+)] ' 90 '^sleep;.*;wait_sleep;.*[[]blocked]'
}

# With their times, whose sums are the same.
case_wakers() {
	ebp_time --off-cpu --wakers --timeline -- /fixtures/waits 2
	all_complete 990
	woken
}

# What a thread ran and what it waited are what it lived.
case_wall() {
	local name
	ebp_time --wall --wakers --timeline -- /fixtures/waits 2
	all_complete 990
	for name in sleep mutex holder pipe cond wake_others starved1 starved2; do
		near "^$name;" "$(truth thread $name)" 3
	done
	share '^starved[12];.*;starve[^]]* ' 33 '^starved[12];'
	woken
}

# They slept before, and sleep on.
case_sleepers() {
	local before after
	fixture waits sleepers 200 100
	read -r before _ </proc/uptime
	ebp_time --off-cpu -p $pid -d 1
	read -r after _ </proc/uptime
	all_complete
	between ';sleeper;.*;[[]blocked] ' 200 "$(awk "BEGIN { print 200 * ($after - $before) }")"
}

# What is remembered of a thread is allocated while it is switched: the kernel must not complain.
case_off_cpu_storm() {
	ebp_time --off-cpu --wakers -- /fixtures/brief 40 3
	taken_at_least 50
	all_complete 970
}

# Both CPUs send a new stack with each sample, to a buffer that is full all the time.
case_full_ring() {
	fixture storm 2
	account -f folded -o out --buffer 4 -F 1999 -d 2 -p $pid
	taken_at_least 50
	[ "$complete" -gt 0 ] || fail "nothing came through"
}

# The kernel skips the samples within a tracer's BPF program: they are taken all the same, without the interrupt's frames.
# User space unwinds them, of which an emulated CPU does few a second.
case_other_bpf() {
	local inside tries=0 uncut
	fixture syscalls loop
	ebprof -p $pid -e raw_syscalls:sys_enter -c 1 -d 60 -o /dev/null 2>tracer &
	until ebp -p $pid -e cpu-clock $SHORT && [ "$(count '_on_tracepoint_native[; ]')" -gt 0 ]; do
		tries=$((tries + 1))
		[ $tries -lt 10 ] || fail "no sample is in a tracer's program: $(cat tracer "/proc/$!/stack")"
	done
	ebp -p $pid -e cpu-clock -F 99 -d 4
	taken_at_least 50
	all_complete 990
	inside=$(count '_on_tracepoint_native[; ]') uncut=$(count ';hrtimer_interrupt;.*_on_timer')
	[ $((100 * inside)) -ge $((20 * taken)) ] || fail "$inside of $taken samples are in the tracer's program"
	[ $((20 * uncut)) -le "$inside" ] || fail "$uncut of $inside have the interrupt's frames"
}

# --- The forms of output, as far as they depend on what this kernel tells. ---

# To the byte; of huge pages as far as this kernel tells them from small ones.
# faults: each place's bytes are what the program touched there.
faults() {
	local word name _ bytes got
	account alloc --page-faults -f folded -o out -- /fixtures/page_faults end
	[ "$lost" -eq 0 ] || fail "$lost faults lost"
	while read -r word name _ bytes; do
		if [ "$word" != place ] || [ "$name" = touch_file ]; then
			continue
		elif [ "$name" = touch_huge ] && grep -q "does not tell huge ones" err; then
			bytes=32768
		fi
		got=$(count ";${name}[; ]")
		[ "$got" -eq "$bytes" ] || fail "$name: $got of $bytes bytes"
	done <said
	grep -q 'place touch_more 3000 ' said || fail "the fixture told nothing"
	[ "$(count ";touch_file[; ]")" -gt 0 ] || fail "touch_file: nothing"
}

case_page_faults() {
	faults
	all_complete 995
}

# They may come faster than a busy emulator builds tables, and unwinds in user space: of an old kernel what counts is that
# none is lost.
case_fault_sums() {
	faults
}

# The PMU of the CPU by the syntax of PMUs: its events by name and by number are those that the kernel calls cycles.
case_timeline() {
	fixture tree
	account --timeline -f perf-script -o out -p $pid $SHORT
	taken_at_least 50
	all_complete
	tree_timeline
}

# All the while the date is set forward and back by a day: times are of another clock.
case_date() {
	local now jumps passed
	fixture tree
	now=$(date +%s)
	while date -s "@$((now + 86400))" && sleep 0.1 && date -s "@$((now - 86400))" && sleep 0.1; do :; done >/dev/null &
	jumps=$!
	account --timeline -f perf-script -o out -p $pid $SHORT
	kill $jumps
	passed=$(($(date +%s) - now))
	date -s "@$now" >/dev/null
	[ ${passed#-} -gt 80000 ] || fail "the date was not set"
	taken_at_least 50
	all_complete
	tree_timeline
	awk '/ samples of .* in [0-9.]+ s: / { n++; sub(/.* in /, ""); bad = $1 < 1.9 || $1 > 4 } END { exit n != 1 || bad }' err ||
		fail "2 s were not 2 s"
}

case_formats() {
	local file
	fixture tree
	account -p $pid $SHORT -o x.svg -o x.txt -o x.callgrind -o x.speedscope.json -o x.ndjson -o x.json.gz
	begins x.svg '<svg|<[?]xml'
	begins x.txt '.*SELF'
	begins x.callgrind '# callgrind'
	begins x.speedscope.json '[{]'
	begins x.ndjson '[{]'
	gunzip x.json.gz || fail "x.json.gz cannot be unpacked"
	begins x.json '[{]'
	set -- x.*
	[ $# -eq 6 ] || fail "there are $*"
	for file; do
		grep -q a2 "$file" || fail "$file does not know of a2"
	done
}

# The last of the tables has the samples of the window; a2 is 60 % of them, as the fixture has it.
case_top() {
	fixture tree
	ebprof top --plain --count 3 --rows 4 -F 499 -p $pid >out 2>err || fail "exit status $?"
	[ "$(grep -c 'SELF%.*FUNCTION' out)" -eq 3 ] || fail "three tables expected: $(cat out)"
	awk '$NF == "a2" { self = $1 } END { exit self < 50 || self > 70 }' out || fail "a2 has 60 % of the samples: $(cat out)"
}

# Each of thirty places, to the byte; or what it lacks is said to be truncated: where QEMU's other CPU has its turn (of up to
# 100 ms) before there are tables, the ring buffer may run out of room for stacks to be unwound in user space.
case_alloc() {
	local got missing=0
	account alloc --alloc-interval all -f folded -o out -- /fixtures/alloc_sites 1
	[ "$lost" -eq 0 ] || fail "$lost lost"
	[ "$(grep -c '^site ' said)" -eq 30 ] || fail "sites: $(cat said)"
	while read -r word name _ bytes _; do
		[ "$word" = site ] || continue
		got=$(count ";$name ")
		[ "$got" -le "$bytes" ] || fail "$got bytes in $name, $bytes expected"
		missing=$((missing + bytes - got))
	done <said
	[ $missing -eq "$(count '^alloc_sites;[[]truncated: no table];')" ] || fail "$missing bytes are missing"
	all_complete 950
}

case_alloc_running() {
	fixture unwind_cpp
	account alloc --alloc-interval 2048 -f folded -o out -p $pid -d 2
	taken_at_least 10
	all_complete 990
	share ';main;throwing' 50
	grep -q ';__cxa_allocate_exception' out || fail "no exception was allocated"
}

# The code of the running kernel, by /proc/kcore; under its filter, a recording has no right to read that.
case_kernel_instructions() {
	local name
	[ -x /bin/ebprof-dynamic ] || skip "instructions need libcapstone, which is this machine's alone"
	[ -e /proc/kcore ] || skip "this kernel has no /proc/kcore"
	fixture syscalls
	ebprof-dynamic -q -F 499 -d 2 -o x.pb.gz -p $pid 2>err || fail "no recording"
	name=$(ebprof-dynamic report -q --stdio x.pb.gz 2>err | awk '$4 == "[kernel]" { print $5; exit }')
	[ -n "$name" ] || fail "nothing of the kernel was sampled"
	ebprof-dynamic annotate "$name" x.pb.gz >out 2>err || fail "annotate $name"
	grep -q "^$name in the running kernel (/proc/kcore)$" out || fail "no code of $name: $(tail -n 3 out)"
	grep -qE '^ +[0-9.]+ +ffff[0-9a-f]+ ' out || fail "no instruction of $name has samples"
	[ "$(grep -cE '^ +[0-9.]* *ffff[0-9a-f]+ .*[a-z]' out)" -gt 3 ] || fail "few instructions"
	return 0
}
