# SPDX-License-Identifier: MIT
# ebprof: `make help` lists the targets.

VERSION  := 0.1.0
BUILD    ?= build
PREFIX   ?= /usr/local
CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= bpftool
PKG      ?= pkg-config
STRIP    ?= strip
# Where the program is put; other builds (make coverage) have it in folders of their own.
PROGRAM  ?= ebprof

# For another machine (tests/cross/run): make ARCH=arm64 CC=aarch64-linux-gnu-gcc BUILD=build/arm64 lint-build
ARCH     := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
OPT      ?= -O2 -g
WARN     := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wvla
CPPFLAGS += -D_GNU_SOURCE -DEBPROF_VERSION='"$(VERSION)"' -DHTML_PAGE='"$(PAGE)"' -Isrc -I. -I$(BUILD)
CFLAGS   += -std=gnu11 $(OPT) $(WARN) -fno-strict-aliasing -fstack-protector-strong
LIBS     := -lbpf -lelf -lz -ldeflate -lzstd -llzma -lncursesw -ltinfo -lm -ldl -pthread
# Only a static libiberty exists in Debian.
LIBS     += -liberty
# Names that the functions of `ebprof selftest` keep when symbols are stripped.
KEPT     := 'selftest_*'

BPF_SRC  := $(wildcard bpf/*.bpf.c)
BPF_HDR  := $(wildcard bpf/*.h bpf/*/*.h) vmlinux/vmlinux.h
BPF_OBJ  := $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/bpf/%.bpf.o)
SKEL     := $(BUILD)/ebprof.skel.h
# An object of its own, of ebprof stat.
TALLY    := $(BUILD)/tally.skel.h

PAGE     := $(BUILD)/flamegraph.html
# Preloaded into the command of `ebprof alloc`: no thread of it may need memory to find its own counters.
PRELOAD  := $(BUILD)/ebprof-alloc.so
PRELOAD_FLAGS := -std=gnu11 -O2 -g $(WARN) -fPIC -shared -fvisibility=hidden -fexceptions -fno-builtin -ftls-model=initial-exec \
	$(if $(filter x86,$(ARCH)),-fcf-protection=none)

SRC      := $(filter-out src/preload/%,$(wildcard src/*.c src/*/*.c src/*/*/*.c))
OBJ      := $(SRC:%.c=$(BUILD)/%.o)

.DELETE_ON_ERROR:
.PHONY: all help clean static install uninstall vmlinux demo pictures

all: $(PROGRAM) ## build ./ebprof (objects under build/)

$(PRELOAD): $(wildcard src/preload/*.[ch]) Makefile
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -Isrc -I. $(PRELOAD_FLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile packaging/package.mk tests/tests.mk | expand -t 16

$(PROGRAM): $(OBJ) | $(PRELOAD)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--export-dynamic-symbol=$(KEPT) -o $@ $^ $(LIBS)

# The flags are part of what an object depends on: a change rebuilds it.
$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# What includes the skeleton.
$(addprefix $(BUILD)/src/collect/,collector.o bpf_programs.o successor.o) $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/sources/*_kernel.c)): $(SKEL)
$(BUILD)/src/stat/tally.o: $(TALLY)

# What the C compiler's headers call the system calls, for messages.
CALL_NAMES := $(BUILD)/syscall_names.h
$(CALL_NAMES): Makefile
	@mkdir -p $(@D)
	echo '#include <sys/syscall.h>' | $(CC) -E -dM - | sed -nE 's/^#define SYS_([a-z0-9_]+) .*/{ SYS_\1, "\1" },/p' | sort > $@

$(BUILD)/src/base/refusals.o $(BUILD)/tests/libfuzzer/src/base/refusals.o: $(CALL_NAMES)

# The flame graph page, one text of its parts, for all that is built with html_page.c.
$(PAGE): $(wildcard src/output/flamegraph/*)
	@mkdir -p $(@D)
	src/output/flamegraph/assemble > $@

$(BUILD)/src/output/html_page.o $(BUILD)/tests/libfuzzer/src/output/html_page.o: $(PAGE)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR)
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Wextra -Werror -Ivmlinux -I. -c -o $@ $<

$(BUILD)/ebprof.bpf.o: $(BPF_OBJ)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/ebprof.bpf.o
	{ printf '#include "bpf/%s.h"\n' config lang; $(BPFTOOL) gen skeleton $< name ebprof_bpf; } > $@

$(TALLY): $(BUILD)/bpf/tally/tally.bpf.o
	{ echo '#include "bpf/tally/tally.h"'; $(BPFTOOL) gen skeleton $< name tally_bpf; } > $@

static: $(BUILD)/static/ebprof ## build/static/ebprof: one file to copy to a server
	@echo "$<: $$(file -b $< 2>/dev/null | cut -d, -f1-4), $$(stat -c %s $<) bytes"

$(BUILD)/static/ebprof: $(OBJ) | $(PRELOAD)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(LIBS)
	$(STRIP) -w -K $(KEPT) $@

# Where the shells look for what `ebprof completion` prints.
COMPLETION_bash = $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ebprof
COMPLETION_zsh  = $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ebprof
COMPLETION_fish = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ebprof.fish

# What is installed may be another machine's; completions are printed by this one's.
INSTALLED ?= ebprof
INSTALLED_PRELOAD ?= $(PRELOAD)

install: ebprof ## install to $(DESTDIR)$(PREFIX)
	install -D -m 755 $(INSTALLED) $(DESTDIR)$(PREFIX)/bin/ebprof
	install -D -m 644 $(INSTALLED_PRELOAD) $(DESTDIR)$(PREFIX)/lib/ebprof/ebprof-alloc.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/*.1
	$(foreach shell,bash zsh fish,./ebprof completion $(shell) | install -D -m 644 /dev/stdin $(COMPLETION_$(shell)) &&) :

uninstall: ## and remove it
	rm -f $(DESTDIR)$(PREFIX)/bin/ebprof $(patsubst docs/%,$(DESTDIR)$(PREFIX)/share/man/man1/%,$(wildcard docs/*.1)) \
		$(DESTDIR)$(PREFIX)/lib/ebprof/ebprof-alloc.so $(COMPLETION_bash) $(COMPLETION_zsh) $(COMPLETION_fish)
	rmdir $(DESTDIR)$(PREFIX)/lib/ebprof 2>/dev/null || :

vmlinux: ## build/vmlinux.h: all types of the running kernel, to look things up in
	@mkdir -p $(BUILD)
	$(BPFTOOL) btf dump file /sys/kernel/btf/vmlinux format c > $(BUILD)/vmlinux.h

demo: ## install what is missing, build, and profile a small workload (as root)
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory ebprof $(BUILD)/demo
	@tests/demo/run $(BUILD)

pictures: ## make docs/page-*.png anew: what the page looks like (as root, with Chromium)
	@$(MAKE) --no-print-directory deps-test
	@$(MAKE) --no-print-directory ebprof $(BUILD)/threads
	@tests/demo/pictures $(BUILD)

$(BUILD)/demo $(BUILD)/threads: $(BUILD)/%: tests/demo/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -o $@ $<

clean: ## remove what was built
	rm -rf $(BUILD) ebprof

-include $(OBJ:.o=.d)
include packaging/package.mk
include tests/tests.mk
