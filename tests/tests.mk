# SPDX-License-Identifier: MIT
# Tests, lint and benchmarks; included by the Makefile.

TEST := $(BUILD)/tests

# --- What must be installed: package, or package:command where any such command serves. ---
CLANG_VERSION = $(shell $(CLANG) -dumpversion 2>/dev/null | cut -d. -f1)
DEPS_BUILD := gcc make:make clang llvm bpftool:bpftool pkg-config:pkg-config libc6-dev libbpf-dev libelf-dev libdw-dev \
	zlib1g-dev libdeflate-dev libzstd-dev liblzma-dev libcapstone-dev libmicrohttpd-dev libiberty-dev libncurses-dev
DEPS_CROSS := gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ libc6-dev-arm64-cross \
	qemu-user:qemu-aarch64 qemu-system-arm:qemu-system-aarch64
DEPS_TEST  := lld:ld.lld python3:python3 ruby:ruby openssl:openssl g++ rustc:rustc golang-go:go dwz:dwz xz-utils:xz git:git musl-tools:musl-gcc \
	libdw-dev shellcheck:shellcheck cppcheck:cppcheck strace:strace libcap2-bin:setcap mandoc:mandoc util-linux npm:npm \
	chromium:chromium valgrind:valgrind libdebuginfod1 libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 \
	kcachegrind:kcachegrind xvfb:xvfb-run xauth:xauth dbus:dbus-run-session x11-utils:xwininfo linux-perf:perf \
	libxml2-utils:xmllint jq:jq tmux:tmux zsh:zsh fish:fish protobuf-compiler:protoc golang-github-google-pprof-dev \
	qemu-system-x86:qemu-system-x86_64 zstd:zstd lz4:lz4 php-cli:php php-fpm:php-fpm8.2 libphp-embed libapache2-mod-php rake:rake lua5.1:lua5.1 lua5.2:lua5.2 lua5.3:lua5.3 lua5.4:lua5.4 luajit:luajit openjdk-17-jdk-headless:javac \
	redis-server:redis-server redis-tools:redis-cli postgresql mmdebstrap:mmdebstrap prometheus:prometheus yamllint:yamllint buildah:buildah \
	$(DEPS_CROSS) $(DEPS_DEB)

.PHONY: deps deps-test deps-packages test test-build test-unit test-e2e test-vm test-deb cross-arm64 fuzz lint analyze coverage sanitize \
	valgrind bench bench-page

deps: ## install what building needs (apt), where anything is missing
	@tests/deps $(DEPS_BUILD)

deps-packages: deps
	@tests/deps $(DEPS_TEST) libclang-rt-$(or $(CLANG_VERSION),14)-dev

# Programs that read our formats and that Debian does not have, and a node that is new enough for them.
READERS := $(TEST)/readers/node_modules/.package-lock.json
$(READERS): tests/readers/package.json tests/readers/package-lock.json | deps-packages
	@mkdir -p $(@D)/..
	@cp $^ $(@D)/..
	@echo "deps: installing npm packages: $$(sed -n 's/^    "\(.*\)": .*/\1/p' $< | paste -sd' ')"
	@cd $(@D)/.. && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

deps-test: $(READERS) ## install what the tests need in addition

# A Collector of OpenTelemetry, for the test of `push`, which gets it where it is not there yet, and is skipped where it cannot be had.
OTEL := $(TEST)/otel
.PHONY: deps-otel
deps-otel: $(OTEL)/otelcol ## a Collector of OpenTelemetry from Debian's sources, for one test (330 MB, a minute or two, once)
$(OTEL)/otelcol: tests/readers/otel/get tests/readers/otel/main.go
	@tests/readers/otel/get $(OTEL)

# --- The library's sources, built once for what is fuzzed and for unit tests; of debug information its reports need lines alone. ---
LIB_SRC   := $(wildcard $(addsuffix /*.c,src/base src/elf src/dwarf src/go src/lang src/proc src/symbols src/profile src/push src/serve src/input src/sinks \
	src/output src/annotate src/tui src/unwind src/unwind/code src/unwind/step src/unwind/table src/unwind/shards src/cli src/collect src/alloc src/slices src/probes src/sources src/loop src/stat)) \
	$(addprefix src/session/,stacks.c known_processes.c ended_threads.c namer.c naming.c priority.c deadline.c budget.c patience.c frame_word.c aboves.c stash.c unmapped.c) $(wildcard src/session/assembler*.c) \
	src/preload/block_table.c $(addprefix src/selftest/,judge.c measure.c programs.c) \
	$(addprefix src/commands/,hints.c packages.c record_rules.c)
# Some 230 programs are linked with the library: by lld in half the time.
TEST_LIBS := -fuse-ld=lld -lbpf -ldw -lelf -lz -ldeflate -lzstd -llzma -lncursesw -ltinfo -liberty -lm -ldl -pthread
ASAN      := -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ      := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
FUZZ_OBJ  := $(LIB_SRC:%.c=$(TEST)/libfuzzer/%.o)
# Unit tests stand on what is fuzzed. Without sanitizers (tests/cross/run, make coverage) they have $(BUILD)/lib.a of the program's
# objects.
UNIT_CC   := $(CLANG)
UNIT_OPT  := -O0 $(ASAN)
UNIT_LIB  := $(TEST)/libfuzzer/lib.a

$(TEST)/libfuzzer/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(FUZZ) -MMD -MP -c -o $@ $<

# What includes the skeleton.
$(filter %/collector.o %/bpf_programs.o %/successor.o %_kernel.o,$(FUZZ_OBJ)): $(SKEL)
$(filter %/stat/tally.o,$(FUZZ_OBJ)): $(TALLY)

$(TEST)/libfuzzer/lib.a: $(FUZZ_OBJ)
$(BUILD)/lib.a: $(LIB_SRC:%.c=$(BUILD)/%.o)
$(TEST)/libfuzzer/lib.a $(BUILD)/lib.a:
	@rm -f $@
	$(AR) rcs $@ $^

UNIT_BIN := $(patsubst tests/unit/%.c,$(TEST)/unit/%,$(wildcard tests/unit/test_*.c))
# What makes the images of interpreters (tests/unit/images/record).
RECORD_IMAGE := $(TEST)/unit/images/record_image
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(TEST)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# -iquote: a test includes "unit/test.h" or "test.h" beside it, and the sources by their own names.
$(TEST)/unit/%: tests/unit/%.c $(UNIT_LIB)
	@mkdir -p $(@D)
	$(UNIT_CC) $(CPPFLAGS) -Itests $(CFLAGS) $(UNIT_OPT) -MMD -MP -o $@ $< $(UNIT_LIB) $(TEST_LIBS)

# Looks up the types of its own functions.
$(TEST)/unit/test_signatures: private UNIT_OPT += -g

$(TEST)/fuzz/%: tests/fuzz/%.c $(TEST)/libfuzzer/lib.a
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS) -Itests $(CFLAGS) -Wno-missing-prototypes $(FUZZ) -fsanitize=fuzzer -MMD -MP -o $@ $< \
		$(TEST)/libfuzzer/lib.a $(TEST_LIBS)

# --- Fixtures: small programs of known behaviour, with a frame for every call. ---
FIX        := $(TEST)/fixtures
FIX_FLAGS  := -O2 -Wall -Wextra -D_GNU_SOURCE -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
	-fno-optimize-sibling-calls -pthread
FIX_BIN    := $(addprefix $(FIX)/,tree paths tree_nopie tree_static tree_shifted tree_dynsym tree_bare brief brief_child brief_threads thread_storm \
	syscalls storm moments timed names exec exec_after exec_large newborn dl dl_lib.so mapper crowd shapes_cpp spin.bpf.o tree_frameless handler \
	unwind_shapes unwind_shapes_bare timed_frameless addresses inlined_spin profiles waits jit_names fail_nth.so fail_load.so late_threads.so clock_jump.so demangle_names stl \
	alloc_sites alloc_sites_static alloc_new alloc_rate alloc_threads alloc_own alloc_fork page_faults probed probed_cpp unanswered sampler php_threads php_embed perl_unthreaded)
UNWIND_BIN := $(addprefix $(FIX)/unwind_,chain chain_wide events hostile cpp)
# A Rust or Go compiler may be missing where the tests are only built; the tests that need it say so.
FIX_BIN    += $(if $(shell command -v rustc),$(FIX)/shapes_rust_v0 $(FIX)/shapes_rust_legacy)
FIX_BIN    += $(if $(shell command -v rustc),$(FIX)/load_rust)
FIX_BIN    += $(if $(shell command -v go),$(FIX)/go_profiles)
UNWIND_BIN += $(if $(shell command -v rustc),$(FIX)/unwind_rust) $(if $(shell command -v go),$(FIX)/unwind_go)
FIX_BIN    += $(if $(shell command -v musl-gcc),$(FIX)/tree_musl $(FIX)/tree_musl_static $(FIX)/alloc_sites_musl \
	$(FIX)/unwind_chain_musl $(FIX)/unwind_chain_musl_stripped)
FIX_BIN    += $(FIX)/unwind_chain_protected $(UNWIND_BIN) $(UNWIND_BIN:=_stripped) $(FIX)/unwind_chain_static $(FIX)/unwind_chain_static_stripped \
	$(FIX)/unwind_plugin_a.so $(FIX)/unwind_plugin_b.so

fix_cc = @mkdir -p $(@D); $(CC) $(FIX_FLAGS) $(1) -o $@ $<
$(FIX)/%: tests/fixtures/%.c tests/fixtures/fixture.h
	$(call fix_cc,)
$(FIX)/brief_child: tests/fixtures/brief_child.c tests/fixtures/fixture.h
	$(call fix_cc,-static)
$(FIX)/exec_large: tests/fixtures/exec_large.c tests/fixtures/fixture.h
	$(call fix_cc,-static -fno-pie -no-pie)
$(FIX)/probed: tests/fixtures/probed.c tests/fixtures/fixture.h
	$(call fix_cc,-g)
$(FIX)/mapper $(FIX)/jit_names: tests/fixtures/burn.h
$(FIX)/tree_nopie: tests/fixtures/tree.c tests/fixtures/fixture.h
	$(call fix_cc,-fno-pie -no-pie)
$(FIX)/tree_static: tests/fixtures/tree.c tests/fixtures/fixture.h
	$(call fix_cc,-static)
# The code's p_vaddr is far from its p_offset, and by another distance than the first segment's.
$(FIX)/tree_shifted: tests/fixtures/tree.c tests/fixtures/fixture.h
	$(call fix_cc,-Wl$(comma)-Ttext=0x151000)
# Names in .dynsym only; and no names at all.
$(FIX)/tree_dynsym: tests/fixtures/tree.c tests/fixtures/fixture.h
	$(call fix_cc,-rdynamic -s)
$(FIX)/tree_bare: tests/fixtures/tree.c tests/fixtures/fixture.h
	$(call fix_cc,-s)
# Without frame pointers but in the leaf, whose work() asks for one.
$(FIX)/tree_frameless: tests/fixtures/tree.c tests/fixtures/fixture.h
	$(call fix_cc,-fomit-frame-pointer)
# On another libc, which has no call frame information of its own.
$(FIX)/tree_musl $(FIX)/tree_musl_static: tests/fixtures/tree.c tests/fixtures/fixture.h
	@mkdir -p $(@D)
	musl-gcc $(FIX_FLAGS) -fomit-frame-pointer $(if $(findstring static,$@),-static) -o $@ $<
FRAMELESS := $(filter-out -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer,$(FIX_FLAGS)) -fomit-frame-pointer -DFRAMELESS
fix_frameless = @mkdir -p $(@D); $(CC) $(FRAMELESS) $(1) -o $@ $<
$(FIX)/unwind_shapes $(FIX)/unwind_shapes_bare: tests/fixtures/unwind_shapes.c tests/fixtures/fixture.h
	$(call fix_frameless,$(if $(findstring bare,$@),-s))
# Nothing in it has call frame information, neither the libc nor the program.
$(FIX)/unwind_chain_musl: tests/fixtures/unwind_chain.c tests/fixtures/fixture.h
	@mkdir -p $(@D)
	musl-gcc $(FRAMELESS) -fno-asynchronous-unwind-tables -static -o $@ $<
# Not a target of profiles, but the symbolizer in a program of its own.
NAMES_OBJ := $(filter $(addprefix $(BUILD)/src/,base/% elf/% dwarf/% go/% symbols/%),$(OBJ))
$(FIX)/addresses $(FIX)/demangle_names: $(FIX)/%: tests/fixtures/%.c $(NAMES_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $^ $(LIBS)
# A third user of the loop and the session, with all that we have but main().
$(FIX)/sampler: tests/fixtures/sampler.c $(filter-out $(BUILD)/src/main.o,$(OBJ))
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $^ $(LIBS)
# Hand-made profiles, written in every format.
PROFILES_OBJ := $(filter $(addprefix $(BUILD)/src/,base/% profile/% output/%),$(OBJ))
$(FIX)/profiles: tests/fixtures/profiles.c tests/fixtures/profiles.h $(PROFILES_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter-out %.h,$^) $(LIBS)
$(FIX)/inlined_spin: tests/fixtures/inlined_spin.c
	$(call fix_cc,-g)
$(FIX)/timed_frameless: tests/fixtures/timed.c tests/fixtures/fixture.h
	$(call fix_frameless,)
$(FIX)/unwind_chain_wide: tests/fixtures/unwind_chain.c tests/fixtures/fixture.h
	$(call fix_frameless,-DROOM=400)
$(FIX)/unwind_chain_static: tests/fixtures/unwind_chain.c tests/fixtures/fixture.h
	$(call fix_frameless,-static)
# With what a distribution may add against attacks: marked entries, signed return addresses.
PROTECT_x86   := -fcf-protection=full
PROTECT_arm64 := -mbranch-protection=standard
$(FIX)/unwind_chain_protected: tests/fixtures/unwind_chain.c tests/fixtures/fixture.h
	$(call fix_frameless,$(PROTECT_$(ARCH)))
$(FIX)/unwind_plugin_a.so $(FIX)/unwind_plugin_b.so: tests/fixtures/unwind_plugin.c tests/fixtures/fixture.h
	$(call fix_frameless,-shared -fPIC -DROOM=$(if $(findstring _a,$@),16,208))
$(FIX)/alloc_sites_static: tests/fixtures/alloc_sites.c tests/fixtures/fixture.h
	$(call fix_cc,-static)
$(FIX)/alloc_sites_musl: tests/fixtures/alloc_sites.c tests/fixtures/fixture.h
	@mkdir -p $(@D)
	musl-gcc $(FIX_FLAGS) -static -o $@ $<
$(FIX)/alloc_new: tests/fixtures/alloc_new.cpp tests/fixtures/fixture.h
	@mkdir -p $(@D)
	$(CXX) $(FIX_FLAGS) -std=gnu++17 -o $@ $<
$(FIX)/probed_cpp: tests/fixtures/probed_cpp.cpp tests/fixtures/fixture.h
	@mkdir -p $(@D)
	$(CXX) $(FIX_FLAGS) -std=gnu++17 -o $@ $<
$(FIX)/unwind_cpp: tests/fixtures/unwind_cpp.cpp tests/fixtures/fixture.h
	@mkdir -p $(@D)
	$(CXX) $(FRAMELESS) -o $@ $<
$(FIX)/unwind_rust: tests/fixtures/unwind_rust.rs
	@mkdir -p $(@D)
	MAKEFLAGS= rustc --edition 2021 -O -o $@ $<
$(FIX)/load_rust: tests/fixtures/load.rs
	@mkdir -p $(@D)
	MAKEFLAGS= rustc --edition 2021 -O -g -o $@ $<
$(FIX)/unwind_go: tests/fixtures/unwind_go.go
	@mkdir -p $(@D)
	GOCACHE=$(abspath $(TEST))/go GOFLAGS= CGO_ENABLED=0 go build -o $@ $<
$(FIX)/go_profiles: tests/fixtures/go_profiles.go
	@mkdir -p $(@D)
	GOCACHE=$(abspath $(TEST))/go GOFLAGS= CGO_ENABLED=0 go build -o $@ $<
GO_SYMBOLS := $(if $(shell command -v go),$(addprefix $(FIX)/go_symbols,/plain /stripped /pie /external))
GO_SYMBOLS_pie      := CGO_ENABLED=0 go build -buildmode=pie
GO_SYMBOLS_stripped := CGO_ENABLED=0 go build -ldflags='-s -w'
GO_SYMBOLS_plain    := CGO_ENABLED=0 go build
# By the C linker, which writes the pointers as relocations alone.
GO_SYMBOLS_external := CGO_ENABLED=1 go build -buildmode=pie -ldflags='-s -w -linkmode=external'
$(FIX)/go_symbols/%: tests/fixtures/go_symbols.go
	@mkdir -p $(@D)
	GOCACHE=$(abspath $(TEST))/go GOFLAGS= $(GO_SYMBOLS_$*) -o $@ $<
$(TEST)/unit/test_gopclntab $(TEST)/unit/test_stripped_go: | $(GO_SYMBOLS)
$(FIX)/unwind_%_stripped: $(FIX)/unwind_%
	$(STRIP) -s -o $@ $<
$(FIX)/unwind_%: tests/fixtures/unwind_%.c tests/fixtures/fixture.h
	$(call fix_frameless,)
$(FIX)/handler: tests/fixtures/handler.c tests/fixtures/fixture.h
	$(call fix_cc,-fomit-frame-pointer)
$(FIX)/exec_after: tests/fixtures/exec.c tests/fixtures/fixture.h
	$(call fix_cc,-DAFTER)
$(FIX)/fail_nth.so $(FIX)/fail_load.so $(FIX)/late_threads.so $(FIX)/clock_jump.so: $(FIX)/%.so: tests/fixtures/%.c
	$(call fix_cc,-shared -fPIC)
$(FIX)/dl_lib.so: tests/fixtures/dl_lib.c tests/fixtures/fixture.h
	$(call fix_cc,-shared -fPIC)
$(FIX)/shapes_cpp: tests/fixtures/shapes.cpp tests/fixtures/fixture.h
	@mkdir -p $(@D)
	$(CXX) $(FIX_FLAGS) -o $@ $<
# Nothing is inlined: each function of the library has frames of its own.
$(FIX)/stl: tests/fixtures/stl.cpp
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 -O0 -Wall -Wextra -o $@ $<
$(FIX)/shapes_rust_%: tests/fixtures/shapes.rs
	@mkdir -p $(@D)
	MAKEFLAGS= rustc --edition 2021 -O -g -C force-frame-pointers=yes $(RUST_MANGLING_$*) -o $@ $<
# Legacy mangling was the default up to Rust 1.94, and has no stable word of its own.
RUST_MANGLING_v0     := -C symbol-mangling-version=v0
RUST_MANGLING_legacy :=
$(FIX)/spin.bpf.o: tests/fixtures/spin.bpf.c
	@mkdir -p $(@D)
	$(CLANG) -target bpf -O2 -g -Wall -Wextra -c -o $@ $<
comma := ,

# What tests/vm takes along to other kernels.
VM_FIX := $(addprefix $(FIX)/,tree tree_static tree_frameless brief brief_child syscalls storm exec exec_after dl dl_lib.so timed \
	handler waits unwind_chain unwind_chain_wide unwind_chain_static unwind_chain_protected unwind_cpp alloc_sites \
	page_faults probed)
.PHONY: vm-build
vm-build: $(BUILD)/static/ebprof $(PRELOAD) $(VM_FIX)
# For this machine, whichever the object is for.
RELOCATIONS := tests/vm/relocations.c $(addprefix src/,collect/kernel_types.c collect/raw_btf.c base/hashmap.c base/huge.c base/io.c base/xalloc.c)
$(TEST)/relocations: $(RELOCATIONS)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(RELOCATIONS) -lbpf -lelf -lz

test-build: ebprof $(BUILD)/static/ebprof $(UNIT_BIN) $(RECORD_IMAGE) $(FUZZ_BIN) $(FIX_BIN) $(TEST)/relocations

# --- What a person calls. ---
TEST_ENV := BUILD=$(BUILD) FUZZ_TIME=$(FUZZ_TIME)

# What e2e needs of other suites is brought meanwhile; what needs it earlier waits for it.
test: ## install what is missing, build and run all tests (as root)
	@$(MAKE) --no-print-directory deps-test
	@[ "$$(id -u)" -ne 0 ] || $(TEST_ENV) nice sh -c 'tests/readers/otel/get $(OTEL); python3 -B tests/e2e/containers.py' >/dev/null 2>&1 &
	@$(MAKE) --no-print-directory -j$$(nproc) deb test-build
	@$(TEST_ENV) tests/run

test-unit: $(UNIT_BIN) ## unit tests alone, under ASan and UBSan
	@$(TEST_ENV) tests/run unit

test-e2e: ebprof $(BUILD)/static/ebprof $(FIX_BIN) ## end-to-end tests alone (as root); tests/run e2e NAME for some of them
	@$(TEST_ENV) tests/run e2e

test-vm: deps-test ## tests on other kernels, under QEMU; tests/run vm arm64 [CASE] for some of them
	@$(MAKE) --no-print-directory vm-build $(TEST)/relocations
	@$(TEST_ENV) tests/run vm

test-deb: deps-test ## the package: installed, run and removed in a bare Debian (as root)
	@$(MAKE) --no-print-directory deb
	@$(TEST_ENV) tests/run deb

cross-arm64: deps-test ## compile everything for aarch64, and run unit tests for it under QEMU
	@$(TEST_ENV) tests/run cross

FUZZ_TIME ?= 5
fuzz: $(FUZZ_BIN) ## fuzz each parser for FUZZ_TIME (5) seconds, newer ones six times that
	@$(TEST_ENV) tests/run fuzz

# Of clang the warnings count, which do not depend on optimization: what is fuzzed is built for that, as the unit tests are, the
# rest for this alone. gcc builds the unit tests for its warnings alone.
UNIT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/unit/test_*.c))
$(UNIT_OBJ): CPPFLAGS += -Itests
.PHONY: lint-text lint-fuzzed lint-rest lint-unit lint-clang lint-gcc
lint-text: deps-packages
	@tests/lint
lint-fuzzed: $(FUZZ_OBJ)
lint-rest: $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(LIB_SRC),$(SRC))) $(PRELOAD)
lint-unit: $(UNIT_OBJ)
lint-clang:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/lint-clang CC=$(CLANG) OPT=-O0 lint-rest
lint-gcc:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/lint-gcc CC=gcc OPT=-O0 lint-unit

# What waits (for the network, for packages that are unpacked, and where one file is compiled for long) is beside the rest.
lint: deps ## layering, sizes, scripts, man page, warnings of gcc and of clang
	@$(MAKE) --no-print-directory -j$$(($$(nproc) + 1)) CC=gcc lint-build $(READERS) lint-text lint-fuzzed lint-clang lint-gcc
	@echo "lint: clean"

# Compiles everything with -Werror (WARN) and links nothing but the library that is preloaded.
.PHONY: lint-build
lint-build: $(OBJ) $(PRELOAD)

# A stamp for each file, so that only what changed is looked at again; all of it takes some 100 s on two CPUs.
ANALYZED := $(SRC:%.c=$(TEST)/analyzed/%)
$(TEST)/analyzed/%: %.c $(SKEL) $(TALLY) $(CALL_NAMES)
	@mkdir -p $(@D)
	@$(CLANG) --analyze --analyzer-output text -Xclang -analyzer-werror $(ANALYZER) $(CPPFLAGS) -std=gnu11 -MMD -MP -MF $@.d -MT $@ $<
	@touch $@

# What bpftool wrote forgets some bytes where there is no memory.
$(addprefix $(TEST)/analyzed/src/,collect/collector collect/bpf_programs collect/successor stat/tally): ANALYZER := -Xclang -analyzer-disable-checker=unix.Malloc

# Pieces that count their users.
$(TEST)/analyzed/src/session/aboves: ANALYZER := -Xclang -analyzer-disable-checker=unix.Malloc

# That where an array has elements, or a table an index of them, the array is there.
$(addprefix $(TEST)/analyzed/src/,selftest/trial session/assembler_lang session/tracker tui/rows unwind/table/build unwind/unwinder): ANALYZER := -Xclang -analyzer-disable-checker=core.NullDereference \
	-Xclang -analyzer-disable-checker=core.NonNullParamChecker -Xclang -analyzer-disable-checker=unix.cstring.NullArg

analyze: deps-test $(ANALYZED) ## clang's static analyzer and cppcheck find nothing
	@tests/analyze
	@echo "analyze: clean"

# Other builds of all that is tested. How often a line ran is counted in files that are mapped, so that it is known of
# processes that were killed, and of those that may no longer write files.
COVERAGE  := $(TEST)/coverage
SANITIZED := $(TEST)/sanitized
COUNTED   := -O1 -g -fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation -Wno-unused-command-line-argument
another_build = +@$(MAKE) --no-print-directory -s -j$(shell nproc) BUILD=$(1) PROGRAM=$(1)/ebprof

coverage: deps-test $(BUILD)/static/ebprof $(FIX_BIN) ## which lines of src/ the tests run (as root); build/tests/coverage/lines tells each
	$(call another_build,$(COVERAGE)) CC=$(CLANG) OPT='$(COUNTED)' UNIT_OPT= UNIT_LIB=$(COVERAGE)/lib.a all unit-build
	@$(TEST_ENV) tests/coverage $(COVERAGE)

# Without leaks: what looks for them stops all threads by ptrace, which the sandbox refuses. Tests fail of a program that is
# so slow: what counts are the reports.
sanitize: deps-test $(BUILD)/static/ebprof $(FIX_BIN) ## the end-to-end tests with an ebprof under ASan and UBSan (as root)
	$(call another_build,$(SANITIZED)) OPT='-O1 $(ASAN)' all
	@$(TEST_ENV) EBPROF=$(abspath $(SANITIZED)/ebprof) ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:exitcode=86 \
		UBSAN_OPTIONS=print_stacktrace=1:exitcode=86 tests/run e2e | tee $(SANITIZED)/log
	@grep -q "^e2e: [1-9][0-9]* passed" $(SANITIZED)/log
	@! grep -q "a sanitizer reports" $(SANITIZED)/log
	@echo "sanitize: no reports"

# Tests fail here, too, and those of alloc -p end: what a trap costs is measured by one, which valgrind meets itself (SIGTRAP).
# NAMES: some tests, as for tests/run.
REPORTS := $(TEST)/valgrind
valgrind: deps-test ebprof $(BUILD)/static/ebprof $(FIX_BIN) ## the end-to-end tests with ebprof under valgrind (as root; some two hours)
	@rm -rf $(REPORTS)
	@mkdir -p $(REPORTS)
	@$(TEST_ENV) EBPROF=$(abspath tests/valgrind) REPORTS=$(abspath $(REPORTS)) tests/run e2e $(NAMES) || :
	@! grep -E '^==[0-9]+== [A-Z]|INTERNAL ERROR' $(REPORTS)/* | grep -v SIGTRAP
	@echo "valgrind: no reports of $$(ls $(REPORTS) | wc -l) processes"

.PHONY: unit-build
unit-build: $(UNIT_BIN)

BENCH := $(TEST)/bench/tables
BENCH_OBJ := $(filter $(addprefix $(BUILD)/src/,base/% dwarf/cfi% elf/% go/% unwind/%),$(OBJ))
$(BENCH): tests/bench/tables.c $(BENCH_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $^ $(LIBS)

bench: ebprof $(FIX_BIN) $(BENCH) ## measure against perf and bpftrace (as root): ROUNDS (3), PARTS ("versus growth", or all)
	@$(TEST_ENV) tests/bench/run --rounds $(or $(ROUNDS),3) $(PARTS)

bench-page: ## put what was measured into docs/benchmarks.md and README.md
	@$(TEST_ENV) tests/bench/page

-include $(ANALYZED:=.d) $(FUZZ_OBJ:.o=.d) $(UNIT_BIN:=.d) $(FUZZ_BIN:=.d)
